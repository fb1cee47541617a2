/* SPDX-License-Identifier: MIT */
#include "made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>

#include "value.h"

/* Shorter ones would be found in ordinary text: they are replaced as whole values only. */
#define TEXT_MIN 6
/* Longer ones are data, not texts that name something. */
#define TEXT_MAX ((size_t)1 << 20)

static const char *const handles[] = {"sandbox", "process", "lease", "reader"};
static const char *const names[] = {"id", "workspace_root", "url", "token"};

static bool is_in(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(words[i], word))
			return true;
	return false;
}

bool drv_made_is(const char *method, const char *member)
{
	if (!strcmp(method, "initialize"))
		return !strcmp(member, "driver") || !strcmp(member, "limits");
	if (!strcmp(member, "fence"))
		return !strcmp(method, "lock/acquire");
	return !strcmp(member, "mtime") || is_in(member, handles, SP_COUNT(handles)) ||
	       is_in(member, names, SP_COUNT(names));
}

bool drv_bytes_of(const cJSON *item, struct sp_buf *out)
{
	const char *encoded = sp_json_str(item, "base64");

	if (cJSON_IsString(item))
		return !sp_buf_adds(out, item->valuestring);
	return encoded && item->child && !item->child->next &&
	       !sp_buf_add_unbase64(out, encoded, strlen(encoded));
}

/* ---- Learning ---- */

static const char *remover_of(const char *method)
{
	if (!strcmp(method, "provider/create") || !strcmp(method, "provider/restore") ||
	    !strcmp(method, "sandbox/fork"))
		return "provider/destroy";
	return strcmp(method, "sandbox/snapshot") ? NULL : "provider/snapshot_delete";
}

static int add(struct drv_made *made, struct drv_made_item item)
{
	struct drv_made_item *at = made->items;

	if (made->len == made->size) {
		made->size = made->size ? 2 * made->size : 32;
		at = reallocarray(made->items, made->size, sizeof(*at));
		if (!at)
			return -ENOMEM;
		made->items = at;
	}
	at[made->len++] = item;
	return item.traced && item.actual ? 0 : -ENOMEM;
}

static int learn_one(struct drv_made *made, size_t dialogue, const char *method, const char *kind,
		     const cJSON *traced, const cJSON *actual)
{
	const char *from = sp_json_str(traced, kind), *to = sp_json_str(actual, kind);
	const char *handle = sp_json_str(actual, "sandbox");
	bool is_id = !strcmp(kind, "id");

	if (!from || !to)
		return 0;
	return add(made, (struct drv_made_item){
			     .kind = kind,
			     .dialogue = dialogue,
			     .traced = strdup(from),
			     .actual = strdup(to),
			     .remove = is_id ? remover_of(method) : NULL,
			     .handle = is_id && handle ? strdup(handle) : NULL,
			 });
}

int drv_made_learn(struct drv_made *made, size_t dialogue, const char *method, const cJSON *traced,
		   const cJSON *actual)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < SP_COUNT(handles); i++)
		rc = learn_one(made, dialogue, method, handles[i], traced, actual);
	for (size_t i = 0; !rc && i < SP_COUNT(names); i++)
		rc = learn_one(made, dialogue, method, names[i], traced, actual);
	return rc;
}

/* ---- Replacing ---- */

/* The newest is meant: drivers use handles again. */
static const char *actual_handle(const struct drv_made *made, size_t dialogue, const char *kind,
				 const char *traced)
{
	for (size_t i = made->len; i > 0; i--) {
		const struct drv_made_item *item = &made->items[i - 1];

		if (item->dialogue == dialogue && !strcmp(item->kind, kind) &&
		    !strcmp(item->traced, traced))
			return item->actual;
	}
	return NULL;
}

static bool is_name(const struct drv_made_item *item)
{
	return is_in(item->kind, names, SP_COUNT(names));
}

/* The longest name that begins here. */
static const struct drv_made_item *name_at(const struct drv_made *made, const char *text,
					   size_t len, bool whole)
{
	const struct drv_made_item *best = NULL;
	size_t best_len = 0;

	for (size_t i = made->len; i > 0; i--) {
		const struct drv_made_item *item = &made->items[i - 1];
		size_t n = strlen(item->traced);

		if (is_name(item) && n > best_len && n <= len &&
		    (n >= TEXT_MIN || (whole && n == len)) && !memcmp(text, item->traced, n)) {
			best = item;
			best_len = n;
		}
	}
	return best;
}

/* Bytes that some name begins with, so that the rest is not looked at name by name. */
static void first_bytes(const struct drv_made *made, bool ret_first[256])
{
	memset(ret_first, 0, 256 * sizeof(bool));
	for (size_t i = 0; i < made->len; i++)
		ret_first[(unsigned char)*made->items[i].traced] = true;
}

/* True when something was replaced; `out` has the new text then. */
static bool replace_text(const struct drv_made *made, const char *text, size_t len,
			 struct sp_buf *out)
{
	bool first[256], changed = false;

	if (!made->len || len > TEXT_MAX)
		return false;
	first_bytes(made, first);
	for (size_t at = 0; at < len;) {
		const struct drv_made_item *item = first[(unsigned char)text[at]]
						       ? name_at(made, text + at, len - at, at == 0)
						       : NULL;

		if (item)
			sp_buf_adds(out, item->actual);
		else
			sp_buf_addc(out, text[at]);
		changed = changed || item;
		at += item ? strlen(item->traced) : 1;
	}
	return changed;
}

static int set_text(cJSON *item, const char *text)
{
	return cJSON_SetValuestring(item, text) ? 0 : -ENOMEM;
}

/* A Bytes in the form of base64: what it stands for is looked at. */
static int replace_encoded(const struct drv_made *made, cJSON *item)
{
	struct sp_buf plain SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	struct sp_buf encoded SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * DRV_MAX_FRAME);

	if (!drv_bytes_of(item, &plain) || !replace_text(made, plain.data, plain.len, &text))
		return 0;
	sp_buf_add_base64(&encoded, text.data, text.len);
	return encoded.error ? -ENOMEM : set_text(item->child, sp_buf_str(&encoded));
}

static int replace_item(const struct drv_made *made, size_t dialogue, cJSON *item)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	const char *handle = NULL;

	if (!cJSON_IsString(item))
		return drv_made_replace(made, dialogue, item);
	if (item->string && is_in(item->string, handles, SP_COUNT(handles)))
		handle = actual_handle(made, dialogue, item->string, item->valuestring);
	if (handle)
		return set_text(item, handle);
	if (!replace_text(made, item->valuestring, strlen(item->valuestring), &text))
		return 0;
	return text.error ? -ENOMEM : set_text(item, sp_buf_str(&text));
}

int drv_made_replace(const struct drv_made *made, size_t dialogue, cJSON *message)
{
	cJSON *item;
	int rc = 0;

	if (cJSON_IsObject(message) && sp_json_str(message, "base64"))
		return replace_encoded(made, message);
	cJSON_ArrayForEach(item, message)
	{
		if (!rc)
			rc = replace_item(made, dialogue, item);
	}
	return rc;
}

/* ---- Removing ---- */

void drv_made_removed(struct drv_made *made, size_t dialogue, const char *method,
		      const cJSON *params)
{
	bool by_handle = !strcmp(method, "sandbox/destroy");
	const char *what =
	    sp_json_str(params, by_handle				     ? "sandbox"
				: strcmp(method, "provider/snapshot_delete") ? "id"
									     : "snapshot");

	for (size_t i = 0; what && i < made->len; i++) {
		struct drv_made_item *item = &made->items[i];

		if (!item->remove || (by_handle ? item->dialogue != dialogue || !item->handle
						: strcmp(item->remove, method)))
			continue;
		if (!strcmp(by_handle ? item->handle : item->actual, what))
			item->remove = NULL;
	}
}

void drv_made_done(struct drv_made *made)
{
	for (size_t i = 0; i < made->len; i++) {
		free(made->items[i].traced);
		free(made->items[i].actual);
		free(made->items[i].handle);
	}
	free(made->items);
	*made = (struct drv_made){NULL, 0, 0};
}
