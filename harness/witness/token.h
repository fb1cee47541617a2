/* SPDX-License-Identifier: MIT */
/*
 * TOKEN: is a process alive? The probe is shell text that a case embeds in a
 * command of any shape; the process that runs it takes a lock, says ready and
 * waits for a token. After the act (kill, abort, destroy) the case puts the
 * token in: who can still act takes it, leaves a marker and ends, which frees
 * the lock.
 *
 *	lock free, no marker	dead: the kernel freed the lock when it died
 *	marker			survivor
 *	still locked after N	survivor (stopped for good, or stuck)
 *
 * A process with a fatal signal pending cannot take the token, so a healthy
 * provider is never blamed; a stopped survivor is sent CONT first. Patience
 * is N rounds of `flock -n`, all inside one exec; no clock is read. A zombie
 * holds no lock and is dead.
 */
#ifndef SP_WITNESS_TOKEN_H
#define SP_WITNESS_TOKEN_H

#include <witness/place.h>

/* Tools that a case with tokens lists: SP_TOKEN_TOOLS, NULL. */
#define SP_TOKEN_TOOLS "flock", "mkfifo"

enum sp_token_verdict {
	SP_TOKEN_DEAD = 0,
	SP_TOKEN_SURVIVOR,
	/* The probe itself could not be asked; a failure was recorded. */
	SP_TOKEN_UNKNOWN,
};

struct sp_token {
	const struct sp_place *place;
	const char *name;
	/*
	 * The probe: one simple command, to be embedded; "sh /tmp/…/token
	 * NAME". Lives as long as the case.
	 */
	const char *shell;
};

/* Makes the probe's FIFOs. `name` is [a-z0-9], one probe a name. False after a recorded failure. */
bool sp_token_make(const struct sp_place *place, const char *name, struct sp_token *token);
/* Waits until the probe runs and holds its lock. False after a recorded failure. */
bool sp_token_await(const struct sp_token *token);
/* Process id of the awaited probe inside the sandbox, or 0 after a recorded failure. */
long sp_token_pid(const struct sp_token *token);
/*
 * Sends a signal to the probe from inside the sandbox, as another command would. When it
 * returns after STOP the probe stands still: its state is awaited.
 */
bool sp_token_signal(const struct sp_token *token, const char *signal);
/* Puts the token in and judges. A probe is judged once. */
enum sp_token_verdict sp_token_judge(const struct sp_token *token);
/* Same, through another handle or sandbox that sees the same folder. */
enum sp_token_verdict sp_token_judge_through(const struct sp_token *token,
					     struct sp_sandbox *sandbox);
/*
 * Judges, and fails the case unless the verdict is dead. `what` names the process for the reader.
 */
bool sp_token_check_dead(const struct sp_token *token, struct sp_where where, const char *what);
/* Judges, and fails the case unless it was alive. */
bool sp_token_check_alive(const struct sp_token *token, struct sp_where where, const char *what);

#endif
