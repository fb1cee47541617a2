/* SPDX-License-Identifier: MIT */
/*
 * Plain mode has no pid namespace. Every command carries a random number in a
 * resource limit that the kernel no longer heeds (RLIMIT_LOCKS); whatever the
 * command starts inherits it, and /proc/PID/limits tells it. Only a process
 * that lowers its own limit escapes.
 */
#include <fakes/bash/internal.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

uint64_t fake_mark_new(void)
{
	uint64_t mark;

	sp_random(&mark, sizeof(mark));
	/*
	 * Neither infinite nor negative when somebody reads it as signed, and
	 * never a number that people use.
	 */
	return (mark >> 2) | (UINT64_C(1) << 61);
}

/* Reads a file of /proc/PID into text; false when the process is gone. */
static bool read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[48];
	int fd SP_CLOSE = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

/* The mark of a process, or 0. */
static uint64_t mark_of(pid_t pid)
{
	static const char name[] = "\nMax file locks";
	char text[4096];
	const char *at;

	if (!read_proc(pid, "limits", text, sizeof(text)))
		return 0;
	at = strstr(text, name);
	/* "unlimited" is no number and gives 0. */
	return at ? strtoull(at + sizeof(name) - 1, NULL, 10) : 0;
}

/* State letter and parent of a process; false when it is gone. */
static bool stat_of(pid_t pid, char *ret_state, pid_t *ret_parent)
{
	char text[512];
	const char *at;
	int parent;

	if (!read_proc(pid, "stat", text, sizeof(text)))
		return false;
	/* The name may hold anything, parentheses included. */
	at = strrchr(text, ')');
	if (!at || sscanf(at, ") %c %d", ret_state, &parent) != 2)
		return false;
	*ret_parent = parent;
	return true;
}

/* Signals one process, sure that it still is the one that carried the mark. */
static void signal_marked(pid_t pid, uint64_t mark, int signal)
{
	int fd SP_CLOSE = sp_pidfd_open(pid);

	if (fd >= 0 && mark_of(pid) == mark)
		sp_pidfd_signal(fd, signal);
}

/* Calls `found` for every process that carries `mark` (0: any number) and is not us. */
static void walk(uint64_t mark, void (*found)(pid_t pid, uint64_t mark, void *arg), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		uint64_t its = pid > 0 ? mark_of(pid) : 0;

		if (its && (!mark || its == mark))
			found(pid, its, arg);
	}
	if (dir)
		closedir(dir);
}

/* What one walk found. */
struct count {
	int signal;
	size_t alive;
	size_t stopped;
	/* Ended and not reaped: how many, and the sum of their numbers. */
	size_t ended;
	uint64_t ended_sum;
};

static void count_one(pid_t pid, uint64_t mark, void *arg)
{
	struct count *count = arg;
	char state;
	pid_t parent;

	if (!stat_of(pid, &state, &parent))
		return;
	if (state == 'Z' || state == 'X') {
		count->ended++;
		count->ended_sum += (uint64_t)pid;
		return;
	}
	count->alive++;
	count->stopped += state == 'T' || state == 't';
	if (count->signal)
		signal_marked(pid, mark, count->signal);
}

static struct count walk_once(uint64_t mark, int signal)
{
	struct count count = { .signal = signal };

	walk(mark, count_one, &count);
	return count;
}

size_t fake_mark_count(uint64_t mark)
{
	return walk_once(mark, 0).alive;
}

/* What a walk collects. */
struct list {
	pid_t *pids;
	size_t n;
	int error;
};

static void list_one(pid_t pid, uint64_t mark SP_UNUSED, void *arg)
{
	struct list *list = arg;
	pid_t *grown = reallocarray(list->pids, list->n + 1, sizeof(*grown));

	if (!grown) {
		list->error = -ENOMEM;
		return;
	}
	list->pids = grown;
	grown[list->n++] = pid;
}

int fake_mark_list(uint64_t mark, pid_t **ret_pids, size_t *ret_n)
{
	struct list list = { NULL, 0, 0 };

	walk(mark, list_one, &list);
	if (list.error) {
		free(list.pids);
		return list.error;
	}
	*ret_pids = list.pids;
	*ret_n = list.n;
	return 0;
}

void fake_mark_signal(uint64_t mark, int signal)
{
	walk_once(mark, signal);
}

/*
 * One walk proves nothing: a process may fork where the walk has been already
 * and end before the walk comes to it. It leaves a corpse, though, which comes
 * to us, the subreaper, and which nobody reaps meanwhile. So two walks in a row that
 * find nobody to signal and the same corpses prove that nobody lived between them.
 */
static void repeat(uint64_t mark, int signal)
{
	struct count before = { .alive = 1 };

	for (;;) {
		struct count now = walk_once(mark, signal);
		size_t active = signal == SIGSTOP ? now.alive - now.stopped : now.alive;

		if (!active && before.signal && now.alive == before.alive &&
		    now.ended == before.ended && now.ended_sum == before.ended_sum)
			return;
		before = now;
		/* Marks a walk that may be the first of the two. */
		before.signal = !active;
	}
}

void fake_mark_sweep(uint64_t mark)
{
	repeat(mark, SIGKILL);
}

void fake_mark_freeze(uint64_t mark)
{
	repeat(mark, SIGSTOP);
}

/* ---- orphans that came to us, the subreaper ---- */

static bool is_leader(const struct fake_engine *engine, pid_t pid)
{
	const struct fake_sandbox *sandbox;
	const struct fake_command *command;

	LIST_FOREACH(sandbox, &engine->sandboxes, link)
		LIST_FOREACH(command, &sandbox->commands, link)
			if (command->pid == pid && !command->exited)
				return true;
	return false;
}

/* A sweep under way counts corpses: its sandbox's stay until it is done. */
static bool is_ours(const struct fake_engine *engine, uint64_t mark)
{
	const struct fake_sandbox *sandbox;

	LIST_FOREACH(sandbox, &engine->sandboxes, link)
		if (sandbox->mark == mark)
			return !sandbox->killed || sandbox->swept;
	return false;
}

static void reap_one(pid_t pid, uint64_t mark, void *arg)
{
	const struct fake_engine *engine = arg;
	siginfo_t info;
	char state;
	pid_t parent;

	if (!stat_of(pid, &state, &parent) || state != 'Z' || parent != engine->server ||
	    !is_ours(engine, mark) || is_leader(engine, pid))
		return;
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG);
}

void fake_mark_reap(struct fake_engine *engine)
{
	walk(0, reap_one, engine);
}
