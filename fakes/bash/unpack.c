/* SPDX-License-Identifier: MIT */
/* Extracting an archive. Nothing that it says is believed: see archive.h. */
#include <fakes/bash/archive.h>

#include <archive.h>
#include <archive_entry.h>
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

#define BLOCK ((size_t)1 << 20)
/* What an entry costs besides its content. */
#define ENTRY_BYTES 512
/* Trees may be deeper than any single path. */
#define PATH_CEILING ((size_t)16 << 20)

/*
 * A folder that we are in; what it gets in the end is set when we leave it,
 * since its content changes it.
 */
struct folder {
	struct folder *up;
	int fd;
	/* Length of its path below the place; 0 for the root. */
	size_t len;
	bool finish;
	mode_t mode;
	struct timespec mtime;
};

struct fake_unpack {
	struct archive *archive;
	struct archive_entry *entry;
	/* The entry was read and belongs to the next call. */
	bool pending;
	struct fake_unpack_rules rules;
	uint64_t left;
	const atomic_bool *stop;
	/* Where we are, deepest first, and the place it is in. */
	struct folder *folder;
	int root_fd;
	/* Path of the deepest one below the place. */
	struct sp_buf path;
};

int fake_unpack_open(int fd, const struct fake_unpack_rules *rules, uint64_t limit,
		     const atomic_bool *stop, struct fake_unpack **ret_unpack)
{
	struct fake_unpack *unpack = calloc(1, sizeof(*unpack));
	int rc = 0;

	if (!unpack)
		return -ENOMEM;
	unpack->rules = *rules;
	unpack->left = limit;
	unpack->stop = stop;
	unpack->root_fd = -1;
	unpack->path.ceiling = PATH_CEILING;
	unpack->archive = archive_read_new();
	if (!unpack->archive)
		rc = -ENOMEM;
	else if (archive_read_support_format_tar(unpack->archive) != ARCHIVE_OK ||
		 archive_read_support_format_empty(unpack->archive) != ARCHIVE_OK ||
		 (rules->compressed &&
		  archive_read_support_filter_gzip(unpack->archive) < ARCHIVE_WARN))
		rc = -ENOMEM;
	else if (archive_read_open_fd(unpack->archive, fd, BLOCK) != ARCHIVE_OK)
		rc = -EBADMSG;
	if (rc) {
		fake_unpack_free(unpack);
		return rc;
	}
	*ret_unpack = unpack;
	return 0;
}

/*
 * Texts of an entry as bytes. The library gives them so where the archive says that they are bytes;
 * where it says that they are UTF-8 it would convert them to the locale, which a server has none
 * of.
 */
static const char *bytes_of(const char *bytes, const char *utf8)
{
	return bytes ? bytes : utf8;
}

static const char *name_of(const struct fake_unpack *unpack)
{
	return bytes_of(archive_entry_pathname(unpack->entry),
			archive_entry_pathname_utf8(unpack->entry));
}

static const char *hardlink_of(const struct fake_unpack *unpack)
{
	return bytes_of(archive_entry_hardlink(unpack->entry),
			archive_entry_hardlink_utf8(unpack->entry));
}

static const char *symlink_of(const struct fake_unpack *unpack)
{
	return bytes_of(archive_entry_symlink(unpack->entry),
			archive_entry_symlink_utf8(unpack->entry));
}

/* ---- folders on the way ---- */

/* Leaves the deepest folder. */
static int leave(struct fake_unpack *unpack)
{
	struct folder *folder = unpack->folder;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, folder->mtime };
	int rc = 0;

	if (folder->finish && (fchmod(folder->fd, folder->mode) || futimens(folder->fd, times)))
		rc = -errno;
	unpack->folder = folder->up;
	if (folder->up) {
		unpack->path.len = folder->up->len;
		unpack->path.data[unpack->path.len] = '\0';
	}
	sp_close(folder->fd);
	free(folder);
	return rc;
}

static int leave_all(struct fake_unpack *unpack)
{
	int rc = 0;

	while (unpack->folder) {
		int error = leave(unpack);

		rc = rc ? rc : error;
	}
	return rc;
}

/* Goes into the folder `part` of where we are; `fd` is taken. */
static int enter(struct fake_unpack *unpack, int fd, const char *part, size_t len)
{
	struct folder *folder = calloc(1, sizeof(*folder));
	int rc = folder ? 0 : -ENOMEM;

	if (unpack->folder && unpack->folder->up)
		rc = rc ? rc : sp_buf_addc(&unpack->path, '/');
	rc = rc ? rc : sp_buf_add(&unpack->path, part, len);
	if (rc) {
		free(folder);
		sp_close(fd);
		return rc;
	}
	folder->fd = fd;
	folder->len = unpack->path.len;
	folder->up = unpack->folder;
	unpack->folder = folder;
	return 0;
}

static int enter_root(struct fake_unpack *unpack, int root_fd)
{
	int rc = leave_all(unpack);
	int fd;

	if (rc)
		return rc;
	fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unpack->root_fd = root_fd;
	sp_buf_clear(&unpack->path);
	return enter(unpack, fd, "", 0);
}

/* One component of a name: no name that leads elsewhere. */
static bool is_good_part(const char *part, size_t len)
{
	return len && len <= NAME_MAX && !(len == 1 && part[0] == '.') &&
	       !(len == 2 && part[0] == '.' && part[1] == '.');
}

/* Opens the folder `part` of a folder, never through a link. -errno. */
static int open_part(int dir_fd, const char *part, size_t len)
{
	char name[NAME_MAX + 1];
	int fd;

	if (!is_good_part(part, len))
		return -EPERM;
	memcpy(name, part, len);
	name[len] = '\0';
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	/* A file or a link stands where the archive has a folder. */
	return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
}

/* Captures name every folder before what is in it; others leave them to us. */
static int open_or_make(struct fake_unpack *unpack, const char *part, size_t len)
{
	char *name SP_FREE = NULL;
	int fd = open_part(unpack->folder->fd, part, len);

	if (fd != -ENOENT)
		return fd;
	if (unpack->rules.whole)
		return -EBADMSG;
	name = strndup(part, len);
	if (!name || (mkdirat(unpack->folder->fd, name, 0755) && errno != EEXIST))
		return name ? -errno : -ENOMEM;
	return open_part(unpack->folder->fd, part, len);
}

/*
 * Leaves all folders that are not on the way to `path`; what is left of it
 * from the last one. 0 or -errno.
 */
static int go_up(struct fake_unpack *unpack, const char *path, const char **ret_rest)
{
	const char *here = sp_buf_str(&unpack->path);
	size_t same = 0;
	int rc = 0;

	while (path[same] && path[same] == here[same])
		same++;
	while (!rc && unpack->folder->up &&
	       (unpack->folder->len > same || path[unpack->folder->len] != '/'))
		rc = leave(unpack);
	*ret_rest = path + unpack->folder->len + (unpack->folder->up ? 1 : 0);
	return rc;
}

/* Is in the folder of `path` afterwards; `*ret_leaf` is the last component. */
static int go_to(struct fake_unpack *unpack, const char *path, const char **ret_leaf)
{
	const char *slash;
	int rc = go_up(unpack, path, &path);

	while (!rc && (slash = strchr(path, '/'))) {
		int fd = open_or_make(unpack, path, (size_t)(slash - path));

		rc = fd < 0 ? fd : enter(unpack, fd, path, (size_t)(slash - path));
		path = slash + 1;
	}
	if (!rc && !is_good_part(path, strlen(path)))
		rc = -EPERM;
	*ret_leaf = path;
	return rc;
}

/* ---- what an entry gets besides its content ---- */

static bool may_set(const struct fake_unpack *unpack, const char *name)
{
	static const char *const privileged[] = {
		"trusted.overlay.opaque",  "user.overlay.opaque",      "security.capability",
		"system.posix_acl_access", "system.posix_acl_default",
	};

	if (unpack->rules.privileged)
		for (size_t i = 0; i < SP_COUNT(privileged); i++)
			if (!strcmp(name, privileged[i]))
				return true;
	return !strncmp(name, "user.", 5) && strncmp(name, "user.overlay.", 13);
}

static int set_xattrs(const struct fake_unpack *unpack, int fd)
{
	const char *name;
	const void *value;
	size_t len;

	if (!unpack->rules.whole || !archive_entry_xattr_reset(unpack->entry))
		return 0;
	while (archive_entry_xattr_next(unpack->entry, &name, &value, &len) == ARCHIVE_OK) {
		if (!name || !may_set(unpack, name))
			continue;
		/* A file system without attributes never gave any. */
		if (fsetxattr(fd, name, value, len, 0) && errno != EOPNOTSUPP)
			return -errno;
	}
	return 0;
}

static int set_owner(const struct fake_unpack *unpack, int dir_fd, const char *name)
{
	uid_t uid = (uid_t)archive_entry_uid(unpack->entry);
	gid_t gid = (gid_t)archive_entry_gid(unpack->entry);

	if (!unpack->rules.whole || geteuid() || (uid == geteuid() && gid == getegid()))
		return 0;
	return fchownat(dir_fd, name, uid, gid, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) ? -errno : 0;
}

static struct timespec mtime_of(const struct fake_unpack *unpack)
{
	if (!archive_entry_mtime_is_set(unpack->entry))
		return (struct timespec){ .tv_nsec = UTIME_OMIT };
	return (struct timespec){ archive_entry_mtime(unpack->entry),
				  archive_entry_mtime_nsec(unpack->entry) };
}

/* Of what is neither file nor folder. */
static int finish_node(const struct fake_unpack *unpack, const char *name, bool link)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, mtime_of(unpack) };
	int dir_fd = unpack->folder->fd;
	int rc = set_owner(unpack, dir_fd, name);

	if (!rc && !link &&
	    fchmodat(dir_fd, name, archive_entry_perm(unpack->entry) & 07777, 0))
		rc = -errno;
	if (!rc && utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW))
		rc = -errno;
	return rc;
}

/* ---- entries ---- */

/* Runs `make` again after what stands in its way was removed. A folder stays. */
#define REPLACING(unpack, leaf, make)                                                              \
	({                                                                                         \
		int made_ = (make);                                                                \
		if (made_ < 0 && errno == EEXIST && !unlinkat((unpack)->folder->fd, (leaf), 0))    \
			made_ = (make);                                                            \
		made_ < 0 ? -errno : made_;                                                        \
	})

static int write_block(struct fake_unpack *unpack, int fd, const char *data, size_t len,
		       int64_t offset)
{
	if (len > unpack->left)
		return -ENOSPC;
	unpack->left -= len;
	while (len) {
		ssize_t n = pwrite(fd, data, len, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
		offset += n;
	}
	return 0;
}

static int write_content(struct fake_unpack *unpack, int fd)
{
	int64_t size = archive_entry_size(unpack->entry);
	const void *data;
	int64_t offset;
	size_t len;
	int rc;

	for (;;) {
		rc = archive_read_data_block(unpack->archive, &data, &len, &offset);
		if (rc != ARCHIVE_OK)
			break;
		if (atomic_load_explicit(unpack->stop, memory_order_relaxed))
			return -ECANCELED;
		rc = write_block(unpack, fd, data, len, offset);
		if (rc)
			return rc;
	}
	if (rc != ARCHIVE_EOF || size < 0)
		return -EBADMSG;
	/* A hole at the end. */
	return archive_entry_sparse_count(unpack->entry) && ftruncate(fd, size) ? -errno : 0;
}

static int make_file(struct fake_unpack *unpack, const char *leaf)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, mtime_of(unpack) };
	int fd SP_CLOSE =
		REPLACING(unpack, leaf,
			  openat(unpack->folder->fd, leaf,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	int rc = fd < 0 ? fd : write_content(unpack, fd);

	/* In this order: a new owner takes special bits and capabilities away. */
	if (!rc)
		rc = set_owner(unpack, fd, "");
	if (!rc && fchmod(fd, archive_entry_perm(unpack->entry) & 07777))
		rc = -errno;
	if (!rc)
		rc = set_xattrs(unpack, fd);
	if (!rc && futimens(fd, times))
		rc = -errno;
	return rc;
}

/* Goes into the folder as well: its content comes next. */
static int make_folder(struct fake_unpack *unpack, const char *leaf)
{
	int rc = 0, fd;

	if (*leaf) {
		if (mkdirat(unpack->folder->fd, leaf, 0700) && errno != EEXIST)
			return -errno;
		fd = open_part(unpack->folder->fd, leaf, strlen(leaf));
		rc = fd < 0 ? fd : enter(unpack, fd, leaf, strlen(leaf));
	}
	if (rc)
		return rc;
	rc = set_owner(unpack, unpack->folder->fd, "");
	if (!rc)
		rc = set_xattrs(unpack, unpack->folder->fd);
	unpack->folder->finish = true;
	unpack->folder->mode = archive_entry_perm(unpack->entry) & 07777;
	unpack->folder->mtime = mtime_of(unpack);
	return rc;
}

static int make_symlink(struct fake_unpack *unpack, const char *leaf)
{
	const char *target = symlink_of(unpack);
	int rc;

	if (!target || !*target)
		return -EBADMSG;
	rc = REPLACING(unpack, leaf, symlinkat(target, unpack->folder->fd, leaf));
	return rc ? rc : finish_node(unpack, leaf, true);
}

/* Another name for what was extracted before, in the same place. */
static int make_hardlink(struct fake_unpack *unpack, const char *leaf, fake_place_fn place,
			 void *arg)
{
	const char *part, *slash;
	int root_fd = -1, rc = 0;
	int fd SP_CLOSE = -1;

	if (place(arg, hardlink_of(unpack), &root_fd, &part) != FAKE_PLACE_HERE ||
	    root_fd != unpack->root_fd)
		return -EPERM;
	fd = openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (; !rc && (slash = strchr(part, '/')); part = slash + 1) {
		int next = open_part(fd, part, (size_t)(slash - part));

		sp_close(fd);
		fd = next < 0 ? -1 : next;
		rc = next < 0 ? next : 0;
	}
	if (!rc && !is_good_part(part, strlen(part)))
		rc = -EPERM;
	if (!rc)
		rc = REPLACING(unpack, leaf, linkat(fd, part, unpack->folder->fd, leaf, 0));
	/* A name for what was never extracted is the archive's fault. */
	return rc == -ENOENT ? -EBADMSG : rc;
}

static bool is_socket(const struct fake_unpack *unpack)
{
	const char *name;
	const void *value;
	size_t len;

	archive_entry_xattr_reset(unpack->entry);
	while (archive_entry_xattr_next(unpack->entry, &name, &value, &len) == ARCHIVE_OK)
		if (name && !strcmp(name, ARCHIVE_SOCKET))
			return true;
	return false;
}

static int make_node(struct fake_unpack *unpack, const char *leaf, mode_t type)
{
	int rc;

	if (!unpack->rules.whole)
		return 0;
	if (type == S_IFCHR && archive_entry_rdev(unpack->entry) != makedev(0, 0))
		return -EPERM;
	if (type == S_IFIFO && is_socket(unpack))
		type = S_IFSOCK;
	rc = REPLACING(unpack, leaf, mknodat(unpack->folder->fd, leaf, type | 0600, makedev(0, 0)));
	/* A whiteout has nothing of its own, and may be one inode with others. */
	return rc || type == S_IFCHR ? rc : finish_node(unpack, leaf, false);
}

static int make_entry(struct fake_unpack *unpack, const char *leaf, fake_place_fn place, void *arg)
{
	if (hardlink_of(unpack))
		return make_hardlink(unpack, leaf, place, arg);
	switch (archive_entry_filetype(unpack->entry)) {
	case AE_IFREG:
		return make_file(unpack, leaf);
	case AE_IFDIR:
		return make_folder(unpack, leaf);
	case AE_IFLNK:
		return make_symlink(unpack, leaf);
	case AE_IFIFO:
		return make_node(unpack, leaf, S_IFIFO);
	case AE_IFCHR:
		return make_node(unpack, leaf, S_IFCHR);
	default:
		return unpack->rules.whole ? -EPERM : 0;
	}
}

/* Puts one entry below `root_fd`; `path` is changed. */
static int put(struct fake_unpack *unpack, int root_fd, char *path, fake_place_fn place, void *arg)
{
	size_t len = strlen(path);
	const char *leaf = "";
	int rc = 0;

	/* Folders may be named with a slash at their end. */
	if (len && path[len - 1] == '/')
		path[len - 1] = '\0';
	if (unpack->root_fd != root_fd)
		rc = enter_root(unpack, root_fd);
	if (!*path) {
		while (!rc && unpack->folder->up)
			rc = leave(unpack);
		if (rc || archive_entry_filetype(unpack->entry) != AE_IFDIR)
			return rc ? rc : -EPERM;
		return make_folder(unpack, "");
	}
	rc = rc ? rc : go_to(unpack, path, &leaf);
	return rc ? rc : make_entry(unpack, leaf, place, arg);
}

/* The next entry: 0, 1 at the end, -errno. */
static int next_entry(struct fake_unpack *unpack)
{
	int rc;

	if (unpack->pending) {
		unpack->pending = false;
		return 0;
	}
	if (atomic_load_explicit(unpack->stop, memory_order_relaxed))
		return -ECANCELED;
	rc = archive_read_next_header(unpack->archive, &unpack->entry);
	if (rc == ARCHIVE_EOF)
		return 1;
	/* A name that the library cannot give as bytes is none of ours. */
	if (rc < ARCHIVE_WARN || !name_of(unpack))
		return -EBADMSG;
	if (unpack->left < ENTRY_BYTES)
		return -ENOSPC;
	unpack->left -= ENTRY_BYTES;
	return 0;
}

int fake_unpack_run(struct fake_unpack *unpack, fake_place_fn place, void *arg)
{
	int rc;

	while (!(rc = next_entry(unpack))) {
		char *name SP_FREE = strdup(name_of(unpack));
		const char *rest = "";
		int root_fd = -1;

		if (!name)
			return -ENOMEM;
		switch (place(arg, name, &root_fd, &rest)) {
		case FAKE_PLACE_HERE:
			rc = put(unpack, root_fd, name + (rest - name), place, arg);
			break;
		case FAKE_PLACE_SKIP:
			break;
		case FAKE_PLACE_LATER:
			unpack->pending = true;
			break;
		case FAKE_PLACE_REFUSE:
			rc = -EPERM;
			break;
		}
		if (rc || unpack->pending)
			break;
	}
	unpack->root_fd = -1;
	if (rc < 0)
		return rc;
	/* Modes and times of the folders that we are still in. */
	int left = leave_all(unpack);

	return left ? left : rc;
}

int fake_unpack_bytes(struct fake_unpack *unpack, const char *name, char *data, size_t max)
{
	int rc = next_entry(unpack);
	la_ssize_t n;

	if (rc || strcmp(name_of(unpack), name))
		return rc < 0 ? rc : -EBADMSG;
	if (archive_entry_size(unpack->entry) < 0 ||
	    (uint64_t)archive_entry_size(unpack->entry) >= max)
		return -EBADMSG;
	n = archive_read_data(unpack->archive, data, max - 1);
	if (n < 0)
		return -EBADMSG;
	data[n] = '\0';
	return 0;
}

void fake_unpack_free(struct fake_unpack *unpack)
{
	leave_all(unpack);
	if (unpack->archive)
		archive_read_free(unpack->archive);
	sp_buf_done(&unpack->path);
	free(unpack);
}
