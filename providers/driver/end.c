/* SPDX-License-Identifier: MIT */
/* The end of a driver and of everything that it started. */
#include "conn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

/* Walks until none is left; a process that a signal cannot end (in the kernel) must not hold us. */
#define MAX_WALKS 200
/* Of the kernel's flags of a process: it is on its way out. */
#define PF_EXITING 4
/* Longest environment in which the mark is looked for. */
#define ENVIRON_MAX (2 * 1024 * 1024)

/* ---- Waiting ---- */

/* What it still says is read and dropped, so that it does not stand still over it. */
static void drop_output(struct sp_driver *driver)
{
	char bytes[4096];
	ssize_t n = read(driver->out, bytes, sizeof(bytes));

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		driver->out = sp_close(driver->out);
}

bool drv_await_end(struct sp_driver *driver, uint64_t ms)
{
	uint64_t deadline = sp_deadline_ms(ms);
	int left;

	while ((left = sp_until_ms(deadline)) > 0) {
		struct pollfd fds[3] = {
		    {.fd = driver->child.pidfd, .events = POLLIN},
		    {.fd = driver->out, .events = POLLIN},
		    {.fd = driver->err, .events = POLLIN},
		};

		if (poll(fds, 3, left) <= 0)
			continue;
		if (fds[2].revents) {
			pthread_mutex_lock(&driver->lock);
			drv_drain_err(driver);
			pthread_mutex_unlock(&driver->lock);
		}
		if (fds[1].revents)
			drop_output(driver);
		if (fds[0].revents && !fds[2].revents)
			return true;
	}
	return false;
}

/* ---- The tree ---- */

struct pids {
	pid_t *items;
	size_t len, size;
};

static bool has_pid(const struct pids *pids, pid_t pid)
{
	for (size_t i = 0; i < pids->len; i++)
		if (pids->items[i] == pid)
			return true;
	return false;
}

static bool add_pid(struct pids *pids, pid_t pid)
{
	pid_t *grown;

	if (has_pid(pids, pid))
		return false;
	if (pids->len == pids->size) {
		size_t size = pids->size ? 2 * pids->size : 64;

		grown = reallocarray(pids->items, size, sizeof(*grown));
		if (!grown)
			return false;
		pids->items = grown;
		pids->size = size;
	}
	pids->items[pids->len++] = pid;
	return true;
}

/* What /proc tells of a process. */
struct stat_line {
	char state;
	pid_t parent, group;
	/* PF_* of the kernel. */
	unsigned flags;
};

/* False when the process is gone. */
static bool read_stat(pid_t pid, struct stat_line *ret)
{
	char path[64], text[1024], *after;
	ssize_t n;
	int fd SP_CLOSE = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name may hold anything, also a parenthesis. */
	after = strrchr(text, ')');
	return after && sscanf(after + 1, " %c %d %d %*d %*d %*d %u", &ret->state, &ret->parent,
			       &ret->group, &ret->flags) == 4;
}

static bool has_mark(pid_t pid, const char *mark)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	char path[64], wanted[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	snprintf(wanted, sizeof(wanted), "SANDPROOF_DRIVER=%s", mark);
	return !sp_read_file(path, ENVIRON_MAX, &bytes, NULL) && bytes.len &&
	       memmem(bytes.data, bytes.len, wanted, strlen(wanted) + 1);
}

/* One pass over all processes: true when one was added. */
static bool walk(struct sp_driver *driver, struct pids *tree, bool marks)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool added = false;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct stat_line stat;

		if (pid <= 1 || has_pid(tree, pid) || !read_stat(pid, &stat))
			continue;
		if (stat.state == 'Z' || stat.state == 'X')
			continue;
		if (stat.group == driver->child.pid || stat.parent == driver->child.pid ||
		    has_pid(tree, stat.parent) || (marks && has_mark(pid, driver->mark)))
			added = add_pid(tree, pid) || added;
	}
	if (proc)
		closedir(proc);
	return added;
}

/* Those that live now; descendants are found generation by generation. */
static void find_tree(struct sp_driver *driver, struct pids *tree)
{
	tree->len = 0;
	for (bool marks = true; walk(driver, tree, marks); marks = false)
		;
}

void drv_kill_tree(struct sp_driver *driver)
{
	struct pids tree = {NULL, 0, 0};

	if (driver->child.pid <= 0)
		return;
	for (int i = 0; i < MAX_WALKS; i++) {
		find_tree(driver, &tree);
		if (!tree.len)
			break;
		for (size_t k = 0; k < tree.len; k++) {
			int pidfd SP_CLOSE = sp_pidfd_open(tree.items[k]);

			if (pidfd >= 0)
				sp_pidfd_signal(pidfd, SIGKILL);
		}
	}
	free(tree.items);
}

/* ---- The end ---- */

static void close_channel(struct sp_driver *driver)
{
	pthread_mutex_lock(&driver->lock);
	driver->in = sp_close(driver->in);
	pthread_mutex_unlock(&driver->lock);
}

bool drv_is_ending(struct sp_driver *driver)
{
	struct stat_line stat;

	/* It leads its threads: the flag is set before the last one lets go of the descriptors. */
	return !read_stat(driver->child.pid, &stat) || stat.flags & PF_EXITING;
}

void drv_end(struct sp_driver *driver, bool ask)
{
	close_channel(driver);
	if (driver->child.pid > 0 && !driver->child.reaped) {
		if (!(ask && drv_await_end(driver, driver->grace_ms))) {
			sp_child_signal(&driver->child, SIGTERM);
			(void)drv_await_end(driver, driver->grace_ms);
		}
		drv_kill_tree(driver);
	}
	pthread_mutex_lock(&driver->lock);
	drv_drain_err(driver);
	driver->err = sp_close(driver->err);
	pthread_mutex_unlock(&driver->lock);
	driver->out = sp_close(driver->out);
	sp_child_done(&driver->child);
}
