/* SPDX-License-Identifier: MIT */
/* Scenarios of snapshots: captured, restored, refused, damaged, hostile. */
#include <fakes/bash/scenario.h>

#include <sys/stat.h>

/* Where an archive goes: beside the sandboxes, in the engine's private folder. */
static const char *archive_path(const char *name)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/%s.tar", folder, name);
	return path;
}

static int capture_limited(struct fake_sandbox *sandbox, enum fake_kind kind, const char *path,
			   uint64_t limit, struct sp_error *err)
{
	struct outcome taken = { 0 };
	int rc = fake_sandbox_capture(sandbox, kind, path, limit, note, &taken, err);

	if (rc)
		return rc;
	await(&taken);
	*err = taken.err;
	return taken.rc;
}

static void capture(struct fake_sandbox *sandbox, enum fake_kind kind, const char *path)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = capture_limited(sandbox, kind, path, 0, &err);

	CHECK(!rc, "capture: %s", err.message);
}

static struct fake_sandbox *restore(const char *path)
{
	return make_with((struct fake_sandbox_options){ .archive = path });
}

/* A restore that must fail with this code; what is left of it is ended. */
static void refuse_restore(const char *path, uint64_t limit, int code, const char *what)
{
	struct fake_sandbox_options options = { .id = "refused", .archive = path, .archive_limit = limit };
	struct outcome made = { 0 };
	struct fake_sandbox *sandbox = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (fake_sandbox_create(engine, &options, note, &made, &sandbox, &err)) {
		CHECK(false, "%s: create: %s", what, err.message);
		return;
	}
	await(&made);
	CHECK(made.rc == code, "%s: code %d expected, got %d: %s", what, code, made.rc,
	      made.err.message);
	CHECK(fake_sandbox_state(sandbox) == FAKE_ERRORED, "%s: %s", what,
	      fake_state_name(fake_sandbox_state(sandbox)));
	destroy(sandbox);
}

static void archive_remove(const char *path)
{
	struct outcome removed = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	CHECK(!fake_archive_remove(engine, path, note, &removed, &err), "%s", err.message);
	await(&removed);
	CHECK(!removed.rc && access(path, F_OK), "%s: %s", path, removed.err.message);
}

/* Whether these bytes stand anywhere in a file. */
static bool holds(const char *path, const char *bytes)
{
	struct sp_bytes all = SP_BYTES_INIT;
	bool found;

	if (sp_read_file(path, OUTPUT_CEILING, &all, NULL))
		return false;
	found = memmem(all.data, all.len, bytes, strlen(bytes));
	sp_bytes_done(&all);
	return found;
}

/* What a command says in both is the same, and something. */
static void same(struct fake_sandbox *a, struct fake_sandbox *b, const char *text)
{
	struct run ra = start(a, text);
	struct run rb;

	finish(&ra);
	rb = start(b, text);
	finish(&rb);
	CHECK(ra.text[0].len, "`%s` says nothing: %s", text, sp_buf_str(&ra.text[1]));
	CHECK(ra.code == rb.code && ra.text[0].len == rb.text[0].len &&
		      !memcmp(ra.text[0].data, rb.text[0].data, ra.text[0].len),
	      "`%s`: before\n%s\nafter\n%s%s", text, sp_buf_str(&ra.text[0]), sp_buf_str(&rb.text[0]),
	      sp_buf_str(&rb.text[1]));
	run_done(&ra);
	run_done(&rb);
}

/* Where a command finds the memory-backed directory. */
#define MEMORY_SH "M=/dev; [[ -w $HOME/../dev && $HOME = */home ]] && M=$HOME/../dev; "

/* Names, kinds, modes, links, owners, sizes, times of all below a folder, and what the files hold. */
#define MANIFEST                                                                                   \
	"find . -printf '%P|%y|%m|%n|%U|%G|%s|%T@|%l\\n' | grep -v '^|' | LC_ALL=C sort; "       \
	"find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum"

/* ---- cases ---- */

/* The kinds differ in the memory-backed directory and in what processes were told. */
static void case_kinds(void)
{
	const char *path = archive_path("kinds");
	struct fake_sandbox *source = make(), *copy;
	struct run sleeper;

	EXPECT(source,
	       MEMORY_SH "mkdir $M/keep && echo 'in-memory-7' >$M/keep/secret && chmod 700 $M/keep && "
			 "echo 'on-disk-7' >file && echo tmp >tmpfile",
	       0, "");
	sleeper = start(source, "TOLD='only-told-7' exec sleep 1000");
	EXPECT(source, "until pgrep -f 'sleep 100[0]' >/dev/null; do :; done", 0, "");
	capture(source, FAKE_FILESYSTEM, path);
	CHECK(holds(path, "on-disk-7"), "a filesystem snapshot without its files");
	CHECK(!holds(path, "in-memory-7") && !holds(path, "only-told-7"), "it holds memory");
	copy = restore(path);
	EXPECT(copy, MEMORY_SH "cat file tmpfile; [ ! -e $M/keep ] && echo none", 0,
	       "on-disk-7\ntmp\nnone\n");
	EXPECT(copy, "pgrep -cf 'sleep 100[0]' || echo nobody", 0, NULL);
	destroy(copy);
	archive_remove(path);
	capture(source, FAKE_RUNTIME, path);
	CHECK(holds(path, "on-disk-7") && holds(path, "in-memory-7") && holds(path, "only-told-7"),
	      "a runtime snapshot without something of it");
	copy = restore(path);
	EXPECT(copy, MEMORY_SH "cat file $M/keep/secret; stat -c %a $M/keep", 0,
	       "on-disk-7\nin-memory-7\n700\n");
	EXPECT(copy, "echo gone >/dev/null && head -c 2 /dev/zero | od -An -tx1", 0, " 00 00\n");
	destroy(copy);
	run_done(&sleeper);
	destroy(source);
	archive_remove(path);
}

/* After restore the tree equals the snapshot, and the two go their own ways. */
static void case_tree(void)
{
	const char *path = archive_path("tree");
	struct fake_sandbox *source = make(), *copy;

	EXPECT(source,
	       "mkdir -p d/e/f; echo one >d/one; ln d/one d/e/again; ln d/one third; echo x >d/e/f/x; "
	       "ln -s ../nowhere d/dangling; ln -s /etc d/away; mkfifo -m 640 d/pipe; "
	       "chmod 4711 d/one; chmod 0500 d/e; touch -d '2001-02-03 04:05:06.789012345' d/e/f/x d/e/f; "
	       "mkdir -m 1777 sticky; mkdir empty; : >nothing; "
	       "truncate -s 20M sparse; printf tail >>sparse; truncate -s 30M sparse; truncate -s 5M hole; "
	       "head -c 3000000 /dev/urandom >big; head -c 700 /dev/urandom >small; chmod 0 small",
	       0, "");
	if (geteuid() == 0)
		EXPECT(source, "chown 12:34 empty big; chown -h 1:2 d/dangling; true", 0, "");
	capture(source, FAKE_FILESYSTEM, path);
	copy = restore(path);
	same(source, copy, MANIFEST);
	EXPECT(copy, "[ d/one -ef d/e/again -a d/one -ef third ] && stat -c %h third", 0, "3\n");
	EXPECT(copy, "[ $(stat -c %b sparse) -lt 1000 ] && tail -c +20971521 sparse | head -c 4", 0,
	       "tail");
	CHECK(census(source).files == census(copy).files, "files: %zu and %zu", census(source).files,
	      census(copy).files);
	EXPECT(copy, "echo two >d/one && rm third && chmod 700 d/e && rm -r d/e", 0, "");
	EXPECT(source, "cat d/one third d/e/f/x", 0, "one\none\nx\n");
	EXPECT(source, "echo three >d/one", 0, "");
	destroy(source);
	EXPECT(copy, "cat d/one", 0, "two\n");
	destroy(copy);
	copy = restore(path);
	EXPECT(copy, "cat d/one third", 0, "one\none\n");
	destroy(copy);
	archive_remove(path);
}

/* No room: the error says so, nothing is left of the attempt, and the source is as it was. */
static void case_full(void)
{
	const char *path = archive_path("full");
	struct fake_sandbox *source = make();
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	EXPECT(source, "head -c 100000 /dev/zero >file", 0, "");
	rc = capture_limited(source, FAKE_FILESYSTEM, path, 50000, &err);
	CHECK(rc == SP_IO && err.sys_errno == ENOSPC, "%d %d %s", rc, err.sys_errno, err.message);
	CHECK(access(path, F_OK), "a part of an archive was left");
	CHECK(fake_sandbox_state(source) == FAKE_RUNNING && census(source).files == 1, "%s, %zu files",
	      fake_state_name(fake_sandbox_state(source)), census(source).files);
	capture(source, FAKE_FILESYSTEM, path);
	refuse_restore(path, 50000, SP_IO, "a disk that becomes full");
	destroy(restore(path));
	EXPECT(source, "stat -c %s file", 0, "100000\n");
	destroy(source);
	archive_remove(path);
}

static const struct helper_case cases[] = {
	{ "full", case_full, BOTH },
	{ "kinds", case_kinds, BOTH },
	{ "tree", case_tree, BOTH },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, cases, SP_COUNT(cases));
}
