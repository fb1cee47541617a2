/* SPDX-License-Identifier: MIT */
/* Looking into a sandbox: its processes, its files; stopping and continuing everything in it. */
#include <fakes/bash/internal.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <base/cleanup.h>

/* ---- files ---- */

static DIR *open_folder(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		sp_close(fd);
	return dir;
}

/* An opaque folder hides the host's of the same name. */
static bool is_opaque(int fd)
{
	char value;

	return fgetxattr(fd, "trusted.overlay.opaque", &value, 1) > 0 ||
	       fgetxattr(fd, "user.overlay.opaque", &value, 1) > 0;
}

/*
 * Counts what was made below `name` of `upper`: whiteouts are no files, and
 * what the host has too was only changed. `lower` is the host's folder, or -1.
 */
static size_t count_tree(int upper, const char *name, int lower)
{
	DIR *dir = open_folder(upper, name);
	struct dirent *entry;
	struct stat st, below;
	size_t n = 0;

	if (!dir)
		return 0;
	if (is_opaque(dirfd(dir)))
		lower = -1;
	while ((entry = readdir(dir))) {
		const char *child = entry->d_name;
		bool both;

		if (!strcmp(child, ".") || !strcmp(child, "..") ||
		    fstatat(dirfd(dir), child, &st, AT_SYMLINK_NOFOLLOW) ||
		    (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0)))
			continue;
		both = lower >= 0 && !fstatat(lower, child, &below, AT_SYMLINK_NOFOLLOW);
		n += !both;
		if (S_ISDIR(st.st_mode)) {
			int next SP_CLOSE = both ? openat(lower, child,
							  O_PATH | O_DIRECTORY | O_NOFOLLOW |
								  O_CLOEXEC) :
						   -1;

			n += count_tree(dirfd(dir), child, next);
		}
	}
	closedir(dir);
	return n;
}

static size_t count_layer(int dir_fd, const struct fake_layer *layer)
{
	int lower SP_CLOSE = open(layer->lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[32];

	snprintf(path, sizeof(path), "l/%u/u", layer->number);
	return count_tree(dir_fd, path, lower);
}

size_t fake_count_files(const struct fake_sandbox *sandbox)
{
	const struct fake_plan *plan = &sandbox->engine->plan;
	int dir_fd SP_CLOSE = -1;
	size_t n = 0;

	if (sandbox->engine->mode == FAKE_PLAIN)
		return count_tree(sandbox->home_fd, ".", -1) +
		       count_tree(sandbox->memory_fd, ".", -1);
	dir_fd = openat(sandbox->engine->state_fd, sandbox->id,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < plan->n_layers; i++)
		if (plan->layers[i].kind == FAKE_LAYER_OVERLAY)
			n += count_layer(dir_fd, &plan->layers[i]);
	if (plan->user_ns)
		n += count_tree(dir_fd, "root", -1);
	return n + count_tree(sandbox->root_fd, "dev", -1);
}

/* ---- processes ---- */

/* One process as the sandbox numbers it. */
struct inside {
	pid_t pid;
	char state;
};

static void read_state(int proc_fd, struct inside *inside)
{
	char path[32], text[512];
	const char *at;
	ssize_t n;
	int fd SP_CLOSE = -1;

	snprintf(path, sizeof(path), "%d/stat", (int)inside->pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	inside->state = at && at[1] && at[2] ? at[2] : 'X';
}

/* All living processes of the sandbox but process 1; the array is the caller's. 0 or -errno. */
static int list_inside(const struct fake_sandbox *sandbox, struct inside **ret, size_t *ret_n)
{
	struct inside *all = NULL;
	DIR *dir = open_folder(sandbox->proc_fd, ".");
	struct dirent *entry;
	size_t n = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		struct inside one = { .pid = (pid_t)strtol(entry->d_name, NULL, 10) };
		struct inside *grown;

		if (one.pid <= 1)
			continue;
		read_state(sandbox->proc_fd, &one);
		if (one.state == 'Z' || one.state == 'X')
			continue;
		grown = reallocarray(all, n + 1, sizeof(*all));
		if (!grown) {
			free(all);
			closedir(dir);
			return -ENOMEM;
		}
		all = grown;
		all[n++] = one;
	}
	closedir(dir);
	*ret = all;
	*ret_n = n;
	return 0;
}

int fake_list_pids(const struct fake_sandbox *sandbox, pid_t **ret_pids, size_t *ret_n)
{
	struct inside *all SP_FREE = NULL;
	pid_t *pids;
	size_t n = 0;
	int rc;

	if (sandbox->engine->mode == FAKE_PLAIN)
		return fake_mark_list(sandbox->mark, ret_pids, ret_n);
	rc = list_inside(sandbox, &all, &n);
	if (rc)
		return rc;
	pids = calloc(n + 1, sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		pids[i] = all[i].pid;
	*ret_pids = pids;
	*ret_n = n;
	return 0;
}

int fake_sandbox_census(struct fake_sandbox *sandbox, struct fake_census *ret_census,
			struct sp_error *err)
{
	struct fake_census census = { .commands = sandbox->n_live };
	struct inside *all SP_FREE = NULL;
	size_t files;
	int rc;

	/* Nothing to look into yet, or any more. */
	if (sandbox->removed || sandbox->state == FAKE_CREATING ||
	    (sandbox->home_fd < 0 && sandbox->proc_fd < 0)) {
		*ret_census = census;
		return 0;
	}
	if (sandbox->engine->mode == FAKE_PLAIN) {
		fake_mark_reap(sandbox->engine);
		census.processes = fake_mark_count(sandbox->mark);
	} else if (sandbox->init_pid) {
		rc = list_inside(sandbox, &all, &census.processes);
		if (rc)
			return sp_error_set_errno(err, -rc, "cannot look into %s", sandbox->id);
	}
	files = fake_count_files(sandbox);
	census.files = files > sandbox->base_files ? files - sandbox->base_files : 0;
	*ret_census = census;
	return 0;
}

/* ---- standing still ---- */

static bool was_stopped(const struct fake_sandbox *sandbox, pid_t pid)
{
	for (size_t i = 0; i < sandbox->n_stopped; i++)
		if (sandbox->stopped[i] == pid)
			return true;
	return false;
}

/*
 * Keeps the numbers of those that stand (or, for `others`, do not stand) in
 * the list of the stopped ones.
 */
static int pick(const struct fake_sandbox *sandbox, bool others, pid_t **ret, size_t *ret_n)
{
	struct inside *all SP_FREE = NULL;
	size_t n = 0, kept = 0;
	int rc = list_inside(sandbox, &all, &n);
	pid_t *pids;

	if (rc)
		return rc;
	pids = calloc(n + 1, sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (others ? !was_stopped(sandbox, all[i].pid) :
			     all[i].state == 'T' || all[i].state == 't')
			pids[kept++] = all[i].pid;
	*ret = pids;
	*ret_n = kept;
	return 0;
}

static int freeze(struct fake_sandbox *sandbox)
{
	int rc;

	if (sandbox->engine->mode == FAKE_PLAIN) {
		fake_mark_freeze(sandbox->mark);
		return 0;
	}
	free(SP_TAKE(sandbox->stopped));
	rc = pick(sandbox, false, &sandbox->stopped, &sandbox->n_stopped);
	return rc ? rc :
		    fake_spawn_signal(sandbox->engine, sandbox->init.fd, NULL, 0, SIGSTOP);
}

/* What had been stopped by somebody inside stays so. */
static int thaw(struct fake_sandbox *sandbox)
{
	pid_t *pids SP_FREE = NULL;
	size_t n = 0;
	int rc;

	if (sandbox->engine->mode == FAKE_PLAIN) {
		fake_mark_signal(sandbox->mark, SIGCONT);
		return 0;
	}
	rc = pick(sandbox, true, &pids, &n);
	if (rc || !n)
		return rc;
	return fake_spawn_signal(sandbox->engine, sandbox->init.fd, pids, n, SIGCONT);
}

int fake_sandbox_suspend(struct fake_sandbox *sandbox, struct sp_error *err)
{
	int rc = fake_sandbox_need(sandbox, false, err);

	if (rc)
		return rc;
	rc = freeze(sandbox);
	if (rc)
		return sp_error_set_errno(err, -rc, "cannot suspend %s", sandbox->id);
	sandbox->state = FAKE_SUSPENDED;
	return 0;
}

int fake_sandbox_resume(struct fake_sandbox *sandbox, struct sp_error *err)
{
	int rc = fake_sandbox_need(sandbox, true, err);

	if (rc || sandbox->state == FAKE_RUNNING)
		return rc;
	rc = thaw(sandbox);
	if (rc)
		return sp_error_set_errno(err, -rc, "cannot resume %s", sandbox->id);
	sandbox->state = FAKE_RUNNING;
	return 0;
}
