/* SPDX-License-Identifier: MIT */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/json.h>

#define ROW_CEILING 8192
#define FILE_MAX (256UL * 1024 * 1024)

struct sp_ledger {
	char *path;
	int fd;
	bool sync;
};

static char *state_folder(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *path = NULL;
	int rc = -1;

	if (state && *state == '/')
		rc = asprintf(&path, "%s/sandproof", state);
	else if (home && *home == '/')
		rc = asprintf(&path, "%s/.local/state/sandproof", home);
	return rc < 0 ? NULL : path;
}

static int append(struct sp_ledger *ledger, const struct sp_buf *row, bool sync)
{
	int rc = row->error ? row->error : sp_write_all(ledger->fd, row->data, row->len);

	if (!rc && sync && fsync(ledger->fd))
		rc = -errno;
	return rc;
}

static int write_head(struct sp_ledger *ledger, const char *subjects)
{
	struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);

	sp_buf_addf(&row,
		    "{\"row\":\"run\",\"version\":1,\"pid\":%d,\"start\":%" PRId64 ",\"subjects\":",
		    (int)getpid(), sp_wall_ms());
	sp_buf_add_json(&row, subjects, strlen(subjects));
	sp_buf_adds(&row, "}\n");
	return append(ledger, &row, ledger->sync);
}

int sp_ledger_open(const char *subjects, bool sync, struct sp_ledger **ret_ledger,
		   struct sp_error *err)
{
	char *folder SP_FREE = state_folder();
	struct sp_ledger *ledger = calloc(1, sizeof(*ledger));
	char id[13];
	int rc;

	if (!ledger)
		return sp_error_set(err, SP_INTERNAL, "no memory for the ledger");
	ledger->fd = -1;
	ledger->sync = sync;
	sp_random_id(id, 12);
	if (!folder || asprintf(&ledger->path, "%s/run-%s.ndjson", folder, id) < 0) {
		free(ledger);
		return sp_error_set(err, SP_IO,
				    "no place for the ledger: set XDG_STATE_HOME or HOME to an "
				    "absolute path");
	}
	rc = sp_mkdirs(folder, 0700);
	if (!rc)
		ledger->fd = open(ledger->path,
				  O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (!rc && (ledger->fd < 0 || flock(ledger->fd, LOCK_EX | LOCK_NB)))
		rc = -errno;
	if (!rc)
		rc = write_head(ledger, subjects);
	if (rc) {
		sp_error_set_errno(err, -rc, "cannot write the ledger %s", ledger->path);
		sp_ledger_close(ledger, true);
		return SP_IO;
	}
	*ret_ledger = ledger;
	return 0;
}

int sp_ledger_intent(struct sp_ledger *ledger, const char *shown_spec, uint32_t lifetime_s,
		     char ret_row[17])
{
	struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);

	ret_row[0] = '\0';
	if (!ledger)
		return 0;
	sp_random_id(ret_row, 16);
	sp_buf_addf(&row,
		    "{\"row\":\"intent\",\"intent\":\"%s\",\"at\":%" PRId64
		    ",\"lifetime_s\":%" PRIu32 ",\"spec\":",
		    ret_row, sp_wall_ms(), lifetime_s);
	sp_buf_add_json(&row, shown_spec, strlen(shown_spec));
	sp_buf_adds(&row, "}\n");
	return append(ledger, &row, ledger->sync);
}

static int end_row(struct sp_ledger *ledger, const char *kind, const char *row_id, const char *id)
{
	struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);

	if (!ledger)
		return 0;
	sp_buf_addf(&row, "{\"row\":\"%s\"", kind);
	if (row_id)
		sp_buf_addf(&row, ",\"intent\":\"%s\"", row_id);
	sp_buf_adds(&row, ",\"id\":");
	if (id)
		sp_buf_add_json(&row, id, strlen(id));
	else
		sp_buf_adds(&row, "null");
	sp_buf_adds(&row, "}\n");
	return append(ledger, &row, false);
}

int sp_ledger_made(struct sp_ledger *ledger, const char *row, const char *id)
{
	return end_row(ledger, "made", row, id);
}

int sp_ledger_gone(struct sp_ledger *ledger, const char *id)
{
	return end_row(ledger, "gone", NULL, id);
}

/* Removes the row id of an intent from the open ones when its call has ended. */
static void follow_row(cJSON *open, const char *line, size_t len)
{
	cJSON *row SP_CLEANUP(sp_json_done) = NULL;
	const char *kind, *intent;

	if (sp_json_parse(line, len, ROW_CEILING, &row, NULL))
		return;
	kind = sp_json_str(row, "row");
	intent = sp_json_str(row, "intent");
	if (!kind || !intent)
		return;
	if (!strcmp(kind, "intent"))
		cJSON_AddTrueToObject(open, intent);
	else
		cJSON_DeleteItemFromObjectCaseSensitive(open, intent);
}

bool sp_ledger_open_rows(const struct sp_ledger *ledger)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	cJSON *open SP_CLEANUP(sp_json_done) = cJSON_CreateObject();
	const char *at, *end;

	if (!ledger)
		return false;
	/* What cannot be read is kept for whoever can. */
	if (!open || sp_read_file(ledger->path, FILE_MAX, &bytes, NULL))
		return true;
	at = (const char *)bytes.data;
	for (; (end = memchr(at, '\n', bytes.len - (size_t)(at - (char *)bytes.data)));
	     at = end + 1)
		follow_row(open, at, (size_t)(end - at));
	return open->child != NULL;
}

void sp_ledger_close(struct sp_ledger *ledger, bool clean)
{
	if (!ledger)
		return;
	/*
	 * Before the lock goes with the descriptor, so that nobody takes a
	 * file that is about to vanish.
	 */
	if (clean && ledger->path)
		unlink(ledger->path);
	sp_close(ledger->fd);
	free(ledger->path);
	free(ledger);
}

const char *sp_ledger_path(const struct sp_ledger *ledger)
{
	return ledger ? ledger->path : NULL;
}
