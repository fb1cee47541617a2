/* SPDX-License-Identifier: MIT */
/*
 * A small pool of threads for what may take long. A job runs on one of them
 * and is finished on the engine's thread.
 *
 * The threads live as long as the pool: a sandbox's process 1 dies with the
 * thread that made it.
 */
#ifndef FAKE_BASH_POOL_H
#define FAKE_BASH_POOL_H

struct fake_pool;

/* One piece of work, embedded in what it works on. */
struct fake_job {
	/* On a thread of the pool. */
	void (*run)(struct fake_job *job);
	/* On the engine's thread; the job may be freed here. */
	void (*done)(struct fake_job *job);
	struct fake_job *next;
};

/* Starts `threads` threads, each so much nicer than the caller. 0 or -errno. */
int fake_pool_new(unsigned threads, int niceness, struct fake_pool **ret_pool);
/*
 * Waits for the jobs that run, drops none, and ends the threads. Finished
 * jobs must have been collected.
 */
void fake_pool_free(struct fake_pool *pool);
/* Readable while finished jobs wait for fake_pool_collect(). */
int fake_pool_fd(struct fake_pool *pool);
/* Queues a job. */
void fake_pool_submit(struct fake_pool *pool, struct fake_job *job);
/* Skips running: `done` is called at the next fake_pool_collect(). */
void fake_pool_post(struct fake_pool *pool, struct fake_job *job);
/* Calls `done` of everything that has finished. */
void fake_pool_collect(struct fake_pool *pool);

#endif
