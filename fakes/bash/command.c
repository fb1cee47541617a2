/* SPDX-License-Identifier: MIT */
/*
 * Commands: started in the caller's thread, read through a bounded queue per
 * stream. A stream is read while its queue has room; then its pipe fills and
 * the writer stands still. At the leader's exit what is in the pipe is the
 * last of the command's output: later writers are background processes, whose
 * output is read and thrown away so that they never stand still.
 */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

/* One invalid byte becomes the three of U+FFFD, and a split character may wait. */
#define QUEUE_CEILING(bytes) (3 * ((bytes) + 4))
/* Pieces thrown away for one event, so that a flood does not hold up the others. */
#define DISCARD_PIECES 4

/* ---- the end of a command object ---- */

void fake_command_free(struct fake_command *command)
{
	for (size_t i = 0; i < SP_COUNT(command->streams); i++) {
		fake_watch_close(command->engine, &command->streams[i].watch);
		sp_buf_done(&command->streams[i].queue);
	}
	fake_watch_close(command->engine, &command->leader);
	LIST_REMOVE(command, link);
	free(command);
}

void fake_command_bury(struct fake_command *command)
{
	if (!command->engine->dispatching) {
		fake_command_free(command);
		return;
	}
	fake_watch_disarm(command->engine, &command->leader);
	for (size_t i = 0; i < SP_COUNT(command->streams); i++)
		fake_watch_disarm(command->engine, &command->streams[i].watch);
	LIST_REMOVE(command, link);
	LIST_INSERT_HEAD(&command->engine->graveyard, command, link);
}

/* Nobody holds it, its leader is reaped, nobody writes to it any more. */
static void bury_if_over(struct fake_command *command)
{
	if (command->dropped && command->exited && command->streams[0].watch.fd < 0 &&
	    command->streams[1].watch.fd < 0)
		fake_command_bury(command);
}

void fake_commands_orphan(struct fake_sandbox *sandbox)
{
	struct fake_command *command;

	while ((command = LIST_FIRST(&sandbox->commands))) {
		LIST_REMOVE(command, link);
		LIST_INSERT_HEAD(&sandbox->engine->orphans, command, link);
		command->sandbox = NULL;
	}
}

/* ---- output ---- */

static void wake(struct fake_command *command)
{
	if (!command->hungry || command->dropped || command->engine->closing)
		return;
	command->hungry = false;
	command->wake(command->arg);
}

/* Bytes that may be read now, or 0 while the reader has to take some first. */
static size_t room(const struct fake_stream *stream)
{
	const struct fake_command *command = stream->command;
	size_t bytes = command->engine->queue_bytes;
	size_t free_bytes = stream->queue.len < bytes ? bytes - stream->queue.len : 0;

	if (command->exited && stream->left < free_bytes)
		free_bytes = stream->left;
	return free_bytes < FAKE_SCRATCH ? free_bytes : FAKE_SCRATCH;
}

/* The command's own output is complete. */
static void finish_stream(struct fake_stream *stream)
{
	if (stream->done)
		return;
	stream->done = true;
	sp_utf8_finish(&stream->decoder, &stream->queue);
}

/* Reads once into the queue; false when nothing more can be done now. */
static bool fill(struct fake_stream *stream)
{
	struct fake_command *command = stream->command;
	char *scratch = command->engine->scratch;
	size_t want = room(stream);
	ssize_t n;

	if (!want)
		return false;
	n = read(stream->watch.fd, scratch, want);
	if (n < 0 && errno == EINTR)
		return true;
	if (n > 0) {
		sp_utf8_decode(&stream->decoder, scratch, (size_t)n, &stream->queue);
		if (command->exited)
			stream->left -= (size_t)n;
	}
	if (n == 0)
		fake_watch_close(command->engine, &stream->watch);
	/* Nothing in the pipe after the exit: somebody else took it, or it was the last. */
	if (n == 0 || (command->exited && (n < 0 || !stream->left)))
		finish_stream(stream);
	return n > 0 && !stream->done;
}

/* Background processes write on: nobody reads it, but they must not stand still. */
static void discard(struct fake_stream *stream)
{
	struct fake_engine *engine = stream->command->engine;

	for (int i = 0; i < DISCARD_PIECES; i++) {
		ssize_t n = read(stream->watch.fd, engine->scratch, FAKE_SCRATCH);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			fake_watch_close(engine, &stream->watch);
		if (n <= 0)
			return;
	}
}

/* Watches the pipe exactly while something would be done with what is in it. */
static void rearm(struct fake_stream *stream)
{
	struct fake_engine *engine = stream->command->engine;

	if (!stream->done && !room(stream))
		fake_watch_disarm(engine, &stream->watch);
	else if (fake_watch_arm(engine, &stream->watch))
		/*
		 * Without an event nobody would read it again: the writers get SIGPIPE
		 * instead of standing still for ever.
		 */
		fake_watch_close(engine, &stream->watch);
	if (stream->watch.fd < 0)
		finish_stream(stream);
}

static void stream_ready(struct fake_watch *watch)
{
	struct fake_stream *stream = FAKE_CONTAINER(watch, struct fake_stream, watch);
	struct fake_command *command = stream->command;

	if (stream->done)
		discard(stream);
	else
		fill(stream);
	rearm(stream);
	wake(command);
	bury_if_over(command);
}

/* The leader has exited: what its pipe holds now is the last that counts. */
static void settle(struct fake_stream *stream)
{
	int bytes = 0;

	if (stream->watch.fd >= 0 && !stream->done) {
		if (ioctl(stream->watch.fd, FIONREAD, &bytes) || bytes <= 0)
			bytes = 0;
		stream->left = (size_t)bytes;
		if (!bytes)
			finish_stream(stream);
		while (!stream->done && fill(stream))
			;
	}
	rearm(stream);
}

static void leader_ready(struct fake_watch *watch)
{
	struct fake_command *command = FAKE_CONTAINER(watch, struct fake_command, leader);
	struct fake_sandbox *sandbox = command->sandbox;
	siginfo_t info = { 0 };

	if (waitid(P_PIDFD, (id_t)watch->fd, &info, WEXITED | WNOHANG) || !info.si_pid)
		return;
	fake_watch_close(command->engine, watch);
	command->code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	command->exited = true;
	for (size_t i = 0; i < SP_COUNT(command->streams); i++)
		settle(&command->streams[i]);
	if (sandbox)
		sandbox->n_live--;
	wake(command);
	bury_if_over(command);
	if (sandbox)
		fake_sandbox_advance(sandbox);
}

ssize_t fake_command_read(struct fake_command *command, enum sp_stream *ret_stream, char *buffer,
			  size_t max)
{
	for (unsigned i = 0; i < SP_COUNT(command->streams); i++) {
		unsigned at = (command->turn + i) % SP_COUNT(command->streams);
		struct fake_stream *stream = &command->streams[at];
		size_t n = sp_utf8_cut(stream->queue.data, stream->queue.len, max);

		if (!n)
			continue;
		memcpy(buffer, stream->queue.data, n);
		sp_buf_consume(&stream->queue, n);
		rearm(stream);
		command->turn = (at + 1) % SP_COUNT(command->streams);
		*ret_stream = at ? SP_STDERR : SP_STDOUT;
		return (ssize_t)n;
	}
	if (command->exited && command->streams[0].done && command->streams[1].done)
		return FAKE_END;
	command->hungry = true;
	return FAKE_AGAIN;
}

int fake_command_code(const struct fake_command *command)
{
	return command->code;
}

void fake_command_drop(struct fake_command *command)
{
	command->dropped = true;
	for (size_t i = 0; i < SP_COUNT(command->streams); i++) {
		struct fake_stream *stream = &command->streams[i];

		sp_buf_done(&stream->queue);
		stream->done = true;
		rearm(stream);
	}
	bury_if_over(command);
}

/* ---- starting ---- */

/* Our end does not block; the command's end does, as it expects. */
static int make_pipe(struct fake_stream *stream, int *ret_end)
{
	int ends[2];
	int rc;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	stream->watch.fd = ends[0];
	*ret_end = ends[1];
	rc = sp_set_nonblock(ends[0], true);
	return rc;
}

static struct fake_command *command_new(struct fake_sandbox *sandbox, void (*wake_fn)(void *arg),
					void *arg)
{
	struct fake_command *command = calloc(1, sizeof(*command));

	if (!command)
		return NULL;
	command->engine = sandbox->engine;
	command->sandbox = sandbox;
	command->wake = wake_fn;
	command->arg = arg;
	command->hungry = true;
	command->leader = (struct fake_watch){ .fd = -1, .ready = leader_ready };
	for (size_t i = 0; i < SP_COUNT(command->streams); i++) {
		struct fake_stream *stream = &command->streams[i];

		stream->command = command;
		stream->watch = (struct fake_watch){ .fd = -1, .ready = stream_ready };
		stream->queue.ceiling = QUEUE_CEILING(sandbox->engine->queue_bytes);
	}
	LIST_INSERT_HEAD(&sandbox->commands, command, link);
	return command;
}

static int watch_all(struct fake_command *command)
{
	int rc = fake_watch_arm(command->engine, &command->leader);

	for (size_t i = 0; !rc && i < SP_COUNT(command->streams); i++)
		rc = fake_watch_arm(command->engine, &command->streams[i].watch);
	return rc;
}

/* Starts bash with the command's pipes; the write ends are gone from us afterwards. */
static int launch(struct fake_command *command, const char *text, struct fake_spawn *ret_spawn)
{
	struct fake_sandbox *sandbox = command->sandbox;
	struct fake_engine *engine = command->engine;
	const char *const argv[] = { "bash", "-c", text, NULL };
	int out SP_CLOSE = -1;
	int err SP_CLOSE = -1;
	int rc = make_pipe(&command->streams[0], &out);

	if (!rc)
		rc = make_pipe(&command->streams[1], &err);
	*ret_spawn = (struct fake_spawn){
		.ns_fd = engine->mode == FAKE_NAMESPACES ? sandbox->init.fd : -1,
		.own_network = sandbox->deny_network,
		.argv = argv,
		.envp = sandbox->envp,
		.dir = sandbox->home,
		.out = out,
		.err = err,
		.mark = sandbox->mark,
		.step = "making its pipes",
	};
	if (!rc)
		rc = fake_spawn_run(engine, ret_spawn);
	ret_spawn->argv = NULL;
	return rc;
}

static int refuse(int rc, const struct fake_spawn *spawn, struct sp_error *err)
{
	if (rc == -E2BIG)
		return sp_error_set(err, SP_INVALID,
				    "the command and its environment are too long for one program");
	/* A sandbox whose process 1 has just died looks like this, before its event was seen. */
	if (spawn->ns_fd >= 0 && rc == -ESRCH)
		return sp_error_set(err, SP_CONFLICT, "the sandbox has just ended");
	return sp_error_set_errno(err, -rc, "cannot start a command: %s", spawn->step);
}

int fake_command_start(struct fake_sandbox *sandbox, const char *text, void (*wake_fn)(void *arg),
		       void *arg, struct fake_command **ret_command, struct sp_error *err)
{
	struct fake_command *command;
	struct fake_spawn spawn;
	size_t len = strlen(text);
	int rc = fake_sandbox_need(sandbox, false, err);

	if (rc)
		return rc;
	if (len >= FAKE_ARG_BYTES)
		return sp_error_set(err, SP_INVALID,
				    "the command has %zu bytes; a program's argument has at most "
				    "%d: "
				    "upload a script and run it",
				    len, FAKE_ARG_BYTES - 1);
	command = command_new(sandbox, wake_fn, arg);
	if (!command || fake_timeline_add(sandbox, text)) {
		if (command)
			fake_command_bury(command);
		return sp_error_set(err, SP_INTERNAL, "no memory for a command");
	}
	rc = launch(command, text, &spawn);
	if (!rc) {
		command->pid = spawn.pid;
		command->leader.fd = spawn.pid_fd;
		rc = watch_all(command);
		/* Unwatched it could neither be read nor reaped. */
		if (rc) {
			kill(-spawn.pid, SIGKILL);
			waitid(P_PIDFD, (id_t)spawn.pid_fd, &(siginfo_t){ 0 }, WEXITED);
		}
	}
	if (rc) {
		fake_command_bury(command);
		return refuse(rc, &spawn, err);
	}
	sandbox->n_live++;
	sandbox->engine->n_commands++;
	*ret_command = command;
	return 0;
}
