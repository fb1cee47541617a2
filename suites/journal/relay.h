/* SPDX-License-Identifier: MIT */
/*
 * A relay: a sandbox that stands between the journal and the real one, so that a case can count
 * what the journal does and make single answers bad, on any provider. Only what a journal may use
 * passes: commands. File calls answer *unsupported*, since journals are touched by the shell alone.
 *
 * A journal that lives in another process looks its sandbox up by id and never comes by here;
 * relay_used() says so, and the case is a named skip then.
 */
#ifndef SUITE_JOURNAL_RELAY_H
#define SUITE_JOURNAL_RELAY_H

#include <pthread.h>
#include <stdatomic.h>

#include <base/cleanup.h>
#include <sandproof/case.h>

struct relay;
struct relay_process;

/* What a case changes; NULL passes through. Called on whatever thread the journal uses. */
struct relay_hooks {
	int (*exec)(struct relay *relay, const struct sp_exec_options *options,
		    struct sp_exec_result *ret_result, struct sp_error *err);
	int (*spawn)(struct relay *relay, const struct sp_exec_options *options,
		     struct sp_process *ret_process, struct sp_error *err);
	int (*read)(struct relay_process *process, enum sp_stream stream, void *buffer, size_t max,
		    size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err);
	int (*kill)(struct relay_process *process, int signal, struct sp_cancel *cancel,
		    struct sp_error *err);
};

/* A command that was spawned through a relay. */
struct relay_process {
	struct sp_process inner;
	struct relay *relay;
	struct relay_process *next;
	/* The journal let go of it. */
	bool released;
	/* The hook's own. */
	atomic_int count;
};

struct relay {
	/* What the journal gets. */
	struct sp_sandbox sandbox;
	struct sp_case *t;
	struct sp_sandbox *inner;
	const struct relay_hooks *hooks;
	pthread_mutex_t lock;
	/* All that were spawned, newest first. They are kept after the journal released them. */
	struct relay_process *processes;
	atomic_uint execs;
	atomic_uint spawns;
	/* See relay_bound(). */
	struct sp_cancel *bound;
	atomic_uint execs_left;
	/* The hook's own. */
	atomic_int count;
	const void *arg;
};

/* Hooks that run each command in the shell that relay.arg names: words that take "-c TEXT".
 * relay.count counts them. */
extern const struct relay_hooks relay_in_shell;

#define RELAY_INIT                                                                                 \
	{                                                                                          \
		.sandbox = SP_SANDBOX_INIT                                                         \
	}
/* struct relay relay RELAY = RELAY_INIT; declare it before the readers that use it. */
#define RELAY SP_CLEANUP(relay_done)

/* Commands after which a journal that should have spoken has had every chance to. */
#define RELAY_PATIENCE 40

/* Puts the relay before `inner`. `hooks` may be NULL. */
void relay_open(struct sp_case *t, struct sp_sandbox *inner, const struct relay_hooks *hooks,
		struct relay *relay);
/* False, and the case is a skip, when the journal never came by here. */
bool relay_used(struct relay *relay);
/*
 * Aborts `cancel`, a reference of which is kept, once the journal has sent RELAY_PATIENCE more
 * commands: one that polls on where it should have spoken is shown by its polls, not by a limit.
 */
void relay_bound(struct relay *relay, struct sp_cancel *cancel);
/* Waits until every command spawned here has ended. False after a recorded failure at `where`. */
bool relay_check_ended(struct relay *relay, struct sp_where where, const char *what);
/* See RELAY: ends what is left. */
void relay_done(struct relay *relay);

#endif
