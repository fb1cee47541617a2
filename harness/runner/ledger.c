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

/* A key may be long, and all of it escaped. */
#define ROW_CEILING 32768
/* Ids of one row, so that it stays one write. */
#define IDS_A_ROW 100

struct sp_ledger {
	char *path;
	int fd;
	bool sync;
};

char *sp_ledger_folder(void)
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

/* A text as JSON, or null. */
static void add_text(struct sp_buf *row, const char *text)
{
	if (text)
		sp_buf_add_json(row, text, strlen(text));
	else
		sp_buf_adds(row, "null");
}

static int write_head(struct sp_ledger *ledger, const char *subjects, const char *provider)
{
	struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);

	sp_buf_addf(&row,
		    "{\"row\":\"run\",\"version\":2,\"pid\":%d,\"start\":%" PRId64 ",\"subjects\":",
		    (int)getpid(), sp_wall_ms());
	add_text(&row, subjects);
	sp_buf_adds(&row, ",\"provider\":");
	add_text(&row, provider);
	sp_buf_adds(&row, "}\n");
	return append(ledger, &row, ledger->sync);
}

int sp_ledger_open(const char *subjects, const char *provider, bool sync,
		   struct sp_ledger **ret_ledger, struct sp_error *err)
{
	char *folder SP_FREE = sp_ledger_folder();
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
	if (!rc && (ledger->fd < 0 || flock(ledger->fd, LOCK_EX)))
		rc = -errno;
	if (!rc)
		rc = write_head(ledger, subjects, provider);
	if (rc) {
		sp_error_set_errno(err, -rc, "cannot write the ledger %s", ledger->path);
		sp_ledger_close(ledger, true);
		return SP_IO;
	}
	*ret_ledger = ledger;
	return 0;
}

int sp_ledger_before(struct sp_ledger *ledger, const char *workspace, const char *const *ids,
		     size_t n_ids)
{
	size_t i = 0;
	int rc = 0;

	if (!ledger)
		return 0;
	/* An empty list is one, too. */
	do {
		struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);
		size_t end = n_ids - i > IDS_A_ROW ? i + IDS_A_ROW : n_ids;

		sp_buf_adds(&row, "{\"row\":\"before\",\"workspace\":");
		add_text(&row, workspace);
		sp_buf_adds(&row, ",\"ids\":[");
		for (size_t first = i; i < end; i++) {
			sp_buf_adds(&row, i > first ? "," : "");
			add_text(&row, ids[i]);
		}
		sp_buf_adds(&row, "]}\n");
		rc = append(ledger, &row, false);
	} while (!rc && i < n_ids);
	return rc;
}

/* The start of a row that announces a call. */
static void announce(struct sp_buf *row, const char *kind, const char *workspace,
		     char ret_row[SP_LEDGER_ROW])
{
	sp_random_id(ret_row, SP_LEDGER_ROW - 1);
	sp_buf_addf(row, "{\"row\":\"%s\",\"intent\":\"%s\",\"at\":%" PRId64 ",\"workspace\":",
		    kind, ret_row, sp_wall_ms());
	add_text(row, workspace);
}

int sp_ledger_intent(struct sp_ledger *ledger, const char *workspace, uint32_t lifetime_s,
		     char ret_row[SP_LEDGER_ROW])
{
	struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);

	ret_row[0] = '\0';
	if (!ledger)
		return 0;
	announce(&row, "intent", workspace, ret_row);
	sp_buf_addf(&row, ",\"lifetime_s\":%" PRIu32 "}\n", lifetime_s);
	return append(ledger, &row, ledger->sync);
}

int sp_ledger_snapshot(struct sp_ledger *ledger, const char *workspace, const char *sandbox,
		       const char *group, const char *label, char ret_row[SP_LEDGER_ROW])
{
	struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);
	/* Long enough to be recognised, short enough for any label. */
	char *start SP_FREE = label ? strndup(label, 256) : NULL;

	ret_row[0] = '\0';
	if (!ledger)
		return 0;
	announce(&row, "snapshot", workspace, ret_row);
	sp_buf_adds(&row, ",\"sandbox\":");
	add_text(&row, sandbox);
	sp_buf_adds(&row, ",\"group\":");
	add_text(&row, group);
	sp_buf_adds(&row, ",\"label\":");
	add_text(&row, start);
	sp_buf_adds(&row, "}\n");
	return append(ledger, &row, ledger->sync);
}

/* A row that says what became of something. */
static int tell(struct sp_ledger *ledger, const char *kind, const char *row_id,
		const char *workspace, const char *id)
{
	struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);

	if (!ledger)
		return 0;
	sp_buf_addf(&row, "{\"row\":\"%s\"", kind);
	if (row_id && *row_id)
		sp_buf_addf(&row, ",\"intent\":\"%s\"", row_id);
	sp_buf_adds(&row, ",\"workspace\":");
	add_text(&row, workspace);
	sp_buf_adds(&row, ",\"id\":");
	add_text(&row, id);
	sp_buf_adds(&row, "}\n");
	return append(ledger, &row, false);
}

int sp_ledger_made(struct sp_ledger *ledger, const char *row, const char *workspace,
		   const char *id)
{
	return tell(ledger, "made", row, workspace, id);
}

int sp_ledger_gone(struct sp_ledger *ledger, const char *id)
{
	return tell(ledger, "gone", NULL, NULL, id);
}

int sp_ledger_taken(struct sp_ledger *ledger, const char *row, const char *reference)
{
	return tell(ledger, "taken", row, NULL, reference);
}

int sp_ledger_deleted(struct sp_ledger *ledger, const char *reference)
{
	return tell(ledger, "deleted", NULL, NULL, reference);
}

int sp_ledger_store(struct sp_ledger *ledger, const char *store)
{
	struct sp_buf row SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ROW_CEILING);
	char *cwd SP_FREE = getcwd(NULL, 0);

	if (!ledger || !store)
		return 0;
	sp_buf_adds(&row, "{\"row\":\"store\",\"spec\":");
	add_text(&row, store);
	sp_buf_adds(&row, ",\"cwd\":");
	add_text(&row, cwd);
	sp_buf_adds(&row, "}\n");
	return append(ledger, &row, false);
}

int sp_ledger_record(struct sp_ledger *ledger, const char *key)
{
	return tell(ledger, "record", NULL, NULL, key);
}

int sp_ledger_forgot(struct sp_ledger *ledger, const char *key)
{
	return tell(ledger, "forgot", NULL, NULL, key);
}

bool sp_ledger_open_rows(const struct sp_ledger *ledger)
{
	struct sp_book book SP_CLEANUP(sp_book_done) = SP_BOOK_INIT;

	if (!ledger)
		return false;
	/* What cannot be read is kept for whoever can. */
	return sp_book_read(ledger->path, &book, NULL) || book.n_sandboxes || book.n_snapshots ||
	       book.n_records;
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
