/* SPDX-License-Identifier: MIT */
/*
 * Paths inside a sandbox, resolved by the kernel and never outside: with
 * namespaces its root is ours for the walk, so an absolute symlink leads where
 * it leads inside; in plain mode only the sandbox's two folders can be named, and a symlink out of
 * them is refused.
 */
#include <fakes/bash/internal.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

static int open_in(int dir_fd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = resolve | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir_fd, *path ? path : ".", &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* What follows the folder in an absolute path, or NULL when it is not below it. */
static const char *below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	if (strncmp(path, folder, len) || (path[len] && path[len] != '/'))
		return NULL;
	path += len;
	return path + strspn(path, "/");
}

static int resolve_plain(struct fake_sandbox *sandbox, const char *path, int flags)
{
	const char *rest;

	if (path[0] != '/')
		return open_in(sandbox->home_fd, path, flags, RESOLVE_BENEATH);
	rest = below(path, sandbox->home);
	if (rest)
		return open_in(sandbox->home_fd, rest, flags, RESOLVE_BENEATH);
	rest = below(path, sandbox->memory_dir);
	return rest ? open_in(sandbox->memory_fd, rest, flags, RESOLVE_BENEATH) : -EXDEV;
}

int fake_path_resolve(struct fake_sandbox *sandbox, const char *path, int flags)
{
	char *whole SP_FREE = NULL;

	if (sandbox->engine->mode == FAKE_PLAIN)
		return resolve_plain(sandbox, path, flags);
	if (path[0] != '/') {
		if (asprintf(&whole, "%s/%s", sandbox->home, path) < 0) {
			whole = NULL;
			return -ENOMEM;
		}
		path = whole;
	}
	return open_in(sandbox->root_fd, path, flags, RESOLVE_IN_ROOT);
}

int fake_path_error(struct sp_error *err, int rc, const char *path)
{
	if (rc == -ENOENT || rc == -ENOTDIR)
		return sp_error_set(err, SP_NOT_FOUND, "there is no %s", path);
	if (rc == -EXDEV)
		return sp_error_set(err, SP_DENIED, "%s is outside the sandbox's own folders",
				    path);
	if (rc == -ELOOP)
		return sp_error_set(err, SP_DENIED, "%s leads through a link that is not followed",
				    path);
	if (rc == -EACCES || rc == -EPERM || rc == -EROFS)
		return sp_error_set(err, SP_DENIED, "%s is refused: %s", path, strerror(-rc));
	if (rc == -EISDIR)
		return sp_error_set(err, SP_CONFLICT, "%s is a folder", path);
	if (rc == -ENAMETOOLONG)
		return sp_error_set(err, SP_INVALID, "the path is too long");
	return sp_error_set_errno(err, -rc, "cannot use %s", path);
}

/*
 * Opens for reading what `fd` names: only a file or a folder, since opening
 * anything else may do something.
 */
static int reopen(int fd, mode_t mode)
{
	char path[40];
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int real;

	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	real = open(path, flags);
	return real < 0 ? -errno : real;
}

int fake_path_open(struct fake_sandbox *sandbox, const char *path, enum fake_path_kind *ret_kind,
		   int *ret_fd, uint64_t *ret_size, struct sp_error *err)
{
	int fd SP_CLOSE = -1;
	struct stat st;
	int real;
	int rc = fake_sandbox_need(sandbox, true, err);

	if (rc)
		return rc;
	fd = fake_path_resolve(sandbox, path, O_PATH);
	if (fd < 0)
		return fake_path_error(err, fd, path);
	if (fstat(fd, &st))
		return fake_path_error(err, -errno, path);
	real = reopen(fd, st.st_mode);
	if (real < 0)
		return fake_path_error(err, real, path);
	*ret_kind = S_ISREG(st.st_mode) ? FAKE_PATH_FILE :
		    S_ISDIR(st.st_mode) ? FAKE_PATH_DIR :
					  FAKE_PATH_OTHER;
	*ret_size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	*ret_fd = real;
	return 0;
}

/* ---- listing ---- */

void fake_dir_free(struct fake_dir_entry *entries, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		free(entries[i].name);
		free(entries[i].target);
	}
	free(entries);
}

static unsigned char type_of(mode_t mode)
{
	return S_ISREG(mode)   ? DT_REG
	       : S_ISDIR(mode) ? DT_DIR
	       : S_ISLNK(mode) ? DT_LNK
			       : DT_UNKNOWN;
}

static char *read_link(int dir_fd, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (n < 0)
		n = 0;
	target[n] = '\0';
	return strdup(target);
}

/* Fills one entry; 1 when it went away meanwhile. */
static int describe(int dir_fd, const char *name, struct fake_dir_entry *ret)
{
	struct fake_dir_entry entry = { 0 };
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 1;
	entry.type = type_of(st.st_mode);
	entry.size = entry.type == DT_REG ? (uint64_t)st.st_size : 0;
	entry.mtime_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	entry.name = strdup(name);
	if (entry.type == DT_LNK)
		entry.target = read_link(dir_fd, name);
	if (!entry.name || (entry.type == DT_LNK && !entry.target)) {
		free(entry.name);
		free(entry.target);
		return -ENOMEM;
	}
	*ret = entry;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct fake_dir_entry *)a)->name,
		      ((const struct fake_dir_entry *)b)->name);
}

static int read_dir(DIR *dir, struct fake_dir_entry **entries, size_t *len)
{
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		struct fake_dir_entry *grown;
		int rc;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		grown = reallocarray(*entries, *len + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		*entries = grown;
		rc = describe(dirfd(dir), entry->d_name, &grown[*len]);
		if (rc < 0)
			return rc;
		*len += !rc;
	}
	if (*len)
		qsort(*entries, *len, sizeof(**entries), by_name);
	return 0;
}

int fake_dir_list(struct fake_sandbox *sandbox, const char *path,
		  struct fake_dir_entry **ret_entries, size_t *ret_len, struct sp_error *err)
{
	struct fake_dir_entry *entries = NULL;
	size_t len = 0;
	DIR *dir;
	int rc = fake_sandbox_need(sandbox, true, err);
	int fd;

	if (rc)
		return rc;
	fd = fake_path_resolve(sandbox, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fake_path_error(err, fd, path);
	dir = fdopendir(fd);
	if (!dir) {
		rc = fake_path_error(err, -errno, path);
		sp_close(fd);
		return rc;
	}
	rc = read_dir(dir, &entries, &len);
	closedir(dir);
	if (rc) {
		fake_dir_free(entries, len);
		return fake_path_error(err, rc, path);
	}
	*ret_entries = entries;
	*ret_len = len;
	return 0;
}

/* ---- uploads ---- */

static void upload_release(struct fake_upload *upload)
{
	if (upload->sandbox)
		LIST_REMOVE(upload, link);
	sp_close(upload->fd);
	sp_close(upload->dir_fd);
	free(upload->name);
	free(upload);
}

void fake_uploads_detach(struct fake_sandbox *sandbox)
{
	struct fake_upload *upload;

	while ((upload = LIST_FIRST(&sandbox->uploads))) {
		LIST_REMOVE(upload, link);
		upload->sandbox = NULL;
		/* One that is being put in place right now is the pool's: it closes its own. */
		if (upload->done)
			continue;
		upload->fd = sp_close(upload->fd);
		upload->dir_fd = sp_close(upload->dir_fd);
	}
}

/* Splits "folder/name"; SP_INVALID when there is no name to write to. */
static int split(const char *path, char **ret_folder, char **ret_name, struct sp_error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return sp_error_set(err, SP_CONFLICT, "%s is a folder", path);
	*ret_folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) :
			      strdup(".");
	*ret_name = strdup(name);
	return *ret_folder && *ret_name ? 0
					: sp_error_set(err, SP_INTERNAL, "no memory for a path");
}

/* The folder, the target's kind, and a new file beside it. */
static int open_beside(struct fake_sandbox *sandbox, struct fake_upload *upload, const char *folder)
{
	struct stat st;

	upload->dir_fd = fake_path_resolve(sandbox, folder, O_RDONLY | O_DIRECTORY);
	if (upload->dir_fd < 0)
		return upload->dir_fd;
	if (!fstatat(upload->dir_fd, upload->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (strlen(upload->name) > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(upload->temporary, ".upload-", 8);
	sp_random_id(upload->temporary + 8, 20);
	upload->fd = openat(upload->dir_fd, upload->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* The mode of openat() has passed through our umask. */
	return upload->fd < 0 || fchmod(upload->fd, 0600) ? -errno : 0;
}

int fake_upload_open(struct fake_sandbox *sandbox, const char *path,
		     struct fake_upload **ret_upload, struct sp_error *err)
{
	char *folder SP_FREE = NULL;
	struct fake_upload *upload;
	int rc = fake_sandbox_need(sandbox, true, err);

	if (rc)
		return rc;
	upload = calloc(1, sizeof(*upload));
	if (!upload)
		return sp_error_set(err, SP_INTERNAL, "no memory for an upload");
	upload->engine = sandbox->engine;
	upload->dir_fd = -1;
	upload->fd = -1;
	rc = split(path, &folder, &upload->name, err);
	if (!rc) {
		rc = open_beside(sandbox, upload, folder);
		rc = rc ? fake_path_error(err, rc, path) : 0;
	}
	if (rc) {
		fake_upload_abort(upload);
		return rc;
	}
	upload->sandbox = sandbox;
	LIST_INSERT_HEAD(&sandbox->uploads, upload, link);
	*ret_upload = upload;
	return 0;
}

int fake_upload_write(struct fake_upload *upload, const void *data, size_t len,
		      struct sp_error *err)
{
	int rc;

	if (!upload->sandbox)
		return sp_error_set(err, SP_CONFLICT, "the sandbox has ended");
	rc = sp_write_all(upload->fd, data, len);
	return rc ? sp_error_set_errno(err, -rc, "cannot write %s", upload->name) : 0;
}

/* Closing may take as long as writing: both it and the renaming are the pool's. */
static void run_finish(struct fake_job *job)
{
	struct fake_upload *upload = FAKE_CONTAINER(job, struct fake_upload, job);
	int fd = SP_TAKE_FD(upload->fd);

	if (close(fd) ||
	    renameat(upload->dir_fd, upload->temporary, upload->dir_fd, upload->name)) {
		upload->error = -errno;
		unlinkat(upload->dir_fd, upload->temporary, 0);
	}
	upload->dir_fd = sp_close(upload->dir_fd);
}

static void finish_done(struct fake_job *job)
{
	struct fake_upload *upload = FAKE_CONTAINER(job, struct fake_upload, job);
	struct sp_error error = SP_ERROR_INIT;

	if (!upload->sandbox)
		sp_error_set(&error, SP_CONFLICT, "the sandbox has ended");
	else if (upload->error)
		fake_path_error(&error, upload->error, upload->name);
	upload->engine->n_finishing--;
	upload->done(upload->arg, error.code, error.code ? &error : NULL);
	upload_release(upload);
}

void fake_upload_finish(struct fake_upload *upload, fake_done_fn done, void *arg)
{
	upload->done = done;
	upload->arg = arg;
	upload->job = (struct fake_job){ .run = run_finish, .done = finish_done };
	upload->engine->n_finishing++;
	if (upload->sandbox)
		fake_pool_submit(upload->engine->pool, &upload->job);
	else
		fake_pool_post(upload->engine->pool, &upload->job);
}

void fake_upload_abort(struct fake_upload *upload)
{
	if (upload->fd >= 0)
		unlinkat(upload->dir_fd, upload->temporary, 0);
	upload_release(upload);
}
