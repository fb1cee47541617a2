/* SPDX-License-Identifier: MIT */
/*
 * A sandbox for the unit tests: plain child processes, a cap, and a few ways to misbehave. The
 * rooms' rules keep providers out of here, and a test wants to break one thing at a time.
 */
#ifndef SP_JOURNAL_TEST_SANDBOX_H
#define SP_JOURNAL_TEST_SANDBOX_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/utf8.h>
#include <sandproof/sandbox.h>

struct test_sandbox {
	/* Bytes that exec keeps of each output. */
	size_t cap;
	/* Output is text: invalid bytes of a spawned command become U+FFFD. */
	bool utf8;
	bool no_spawn;
	/*
	 * This many execs that have `fail_match` in their text answer
	 * `fail_rc`, or end with `fail_code`.
	 */
	const char *fail_match;
	int fail_rc, fail_code;
	atomic_int fail;
	/*
	 * Reads of spawned processes wait for `hang` (a descriptor) and ignore
	 * their cancel; -1: they do not.
	 */
	int hang;
	/* A file that gets a line before every exec, NULL: none. */
	const char *growing;
	/* Kill of spawned processes answers this and does nothing. */
	int kill_rc;
	atomic_int execs, spawns, kills, live;
	/* Commands, one a line. */
	pthread_mutex_t lock;
	struct sp_buf log;
};

#define TEST_SANDBOX_INIT                                                                          \
	{ .cap = 8 * 1024 * 1024, .hang = -1, .lock = PTHREAD_MUTEX_INITIALIZER,                   \
	  .log = SP_BUF_INIT(1024 * 1024) }

struct test_process {
	struct test_sandbox *sandbox;
	struct sp_child child;
	pthread_mutex_t lock;
	struct sp_utf8_decoder decoder;
};

static inline void test_log(struct test_sandbox *s, const char *command)
{
	pthread_mutex_lock(&s->lock);
	sp_buf_addf(&s->log, "%s\n", command);
	pthread_mutex_unlock(&s->lock);
}

static inline void test_grow(const struct test_sandbox *s)
{
	FILE *file = s->growing ? fopen(s->growing, "ae") : NULL;

	if (!file)
		return;
	fputs("noise\n", file);
	fclose(file);
}

static inline bool test_fails(struct test_sandbox *s, const char *command)
{
	if (!s->fail || (s->fail_match && !strstr(command, s->fail_match)))
		return false;
	s->fail--;
	return true;
}

static inline void test_keep(struct test_sandbox *s, char *data, size_t len,
			     struct sp_bytes *ret_bytes, bool *ret_cut)
{
	*ret_cut = len > s->cap;
	if (*ret_cut)
		data[len = s->cap] = '\0';
	*ret_bytes = (struct sp_bytes){ (unsigned char *)data, len };
}

static inline int test_exec(void *self, const struct sp_exec_options *options,
			    struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct test_sandbox *s = self;
	const char *argv[] = { "bash", "-c", options->command, NULL };
	struct sp_run_result run = { NULL, 0, NULL, 0, 0 };
	int rc;

	s->execs++;
	test_log(s, options->command);
	test_grow(s);
	if (test_fails(s, options->command)) {
		ret_result->exit_code = s->fail_code;
		return s->fail_rc ? sp_error_set(err, (enum sp_code)s->fail_rc, "as the test says")
				  : 0;
	}
	rc = sp_run(argv, NULL, NULL, 0, 256 * 1024 * 1024, options->cancel, &run, err);
	if (rc)
		return rc;
	test_keep(s, run.out, run.out_len, &ret_result->stdout_bytes, &ret_result->stdout_cut);
	test_keep(s, run.err, run.err_len, &ret_result->stderr_bytes, &ret_result->stderr_cut);
	ret_result->exit_code = run.code;
	return 0;
}

/* ---- Processes ---- */

static inline int test_read(void *self, enum sp_stream stream, void *buffer, size_t max,
			    size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct test_process *p = self;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(16 * 1024 * 1024);
	bool hangs = p->sandbox->hang >= 0;
	char raw[64 * 1024];
	ssize_t n;

	(void)stream;
	for (;;) {
		struct pollfd fds[] = { { hangs ? p->sandbox->hang : p->child.out, POLLIN, 0 },
					{ hangs ? -1 : sp_cancel_fd(cancel), POLLIN, 0 } };

		(void)poll(fds, 2, -1);
		if (fds[1].revents && sp_cancel_check(cancel, err))
			return sp_cancel_check(cancel, err);
		n = read(p->child.out, raw, max / 3 < sizeof(raw) ? max / 3 : sizeof(raw));
		if (n <= 0)
			break;
		if (!p->sandbox->utf8) {
			memcpy(buffer, raw, (size_t)n);
			*ret_len = (size_t)n;
			return 0;
		}
		sp_utf8_decode(&p->decoder, raw, (size_t)n, &text);
		if (!text.len)
			continue;
		memcpy(buffer, text.data, text.len);
		*ret_len = text.len;
		return 0;
	}
	*ret_len = 0;
	return 0;
}

static inline int test_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct test_process *p = self;
	int rc;

	pthread_mutex_lock(&p->lock);
	rc = sp_child_wait(&p->child, cancel, err);
	*ret_exit = (struct sp_exit){ SP_EXITED, p->child.code, 0 };
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static inline int test_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct test_process *p = self;
	struct sp_exit exit;

	p->sandbox->kills++;
	if (p->sandbox->kill_rc)
		return sp_error_set(err, (enum sp_code)p->sandbox->kill_rc, "as the test says");
	(void)sp_child_signal(&p->child, signal);
	return test_wait(self, &exit, cancel, err);
}

static inline void test_release(void *self)
{
	struct test_process *p = self;

	p->sandbox->live--;
	sp_child_done(&p->child);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static const struct sp_process_ops test_process_ops = {
	.version = SP_PROCESS_VERSION,
	.read = test_read,
	.wait = test_wait,
	.kill = test_kill,
	.release = test_release,
};

static inline int test_spawn(void *self, const struct sp_exec_options *options,
			     struct sp_process *ret_process, struct sp_error *err)
{
	struct test_sandbox *s = self;
	const char *argv[] = { "bash", "-c", options->command, NULL };
	struct test_process *p;
	int rc;

	if (s->no_spawn)
		return sp_error_set(err, SP_UNSUPPORTED, "as the test says");
	s->spawns++;
	test_log(s, options->command);
	p = calloc(1, sizeof(*p));
	if (!p)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	p->sandbox = s;
	pthread_mutex_init(&p->lock, NULL);
	p->child = (struct sp_child)SP_CHILD_INIT;
	p->child.argv = argv;
	p->child.out = SP_CHILD_PIPE;
	s->live++;
	rc = sp_child_start(&p->child, err);
	p->child.argv = NULL;
	if (rc) {
		test_release(p);
		return rc;
	}
	*ret_process = (struct sp_process){ &test_process_ops, p };
	return 0;
}

static inline const char *test_id(void *self)
{
	(void)self;
	return "test";
}

static inline void test_close(void *self)
{
	struct test_sandbox *s = self;

	sp_buf_done(&s->log);
}

static const struct sp_sandbox_ops test_sandbox_ops = {
	.version = SP_SANDBOX_VERSION,
	.id = test_id,
	.exec = test_exec,
	.spawn = test_spawn,
	.close = test_close,
};

#endif
