/* SPDX-License-Identifier: MIT */
/*
 * An example of a provider as a plugin, in one file and with nothing but libc: a sandbox is a
 * folder, a command a child process in it, and nothing keeps a command from what is outside. It
 * offers what every provider has (sandboxes, commands, files); what it declares false, or leaves
 * NULL, is the next thing to write.
 * README.md says how it is built and judged.
 *
 * CONFIG is the folder for sandboxes: plugin:FILE.so:/tmp/boxes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sandproof/plugin.h>

#define SHELL "/bin/bash"
/* A longer text does not fit into one argument of a program. */
#define ARGUMENT_MAX (120 * 1024)

struct box_provider {
	char *base;
};

struct box {
	char *id;
	char *root;
};

/* ---- one command ---- */

/* A command on its way; what it does not have yet is -1 or NULL. */
struct command {
	pid_t pid;
	int pidfd;
	/* Our ends of stdout and stderr, and what came of them. */
	int fds[2];
	struct sp_bytes output[2];
	/* The text as a file, where it is too long. */
	int script;
	char **env;
	char *dir;
};

/* "/workspace/x" and "x" are below the root; any other absolute path is itself. */
static char *folder_of(const struct box *box, const char *cwd)
{
	char *path = NULL;

	if (cwd && !strncmp(cwd, "/workspace", 10) && (!cwd[10] || cwd[10] == '/'))
		cwd = cwd[10] ? cwd + 11 : NULL;
	if (cwd && *cwd == '/')
		return strdup(cwd);
	return asprintf(&path, "%s%s%s", box->root, cwd ? "/" : "", cwd ? cwd : "") < 0 ? NULL
											: path;
}

static bool is_name(const char *name)
{
	static const char first[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	/* bash keeps these for itself, so the command would not see the value. */
	static const char *const kept[] = {"UID",      "EUID",		"PPID",	  "SHELLOPTS",
					   "BASHOPTS", "BASH_VERSINFO", "LINENO", "_"};
	size_t len = name ? strspn(name, first) : 0;

	for (size_t i = 0; name && i < sizeof(kept) / sizeof(kept[0]); i++)
		if (!strcmp(name, kept[i]))
			return false;
	return len && !name[len + strspn(name + len, "_0123456789abcdefghijklmnopqrstuvwxyz"
						     "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

/* The whole environment of a command: nothing of ours but where programs are. */
static int make_env(const struct box *box, const struct sp_exec_options *o, char ***ret_env,
		    struct sp_error *err)
{
	char **env = calloc(o->n_env + 3, sizeof(*env));
	size_t n = 0;

	*ret_env = env;
	if (!env || asprintf(&env[n++], "PATH=%s", "/usr/local/bin:/usr/bin:/bin") < 0 ||
	    asprintf(&env[n++], "HOME=%s", box->root) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory");
	for (size_t i = 0; i < o->n_env; i++) {
		if (!is_name(o->env[i].name))
			return sp_error_set(err, SP_INVALID, "variable %zu has no valid name", i);
		if (asprintf(&env[n++], "%s=%s", o->env[i].name, o->env[i].value) < 0)
			return sp_error_set(err, SP_INTERNAL, "no memory");
	}
	return 0;
}

static int prepare(const struct box *box, const struct sp_exec_options *o, struct command *c,
		   struct sp_error *err)
{
	struct stat st;

	c->dir = folder_of(box, o->cwd);
	if (!c->dir)
		return sp_error_set(err, SP_INTERNAL, "no memory");
	if (access(box->root, F_OK))
		return sp_error_set(err, SP_GONE, "the sandbox %s was destroyed", box->id);
	if (stat(c->dir, &st) || !S_ISDIR(st.st_mode))
		return sp_error_set(err, SP_NOT_FOUND, "there is no folder %s to run in", o->cwd);
	if (strlen(o->command) > ARGUMENT_MAX) {
		c->script = memfd_create("command", MFD_CLOEXEC);
		if (c->script < 0 ||
		    write(c->script, o->command, strlen(o->command)) != (ssize_t)strlen(o->command))
			return sp_error_set_errno(err, errno, "the command cannot be kept");
	}
	return make_env(box, o, &c->env, err);
}

/* Between fork and exec only what POSIX allows there. */
static _Noreturn void be_command(const struct sp_exec_options *o, const struct command *c,
				 const int out[2])
{
	char *const short_argv[] = {SHELL, "-c", "--", (char *)o->command, NULL};
	char *const long_argv[] = {SHELL, "/proc/self/fd/3", NULL};
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	dup2(out[0], STDOUT_FILENO);
	dup2(out[1], STDERR_FILENO);
	if (c->script >= 0)
		dup2(c->script, 3);
	close_range(c->script >= 0 ? 4 : 3, ~0u, 0);
	if (!chdir(c->dir))
		execve(SHELL, c->script >= 0 ? long_argv : short_argv, c->env);
	_exit(127);
}

static int start(const struct sp_exec_options *o, struct command *c, struct sp_error *err)
{
	int out[2] = {-1, -1}, pipes[2][2];

	for (int i = 0; i < 2; i++) {
		if (pipe2(pipes[i], O_CLOEXEC))
			return sp_error_set_errno(err, errno, "no pipe for the command");
		c->fds[i] = pipes[i][0];
		out[i] = pipes[i][1];
	}
	c->pid = fork();
	if (!c->pid)
		be_command(o, c, out);
	close(out[0]);
	close(out[1]);
	if (c->pid < 0)
		return sp_error_set_errno(err, errno, "no process for the command");
	/* On both sides, so that it is a group whoever comes first. */
	setpgid(c->pid, c->pid);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? sp_error_set_errno(err, errno, "the command cannot be watched") : 0;
}

/* Takes what is there; false at the end of the stream. */
static bool take(int fd, struct sp_bytes *to)
{
	char chunk[65536];
	ssize_t n = read(fd, chunk, sizeof(chunk));
	unsigned char *grown = n > 0 ? realloc(to->data, to->len + (size_t)n + 1) : NULL;

	if (!grown)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	memcpy(grown + to->len, chunk, (size_t)n);
	to->data = grown;
	to->len += (size_t)n;
	to->data[to->len] = '\0';
	return true;
}

/* Moves bytes until the command itself has ended; a child that holds its outputs is left alone. */
static int follow(const struct sp_exec_options *o, struct command *c, struct sp_error *err)
{
	struct pollfd p[4] = {{.fd = c->fds[0], .events = POLLIN},
			      {.fd = c->fds[1], .events = POLLIN},
			      {.fd = c->pidfd, .events = POLLIN},
			      {.fd = sp_cancel_fd(o->cancel), .events = POLLIN}};
	bool ended = false;

	while (!ended) {
		if (poll(p, 4, -1) < 0 && errno != EINTR)
			return sp_error_set_errno(err, errno, "poll failed");
		ended = p[2].revents;
		if (sp_cancel_check(o->cancel, err))
			return err ? (int)err->code : SP_ABORTED;
		for (int i = 0; i < 2; i++)
			if (p[i].revents && !take(p[i].fd, &c->output[i]))
				p[i].fd = -1;
	}
	/* What was written before the end is in the pipes by now. */
	for (int i = 0; i < 2; i++) {
		int more = 1;

		while (p[i].fd >= 0 && poll(&p[i], 1, 0) > 0 && p[i].revents & POLLIN && more)
			more = take(p[i].fd, &c->output[i]);
	}
	return 0;
}

/* Ends what is still there and frees everything; the exit code. */
static int finish(struct command *c, bool kill_it)
{
	int status = 0;

	if (c->pid > 0 && kill_it)
		kill(-c->pid, SIGKILL);
	if (c->pid > 0)
		while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
			;
	for (int i = 0; i < 2; i++)
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->script >= 0)
		close(c->script);
	for (size_t i = 0; c->env && c->env[i]; i++)
		free(c->env[i]);
	free(c->env);
	free(c->dir);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int box_exec(void *self, const struct sp_exec_options *options,
		    struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct command c = {.pid = -1, .pidfd = -1, .fds = {-1, -1}, .script = -1};
	int rc = sp_cancel_check(options->cancel, err), code;

	if (!rc)
		rc = prepare(self, options, &c, err);
	if (!rc)
		rc = start(options, &c, err);
	if (!rc)
		rc = follow(options, &c, err);
	code = finish(&c, rc != 0);
	if (rc) {
		sp_bytes_done(&c.output[0]);
		sp_bytes_done(&c.output[1]);
		return rc;
	}
	*ret_result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	ret_result->stdout_bytes = c.output[0];
	ret_result->stderr_bytes = c.output[1];
	ret_result->exit_code = code;
	return 0;
}

/* ---- files ---- */

static int file_error(struct sp_error *err, int error, const char *verb, const char *path)
{
	static const struct {
		int error;
		enum sp_code code;
	} known[] = {
	    {ENOENT, SP_NOT_FOUND}, {EISDIR, SP_CONFLICT},    {ENOTDIR, SP_CONFLICT},
	    {EEXIST, SP_CONFLICT},  {ENOTEMPTY, SP_CONFLICT}, {ELOOP, SP_CONFLICT},
	    {ENXIO, SP_CONFLICT},   {EINVAL, SP_INVALID},     {ENAMETOOLONG, SP_INVALID},
	    {EACCES, SP_DENIED},    {EPERM, SP_DENIED},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].error == error)
			return sp_error_set(err, known[i].code, "cannot %s %.256s: %s", verb, path,
					    strerror(error));
	return sp_error_set_errno(err, error, "cannot %s %.256s", verb, path);
}

/* Where a caller's path is, malloc'ed; what every call on files asks first. */
static int place(const struct box *box, const char *path, struct sp_cancel *cancel, char **ret_real,
		 struct sp_error *err)
{
	int rc = sp_cancel_check(cancel, err);

	if (rc)
		return rc;
	if (!path || !*path)
		return sp_error_set(err, SP_INVALID, "an empty path names nothing");
	if (access(box->root, F_OK))
		return sp_error_set(err, SP_GONE, "the sandbox %s was destroyed", box->id);
	*ret_real = folder_of(box, path);
	return *ret_real ? 0 : sp_error_set(err, SP_INTERNAL, "no memory");
}

/* Makes a folder with its parents; one that is there is fine. 0 or an errno. */
static int make_folders(const char *path)
{
	char *copy = strdup(path);
	struct stat st;
	int error = copy ? 0 : ENOMEM;

	for (char *at = copy; !error && *at;) {
		char saved;

		at += strspn(at, "/");
		at += strcspn(at, "/");
		saved = *at;
		*at = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST)
			error = errno;
		else if (stat(copy, &st))
			error = errno;
		else if (!S_ISDIR(st.st_mode))
			error = saved ? ENOTDIR : EEXIST;
		*at = saved;
	}
	free(copy);
	return error;
}

/* Of the folder that a path lies in; 0 or an errno. */
static int make_parents(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
	int error = parent ? make_folders(parent) : 0;

	free(parent);
	return error;
}

/* 0 or an errno. */
static int read_all(const char *real, struct sp_bytes *ret_bytes)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct stat st;
	/* Without O_NONBLOCK a FIFO would wait for its writer. */
	int fd = open(real, O_RDONLY | O_NONBLOCK | O_CLOEXEC), error = fd < 0 ? errno : 0;

	if (!error && fstat(fd, &st))
		error = errno;
	if (!error && !S_ISREG(st.st_mode))
		error = S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
	errno = 0;
	while (!error && take(fd, &bytes))
		;
	if (!error)
		error = errno;
	if (fd >= 0)
		close(fd);
	if (error)
		sp_bytes_done(&bytes);
	else
		*ret_bytes = bytes;
	return error;
}

static int box_read(void *self, const char *path, struct sp_bytes *ret_bytes,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	char *real = NULL;
	int rc = place(self, path, cancel, &real, err), error;

	if (rc)
		return rc;
	error = read_all(real, ret_bytes);
	free(real);
	return error ? file_error(err, error, "read", path) : 0;
}

/* 0 or an errno. */
static int write_all(const char *real, const char *data, size_t len)
{
	int fd = open(real, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644);
	int error = fd < 0 ? errno : 0;

	while (!error && len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			error = errno;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0 && close(fd) && !error)
		error = errno;
	return error;
}

static int box_write(void *self, const char *path, const void *data, size_t len,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	char *real = NULL;
	int rc = place(self, path, cancel, &real, err), error;

	if (rc)
		return rc;
	error = make_parents(real);
	if (!error)
		error = write_all(real, data, len);
	free(real);
	return error ? file_error(err, error, "write", path) : 0;
}

static enum sp_file_type type_of(mode_t mode)
{
	if (S_ISREG(mode))
		return SP_FILE;
	if (S_ISDIR(mode))
		return SP_DIR;
	return S_ISLNK(mode) ? SP_SYMLINK : SP_OTHER;
}

/* The caller's own form of an entry's path, absolute. */
static char *entry_path(const char *folder, const char *name)
{
	size_t len = strlen(folder);
	char *path = NULL;

	while (len && folder[len - 1] == '/')
		len--;
	if (!strcmp(folder, "."))
		len = 0;
	return asprintf(&path, "%s%.*s%s%s", *folder == '/' ? "" : "/workspace/", (int)len, folder,
			len || *folder == '/' ? "/" : "", name) < 0
		   ? NULL
		   : path;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sp_dir_entry *)a)->name,
		      ((const struct sp_dir_entry *)b)->name);
}

/* 0 or an errno; an entry that vanished meanwhile is left out. */
static int add_entry(int dir, const char *folder, const char *name, struct sp_dir_list *list)
{
	struct sp_dir_entry *grown;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : errno;
	grown = reallocarray(list->entries, list->len + 1, sizeof(*grown));
	if (!grown)
		return ENOMEM;
	list->entries = grown;
	grown += list->len++;
	*grown = (struct sp_dir_entry){strdup(name), entry_path(folder, name), type_of(st.st_mode)};
	return grown->name && grown->path ? 0 : ENOMEM;
}

/* 0 or an errno. */
static int list_folder(const char *real, const char *folder, struct sp_dir_list *list)
{
	DIR *dir = opendir(real);
	const struct dirent *entry;
	int error = dir ? 0 : errno;

	while (!error) {
		errno = 0;
		entry = readdir(dir);
		error = errno;
		if (!entry)
			break;
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			error = add_entry(dirfd(dir), folder, entry->d_name, list);
	}
	if (dir)
		closedir(dir);
	return error;
}

static int box_list(void *self, const char *path, struct sp_dir_list *ret_list,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_dir_list list = SP_DIR_LIST_INIT;
	char *real = NULL;
	int rc = place(self, path, cancel, &real, err), error;

	if (rc)
		return rc;
	error = list_folder(real, path, &list);
	free(real);
	if (error) {
		sp_dir_list_done(&list);
		return file_error(err, error, "list", path);
	}
	if (list.len)
		qsort(list.entries, list.len, sizeof(*list.entries), by_name);
	*ret_list = list;
	return 0;
}

static int box_mkdir(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	char *real = NULL;
	int rc = place(self, path, cancel, &real, err), error;

	if (rc)
		return rc;
	error = make_folders(real);
	free(real);
	return error ? file_error(err, error, "make the folder", path) : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path) && errno != ENOENT ? -1 : 0;
}

/* A file, link or tree; no link is followed. 0 or an errno. */
static int remove_tree(const char *real)
{
	if (nftw(real, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) && errno != ENOENT)
		return errno;
	return 0;
}

static int box_remove(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	const struct box *box = self;
	char *real = NULL;
	int rc = place(box, path, cancel, &real, err), error;

	if (rc)
		return rc;
	/* With a slash at its end a link would be followed. */
	for (size_t len = strlen(real); len > 1 && real[len - 1] == '/'; len--)
		real[len - 1] = '\0';
	error = strcmp(real, box->root) ? remove_tree(real) : EINVAL;
	free(real);
	return error ? file_error(err, error, "remove", path) : 0;
}

static int box_rename(void *self, const char *from, const char *to, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	char *real_from = NULL, *real_to = NULL;
	int rc = place(self, from, cancel, &real_from, err);

	if (!rc)
		rc = place(self, to, cancel, &real_to, err);
	if (!rc && rename(real_from, real_to))
		rc = file_error(err, errno, "rename", from);
	free(real_from);
	free(real_to);
	return rc;
}

static int box_lstat(void *self, const char *path, struct sp_stat *ret_stat,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	char *real = NULL;
	struct stat st;
	int rc = place(self, path, cancel, &real, err);

	if (rc)
		return rc;
	if (lstat(real, &st))
		rc = file_error(err, errno, "look at", path);
	else
		*ret_stat = (struct sp_stat){type_of(st.st_mode), st.st_mode,
					     S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0};
	free(real);
	return rc;
}

static int box_exists(void *self, const char *path, bool *ret_exists, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	struct sp_error why = SP_ERROR_INIT;
	struct sp_stat st;
	int rc = box_lstat(self, path, &st, cancel, &why);

	/* Only what was confirmed to be absent is. */
	if (rc && rc != SP_NOT_FOUND) {
		if (err)
			*err = why;
		return rc;
	}
	*ret_exists = !rc;
	return 0;
}

/* ---- sandboxes ---- */

static const char *box_id(void *self)
{
	return ((struct box *)self)->id;
}

static const char *box_root(void *self)
{
	return ((struct box *)self)->root;
}

static int box_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	const char *root = ((struct box *)self)->root;
	int error = remove_tree(root);

	(void)cancel;
	return error ? file_error(err, error, "remove", root) : 0;
}

static void box_close(void *self)
{
	struct box *box = self;

	free(box->id);
	free(box->root);
	free(box);
}

/* What is not here is answered with SP_UNSUPPORTED by whoever calls it. */
static const struct sp_sandbox_ops box_ops = {
    .version = SP_SANDBOX_VERSION,
    .id = box_id,
    .workspace_root = box_root,
    .exec = box_exec,
    .fs_read = box_read,
    .fs_write = box_write,
    .fs_list = box_list,
    .fs_mkdir = box_mkdir,
    .fs_remove = box_remove,
    .fs_rename = box_rename,
    .fs_exists = box_exists,
    .fs_lstat = box_lstat,
    .destroy = box_destroy,
    .close = box_close,
};

/* ---- the provider ---- */

/* A handle on a box; nothing is made on the disk. */
static int open_box(const struct box_provider *p, const char *id, struct sp_sandbox *ret_sandbox,
		    struct sp_error *err)
{
	struct box *box = calloc(1, sizeof(*box));

	if (box)
		box->id = strdup(id);
	if (!box || !box->id || asprintf(&box->root, "%s/%s", p->base, id) < 0) {
		free(box ? box->id : NULL);
		free(box);
		return sp_error_set(err, SP_INTERNAL, "no memory");
	}
	*ret_sandbox = (struct sp_sandbox){&box_ops, box};
	return 0;
}

static bool is_id(const char *id)
{
	return id && *id && *id != '.' && !strchr(id, '/') && strlen(id) < NAME_MAX;
}

static const char *provider_name(void *self)
{
	(void)self;
	return "box";
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	static const struct sp_capabilities declared = {
	    .version = SP_CAPABILITIES_VERSION,
	    .exec = true,
	    .fs = true,
	    .output = SP_OUTPUT_BYTES,
	};

	(void)self;
	return &declared;
}

static int make_named(const struct box_provider *p, const char *id, struct sp_sandbox *ret_sandbox,
		      struct sp_error *err)
{
	const char *root;
	int rc = open_box(p, id, ret_sandbox, err);

	if (rc)
		return rc;
	root = box_root(ret_sandbox->self);
	if (!mkdir(root, 0700))
		return 0;
	rc = errno == EEXIST ? sp_error_set(err, SP_CONFLICT, "%s is there already", root)
			     : sp_error_set_errno(err, errno, "%s cannot be made", root);
	sp_sandbox_done(ret_sandbox);
	return rc;
}

/* Without a name of the caller's it gets one of its own. */
static int make_new(const struct box_provider *p, struct sp_sandbox *ret_sandbox,
		    struct sp_error *err)
{
	char *root = NULL;
	int rc;

	if (asprintf(&root, "%s/box-XXXXXX", p->base) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory");
	if (!mkdtemp(root)) {
		rc = sp_error_set_errno(err, errno, "%s cannot be made", root);
	} else {
		rc = open_box(p, strrchr(root, '/') + 1, ret_sandbox, err);
		if (rc)
			rmdir(root);
	}
	free(root);
	return rc;
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	int rc = sp_cancel_check(options->cancel, err);

	if (rc)
		return rc;
	if (options->n_env)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "box: env is not offered; give variables "
				    "to each command");
	if (options->network != SP_NETWORK_DEFAULT)
		return sp_error_set(err, SP_UNSUPPORTED, "box: network_policy is not offered");
	if (options->id && !is_id(options->id))
		return sp_error_set(err, SP_INVALID, "box: an id is the name of a folder");
	return options->id ? make_named(self, options->id, ret_sandbox, err)
			   : make_new(self, ret_sandbox, err);
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_sandbox found = SP_SANDBOX_INIT;
	int rc = sp_cancel_check(cancel, err);

	if (!rc && is_id(id))
		rc = open_box(self, id, &found, err);
	if (rc)
		return rc;
	if (found.ops && access(box_root(found.self), F_OK))
		sp_sandbox_done(&found);
	*ret_sandbox = found;
	return 0;
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct sp_sandbox found = SP_SANDBOX_INIT;
	int rc = provider_resume(self, id, &found, cancel, err);

	if (!rc && found.ops)
		rc = box_destroy(found.self, cancel, err);
	sp_sandbox_done(&found);
	return rc;
}

static int provider_list(void *self, struct sp_id_list *ret_list, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	const struct box_provider *p = self;
	struct sp_id_list list = SP_ID_LIST_INIT;
	struct sp_dir_list boxes = SP_DIR_LIST_INIT;
	int rc = sp_cancel_check(cancel, err), error = rc ? 0 : list_folder(p->base, "/", &boxes);

	if (!rc && error)
		rc = file_error(err, error, "list", p->base);
	if (!rc && boxes.len)
		list.ids = calloc(boxes.len, sizeof(*list.ids));
	for (size_t i = 0; list.ids && i < boxes.len; i++) {
		list.ids[list.len++] = boxes.entries[i].name;
		boxes.entries[i].name = NULL;
	}
	if (!rc && list.len < boxes.len)
		rc = sp_error_set(err, SP_INTERNAL, "no memory");
	sp_dir_list_done(&boxes);
	if (!rc)
		*ret_list = list;
	return rc;
}

static void provider_close(void *self)
{
	struct box_provider *p = self;

	free(p->base);
	free(p);
}

static const struct sp_provider_ops provider_ops = {
    .version = SP_PROVIDER_VERSION,
    .name = provider_name,
    .capabilities = provider_capabilities,
    .create = provider_create,
    .resume = provider_resume,
    .destroy = provider_destroy,
    .list = provider_list,
    .close = provider_close,
};

static int open_provider(const char *config, struct sp_provider *ret_provider, struct sp_error *err)
{
	struct box_provider *p = calloc(1, sizeof(*p));
	const char *tmp = getenv("TMPDIR");
	int n = -1;

	if (p)
		n = config && *config ? asprintf(&p->base, "%s", config)
				      : asprintf(&p->base, "%s/boxes", tmp && *tmp ? tmp : "/tmp");
	if (n < 0) {
		free(p);
		return sp_error_set(err, SP_INTERNAL, "no memory");
	}
	if (mkdir(p->base, 0700) && errno != EEXIST) {
		sp_error_set_errno(err, errno, "the folder %s cannot be made", p->base);
		provider_close(p);
		return SP_IO;
	}
	*ret_provider = (struct sp_provider){&provider_ops, p};
	return 0;
}

const struct sp_plugin *sandproof_plugin_v1(unsigned host_version)
{
	static const struct sp_plugin plugin = {
	    .version = SP_PLUGIN_VERSION,
	    .name = "box",
	    .open_provider = open_provider,
	};

	return host_version >= SP_PLUGIN_VERSION ? &plugin : NULL;
}
