/* SPDX-License-Identifier: MIT */
/*
 * One question before anything else, so that a wrong address, key, workspace or clock is told once
 * and in words, and not by every case in the words of its own trouble.
 */
#include "internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/*
 * More than any clock that is set by a network. What expires goes by the service's clock and is
 * asked for by ours.
 */
#define SKEW_MAX_S 60

static bool ends_in_version(const char *url)
{
	size_t len = strlen(url);

	return len > 3 && !strcmp(url + len - 3, "/v1");
}

static int not_found(const struct render_core *core, struct sp_error *err)
{
	if (!ends_in_version(core->base_url))
		return sp_error_set(err, SP_NOT_FOUND,
				    "there is no API (status 404); its base URL ends in /v1");
	return sp_error_set(err, SP_NOT_FOUND,
			    "workspace %s is not there, or is not entitled to sandboxes (status "
			    "404): look at RENDER_WORKSPACE_ID",
			    core->owner_id);
}

static int not_the_api(const struct render_answer *answer, struct sp_error *err)
{
	return sp_error_set(err, SP_PROTOCOL,
			    "what answered is not the API (status %d, no JSON): a proxy or a login "
			    "page in between, or another address",
			    answer->status);
}

static int refused(const struct render_core *core, const struct render_answer *answer,
		   struct sp_error *err)
{
	switch (answer->status) {
	case 401:
		return sp_error_set(err, SP_DENIED,
				    "the key is not accepted (status 401): look at RENDER_API_KEY");
	case 403:
		return sp_error_set(err, SP_DENIED,
				    "the key has no access to workspace %s (status 403): look at "
				    "RENDER_API_KEY and RENDER_WORKSPACE_ID",
				    core->owner_id);
	case 404:
		return not_found(core, err);
	default:
		return render_status_error(answer, "list the sandboxes", err);
	}
}

static int judge(const struct render_core *core, const struct render_answer *answer,
		 struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	bool is_json = !sp_json_parse((const char *)answer->body.data, answer->body.len,
				      RENDER_ANSWER_MAX, &json, NULL);

	if (answer->status / 100 == 3)
		return render_status_error(answer, "list the sandboxes", err);
	if (answer->status == 404 && !ends_in_version(core->base_url))
		return not_found(core, err);
	if (!is_json || answer->edge)
		return not_the_api(answer, err);
	if (answer->status != 200)
		return refused(core, answer, err);
	return cJSON_IsArray(json) ? 0 : not_the_api(answer, err);
}

/* A missing or unreadable date says nothing. */
static int check_clock(const char *date, struct sp_error *err)
{
	struct tm tm = {0};
	int64_t ahead;

	if (!date || !strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return 0;
	ahead = sp_wall_ms() / 1000 - timegm(&tm);
	if (ahead >= -SKEW_MAX_S && ahead <= SKEW_MAX_S)
		return 0;
	return sp_error_set(err, SP_INVALID,
			    "the clock of this machine is %" PRId64
			    " s %s the service's: set it, since whatever expires goes by both",
			    ahead < 0 ? -ahead : ahead, ahead < 0 ? "behind" : "ahead of");
}

int render_check(struct render_core *core, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	struct sp_buf url SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_request request = {
	    .method = "GET", .bearer = core->token, .accept = "application/json"};
	struct sp_http_stream stream;
	int rc;

	sp_buf_addf(&url, "%s/sandboxes?ownerId=", core->base_url);
	sp_buf_add_url(&url, core->owner_id);
	sp_buf_adds(&url, "&limit=1");
	request.url = sp_buf_str(&url);
	rc = render_open_stream(core, &request, cancel, &stream, err);
	if (rc)
		return rc;
	rc = render_read_answer(&stream, RENDER_ANSWER_MAX, cancel, &answer, err);
	if (!rc)
		rc = judge(core, &answer, err);
	if (!rc)
		rc = check_clock(stream.ops->header(stream.self, "Date"), err);
	stream.ops->close(stream.self);
	return rc;
}
