/* SPDX-License-Identifier: MIT */
/* What the service says of a sandbox and of a group's snapshots, for whoever counts and sweeps. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#include <base/clock.h>

#define LIST_MAX 100000

static int parse(const struct render_answer *answer, const char *what, cJSON **ret_json,
		 struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	int rc = sp_json_parse((const char *)answer->body.data, answer->body.len, RENDER_ANSWER_MAX,
			       ret_json, &inner);

	return rc ? sp_error_set(err, SP_PROTOCOL, "cannot %s: %s", what, inner.message) : 0;
}

static int64_t time_of(const cJSON *json, const char *name)
{
	int64_t wall_ms = 0;

	return sp_wall_parse(sp_json_str(json, name), &wall_ms) ? wall_ms : 0;
}

int render_look(struct render_core *core, const char *id, struct sp_platform_sandbox *ret_sandbox,
		struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	struct sp_platform_sandbox look = SP_PLATFORM_SANDBOX_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *state, *group;
	int64_t lifetime = 0;
	int rc;

	if (!render_id_ok(id))
		return sp_error_set(err, SP_INVALID, "not the id of a sandbox");
	sp_buf_addf(&path, "/sandboxes/%s", id);
	rc = render_call(core, "GET", sp_buf_str(&path), NULL, NULL, 200, "look at the sandbox",
			 cancel, &answer, err);
	if (rc == SP_NOT_FOUND)
		return render_confirm_gone(core, id, cancel, err);
	if (!rc)
		rc = parse(&answer, "look at the sandbox", &json, err);
	if (rc)
		return rc;
	state = sp_json_str(json, "status");
	group = sp_json_str(json, "sandboxGroupId");
	if (!state || strlen(state) >= sizeof(look.state))
		return sp_error_set(err, SP_PROTOCOL, "a sandbox without a status");
	memcpy(look.state, state, strlen(state) + 1);
	look.created_ms = time_of(json, "createdAt");
	if (sp_json_int(json, "timeoutSeconds", &lifetime) && lifetime > 0 &&
	    lifetime <= UINT32_MAX)
		look.lifetime_s = (uint32_t)lifetime;
	if (render_id_ok(group) && !(look.group = strdup(group)))
		return sp_error_set(err, SP_INTERNAL, "no memory for a group's id");
	*ret_sandbox = look;
	return 0;
}

/* ---- Snapshots ---- */

static int add_snapshot(struct sp_platform_snapshots *list, const char *group, const cJSON *json,
			struct sp_error *err)
{
	const char *id = sp_json_str(json, "id"), *source = sp_json_str(json, "sourceSandboxId");
	const char *name = sp_json_str(json, "name");
	struct sp_platform_snapshot *longer;

	if (!render_id_ok(id))
		return sp_error_set(err, SP_PROTOCOL, "a listed snapshot without an id");
	longer = reallocarray(list->items, list->len + 1, sizeof(*longer));
	if (!longer)
		return sp_error_set(err, SP_INTERNAL, "no memory for a list");
	list->items = longer;
	longer += list->len++;
	*longer = (struct sp_platform_snapshot){.requested_ms = time_of(json, "requestedAt")};
	if (asprintf(&longer->reference, "%s/%s", group, id) < 0)
		longer->reference = NULL;
	longer->name = name ? strdup(name) : NULL;
	longer->source_id = strdup(source ? source : "");
	return longer->reference && longer->source_id && (!name || longer->name)
		   ? 0
		   : sp_error_set(err, SP_INTERNAL, "no memory for a list");
}

/* One page; `cursor` goes from the last one to the next, NULL after the last. malloc'ed. */
static int add_page(struct render_core *core, const char *group, char **cursor,
		    struct sp_platform_snapshots *list, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf query SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const cJSON *item;
	int rc;

	sp_buf_addf(&path, "/sandbox-groups/%s/snapshots", group);
	sp_buf_adds(&query, "limit=100");
	if (*cursor) {
		sp_buf_adds(&query, "&cursor=");
		sp_buf_add_url(&query, *cursor);
	}
	free(SP_TAKE(*cursor));
	rc = render_call(core, "GET", sp_buf_str(&path), sp_buf_str(&query), NULL, 200,
			 "list the snapshots", cancel, &answer, err);
	if (!rc)
		rc = parse(&answer, "list the snapshots", &json, err);
	if (rc)
		return rc;
	cJSON_ArrayForEach(item, json)
	{
		const char *next = sp_json_str(item, "cursor");

		rc = add_snapshot(list, group, cJSON_GetObjectItemCaseSensitive(item, "snapshot"),
				  err);
		if (rc)
			return rc;
		free(*cursor);
		*cursor = next ? strdup(next) : NULL;
	}
	return rc;
}

int render_list_snapshots(struct render_core *core, const char *group,
			  struct sp_platform_snapshots *ret_snapshots, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	struct sp_platform_snapshots list SP_CLEANUP(sp_platform_snapshots_done) =
	    SP_PLATFORM_SNAPSHOTS_INIT;
	char *cursor SP_FREE = NULL;
	int rc;

	if (!render_id_ok(group))
		return sp_error_set(err, SP_INVALID, "not the id of a group");
	do {
		rc = add_page(core, group, &cursor, &list, cancel, err);
		if (!rc && list.len > LIST_MAX)
			rc = sp_error_set(err, SP_PROTOCOL, "a list of snapshots without an end");
		if (rc)
			return rc;
		/* Only an empty page is surely the last one. */
	} while (cursor);
	*ret_snapshots = list;
	list = (struct sp_platform_snapshots)SP_PLATFORM_SNAPSHOTS_INIT;
	return 0;
}
