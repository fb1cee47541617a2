/* SPDX-License-Identifier: MIT */
#include "leaks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#include "census.h"
#include "labels.h"
#include "procs.h"
#include "worker.h"

/* Things that are named in one message. */
#define NAMED 8
/*
 * How long a process that was told to end may take to do so. Only a
 * suspicion waits; a pass never does.
 */
#define PATIENCE_MS 2000
#define PATIENCE_SHARE 4
#define MESSAGE_CEILING 8192

struct sp_leaks {
	struct sp_worker *w;
	struct sp_labels fds;
	struct sp_labels pids;
	struct sp_labels files;
	/* Labelled descriptors that a proof has shown to be caches. */
	size_t fds_allowed;
	struct sp_shared_look look[SP_SUBJECT_KIND_MAX_];
};

/* ---- seeing ---- */

static void see_fds(struct sp_leaks *leaks, const char *label)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return;
	sp_labels_begin(&leaks->fds);
	while ((entry = readdir(dir))) {
		char target[512], name[1024];
		ssize_t len;

		if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == dirfd(dir))
			continue;
		len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		snprintf(name, sizeof(name), "%.20s (%s)", entry->d_name, target);
		sp_labels_see(&leaks->fds, name, label);
	}
	closedir(dir);
	sp_labels_end(&leaks->fds);
}

static void see_pid(struct sp_leaks *leaks, pid_t pid, const char *label)
{
	char name[32];

	snprintf(name, sizeof(name), "%d", (int)pid);
	sp_labels_see(&leaks->pids, name, label);
}

/* Our descendants, and orphans of ours, which the supervisor adopted: they carry our mark. */
static void see_pids(struct sp_leaks *leaks, const char *label)
{
	struct sp_pid_list ours SP_CLEANUP(sp_pid_list_done) = { 0 };
	struct sp_pid_list theirs SP_CLEANUP(sp_pid_list_done) = { 0 };
	const struct sp_worker_options *options = leaks->w->options;

	sp_descendants_of(getpid(), &ours);
	sp_children_of(options->supervisor, &theirs);
	for (size_t i = 0; i < theirs.len; i++) {
		pid_t pid = theirs.pids[i];

		if (pid == getpid() || !sp_has_mark(pid, options->mark))
			continue;
		sp_pid_list_add(&ours, pid);
		sp_descendants_of(pid, &ours);
	}
	sp_labels_begin(&leaks->pids);
	for (size_t i = 0; i < ours.len; i++)
		see_pid(leaks, ours.pids[i], label);
	sp_labels_end(&leaks->pids);
}

static void see_files(struct sp_leaks *leaks, const char *label)
{
	DIR *dir = opendir(leaks->w->options->tmp_dir);
	struct dirent *entry;

	if (!dir)
		return;
	sp_labels_begin(&leaks->files);
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			sp_labels_see(&leaks->files, entry->d_name, label);
	closedir(dir);
	sp_labels_end(&leaks->files);
}

static void see_all(struct sp_leaks *leaks, const char *label)
{
	see_fds(leaks, label);
	see_pids(leaks, label);
	see_files(leaks, label);
}

struct sp_leaks *sp_leaks_new(struct sp_worker *w)
{
	struct sp_leaks *leaks = calloc(1, sizeof(*leaks));

	if (!leaks)
		return NULL;
	leaks->w = w;
	see_all(leaks, NULL);
	return leaks;
}

struct sp_leaks *sp_leaks_free(struct sp_leaks *leaks)
{
	if (!leaks)
		return NULL;
	sp_labels_done(&leaks->fds);
	sp_labels_done(&leaks->pids);
	sp_labels_done(&leaks->files);
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		sp_shared_look_done(&leaks->look[kind]);
	free(leaks);
	return NULL;
}

void sp_leaks_absorb_begin(struct sp_leaks *leaks)
{
	see_all(leaks, leaks->w->case_id);
}

void sp_leaks_absorb_end(struct sp_leaks *leaks)
{
	see_all(leaks, NULL);
}

void sp_leaks_shared_base(struct sp_leaks *leaks, struct sp_opened *opened)
{
	sp_guard_mute(leaks->w->guard, true);
	sp_shared_look_take(&leaks->look[opened->kind], opened);
	sp_guard_mute(leaks->w->guard, false);
}

/* ---- processes ---- */

/* Waits until a process has ended, or patience has; true when it has ended. */
static bool ended(pid_t pid, uint64_t deadline)
{
	struct pollfd pfd = { .fd = sp_pidfd_open(pid), .events = POLLIN };
	int fd SP_CLOSE = pfd.fd;

	if (fd < 0)
		return true;
	while (poll(&pfd, 1, sp_until_ms(deadline)) < 0 && errno == EINTR)
		;
	return pfd.revents != 0;
}

/* A share of the limit, which is scaled already, so that the tear-down does not run into it. */
static uint64_t patience(uint64_t limit_ms)
{
	uint64_t longest = sp_deadline_ms(PATIENCE_MS);
	uint64_t share = sp_now() + limit_ms * SP_MS / PATIENCE_SHARE;

	return limit_ms && share < longest ? share : longest;
}

static void kill_pid(pid_t pid)
{
	int fd SP_CLOSE = sp_pidfd_open(pid);

	if (fd >= 0)
		sp_pidfd_signal(fd, SIGKILL);
}

static void check_pids(struct sp_leaks *leaks)
{
	uint64_t deadline = 0;

	see_pids(leaks, leaks->w->case_id);
	for (size_t i = 0; i < leaks->pids.len; i++) {
		struct sp_labelled *item = &leaks->pids.items[i];
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_CEILING);
		pid_t pid = (pid_t)strtol(item->name, NULL, 10);

		if (!item->label)
			continue;
		if (!deadline)
			deadline = patience(leaks->w->limit_ms);
		if (ended(pid, deadline))
			continue;
		sp_describe_pid(pid, &text);
		sp_worker_leak(leaks->w, item->label, "process",
			       "a process still runs after the case: %s", sp_buf_str(&text));
		kill_pid(pid);
		/* Reported once. */
		item->label = NULL;
	}
}

/* ---- files ---- */

static void check_files(struct sp_leaks *leaks)
{
	int dir SP_CLOSE = -1;

	see_files(leaks, leaks->w->case_id);
	if (!sp_labels_count(&leaks->files))
		return;
	dir = open(leaks->w->options->tmp_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < leaks->files.len; i++) {
		struct sp_labelled *item = &leaks->files.items[i];

		if (!item->label)
			continue;
		sp_worker_leak(leaks->w, item->label, "file",
			       "%s is left in the temporary folder", item->name);
		if (dir >= 0)
			sp_remove_tree_at(dir, item->name);
		item->label = NULL;
	}
}

/* ---- descriptors ---- */

/* One line a case, with the first few descriptors by name. */
static void report_fds(struct sp_leaks *leaks)
{
	for (size_t i = 0; i < leaks->fds.len; i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_CEILING);
		const char *label = leaks->fds.items[i].label;
		size_t count = 0;

		if (!label)
			continue;
		for (size_t k = i; k < leaks->fds.len; k++) {
			struct sp_labelled *item = &leaks->fds.items[k];

			if (!item->label || strcmp(item->label, label))
				continue;
			if (count++ < NAMED)
				sp_buf_addf(&text, "%s%s", count > 1 ? ", " : "", item->name);
			/* Reported once. */
			item->label = NULL;
		}
		sp_worker_leak(leaks->w, label, "descriptor",
			       "%zu descriptor%s still open after the subject was closed: %s",
			       count, count == 1 ? " is" : "s are", sp_buf_str(&text));
	}
}

static void check_fds(struct sp_leaks *leaks)
{
	size_t suspects;

	see_fds(leaks, leaks->w->case_id);
	suspects = sp_labels_count(&leaks->fds);
	if (suspects <= leaks->fds_allowed)
		return;
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		sp_worker_close_subject(leaks->w, &leaks->w->opened[kind]);
	see_fds(leaks, leaks->w->case_id);
	if (sp_labels_count(&leaks->fds))
		report_fds(leaks);
	else
		/*
		 * A proof costs the shared sandbox: caches that grow a little are asked for few of
		 * them. What leaks meanwhile keeps its case's name and is told by the next proof or
		 * at the end.
		 */
		leaks->fds_allowed = 2 * suspects;
}

void sp_leaks_check(struct sp_leaks *leaks, struct sp_opened *opened)
{
	sp_guard_mute(leaks->w->guard, true);
	sp_census_check(leaks->w, opened, &leaks->look[opened->kind]);
	sp_guard_mute(leaks->w->guard, false);
	check_pids(leaks);
	check_files(leaks);
	check_fds(leaks);
}

void sp_leaks_final(struct sp_leaks *leaks)
{
	check_pids(leaks);
	check_files(leaks);
	see_fds(leaks, leaks->w->case_id);
	if (sp_labels_count(&leaks->fds))
		report_fds(leaks);
}
