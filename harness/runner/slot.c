/* SPDX-License-Identifier: MIT */
#include "slot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#include "procs.h"
#include "worker.h"

#define LAST_WORDS 4096

int sp_slot_open(struct sp_slot *slot, const struct sp_slot_options *options, int number,
		 struct sp_error *err)
{
	const struct sp_run_options *run = options->run;

	*slot = (struct sp_slot){
		.options = options,
		.number = number,
		.pid = -1,
		.pidfd = -1,
		.sock = -1,
		.last_id = "",
	};
	slot->shared = sp_shared_new();
	if (!slot->shared || asprintf(&slot->tmp_dir, "%s/w%d", options->dir, number) < 0 ||
	    asprintf(&slot->log_path, "%s/w%d.log", options->dir, number) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a worker");
	if (mkdir(slot->tmp_dir, 0700))
		return sp_error_set_errno(err, errno, "cannot make the folder %s", slot->tmp_dir);
	if (!run->workspace)
		return 0;
	return run->workspace(run->opener, number, &slot->workspace, err);
}

void sp_slot_close(struct sp_slot *slot)
{
	sp_shared_free(slot->shared);
	for (size_t i = 0; i < slot->n_made; i++)
		free(slot->made[i].id);
	for (size_t i = 0; i < slot->n_wrote; i++)
		free(slot->wrote[i].id);
	free(slot->made);
	free(slot->wrote);
	free(slot->workspace);
	free(slot->tmp_dir);
	free(slot->log_path);
	memset(slot, 0, sizeof(*slot));
}

/* ---- the process ---- */

/* Never returns: the supervisor's stack and handlers of exit are not the worker's. */
static _Noreturn void be_worker(struct sp_slot *slot, int sock, pid_t supervisor)
{
	const struct sp_slot_options *o = slot->options;
	struct sp_worker_options options = {
		.run = o->run,
		.slot = slot->number,
		.run_id = o->run_id,
		.sock = sock,
		.shared = slot->shared,
		.ledger = o->ledger,
		.workspace = slot->workspace,
		.tmp_dir = slot->tmp_dir,
		.log_path = slot->log_path,
		.mark = slot->mark,
		.supervisor = supervisor,
	};

	for (size_t i = 0; i < o->n_private_fds; i++)
		if (o->private_fds[i] >= 0)
			close(o->private_fds[i]);
	_exit(sp_worker_main(&options));
}

int sp_slot_start(struct sp_slot *slot, struct sp_error *err)
{
	pid_t supervisor = getpid();
	int ours SP_CLOSE = -1, theirs SP_CLOSE = -1;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return sp_error_set_errno(err, errno, "no socket for a worker");
	ours = pair[0];
	theirs = pair[1];
	/* Unique among all runs of this machine, and below what is "unlimited". */
	sp_random(&slot->mark, sizeof(slot->mark));
	slot->mark = slot->mark >> 4 | UINT64_C(1) << 59;
	/* Or the worker would print it a second time. */
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return sp_error_set_errno(err, errno, "no process for a worker");
	if (!pid) {
		sp_close(SP_TAKE_FD(ours));
		be_worker(slot, SP_TAKE_FD(theirs), supervisor);
	}
	slot->pid = pid;
	slot->pidfd = sp_pidfd_open(pid);
	if (slot->pidfd < 0) {
		kill(pid, SIGKILL);
		return sp_error_set_errno(err, -slot->pidfd, "no descriptor for a worker");
	}
	slot->sock = SP_TAKE_FD(ours);
	slot->state = SP_SLOT_IDLE;
	slot->deadline = 0;
	slot->slow_at = 0;
	slot->late = slot->interrupted = slot->retired = slot->said_bye = slot->opened = false;
	return 0;
}

void sp_slot_signal(struct sp_slot *slot, int signal)
{
	if (slot->pid <= 0)
		return;
	/* It may not have reached its setsid() yet. */
	if (kill(-slot->pid, signal))
		sp_pidfd_signal(slot->pidfd, signal);
}

void sp_slot_ended(struct sp_slot *slot)
{
	sp_kill_marked(slot->mark, 0);
	sp_remove_tree(slot->tmp_dir);
	mkdir(slot->tmp_dir, 0700);
	slot->sock = sp_close(slot->sock);
	slot->pidfd = sp_close(slot->pidfd);
	slot->pid = -1;
	slot->state = SP_SLOT_EMPTY;
	slot->deadline = slot->slow_at = 0;
}

/* ---- messages ---- */

static off_t log_size(const struct sp_slot *slot)
{
	struct stat st;

	return stat(slot->log_path, &st) ? 0 : st.st_size;
}

void sp_slot_send_run(struct sp_slot *slot, struct sp_wire *wire, size_t index, uint64_t limit_ms)
{
	slot->index = index;
	slot->last_id = slot->options->run->selection.cases[index]->id;
	slot->start = sp_wall_ms();
	slot->begun = sp_now();
	slot->not_opened = false;
	slot->log_from = log_size(slot);
	slot->state = SP_SLOT_OPENING;
	slot->cleaned = false;
	sp_wire_start(wire, SP_WIRE_RUN);
	sp_wire_put(wire, index);
	sp_wire_put(wire, limit_ms);
	(void)sp_wire_send(wire, slot->sock);
}

/* As many as one message has room for; the others are told as left. */
static void put_records(const struct sp_slot *slot, struct sp_wire *wire)
{
	size_t n = 0, room = SP_WIRE_MAX > wire->len ? (SP_WIRE_MAX - wire->len) / 2 : 0;

	for (size_t used = 0; n < slot->n_wrote; n++) {
		used += strlen(slot->wrote[n].id) + 2 * sizeof(uint64_t);
		if (used > room)
			break;
	}
	sp_wire_put(wire, n);
	for (size_t i = 0; i < n; i++)
		sp_wire_put_text(wire, slot->wrote[i].id);
}

void sp_slot_send_clean(struct sp_slot *slot, struct sp_wire *wire)
{
	slot->state = SP_SLOT_CLEANING;
	sp_wire_start(wire, SP_WIRE_CLEAN);
	sp_wire_put(wire, slot->n_made);
	for (size_t i = 0; i < slot->n_made; i++)
		sp_wire_put_text(wire, slot->made[i].id);
	put_records(slot, wire);
	(void)sp_wire_send(wire, slot->sock);
}

void sp_slot_send_quit(struct sp_slot *slot, struct sp_wire *wire)
{
	slot->state = SP_SLOT_QUITTING;
	sp_wire_start(wire, SP_WIRE_QUIT);
	(void)sp_wire_send(wire, slot->sock);
}

/* ---- what it made ---- */

static struct sp_slot_thing *find_thing(struct sp_slot_thing *things, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(things[i].id, id))
			return &things[i];
	return NULL;
}

static void add_thing(struct sp_slot_thing **things, size_t *n, const char *id)
{
	struct sp_slot_thing *longer = reallocarray(*things, *n + 1, sizeof(*longer));
	char *copy = strdup(id);

	if (longer)
		*things = longer;
	if (longer && copy)
		longer[(*n)++] = (struct sp_slot_thing){SP_TAKE(copy), false};
	free(copy);
}

static void drop_thing(struct sp_slot_thing *things, size_t *n, const char *id)
{
	struct sp_slot_thing *thing = find_thing(things, *n, id);

	if (!thing)
		return;
	free(thing->id);
	*thing = things[--*n];
}

void sp_slot_made(struct sp_slot *slot, const char *id)
{
	add_thing(&slot->made, &slot->n_made, id);
}

void sp_slot_gone(struct sp_slot *slot, const char *id)
{
	drop_thing(slot->made, &slot->n_made, id);
}

void sp_slot_wrote(struct sp_slot *slot, const char *key)
{
	if (!find_thing(slot->wrote, slot->n_wrote, key))
		add_thing(&slot->wrote, &slot->n_wrote, key);
}

void sp_slot_forgot(struct sp_slot *slot, const char *key)
{
	drop_thing(slot->wrote, &slot->n_wrote, key);
}

void sp_slot_reported(struct sp_slot *slot, const char *id)
{
	struct sp_slot_thing *thing = find_thing(slot->made, slot->n_made, id);

	if (!thing)
		thing = find_thing(slot->wrote, slot->n_wrote, id);
	if (thing)
		thing->reported = true;
}

void sp_slot_last_words(const struct sp_slot *slot, struct sp_buf *out)
{
	int fd SP_CLOSE = open(slot->log_path, O_RDONLY | O_CLOEXEC);
	off_t from = slot->log_from, size = log_size(slot);
	char text[LAST_WORDS];
	ssize_t n;

	if (fd < 0 || size <= from)
		return;
	if (size - from > LAST_WORDS)
		from = size - LAST_WORDS;
	n = pread(fd, text, sizeof(text), from);
	if (n <= 0)
		return;
	sp_buf_adds(out, "the worker's last words:\n");
	sp_buf_add(out, text, (size_t)n);
}
