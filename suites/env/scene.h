/* SPDX-License-Identifier: MIT */
/* What most cases of this suite share: variables compared byte for byte, and secrets. */
#ifndef SUITE_ENV_SCENE_H
#define SUITE_ENV_SCENE_H

#include <string.h>

#include <witness/call.h>
#include <witness/count.h>
#include <witness/fifo.h>
#include <witness/gate.h>
#include <witness/mark.h>
#include <witness/rounds.h>
#include <witness/search.h>

/* Tools that a comparison of variables uses in the sandbox. */
#define ENV_TOOLS "env", "grep", "cksum"

/*
 * The command that `env_found` reads: what a child of the shell inherits of each name, as CRC and
 * length, so that no value passes the output; many as one, in the order of their bytes. Lives as
 * long as the case.
 */
const char *env_command(struct sp_case *t, const struct sp_env *expected, size_t n);
/* Compares what env_command() printed with the values; a NULL value must be absent. */
bool env_found(struct sp_case *t, const char *printed, const struct sp_env *expected, size_t n,
	       struct sp_where where, const char *what);
/* exec() with the variables `given` (may be NULL): the command must find exactly `expected`. */
bool env_arrive(struct sp_case *t, struct sp_sandbox *sandbox, const struct sp_env *given,
		size_t n_given, const struct sp_env *expected, size_t n, struct sp_where where,
		const char *what);
/* Same by spawn(). */
bool env_arrive_spawned(struct sp_case *t, struct sp_sandbox *sandbox, const struct sp_env *given,
			size_t n_given, const struct sp_env *expected, size_t n,
			struct sp_where where, const char *what);
/* env_set() must answer 0. */
bool env_set_ok(struct sp_case *t, struct sp_sandbox *sandbox, const struct sp_env *env, size_t n,
		struct sp_where where, const char *what);
/* env_set() of one variable on a thread; `var` is borrowed until it is joined. */
struct sp_call *env_set_call(struct sp_case *t, struct sp_sandbox *sandbox,
			     const struct sp_env *var);

/* A secret with everything around it that a careless encoder trips over. */
struct env_secret {
	struct sp_canary canary;
	/* Lives as long as the case. */
	const char *value;
};

/* Makes one and tells the runner. */
void env_secret_make(struct sp_case *t, struct env_secret *secret);
/* Fails the case unless no file of the sandbox holds it. */
bool env_check_no_file(struct sp_case *t, struct sp_sandbox *sandbox,
		       const struct env_secret *secret, struct sp_where where, const char *what);
/*
 * True when the path list of sp_search_files() names something outside the memory-backed directory.
 */
bool env_outside_memory(struct sp_case *t, const char *files);

/*
 * A sandbox of the case's own with variables from its creation; ops NULL after a recorded failure.
 */
struct sp_sandbox env_create(struct sp_case *t, const struct sp_env *env, size_t n);

/*
 * A command with a secret of its own that stands at the place's hold; `out` told that it arrived.
 */
struct env_holder {
	struct env_secret secret;
	struct sp_place place;
	struct sp_spawned child;
	/* Its process id inside the sandbox. */
	const char *pid;
};

/* struct env_holder holder ENV_HOLDER = ENV_HOLDER_INIT; leaving the scope ends it. */
#define ENV_HOLDER_INIT { .place = SP_PLACE_INIT, .child = SP_SPAWNED_INIT }
/* See ENV_HOLDER_INIT. */
#define ENV_HOLDER SP_CLEANUP(env_holder_done)

/* Starts it and waits until it has its variable; that it arrived is part of the check. */
bool env_holder_start(struct sp_case *t, struct sp_sandbox *sandbox, struct env_holder *holder);
/* See ENV_HOLDER_INIT. */
void env_holder_done(struct env_holder *holder);

#endif
