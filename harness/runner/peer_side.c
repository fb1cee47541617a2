/* SPDX-License-Identifier: MIT */
/* A peer from within: finds its place, opens a subject of its own, runs the case's function. */
#include "coverage.h"
#include "nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>

#include "peer.h"
#include "worker.h"

/* What a small disk has room for. */
#define SMALL_DISK "size=1m,mode=700"

struct sp_peer_side_impl {
	struct sp_peer_side side;
	int in, out;
};

/* ---- places ---- */

static int write_text(const char *path, const char *text)
{
	int fd SP_CLOSE = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : sp_write_all(fd, text, strlen(text));
}

/* Mounts of its own; an ordinary user gets them by a user namespace. */
static int own_mounts(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int rc = 0;

	if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS))
		return -errno;
	if (uid) {
		snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
		rc = write_text("/proc/self/setgroups", "deny");
		if (!rc)
			rc = write_text("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
		if (!rc)
			rc = write_text("/proc/self/gid_map", map);
	}
	/* Nothing that is mounted here may reach anybody else. */
	if (!rc && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		rc = -errno;
	return rc;
}

static int read_only(const char *dir)
{
	unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
	struct statvfs vfs;

	if (mount(dir, dir, NULL, MS_BIND, NULL) || statvfs(dir, &vfs))
		return -errno;
	/* What the mount was locked to has to be said again. */
	flags |= vfs.f_flag & ST_NOSUID ? MS_NOSUID : 0;
	flags |= vfs.f_flag & ST_NODEV ? MS_NODEV : 0;
	flags |= vfs.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
	return mount(NULL, dir, NULL, flags, NULL) ? -errno : 0;
}

static int small_disk(const char *dir)
{
	return mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV, SMALL_DISK) ? -errno : 0;
}

static int enter_place(enum sp_peer_place place)
{
	int rc = place == SP_PEER_PLAIN ? 0 : own_mounts();

	if (rc)
		return rc;
	switch (place) {
	case SP_PEER_PLAIN:
		return 0;
	case SP_PEER_SMALL_DISK:
		return small_disk(sp_tmp_root());
	case SP_PEER_READ_ONLY_DISK:
		return read_only(sp_tmp_root());
	}
	return -EINVAL;
}

/* ---- lines ---- */

bool sp_side_say(struct sp_peer_side *side, const char *format, ...)
{
	struct sp_peer_side_impl *impl = (struct sp_peer_side_impl *)side;
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_PEER_LINE);
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&line, format, args);
	va_end(args);
	sp_buf_addc(&line, '\n');
	return !line.error && !sp_write_all(impl->out, sp_buf_str(&line), line.len);
}

bool sp_side_hear(struct sp_peer_side *side, char *buffer, size_t size)
{
	struct sp_peer_side_impl *impl = (struct sp_peer_side_impl *)side;
	size_t len = 0;
	char c = '\0';

	while (c != '\n') {
		ssize_t n = read(impl->in, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		if (c != '\n' && len + 1 < size)
			buffer[len++] = c;
	}
	buffer[len] = '\0';
	return true;
}

/* ---- its life ---- */

static void run(const struct sp_worker_options *options, const struct sp_peer_order *order,
		struct sp_peer_side_impl *impl)
{
	struct sp_subject subject = SP_SUBJECT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = enter_place(order->place);

	if (rc) {
		sp_side_say(&impl->side, SP_PEER_CANNOT " %s", strerror(-rc));
		return;
	}
	rc = options->run->open(options->run->opener, order->kind, order->spec, options->workspace,
				&subject, &err);
	if (rc) {
		sp_side_say(&impl->side, SP_PEER_REFUSED " %d %s", rc, err.message);
		return;
	}
	impl->side.subject = &subject;
	impl->side.cancel = sp_cancel_new();
	sp_cancel_set_deadline(impl->side.cancel, order->cancel_at);
	sp_side_say(&impl->side, SP_PEER_READY);
	order->fn(&impl->side);
	sp_subject_done(&subject);
	sp_cancel_unref(impl->side.cancel);
	sp_side_say(&impl->side, SP_PEER_DONE);
}

_Noreturn void sp_peer_main(const struct sp_worker_options *options,
			    const struct sp_peer_order *order, const void *arg, int in, int out)
{
	struct sp_peer_side_impl impl = {
	    .side = {.arg = arg, .arg_len = order->arg_len}, .in = in, .out = out};
	char go[16];

	if (sp_side_hear(&impl.side, go, sizeof(go)))
		run(options, order, &impl);
	sp_coverage_dump(options->run);
	_exit(0);
}
