/* SPDX-License-Identifier: MIT */
/* What the unit tests of this room share: a provider in a folder of its own, and short calls. */
#ifndef SP_LOCAL_TEST_FIXTURE_H
#define SP_LOCAL_TEST_FIXTURE_H

#include <providers/local/local.h>

#include <base/clock.h>
#include <base/cleanup.h>
#include <base/files.h>

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

/* Held unread per stream in these tests: more than one pipe, little enough to fill. */
#define TEST_BOUND (128 * 1024)

struct fixture {
	char *base;
	struct sp_provider provider;
	struct sp_sandbox sandbox;
	/* Ends a call that would hang; never a proof. */
	struct sp_cancel *cancel;
};

static inline void fixture_open(struct fixture *f, bool poll_only, uint32_t grace_ms)
{
	struct sp_error err = SP_ERROR_INIT;
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	const struct sp_env env[] = {{"FROM_CREATE", "c"}};

	memset(f, 0, sizeof(*f));
	cr_assert_eq(sp_tmp_dir("local-test-", &f->base, &err), 0, "%s", err.message);
	struct sp_local_options options = SP_LOCAL_OPTIONS_INIT;
	options.base_dir = f->base;
	options.poll_only = poll_only;
	options.kill_grace_ms = grace_ms;
	options.unread_bound = TEST_BOUND;
	options.output_cap = 1000;
	cr_assert_eq(sp_local_open(&options, &f->provider, &err), 0, "%s", err.message);
	create.env = env;
	create.n_env = 1;
	cr_assert_eq(sp_provider_create(&f->provider, &create, &f->sandbox, &err), 0, "%s",
		     err.message);
	f->cancel = sp_cancel_new();
	sp_cancel_set_deadline(f->cancel, sp_deadline_ms(60000));
}

/* Leaves nothing behind; checks that by descriptors and by the empty base folder. */
static inline void fixture_close(struct fixture *f)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_destroy(&f->sandbox, NULL, &err);

	cr_expect_eq(rc, 0, "destroy: %s", err.message);
	sp_sandbox_done(&f->sandbox);
	sp_provider_done(&f->provider);
	sp_cancel_unref(f->cancel);
	cr_expect_eq(rmdir(f->base), 0, "the base folder is not empty");
	sp_remove_tree(f->base);
	free(f->base);
}

/* Runs a command to its end and hands both outputs over as text; returns the code of the call. */
static inline int run_command(struct fixture *f, const char *command, struct sp_exec_result *ret,
			      struct sp_error *err)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	options.command = command;
	options.cancel = f->cancel;
	return sp_sandbox_exec(&f->sandbox, &options, ret, err);
}

/* Expects an output of a command that exits 0. */
static inline void expect_output(struct fixture *f, const char *command, const char *expected)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = run_command(f, command, &result, &err);

	cr_expect_eq(rc, 0, "%s: %s", command, err.message);
	cr_expect_eq(result.exit_code, 0, "%s: exit code %d, stderr %s", command, result.exit_code,
		     result.stderr_bytes.data ? (char *)result.stderr_bytes.data : "");
	const char *actual = result.stdout_bytes.data ? (char *)result.stdout_bytes.data : "";
	cr_expect(!strcmp(actual, expected), "%s: expected [%s], got [%s]", command, expected,
		  actual);
}

static inline struct sp_process spawn_command(struct fixture *f, const char *command)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.command = command;
	int rc = sp_sandbox_spawn(&f->sandbox, &options, &process, &err);
	cr_expect_eq(rc, 0, "spawn %s: %s", command, err.message);
	return process;
}

/* Reads one line, so that a test knows that the command has come that far. */
static inline void expect_line(struct fixture *f, struct sp_process *process, const char *expected)
{
	char line[256] = "";
	size_t len = 0, n = 0;
	struct sp_error err = SP_ERROR_INIT;

	while (len < sizeof(line) - 1 && (len == 0 || line[len - 1] != '\n')) {
		int rc = sp_process_read(process, SP_STDOUT, line + len, 1, &n, f->cancel, &err);
		cr_expect_eq(rc, 0, "read: %s", err.message);
		if (rc < 0 || n == 0)
			break;
		len += n;
	}
	if (len > 0 && line[len - 1] == '\n')
		line[len - 1] = '\0';
	cr_expect(!strcmp(line, expected), "expected line [%s], got [%s]", expected, line);
}

/*
 * A FIFO in the workspace that shows when its last writer is dead: the kernel
 * ends it then. Open it before the command; commands hold it by `exec 9>NAME`.
 */
static inline int open_witness(struct fixture *f, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", sp_sandbox_workspace_root(&f->sandbox), name);
	cr_assert_eq(mkfifo(path, 0600), 0, "mkfifo %s", path);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* True when nobody holds the FIFO for writing, after somebody did. */
static inline bool witness_ended(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLHUP);
}

#endif
