/* SPDX-License-Identifier: MIT */
/* A ledger, read: what a run left, row by row. */
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <base/json.h>

#include "ledger.h"

#define ROW_MAX 32768
#define FILE_MAX (256UL * 1024 * 1024)
/* Version 1 named the provider among the subjects, and had no workspaces. */
#define VERSION 2

static char *text_of(const cJSON *row, const char *name)
{
	const char *text = sp_json_str(row, name);

	return text ? strdup(text) : NULL;
}

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static void sandbox_done(struct sp_book_sandbox *sandbox)
{
	free(sandbox->row);
	free(sandbox->workspace);
	free(sandbox->id);
}

static void snapshot_done(struct sp_book_snapshot *snapshot)
{
	free(snapshot->row);
	free(snapshot->workspace);
	free(snapshot->sandbox);
	free(snapshot->group);
	free(snapshot->label);
	free(snapshot->reference);
}

static void ids_done(struct sp_book_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(ids[i].workspace);
		free(ids[i].id);
	}
	free(ids);
}

void sp_book_done(struct sp_book *book)
{
	for (size_t i = 0; i < book->n_sandboxes; i++)
		sandbox_done(&book->sandboxes[i]);
	for (size_t i = 0; i < book->n_snapshots; i++)
		snapshot_done(&book->snapshots[i]);
	ids_done(book->before, book->n_before);
	ids_done(book->made, book->n_made);
	free(book->sandboxes);
	free(book->snapshots);
	while (book->n_records)
		free(book->records[--book->n_records]);
	free(book->records);
	free(book->store);
	free(book->cwd);
	free(book->provider);
	*book = (struct sp_book)SP_BOOK_INIT;
}

/* Room for one more of any of the lists, cleared; NULL without memory. */
#define GROW(list, n)                                                                              \
	({                                                                                         \
		__typeof__(list) longer_ = reallocarray(list, (n) + 1, sizeof(*(list)));           \
		if (longer_) {                                                                     \
			(list) = longer_;                                                          \
			memset(&longer_[n], 0, sizeof(*longer_));                                  \
			longer_ += (n)++;                                                          \
		}                                                                                  \
		longer_;                                                                           \
	})

static int add_id(struct sp_book_id **ids, size_t *n, const char *workspace, const char *id)
{
	struct sp_book_id *one = GROW(*ids, *n);

	if (!one)
		return SP_INTERNAL;
	one->workspace = workspace ? strdup(workspace) : NULL;
	one->id = id ? strdup(id) : NULL;
	return (workspace && !one->workspace) || (id && !one->id) ? SP_INTERNAL : 0;
}

/* ---- One row ---- */

/* Provider in "provider=SPEC store=SPEC"; malloc'ed, or NULL. */
static char *provider_among(const char *subjects)
{
	static const char word[] = "provider=";
	const char *at = subjects ? strstr(subjects, word) : NULL;

	return at ? strndup(at + strlen(word), strcspn(at + strlen(word), " ")) : NULL;
}

static int take_run(struct sp_book *book, const cJSON *row)
{
	int64_t version = 0;

	if (!sp_json_int(row, "version", &version) || version < 1 || version > VERSION)
		return SP_INVALID;
	(void)sp_json_int(row, "pid", &book->pid);
	(void)sp_json_int(row, "start", &book->start_ms);
	book->provider = version == 1 ? provider_among(sp_json_str(row, "subjects"))
				      : text_of(row, "provider");
	return 0;
}

static int take_before(struct sp_book *book, const cJSON *row)
{
	const char *workspace = sp_json_str(row, "workspace");
	const cJSON *id;
	int rc = add_id(&book->before, &book->n_before, workspace, NULL);

	cJSON_ArrayForEach(id, cJSON_GetObjectItemCaseSensitive(row, "ids")) if (!rc) rc =
	    add_id(&book->before, &book->n_before, workspace, cJSON_GetStringValue(id));
	return rc;
}

static int take_intent(struct sp_book *book, const cJSON *row)
{
	struct sp_book_sandbox *sandbox = GROW(book->sandboxes, book->n_sandboxes);
	int64_t lifetime = 0;

	if (!sandbox)
		return SP_INTERNAL;
	sandbox->row = text_of(row, "intent");
	sandbox->workspace = text_of(row, "workspace");
	(void)sp_json_int(row, "at", &sandbox->at_ms);
	(void)sp_json_int(row, "lifetime_s", &lifetime);
	sandbox->lifetime_s = lifetime > 0 && lifetime <= UINT32_MAX ? (uint32_t)lifetime : 0;
	return sandbox->row ? 0 : SP_INTERNAL;
}

static void drop_sandbox(struct sp_book *book, size_t i)
{
	sandbox_done(&book->sandboxes[i]);
	book->sandboxes[i] = book->sandboxes[--book->n_sandboxes];
}

static void drop_snapshot(struct sp_book *book, size_t i)
{
	snapshot_done(&book->snapshots[i]);
	book->snapshots[i] = book->snapshots[--book->n_snapshots];
}

static int take_made(struct sp_book *book, const cJSON *row)
{
	const char *id = sp_json_str(row, "id"), *intent = sp_json_str(row, "intent");
	struct sp_book_sandbox *sandbox = NULL;
	size_t i = 0;

	while (i < book->n_sandboxes && !same(book->sandboxes[i].row, intent))
		i++;
	if (i < book->n_sandboxes)
		sandbox = &book->sandboxes[i];
	if (!id) {
		if (sandbox)
			drop_sandbox(book, i);
		return 0;
	}
	if (add_id(&book->made, &book->n_made, NULL, id))
		return SP_INTERNAL;
	if (!sandbox) {
		sandbox = GROW(book->sandboxes, book->n_sandboxes);
		if (!sandbox)
			return SP_INTERNAL;
		sandbox->workspace = text_of(row, "workspace");
	}
	free(sandbox->id);
	sandbox->id = strdup(id);
	return sandbox->id ? 0 : SP_INTERNAL;
}

static int take_gone(struct sp_book *book, const cJSON *row)
{
	const char *id = sp_json_str(row, "id");

	/* The same one may have been announced and told of. */
	for (size_t i = book->n_sandboxes; i-- > 0;)
		if (same(book->sandboxes[i].id, id))
			drop_sandbox(book, i);
	return 0;
}

static int take_snapshot(struct sp_book *book, const cJSON *row)
{
	struct sp_book_snapshot *snapshot = GROW(book->snapshots, book->n_snapshots);

	if (!snapshot)
		return SP_INTERNAL;
	snapshot->row = text_of(row, "intent");
	snapshot->workspace = text_of(row, "workspace");
	snapshot->sandbox = text_of(row, "sandbox");
	snapshot->group = text_of(row, "group");
	snapshot->label = text_of(row, "label");
	(void)sp_json_int(row, "at", &snapshot->at_ms);
	return snapshot->row ? 0 : SP_INTERNAL;
}

static int take_taken(struct sp_book *book, const cJSON *row)
{
	const char *reference = sp_json_str(row, "id"), *intent = sp_json_str(row, "intent");

	for (size_t i = book->n_snapshots; i-- > 0;) {
		if (!same(book->snapshots[i].row, intent))
			continue;
		if (!reference) {
			drop_snapshot(book, i);
			return 0;
		}
		free(book->snapshots[i].reference);
		book->snapshots[i].reference = strdup(reference);
		return book->snapshots[i].reference ? 0 : SP_INTERNAL;
	}
	return 0;
}

static int take_deleted(struct sp_book *book, const cJSON *row)
{
	const char *reference = sp_json_str(row, "id");

	for (size_t i = book->n_snapshots; i-- > 0;)
		if (same(book->snapshots[i].reference, reference))
			drop_snapshot(book, i);
	return 0;
}

static int take_store(struct sp_book *book, const cJSON *row)
{
	free(book->store);
	free(book->cwd);
	book->store = text_of(row, "spec");
	book->cwd = text_of(row, "cwd");
	return 0;
}

static int take_record(struct sp_book *book, const cJSON *row)
{
	char *key = text_of(row, "id");
	char **room = key ? GROW(book->records, book->n_records) : NULL;

	if (room)
		*room = SP_TAKE(key);
	free(key);
	return room ? 0 : SP_INTERNAL;
}

static int take_forgot(struct sp_book *book, const cJSON *row)
{
	const char *key = sp_json_str(row, "id");

	for (size_t i = book->n_records; i-- > 0;) {
		if (!same(book->records[i], key))
			continue;
		free(book->records[i]);
		book->records[i] = book->records[--book->n_records];
	}
	return 0;
}

static const struct {
	const char *kind;
	int (*take)(struct sp_book *book, const cJSON *row);
} rows[] = {
    {"run", take_run},	     {"before", take_before},	{"intent", take_intent},
    {"made", take_made},     {"gone", take_gone},	{"snapshot", take_snapshot},
    {"taken", take_taken},   {"deleted", take_deleted}, {"store", take_store},
    {"record", take_record}, {"forgot", take_forgot},
};

static int take_row(struct sp_book *book, const char *line, size_t len)
{
	cJSON *row SP_CLEANUP(sp_json_done) = NULL;
	const char *kind;

	if (sp_json_parse(line, len, ROW_MAX, &row, NULL))
		return SP_INVALID;
	kind = sp_json_str(row, "row");
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		if (same(rows[i].kind, kind))
			return rows[i].take(book, row);
	return SP_INVALID;
}

int sp_book_read(const char *path, struct sp_book *ret_book, struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_book book SP_CLEANUP(sp_book_done) = SP_BOOK_INIT;
	const char *at, *end;
	int rc = sp_read_file(path, FILE_MAX, &bytes, err);

	at = (const char *)bytes.data;
	for (; !rc && at && (end = memchr(at, '\n', bytes.len - (size_t)(at - (char *)bytes.data)));
	     at = end + 1) {
		rc = take_row(&book, at, (size_t)(end - at));
		if (rc)
			sp_error_set(err, rc,
				     rc == SP_INVALID ? "%s is no ledger of this version"
						      : "no memory for the ledger %s",
				     path);
	}
	if (rc)
		return rc;
	*ret_book = book;
	book = (struct sp_book)SP_BOOK_INIT;
	return 0;
}
