/* SPDX-License-Identifier: MIT */
/*
 * A snapshot whose answer was lost is billed and nobody knows its id. What was the
 * newest one is looked at before the request; after a lost answer, the one that is newer and is of
 * our sandbox, name and kind is ours. More than one, or none: nobody can tell.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

void render_newest_done(struct render_newest *newest)
{
	free(newest->group);
	free(newest->snapshot);
}

/* A page of the group's snapshots, the newest first. */
static int list(struct render_core *core, const char *group, const char *query,
		struct sp_cancel *cancel, cJSON **ret_json)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	int rc;

	sp_buf_addf(&path, "/sandbox-groups/%s/snapshots", group);
	if (path.error)
		return SP_INTERNAL;
	rc = render_call(core, "GET", sp_buf_str(&path), query, NULL, 200, "list the snapshots",
			 cancel, &answer, NULL);
	if (!rc)
		rc = sp_json_parse((const char *)answer.body.data, answer.body.len,
				   RENDER_ANSWER_MAX, ret_json, NULL);
	return rc || cJSON_IsArray(*ret_json) ? rc : SP_PROTOCOL;
}

void render_newest_look(struct render_core *core, const char *id, struct sp_cancel *cancel,
			struct render_newest *ret_newest)
{
	struct sp_platform_sandbox look SP_CLEANUP(sp_platform_sandbox_done) =
	    SP_PLATFORM_SANDBOX_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const cJSON *first;
	const char *known;

	if (render_look(core, id, &look, cancel, NULL) || !look.group ||
	    list(core, look.group, "limit=1", cancel, &json))
		return;
	first = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(json, 0), "snapshot");
	known = first ? sp_json_str(first, "id") : "";
	ret_newest->snapshot = known ? strdup(known) : NULL;
	if (ret_newest->snapshot)
		ret_newest->group = SP_TAKE(look.group);
}

static bool is(const cJSON *snapshot, const char *name, const char *value)
{
	const char *text = sp_json_str(snapshot, name);

	return text && !strcmp(text, value);
}

/*
 * How many of the page are newer than what was there and like what was asked for. None where the
 * mark has gone meanwhile: what is older cannot be told from what is newer.
 */
static size_t matches(const cJSON *page, const struct render_newest *before,
		      const struct render_wish *wish, const char **ret_id)
{
	const cJSON *item;
	size_t n = 0;

	cJSON_ArrayForEach(item, page)
	{
		const cJSON *snapshot = cJSON_GetObjectItemCaseSensitive(item, "snapshot");

		if (is(snapshot, "id", before->snapshot))
			return n;
		if (!is(snapshot, "sourceSandboxId", wish->sandbox) ||
		    !is(snapshot, "name", wish->name) || !is(snapshot, "kind", wish->kind))
			continue;
		*ret_id = sp_json_str(snapshot, "id");
		n++;
	}
	return *before->snapshot ? 0 : n;
}

char *render_find_lost(struct render_core *core, const struct render_newest *before,
		       const struct render_wish *wish)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *id = NULL;
	char *found = NULL;
	struct sp_cancel *limit;

	if (!before->group || !core->steps.snapshot_finds_lost)
		return NULL;
	limit = sp_cancel_new();
	if (limit)
		sp_cancel_set_deadline(limit, sp_deadline_ms(RENDER_CLEANUP_MS));
	if (!list(core, before->group, "limit=100", limit, &json) &&
	    matches(json, before, wish, &id) == 1 && render_id_ok(id))
		found = strdup(id);
	sp_cancel_unref(limit);
	return found;
}
