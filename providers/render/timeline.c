/* SPDX-License-Identifier: MIT */
/* What the platform has recorded of our commands. */
#include "internal.h"

#include <string.h>

/* Adds one page of texts, newest first, each ended by NUL. */
static int add_page(const cJSON *json, struct sp_buf *texts, const char **ret_cursor,
		    bool *ret_empty, struct sp_error *err)
{
	const cJSON *item;

	*ret_cursor = NULL;
	*ret_empty = true;
	if (!cJSON_IsArray(json))
		return sp_error_set(err, SP_PROTOCOL, "a list of executions that is no array");
	cJSON_ArrayForEach(item, json)
	{
		const cJSON *execution = cJSON_GetObjectItemCaseSensitive(item, "execution");
		const char *type = execution ? sp_json_str(execution, "type") : NULL;
		const char *command = execution ? sp_json_str(execution, "command") : NULL;

		*ret_empty = false;
		*ret_cursor = sp_json_str(item, "cursor");
		if (type && !strcmp(type, "runs") && command)
			sp_buf_add(texts, command, strlen(command) + 1);
	}
	return 0;
}

/* Oldest first. */
static int reverse(const struct sp_buf *texts, struct sp_bytes *ret_texts, struct sp_error *err)
{
	struct sp_buf turned SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	size_t end = texts->len;

	while (end) {
		size_t start = end - 1;

		while (start && texts->data[start - 1])
			start--;
		sp_buf_add(&turned, texts->data + start, end - start);
		end = start;
	}
	if (texts->error || sp_buf_take_bytes(&turned, ret_texts))
		return sp_error_set(err, SP_INTERNAL, "no memory for the timeline");
	return 0;
}

int render_timeline(void *self, struct sp_bytes *ret_texts, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	struct sp_buf texts SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf query SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	bool empty;
	int rc = 0;

	sp_buf_addf(&path, "/sandboxes/%s/execs", sandbox->id);
	sp_buf_adds(&query, "limit=100");
	do {
		struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
		cJSON *json SP_CLEANUP(sp_json_done) = NULL;
		const char *cursor;

		rc = render_call(sandbox->core, "GET", sp_buf_str(&path), sp_buf_str(&query), NULL,
				 200, "read the timeline", cancel, &answer, err);
		if (rc == SP_NOT_FOUND)
			return render_confirm_gone(sandbox->core, sandbox->id, cancel, err);
		if (!rc)
			rc = sp_json_parse((const char *)answer.body.data, answer.body.len,
					   RENDER_ANSWER_MAX, &json, err);
		if (!rc)
			rc = add_page(json, &texts, &cursor, &empty, err);
		if (rc)
			return rc;
		empty |= !cursor;
		sp_buf_clear(&query);
		sp_buf_adds(&query, "limit=100&cursor=");
		sp_buf_add_url(&query, cursor ? cursor : "");
	} while (!empty && !texts.error);
	return reverse(&texts, ret_texts, err);
}
