/* SPDX-License-Identifier: MIT */
#include <fakes/bash/pool.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <base/cleanup.h>

#define STACK_BYTES (256 * 1024)

struct queue {
	struct fake_job *first;
	struct fake_job *last;
};

struct fake_pool {
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	struct queue todo;
	struct queue done;
	bool stopping;
	int event_fd;
	int niceness;
	unsigned threads;
	pthread_t thread[];
};

static void push(struct queue *queue, struct fake_job *job)
{
	job->next = NULL;
	if (queue->last)
		queue->last->next = job;
	else
		queue->first = job;
	queue->last = job;
}

static struct fake_job *pop(struct queue *queue)
{
	struct fake_job *job = queue->first;

	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->last = NULL;
	return job;
}

static void announce(struct fake_pool *pool, struct fake_job *job)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&pool->lock);
	push(&pool->done, job);
	pthread_mutex_unlock(&pool->lock);
	/*
	 * Can only fail when the counter is at its ceiling, and then the
	 * descriptor is readable already.
	 */
	(void)!write(pool->event_fd, &one, sizeof(one));
}

static void *work(void *arg)
{
	struct fake_pool *pool = arg;
	struct fake_job *job;

	/* The kernel keeps it per thread. Where it refuses, the work is done all the same. */
	if (pool->niceness)
		(void)!nice(pool->niceness);
	for (;;) {
		pthread_mutex_lock(&pool->lock);
		while (!(job = pop(&pool->todo)) && !pool->stopping)
			pthread_cond_wait(&pool->wanted, &pool->lock);
		pthread_mutex_unlock(&pool->lock);
		if (!job)
			return NULL;
		job->run(job);
		announce(pool, job);
	}
}

/* The threads take no signals: those are the business of the thread that owns the engine. */
static int start_threads(struct fake_pool *pool, unsigned threads)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int rc = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!rc && pool->threads < threads) {
		rc = pthread_create(&pool->thread[pool->threads], &attr, work, pool);
		if (!rc)
			pool->threads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

int fake_pool_new(unsigned threads, int niceness, struct fake_pool **ret_pool)
{
	struct fake_pool *pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->thread[0]));
	int rc;

	if (!pool)
		return -ENOMEM;
	pool->niceness = niceness;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wanted, NULL);
	pool->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = pool->event_fd < 0 ? -errno : start_threads(pool, threads);
	if (rc) {
		fake_pool_free(pool);
		return rc;
	}
	*ret_pool = pool;
	return 0;
}

void fake_pool_free(struct fake_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->wanted);
	pthread_mutex_unlock(&pool->lock);
	while (pool->threads)
		pthread_join(pool->thread[--pool->threads], NULL);
	pthread_cond_destroy(&pool->wanted);
	pthread_mutex_destroy(&pool->lock);
	sp_close(pool->event_fd);
	free(pool);
}

int fake_pool_fd(struct fake_pool *pool)
{
	return pool->event_fd;
}

void fake_pool_submit(struct fake_pool *pool, struct fake_job *job)
{
	pthread_mutex_lock(&pool->lock);
	push(&pool->todo, job);
	pthread_cond_signal(&pool->wanted);
	pthread_mutex_unlock(&pool->lock);
}

void fake_pool_post(struct fake_pool *pool, struct fake_job *job)
{
	announce(pool, job);
}

void fake_pool_collect(struct fake_pool *pool)
{
	struct queue done;
	struct fake_job *job;
	uint64_t count;

	(void)!read(pool->event_fd, &count, sizeof(count));
	pthread_mutex_lock(&pool->lock);
	done = pool->done;
	pool->done = (struct queue){ NULL, NULL };
	pthread_mutex_unlock(&pool->lock);
	while ((job = pop(&done)))
		job->done(job);
}
