/* SPDX-License-Identifier: MIT */
/* Threads that nobody joins. */
#ifndef SP_BASE_THREAD_H
#define SP_BASE_THREAD_H

/*
 * Starts a detached thread that takes no signals: those are the program's. Returns 0 or -errno, and
 * `fn` has not been called then.
 */
int sp_thread_detached(void *(*fn)(void *), void *arg);

#endif
