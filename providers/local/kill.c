/* SPDX-License-Identifier: MIT */
#include <providers/local/internal.h>

#include <base/clock.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

/* From the kernel's process flags in /proc/PID/stat. */
#define KERNEL_THREAD 0x00200000u
/* Largest environment that is searched; the kernel allows less than this by default. */
#define ENVIRON_MAX (8 * 1024 * 1024)

/* What one line of /proc/PID/stat says. */
struct stat_line {
	char state;
	pid_t group;
	unsigned flags;
};

static int open_proc(int proc, pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	return openat(proc, path, O_RDONLY | O_CLOEXEC);
}

static bool read_stat(int proc, pid_t pid, struct stat_line *ret)
{
	char line[1024];
	int fd SP_CLOSE = open_proc(proc, pid, "stat");
	if (fd < 0)
		return false;
	ssize_t n = read(fd, line, sizeof(line) - 1);
	if (n <= 0)
		return false;
	line[n] = '\0';
	/* The name in parentheses may hold anything, also a ')'. */
	const char *rest = strrchr(line, ')');
	return rest && sscanf(rest + 1, " %c %*d %d %*d %*d %*d %u", &ret->state, &ret->group,
			      &ret->flags) == 3;
}

/* Reads the environment whole; false when it cannot be read. */
static bool read_environ(int proc, pid_t pid, struct sp_buf *buf)
{
	int fd SP_CLOSE = open_proc(proc, pid, "environ");

	if (fd < 0)
		return false;
	for (;;) {
		char *room = sp_buf_reserve(buf, 16 * 1024);
		if (!room)
			return false;
		ssize_t n = read(fd, room, 16 * 1024);
		if (n < 0)
			return false;
		if (n == 0)
			return true;
		buf->len += (size_t)n;
	}
}

static bool has_mark(const struct sp_buf *buf, const char *mark)
{
	size_t mark_len = strlen(mark);
	const char *at = buf->data;
	const char *end = buf->data + buf->len;

	while (at && at < end) {
		if ((size_t)(end - at) >= mark_len && !memcmp(at, mark, mark_len) &&
		    (at + mark_len == end || at[mark_len] == '\0'))
			return true;
		at = memchr(at, '\0', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return false;
}

/*
 * A process in the middle of execve() has an empty environment for a moment,
 * so an empty one is looked at again before it is believed.
 */
static bool carries(int proc, pid_t pid, const char *mark)
{
	for (int tries = 0; tries < 4; tries++) {
		struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ENVIRON_MAX);
		if (!read_environ(proc, pid, &buf))
			return false;
		if (buf.len > 0)
			return has_mark(&buf, mark);
		sched_yield();
	}
	return false;
}

static bool matches(int proc, pid_t pid, const struct local_match *match)
{
	struct stat_line stat;

	if (pid == match->except || !read_stat(proc, pid, &stat))
		return false;
	if (stat.state == 'Z' || stat.state == 'X' || (stat.flags & KERNEL_THREAD))
		return false;
	if (match->group > 0 && stat.group == match->group)
		return true;
	return match->mark && carries(proc, pid, match->mark);
}

void local_found_done(struct local_found *found)
{
	for (size_t i = 0; i < found->len; i++)
		sp_close(found->fds[i]);
	free(found->fds);
	*found = (struct local_found)LOCAL_FOUND_INIT;
}

static int add(struct local_found *found, int pidfd)
{
	int *fds = reallocarray(found->fds, found->len + 1, sizeof(*fds));

	if (!fds)
		return -ENOMEM;
	found->fds = fds;
	found->fds[found->len++] = pidfd;
	found->alive++;
	return 0;
}

/* Holds a process that matches; the second look is at the process that is held, whatever the number
 * meant before. */
static int consider(int proc, pid_t pid, const struct local_match *match, struct local_found *found)
{
	if (!matches(proc, pid, match))
		return 0;
	int pidfd SP_CLOSE = sp_pidfd_open(pid);
	if (pidfd < 0)
		return pidfd == -ESRCH || pidfd == -EINVAL ? 0 : pidfd;
	if (!matches(proc, pid, match))
		return 0;
	int rc = add(found, pidfd);
	if (rc == 0)
		pidfd = -1;
	return rc;
}

int local_find(const struct local_match *match, struct local_found *ret_found)
{
	DIR *dir = opendir("/proc");
	int rc = dir ? 0 : -errno;
	pid_t self = getpid();

	for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && pid > 0 && pid != self)
			rc = consider(dirfd(dir), (pid_t)pid, match, ret_found);
	}
	if (dir)
		closedir(dir);
	return rc;
}

static void forget(struct local_found *found, size_t i)
{
	found->fds[i] = sp_close(found->fds[i]);
	found->alive--;
}

void local_found_signal(struct local_found *found, int signal)
{
	for (size_t i = 0; i < found->len; i++) {
		if (found->fds[i] >= 0 && sp_pidfd_signal(found->fds[i], signal) < 0)
			forget(found, i);
	}
}

size_t local_found_update(struct local_found *found)
{
	for (size_t i = 0; i < found->len; i++) {
		struct pollfd poll_fd = {.fd = found->fds[i], .events = POLLIN};
		if (found->fds[i] >= 0 && poll(&poll_fd, 1, 0) > 0)
			forget(found, i);
	}
	return found->alive;
}

bool local_found_wait(struct local_found *found, uint64_t deadline)
{
	for (size_t i = 0; i < found->len; i++) {
		struct pollfd poll_fd = {.fd = found->fds[i], .events = POLLIN};
		while (found->fds[i] >= 0) {
			int n = poll(&poll_fd, 1, sp_until_ms(deadline));
			if (n == 0)
				return false;
			if (n > 0)
				forget(found, i);
		}
	}
	return true;
}

int local_sweep(const struct local_match *match, uint64_t deadline)
{
	for (;;) {
		struct local_found found SP_CLEANUP(local_found_done) = LOCAL_FOUND_INIT;
		int rc = local_find(match, &found);
		if (rc < 0)
			return rc;
		local_found_signal(&found, SIGKILL);
		if (found.alive == 0)
			return 0;
		if (!local_found_wait(&found, deadline))
			return -ETIMEDOUT;
	}
}
