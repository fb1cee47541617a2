/* SPDX-License-Identifier: MIT */
/* Sandboxes as the control plane sees them: create, look, list, wait, end. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int parse(const struct render_answer *answer, const char *what, cJSON **ret_json,
		 struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	int rc = sp_json_parse((const char *)answer->body.data, answer->body.len, RENDER_ANSWER_MAX,
			       ret_json, &inner);

	return rc ? sp_error_set(err, SP_PROTOCOL, "cannot %s: %s", what, inner.message) : 0;
}

static int path_of(const char *id, const char *tail, struct sp_buf *path, struct sp_error *err)
{
	if (!render_id_ok(id))
		return sp_error_set(err, SP_INVALID, "not the id of a sandbox");
	sp_buf_addf(path, "/sandboxes/%s%s", id, tail);
	return path->error ? sp_error_set(err, SP_INTERNAL, "no memory for a path") : 0;
}

static int state_from(const char *text, enum render_state *ret_state, struct sp_error *err)
{
	static const char *const names[] = {
	    [RENDER_CREATING] = "creating",	[RENDER_RUNNING] = "running",
	    [RENDER_SUSPENDING] = "suspending", [RENDER_SUSPENDED] = "suspended",
	    [RENDER_RESUMING] = "resuming",	[RENDER_ERRORED] = "errored",
	    [RENDER_TERMINATED] = "terminated",
	};

	for (size_t i = 0; text && i < SP_COUNT(names); i++)
		if (!strcmp(text, names[i])) {
			*ret_state = (enum render_state)i;
			return 0;
		}
	return sp_error_set(err, SP_PROTOCOL, "a sandbox has the unknown status \"%.64s\"",
			    text ? text : "(none)");
}

int render_get_state(struct render_core *core, const char *id, struct sp_cancel *cancel,
		     enum render_state *ret_state, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	int rc = path_of(id, "", &path, err);

	if (!rc)
		rc = render_call(core, "GET", sp_buf_str(&path), NULL, NULL, 200,
				 "look at the sandbox", cancel, &answer, err);
	if (rc == SP_NOT_FOUND)
		return render_confirm_gone(core, id, cancel, err);
	if (!rc)
		rc = parse(&answer, "look at the sandbox", &json, err);
	return rc ? rc : state_from(sp_json_str(json, "status"), ret_state, err);
}

static int add_id(struct sp_id_list *list, const char *id, struct sp_error *err)
{
	char **longer = realloc(list->ids, (list->len + 1) * sizeof(*longer));

	if (!longer)
		return sp_error_set(err, SP_INTERNAL, "no memory for a list");
	list->ids = longer;
	list->ids[list->len] = strdup(id);
	if (!list->ids[list->len])
		return sp_error_set(err, SP_INTERNAL, "no memory for a list");
	list->len++;
	return 0;
}

/* Adds one page and gives the cursor of its last item; NULL after the last page. Borrowed from
 * `json`. */
static int add_page(const cJSON *json, struct sp_id_list *list, const char **ret_cursor,
		    struct sp_error *err)
{
	const cJSON *item;
	int rc = 0;

	*ret_cursor = NULL;
	if (!cJSON_IsArray(json))
		return sp_error_set(err, SP_PROTOCOL, "a list of sandboxes that is no array");
	cJSON_ArrayForEach(item, json)
	{
		const cJSON *sandbox = cJSON_GetObjectItemCaseSensitive(item, "sandbox");
		const char *id = sandbox ? sp_json_str(sandbox, "id") : NULL;

		if (!id || !render_id_ok(id))
			return sp_error_set(err, SP_PROTOCOL, "a listed sandbox without an id");
		rc = add_id(list, id, err);
		if (rc)
			return rc;
		*ret_cursor = sp_json_str(item, "cursor");
	}
	return 0;
}

int render_list(struct render_core *core, struct sp_cancel *cancel, struct sp_id_list *ret_list,
		struct sp_error *err)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct sp_buf query SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	size_t before;
	int rc;

	sp_buf_adds(&query, "limit=100");
	do {
		struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
		cJSON *json SP_CLEANUP(sp_json_done) = NULL;
		const char *cursor;

		before = list.len;
		rc = render_call(core, "GET", "/sandboxes", sp_buf_str(&query), NULL, 200,
				 "list the sandboxes", cancel, &answer, err);
		/* A workspace without the service answers 404 as well: that is no empty list. */
		if (rc == SP_NOT_FOUND)
			return sp_error_set(err, SP_DENIED,
					    "the workspace has no sandboxes to list (status 404)");
		if (!rc)
			rc = parse(&answer, "list the sandboxes", &json, err);
		if (!rc)
			rc = add_page(json, &list, &cursor, err);
		if (rc)
			return rc;
		sp_buf_clear(&query);
		sp_buf_adds(&query, "limit=100&cursor=");
		sp_buf_add_url(&query, cursor ? cursor : "");
		/* Only an empty page is surely the last one. */
		if (!cursor)
			break;
		if (list.len > 100000 || query.error)
			return sp_error_set(err, SP_PROTOCOL, "a list of sandboxes without an end");
	} while (list.len > before);
	*ret_list = list;
	list = (struct sp_id_list)SP_ID_LIST_INIT;
	return 0;
}

int render_confirm_gone(struct render_core *core, const char *id, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	int rc;

	if (!core->steps.gone_needs_list)
		return sp_error_set(err, SP_GONE, "sandbox %s is gone", id);
	rc = render_list(core, cancel, &list, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < list.len; i++)
		if (!strcmp(list.ids[i], id))
			return sp_error_set(err, SP_UNAVAILABLE,
					    "sandbox %s was not found although it is listed", id);
	return sp_error_set(err, SP_GONE, "sandbox %s is gone", id);
}

int render_wait_ready(struct render_core *core, const char *id, bool made_now,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	uint64_t limit = sp_deadline_ms(core->start_timeout_ms);
	enum sp_code over = SP_GONE;
	/* That it is being created is what the service has just said: each look is a request. */
	uint32_t pause = made_now ? core->poll_ms : 0;

	for (;;) {
		enum render_state state;
		int rc = pause ? render_pause(pause, cancel, err) : 0;

		if (!rc)
			rc = render_get_state(core, id, cancel, &state, err);
		if (rc)
			return rc;
		switch (state) {
		case RENDER_RUNNING:
			return 0;
		/* The first command wakes it. */
		case RENDER_SUSPENDED:
			if (core->steps.resume_wakes)
				return 0;
			return sp_error_set(err, SP_GONE, "sandbox %s is suspended", id);
		case RENDER_ERRORED:
		case RENDER_TERMINATED:
			return sp_error_set(err, over, "sandbox %s %s", id,
					    state == RENDER_ERRORED ? "failed on the service"
								    : "was terminated");
		case RENDER_CREATING:
		case RENDER_RESUMING:
		case RENDER_SUSPENDING:
			over = core->steps.resume_end_is_gone ? SP_GONE : SP_UNAVAILABLE;
			break;
		}
		if (!core->steps.resume_waits && state != RENDER_CREATING)
			return sp_error_set(err, SP_UNAVAILABLE, "sandbox %s is not up yet", id);
		if (sp_now() > limit)
			return sp_error_set(err, SP_UNAVAILABLE,
					    "sandbox %s did not start within %u ms", id,
					    core->start_timeout_ms);
		pause = render_next_pause(core, pause);
	}
}

int render_terminate(struct render_core *core, const char *id, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	int rc = path_of(id, "/terminate", &path, err);

	if (!rc)
		rc = render_call(core, "POST", sp_buf_str(&path), NULL, NULL, 204,
				 "terminate the sandbox", cancel, &answer, err);
	if (rc == SP_NOT_FOUND)
		rc = render_confirm_gone(core, id, cancel, err);
	return rc == SP_GONE ? 0 : rc;
}

static void compose_create(struct render_core *core, const char *snapshot,
			   const struct sp_create_options *options, struct sp_buf *body)
{
	bool policy = !snapshot || core->steps.restore_sends_policy;

	sp_buf_adds(body, "{\"ownerId\":");
	sp_buf_add_json(body, core->owner_id, strlen(core->owner_id));
	if (core->plan) {
		sp_buf_adds(body, ",\"plan\":");
		sp_buf_add_json(body, core->plan, strlen(core->plan));
	}
	if (snapshot)
		sp_buf_addf(body, ",\"snapshotId\":\"%s\"", snapshot);
	if (options->lifetime_s)
		sp_buf_addf(body, ",\"timeoutSeconds\":%u", options->lifetime_s);
	switch (policy ? options->network : SP_NETWORK_DEFAULT) {
	case SP_NETWORK_DEFAULT:
		break;
	case SP_NETWORK_ALLOW:
		sp_buf_adds(body, ",\"networkPolicy\":{\"default\":\"allow-all\"}");
		break;
	case SP_NETWORK_DENY:
		sp_buf_adds(body, ",\"networkPolicy\":{\"default\":\"deny-all\"}");
		break;
	}
	sp_buf_addc(body, '}');
}

/*
 * Without the caller's cancel: an answer that is not waited for would leave a
 * sandbox that nobody knows the id of. An abort is looked at once the id is there.
 */
int render_post_create(struct render_core *core, const char *snapshot,
		       const struct sp_create_options *options, char **ret_id,
		       struct sp_error *err)
{
	const char *what = snapshot ? "restore the snapshot" : "create a sandbox";
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error inner = SP_ERROR_INIT;
	const char *id;
	int rc;

	compose_create(core, snapshot, options, &body);
	if (body.error)
		return sp_error_set(err, SP_INVALID, "the options of the sandbox are too long");
	rc = render_call_through(core, "POST", "/sandboxes", &body, 201, what,
				 options->cancel, &answer, &inner);
	/* Silence and a gateway's own answer say nothing about what the service did. */
	if (rc == SP_TIMED_OUT || inner.http_status == 502 || inner.http_status == 504)
		rc = SP_UNKNOWN_OUTCOME;
	/* A workspace without the service is no missing snapshot: that is for a list to say. */
	if (rc == SP_NOT_FOUND)
		rc = snapshot && !render_list(core, options->cancel, &list, NULL) ? SP_NOT_FOUND
										   : SP_DENIED;
	if (rc) {
		inner.code = (enum sp_code)rc;
		if (err)
			*err = inner;
		return inner.code;
	}
	rc = parse(&answer, "create a sandbox", &json, err);
	if (rc)
		return sp_error_set(err, SP_UNKNOWN_OUTCOME,
				    "a sandbox was created and its answer cannot be read");
	id = sp_json_str(json, "id");
	if (!render_id_ok(id))
		return sp_error_set(err, SP_UNKNOWN_OUTCOME,
				    "a sandbox was created and its answer names no id");
	*ret_id = strdup(id);
	return *ret_id ? 0 : sp_error_set(err, SP_INTERNAL, "no memory for an id");
}
