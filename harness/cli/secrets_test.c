/* SPDX-License-Identifier: MIT */
/*
 * Where the key and the tokens of a live run could end up: a run with a failure and every report is
 * looked at while it stands still, ended by a crash, and searched for in all that it wrote.
 */
#include <ctype.h>
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

/* Values of variables that a run has uploaded: random texts of their own, so that each is known. */
#define VALUE_LEN 32
static char values[64][VALUE_LEN + 1];
static size_t n_values;

/* Which secret stands there, in any form, or NULL: the key, a token, the value of a variable. */
static const char *found(const void *data, size_t len)
{
	static const char *const starts[] = {
	    "Bearer ",
	    "connecttoken",
	    "Y29ubmVjdHRva2Vu",
	    "Nvbm5lY3R0b2tlb",
	    "jb25uZWN0dG9rZW",
	    "636f6e6e656374746f6b656e",
	};

	if (sp_redact_find(fake.api_key, data, len))
		return "the key";
	if (sp_redact_find(fake.control_token, data, len))
		return "the control token";
	/* Of a token nothing but its start is known: as it is, in base64 at any place, in hex. */
	for (size_t i = 0; i < SP_COUNT(starts); i++)
		if (memmem(data, len, starts[i], strlen(starts[i])))
			return "an authorization or a connect token";
	for (size_t i = 0; i < n_values; i++)
		if (sp_redact_find(values[i], data, len))
			return "the value of a variable";
	return NULL;
}

static void expect_clean(const char *where, const void *data, size_t len)
{
	const char *what = found(data, len);

	cr_expect_null(what, "%s holds %s", where, what);
}

/* Takes the random texts out of what was uploaded as a file of variables. */
static void learn_values(void)
{
	struct sp_control_requests requests SP_CLEANUP(sp_control_requests_done) =
	    SP_CONTROL_REQUESTS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(control.ops->requests(control.self, true, &requests, &err), 0, "%s",
		     err.message);
	for (size_t i = 0; i < requests.len; i++) {
		const struct sp_control_request *request = &requests.items[i];
		const char *at = (const char *)request->body.data, *end = at + request->body.len;

		if (strcmp(request->method, "PUT") || !at || !strstr(request->target, "tsai"))
			continue;
		for (size_t run = 0; at <= end && n_values < SP_COUNT(values); at++) {
			if (at < end && isalnum((unsigned char)*at)) {
				run++;
				continue;
			}
			if (run == VALUE_LEN)
				memcpy(values[n_values++], at - VALUE_LEN, VALUE_LEN);
			run = 0;
		}
	}
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

/* A search that can find nothing shows nothing. */
Test(secrets, are_found_where_they_are)
{
	static const char value[] = "0123456789abcdefghijklmnopqrstuv";
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *plain[] = {fake.api_key, fake.control_token, "connecttoken0123456789",
				       "Bearer x", value};

	memcpy(values[n_values++], value, sizeof(value));
	cr_expect_null(found("nothing of it", 13));
	for (size_t i = 0; i < SP_COUNT(plain); i++) {
		/* Base64 begins at each of its three places. */
		for (size_t lead = 0; lead < 3; lead++) {
			char line[256];
			int n = snprintf(line, sizeof(line), "%.*s%s", (int)lead, "xy", plain[i]);

			cr_expect_not_null(found(line, (size_t)n), "%s", line);
			sp_buf_clear(&text);
			sp_buf_add_base64(&text, line, (size_t)n);
			cr_expect(i == 3 || found(text.data, text.len), "base64 of %s: %s", line,
				  sp_buf_str(&text));
		}
	}
	n_values = 0;
}

/* The run, its files and its reports, while it stands still and when it has ended. */
static void search_run(const char *cases, const char *beside, const char *defect)
{
	const char *argv[] = {PROGRAM,	    "run",
			      "--provider", spec,
			      "--case",	    cases,
			      "--case",	    beside,
			      "--defect",   defect,
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

	n_processes = n_files = n_values = 0;
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
	learn_values();
	expect_clean("the console", said ? said : "", said ? strlen(said) : 0);
	search_files();
	cr_expect_geq(n_processes, 2u, "%zu processes were looked at", n_processes);
	cr_expect_geq(n_files, 6u, "%zu files were looked at", n_files);
}

/* A case that fails while the run holds the key: its evidence and every report are searched. */
Test(secrets, are_in_nothing_that_a_run_writes)
{
	search_run("exec.code.*", "env.value.bytes", "exec-code-boolean");
}

/* And one whose evidence is an error that holds a variable's value. */
Test(secrets, values_are_in_nothing_that_a_run_writes)
{
	search_run("env.error.*", "env.secret.argv", "env-value-in-error");
	cr_expect_geq(n_values, 1u, "no value was uploaded, so none was searched for");
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
