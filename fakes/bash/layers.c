/* SPDX-License-Identifier: MIT */
/*
 * The root of a sandbox, planned once. As root it is one overlay over the
 * host's / (and one more for each file system mounted right below it). An
 * ordinary user may not put an overlay on / itself, because it holds mounts
 * that a user namespace cannot take apart; there each top-level folder gets
 * an overlay, and one that holds such mounts is rebuilt entry by entry.
 */
#include <fakes/bash/internal.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

/* Folders that hold mounts are rebuilt down to this level; what lies deeper is empty. */
#define REBUILD_DEPTH 3
#define MAX_LAYERS 1024

/* Folders that every sandbox has of its own, empty at first. */
static const struct own_folder {
	const char *path;
	mode_t mode;
} own_folders[] = {
	{ "dev", 0755 },  { "proc", 0555 }, { "sys", 0555 },
	{ "tmp", 01777 }, { "root", 0700 }, { "run", 0755 },
};

static bool is_own_folder(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(own_folders); i++)
		if (!strcmp(own_folders[i].path, name))
			return true;
	return false;
}

static void layer_done(struct fake_layer *layer)
{
	free(layer->path);
	free(layer->point);
	free(layer->lower);
	free(layer->target);
	free(layer->options);
}

void fake_plan_done(struct fake_plan *plan)
{
	for (size_t i = 0; i < plan->n_layers; i++)
		layer_done(&plan->layers[i]);
	free(plan->layers);
	for (size_t i = 0; i < plan->n_proc_read_only; i++)
		free(plan->proc_read_only[i]);
	free(plan->proc_read_only);
	free(plan->cover);
	*plan = (struct fake_plan){ 0 };
}

/*
 * Options of the overlay with this number, or NULL. The upper layer never outlives the mount, so it
 * need not be synced; a snapshot takes it, so files are copied up whole, whatever the kernel's
 * default.
 */
static char *overlay_options(const struct fake_plan *plan, const char *lower, unsigned number)
{
	char *options;

	if (asprintf(&options, "lowerdir=%s,upperdir=l/%u/u,workdir=l/%u/w,volatile,%s", lower,
		     number, number,
		     plan->user_ns ? "userxattr" : "metacopy=off,redirect_dir=off") < 0)
		return NULL;
	return options;
}

/* Adds a layer, with its path copied; `target` is taken. 0 or -ENOMEM. */
static int add_layer(struct fake_plan *plan, enum fake_layer_kind kind, const char *path,
		     char *target, mode_t mode)
{
	struct fake_layer *grown =
		reallocarray(plan->layers, plan->n_layers + 1, sizeof(*plan->layers));
	struct fake_layer layer = { .kind = kind, .target = target, .mode = mode & 07777 };
	bool failed;

	if (grown)
		plan->layers = grown;
	if (!grown || (kind == FAKE_LAYER_LINK && !target)) {
		free(target);
		return -ENOMEM;
	}
	layer.path = strdup(path);
	failed = !layer.path || asprintf(&layer.lower, "/%s", path) < 0 ||
		 asprintf(&layer.point, "root%s%s", *path ? "/" : "", path) < 0;
	if (!failed && kind == FAKE_LAYER_OVERLAY) {
		layer.number = plan->overlays++;
		layer.options = overlay_options(plan, layer.lower, layer.number);
		failed = !layer.options;
	}
	if (failed) {
		layer_done(&layer);
		return -ENOMEM;
	}
	plan->layers[plan->n_layers++] = layer;
	return 0;
}

/*
 * True when an overlay over the host's `path` is allowed here: tries
 * it, in our own mount namespace.
 */
static int try_overlay(const char *state_dir, const char *path)
{
	char *base SP_FREE = NULL;
	char *point SP_FREE = NULL;
	char *options SP_FREE = NULL;
	int rc = 0;

	if (asprintf(&base, "%s/trial", state_dir) < 0 || asprintf(&point, "%s/m", base) < 0 ||
	    asprintf(&options, "lowerdir=/%s,upperdir=%s/u,workdir=%s/w,userxattr", path, base,
		     base) < 0)
		return -ENOMEM;
	for (const char *const *part = (const char *const[]){ "u", "w", "m", NULL }; *part;
	     part++) {
		char *folder SP_FREE = NULL;

		if (asprintf(&folder, "%s/%s", base, *part) < 0)
			return -ENOMEM;
		rc = rc ? rc : sp_mkdirs(folder, 0700);
	}
	if (!rc && mount("overlay", point, "overlay", MS_NODEV, options))
		rc = -errno;
	else if (!rc)
		umount2(point, MNT_DETACH);
	sp_remove_tree(base);
	return rc;
}

static int add_tree(struct fake_plan *plan, const char *state_dir, const char *folder, int depth);

/* Plans a folder of the host for an ordinary user. */
static int add_folder(struct fake_plan *plan, const char *state_dir, const char *path, mode_t mode,
		      int depth)
{
	/* Overlay options have no room for these. */
	int rc = strpbrk(path, ",:\\\"") ? -EINVAL : try_overlay(state_dir, path);

	if (!rc)
		return add_layer(plan, FAKE_LAYER_OVERLAY, path, NULL, mode);
	if (rc == -ENOMEM)
		return rc;
	rc = add_layer(plan, FAKE_LAYER_DIR, path, NULL, mode);
	return rc || depth >= REBUILD_DEPTH ? rc : add_tree(plan, state_dir, path, depth + 1);
}

/*
 * Plans one entry of the host's root (or below it) for an ordinary user. What is neither file,
 * link nor folder is left out.
 */
static int add_entry(struct fake_plan *plan, const char *state_dir, int dir_fd, const char *folder,
		     const char *name, int depth)
{
	char *path SP_FREE = NULL;
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || plan->n_layers >= MAX_LAYERS)
		return 0;
	if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0)
		return -ENOMEM;
	if (S_ISDIR(st.st_mode))
		return add_folder(plan, state_dir, path, st.st_mode, depth);
	if (S_ISREG(st.st_mode))
		return add_layer(plan, FAKE_LAYER_FILE, path, NULL, st.st_mode);
	if (!S_ISLNK(st.st_mode))
		return 0;
	n = readlinkat(dir_fd, name, target, sizeof(target) - 1);
	if (n < 0)
		return 0;
	target[n] = '\0';
	return add_layer(plan, FAKE_LAYER_LINK, path, strdup(target), 0);
}

/*
 * Plans every entry of a folder of the host for an ordinary user. A folder
 * that cannot be read stays empty.
 */
static int add_tree(struct fake_plan *plan, const char *state_dir, const char *folder, int depth)
{
	char *path SP_FREE = NULL;
	struct dirent *entry;
	int rc = 0;
	DIR *dir;

	if (asprintf(&path, "/%s", folder) < 0)
		return -ENOMEM;
	dir = opendir(path);
	while (dir && !rc && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    (!*folder && is_own_folder(entry->d_name)))
			continue;
		rc = add_entry(plan, state_dir, dirfd(dir), folder, entry->d_name, depth);
	}
	if (dir)
		closedir(dir);
	return rc;
}

/* As root: the host's /, and what else is mounted right below it. */
static int add_whole(struct fake_plan *plan)
{
	struct stat root, st;
	struct dirent *entry;
	int rc = add_layer(plan, FAKE_LAYER_OVERLAY, "", NULL, 0755);
	DIR *dir = opendir("/");

	if (!dir || fstat(dirfd(dir), &root))
		rc = rc ? rc : -errno;
	while (!rc && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || is_own_folder(entry->d_name) ||
		    strpbrk(entry->d_name, ",:\\\"") ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(st.st_mode) && st.st_dev != root.st_dev)
			rc = add_layer(plan, FAKE_LAYER_OVERLAY, entry->d_name, NULL, st.st_mode);
	}
	if (dir)
		closedir(dir);
	return rc;
}

/*
 * Parts of /proc that act on the whole machine when root writes to them: all folders that are no
 * process, and writable files.
 */
static bool proc_acts_on_host(int proc_fd, const char *name)
{
	static const char *const harmless[] = { "sysvipc", "tty", "pressure" };
	struct stat st;

	for (size_t i = 0; i < SP_COUNT(harmless); i++)
		if (!strcmp(name, harmless[i]))
			return false;
	if (name[0] == '.' || (name[0] >= '0' && name[0] <= '9') ||
	    fstatat(proc_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	return S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && (st.st_mode & 0222));
}

static int plan_proc(struct fake_plan *plan)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int rc = dir ? 0 : -errno;

	while (!rc && (entry = readdir(dir))) {
		char **grown;

		if (!proc_acts_on_host(dirfd(dir), entry->d_name))
			continue;
		grown = reallocarray(plan->proc_read_only, plan->n_proc_read_only + 1,
				     sizeof(*grown));
		if (!grown) {
			rc = -ENOMEM;
			break;
		}
		plan->proc_read_only = grown;
		if (asprintf(&grown[plan->n_proc_read_only], "root/proc/%s", entry->d_name) < 0)
			rc = -ENOMEM;
		else
			plan->n_proc_read_only++;
	}
	if (dir)
		closedir(dir);
	return rc;
}

/*
 * The lower layer shows the state folder, other sandboxes included, unless one
 * of our own folders hides it.
 */
static int plan_cover(struct fake_plan *plan, const char *state_dir)
{
	for (size_t i = 0; i < SP_COUNT(own_folders); i++) {
		size_t len = strlen(own_folders[i].path);

		if (!strncmp(state_dir + 1, own_folders[i].path, len) &&
		    (state_dir[1 + len] == '/' || !state_dir[1 + len]))
			return 0;
	}
	return asprintf(&plan->cover, "root%s", state_dir) < 0 ? -ENOMEM : 0;
}

int fake_plan_make(const char *state_dir, bool user_ns, struct fake_plan *ret_plan,
		   struct sp_error *err)
{
	struct fake_plan plan SP_CLEANUP(fake_plan_done) = { .user_ns = user_ns };
	int rc = user_ns ? add_tree(&plan, state_dir, "", 0) : add_whole(&plan);

	for (size_t i = 0; !rc && i < SP_COUNT(own_folders); i++)
		rc = add_layer(&plan, FAKE_LAYER_DIR, own_folders[i].path, NULL,
			       own_folders[i].mode);
	if (!rc)
		rc = plan_proc(&plan);
	if (!rc)
		rc = plan_cover(&plan, state_dir);
	if (rc)
		return sp_error_set_errno(err, -rc, "cannot plan the root of a sandbox");
	*ret_plan = plan;
	plan = (struct fake_plan){ 0 };
	return 0;
}

/* Makes l/N with its upper and work folder. */
static int prepare_overlay(int dir_fd, const struct fake_layer *layer)
{
	char path[32];

	snprintf(path, sizeof(path), "l/%u", layer->number);
	if (mkdirat(dir_fd, path, 0700))
		return -errno;
	snprintf(path, sizeof(path), "l/%u/w", layer->number);
	if (mkdirat(dir_fd, path, 0700))
		return -errno;
	snprintf(path, sizeof(path), "l/%u/u", layer->number);
	if (mkdirat(dir_fd, path, 0700) || fchmodat(dir_fd, path, layer->mode, 0))
		return -errno;
	return 0;
}

/*
 * A folder of the sandbox's own: in the upper layer it is opaque, so that nothing
 * of the host's shows through.
 */
static int prepare_own(const struct fake_plan *plan, int dir_fd, const struct fake_layer *layer)
{
	char path[PATH_MAX];
	int fd SP_CLOSE = -1;

	snprintf(path, sizeof(path), "%s/%s", plan->user_ns ? "root" : "l/0/u", layer->path);
	if (mkdirat(dir_fd, path, 0700))
		return -errno;
	fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, layer->mode))
		return -errno;
	if (!plan->user_ns && fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0))
		return -errno;
	return 0;
}

/* Where a layer of an ordinary user is put. As root the points are in the lower layer. */
static int prepare_point(int dir_fd, const struct fake_layer *layer)
{
	int fd;

	if (layer->kind == FAKE_LAYER_OVERLAY)
		return mkdirat(dir_fd, layer->point, 0755) ? -errno : 0;
	if (layer->kind == FAKE_LAYER_LINK)
		return symlinkat(layer->target, dir_fd, layer->point) ? -errno : 0;
	fd = openat(dir_fd, layer->point, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Where the root is put together, and where the layers are. */
static int prepare_skeleton(int dir_fd)
{
	if (mkdirat(dir_fd, "root", 0700) || fchmodat(dir_fd, "root", 0755, 0) ||
	    mkdirat(dir_fd, "l", 0700))
		return -errno;
	return 0;
}

int fake_plan_prepare_bare(const struct fake_plan *plan, int dir_fd)
{
	int rc = prepare_skeleton(dir_fd);

	for (size_t i = 0; !rc && i < plan->n_layers; i++)
		if (plan->layers[i].kind == FAKE_LAYER_OVERLAY)
			rc = prepare_overlay(dir_fd, &plan->layers[i]);
	return rc;
}

int fake_plan_prepare(const struct fake_plan *plan, int dir_fd)
{
	int rc = prepare_skeleton(dir_fd);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < plan->n_layers; i++) {
		const struct fake_layer *layer = &plan->layers[i];

		if (layer->kind == FAKE_LAYER_OVERLAY)
			rc = prepare_overlay(dir_fd, layer);
		if (!rc && layer->kind == FAKE_LAYER_DIR)
			rc = prepare_own(plan, dir_fd, layer);
		else if (!rc && plan->user_ns)
			rc = prepare_point(dir_fd, layer);
	}
	return rc;
}
