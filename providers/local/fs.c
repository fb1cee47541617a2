/* SPDX-License-Identifier: MIT */
/*
 * Files of a sandbox. Every path is resolved by the kernel below the root and
 * cannot leave it, whatever links a command put there meanwhile: openat2 with
 * RESOLVE_BENEATH, then only descriptors.
 */
#include <providers/local/internal.h>

#include <base/files.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Largest file that is read whole. */
#define READ_MAX ((size_t)1 << 30)

/* ---- Paths ---- */

/* A path in the sandbox: below an open root, with its last component apart. */
struct place {
	int root;
	/* Relative to root, "workspace/a/b"; never empty. */
	char *path;
};

#define PLACE_INIT                                                                                 \
	{                                                                                          \
		-1, NULL                                                                           \
	}

static void place_done(struct place *place)
{
	place->root = sp_close(place->root);
	free(place->path);
	place->path = NULL;
}

static int fs_error(struct sp_error *err, int error, const char *verb, const char *path)
{
	static const struct {
		int error;
		enum sp_code code;
		const char *why;
	} known[] = {
	    {ENOENT, SP_NOT_FOUND, "it does not exist"},
	    {EXDEV, SP_DENIED, "it leads out of the sandbox"},
	    {EACCES, SP_DENIED, "no right to"},
	    {EPERM, SP_DENIED, "no right to"},
	    {EISDIR, SP_CONFLICT, "it is a folder"},
	    {ENOTDIR, SP_CONFLICT, "something on the way is not a folder"},
	    {EEXIST, SP_CONFLICT, "something is in the way"},
	    {ENOTEMPTY, SP_CONFLICT, "a folder with files is in the way"},
	    {ELOOP, SP_CONFLICT, "its links lead round in a circle"},
	    {ENXIO, SP_CONFLICT, "it is not a regular file"},
	    {ENAMETOOLONG, SP_INVALID, "its name is too long"},
	    {EINVAL, SP_INVALID, "that cannot be done with such a path"},
	};

	for (size_t i = 0; i < SP_COUNT(known); i++) {
		if (known[i].error != error)
			continue;
		int rc = sp_error_set(err, known[i].code, "cannot %s %.256s: %s", verb, path,
				      known[i].why);
		if (err)
			err->sys_errno = error;
		return rc;
	}
	return sp_error_set_errno(err, error, "cannot %s %.256s", verb, path);
}

/* What follows `prefix` in a path below it ("" for the folder itself), or NULL. */
static const char *below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(path, prefix, len) || (path[len] != '\0' && path[len] != '/'))
		return NULL;
	return path + len;
}

/* Where a caller's path lies, seen from the root. */
static int map_path(const struct local_sandbox *sandbox, const char *path, char **ret_mapped,
		    struct sp_error *err)
{
	const char *rest;
	int n;

	if (!path || *path == '\0')
		return sp_error_set(err, SP_INVALID, "an empty path names nothing");
	if ((rest = below(path, "/workspace")))
		n = asprintf(ret_mapped, "workspace%s", rest);
	else if ((rest = below(path, sandbox->root)))
		n = asprintf(ret_mapped, ".%s", rest);
	else if (*path == '/')
		return sp_error_set(
		    err, SP_DENIED,
		    "%.256s is outside of the sandbox; its files are below /workspace "
		    "or %s",
		    path, sandbox->root);
	else
		n = asprintf(ret_mapped, "workspace/%s", path);
	return n < 0 ? sp_error_set(err, SP_INTERNAL, "no memory for a path") : 0;
}

/* Opens the root and maps the path; SP_GONE when the sandbox is no longer there. */
static int place_open(struct local_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		      struct place *place, struct sp_error *err)
{
	int rc = sp_cancel_check(cancel, err);

	if (rc == 0)
		rc = map_path(sandbox, path, &place->path, err);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&sandbox->lock);
	bool gone = sandbox->gone;
	pthread_mutex_unlock(&sandbox->lock);
	place->root =
	    gone ? -1 : open(sandbox->root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place->root >= 0)
		return 0;
	if (gone || errno == ENOENT)
		return sp_error_set(err, SP_GONE, "sandbox %s is gone", sandbox->id);
	return sp_error_set_errno(err, errno, "cannot open %s", sandbox->root);
}

static int open_beneath(int root, const char *path, uint64_t flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = {
	    .flags = flags | O_CLOEXEC,
	    .mode = flags & O_CREAT ? mode : 0,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* The absolute path of an open descriptor; 0 or -errno. */
static int path_of(int fd, char *buffer, size_t size)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, buffer, size - 1);
	if (n < 0)
		return -errno;
	buffer[n] = '\0';
	return 0;
}

/*
 * An absolute link is refused by RESOLVE_BENEATH wherever it leads. One that
 * leads back into the root is a fair one: its target is found without opening
 * it, and opened again from the root with no link on the way.
 */
static int open_through_absolute_link(int root, const char *path, uint64_t flags)
{
	char root_path[PATH_MAX], target[PATH_MAX];
	int probe SP_CLOSE = openat(root, path, O_PATH | O_CLOEXEC);
	if (probe < 0)
		return errno == ENOENT ? -EXDEV : -errno;
	int rc = path_of(root, root_path, sizeof(root_path));
	if (rc == 0)
		rc = path_of(probe, target, sizeof(target));
	if (rc < 0)
		return rc;
	const char *rest = below(target, root_path);
	if (!rest)
		return -EXDEV;
	return open_beneath(root, *rest ? rest + 1 : ".", flags, 0, RESOLVE_NO_SYMLINKS);
}

/* Opens an existing path inside the root; a descriptor or -errno (EXDEV: it leads out). */
static int open_inside(int root, const char *path, uint64_t flags)
{
	int fd = open_beneath(root, path, flags, 0, 0);

	return fd == -EXDEV ? open_through_absolute_link(root, path, flags) : fd;
}

/* Cuts the last component off: "." and ".." and the root have none. NULL when there is none. */
static char *cut_last(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	char *slash = strrchr(path, '/');
	char *name = slash ? slash + 1 : path;
	if (!slash || !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, ""))
		return NULL;
	*slash = '\0';
	return name;
}

/* Makes the folders of a path below the root, one by one; 0 or -errno. */
static int make_folders(int root, const char *path)
{
	char *copy SP_FREE = strdup(path);
	int rc = copy ? 0 : -ENOMEM;

	for (char *at = copy; rc == 0 && at && *at;) {
		at += strcspn(at, "/");
		char saved = *at;
		*at = '\0';
		int fd SP_CLOSE = open_inside(root, copy, O_PATH | O_DIRECTORY);
		if (fd == -ENOENT) {
			char *parent SP_FREE = strdup(copy);
			char *name = parent ? cut_last(parent) : NULL;
			int dir SP_CLOSE =
			    name ? open_inside(root, parent, O_PATH | O_DIRECTORY) : -ENOENT;
			rc = dir < 0					       ? dir
			     : mkdirat(dir, name, 0755) < 0 && errno != EEXIST ? -errno
									       : 0;
		} else if (fd < 0) {
			rc = fd;
		}
		*at = saved;
		at += strspn(at, "/");
	}
	return rc;
}

/* Opens the folder that holds a path's last component; `*ret_name` points into place->path. A
 * descriptor or -errno. */
static int open_parent(struct place *place, bool make, const char **ret_name)
{
	char *name = cut_last(place->path);

	if (!name)
		return -EINVAL;
	*ret_name = name;
	int dir = open_inside(place->root, place->path, O_PATH | O_DIRECTORY);
	if (dir != -ENOENT || !make)
		return dir;
	int rc = make_folders(place->root, place->path);
	return rc < 0 ? rc : open_inside(place->root, place->path, O_PATH | O_DIRECTORY);
}

/* ---- Reading and writing ---- */

static int read_whole(int fd, const char *path, struct sp_cancel *cancel,
		      struct sp_bytes *ret_bytes, struct sp_error *err)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(READ_MAX);

	for (;;) {
		int rc = sp_cancel_check(cancel, err);
		if (rc < 0)
			return rc;
		char *room = sp_buf_reserve(&buf, 64 * 1024);
		if (!room)
			return sp_error_set(err, SP_INTERNAL, "%.256s is too large to read whole",
					    path);
		ssize_t n = read(fd, room, 64 * 1024);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fs_error(err, errno, "read", path);
		if (n == 0)
			break;
		buf.len += (size_t)n;
	}
	return sp_buf_take_bytes(&buf, ret_bytes) < 0
		   ? sp_error_set(err, SP_INTERNAL, "no memory for %.256s", path)
		   : 0;
}

int local_fs_read(void *self, const char *path, struct sp_bytes *ret_bytes,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	struct place place SP_CLEANUP(place_done) = PLACE_INIT;
	struct stat st;
	int rc = place_open(self, path, cancel, &place, err);

	if (rc < 0)
		return rc;
	/* Without O_NONBLOCK a FIFO would wait for its writer. */
	int fd SP_CLOSE = open_inside(place.root, place.path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return fs_error(err, -fd, "read", path);
	if (fstat(fd, &st) < 0)
		return fs_error(err, errno, "read", path);
	if (!S_ISREG(st.st_mode))
		return fs_error(err, S_ISDIR(st.st_mode) ? EISDIR : ENXIO, "read", path);
	return read_whole(fd, path, cancel, ret_bytes, err);
}

/* A link's target is what is replaced, not the link. Changes place->path to the target's; a new
 * file is left as it is. */
static int follow_target(struct place *place, mode_t *ret_mode)
{
	char root_path[PATH_MAX], target[PATH_MAX];
	struct stat st;
	int fd SP_CLOSE = open_inside(place->root, place->path, O_PATH);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	*ret_mode = st.st_mode & 07777;
	int rc = path_of(place->root, root_path, sizeof(root_path));
	if (rc == 0)
		rc = path_of(fd, target, sizeof(target));
	const char *rest = rc == 0 ? below(target, root_path) : NULL;
	if (!rest || !*rest)
		return rc < 0 ? rc : -EXDEV;
	free(place->path);
	/* "./" gives a path of one component a folder to be cut from. */
	return asprintf(&place->path, ".%s", rest) < 0 ? -ENOMEM : 0;
}

/* Writes beside the target and renames, so that readers see the old or the new content. */
static int replace_in(int dir, const char *name, const void *data, size_t len, mode_t mode)
{
	char temporary[64] = ".sandproof-";
	size_t prefix = strlen(temporary);

	sp_random_id(temporary + prefix, 16);
	int fd SP_CLOSE =
	    openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int rc = sp_write_all(fd, data, len);
	if (rc == 0 && fchmod(fd, mode) < 0)
		rc = -errno;
	if (rc == 0 && renameat(dir, temporary, dir, name) < 0)
		rc = -errno;
	if (rc < 0)
		unlinkat(dir, temporary, 0);
	return rc;
}

int local_fs_write(void *self, const char *path, const void *data, size_t len,
		   struct sp_cancel *cancel, struct sp_error *err)
{
	struct place place SP_CLEANUP(place_done) = PLACE_INIT;
	const char *name = NULL;
	mode_t mode = 0644;
	int rc = place_open(self, path, cancel, &place, err);

	if (rc < 0)
		return rc;
	if (path[strlen(path) - 1] == '/')
		return fs_error(err, EISDIR, "write", path);
	rc = follow_target(&place, &mode);
	if (rc < 0)
		return fs_error(err, -rc, "write", path);
	int dir SP_CLOSE = open_parent(&place, true, &name);
	rc = dir < 0 ? dir : replace_in(dir, name, data, len, mode);
	return rc < 0 ? fs_error(err, -rc, "write", path) : 0;
}

/* ---- Folders ---- */

static enum sp_file_type type_of(mode_t mode)
{
	if (S_ISREG(mode))
		return SP_FILE;
	if (S_ISDIR(mode))
		return SP_DIR;
	return S_ISLNK(mode) ? SP_SYMLINK : SP_OTHER;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sp_dir_entry *)a)->name,
		      ((const struct sp_dir_entry *)b)->name);
}

/* The caller's own form of an entry's path, absolute. */
static char *entry_path(const char *folder, const char *name)
{
	size_t len = strlen(folder);
	char *path = NULL;

	while (len > 1 && folder[len - 1] == '/')
		len--;
	if (!strcmp(folder, "."))
		len = 0;
	if (asprintf(&path, "%s%.*s%s%s", *folder == '/' ? "" : "/workspace/", (int)len, folder,
		     len > 0 ? "/" : "", name) < 0)
		return NULL;
	return path;
}

/* 0 or -errno; an entry that vanished meanwhile is left out. */
static int add_entry(int dir, const char *folder, const char *name, struct sp_dir_list *list)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	struct sp_dir_entry *entries = reallocarray(list->entries, list->len + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	list->entries = entries;
	entries[list->len] =
	    (struct sp_dir_entry){strdup(name), entry_path(folder, name), type_of(st.st_mode)};
	list->len++;
	return entries[list->len - 1].name && entries[list->len - 1].path ? 0 : -ENOMEM;
}

/* Takes `fd` over; 0 or -errno. */
static int list_folder(int fd, const char *folder, struct sp_dir_list *list)
{
	DIR *dir = fdopendir(fd);
	int rc = 0;

	if (!dir) {
		rc = -errno;
		sp_close(fd);
		return rc;
	}
	while (rc == 0) {
		errno = 0;
		struct dirent *entry = readdir(dir);
		if (!entry) {
			rc = -errno;
			break;
		}
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			rc = add_entry(dirfd(dir), folder, entry->d_name, list);
	}
	closedir(dir);
	return rc;
}

int local_fs_list(void *self, const char *path, struct sp_dir_list *ret_list,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	struct place place SP_CLEANUP(place_done) = PLACE_INIT;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	int rc = place_open(self, path, cancel, &place, err);

	if (rc < 0)
		return rc;
	int fd = open_inside(place.root, place.path, O_RDONLY | O_DIRECTORY);
	rc = fd < 0 ? fd : list_folder(fd, path, &list);
	if (rc < 0)
		return fs_error(err, -rc, "list", path);
	if (list.len > 0)
		qsort(list.entries, list.len, sizeof(*list.entries), by_name);
	*ret_list = list;
	list = (struct sp_dir_list)SP_DIR_LIST_INIT;
	return 0;
}

int local_fs_mkdir(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	struct place place SP_CLEANUP(place_done) = PLACE_INIT;
	int rc = place_open(self, path, cancel, &place, err);

	if (rc < 0)
		return rc;
	rc = make_folders(place.root, place.path);
	return rc < 0 ? fs_error(err, -rc, "make the folder", path) : 0;
}

/* ---- Removing and renaming ---- */

/* The workspace itself belongs to the sandbox: no call removes or moves it. */
static int refuse_workspace(const struct place *place, const char *path, struct sp_error *err)
{
	char *copy SP_FREE = strdup(place->path);
	size_t len = copy ? strlen(copy) : 0;

	while (len > 0 && copy[len - 1] == '/')
		copy[--len] = '\0';
	if (copy &&
	    (!strcmp(copy, "workspace") || !strcmp(copy, "./workspace") || !strcmp(copy, ".")))
		return sp_error_set(err, SP_INVALID, "%.256s is the sandbox's own root", path);
	return 0;
}

int local_fs_remove(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	struct place place SP_CLEANUP(place_done) = PLACE_INIT;
	const char *name = NULL;
	int rc = place_open(self, path, cancel, &place, err);

	if (rc == 0)
		rc = refuse_workspace(&place, path, err);
	if (rc < 0)
		return rc;
	int dir SP_CLOSE = open_parent(&place, false, &name);
	if (dir == -ENOENT)
		return 0;
	rc = dir < 0 ? dir : sp_remove_tree_at(dir, name);
	return rc < 0 && rc != -ENOENT ? fs_error(err, -rc, "remove", path) : 0;
}

int local_fs_rename(void *self, const char *from, const char *to, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct place source SP_CLEANUP(place_done) = PLACE_INIT;
	struct place target SP_CLEANUP(place_done) = PLACE_INIT;
	const char *old = NULL, *new = NULL;
	int rc = place_open(self, from, cancel, &source, err);

	if (rc == 0)
		rc = place_open(self, to, cancel, &target, err);
	if (rc == 0)
		rc = refuse_workspace(&source, from, err);
	if (rc < 0)
		return rc;
	int from_dir SP_CLOSE = open_parent(&source, false, &old);
	if (from_dir < 0)
		return fs_error(err, -from_dir, "rename", from);
	int to_dir SP_CLOSE = open_parent(&target, false, &new);
	if (to_dir < 0)
		return fs_error(err, -to_dir, "rename to", to);
	if (renameat(from_dir, old, to_dir, new) < 0)
		return fs_error(err, errno, "rename", from);
	return 0;
}

/* ---- Looking ---- */

/* Looks at the entry itself; 0 or -errno. The root and the workspace are folders without a last
 * component. */
static int look(struct place *place, struct stat *ret_stat)
{
	const char *name = NULL;
	char *whole SP_FREE = strdup(place->path);
	int dir SP_CLOSE = open_parent(place, false, &name);

	if (dir == -EINVAL) {
		int fd SP_CLOSE = whole ? open_inside(place->root, whole, O_PATH) : -ENOMEM;
		if (fd < 0)
			return fd;
		return fstat(fd, ret_stat) < 0 ? -errno : 0;
	}
	if (dir < 0)
		return dir;
	return fstatat(dir, name, ret_stat, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

int local_fs_exists(void *self, const char *path, bool *ret_exists, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct place place SP_CLEANUP(place_done) = PLACE_INIT;
	struct stat st;
	int rc = place_open(self, path, cancel, &place, err);

	if (rc < 0)
		return rc;
	rc = look(&place, &st);
	if (rc < 0 && rc != -ENOENT)
		return fs_error(err, -rc, "look at", path);
	*ret_exists = rc == 0;
	return 0;
}

int local_fs_lstat(void *self, const char *path, struct sp_stat *ret_stat, struct sp_cancel *cancel,
		   struct sp_error *err)
{
	struct place place SP_CLEANUP(place_done) = PLACE_INIT;
	struct stat st;
	int rc = place_open(self, path, cancel, &place, err);

	if (rc < 0)
		return rc;
	rc = look(&place, &st);
	if (rc < 0)
		return fs_error(err, -rc, "look at", path);
	*ret_stat = (struct sp_stat){type_of(st.st_mode), st.st_mode,
				     S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0};
	return 0;
}
