/* SPDX-License-Identifier: MIT */
/* sp_run(): a command from start to end, with its input and its outputs. */
#include <base/child.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>

/* The poll set: what is -1 is left out by the kernel. */
enum { RUN_IN, RUN_OUT, RUN_ERR, RUN_END, RUN_CANCEL, RUN_MAX };

struct run {
	struct sp_child child;
	const char *input;
	size_t input_len;
	struct sp_buf out;
	struct sp_buf err;
};

/* Writes without a SIGPIPE, whatever this program does about that signal. */
static ssize_t write_quietly(int fd, const void *data, size_t len)
{
	static const struct timespec now;
	sigset_t pipe_only, old, pending;
	bool was_pending;
	ssize_t n;
	int error;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	n = write(fd, data, len);
	error = errno;
	if (n < 0 && error == EPIPE && !was_pending)
		sigtimedwait(&pipe_only, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return n;
}

/* Writes what fits now; closes the pipe at the end of the input or when nobody reads it. */
static void feed(struct run *run)
{
	while (run->input_len) {
		ssize_t n = write_quietly(run->child.in, run->input, run->input_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		run->input += n;
		run->input_len -= (size_t)n;
	}
	run->child.in = sp_close(run->child.in);
}

/* Reads what is there now; what exceeds the ceiling is dropped. Closes the pipe at its end. */
static int drain(int *fd, struct sp_buf *buf)
{
	char bytes[16384];

	while (*fd >= 0) {
		ssize_t n = read(*fd, bytes, sizeof(bytes));
		size_t room = buf->ceiling - buf->len;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			*fd = sp_close(*fd);
		else if (sp_buf_add(buf, bytes, (size_t)n < room ? (size_t)n : room))
			return buf->error;
	}
	return 0;
}

/* Moves bytes until the child has ended. What others still hold open is not waited for. */
static int run_loop(struct run *run, struct sp_cancel *cancel, struct sp_error *err)
{
	bool ended = false;

	while (!ended) {
		struct pollfd fds[RUN_MAX] = {
			[RUN_IN] = { .fd = run->child.in, .events = POLLOUT },
			[RUN_OUT] = { .fd = run->child.out, .events = POLLIN },
			[RUN_ERR] = { .fd = run->child.err, .events = POLLIN },
			[RUN_END] = { .fd = run->child.pidfd, .events = POLLIN },
			[RUN_CANCEL] = { .fd = sp_cancel_fd(cancel), .events = POLLIN },
		};
		int rc;

		if (poll(fds, RUN_MAX, -1) < 0 && errno != EINTR)
			return sp_error_set_errno(err, errno, "cannot wait for a command");
		/*
		 * Looked at before the pipes are drained, so that nothing
		 * written before the end is missed.
		 */
		ended = fds[RUN_END].revents;
		if (fds[RUN_IN].revents)
			feed(run);
		if (drain(&run->child.out, &run->out) || drain(&run->child.err, &run->err))
			return sp_error_set(err, SP_INTERNAL, "no memory for a command's output");
		rc = ended ? 0 : sp_cancel_check(cancel, err);
		if (rc)
			return rc;
	}
	return sp_child_wait(&run->child, NULL, err);
}

static int run_started(struct run *run, struct sp_cancel *cancel, struct sp_run_result *ret,
		       struct sp_error *err)
{
	struct sp_bytes out = SP_BYTES_INIT;
	struct sp_bytes errors = SP_BYTES_INIT;
	int rc;

	if (!run->input_len)
		run->child.in = sp_close(run->child.in);
	else
		sp_set_nonblock(run->child.in, true);
	sp_set_nonblock(run->child.out, true);
	sp_set_nonblock(run->child.err, true);
	rc = run_loop(run, cancel, err);
	if (rc)
		return rc;
	if (sp_buf_take_bytes(&run->out, &out) || sp_buf_take_bytes(&run->err, &errors)) {
		sp_bytes_done(&out);
		return sp_error_set(err, SP_INTERNAL, "no memory for a command's output");
	}
	*ret = (struct sp_run_result){
		.out = (char *)out.data,
		.out_len = out.len,
		.err = (char *)errors.data,
		.err_len = errors.len,
		.code = run->child.code,
	};
	return 0;
}

int sp_run(const char *const *argv, const char *const *env, const void *input, size_t input_len,
	   size_t max, struct sp_cancel *cancel, struct sp_run_result *ret, struct sp_error *err)
{
	struct run run = {
		.child = SP_CHILD_INIT,
		.input = input,
		.input_len = input_len,
		.out = SP_BUF_INIT(max),
		.err = SP_BUF_INIT(max),
	};
	int rc;

	run.child.argv = argv;
	run.child.env = env;
	run.child.in = run.child.out = run.child.err = SP_CHILD_PIPE;
	rc = sp_cancel_check(cancel, err);
	if (!rc)
		rc = sp_child_start(&run.child, err);
	if (!rc)
		rc = run_started(&run, cancel, ret, err);
	sp_child_done(&run.child);
	sp_buf_done(&run.out);
	sp_buf_done(&run.err);
	return rc;
}

void sp_run_result_done(struct sp_run_result *result)
{
	free(result->out);
	free(result->err);
	*result = (struct sp_run_result){ 0 };
}
