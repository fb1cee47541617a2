/* SPDX-License-Identifier: MIT */
#include "follower.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/thread.h>

#include "race.h"

#define SLOTS 4
#define SLOT_SIZE (256 * 1024)
/*
 * How long a provider may take to end a read that was aborted, or a kill, before it is left alone.
 */
#define COME_BACK_MS 10000

/* Counted: one reference is the reader's, and one each of the threads that read and kill. */
struct follower {
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
	bool starving, stopped, ended;
	int rc;
	struct sp_error err;
};

/* Drops a reference; the last one frees everything. */
static void unref(struct follower *f)
{
	pthread_mutex_lock(&f->lock);
	int left = --f->refs;
	if (left == 1)
		(void)eventfd_write(f->fd, 1);
	pthread_mutex_unlock(&f->lock);
	if (left)
		return;
	sp_process_done(&f->process);
	sp_cancel_unref(f->cancel);
	for (size_t i = 0; i < SLOTS; i++)
		sp_bytes_done(&f->slots[i]);
	sp_close(f->fd);
	pthread_cond_destroy(&f->room);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static bool push(struct follower *f, struct sp_bytes bytes)
{
	pthread_mutex_lock(&f->lock);
	while (f->n == SLOTS && !f->stopped)
		pthread_cond_wait(&f->room, &f->lock);
	bool taken = !f->stopped;
	if (taken)
		f->slots[(f->first + f->n++) % SLOTS] = bytes;
	if (f->starving)
		(void)eventfd_write(f->fd, 1);
	f->starving = false;
	pthread_mutex_unlock(&f->lock);
	if (!taken)
		free(bytes.data);
	return taken;
}

static void end(struct follower *f, int rc, const struct sp_error *err)
{
	pthread_mutex_lock(&f->lock);
	f->ended = true;
	f->rc = rc;
	f->err = *err;
	(void)eventfd_write(f->fd, 1);
	pthread_mutex_unlock(&f->lock);
	unref(f);
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
	struct follower *f = arg;
	struct sp_error err = SP_ERROR_INIT;
	int rc = 0;

	for (bool more = true; more && !rc;) {
		struct sp_bytes bytes = { malloc(SLOT_SIZE + 1), 0 };

		rc = bytes.data ? sp_process_read(&f->process, SP_STDOUT, bytes.data, SLOT_SIZE,
						  &bytes.len, f->cancel, &err) :
				  sp_error_set(&err, SP_INTERNAL, "out of memory");
		if (rc || !bytes.len) {
			free(bytes.data);
			break;
		}
		bytes.data[bytes.len] = '\0';
		shrink(&bytes);
		more = push(f, bytes);
	}
	end(f, rc, &err);
	return NULL;
}

struct follower *follower_new(struct sp_process process)
{
	struct follower *f = calloc(1, sizeof(*f));

	if (!f) {
		(void)sp_process_kill(&process, SIGKILL, NULL, NULL);
		sp_process_done(&process);
		return NULL;
	}
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->room, NULL);
	f->refs = 2;
	f->process = process;
	f->cancel = sp_cancel_new();
	f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->cancel && f->fd >= 0 && !sp_thread_detached(pump, f))
		return f;
	f->refs = 1;
	f->ended = true;
	return follower_close(f, false);
}

int follower_fd(const struct follower *f)
{
	return f->fd;
}

int follower_pop(struct follower *f, struct sp_bytes *ret_bytes, struct sp_error *err)
{
	eventfd_t ignored;
	int rc = 1;

	(void)eventfd_read(f->fd, &ignored);
	pthread_mutex_lock(&f->lock);
	if (f->n) {
		struct sp_bytes *slot = &f->slots[f->first];

		*ret_bytes = *slot;
		*slot = (struct sp_bytes)SP_BYTES_INIT;
		f->first = (f->first + 1) % SLOTS;
		f->n--;
		pthread_cond_signal(&f->room);
	} else if (f->ended) {
		rc = f->rc ? f->rc : SP_GONE;
		if (err)
			*err = f->err;
	} else {
		f->starving = true;
		rc = 0;
	}
	pthread_mutex_unlock(&f->lock);
	return rc;
}

static void *kill_follower(void *arg)
{
	struct follower *f = arg;

	(void)sp_process_kill(&f->process, SIGKILL, NULL, NULL);
	unref(f);
	return NULL;
}

/* On a thread of its own: a kill that hangs must not hang the reader. */
static void start_kill(struct follower *f)
{
	f->refs++;
	if (sp_thread_detached(kill_follower, f))
		f->refs--;
}

/* Both threads have gone. */
static bool is_alone(struct follower *f)
{
	pthread_mutex_lock(&f->lock);
	bool alone = f->refs == 1;
	pthread_mutex_unlock(&f->lock);
	return alone;
}

/* The thread's read ends with its process; an abort of that read helps one that does not. */
static void await_end(struct follower *f)
{
	uint64_t deadline = sp_deadline_ms(COME_BACK_MS);
	eventfd_t ignored;

	sp_cancel_abort(f->cancel, "the reader has gone");
	while (!is_alone(f) && sp_now() < deadline) {
		race_poll(f->fd, -1, deadline);
		(void)eventfd_read(f->fd, &ignored);
	}
}

struct follower *follower_close(struct follower *f, bool leave)
{
	if (!f)
		return NULL;
	pthread_mutex_lock(&f->lock);
	f->stopped = true;
	pthread_cond_signal(&f->room);
	if (!leave)
		start_kill(f);
	pthread_mutex_unlock(&f->lock);
	await_end(f);
	unref(f);
	return NULL;
}
