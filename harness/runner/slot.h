/* SPDX-License-Identifier: MIT */
/*
 * A slot: one place for a worker, which outlives the workers that sit in it. The supervisor's view
 * of them; no waiting happens here.
 */
#ifndef SP_RUNNER_SLOT_H
#define SP_RUNNER_SLOT_H

#include <sys/types.h>

#include <runner/runner.h>

#include "ledger.h"
#include "shared.h"
#include "wire.h"

/* What the worker of a slot does. Every state but EMPTY and IDLE has a deadline. */
enum sp_slot_state {
	/* No process. */
	SP_SLOT_EMPTY = 0,
	SP_SLOT_IDLE,
	/* Got a case; opens its subject, looks at what the case needs. */
	SP_SLOT_OPENING,
	/* In the function of the case. */
	SP_SLOT_BODY,
	/* Removes what the case made, looks for what it left. */
	SP_SLOT_TEARDOWN,
	/* Removes what an earlier worker left. */
	SP_SLOT_CLEANING,
	/* Closes everything and ends. */
	SP_SLOT_QUITTING,
	/* Was sent TERM; KILL follows. */
	SP_SLOT_TERMED,
	/* Was sent KILL. */
	SP_SLOT_KILLED,
};

/* What is the same for all slots. Borrowed, except as said. */
struct sp_slot_options {
	const struct sp_run_options *run;
	const char *run_id;
	struct sp_ledger *ledger;
	/* Folder of the run; each slot gets one below it. */
	const char *dir;
	/* Descriptors of the supervisor that a worker must not have. */
	const int *private_fds;
	size_t n_private_fds;
};

/* A sandbox that was made and not removed, or a record that was written and not deleted. */
struct sp_slot_thing {
	char *id;
	/* A leak line names it already. */
	bool reported;
};

struct sp_slot {
	const struct sp_slot_options *options;
	int number;
	enum sp_slot_state state;
	/* State in which TERM was sent, and why the supervisor did it. */
	enum sp_slot_state stopped_in;
	bool late;
	bool interrupted;
	/* Its subject could not be opened, in the case that it runs. */
	bool not_opened;
	pid_t pid;
	int pidfd;
	int sock;
	uint64_t mark;
	/* Absolute; 0: none. */
	uint64_t deadline;
	uint64_t slow_at;

	/* The case that it runs, an index of the selection, and when that began. */
	size_t index;
	int64_t start;
	uint64_t begun;
	/* Id of the case that ran last, for leaks that are found later; static text. */
	const char *last_id;

	struct sp_shared *shared;
	char *workspace;
	char *tmp_dir;
	char *log_path;
	/* Bytes of the log before the running case. */
	off_t log_from;
	struct sp_slot_thing *made;
	size_t n_made;
	/* The same of records, by key. */
	struct sp_slot_thing *wrote;
	size_t n_wrote;
	/* The worker opened a subject, so it may have made things. */
	bool opened;
	/* A worker ended without removing what it made. */
	bool dirty;
	/* One was started to remove it, and no case has run since. */
	bool cleaned;
	/* It said so before it ended by itself. */
	bool retired;
	bool said_bye;
	/* No more work, and nothing to remove. */
	bool over;
};

/* Makes folder, memory and workspace of a slot. */
int sp_slot_open(struct sp_slot *slot, const struct sp_slot_options *options, int number,
		 struct sp_error *err);
/* Frees everything; no worker is left. */
void sp_slot_close(struct sp_slot *slot);

/* Forks a worker into an empty slot; the slot is then idle. */
int sp_slot_start(struct sp_slot *slot, struct sp_error *err);
/* Signals the worker's process group. */
void sp_slot_signal(struct sp_slot *slot, int signal);
/*
 * The worker has ended: ends what it left running, empties its folder, closes what belonged to it.
 */
void sp_slot_ended(struct sp_slot *slot);

/*
 * Messages to the worker. A worker that takes none is dead or will be late, so nothing is returned.
 */
void sp_slot_send_run(struct sp_slot *slot, struct sp_wire *wire, size_t index, uint64_t limit_ms);
void sp_slot_send_clean(struct sp_slot *slot, struct sp_wire *wire);
void sp_slot_send_quit(struct sp_slot *slot, struct sp_wire *wire);

/* Keeps the list of what was made; `id` is the caller's. */
void sp_slot_made(struct sp_slot *slot, const char *id);
void sp_slot_gone(struct sp_slot *slot, const char *id);
/* The same of records. */
void sp_slot_wrote(struct sp_slot *slot, const char *key);
void sp_slot_forgot(struct sp_slot *slot, const char *key);
/* A leak line names the sandbox or the record. */
void sp_slot_reported(struct sp_slot *slot, const char *id);

/* Appends what the worker printed since its case began, its last few KiB. */
void sp_slot_last_words(const struct sp_slot *slot, struct sp_buf *out);

#endif
