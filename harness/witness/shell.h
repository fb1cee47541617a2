/* SPDX-License-Identifier: MIT */
/*
 * Commands the plain way: what a case does between its checks. Every call
 * here carries the case's cancel, so that a hang is a limit and never more,
 * and records what it did as a line of the dialogue.
 *
 * The functions are for the case's own thread; call.h is for other threads.
 */
#ifndef SP_WITNESS_SHELL_H
#define SP_WITNESS_SHELL_H

#include <base/cleanup.h>
#include <sandproof/case.h>

/*
 * Runs a command to its end, whatever its exit code. False after a recorded
 * failure: exec() itself did not answer 0. `ret_result` is the caller's.
 */
bool sp_sh(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_exec_result *ret_result,
	   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Same, and the exit code must be 0; the failure shows the command's stderr. */
bool sp_sh_ok(struct sp_case *t, struct sp_sandbox *sandbox, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Same, and returns the command's stdout up to its first NUL, without its last newline; it lives
 * as long as the case. NULL after a recorded failure.
 */
const char *sp_sh_out(struct sp_case *t, struct sp_sandbox *sandbox, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT; */
#define SP_RESULT SP_CLEANUP(sp_exec_result_done)

/*
 * A second handle on a sandbox, as another process would have: from another instance, with a queue
 * of its own. Ops NULL after a recorded failure or a skip. Close it:
 * struct sp_sandbox other SP_HANDLE = …;
 */
struct sp_sandbox sp_second_handle(struct sp_case *t, struct sp_sandbox *sandbox);
#define SP_HANDLE SP_CLEANUP(sp_sandbox_done)

/*
 * A spawned command together with the case that started it:
 *
 *	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
 *
 * Leaving the scope ends what still runs (kill with SIGKILL where the subject
 * kills at all) and releases the handle, so a failed case leaves nothing.
 */
struct sp_spawned {
	struct sp_case *t;
	struct sp_process process;
	/* wait() answered: nothing is left to kill. */
	bool over;
};

#define SP_SPAWNED_INIT { NULL, SP_PROCESS_INIT, false }
/* struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT; ends it when the case function is left. */
#define SP_SPAWNED SP_CLEANUP(sp_spawned_done)

/* Spawns; false after a recorded failure. */
bool sp_spawn(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_spawned *child,
	      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Spawns with a cancel and variables of its own; `options->command` holds the text. */
bool sp_spawn_with(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_spawned *child,
		   const struct sp_exec_options *options);
/* Takes a process that came by another way (a call on a thread) into the scope's care. */
void sp_spawned_take(struct sp_case *t, struct sp_spawned *child, struct sp_process *process);
/* kill(signal) must answer 0; false after a recorded failure. */
bool sp_spawned_kill(struct sp_spawned *child, int signal);
/* wait() must answer 0; false after a recorded failure. */
bool sp_spawned_wait(struct sp_spawned *child, struct sp_exit *ret_exit);
/* Reads one stream to its end into memory of the caller; at most `max` bytes may come. */
bool sp_spawned_read(struct sp_spawned *child, enum sp_stream stream, size_t max,
		     struct sp_bytes *ret_bytes);
/* See SP_SPAWNED. */
void sp_spawned_done(struct sp_spawned *child);

/* Stable name of an exit's reason ("exited"). */
const char *sp_exit_how_name(enum sp_exit_how how);

#endif
