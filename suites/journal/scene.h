/* SPDX-License-Identifier: MIT */
/* What the cases of this suite set up: a folder of journals, runs that write them, readers. */
#ifndef SUITE_JOURNAL_SCENE_H
#define SUITE_JOURNAL_SCENE_H

#include <stdint.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <witness/call.h>
#include <witness/fifo.h>
#include <witness/rounds.h>
#include <witness/shell.h>

#include "names.h"
#include "relay.h"

/* A place with a folder of journals that nobody else uses, and one run in it. */
struct scene {
	struct sp_case *t;
	struct sp_sandbox *sandbox;
	struct sp_journal *journal;
	struct sp_place place;
	/* No pause between polls, no first-byte deadline, the scene's folder. Cases change their
	 * own copy. */
	struct sp_journal_options options;
	/* Folder of the journals; not made yet. */
	const char *dir;
	/* The run, and its two files. */
	const char *run;
	const char *file;
	const char *err_file;
};

#define SCENE_INIT                                                                                 \
	{                                                                                          \
		.place = SP_PLACE_INIT                                                             \
	}
/* struct scene s SCENE = SCENE_INIT; declare it first. */
#define SCENE SP_CLEANUP(scene_done)

/* Opens it in the case's sandbox. False after a recorded failure. */
bool scene_open(struct sp_case *t, struct scene *s);
/* Same in memory, where there is some: a follower is told of changes there. */
bool scene_open_live(struct sp_case *t, struct scene *s);
/* Same in the sandbox that the scene holds already, with another run id (NULL: a plain one). */
bool scene_set_run(struct scene *s, const char *run_id);
/* See SCENE. */
void scene_done(struct scene *s);

/* A cancel of a case's own: struct sp_cancel *c SP_CLEANUP(scene_cancel_done) = scene_cancel(t);
 * NULL after a recorded error. */
struct sp_cancel *scene_cancel(struct sp_case *t);
/* See scene_cancel(). */
void scene_cancel_done(struct sp_cancel **cancel);

/* ---- Journals that the case writes itself ---- */

/* Appends bytes to a file by a command; its folder is made. False after a recorded failure. */
bool scene_append(struct scene *s, const char *file, const void *data, size_t len);
/* Same, of the run's journal, as printf(3) text. */
bool scene_write(struct scene *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The bytes of a file, by a command. False after a recorded failure, also for a missing file. */
bool scene_fetch(struct scene *s, const char *file, struct sp_bytes *ret_bytes);
/* Fails the case at `where` unless the file holds exactly these bytes. */
bool scene_check_file(struct scene *s, const char *file, const char *text, struct sp_where where,
		      const char *what);

/* ---- Runs ---- */

/*
 * A run that writes its journal while the case looks. The subject starts it; where there are no
 * background processes its start() comes back with the end, so the case itself runs the contract's
 * command on a thread.
 */
struct producer {
	struct scene *s;
	struct sp_spawned child;
	struct sp_exec_options options;
	struct sp_call *call;
};

#define PRODUCER_INIT                                                                              \
	{                                                                                          \
		.child = SP_SPAWNED_INIT                                                           \
	}
/* struct producer p PRODUCER = PRODUCER_INIT; declare it after the scene. */
#define PRODUCER SP_CLEANUP(producer_done)

/* Starts `command` as the scene's run. False after a recorded failure. */
bool producer_start(struct scene *s, struct producer *p, const char *command);
/* Waits until it has ended. False after a recorded failure. */
bool producer_await(struct producer *p);
/* The subject starts it and it is waited for: a finished run. */
bool scene_run(struct scene *s, const char *command);
/* See PRODUCER. */
void producer_done(struct producer *p);

/* ---- Readers ---- */

/* A reader with a cancel of its own. Each line is taken on a thread, so that a hang is the case's
 * limit. */
struct reader {
	struct scene *s;
	/* Before what it reads through where its polls are counted. */
	struct relay relay;
	/*
	 * Nothing is written any more, so that every answer is there already: a reader that polls
	 * on is aborted, see relay_bound().
	 */
	bool settled;
	struct sp_journal_reader reader;
	struct sp_cancel *cancel;
	/* What the pending take() gets. */
	struct sp_journal_line line;
	bool end;
	struct sp_call *pending;
};

#define READER_INIT                                                                                \
	{                                                                                          \
		.relay = RELAY_INIT, .reader = SP_JOURNAL_READER_INIT,                             \
		.line = SP_JOURNAL_LINE_INIT                                                       \
	}
/* struct reader r READER = READER_INIT; declare it after what it reads from. */
#define READER SP_CLEANUP(reader_done)

/* Between two polls: nothing, or what keeps their number small where each is a request. */
uint32_t scene_poll_ms(const struct scene *s);

/* Opens a reader of the scene's run. False after a recorded failure. */
bool reader_open(struct scene *s, struct reader *r, uint64_t from,
		 enum sp_journal_strategy strategy);
/* Same with the options and sandbox given; the options' cancel is replaced by the reader's own. */
bool reader_open_with(struct scene *s, struct reader *r, struct sp_sandbox *sandbox, uint64_t from,
		      const struct sp_journal_options *options);
/* Asks for the next line on a thread; it is pending until reader_answer(). NULL after a recorded
 * error. */
struct sp_call *reader_ask(struct reader *r);
/* Waits for what was asked for: r->line and r->end are set then. NULL without a question. */
struct sp_call_result *reader_answer(struct reader *r);
/* Asks and waits. */
struct sp_call_result *reader_next(struct reader *r);

/* The next line must be this one, ending at byte `end`. */
bool reader_take(struct reader *r, const void *text, size_t len, uint64_t end,
		 struct sp_where where, const char *what);
/* The next line must be the run's exit with this code, ending at byte `end`. */
bool reader_take_exit(struct reader *r, int code, uint64_t end, struct sp_where where,
		      const char *what);
/* The answer that was asked for must be this line. */
bool reader_check_line(struct reader *r, struct sp_call_result *result, const void *text,
		       size_t len, uint64_t end, struct sp_where where, const char *what);
/*
 * Every complete line of `content` from byte `from` on must come, each once and with its place;
 * then, with `code` not negative, the exit, whose sentinel follows the content.
 */
bool reader_take_all(struct reader *r, const void *content, size_t len, uint64_t from, int code,
		     struct sp_where where, const char *what);
/*
 * Opens a reader and takes its first answer, whichever of the two refuses; r->line and r->end are
 * set when it is 0. Hangs end with the case's limit.
 */
int reader_first(struct scene *s, struct reader *r, struct sp_sandbox *sandbox, uint64_t from,
		 const struct sp_journal_options *options, struct sp_error *err);
/*
 * Same where that answer must be an error at once: a reader that polls on is aborted, see
 * relay_bound().
 */
int reader_first_refused(struct scene *s, struct reader *r, struct sp_sandbox *sandbox,
			 uint64_t from, const struct sp_journal_options *options,
			 struct sp_error *err);
/* An answer must be an error that is neither an abort nor a deadline; what came instead is told. */
bool reader_check_refused(struct reader *r, int rc, const struct sp_error *err,
			  struct sp_where where, const char *what);
/* The next answer must be such an error; the reader is settled from then on. */
bool reader_check_error(struct reader *r, struct sp_where where, const char *what);
/* A new reader from `from` must be refused so, at once or with its first answer; it reads through
 * s->sandbox. */
bool scene_check_refused(struct scene *s, uint64_t from, enum sp_journal_strategy strategy,
			 struct sp_where where, const char *what);
/* Ends it and frees what it holds; also for READER. */
void reader_done(struct reader *r);

/* A reader from 0 of a run that has ended gives exactly this content and then the exit. */
bool scene_reads(struct scene *s, enum sp_journal_strategy strategy, const void *content,
		 size_t len, int code, struct sp_where where, const char *what);

/* Name of a state for messages ("finished"). */
const char *scene_state_name(enum sp_journal_state state);
/* The probe must say this; `code` counts only for a finished run. */
bool scene_check_state(struct scene *s, enum sp_journal_state state, int code,
		       struct sp_where where, const char *what);

#endif
