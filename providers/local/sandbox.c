/* SPDX-License-Identifier: MIT */
#include <providers/local/internal.h>

#include <base/git.h>
#include <base/clock.h>
#include <base/files.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define ID_PREFIX "sandproof-local-"
#define ID_RANDOM 16
/* Name of the ownership file: outside the root, so that no command meets it in its home. */
#define OWNER_FILE "owner"
#define OWNER_TEXT "sandproof local sandbox 1\n"

/* ---- Ids and ownership ---- */

bool local_id_valid(const char *id)
{
	size_t prefix = sizeof(ID_PREFIX) - 1;

	return id && !strncmp(id, ID_PREFIX, prefix) &&
	       strspn(id + prefix, "0123456789abcdefghijklmnopqrstuv") == ID_RANDOM &&
	       id[prefix + ID_RANDOM] == '\0';
}

/* True when `fd` is a file of this user that holds our text and this id. */
static bool is_owner_file(int fd, const char *id)
{
	char expected[128], text[128];
	struct stat st;
	int len = snprintf(expected, sizeof(expected), "%s%s\n", OWNER_TEXT, id);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return false;
	ssize_t n = read(fd, text, sizeof(text));
	return n == len && !memcmp(text, expected, (size_t)len);
}

int local_sandbox_owned(const char *base_dir, const char *id, struct sp_error *err)
{
	char *path SP_FREE = NULL;

	if (asprintf(&path, "%s/%s", base_dir, id) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	int dir SP_CLOSE = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0 && errno != ELOOP && errno != ENOTDIR && errno != EACCES)
		return sp_error_set_errno(err, errno, "cannot open %s", path);
	int fd SP_CLOSE = dir < 0 ? -1 : openat(dir, OWNER_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (!is_owner_file(fd, id))
		return sp_error_set(err, SP_DENIED, "%s was not made by this user's local provider",
				    path);
	return 1;
}

static int write_owner(const struct local_sandbox *sandbox, struct sp_error *err)
{
	char *path SP_FREE = NULL;
	char *text SP_FREE = NULL;

	if (asprintf(&path, "%s/%s", sandbox->dir, OWNER_FILE) < 0 ||
	    asprintf(&text, "%s%s\n", OWNER_TEXT, sandbox->id) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	return sp_write_file(path, text, strlen(text), 0600, err);
}

/* ---- Objects ---- */

static void free_sandbox(struct local_sandbox *sandbox)
{
	if (!sandbox)
		return;
	local_env_done(&sandbox->env);
	pthread_cond_destroy(&sandbox->idle);
	pthread_mutex_destroy(&sandbox->lock);
	free(sandbox->id);
	free(sandbox->dir);
	free(sandbox->root);
	free(sandbox->workspace);
	free(sandbox);
}

/* An object for the folder of this id, in no list yet and without a reference. */
static struct local_sandbox *new_sandbox(struct local_provider *provider, const char *id)
{
	struct local_sandbox *sandbox = calloc(1, sizeof(*sandbox));
	pthread_condattr_t attr;

	if (!sandbox)
		return NULL;
	pthread_mutex_init(&sandbox->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&sandbox->idle, &attr);
	pthread_condattr_destroy(&attr);
	sandbox->provider = provider;
	sandbox->id = strdup(id);
	snprintf(sandbox->mark, sizeof(sandbox->mark), "%s=%s", LOCAL_MARK_SANDBOX, id);
	if (!sandbox->id || asprintf(&sandbox->dir, "%s/%s", provider->base_dir, id) < 0 ||
	    asprintf(&sandbox->root, "%s/root", sandbox->dir) < 0 ||
	    asprintf(&sandbox->workspace, "%s/workspace", sandbox->root) < 0) {
		free_sandbox(sandbox);
		return NULL;
	}
	return sandbox;
}

/* Puts it into the provider's list with one reference; the provider's lock is held. */
static void enlist(struct local_sandbox *sandbox)
{
	struct local_provider *provider = sandbox->provider;

	sandbox->refs = 1;
	sandbox->next = provider->sandboxes;
	provider->sandboxes = sandbox;
	atomic_fetch_add(&provider->refs, 1);
}

void local_sandbox_ref(struct local_sandbox *sandbox)
{
	LOCAL_LOCK(&sandbox->provider->lock);
	sandbox->refs++;
}

/* Drops a reference with the provider's lock held; true when it was the last and the caller frees.
 */
static bool drop_ref(struct local_sandbox *sandbox)
{
	struct local_sandbox **place = &sandbox->provider->sandboxes;

	if (--sandbox->refs > 0)
		return false;
	while (*place != sandbox)
		place = &(*place)->next;
	*place = sandbox->next;
	return true;
}

static void free_dropped(struct local_sandbox *sandbox)
{
	struct local_provider *provider = sandbox->provider;

	local_drain_forget(provider->drain, sandbox);
	free_sandbox(sandbox);
	local_provider_unref(provider);
}

void local_sandbox_unref(struct local_sandbox *sandbox)
{
	struct local_provider *provider = sandbox->provider;

	pthread_mutex_lock(&provider->lock);
	bool last = drop_ref(sandbox);
	pthread_mutex_unlock(&provider->lock);
	if (last)
		free_dropped(sandbox);
}

void local_sandbox_leave(struct local_sandbox *sandbox, struct local_run *run)
{
	struct local_provider *provider = sandbox->provider;
	struct local_run **place = &sandbox->runs;

	pthread_mutex_lock(&provider->lock);
	pthread_mutex_lock(&sandbox->lock);
	while (*place != run)
		place = &(*place)->next;
	*place = run->next;
	bool last = drop_ref(sandbox);
	pthread_cond_broadcast(&sandbox->idle);
	pthread_mutex_unlock(&sandbox->lock);
	pthread_mutex_unlock(&provider->lock);
	if (last)
		free_dropped(sandbox);
}

/* ---- Making and finding ---- */

static int make_folder(const char *path, struct sp_error *err)
{
	return mkdir(path, 0700) == 0 ? 0 : sp_error_set_errno(err, errno, "cannot make %s", path);
}

static int make_folders(const struct local_sandbox *sandbox, struct sp_error *err)
{
	char *tmp SP_FREE = NULL;
	int rc = make_folder(sandbox->dir, err);

	if (rc < 0)
		return rc;
	if (asprintf(&tmp, "%s/tmp", sandbox->root) < 0)
		rc = sp_error_set(err, SP_INTERNAL, "no memory for a path");
	if (rc == 0)
		rc = write_owner(sandbox, err);
	if (rc == 0)
		rc = make_folder(sandbox->root, err);
	if (rc == 0)
		rc = make_folder(sandbox->workspace, err);
	if (rc == 0)
		rc = make_folder(tmp, err);
	if (rc < 0)
		sp_remove_tree(sandbox->dir);
	return rc;
}

int local_sandbox_create(struct local_provider *provider, struct local_sandbox **ret_sandbox,
			 struct sp_error *err)
{
	char id[sizeof(ID_PREFIX) + ID_RANDOM] = ID_PREFIX;

	sp_random_id(id + sizeof(ID_PREFIX) - 1, ID_RANDOM);
	struct local_sandbox *sandbox = new_sandbox(provider, id);
	if (!sandbox)
		return sp_error_set(err, SP_INTERNAL, "no memory for a sandbox");
	int rc = make_folders(sandbox, err);
	if (rc < 0) {
		free_sandbox(sandbox);
		return rc;
	}
	LOCAL_LOCK(&provider->lock);
	enlist(sandbox);
	*ret_sandbox = sandbox;
	return 0;
}

/* The object of this id with one more reference, or NULL. */
static struct local_sandbox *known(struct local_provider *provider, const char *id)
{
	for (struct local_sandbox *at = provider->sandboxes; at; at = at->next) {
		if (!strcmp(at->id, id)) {
			at->refs++;
			return at;
		}
	}
	return NULL;
}

int local_sandbox_find(struct local_provider *provider, const char *id,
		       struct local_sandbox **ret_sandbox, struct sp_error *err)
{
	if (!local_id_valid(id)) {
		*ret_sandbox = NULL;
		return 0;
	}
	int owned = local_sandbox_owned(provider->base_dir, id, err);
	if (owned < 0)
		return owned;
	LOCAL_LOCK(&provider->lock);
	struct local_sandbox *sandbox = owned ? known(provider, id) : NULL;
	if (owned && !sandbox) {
		sandbox = new_sandbox(provider, id);
		if (!sandbox)
			return sp_error_set(err, SP_INTERNAL, "no memory for a sandbox");
		enlist(sandbox);
	}
	*ret_sandbox = sandbox;
	return 0;
}

/* ---- Destroying ---- */

/* No command starts from here on; those that run get TERM, then KILL after the grace. */
static void end_runs(struct local_sandbox *sandbox)
{
	LOCAL_LOCK(&sandbox->lock);

	sandbox->gone = true;
	for (struct local_run *run = sandbox->runs; run; run = run->next)
		local_run_end(run, SIGTERM, LOCAL_DESTROYED);
}

/*
 * Commands of another process that has this sandbox open, and what earlier
 * commands left behind: everything that carries the sandbox's mark.
 */
static int end_marked(const struct local_sandbox *sandbox, uint64_t grace_end, uint64_t limit)
{
	struct local_found found SP_CLEANUP(local_found_done) = LOCAL_FOUND_INIT;
	struct local_match match = {.mark = sandbox->mark};
	int rc = local_find(&match, &found);

	if (rc < 0)
		return rc;
	local_found_signal(&found, SIGTERM);
	local_found_wait(&found, grace_end);
	return local_sweep(&match, limit);
}

/* Waits until every run has told its end and closed what it had. */
static int await_runs(struct local_sandbox *sandbox, uint64_t limit)
{
	struct timespec until = {(time_t)(limit / SP_SECOND), (long)(limit % SP_SECOND)};
	LOCAL_LOCK(&sandbox->lock);

	while (sandbox->runs) {
		if (pthread_cond_timedwait(&sandbox->idle, &sandbox->lock, &until) == ETIMEDOUT)
			return -ETIMEDOUT;
	}
	return 0;
}

int local_sandbox_destroy(struct local_sandbox *sandbox, struct sp_error *err)
{
	uint32_t grace = sandbox->provider->caps.kill_grace_ms;
	uint64_t limit = sp_deadline_ms(LOCAL_DEATH_LIMIT_MS + (uint64_t)grace);

	end_runs(sandbox);
	int rc = end_marked(sandbox, sp_now() + grace * SP_MS, limit);
	if (rc == 0)
		rc = await_runs(sandbox, limit);
	if (rc == -ETIMEDOUT)
		return sp_error_set(err, SP_UNAVAILABLE,
				    "sandbox %s: a process does not die; try again", sandbox->id);
	if (rc < 0)
		return sp_error_set_errno(err, -rc, "sandbox %s: cannot look for its processes",
					  sandbox->id);
	local_drain_forget(sandbox->provider->drain, sandbox);
	rc = sp_remove_tree(sandbox->dir);
	if (rc < 0 && rc != -ENOENT)
		return sp_error_set_errno(err, -rc, "cannot remove %s", sandbox->dir);
	pthread_mutex_lock(&sandbox->lock);
	local_env_done(&sandbox->env);
	pthread_mutex_unlock(&sandbox->lock);
	return 0;
}

/* ---- The table ---- */

static const char *sandbox_id(void *self)
{
	return ((struct local_sandbox *)self)->id;
}

static const char *sandbox_workspace_root(void *self)
{
	return ((struct local_sandbox *)self)->workspace;
}

/* Under its lock. Its folder may have been removed through another handle. */
static int check_there(struct local_sandbox *sandbox, struct sp_error *err)
{
	struct stat st;

	if (sandbox->gone || (stat(sandbox->root, &st) < 0 && errno == ENOENT))
		return sp_error_set(err, SP_GONE, "sandbox %s is gone", sandbox->id);
	return 0;
}

static int sandbox_env_set(void *self, const struct sp_env *env, size_t n_env,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct local_sandbox *sandbox = self;
	int rc = sp_cancel_check(cancel, err);

	if (rc == 0)
		rc = local_env_check(env, n_env, err);
	if (rc < 0)
		return rc;
	LOCAL_LOCK(&sandbox->lock);
	rc = check_there(sandbox, err);
	return rc ? rc : local_env_merge(&sandbox->env, env, n_env, err);
}

/* Copies the files by cp, which knows links, times, holes and special files. */
static int copy_root(const struct local_sandbox *from, const struct local_sandbox *to,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_run_result result SP_CLEANUP(sp_run_result_done) = {0};
	char *source SP_FREE = NULL;

	if (asprintf(&source, "%s/.", from->root) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	const char *argv[] = {"cp", "-a", "--reflink=auto", "--", source, to->root, NULL};
	int rc = sp_run(argv, NULL, NULL, 0, SP_ERROR_TEXT, cancel, &result, err);
	if (rc == 0 && result.code != 0) {
		rc = sp_error_set(err, SP_IO, "copying %s failed", from->root);
		sp_error_set_detail(err, result.err);
	}
	return rc;
}

static int copy_env(struct local_sandbox *from, struct local_sandbox *to, struct sp_error *err)
{
	int rc;
	LOCAL_LOCK(&from->lock);

	rc = check_there(from, err);
	/* Nobody else knows the new one yet. */
	return rc ? rc : local_env_overlay(&to->env, &from->env, err);
}

static int sandbox_fork(void *self, struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct local_sandbox *from = self;
	struct local_sandbox *to = NULL;
	int rc = sp_cancel_check(cancel, err);

	if (rc == 0)
		rc = local_sandbox_create(from->provider, &to, err);
	if (rc < 0)
		return rc;
	rc = copy_env(from, to, err);
	if (rc == 0)
		rc = copy_root(from, to, cancel, err);
	if (rc < 0) {
		local_sandbox_destroy(to, NULL);
		local_sandbox_unref(to);
		return rc;
	}
	*ret_sandbox = (struct sp_sandbox){&local_sandbox_ops, to};
	return 0;
}

static int sandbox_port_connect(void *self, unsigned port, struct sp_port *ret_port,
				struct sp_cancel *cancel, struct sp_error *err)
{
	struct local_sandbox *sandbox = self;
	struct sp_port result = SP_PORT_INIT;
	int rc = sp_cancel_check(cancel, err);

	if (rc < 0)
		return rc;
	if (port < 1 || port > 65535)
		return sp_error_set(err, SP_INVALID, "%u is no port; 1 to 65535 are", port);
	LOCAL_LOCK(&sandbox->lock);
	rc = check_there(sandbox, err);
	if (rc < 0)
		return rc;
	if (asprintf(&result.url, "http://127.0.0.1:%u", port) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a URL");
	*ret_port = result;
	return 0;
}

/* Not bound to `cancel`: cleaning up must work after the request that asked for it was aborted. */
static int sandbox_destroy(void *self, struct sp_cancel *cancel SP_UNUSED, struct sp_error *err)
{
	return local_sandbox_destroy(self, err);
}

static int sandbox_git(void *self, const struct sp_git_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_sandbox sandbox = {&local_sandbox_ops, self};

	return sp_git_over_exec(&sandbox, options, ret_result, err);
}

static void sandbox_close(void *self)
{
	local_sandbox_unref(self);
}

const struct sp_sandbox_ops local_sandbox_ops = {
    .version = SP_SANDBOX_VERSION,
    .id = sandbox_id,
    .workspace_root = sandbox_workspace_root,
    .exec = local_exec,
    .spawn = local_spawn,
    .fs_read = local_fs_read,
    .fs_write = local_fs_write,
    .fs_list = local_fs_list,
    .fs_mkdir = local_fs_mkdir,
    .fs_remove = local_fs_remove,
    .fs_rename = local_fs_rename,
    .fs_exists = local_fs_exists,
    .fs_lstat = local_fs_lstat,
    .env_set = sandbox_env_set,
    .fork = sandbox_fork,
    .port_connect = sandbox_port_connect,
    .git = sandbox_git,
    .destroy = sandbox_destroy,
    .close = sandbox_close,
};
