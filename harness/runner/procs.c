/* SPDX-License-Identifier: MIT */
#include "procs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>

/* Walks after which even a fork bomb is left to the next call. */
#define WALKS 1000
#define CMDLINE_SHOWN 120

int sp_pid_list_add(struct sp_pid_list *list, pid_t pid)
{
	if (list->len == list->size) {
		size_t size = list->size ? list->size * 2 : 16;
		pid_t *pids = reallocarray(list->pids, size, sizeof(*pids));

		if (!pids)
			return -ENOMEM;
		list->pids = pids;
		list->size = size;
	}
	list->pids[list->len++] = pid;
	return 0;
}

bool sp_pid_list_has(const struct sp_pid_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->len; i++)
		if (list->pids[i] == pid)
			return true;
	return false;
}

void sp_pid_list_done(struct sp_pid_list *list)
{
	free(list->pids);
	memset(list, 0, sizeof(*list));
}

bool sp_mark_self(uint64_t mark)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_LOCKS, &limit))
		return false;
	/* Only the soft limit: what runs below may still set its own. */
	limit.rlim_cur = mark;
	return !setrlimit(RLIMIT_LOCKS, &limit);
}

/* Reads a small file of /proc whole into `buffer` with a NUL; its length, or -1. */
static ssize_t read_proc(const char *path, char *buffer, size_t size)
{
	int fd SP_CLOSE = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	while (len < size - 1 && (n = read(fd, buffer + len, size - 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		return -1;
	buffer[len] = '\0';
	return (ssize_t)len;
}

/* PF_EXITING of the kernel, which the field of flags shows since 2.6. */
#define EXITING 0x4UL

bool sp_is_exiting(pid_t pid)
{
	char path[40], text[512], *at;
	unsigned long flags = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_proc(path, text, sizeof(text)) < 0)
		return true;
	/* The name may hold anything; six fields stand between it and the flags. */
	at = strrchr(text, ')');
	return !at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %lu", &flags) != 1 || (flags & EXITING);
}

bool sp_is_alive(pid_t pid)
{
	char path[64], text[512];
	const char *after;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_proc(path, text, sizeof(text)) < 0)
		return false;
	/* The name may hold anything, also parentheses: the state follows the last one. */
	after = strrchr(text, ')');
	return after && after[1] == ' ' && after[2] != 'Z' && after[2] != 'X';
}

bool sp_has_mark(pid_t pid, uint64_t mark)
{
	static const char row[] = "Max file locks";
	char path[64], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	if (!mark || read_proc(path, text, sizeof(text)) < 0)
		return false;
	at = strstr(text, row);
	return at && strtoull(at + strlen(row), NULL, 10) == mark && sp_is_alive(pid);
}

/* Adds the numbers of a children file. */
static int add_numbers(const char *text, struct sp_pid_list *list)
{
	int rc = 0;

	while (!rc && isdigit((unsigned char)*text)) {
		char *end;
		long pid = strtol(text, &end, 10);

		rc = sp_pid_list_add(list, (pid_t)pid);
		text = end + strspn(end, " ");
	}
	return rc;
}

static int add_children_of_thread(pid_t pid, const char *tid, struct sp_pid_list *list)
{
	/* Room for a thousand children; a worker with more is beyond counting anyway. */
	char path[96], text[8192];

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, tid);
	if (read_proc(path, text, sizeof(text)) < 0)
		return 0;
	return add_numbers(text, list);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int sp_children_of(pid_t pid, struct sp_pid_list *list)
{
	DIR *dir SP_CLEANUP(close_dir) = NULL;
	struct dirent *entry;
	char path[64];
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!rc && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			rc = add_children_of_thread(pid, entry->d_name, list);
	return rc;
}

int sp_descendants_of(pid_t pid, struct sp_pid_list *list)
{
	struct sp_pid_list children SP_CLEANUP(sp_pid_list_done) = { 0 };
	/* A process that just went away has none. */
	int rc = sp_children_of(pid, &children);

	if (rc == -ENOENT || rc == -ESRCH)
		return 0;
	for (size_t i = 0; !rc && i < children.len; i++) {
		pid_t child = children.pids[i];

		if (sp_pid_list_has(list, child) || !sp_is_alive(child))
			continue;
		rc = sp_pid_list_add(list, child);
		if (!rc)
			rc = sp_descendants_of(child, list);
	}
	return rc;
}

void sp_describe_pid(pid_t pid, struct sp_buf *out)
{
	char path[64], text[CMDLINE_SHOWN + 1];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	len = read_proc(path, text, sizeof(text));
	while (len > 0 && !text[len - 1])
		len--;
	for (ssize_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	sp_buf_addf(out, "%d (%.*s)", (int)pid, len > 0 ? (int)len : 1, len > 0 ? text : "?");
}

/* One walk: signals all that carry the mark; how many there were. */
static size_t kill_walk(uint64_t mark, pid_t except)
{
	DIR *dir SP_CLEANUP(close_dir) = opendir("/proc");
	struct dirent *entry;
	size_t found = 0;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		int fd SP_CLOSE = -1;

		if (pid <= 0 || pid == except || pid == getpid())
			continue;
		/*
		 * The descriptor is taken before the look, so that the number cannot have changed
		 * hands between look and kill.
		 */
		fd = sp_pidfd_open(pid);
		if (fd < 0 || !sp_has_mark(pid, mark))
			continue;
		found++;
		sp_pidfd_signal(fd, SIGKILL);
	}
	return found;
}

size_t sp_kill_marked(uint64_t mark, pid_t except)
{
	size_t first, now;

	if (!mark)
		return 0;
	first = now = kill_walk(mark, except);
	for (int i = 0; now && i < WALKS; i++)
		now = kill_walk(mark, except);
	return first;
}
