/* SPDX-License-Identifier: MIT */
/* VARS: variables of commands compared byte for byte, and secrets among them. */
#ifndef SP_WITNESS_VARS_H
#define SP_WITNESS_VARS_H

#include <string.h>

#include <witness/call.h>
#include <witness/count.h>
#include <witness/fifo.h>
#include <witness/gate.h>
#include <witness/mark.h>
#include <witness/rounds.h>
#include <witness/search.h>

/* Tools that a comparison of variables uses in the sandbox. */
#define SP_VARS_TOOLS "env", "grep", "cksum"

/*
 * The command that `sp_vars_found` reads: what a child of the shell inherits of each name, as CRC
 * and length, so that no value passes the output; many as one, in the order of their bytes. Lives
 * as long as the case.
 */
const char *sp_vars_command(struct sp_case *t, const struct sp_env *expected, size_t n);
/* Compares what sp_vars_command() printed with the values; a NULL value must be absent. */
bool sp_vars_found(struct sp_case *t, const char *printed, const struct sp_env *expected, size_t n,
		   struct sp_where where, const char *what);
/* exec() with the variables `given` (may be NULL): the command must find exactly `expected`. */
bool sp_vars_arrive(struct sp_case *t, struct sp_sandbox *sandbox, const struct sp_env *given,
		    size_t n_given, const struct sp_env *expected, size_t n, struct sp_where where,
		    const char *what);
/* Same by spawn(). */
bool sp_vars_arrive_spawned(struct sp_case *t, struct sp_sandbox *sandbox,
			    const struct sp_env *given, size_t n_given,
			    const struct sp_env *expected, size_t n, struct sp_where where,
			    const char *what);
/* env_set() must answer 0. */
bool sp_vars_set(struct sp_case *t, struct sp_sandbox *sandbox, const struct sp_env *env, size_t n,
		 struct sp_where where, const char *what);
/* env_set() of one variable on a thread; `var` is borrowed until it is joined. */
struct sp_call *sp_vars_set_call(struct sp_case *t, struct sp_sandbox *sandbox,
				 const struct sp_env *var);

/* A secret with everything around it that a careless encoder trips over. */
struct sp_secret {
	struct sp_canary canary;
	/* Lives as long as the case. */
	const char *value;
};

/* Makes one and tells the runner. */
void sp_secret_make(struct sp_case *t, struct sp_secret *secret);
/* Fails the case unless no file of the sandbox holds it. */
bool sp_secret_check_no_file(struct sp_case *t, struct sp_sandbox *sandbox,
			     const struct sp_secret *secret, struct sp_where where,
			     const char *what);
/*
 * True when the path list of sp_search_files() names something outside the memory-backed directory.
 */
bool sp_secret_outside_memory(struct sp_case *t, const char *files);

/*
 * A sandbox of the case's own with variables from its creation; ops NULL after a recorded failure.
 */
struct sp_sandbox sp_vars_create(struct sp_case *t, const struct sp_env *env, size_t n);

/*
 * A command with a secret of its own that stands at the place's hold; `out` told that it arrived.
 */
struct sp_holder {
	struct sp_secret secret;
	struct sp_place place;
	struct sp_spawned child;
	/* Its process id inside the sandbox. */
	const char *pid;
	/*
	 * Set before the start: the shell that got the command's text stays, and its command line
	 * with it. Otherwise one process alone has the variable.
	 */
	bool shell_stays;
};

/* struct sp_holder holder SP_HOLDER = SP_HOLDER_INIT; leaving the scope ends it. */
#define SP_HOLDER_INIT                                                                             \
	{                                                                                          \
		.place = SP_PLACE_INIT, .child = SP_SPAWNED_INIT                                   \
	}
/* See SP_HOLDER_INIT. */
#define SP_HOLDER SP_CLEANUP(sp_holder_done)

/* Starts it and waits until it has its variable; that it arrived is part of the check. */
bool sp_holder_start(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_holder *holder);
/* See SP_HOLDER_INIT. */
void sp_holder_done(struct sp_holder *holder);

#endif
