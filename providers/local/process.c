/* SPDX-License-Identifier: MIT */
#include <providers/local/internal.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* ---- Output ---- */

/* Copies unread bytes out; a command that stood still at the bound goes on. */
static size_t give(struct local_run *run, struct local_stream *stream, void *buffer, size_t max)
{
	size_t unread = stream->buf.len - stream->head;
	size_t n = unread < max ? unread : max;

	if (n == 0)
		return 0;
	memcpy(buffer, stream->buf.data + stream->head, n);
	stream->head += n;
	/* Moving what is left once half of it was read costs each byte one move. */
	if (stream->head * 2 >= stream->buf.len) {
		sp_buf_consume(&stream->buf, stream->head);
		stream->head = 0;
	}
	if (unread >= run->limit)
		local_run_wake_pump(run);
	return n;
}

static int process_read(void *self, enum sp_stream which, void *buffer, size_t max, size_t *ret_len,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct local_run *run = self;

	if ((which != SP_STDOUT && which != SP_STDERR) || max == 0)
		return sp_error_set(err, SP_INVALID, "read needs a stream and room for a byte");
	struct local_stream *stream = &run->streams[which == SP_STDERR];
	LOCAL_LOCK(&run->lock);
	for (;;) {
		int rc = sp_cancel_check(cancel, err);
		if (rc < 0)
			return rc;
		size_t n = give(run, stream, buffer, max);
		if (n > 0 || stream->ended) {
			if (n == 0 && stream->buf.error)
				return sp_error_set(err, SP_INTERNAL, "no memory for the output");
			*ret_len = n;
			return 0;
		}
		rc = local_run_wait_change(run, cancel, err);
		if (rc < 0)
			return rc;
	}
}

/* ---- Input ---- */

/*
 * A write to a pipe without a reader raises SIGPIPE in this thread. Whether
 * the program handles it is not ours to decide: it is blocked for the write,
 * and one that we caused is taken back.
 */
static ssize_t write_quietly(int fd, const void *data, size_t len)
{
	const struct timespec now = {0, 0};
	sigset_t pipe_only, old, pending;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	bool was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
	ssize_t n = write(fd, data, len);
	int saved = errno;
	if (n < 0 && saved == EPIPE && !was_pending)
		while (sigtimedwait(&pipe_only, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return n;
}

static int gone(struct sp_error *err)
{
	return sp_error_set(err, SP_GONE, "the process has ended or closed its stdin");
}

/* Waits until the pipe takes more, the process has ended or the cancel fired. Called without the
 * lock. */
static int wait_writable(struct local_run *run, int fd, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	struct local_waiter waiter;

	pthread_mutex_lock(&run->lock);
	int rc = run->ended ? gone(err) : local_waiter_add(run, &waiter, err);
	pthread_mutex_unlock(&run->lock);
	if (rc < 0)
		return rc;
	struct pollfd fds[] = {
	    {.fd = waiter.fd, .events = POLLIN},
	    {.fd = sp_cancel_fd(cancel), .events = POLLIN},
	    {.fd = fd, .events = POLLOUT},
	};
	poll(fds, SP_COUNT(fds), -1);
	pthread_mutex_lock(&run->lock);
	local_waiter_remove(run, &waiter);
	rc = run->ended ? gone(err) : sp_cancel_check(cancel, err);
	pthread_mutex_unlock(&run->lock);
	return rc;
}

static int write_all(struct local_run *run, int fd, const char *data, size_t len,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	while (len > 0) {
		ssize_t n = write_quietly(fd, data, len);
		if (n > 0) {
			data += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EPIPE)
			return gone(err);
		if (errno != EAGAIN && errno != EINTR)
			return sp_error_set_errno(err, errno, "cannot write to the process");
		int rc = wait_writable(run, fd, cancel, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The last one to leave a closed stdin shuts it. The lock is held. */
static void shut_stdin(struct local_run *run)
{
	if (run->in_users == 0 && (run->in_closed || run->ended))
		run->in = sp_close(run->in);
}

static int process_write_stdin(void *self, const void *data, size_t len, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	struct local_run *run = self;
	int rc = sp_cancel_check(cancel, err);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&run->lock);
	int fd = run->in;
	if (run->ended || (fd < 0 && !run->in_closed))
		rc = gone(err);
	else if (run->in_closed)
		rc = sp_error_set(err, SP_CONFLICT, "stdin was closed by this handle");
	else
		run->in_users++;
	pthread_mutex_unlock(&run->lock);
	if (rc < 0)
		return rc;
	rc = write_all(run, fd, data, len, cancel, err);
	LOCAL_LOCK(&run->lock);
	run->in_users--;
	shut_stdin(run);
	return rc;
}

static int process_close_stdin(void *self, struct sp_error *err SP_UNUSED)
{
	struct local_run *run = self;
	LOCAL_LOCK(&run->lock);

	run->in_closed = true;
	shut_stdin(run);
	return 0;
}

/* ---- The end ---- */

static int process_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct local_run *run = self;
	LOCAL_LOCK(&run->lock);

	while (!run->ended) {
		int rc = local_run_wait_change(run, cancel, err);
		if (rc < 0 && !run->ended)
			return rc;
	}
	*ret_exit = run->exit;
	return 0;
}

/* TERM, INT, HUP, QUIT and KILL are sent as asked, every other one becomes KILL. */
static int kill_signal(int asked)
{
	switch (asked) {
	case 0:
		return SIGTERM;
	case SIGTERM:
	case SIGINT:
	case SIGHUP:
	case SIGQUIT:
		return asked;
	}
	return SIGKILL;
}

static const struct sp_capabilities *capabilities(const struct local_run *run)
{
	return &run->sandbox->provider->caps;
}

static int process_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exit exit;
	int rc = sp_cancel_check(cancel, err);

	if (rc < 0)
		return rc;
	if (!capabilities(self)->killable_processes)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "local:bare: kill() is not offered (capability "
				    "killable_processes); destroy() of the sandbox ends its "
				    "commands");
	local_run_end(self, kill_signal(signal), SP_KILLED);
	return process_wait(self, &exit, cancel, err);
}

static int process_signal(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct local_run *run = self;
	int rc = sp_cancel_check(cancel, err);

	if (rc < 0)
		return rc;
	if (!capabilities(run)->signals)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "local:bare: signal() is not offered (capability signals)");
	if (signal < 1 || signal > 63)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "local: signal %d is not in `signals`; 1 to 63 are", signal);
	LOCAL_LOCK(&run->lock);
	if (local_run_leader_exited(run))
		return sp_error_set(err, SP_GONE, "the process has ended");
	rc = sp_child_signal(&run->child, signal);
	return rc < 0 ? sp_error_set_errno(err, -rc, "cannot signal the process") : 0;
}

static void process_release(void *self)
{
	struct local_run *run = self;

	pthread_mutex_lock(&run->lock);
	run->released = true;
	local_run_wake_pump(run);
	pthread_mutex_unlock(&run->lock);
	local_run_unref(run);
}

const struct sp_process_ops local_process_ops = {
    .version = SP_PROCESS_VERSION,
    .read = process_read,
    .write_stdin = process_write_stdin,
    .close_stdin = process_close_stdin,
    .wait = process_wait,
    .kill = process_kill,
    .signal = process_signal,
    .release = process_release,
};
