/* SPDX-License-Identifier: MIT */
/* Tokens for one run or one transfer, and the check of where they may be sent. */
#include "internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PROXY_DOMAIN ".sandbox.onrender.com"

void render_grant_done(struct render_grant *grant)
{
	free(grant->token);
	free(grant->uri);
	*grant = (struct render_grant){0};
}

/* "NAME" or "NAME:443" of a sandbox's own host. */
static bool is_proxy_host(const char *host, size_t len)
{
	const size_t domain = strlen(PROXY_DOMAIN);

	if (len > 4 && !strncmp(host + len - 4, ":443", 4))
		len -= 4;
	if (len <= domain || strncasecmp(host + len - domain, PROXY_DOMAIN, domain))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)host[i]) && host[i] != '-' && host[i] != '.')
			return false;
	return *host != '.' && *host != '-';
}

bool render_uri_ok(const struct render_core *core, const char *uri)
{
	const char *host = strstr(uri, "://");
	size_t len, scheme;

	for (const char *at = uri; *at; at++)
		if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f ||
		    strchr("\\\"<>#@", *at))
			return false;
	if (!host)
		return false;
	scheme = (size_t)(host - uri);
	host += 3;
	len = strcspn(host, "/?");
	if (host[len] == '?' || !len)
		return false;
	if (core->local_host && scheme == strcspn(core->base_url, ":") &&
	    !strncmp(uri, core->base_url, scheme) && len == strlen(core->local_host) &&
	    !strncasecmp(host, core->local_host, len))
		return true;
	return scheme == 5 && !strncmp(uri, "https", 5) && is_proxy_host(host, len);
}

static bool printable(const char *text)
{
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
			return false;
	return *text;
}

static int take_grant(const struct render_core *core, const struct render_answer *answer,
		      const char *method, struct render_grant *ret_grant, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error inner = SP_ERROR_INIT;
	const char *token, *uri, *given;

	if (sp_json_parse((const char *)answer->body.data, answer->body.len, RENDER_ANSWER_MAX,
			  &json, &inner))
		return sp_error_set(err, SP_PROTOCOL, "a token's answer: %s", inner.message);
	token = sp_json_str(json, "token");
	uri = sp_json_str(json, "uri");
	given = sp_json_str(json, "method");
	if (!token || !printable(token) || !uri)
		return sp_error_set(err, SP_PROTOCOL, "a token's answer without token or uri");
	if (given && strcmp(given, method))
		return sp_error_set(err, SP_PROTOCOL, "a token for method %.16s where %s was asked",
				    given, method);
	if (!render_uri_ok(core, uri))
		return sp_error_set(err, SP_PROTOCOL,
				    "a token's answer names a host that is not a sandbox's; the "
				    "token was not sent");
	ret_grant->token = strdup(token);
	ret_grant->uri = strdup(uri);
	if (ret_grant->token && ret_grant->uri)
		return 0;
	render_grant_done(ret_grant);
	return sp_error_set(err, SP_INTERNAL, "no memory for a token");
}

int render_settle_start(struct render_core *core, const char *id, int rc, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	enum render_state state;
	int looked = render_get_state(core, id, cancel, &state, &inner);

	if (looked) {
		/* Only after a 404 is the second answer the one that counts. */
		if (rc != SP_NOT_FOUND && looked != SP_GONE && looked != SP_ABORTED &&
		    looked != SP_TIMED_OUT)
			return rc;
		if (err)
			*err = inner;
		return looked;
	}
	switch (state) {
	case RENDER_ERRORED:
		return sp_error_set(err, SP_GONE, "sandbox %s failed on the service", id);
	case RENDER_TERMINATED:
		return sp_error_set(err, SP_GONE, "sandbox %s was terminated", id);
	case RENDER_CREATING:
	case RENDER_RESUMING:
	case RENDER_SUSPENDING:
		return render_wait_ready(core, id, false, cancel, err);
	case RENDER_RUNNING:
	case RENDER_SUSPENDED:
		break;
	}
	if (rc == SP_NOT_FOUND)
		return sp_error_set(err, SP_UNAVAILABLE,
				    "sandbox %s is there and its requests find nothing (404)", id);
	return rc;
}

/* A lost token started nothing. */
static int lost_mint(int rc, struct sp_cancel *cancel, struct sp_error *err)
{
	char words[SP_ERROR_TEXT];

	if (rc != SP_UNKNOWN_OUTCOME && (rc != SP_TIMED_OUT || sp_cancel_check(cancel, NULL)))
		return rc;
	memcpy(words, err->message, sizeof(words));
	return sp_error_set(err, SP_UNAVAILABLE, "no token, and nothing was started: %s", words);
}

static int mint_once(struct render_core *core, const char *path, const char *query,
		     const char *method, bool *ret_edge, struct sp_cancel *cancel,
		     struct render_grant *ret_grant, struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	int rc =
	    render_call(core, "POST", path, query, NULL, 201, "get a token", cancel, &answer, err);

	*ret_edge = rc == SP_UNAVAILABLE && err->http_status == 403;
	return rc ? lost_mint(rc, cancel, err) : take_grant(core, &answer, method, ret_grant, err);
}

int render_mint(struct render_core *core, const char *id, const char *operation, const char *path,
		const char *method, struct sp_cancel *cancel, struct render_grant *ret_grant,
		struct sp_error *err)
{
	struct sp_buf where SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf query SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_error inner = SP_ERROR_INIT;
	bool edge;
	int rc = 0;

	sp_buf_addf(&where, "/sandboxes/%s/%s/token", id, operation);
	if (path) {
		sp_buf_adds(&query, "path=");
		sp_buf_add_url(&query, path);
	}
	if (where.error || query.error)
		return sp_error_set(err, SP_INVALID, "the path is too long for a request");
	for (int tries = 0; tries < RENDER_RETRIES; tries++) {
		inner = (struct sp_error)SP_ERROR_INIT;
		rc = mint_once(core, sp_buf_str(&where), path ? sp_buf_str(&query) : NULL, method,
			       &edge, cancel, ret_grant, &inner);
		if (!rc)
			return 0;
		if (edge && !tries) {
			atomic_store(&core->wrap, true);
			continue;
		}
		/* What a sandbox that is starting answers, among other things. */
		if (rc == SP_NOT_FOUND || rc == SP_RATE_LIMITED || rc == SP_CONFLICT ||
		    (rc == SP_UNAVAILABLE && inner.http_status == 503))
			rc = render_settle_start(core, id, rc, cancel, &inner);
		if (rc)
			break;
	}
	if (!rc)
		rc = sp_error_set(&inner, SP_UNAVAILABLE,
				  "sandbox %s gives no token although it runs", id);
	if (err)
		*err = inner;
	return rc;
}
