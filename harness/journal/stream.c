/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <base/cleanup.h>
#include <base/clock.h>

#include "race.h"

#define SLOTS 4
#define SLOT_SIZE (256 * 1024)
/* How long a provider may take to end a read that was aborted, or a kill, before it is left alone. */
#define COME_BACK_MS 10000

/* Counted: one reference is the reader's, and one each of the threads that read and kill. */
struct stream {
	pthread_mutex_t lock;
	pthread_cond_t room;
	int refs;
	/* Written when something came while the reader found nothing, and at the end. */
	int fd;
	struct sp_process process;
	struct sp_cancel *cancel;
	/* A ring. */
	struct sp_bytes slots[SLOTS];
	size_t first, n;
	bool starving, stopped, ended, killing;
	int rc;
	struct sp_error err;
};

/* Drops a reference; the last one frees everything. */
static void unref(struct stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	int left = --stream->refs;
	pthread_mutex_unlock(&stream->lock);
	if (left)
		return;
	sp_process_done(&stream->process);
	sp_cancel_unref(stream->cancel);
	for (size_t i = 0; i < SLOTS; i++)
		sp_bytes_done(&stream->slots[i]);
	sp_close(stream->fd);
	pthread_cond_destroy(&stream->room);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

static bool push(struct stream *stream, struct sp_bytes bytes)
{
	pthread_mutex_lock(&stream->lock);
	while (stream->n == SLOTS && !stream->stopped)
		pthread_cond_wait(&stream->room, &stream->lock);
	bool taken = !stream->stopped;
	if (taken)
		stream->slots[(stream->first + stream->n++) % SLOTS] = bytes;
	if (stream->starving)
		(void)eventfd_write(stream->fd, 1);
	stream->starving = false;
	pthread_mutex_unlock(&stream->lock);
	if (!taken)
		free(bytes.data);
	return taken;
}

static void end(struct stream *stream, int rc, const struct sp_error *err)
{
	pthread_mutex_lock(&stream->lock);
	stream->ended = true;
	stream->rc = rc;
	stream->err = *err;
	(void)eventfd_write(stream->fd, 1);
	pthread_mutex_unlock(&stream->lock);
	unref(stream);
}

/* A few interactive bytes do not keep a large buffer. */
static void shrink(struct sp_bytes *bytes)
{
	unsigned char *small;

	if (bytes->len > SLOT_SIZE / 4)
		return;
	small = realloc(bytes->data, bytes->len + 1);
	if (small)
		bytes->data = small;
}

static void *pump(void *arg)
{
	struct stream *stream = arg;
	struct sp_error err = SP_ERROR_INIT;
	int rc = 0;

	for (bool more = true; more && !rc;) {
		struct sp_bytes bytes = { malloc(SLOT_SIZE + 1), 0 };

		rc = bytes.data ? sp_process_read(&stream->process, SP_STDOUT, bytes.data, SLOT_SIZE,
						  &bytes.len, stream->cancel, &err) :
				  sp_error_set(&err, SP_INTERNAL, "out of memory");
		if (rc || !bytes.len) {
			free(bytes.data);
			break;
		}
		bytes.data[bytes.len] = '\0';
		shrink(&bytes);
		more = push(stream, bytes);
	}
	end(stream, rc, &err);
	return NULL;
}

struct stream *stream_new(struct sp_process process)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		(void)sp_process_kill(&process, SIGKILL, NULL, NULL);
		sp_process_done(&process);
		return NULL;
	}
	pthread_mutex_init(&stream->lock, NULL);
	pthread_cond_init(&stream->room, NULL);
	stream->refs = 2;
	stream->process = process;
	stream->cancel = sp_cancel_new();
	stream->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stream->cancel && stream->fd >= 0 && !race_thread(pump, stream))
		return stream;
	stream->refs = 1;
	stream->ended = true;
	return stream_close(stream, false);
}

int stream_fd(const struct stream *stream)
{
	return stream->fd;
}

int stream_pop(struct stream *stream, struct sp_bytes *ret_bytes, struct sp_error *err)
{
	eventfd_t ignored;
	int rc = 1;

	(void)eventfd_read(stream->fd, &ignored);
	pthread_mutex_lock(&stream->lock);
	if (stream->n) {
		struct sp_bytes *slot = &stream->slots[stream->first];

		*ret_bytes = *slot;
		*slot = (struct sp_bytes)SP_BYTES_INIT;
		stream->first = (stream->first + 1) % SLOTS;
		stream->n--;
		pthread_cond_signal(&stream->room);
	} else if (stream->ended) {
		rc = stream->rc ? stream->rc : SP_GONE;
		if (err)
			*err = stream->err;
	} else {
		stream->starving = true;
		rc = 0;
	}
	pthread_mutex_unlock(&stream->lock);
	return rc;
}

static void *kill_follower(void *arg)
{
	struct stream *stream = arg;

	(void)sp_process_kill(&stream->process, SIGKILL, NULL, NULL);
	pthread_mutex_lock(&stream->lock);
	stream->killing = false;
	(void)eventfd_write(stream->fd, 1);
	pthread_mutex_unlock(&stream->lock);
	unref(stream);
	return NULL;
}

/* On a thread of its own: a kill that hangs must not hang the reader. */
static void start_kill(struct stream *stream)
{
	stream->refs++;
	stream->killing = true;
	if (!race_thread(kill_follower, stream))
		return;
	stream->refs--;
	stream->killing = false;
}

static bool is_quiet(struct stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	bool quiet = stream->ended && !stream->killing;
	pthread_mutex_unlock(&stream->lock);
	return quiet;
}

/* The thread's read ends with its process; an abort of that read helps one that does not. */
static void await_end(struct stream *stream)
{
	uint64_t deadline = sp_deadline_ms(COME_BACK_MS);
	eventfd_t ignored;

	sp_cancel_abort(stream->cancel, "the reader has gone");
	while (!is_quiet(stream) && sp_now() < deadline) {
		race_poll(stream->fd, -1, deadline);
		(void)eventfd_read(stream->fd, &ignored);
	}
}

struct stream *stream_close(struct stream *stream, bool leave)
{
	if (!stream)
		return NULL;
	pthread_mutex_lock(&stream->lock);
	stream->stopped = true;
	pthread_cond_signal(&stream->room);
	if (!leave)
		start_kill(stream);
	pthread_mutex_unlock(&stream->lock);
	await_end(stream);
	unref(stream);
	return NULL;
}
