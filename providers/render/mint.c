/* SPDX-License-Identifier: MIT */
/* Tokens: minted on the control plane for one operation, and sent only to the host that may have them. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SERVICE_DOMAIN ".sandbox.onrender.com"

void render_grant_done(struct render_grant *grant)
{
	if (grant->token)
		explicit_bzero(grant->token, strlen(grant->token));
	free(grant->token);
	free(grant->uri);
	*grant = (struct render_grant){ NULL, NULL };
}

/* Host and port of a URL, in the URL; 0 for anything but http(s)://HOST[:PORT]/… without user information. */
static size_t authority_of(const char *uri, const char **ret_host, bool *ret_tls)
{
	size_t len;

	*ret_tls = !strncmp(uri, "https://", 8);
	if (!*ret_tls && strncmp(uri, "http://", 7))
		return 0;
	*ret_host = uri + (*ret_tls ? 8 : 7);
	len = strcspn(*ret_host, "/?#");
	return memchr(*ret_host, '@', len) || memchr(*ret_host, '\\', len) ? 0 : len;
}

bool render_uri_ok(const struct render_core *core, const char *uri)
{
	const size_t domain = strlen(SERVICE_DOMAIN);
	const char *host;
	bool tls;
	size_t len = authority_of(uri, &host, &tls);

	if (!len)
		return false;
	if (core->local_host)
		return len == strlen(core->local_host) && !strncasecmp(host, core->local_host, len);
	return tls && len > domain && !strncasecmp(host + len - domain, SERVICE_DOMAIN, domain);
}

static int read_grant(const struct render_core *core, const struct render_answer *answer,
		      const char *method, struct render_grant *ret_grant, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error inner = SP_ERROR_INIT;
	struct render_grant grant;
	const char *token, *uri, *told;

	if (sp_json_parse((const char *)answer->body.data, answer->body.len, RENDER_ANSWER_MAX,
			  &json, &inner))
		return sp_error_set(err, SP_PROTOCOL, "cannot read a token's answer: %s",
				    inner.message);
	token = sp_json_str(json, "token");
	uri = sp_json_str(json, "uri");
	told = sp_json_str(json, "method");
	if (!token || !*token || !uri)
		return sp_error_set(err, SP_PROTOCOL, "a token's answer without token or uri");
	if (told && strcmp(told, method))
		return sp_error_set(err, SP_PROTOCOL, "a token for %.16s where %s was asked for",
				    told, method);
	if (!render_uri_ok(core, uri))
		return sp_error_set(err, SP_PROTOCOL, "a token for a host that may not have it");
	grant = (struct render_grant){ strdup(token), strdup(uri) };
	if (!grant.token || !grant.uri) {
		render_grant_done(&grant);
		return sp_error_set(err, SP_INTERNAL, "no memory for a token");
	}
	*ret_grant = grant;
	return 0;
}

static int mint_once(struct render_core *core, const char *path, const char *query,
		     const char *method, struct sp_cancel *cancel, struct render_grant *ret_grant,
		     struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = { 0 };
	int rc = render_call(core, "POST", path, query, NULL, 201, "get a token", cancel, &answer,
			     err);

	return rc ? rc : read_grant(core, &answer, method, ret_grant, err);
}

/* A sandbox that is starting refuses tokens in three ways; anything else is final. */
static bool may_be_starting(int rc)
{
	return rc == SP_NOT_FOUND || rc == SP_UNAVAILABLE || rc == SP_RATE_LIMITED;
}

int render_mint(struct render_core *core, const char *id, const char *operation, const char *path,
		const char *method, struct sp_cancel *cancel, struct render_grant *ret_grant,
		struct sp_error *err)
{
	struct sp_buf target SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf query SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_error first = SP_ERROR_INIT;
	enum render_state state;
	int rc;

	if (!render_id_ok(id))
		return sp_error_set(err, SP_INVALID, "not the id of a sandbox");
	sp_buf_addf(&target, "/sandboxes/%s/%s/token", id, operation);
	if (path) {
		sp_buf_adds(&query, "path=");
		sp_buf_add_url(&query, path);
	}
	if (target.error || query.error)
		return sp_error_set(err, SP_INVALID, "a path that is too long");
	rc = mint_once(core, sp_buf_str(&target), path ? sp_buf_str(&query) : NULL, method, cancel,
		       ret_grant, &first);
	if (may_be_starting(rc)) {
		/* Its state says whether waiting makes sense; a 404 is nothing without it. */
		int looked = render_get_state(core, id, cancel, &state, err);

		if (looked)
			return looked;
		if (state == RENDER_ERRORED || state == RENDER_TERMINATED)
			return sp_error_set(err, SP_GONE, "sandbox %s is no more", id);
		if (state == RENDER_CREATING || state == RENDER_RESUMING ||
		    state == RENDER_SUSPENDING) {
			looked = render_wait_ready(core, id, cancel, err);
			if (looked)
				return looked;
			return mint_once(core, sp_buf_str(&target),
					 path ? sp_buf_str(&query) : NULL, method, cancel,
					 ret_grant, err);
		}
		/* It runs, and the service refuses all the same. */
		if (rc == SP_NOT_FOUND) {
			first.code = SP_UNAVAILABLE;
			rc = SP_UNAVAILABLE;
		}
	}
	if (rc && err)
		*err = first;
	return rc;
}
