/* SPDX-License-Identifier: MIT */
/*
 * For the helper programs of this folder only: one scenario with an engine of
 * its own, in a process of its own: an engine wants a process without threads,
 * and may move it into a user namespace.
 *
 *   HELPER auto|plain|namespaces CASE FOLDER  0 passed, 1 failed (reasons on stderr), 77 skipped
 *   HELPER plain|namespaces -c TEXT FOLDER  runs TEXT in a sandbox, for a look by hand
 *   HELPER --list                           names of the cases, each with the modes it is for
 */
#ifndef FAKE_BASH_SCENARIO_H
#define FAKE_BASH_SCENARIO_H

#include <fakes/bash/engine.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <base/utf8.h>

#define SKIPPED 77
/* Turns a hang into a failure; nothing is measured by it. */
#define PATIENCE 120
#define OUTPUT_CEILING (32 * 1024 * 1024)

/* Modes that a case is for. */
#define PLAIN 1
#define NAMESPACES 2
#define BOTH (PLAIN | NAMESPACES)

struct helper_case {
	const char *name;
	void (*run)(void);
	/* 0: for questions by name only. */
	int modes;
};

/* The one engine of the process. */
static struct fake_engine *engine;
/* Its state folder. */
static const char *folder;
/* Checks that did not hold. */
static int failures;

/* Counts a failure, with its line and reason, unless the condition holds. */
#define CHECK(condition, ...) check((condition), __LINE__, #condition, __VA_ARGS__)

/* See CHECK. */
__attribute__((format(printf, 4, 5))) static SP_UNUSED void
check(bool good, int line, const char *text, const char *format, ...)
{
	va_list args;

	if (good)
		return;
	failures++;
	fprintf(stderr, "line %d: %s: ", line, text);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- a sandbox and its commands, waited for ---- */

struct outcome {
	bool done;
	int rc;
	struct sp_error err;
};

/* A fake_done_fn for an outcome. */
static SP_UNUSED void note(void *arg, int rc, const struct sp_error *err)
{
	struct outcome *outcome = arg;

	outcome->done = true;
	outcome->rc = rc;
	if (err)
		outcome->err = *err;
}

/* Waits for the engine and lets it do what is to be done. */
static SP_UNUSED void turn(void)
{
	struct pollfd fd = { .fd = fake_engine_fd(engine), .events = POLLIN };

	poll(&fd, 1, -1);
	fake_engine_dispatch(engine);
}

/* Until it has happened. */
static SP_UNUSED void await(struct outcome *outcome)
{
	while (!outcome->done)
		turn();
}

/* A running sandbox; one that cannot be made is a failed check. */
static SP_UNUSED struct fake_sandbox *make_with(struct fake_sandbox_options options)
{
	struct outcome made = { 0 };
	struct fake_sandbox *sandbox = NULL;
	struct sp_error err = SP_ERROR_INIT;
	static unsigned number;
	char id[32];

	snprintf(id, sizeof(id), "sbx-%u", number++);
	if (!options.id)
		options.id = id;
	if (fake_sandbox_create(engine, &options, note, &made, &sandbox, &err)) {
		fprintf(stderr, "create: %s\n", err.message);
		exit(1);
	}
	CHECK(fake_sandbox_state(sandbox) == FAKE_CREATING, "%s",
	      fake_state_name(fake_sandbox_state(sandbox)));
	await(&made);
	CHECK(!made.rc, "create: %s", made.err.message);
	return sandbox;
}

/* One with every default. */
static SP_UNUSED struct fake_sandbox *make(void)
{
	return make_with((struct fake_sandbox_options){ 0 });
}

/* Ends and forgets a sandbox. */
static SP_UNUSED void destroy(struct fake_sandbox *sandbox)
{
	struct outcome ended = { 0 };

	fake_sandbox_destroy(sandbox, note, &ended);
	await(&ended);
	CHECK(!ended.rc, "destroy: %s", ended.err.message);
	CHECK(fake_sandbox_state(sandbox) == FAKE_TERMINATED, "%s",
	      fake_state_name(fake_sandbox_state(sandbox)));
	fake_sandbox_free(sandbox);
}

/* A running command with what was read of it. */
struct run {
	struct fake_command *command;
	struct sp_buf text[2];
	bool ended;
	int code;
};

/* For commands that are read in turns anyhow. */
static SP_UNUSED void woken(void *arg)
{
	(void)arg;
}

/* Starts a command; ended by run_done(). */
static SP_UNUSED struct run start(struct fake_sandbox *sandbox, const char *text)
{
	struct run run = { .text = { SP_BUF_INIT(OUTPUT_CEILING), SP_BUF_INIT(OUTPUT_CEILING) } };
	struct sp_error err = SP_ERROR_INIT;

	if (fake_command_start(sandbox, text, woken, NULL, &run.command, &err)) {
		fprintf(stderr, "start: %s\n", err.message);
		exit(1);
	}
	return run;
}

/* Takes what is there; false when there is nothing now. */
static SP_UNUSED bool take(struct run *run, size_t max)
{
	char buffer[65536];
	enum sp_stream stream;
	ssize_t n = fake_command_read(run->command, &stream, buffer, max);

	if (n == FAKE_AGAIN)
		return false;
	if (n == FAKE_END) {
		run->ended = true;
		run->code = fake_command_code(run->command);
		return true;
	}
	CHECK(sp_utf8_valid(buffer, (size_t)n), "a piece of %zd bytes is cut in a character", n);
	sp_buf_add(&run->text[stream == SP_STDERR], buffer, (size_t)n);
	return true;
}

/* Reads it to its end. */
static SP_UNUSED void finish(struct run *run)
{
	while (!run->ended)
		if (!take(run, sizeof(char[65536])))
			turn();
}

static SP_UNUSED void run_done(struct run *run)
{
	fake_command_drop(run->command);
	sp_buf_done(&run->text[0]);
	sp_buf_done(&run->text[1]);
}

/* Runs to the end and checks code and standard output (NULL: any). */
#define EXPECT(sandbox, text, code, out) expect((sandbox), (text), (code), (out), __LINE__)

/* See EXPECT. */
static SP_UNUSED void expect(struct fake_sandbox *sandbox, const char *text, int code,
			     const char *out, int line)
{
	struct run run = start(sandbox, text);

	finish(&run);
	check(run.code == code, line, text,
	      "code %d, expected %d; stdout \"%.200s\" stderr \"%.200s\"", run.code, code,
	      sp_buf_str(&run.text[0]), sp_buf_str(&run.text[1]));
	if (out)
		check(!strcmp(sp_buf_str(&run.text[0]), out), line, text,
		      "stdout \"%.400s\", expected \"%.400s\"; stderr \"%.200s\"",
		      sp_buf_str(&run.text[0]), out, sp_buf_str(&run.text[1]));
	run_done(&run);
}

/* What is in a sandbox now. */
static SP_UNUSED struct fake_census census(struct fake_sandbox *sandbox)
{
	struct fake_census now = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	int rc = fake_sandbox_census(sandbox, &now, &err);

	CHECK(!rc, "census: %s", err.message);
	return now;
}

/* Whether this is plain mode. */
static SP_UNUSED bool plain(void)
{
	return fake_engine_mode(engine) == FAKE_PLAIN;
}

/* Uploads a text; 0 or the code of the error. */
static SP_UNUSED int upload_mode(struct fake_sandbox *sandbox, const char *path,
				 const char *content, struct sp_error *err)
{
	struct outcome put = { 0 };
	struct fake_upload *upload;
	int rc = fake_upload_open(sandbox, path, &upload, err);

	if (rc)
		return rc;
	rc = fake_upload_write(upload, content, strlen(content), err);
	CHECK(!rc, "write: %s", err->message);
	fake_upload_finish(upload, note, &put);
	await(&put);
	*err = put.err;
	return put.rc;
}

/* Reads a file through fake_path_open(). */
static SP_UNUSED int download(struct fake_sandbox *sandbox, const char *path, char *text,
			      size_t size, struct sp_error *err)
{
	enum fake_path_kind kind;
	uint64_t len;
	int fd SP_CLOSE = -1;
	int rc = fake_path_open(sandbox, path, &kind, &fd, &len, err);
	ssize_t n;

	if (rc)
		return rc;
	CHECK(kind == FAKE_PATH_FILE, "%s is kind %d", path, kind);
	n = read(fd, text, size - 1);
	CHECK(n >= 0 && (uint64_t)n == len, "%zd of %llu bytes of %s", n, (unsigned long long)len,
	      path);
	text[n > 0 ? n : 0] = '\0';
	return 0;
}

/* ---- the program ---- */

/* Text of `-c`. */
static const char *hand_text;

/* The command of `-c`, its output on ours, its code as ours. */
static SP_UNUSED void run_by_hand(void)
{
	struct fake_sandbox *sandbox = make();
	struct run run = start(sandbox, hand_text);

	finish(&run);
	fwrite(run.text[0].data, 1, run.text[0].len, stdout);
	fwrite(run.text[1].data, 1, run.text[1].len, stderr);
	failures = run.code;
	run_done(&run);
	destroy(sandbox);
}

/* Everything was ended and reaped: the kernel says so. */
static SP_UNUSED void check_childless(void)
{
	siginfo_t info = { 0 };
	int rc = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
	struct sp_bytes status = SP_BYTES_INIT;
	char path[40];

	if (rc && errno == ECHILD)
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)info.si_pid);
	if (info.si_pid)
		sp_read_file(path, 65536, &status, NULL);
	CHECK(false, "children are left, ended: %d: %.300s", (int)info.si_pid,
	      status.data ? (char *)status.data : "");
	sp_bytes_done(&status);
}

/* Starts the engine, runs one case, ends the engine, and looks for what it left. */
static SP_UNUSED int run_case(const struct helper_case *which, enum fake_mode mode)
{
	struct fake_engine_options options = { .state_dir = folder, .mode = mode };
	struct sp_error err = SP_ERROR_INIT;
	int rc = fake_engine_new(&options, &engine, &err);
	int fds;

	if (rc == SP_UNSUPPORTED && mode == FAKE_NAMESPACES) {
		fprintf(stderr, "%s\n", err.message);
		return SKIPPED;
	}
	if (rc) {
		fprintf(stderr, "engine: %s\n", err.message);
		return 1;
	}
	/*
	 * By what the engine took, whatever was asked for: a case for namespaces would
	 * find the host in plain mode.
	 */
	if (which->modes && !(which->modes & (plain() ? PLAIN : NAMESPACES))) {
		fprintf(stderr, "%s never runs in this mode\n", which->name);
		fake_engine_free(engine);
		return SKIPPED;
	}
	fds = sp_count_fds();
	which->run();
	if (strcmp(which->name, "left"))
		CHECK(sp_count_fds() == fds, "%d descriptors before, %d after", fds,
		      sp_count_fds());
	fake_engine_free(engine);
	check_childless();
	return failures ? 1 : 0;
}

/* The mode of a word. */
static SP_UNUSED enum fake_mode mode_of(const char *word)
{
	return !strcmp(word, "plain") ? FAKE_PLAIN :
	       !strcmp(word, "auto")  ? FAKE_AUTO :
					FAKE_NAMESPACES;
}

/* The whole program. */
static SP_UNUSED int scenario_main(int argc, char **argv, const struct helper_case *cases,
				   size_t n_cases)
{
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < n_cases; i++)
			printf("%s %d\n", cases[i].name, cases[i].modes);
		return 0;
	}
	if (argc != 4 && argc != 5)
		return 2;
	alarm(PATIENCE);
	/* What a server has and a command must not get; its environment holds a SERVER_SECRET. */
	if (!getenv("SERVER_SECRET"))
		setenv("SERVER_SECRET", "canary", 1);
	signal(SIGPIPE, SIG_IGN);
	(void)!fcntl(1, F_DUPFD, 50);
	folder = argv[argc - 1];
	if (!strcmp(argv[2], "-c") && argc == 5) {
		hand_text = argv[3];
		return run_case(&(struct helper_case){ "hand", run_by_hand, BOTH },
				mode_of(argv[1]));
	}
	for (size_t i = 0; i < n_cases; i++)
		if (!strcmp(cases[i].name, argv[2]))
			return run_case(&cases[i], mode_of(argv[1]));
	return 2;
}

#endif
