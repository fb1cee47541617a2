/* SPDX-License-Identifier: MIT */
#include <base/files.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>

/* Levels that are walked with a descriptor each; what lies deeper is moved up first. */
#define TREE_DEPTH 64

int sp_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

const char *sp_tmp_root(void)
{
	const char *root = getenv("TMPDIR");

	return root && root[0] == '/' ? root : "/tmp";
}

int sp_tmp_dir(const char *prefix, char **ret_path, struct sp_error *err)
{
	char *path SP_FREE = NULL;

	if (asprintf(&path, "%s/%sXXXXXX", sp_tmp_root(), prefix) < 0) {
		path = NULL;
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	}
	if (!mkdtemp(path))
		return sp_error_set_errno(err, errno,
					  "cannot make a temporary folder in %s (set TMPDIR to a "
					  "place that can be written)",
					  sp_tmp_root());
	*ret_path = SP_TAKE(path);
	return 0;
}

/* What sandboxes, and stores that cases fill, need at least. */
#define ROOM_BYTES (8 * 1024 * 1024)
#define ROOM_FILES 256

int sp_tmp_room(const char *root, struct sp_error *err)
{
	struct statvfs st;
	unsigned long long bytes;

	if (statvfs(root, &st))
		return sp_error_set_errno(err, errno, "cannot use the temporary folder %s", root);
	/* Root may use what is kept back for it. */
	bytes = (unsigned long long)(geteuid() ? st.f_bavail : st.f_bfree) * st.f_frsize;
	if (bytes < ROOM_BYTES)
		return sp_error_set(err, SP_IO,
				    "the temporary folder %s is full: %llu KiB are free, a run "
				    "needs %d MiB (set TMPDIR to another place)",
				    root, bytes / 1024, ROOM_BYTES / 1024 / 1024);
	/* Some file systems do not count files. */
	if (st.f_files && st.f_favail < ROOM_FILES)
		return sp_error_set(err, SP_IO,
				    "the temporary folder %s has room for %llu more files only "
				    "(set TMPDIR to another place)",
				    root, (unsigned long long)st.f_favail);
	return 0;
}

/* A walk that removes a tree. */
struct removal {
	/* The folder that removal starts in, where deep parts are moved to. */
	int top;
	/* True once something was moved there, so that the top has to be walked again. */
	bool moved;
	int error;
};

static void note(struct removal *r, int error)
{
	if (!r->error)
		r->error = -error;
}

/*
 * Lets the owner into a folder that shuts them out; the descriptor makes sure that it is no link.
 */
static void let_in(int dirfd, const char *name)
{
	int fd SP_CLOSE = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)chmod(path, 0700);
}

/*
 * Opens a folder; below the top neither a link nor a mount point is entered, bind mounts included.
 */
static int open_folder(int dirfd, const char *name, bool top)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		.resolve = top ? 0 : RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	if (fd < 0 && errno == EACCES) {
		let_in(dirfd, name);
		fd = (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
	}
	return fd;
}

/* Removes a file, link or empty folder: 0, -ENOTEMPTY for a folder to be walked, or -errno. */
static int remove_plain(int dirfd, const char *name)
{
	int error;

	if (!unlinkat(dirfd, name, 0) || errno == ENOENT)
		return 0;
	error = errno;
	if (error != EISDIR && error != EPERM)
		return -error;
	if (!unlinkat(dirfd, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	/* EPERM of a file stays the reason when it was no folder. */
	return errno == EEXIST ? -ENOTEMPTY : errno == ENOTDIR ? -error : -errno;
}

static void remove_folder(struct removal *r, int dirfd, const char *name, int depth);

/* Removes an entry of an open folder of the tree. */
static void remove_entry(struct removal *r, int dirfd, const char *name, int depth)
{
	char moved[40] = ".deep-";
	int rc = remove_plain(dirfd, name);

	if (rc == -EACCES && !fchmod(dirfd, 0700))
		rc = remove_plain(dirfd, name);
	if (!rc)
		return;
	if (rc != -ENOTEMPTY) {
		note(r, -rc);
		return;
	}
	if (depth <= TREE_DEPTH) {
		remove_folder(r, dirfd, name, depth);
		return;
	}
	/* Each level costs a descriptor and some stack, so what lies deeper waits at the top. */
	sp_random_id(moved + strlen(moved), 20);
	if (renameat(dirfd, name, r->top, moved))
		note(r, errno);
	else
		r->moved = true;
}

/* Removes what is in an open folder; `fd` is consumed. */
static void remove_content(struct removal *r, int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		note(r, errno);
		sp_close(fd);
		return;
	}
	while ((errno = 0, entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			remove_entry(r, fd, entry->d_name, depth + 1);
	if (errno)
		note(r, errno);
	closedir(dir);
}

/* Removes a folder that is not empty. */
static void remove_folder(struct removal *r, int dirfd, const char *name, int depth)
{
	do {
		int fd = open_folder(dirfd, name, depth == 0);

		if (fd < 0) {
			note(r, errno);
			return;
		}
		if (depth == 0) {
			r->top = fd;
			r->moved = false;
		}
		remove_content(r, fd, depth);
	} while (depth == 0 && r->moved);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) && errno != ENOENT)
		note(r, errno);
}

int sp_remove_tree_at(int dirfd, const char *name)
{
	struct removal r = { .top = -1 };
	int rc = remove_plain(dirfd, name);

	if (rc != -ENOTEMPTY)
		return rc;
	remove_folder(&r, dirfd, name, 0);
	return r.error;
}

int sp_remove_tree(const char *path)
{
	return sp_remove_tree_at(AT_FDCWD, path);
}

/* Makes one folder; one that is there already is fine. */
static int make_folder(const char *path, mode_t mode)
{
	struct stat st;

	if (!mkdir(path, mode))
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (stat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int sp_mkdirs(const char *path, mode_t mode)
{
	char *copy SP_FREE = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *at = copy; *at; at++) {
		int rc;

		if (*at != '/' || at == copy || at[-1] == '/')
			continue;
		*at = '\0';
		rc = make_folder(copy, mode);
		if (rc)
			return rc;
		*at = '/';
	}
	return make_folder(copy, mode);
}

/*
 * Reads to the end of file; the buffer's ceiling is one byte above the
 * limit, to see what exceeds it.
 */
static int read_all(int fd, struct sp_buf *buf)
{
	for (;;) {
		size_t room = buf->ceiling - buf->len;
		size_t want = room < 65536 ? room : 65536;
		char *to = sp_buf_reserve(buf, want);
		ssize_t n;

		if (!to)
			return buf->error;
		if (!want)
			return 0;
		n = read(fd, to, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		buf->len += (size_t)n;
		buf->data[buf->len] = '\0';
	}
}

int sp_read_file(const char *path, size_t max, struct sp_bytes *ret_bytes, struct sp_error *err)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) =
		SP_BUF_INIT(max < SIZE_MAX - 2 ? max + 1 : SIZE_MAX - 1);
	int fd SP_CLOSE = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return sp_error_set_errno(err, errno, "cannot open %s", path);
	rc = read_all(fd, &buf);
	if (rc)
		return sp_error_set_errno(err, -rc, "cannot read %s", path);
	if (buf.len > max)
		return sp_error_set(err, SP_INVALID, "%s is larger than %zu bytes", path, max);
	rc = sp_buf_take_bytes(&buf, ret_bytes);
	return rc ? sp_error_set_errno(err, -rc, "cannot read %s", path) : 0;
}

/* Fills a new file `temporary` and moves it to `path`. */
static int write_beside(const char *temporary, const char *path, const void *data, size_t len,
			mode_t mode)
{
	int fd SP_CLOSE = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	rc = sp_write_all(fd, data, len);
	/* Some file systems tell of a full disk only here. */
	if (!rc && (fchmod(fd, mode) || close(SP_TAKE_FD(fd)) || rename(temporary, path)))
		rc = -errno;
	if (rc)
		unlink(temporary);
	return rc;
}

/* Devices and pipes are written to: a rename would put a file in their place. */
static int write_into(const char *path, const void *data, size_t len)
{
	int fd SP_CLOSE = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = sp_write_all(fd, data, len);
	return !rc && close(SP_TAKE_FD(fd)) ? -errno : rc;
}

int sp_write_file(const char *path, const void *data, size_t len, mode_t mode,
		  struct sp_error *err)
{
	char *temporary SP_FREE = NULL;
	/* What a link leads to is replaced, not the link. */
	char *real SP_FREE = realpath(path, NULL);
	const char *target = real ? real : path;
	struct stat st;
	char id[13];
	int rc;

	sp_random_id(id, 12);
	if (asprintf(&temporary, "%s.%s", target, id) < 0) {
		temporary = NULL;
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	}
	if (!stat(target, &st) && !S_ISREG(st.st_mode))
		rc = write_into(path, data, len);
	else
		rc = write_beside(temporary, target, data, len, mode);
	return rc ? sp_error_set_errno(err, -rc, "cannot write %s", path) : 0;
}

int sp_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int sp_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

void sp_random(void *data, size_t len)
{
	char *at = data;

	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			abort();
		at += n;
		len -= (size_t)n;
	}
}

void sp_random_id(char *buffer, size_t n)
{
	sp_random(buffer, n);
	for (size_t i = 0; i < n; i++)
		buffer[i] = "0123456789abcdefghijklmnopqrstuv"[buffer[i] & 31];
	buffer[n] = '\0';
}

int sp_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	/* The listing's own descriptor does not count. */
	return n - 1;
}
