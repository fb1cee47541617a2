/* SPDX-License-Identifier: MIT */
/* Writing trees into an archive. */
#include <fakes/bash/archive.h>

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <fakes/bash/inodes.h>

/* Read from a file and given to the archive at once. */
#define PIECE ((size_t)256 * 1024)
/* Longest name of an entry: trees may be deeper than any single path. */
#define NAME_CEILING ((size_t)16 << 20)
#define XATTR_NAMES (64 * 1024)

/* A folder on the way down. */
struct level {
	struct level *up;
	DIR *dir;
	/* Length of its name in pack->name. */
	size_t name_len;
};

struct fake_pack {
	struct archive *archive;
	struct archive_entry *entry;
	int fd;
	uint64_t left;
	const atomic_bool *stop;
	/* The first failure of all. */
	int error;
	/* Name of the current entry. */
	struct sp_buf name;
	struct level *level;
	dev_t dev;
	struct fake_inodes links;
	char piece[PIECE];
	char value[XATTR_SIZE_MAX];
	char names[XATTR_NAMES];
};

static int latch(struct fake_pack *pack, int rc)
{
	if (rc && !pack->error)
		pack->error = rc;
	return pack->error;
}

/* ---- the file ---- */

static la_ssize_t on_bytes(struct archive *archive, void *arg, const void *data, size_t len)
{
	struct fake_pack *pack = arg;
	int rc = 0;

	/* An archive that failed is not completed. */
	if (pack->error)
		rc = pack->error;
	else if (len > pack->left)
		rc = -ENOSPC;
	else if (atomic_load_explicit(pack->stop, memory_order_relaxed))
		rc = -ECANCELED;
	else
		rc = sp_write_all(pack->fd, data, len);
	pack->left -= rc ? 0 : len;
	if (!latch(pack, rc))
		return (la_ssize_t)len;
	archive_set_error(archive, -pack->error, "write failed");
	return -1;
}

/* The library's own failure, unless we know a reason. */
static int library(struct fake_pack *pack, int rc)
{
	return rc >= ARCHIVE_WARN ? pack->error : latch(pack, -EIO);
}

int fake_pack_open(int fd, uint64_t limit, const atomic_bool *stop, struct fake_pack **ret_pack)
{
	struct fake_pack *pack = calloc(1, sizeof(*pack));
	int rc;

	if (!pack)
		return -ENOMEM;
	pack->fd = fd;
	pack->left = limit;
	pack->stop = stop;
	pack->name.ceiling = NAME_CEILING;
	pack->entry = archive_entry_new();
	pack->archive = archive_write_new();
	rc = pack->entry && pack->archive ? 0 : -ENOMEM;
	/* Names are bytes, whatever the locale: nothing is converted. */
	if (!rc && (archive_write_set_format_pax(pack->archive) != ARCHIVE_OK ||
		    archive_write_set_format_option(pack->archive, "pax", "hdrcharset", "BINARY") !=
			    ARCHIVE_OK ||
		    archive_write_set_bytes_per_block(pack->archive, 0) != ARCHIVE_OK ||
		    archive_write_open(pack->archive, pack, NULL, on_bytes, NULL) != ARCHIVE_OK))
		rc = -ENOMEM;
	if (rc) {
		latch(pack, rc);
		fake_pack_close(pack);
		return rc;
	}
	*ret_pack = pack;
	return 0;
}

int fake_pack_close(struct fake_pack *pack)
{
	int rc;

	while (pack->level) {
		struct level *level = pack->level;

		pack->level = level->up;
		closedir(level->dir);
		free(level);
	}
	/* After a failure too: only closing frees what the library holds of an open archive. */
	if (pack->archive)
		library(pack, archive_write_close(pack->archive));
	rc = pack->error;
	if (pack->archive)
		archive_write_free(pack->archive);
	archive_entry_free(pack->entry);
	fake_inodes_done(&pack->links);
	sp_buf_done(&pack->name);
	free(pack);
	return rc;
}

int fake_pack_bytes(struct fake_pack *pack, const char *name, const void *data, size_t len)
{
	struct archive_entry *entry = archive_entry_clear(pack->entry);

	if (pack->error)
		return pack->error;
	archive_entry_copy_pathname(entry, name);
	archive_entry_set_mode(entry, S_IFREG | 0600);
	archive_entry_set_size(entry, (int64_t)len);
	if (library(pack, archive_write_header(pack->archive, entry)))
		return pack->error;
	if (len && archive_write_data(pack->archive, data, len) != (la_ssize_t)len)
		latch(pack, -EIO);
	return pack->error;
}

/* ---- attributes ---- */

/*
 * What makes a difference to whom is inside. The rest of an overlay's own
 * attributes belong to this very mount.
 */
static bool matters(const char *name)
{
	static const char *const whole[] = {
		"trusted.overlay.opaque",
		"user.overlay.opaque",
		"security.capability",
		"system.posix_acl_access",
		"system.posix_acl_default",
	};

	for (size_t i = 0; i < SP_COUNT(whole); i++)
		if (!strcmp(name, whole[i]))
			return true;
	return !strncmp(name, "user.", 5) && strncmp(name, "user.overlay.", 13);
}

static void add_xattrs(struct fake_pack *pack, int fd)
{
	ssize_t len = flistxattr(fd, pack->names, sizeof(pack->names));

	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(pack->names + at) + 1) {
		const char *name = pack->names + at;
		ssize_t n = matters(name) ?
				    fgetxattr(fd, name, pack->value, sizeof(pack->value)) :
				    -1;

		if (n >= 0)
			archive_entry_xattr_add_entry(pack->entry, name, pack->value, (size_t)n);
	}
}

/* ---- one entry ---- */

static void describe(struct fake_pack *pack, const struct stat *st)
{
	struct archive_entry *entry = archive_entry_clear(pack->entry);

	archive_entry_copy_pathname(entry, sp_buf_str(&pack->name));
	archive_entry_set_mode(entry, st->st_mode);
	archive_entry_set_uid(entry, st->st_uid);
	archive_entry_set_gid(entry, st->st_gid);
	archive_entry_set_mtime(entry, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	archive_entry_set_size(entry, S_ISREG(st->st_mode) ? st->st_size : 0);
}

static int put_header(struct fake_pack *pack)
{
	return library(pack, archive_write_header(pack->archive, pack->entry));
}

/*
 * One of several names of a file that the archive has already: 1 when that was all there is to it.
 */
static int put_link(struct fake_pack *pack, const struct stat *st)
{
	const char *first;
	int rc;

	if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
		return 0;
	rc = fake_inodes_meet(&pack->links, st->st_dev, st->st_ino, sp_buf_str(&pack->name),
			      &first);
	if (rc < 0)
		return latch(pack, rc);
	if (!first)
		return 0;
	archive_entry_set_hardlink(pack->entry, first);
	archive_entry_set_size(pack->entry, 0);
	rc = put_header(pack);
	return rc ? rc : 1;
}

/* Says where the holes are; a file without any is left as it is. */
static int map_holes(struct fake_pack *pack, int fd, int64_t size)
{
	int64_t at = 0;

	while (at < size) {
		int64_t data = lseek(fd, at, SEEK_DATA);
		int64_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0 || hole < 0)
			return latch(pack, -errno);
		hole = hole > size ? size : hole;
		if (data < hole)
			archive_entry_sparse_add_entry(pack->entry, data, hole - data);
		at = hole;
	}
	/* All of it is a hole: an empty piece at the end says so. */
	if (!archive_entry_sparse_count(pack->entry))
		archive_entry_sparse_add_entry(pack->entry, size, 0);
	return 0;
}

/* Gives `len` bytes; of a hole the library drops them unread. */
static int put_data(struct fake_pack *pack, const void *data, size_t len)
{
	if (archive_write_data(pack->archive, data, len) == (la_ssize_t)len)
		return pack->error;
	return latch(pack, -EIO);
}

static int copy_range(struct fake_pack *pack, int fd, int64_t from, int64_t to, bool hole)
{
	if (hole)
		memset(pack->piece, 0, sizeof(pack->piece));
	while (from < to) {
		size_t want = to - from < (int64_t)PIECE ? (size_t)(to - from) : PIECE;
		ssize_t n = hole ? (ssize_t)want : pread(fd, pack->piece, want, from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return latch(pack, -errno);
		/* It shrank: the library fills up what the header promised. */
		if (!n)
			return 0;
		if (put_data(pack, pack->piece, (size_t)n))
			return pack->error;
		from += n;
	}
	return 0;
}

/* Holes are walked as data is, so that the library's count of bytes is ours. */
static int copy_sparse(struct fake_pack *pack, int fd, int64_t size)
{
	int64_t at = 0, offset, len;

	archive_entry_sparse_reset(pack->entry);
	while (archive_entry_sparse_next(pack->entry, &offset, &len) == ARCHIVE_OK) {
		if (copy_range(pack, fd, at, offset, true) ||
		    copy_range(pack, fd, offset, offset + len, false))
			return pack->error;
		at = offset + len;
	}
	return copy_range(pack, fd, at, size, true);
}

static int put_file(struct fake_pack *pack, int fd, const struct stat *st)
{
	bool sparse = (int64_t)st->st_blocks * 512 < st->st_size;
	int rc;

	if (sparse && map_holes(pack, fd, st->st_size))
		return pack->error;
	if (put_header(pack))
		return pack->error;
	rc = sparse ? copy_sparse(pack, fd, st->st_size) :
		      copy_range(pack, fd, 0, st->st_size, false);
	return rc ? rc : library(pack, archive_write_finish_entry(pack->archive));
}

/*
 * Opens a file or folder for reading, also one that shuts its owner out (which matters where we
 * have no privileges): for a moment its mode is opened. -errno.
 */
static int open_entry(int dir_fd, const char *name, mode_t mode)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
		    (S_ISDIR(mode) ? O_DIRECTORY : 0);
	int fd = openat(dir_fd, name, flags);
	int handle SP_CLOSE = -1;
	char path[40];
	int rc;

	if (fd >= 0 || errno != EACCES)
		return fd >= 0 ? fd : -errno;
	handle = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	if (handle < 0 || chmod(path, (mode & 07777) | (S_ISDIR(mode) ? 0500 : 0400)))
		return -EACCES;
	fd = openat(dir_fd, name, flags);
	rc = fd >= 0 ? fd : -errno;
	(void)chmod(path, mode & 07777);
	return rc;
}

/* Vanished or replaced since it was seen: left out. */
static bool is_gone(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR || rc == -ELOOP || rc == -ENXIO;
}

static int pack_file(struct fake_pack *pack, int dir_fd, const char *name, const struct stat *seen)
{
	int fd SP_CLOSE = open_entry(dir_fd, name, seen->st_mode);
	struct stat st;
	int rc;

	if (fd < 0)
		return is_gone(fd) ? 0 : latch(pack, fd);
	if (fstat(fd, &st))
		return latch(pack, -errno);
	if (!S_ISREG(st.st_mode))
		return 0;
	/* Ours is the mode that was seen: another capture may be holding it open right now. */
	st.st_mode = seen->st_mode;
	describe(pack, &st);
	rc = put_link(pack, &st);
	if (rc)
		return rc < 0 ? rc : 0;
	add_xattrs(pack, fd);
	return put_file(pack, fd, &st);
}

static int pack_link(struct fake_pack *pack, int dir_fd, const char *name, const struct stat *st)
{
	ssize_t n = readlinkat(dir_fd, name, pack->piece, sizeof(pack->piece) - 1);
	int rc;

	if (n < 0)
		return is_gone(-errno) || errno == EINVAL ? 0 : latch(pack, -errno);
	pack->piece[n] = '\0';
	describe(pack, st);
	rc = put_link(pack, st);
	if (rc)
		return rc < 0 ? rc : 0;
	archive_entry_copy_symlink(pack->entry, pack->piece);
	return put_header(pack);
}

/* FIFOs, sockets, whiteouts: only what they are. */
static int pack_node(struct fake_pack *pack, const struct stat *st)
{
	int rc;

	if ((S_ISCHR(st->st_mode) && st->st_rdev != makedev(0, 0)) || S_ISBLK(st->st_mode))
		return 0;
	describe(pack, st);
	if (S_ISSOCK(st->st_mode)) {
		archive_entry_set_mode(pack->entry, S_IFIFO | (st->st_mode & 07777));
		archive_entry_xattr_add_entry(pack->entry, ARCHIVE_SOCKET, "1", 1);
	}
	/* All whiteouts of an overlay may be one inode. */
	rc = S_ISCHR(st->st_mode) ? 0 : put_link(pack, st);
	if (rc)
		return rc < 0 ? rc : 0;
	archive_entry_set_rdev(pack->entry, st->st_rdev);
	return put_header(pack);
}

/* ---- the walk ---- */

/* Adds the folder itself and goes down into it. `fd` is taken. */
static int enter(struct fake_pack *pack, int fd, const struct stat *st)
{
	struct level *level = calloc(1, sizeof(*level));
	DIR *dir = level ? fdopendir(fd) : NULL;

	if (!dir) {
		sp_close(fd);
		free(level);
		return latch(pack, -ENOMEM);
	}
	*level = (struct level){ .up = pack->level, .dir = dir, .name_len = pack->name.len };
	pack->level = level;
	describe(pack, st);
	add_xattrs(pack, fd);
	return put_header(pack);
}

static int pack_folder(struct fake_pack *pack, int dir_fd, const char *name,
		       const struct stat *seen)
{
	int fd = open_entry(dir_fd, name, seen->st_mode);
	struct stat st;

	if (fd < 0)
		return is_gone(fd) ? 0 : latch(pack, fd);
	if (fstat(fd, &st)) {
		sp_close(fd);
		return latch(pack, -errno);
	}
	/* Mounted meanwhile: none of ours. */
	if (st.st_dev != pack->dev) {
		sp_close(fd);
		return 0;
	}
	st.st_mode = seen->st_mode;
	return enter(pack, fd, &st);
}

static int pack_child(struct fake_pack *pack, const char *name)
{
	int dir_fd = dirfd(pack->level->dir);
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : latch(pack, -errno);
	if (st.st_dev != pack->dev)
		return 0;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return pack_file(pack, dir_fd, name, &st);
	case S_IFDIR:
		return pack_folder(pack, dir_fd, name, &st);
	case S_IFLNK:
		return pack_link(pack, dir_fd, name, &st);
	default:
		return pack_node(pack, &st);
	}
}

/* One entry of the folder we are in, or out of it. */
static int step(struct fake_pack *pack)
{
	struct level *level = pack->level;
	struct dirent *entry;

	errno = 0;
	entry = readdir(level->dir);
	if (!entry) {
		latch(pack, -errno);
		pack->level = level->up;
		closedir(level->dir);
		free(level);
		return pack->error;
	}
	if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
		return 0;
	if (atomic_load_explicit(pack->stop, memory_order_relaxed))
		return latch(pack, -ECANCELED);
	/* Back to the folder's own name, whatever came before. */
	pack->name.len = level->name_len;
	if (sp_buf_addc(&pack->name, '/') || sp_buf_adds(&pack->name, entry->d_name))
		return latch(pack, pack->name.error);
	return pack_child(pack, entry->d_name);
}

int fake_pack_tree(struct fake_pack *pack, const char *prefix, int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st)) {
		rc = -errno;
		sp_close(fd);
		return latch(pack, rc);
	}
	pack->dev = st.st_dev;
	sp_buf_clear(&pack->name);
	if (sp_buf_adds(&pack->name, prefix)) {
		sp_close(fd);
		return latch(pack, pack->name.error);
	}
	rc = enter(pack, fd, &st);
	while (!rc && pack->level)
		rc = step(pack);
	return rc;
}
