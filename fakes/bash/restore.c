/* SPDX-License-Identifier: MIT */
/*
 * Snapshots, restored: into the layers before they are mounted, into the
 * memory-backed directory after.
 */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>

struct fake_restore {
	struct fake_sandbox *sandbox;
	struct fake_unpack *unpack;
	/*
	 * Upper layers by number, an ordinary user's root, the memory folder; -1
	 * while they are not to be filled.
	 */
	int *layer_fds;
	unsigned n_layers;
	int root_fd;
	int memory_fd;
	bool late;
	bool ended;
};

int fake_archive_error(struct sp_error *err, int rc, const char *verb, const char *id)
{
	switch (rc) {
	case -ECANCELED:
		return sp_error_set(err, SP_CONFLICT, "sandbox %s was ended meanwhile", id);
	case -EBADMSG:
		return sp_error_set(err, SP_PROTOCOL, "cannot %s %s: the archive is damaged", verb,
				    id);
	case -EPERM:
		return sp_error_set(err, SP_PROTOCOL,
				    "cannot %s %s: the archive holds what does not belong there",
				    verb, id);
	case -EISDIR:
		return sp_error_set(err, SP_CONFLICT,
				    "cannot %s %s: a folder stands where the archive has a file",
				    verb, id);
	default:
		return sp_error_set_errno(err, -rc, "cannot %s %s", verb, id);
	}
}

/* What follows the prefix, or NULL: a whole component. */
static const char *after(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(name, prefix, len) || (name[len] && name[len] != '/'))
		return NULL;
	return name[len] ? name + len + 1 : name + len;
}

static enum fake_place here(int fd, const char *rest, int *ret_fd, const char **ret_rest)
{
	if (fd < 0)
		return FAKE_PLACE_REFUSE;
	*ret_fd = fd;
	*ret_rest = rest;
	return FAKE_PLACE_HERE;
}

static enum fake_place place_layer(const struct fake_restore *restore, const char *rest,
				   int *ret_fd, const char **ret_rest)
{
	char *end;
	unsigned long number = strtoul(rest, &end, 10);

	if (end == rest || (*end && *end != '/') || number >= restore->n_layers)
		return FAKE_PLACE_REFUSE;
	return here(restore->layer_fds[number], *end ? end + 1 : end, ret_fd, ret_rest);
}

static enum fake_place place(void *arg, const char *name, int *ret_fd, const char **ret_rest)
{
	struct fake_restore *restore = arg;
	bool plain = restore->sandbox->engine->mode == FAKE_PLAIN;
	const char *rest;

	if (restore->ended)
		return FAKE_PLACE_REFUSE;
	rest = after(name, "l");
	if (rest)
		return restore->late ? FAKE_PLACE_REFUSE :
				       place_layer(restore, rest, ret_fd, ret_rest);
	rest = after(name, plain ? "home" : "root");
	if (rest)
		return restore->late ? FAKE_PLACE_REFUSE :
				       here(restore->root_fd, rest, ret_fd, ret_rest);
	rest = after(name, "memory");
	if (!rest && !after(name, "environ") && strcmp(name, "end"))
		return FAKE_PLACE_REFUSE;
	if (!restore->late)
		return FAKE_PLACE_LATER;
	if (rest)
		return here(restore->memory_fd, rest, ret_fd, ret_rest);
	/*
	 * Environments are kept as the service keeps them, and of no use to us:
	 * processes are not brought back.
	 */
	restore->ended = !strcmp(name, "end");
	return FAKE_PLACE_SKIP;
}

/*
 * What made the archive must be what restores it; the number of files that
 * are no news comes from there.
 */
static int read_about(struct fake_restore *restore)
{
	struct fake_sandbox *sandbox = restore->sandbox;
	struct sp_buf ours SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FAKE_ABOUT_MAX);
	char *about SP_FREE = malloc(FAKE_ABOUT_MAX);
	const char *base;
	int rc = about ? fake_unpack_bytes(restore->unpack, "about", about, FAKE_ABOUT_MAX)
		       : -ENOMEM;

	if (rc)
		return rc;
	base = strstr(about, FAKE_ABOUT_BASE);
	if (!base)
		return -EBADMSG;
	sandbox->base_files = strtoul(base + strlen(FAKE_ABOUT_BASE), NULL, 10);
	fake_about(sandbox, &ours);
	if (ours.error)
		return ours.error;
	return strcmp(about, sp_buf_str(&ours)) ? -EBADMSG : 0;
}

int fake_restore_open(struct fake_sandbox *sandbox, struct fake_restore **ret_restore,
		      struct sp_error *err)
{
	struct fake_engine *engine = sandbox->engine;
	const struct fake_unpack_rules rules = { .whole = true,
						 .privileged = engine->mode == FAKE_NAMESPACES };
	struct fake_restore *restore = calloc(1, sizeof(*restore));
	int rc = restore ? 0 : -ENOMEM;

	if (!rc) {
		*restore = (struct fake_restore){
			.sandbox = sandbox, .root_fd = -1, .memory_fd = -1
		};
		restore->layer_fds = calloc(engine->plan.overlays + 1, sizeof(int));
		rc = restore->layer_fds ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = fake_unpack_open(sandbox->archive_fd, &rules, sandbox->archive_limit,
				      &sandbox->stop, &restore->unpack);
	if (!rc)
		rc = read_about(restore);
	if (rc) {
		fake_restore_free(restore);
		return fake_archive_error(err, rc, "restore", sandbox->id);
	}
	*ret_restore = restore;
	return 0;
}

static int open_layers(struct fake_restore *restore, int dir_fd)
{
	const struct fake_engine *engine = restore->sandbox->engine;
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	for (; restore->n_layers < engine->plan.overlays; restore->n_layers++) {
		char path[32];
		int fd;

		snprintf(path, sizeof(path), "l/%u/u", restore->n_layers);
		fd = openat(dir_fd, path, flags);
		if (fd < 0)
			return -errno;
		restore->layer_fds[restore->n_layers] = fd;
	}
	if (engine->mode == FAKE_PLAIN)
		restore->root_fd = openat(dir_fd, "home", flags);
	else if (engine->user_ns)
		restore->root_fd = openat(dir_fd, "root", flags);
	else
		return 0;
	return restore->root_fd < 0 ? -errno : 0;
}

/* Nobody writes below a mounted overlay: its layers are let go. */
static void close_layers(struct fake_restore *restore)
{
	while (restore->n_layers)
		sp_close(restore->layer_fds[--restore->n_layers]);
	restore->root_fd = sp_close(restore->root_fd);
}

int fake_restore_layers(struct fake_restore *restore, int dir_fd, struct sp_error *err)
{
	int rc = open_layers(restore, dir_fd);

	if (!rc)
		rc = fake_unpack_run(restore->unpack, place, restore);
	close_layers(restore);
	/* The end must still come. */
	if (rc > 0)
		rc = -EBADMSG;
	return rc ? fake_archive_error(err, rc, "restore", restore->sandbox->id) : 0;
}

int fake_restore_memory(struct fake_restore *restore, struct sp_error *err)
{
	const struct fake_sandbox *sandbox = restore->sandbox;
	bool plain = sandbox->engine->mode == FAKE_PLAIN;
	int rc = 0;

	restore->late = true;
	restore->memory_fd =
		openat(plain ? sandbox->memory_fd : sandbox->root_fd, plain ? "." : "dev",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (restore->memory_fd < 0)
		rc = -errno;
	if (!rc)
		rc = fake_unpack_run(restore->unpack, place, restore);
	if (rc == 1)
		rc = restore->ended ? 0 : -EBADMSG;
	return rc ? fake_archive_error(err, rc, "restore", sandbox->id) : 0;
}

void fake_restore_free(struct fake_restore *restore)
{
	if (!restore)
		return;
	if (restore->unpack)
		fake_unpack_free(restore->unpack);
	close_layers(restore);
	sp_close(restore->memory_fd);
	free(restore->layer_fds);
	free(restore);
}
