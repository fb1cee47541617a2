/* SPDX-License-Identifier: MIT */
#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#define BUSY_MS 30000
/* Pauses while somebody else writes: from, to. */
#define PAUSE_MIN_NS (SP_MS / 5)
#define PAUSE_MAX_NS (8 * SP_MS)

/* ---- errors ---- */

/* What SQLite's codes are in ours, and what to do. */
static const struct {
	int code;
	enum sp_code ours;
	const char *words;
} errors[] = {
    {SQLITE_BUSY, SP_UNAVAILABLE, "somebody else keeps the file locked; try again"},
    {SQLITE_LOCKED, SP_UNAVAILABLE, "somebody else keeps the file locked; try again"},
    {SQLITE_READONLY, SP_DENIED,
     "the file, or its -wal and -shm beside it, cannot be written; look at rights and mount"},
    {SQLITE_PERM, SP_DENIED, "access is refused"},
    {SQLITE_AUTH, SP_DENIED, "access is refused"},
    {SQLITE_FULL, SP_IO, "the disk is full; nothing was written"},
    {SQLITE_CANTOPEN, SP_IO, "a file cannot be opened"},
    {SQLITE_CORRUPT, SP_PROTOCOL, "the file is damaged; restore it from a copy"},
    {SQLITE_NOTADB, SP_PROTOCOL, "the file is no SQLite database; it is left as it is"},
    {SQLITE_ERROR, SP_PROTOCOL,
     "its tables are not what they were made as; restore it from a copy"},
    {SQLITE_NOMEM, SP_INTERNAL, "out of memory"},
    {SQLITE_INTERRUPT, SP_ABORTED, "interrupted"},
    {SQLITE_IOERR, SP_IO, "reading or writing failed"},
};

static enum sp_code explain_errno(struct sp_buf *out, const char *what, const char *where)
{
	int error = errno;

	sp_buf_addf(out, "%s (%s): %s", what, where, strerror(error));
	return error == EACCES || error == EPERM || error == EROFS ? SP_DENIED : SP_IO;
}

/*
 * SQLite tells neither which of its files it could not open nor why: that is looked for where the
 * file is, since two more are made beside it.
 */
static enum sp_code explain_cantopen(const char *path, struct sp_buf *out)
{
	const char *slash = strrchr(path, '/');
	char *folder SP_FREE = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	const char *where = !slash ? "." : folder && *folder ? folder : "/";
	struct stat st;

	if (stat(where, &st)) {
		if (errno == ENOENT)
			sp_buf_addf(out, "its folder %s does not exist; make it", where);
		else
			return explain_errno(out, "its folder cannot be used", where);
	} else if (!S_ISDIR(st.st_mode)) {
		sp_buf_addf(out, "%s is no folder", where);
	} else if (access(path, F_OK) && access(where, W_OK | X_OK)) {
		return explain_errno(out, "nothing can be made in its folder", where);
	} else if (!access(path, F_OK) && access(path, R_OK | W_OK)) {
		return explain_errno(out, "the file cannot be read and written", path);
	} else if (!lstat(path, &st) && S_ISLNK(st.st_mode) && access(path, F_OK)) {
		sp_buf_addf(out, "it is a link to something that does not exist");
	} else {
		sp_buf_addf(out,
			    "it or its -wal or -shm beside it in %s cannot be opened; see that "
			    "files can be made and mapped there (no network file system)",
			    where);
	}
	return SP_IO;
}

static int fail(struct sqlite_db *db, int code, const char *what, struct sp_error *err)
{
	struct sp_buf why SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	enum sp_code ours = SP_INTERNAL;
	const char *words = "SQLite refused";
	int rc;

	for (size_t i = 0; i < SP_COUNT(errors); i++) {
		if (errors[i].code != (code & 0xff))
			continue;
		ours = errors[i].ours;
		words = errors[i].words;
	}
	if ((code & 0xff) == SQLITE_CANTOPEN) {
		ours = explain_cantopen(db->path, &why);
		words = sp_buf_str(&why);
	}
	rc = sp_error_set(err, ours, "%s in %s: %s", what, db->path, words);
	if (err) {
		err->sys_errno = (code & 0xff) == SQLITE_FULL ? ENOSPC
				 : db->handle		      ? sqlite3_system_errno(db->handle)
							      : 0;
		/* Our statements are constant texts: SQLite's words hold no value. */
		sp_error_set_detail(err,
				    db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code));
	}
	return rc;
}

/* ---- waiting ---- */

static bool is_busy(int code)
{
	return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

/* Pauses without the lock, longer each time and never the same as others; 0 or the cancel's code.
 */
static int pause_busy(uint64_t *pause, struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fd = {.fd = sp_cancel_fd(cancel), .events = POLLIN};
	struct timespec length;
	uint64_t share;

	sp_random(&share, sizeof(share));
	share = *pause / 2 + share % *pause;
	length = (struct timespec){(time_t)(share / SP_SECOND), (long)(share % SP_SECOND)};
	(void)ppoll(&fd, 1, &length, NULL);
	*pause = *pause * 2 < PAUSE_MAX_NS ? *pause * 2 : PAUSE_MAX_NS;
	return sp_cancel_check(cancel, err);
}

int sqlite_db_run(struct sqlite_db *db, sqlite_attempt_fn attempt, void *arg, const char *what,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	uint64_t deadline = 0, pause = PAUSE_MIN_NS;
	int rc = sp_cancel_check(cancel, err);

	while (!rc) {
		int code;

		pthread_mutex_lock(&db->lock);
		code = attempt(db, arg);
		if (code == SQLITE_OK || !is_busy(code)) {
			/* The message is the connection's: it is taken before others use it. */
			rc = code == SQLITE_OK ? 0 : fail(db, code, what, err);
			pthread_mutex_unlock(&db->lock);
			return rc;
		}
		pthread_mutex_unlock(&db->lock);
		if (!deadline)
			deadline = sp_now() + db->busy_ns;
		else if (sp_now() > deadline)
			return fail(db, code, what, err);
		rc = pause_busy(&pause, cancel, err);
	}
	return rc;
}

int sqlite_db_exec(struct sqlite_db *db, const char *sql)
{
	return sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
}

/* ---- schema ---- */

/*
 * Step n brings a file of version n to version n + 1. Steps are never changed, only added. Columns
 * are strictly typed, and BINARY, the default collation, compares bytes.
 */
static const char *const migrations[] = {
    "CREATE TABLE records(key TEXT PRIMARY KEY NOT NULL, provider TEXT NOT NULL, "
    "sandbox_id TEXT NOT NULL, snapshot_id TEXT, thread_id TEXT NOT NULL, run_id TEXT, "
    "updated_at INTEGER NOT NULL, fence INTEGER) STRICT, WITHOUT ROWID;",

    "CREATE TABLE leases(key TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL, "
    "boot TEXT NOT NULL, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE tokens(last INTEGER NOT NULL) STRICT;"
    "INSERT INTO tokens(last) VALUES(0);",
};

/* What a file says about itself. */
struct head {
	int64_t application, version, tables;
};

static int number(struct sqlite_db *db, const char *sql, int64_t *ret_number)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*ret_number = sqlite3_column_int64(stmt, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc;
}

static int read_head(struct sqlite_db *db, void *arg)
{
	struct head *head = arg;
	int rc = number(db, "PRAGMA application_id", &head->application);

	if (rc == SQLITE_OK)
		rc = number(db, "PRAGMA user_version", &head->version);
	if (rc == SQLITE_OK)
		rc = number(db, "SELECT count(*) FROM sqlite_schema", &head->tables);
	return rc;
}

/* Nobody's yet, or made by a program of ours. */
static bool is_ours(const struct head *head)
{
	bool fresh = !head->application && !head->version && !head->tables;

	return fresh || head->application == SQLITE_APPLICATION;
}

static int judge_head(const struct sqlite_db *db, const struct head *head, struct sp_error *err)
{
	if (!is_ours(head))
		return sp_error_set(err, SP_INVALID,
				    "%s is a database of another program; name another file",
				    db->path);
	if (head->version < 0)
		return sp_error_set(err, SP_PROTOCOL,
				    "%s has schema %lld, which no version made; restore it from a "
				    "copy",
				    db->path, (long long)head->version);
	if (head->version > (int64_t)SP_COUNT(migrations))
		return sp_error_set(
		    err, SP_UNSUPPORTED,
		    "%s has schema %lld and this program knows %zu: a newer version "
		    "made it; use that one",
		    db->path, (long long)head->version, SP_COUNT(migrations));
	return 0;
}

/* What is missing of a file of this version, and the new number. */
static int step(struct sqlite_db *db, int64_t from)
{
	char mark[96];
	int rc = SQLITE_OK;

	for (size_t i = (size_t)from; rc == SQLITE_OK && i < SP_COUNT(migrations); i++)
		rc = sqlite_db_exec(db, migrations[i]);
	snprintf(mark, sizeof(mark), "PRAGMA application_id = %d; PRAGMA user_version = %zu",
		 SQLITE_APPLICATION, SP_COUNT(migrations));
	return rc == SQLITE_OK ? sqlite_db_exec(db, mark) : rc;
}

/*
 * Everything that is missing, in one transaction: half a schema is never seen. Answers what the
 * file then says of itself.
 */
static int migrate(struct sqlite_db *db, void *arg)
{
	struct head *head = arg;
	int rc = sqlite_db_exec(db, "BEGIN IMMEDIATE");

	if (rc != SQLITE_OK)
		return rc;
	/* Another process may have been faster; a newer one's file is left to the caller's word. */
	rc = read_head(db, head);
	if (rc == SQLITE_OK && is_ours(head) && head->version >= 0 &&
	    head->version < (int64_t)SP_COUNT(migrations))
		rc = step(db, head->version);
	if (rc == SQLITE_OK)
		rc = sqlite_db_exec(db, "COMMIT");
	if (rc != SQLITE_OK)
		(void)sqlite_db_exec(db, "ROLLBACK");
	return rc;
}

/*
 * SQLite would take a file that is shorter than a page for an empty one, and a log beside it for
 * its pages. The file is read through SQLite's own descriptor: closing another would drop its
 * locks.
 */
static int check_magic(struct sqlite_db *db)
{
	static const char magic[16] = "SQLite format 3";
	char begins[sizeof(magic)] = {0};
	sqlite3_file *file = NULL;
	sqlite3_int64 size = 0;
	int rc = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc == SQLITE_OK && file && file->pMethods)
		rc = file->pMethods->xFileSize(file, &size);
	if (rc != SQLITE_OK || !size)
		return rc;
	rc = file->pMethods->xRead(file, begins, sizeof(begins), 0);
	if (rc == SQLITE_IOERR_SHORT_READ)
		rc = SQLITE_OK;
	return rc == SQLITE_OK && memcmp(begins, magic, sizeof(magic)) ? SQLITE_NOTADB : rc;
}

static int bring_up(struct sqlite_db *db, struct sp_error *err)
{
	struct head head = {0};
	int code = check_magic(db), rc;

	if (code != SQLITE_OK)
		return fail(db, code, "opening", err);
	rc = sqlite_db_run(db, read_head, &head, "reading the head", NULL, err);

	if (!rc)
		rc = judge_head(db, &head, err);
	if (rc || head.version == (int64_t)SP_COUNT(migrations))
		return rc;
	rc = sqlite_db_run(db, migrate, &head, "making the tables", NULL, err);
	return rc ? rc : judge_head(db, &head, err);
}

/* ---- opening ---- */

/* The mode is the file's; where it cannot be had (a network file system), nothing of ours works. */
static int want_wal(struct sqlite_db *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db->handle, "PRAGMA journal_mode = WAL", -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		rc = strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") ? SQLITE_CANTOPEN
									       : SQLITE_OK;
	sqlite3_finalize(stmt);
	return rc;
}

static int set_up(struct sqlite_db *db, void *arg)
{
	int rc = want_wal(db);

	(void)arg;
	/* An acknowledged write is on the disk; nobody else's SQL is ever run from a schema. */
	if (rc == SQLITE_OK)
		rc = sqlite_db_exec(db, "PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF");
	return rc;
}

static int check_path(const char *path, struct sp_error *err)
{
	struct stat st;

	if (!path || !*path)
		return sp_error_set(err, SP_INVALID, "an SQLite store needs the path of its file");
	/* SQLite would take them for something else than a path. */
	if (!strcmp(path, ":memory:"))
		return sp_error_set(err, SP_INVALID,
				    ":memory: is no file; there is a store `memory` for that");
	if (!strncasecmp(path, "file:", 5))
		return sp_error_set(err, SP_INVALID,
				    "%s is a URI; an SQLite store takes the path of its file "
				    "(./file:… for a file of such a name)",
				    path);
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return sp_error_set(err, SP_INVALID, "%s is %s; an SQLite store needs a file", path,
				    S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
	return 0;
}

int sqlite_db_open(const struct sp_sqlite_options *options, struct sqlite_db *db,
		   struct sp_error *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
			  SQLITE_OPEN_EXRESCODE;
	int code, rc = check_path(options->path, err);

	*db = (struct sqlite_db){.lock = PTHREAD_MUTEX_INITIALIZER};
	if (rc)
		return rc;
	db->busy_ns = (options->busy_ms ? options->busy_ms : BUSY_MS) * SP_MS;
	db->path = strdup(options->path);
	if (!db->path)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	code = sqlite3_open_v2(db->path, &db->handle, flags, NULL);
	if (code != SQLITE_OK)
		return fail(db, code, "opening", err);
	/* Whose it is comes before anything that could change the file. */
	rc = bring_up(db, err);
	return rc ? rc : sqlite_db_run(db, set_up, NULL, "setting up", NULL, err);
}

void sqlite_db_done(struct sqlite_db *db)
{
	(void)sqlite3_close(db->handle);
	free(db->path);
	pthread_mutex_destroy(&db->lock);
	*db = (struct sqlite_db){.lock = PTHREAD_MUTEX_INITIALIZER};
}

int sqlite_db_prepare(struct sqlite_db *db, const char *sql, sqlite3_stmt **ret_stmt,
		      struct sp_error *err)
{
	int rc = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_stmt, NULL);

	return rc == SQLITE_OK ? 0 : fail(db, rc, "preparing a statement", err);
}

/* ---- time ---- */

int64_t sqlite_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static char boot_id[64];

static void read_boot_id(void)
{
	int fd SP_CLOSE = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, boot_id, sizeof(boot_id) - 1);

	boot_id[len > 0 ? len : 0] = '\0';
	boot_id[strcspn(boot_id, "\n")] = '\0';
}

const char *sqlite_boot_id(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_boot_id);
	return boot_id;
}
