/* SPDX-License-Identifier: MIT */
/*
 * Where the key and the tokens of a live run could end up: a run with a failure and every report is
 * looked at while it stands still, ended by a crash, and searched for in all that it wrote.
 */
#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <cli/fake.h>
#include <control/control.h>
#include <redact/redact.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"
#define LIMIT_MS 60000
#define FILE_MAX ((size_t)64 << 20)

static struct cli_fake fake = CLI_FAKE_INIT;
static struct sp_control control;
static char *home;
static char spec[512];
/* What was searched, so that a test that finds nothing has looked at something. */
static size_t n_files, n_processes;

static struct sp_cancel *limit_new(void)
{
	struct sp_cancel *limit = sp_cancel_new();

	sp_cancel_set_deadline(limit, sp_deadline_ms(LIMIT_MS));
	return limit;
}

static void put_env(const char *name, const char *folder)
{
	char *path SP_FREE = NULL;

	cr_assert(asprintf(&path, "%s/%s", home, folder) > 0);
	cr_assert_eq(sp_mkdirs(path, 0700), 0);
	setenv(name, path, 1);
}

static void open_server(void)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(cli_fake_start(&fake, PROGRAM, &err), 0, "%s", err.message);
	cr_assert_eq(sp_tmp_dir("cli-secrets-", &home, &err), 0, "%s", err.message);
	put_env("XDG_STATE_HOME", "state");
	put_env("TMPDIR", "tmp");
	setenv("RENDER_API_KEY", fake.api_key, 1);
	setenv("RENDER_WORKSPACE_ID", fake.workspace_id, 1);
	snprintf(spec, sizeof(spec), "render:%s", fake.base_url);
	cr_assert_eq(sp_control_open(fake.control_url, fake.control_token, fake.workspace_id,
				     &control, &err),
		     0, "%s", err.message);
}

static void close_server(void)
{
	control.ops->close(control.self);
	cli_fake_stop(&fake);
	sp_remove_tree(home);
	free(home);
}

TestSuite(secrets, .init = open_server, .fini = close_server);

/* No form of the key, and of no token: both begin so on the fake. */
static void expect_clean(const char *where, const void *data, size_t len)
{
	const char *form = sp_redact_find(fake.api_key, data, len);

	cr_expect_null(form, "%s holds the key (%s)", where, form);
	cr_expect_null(memmem(data, len, "Bearer ", 7), "%s holds an authorization", where);
}

static int search_file(const char *path, const struct stat *st, int type, struct FTW *at SP_UNUSED)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	const char *base = strrchr(path, '/');

	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	cr_expect(!base || strncmp(base, "/core", 5), "a core file: %s", path);
	if (!sp_read_file(path, FILE_MAX, &bytes, NULL) && bytes.len) {
		n_files++;
		expect_clean(path, bytes.data, bytes.len);
	}
	return 0;
}

static void search_files(void)
{
	nftw(home, search_file, 16, FTW_PHYS);
}

/* Whether a process belongs to the run: its environment has our state folder. */
static bool is_ours(const char *pid, const char *mark)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	return !sp_read_file(path, FILE_MAX, &bytes, NULL) && bytes.len &&
	       memmem(bytes.data, bytes.len, mark, strlen(mark));
}

/* The command lines of the run's processes; and a process of it that is not the first, or 0. */
static pid_t search_processes(pid_t first)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t worker = 0;

	while (dir && (entry = readdir(dir))) {
		struct sp_bytes line SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		char path[64];
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || pid == getpid() || !is_ours(entry->d_name, home))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/cmdline", entry->d_name);
		if (sp_read_file(path, FILE_MAX, &line, NULL))
			continue;
		n_processes++;
		expect_clean(path, line.data, line.len);
		worker = pid != first ? pid : worker;
	}
	if (dir)
		closedir(dir);
	return worker;
}

static char *read_all(int fd)
{
	struct sp_buf out = SP_BUF_INIT(FILE_MAX);
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		sp_buf_add(&out, piece, (size_t)n);
	return sp_buf_take(&out, NULL);
}

/* A case that fails while the run holds the key: its evidence and every report are searched. */
Test(secrets, are_in_nothing_that_a_run_writes)
{
	const char *argv[] = {PROGRAM,	    "run",
			      "--provider", spec,
			      "--case",	    "exec.code.*",
			      "--case",	    "env.value.bytes",
			      "--defect",   "exec-code-boolean",
			      "--report",   "junit=junit.xml",
			      "--report",   "html=report.html",
			      "--report",   "markdown=report.md",
			      "--report",   "ctrf=ctrf.json",
			      "--report",   "tap=tap.txt",
			      "--results",  "results.ndjson",
			      NULL};
	struct sp_child child SP_CLEANUP(sp_child_done) = SP_CHILD_INIT;
	struct sp_cancel *limit = limit_new();
	struct sp_error err = SP_ERROR_INIT;
	char *said SP_FREE = NULL;
	uint64_t hold;

	cr_assert_eq(control.ops->hold(control.self, SP_STEP_RUN, SP_BEFORE, NULL, &hold, &err), 0);
	child.argv = argv;
	child.dir = home;
	child.out = SP_CHILD_PIPE;
	cr_assert_eq(sp_child_start(&child, &err), 0, "%s", err.message);
	cr_expect_eq(control.ops->await_held(control.self, hold, limit, &err), 0, "%s",
		     err.message);
	(void)search_processes(child.pid);
	search_files();
	(void)control.ops->release(control.self, hold, NULL);
	said = read_all(child.out);
	cr_expect_eq(sp_child_wait(&child, limit, &err), 0, "%s", err.message);
	sp_cancel_unref(limit);
	cr_expect_eq(child.code, 1, "code %d: %s", child.code, said);
	cr_expect(said && strstr(said, "FAIL"), "%s", said);
	expect_clean("the console", said ? said : "", said ? strlen(said) : 0);
	search_files();
	cr_expect_geq(n_processes, 2u, "%zu processes were looked at", n_processes);
	cr_expect_geq(n_files, 6u, "%zu files were looked at", n_files);
}

/* A worker that crashes with the key in its memory leaves no core file. */
Test(secrets, are_in_no_core_file)
{
	const char *argv[] = {PROGRAM,		 "run", "--provider", spec, "--case",
			      "env.value.bytes", NULL};
	struct sp_child child SP_CLEANUP(sp_child_done) = SP_CHILD_INIT;
	struct sp_cancel *limit = limit_new();
	struct sp_error err = SP_ERROR_INIT;
	struct sp_bytes limits SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	char path[64];
	uint64_t hold;
	pid_t worker;

	cr_assert_eq(control.ops->hold(control.self, SP_STEP_RUN, SP_BEFORE, NULL, &hold, &err), 0);
	child.argv = argv;
	child.dir = home;
	cr_assert_eq(sp_child_start(&child, &err), 0, "%s", err.message);
	cr_expect_eq(control.ops->await_held(control.self, hold, limit, &err), 0, "%s",
		     err.message);
	worker = search_processes(child.pid);
	cr_assert_gt(worker, 0);
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)worker);
	cr_expect_eq(sp_read_file(path, FILE_MAX, &limits, NULL), 0);
	cr_expect(limits.data && strstr((char *)limits.data, "Max core file size        0 "), "%s",
		  limits.data);
	kill(worker, SIGABRT);
	(void)control.ops->release(control.self, hold, NULL);
	sp_child_wait(&child, limit, NULL);
	sp_cancel_unref(limit);
	search_files();
}
