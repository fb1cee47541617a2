/* SPDX-License-Identifier: MIT */
/*
 * Processes of a worker. A worker marks itself with a resource limit that no
 * kernel since 2.4 looks at (RLIMIT_LOCKS): everything it starts inherits the
 * number, also through a double fork, setsid and an empty environment, and
 * anybody may read it in /proc/PID/limits.
 */
#ifndef SP_RUNNER_PROCS_H
#define SP_RUNNER_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <base/buf.h>

struct sp_pid_list {
	pid_t *pids;
	size_t len;
	size_t size;
};

/* Adds at the end; 0 or -ENOMEM. */
int sp_pid_list_add(struct sp_pid_list *list, pid_t pid);
/* Whether the number is in the list. */
bool sp_pid_list_has(const struct sp_pid_list *list, pid_t pid);
void sp_pid_list_done(struct sp_pid_list *list);

/* Marks this process and what it will start; false where the limit cannot be set. */
bool sp_mark_self(uint64_t mark);
/* True when the process lives (a zombie does not) and carries the mark. */
bool sp_has_mark(pid_t pid, uint64_t mark);

/* Appends the direct children of all threads of `pid`, zombies included; 0 or -errno. */
int sp_children_of(pid_t pid, struct sp_pid_list *list);
/* Appends the living descendants of `pid`, each once; 0 or -errno. */
int sp_descendants_of(pid_t pid, struct sp_pid_list *list);
/* True when the process is there and no zombie. */
bool sp_is_alive(pid_t pid);
/*
 * True when the process has begun to exit or is gone: whatever it does not
 * hold any more, it held before.
 */
bool sp_is_exiting(pid_t pid);
/* Appends "PID (its command line)" for messages, control characters replaced; bounded. */
void sp_describe_pid(pid_t pid, struct sp_buf *out);

/*
 * Kills every process that carries the mark, walk after walk until one finds
 * nothing, since they may fork while we look. `except` is left alone. Returns
 * how many were found by the first walk.
 */
size_t sp_kill_marked(uint64_t mark, pid_t except);

#endif
