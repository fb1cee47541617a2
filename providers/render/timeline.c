/* SPDX-License-Identifier: MIT */
/* What the platform keeps about commands: GET …/execs, page by page, oldest first. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct texts {
	char **items;
	size_t len;
};

static void texts_done(struct texts *texts)
{
	for (size_t i = 0; i < texts->len; i++)
		free(texts->items[i]);
	free(texts->items);
}

static int add_text(struct texts *texts, const char *text, struct sp_error *err)
{
	char **longer = realloc(texts->items, (texts->len + 1) * sizeof(*longer));

	if (!longer)
		return sp_error_set(err, SP_INTERNAL, "no memory for the timeline");
	texts->items = longer;
	longer[texts->len] = strdup(text);
	if (!longer[texts->len])
		return sp_error_set(err, SP_INTERNAL, "no memory for the timeline");
	texts->len++;
	return 0;
}

/* One page; `*ret_cursor` (owned) is NULL after the last. */
static int add_page(const struct render_answer *answer, struct texts *texts, char **ret_cursor,
		    struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error inner = SP_ERROR_INIT;
	const char *cursor = NULL;
	const cJSON *item;

	if (sp_json_parse((const char *)answer->body.data, answer->body.len, RENDER_ANSWER_MAX,
			  &json, &inner))
		return sp_error_set(err, SP_PROTOCOL, "the timeline: %s", inner.message);
	cJSON_ArrayForEach(item, json)
	{
		const cJSON *exec = cJSON_GetObjectItemCaseSensitive(item, "execution");
		const char *text = exec ? sp_json_str(exec, "command") : NULL;
		int rc = text ? add_text(texts, text, err) : 0;

		if (rc)
			return rc;
		cursor = sp_json_str(item, "cursor");
	}
	*ret_cursor = cursor ? strdup(cursor) : NULL;
	return 0;
}

static int read_all(struct render_sandbox *sandbox, struct texts *texts, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	char *cursor SP_FREE = NULL;
	char path[160];

	snprintf(path, sizeof(path), "/sandboxes/%s/execs", sandbox->id);
	do {
		struct sp_buf query SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct render_answer answer SP_CLEANUP(render_answer_done) = { 0 };
		int rc;

		sp_buf_adds(&query, "limit=100");
		if (cursor) {
			sp_buf_adds(&query, "&cursor=");
			sp_buf_add_url(&query, cursor);
		}
		rc = render_call(sandbox->core, "GET", path, sp_buf_str(&query), NULL, 200,
				 "read the timeline", cancel, &answer, err);
		free(SP_TAKE(cursor));
		if (!rc)
			rc = add_page(&answer, texts, &cursor, err);
		if (rc)
			return rc;
	} while (cursor);
	return 0;
}

int render_timeline(void *self, struct sp_bytes *ret_texts, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct sp_buf joined SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	struct texts texts SP_CLEANUP(texts_done) = { NULL, 0 };
	int rc = render_sandbox_check(self, err);

	if (!rc)
		rc = read_all(self, &texts, cancel, err);
	if (rc)
		return rc;
	/* The service tells the newest first. */
	for (size_t i = texts.len; i-- > 0;)
		sp_buf_add(&joined, texts.items[i], strlen(texts.items[i]) + 1);
	return sp_buf_take_bytes(&joined, ret_texts) ?
		       sp_error_set(err, SP_INTERNAL, "no memory for the timeline") :
		       0;
}
