/* SPDX-License-Identifier: MIT */
/*
 * The seams: the named steps of the Render provider, and faults, which
 * replace exactly one step or wrap one table. A provider fills its table, a
 * fault changes it, and neither includes the other.
 */
#ifndef SANDPROOF_SEAMS_H
#define SANDPROOF_SEAMS_H

#include <sandproof/provider.h>
#include <sandproof/store.h>
#include <sandproof/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The Render provider's shell, piece by piece. The pieces are joined in the
 * order of this struct. In each of them @D@ stands for the private folder
 * (/dev/tsai), @ID@ for the command's id, @MARK@ for its mark (a decimal
 * RLIMIT_RTTIME), @DIR@ for the quoted working folder, @CMD@ for the quoted
 * command or, when it is too long for an argument, for the path of its uploaded
 * file, @ENV@ for 1 when the handle has set an environment (else 0), @SIG@
 * for a signal number and @GRACE@ for the grace in hundredths of a second.
 * load_call_env and enter_dir are left out of a command that has neither.
 *
 * Kill and signal commands begin with helpers that the pieces may use: r is
 * the exit code (0), g the group (empty); `owned PID` carries the mark,
 * `alive PID` is no zombie, `group` has a living member, `nap` waits. A signal
 * command has found g, or has ended, before its piece. They end
 * with `exit $r`: kill 0 done, 1 not done; signal 0 delivered, 3 ended, 4 not begun.
 */
struct sp_render_shell {
	/* Outer shell: hide its own stderr, job control on, no trace in the command's environment. */
	const char *open;
	/* Outer shell: run the command's own shell, its prelude on descriptor 4. */
	const char *run;
	/* Same, for a command that was too long for an argument and was uploaded. */
	const char *run_file;
	/* Inner shell, before the command: close the prelude's descriptor and forget it. */
	const char *prelude_open;
	/* Inner: take the mark that everything started from here inherits. */
	const char *mark;
	/* Inner: record the process group in one write. */
	const char *record_group;
	/* Inner: a kill that came first wins; the command never runs and the code is 143. */
	const char *check_killed;
	/* Inner: load the sandbox's environment, if there is any. */
	const char *load_overlay;
	/* Inner: load this command's environment, and delete its file at once. */
	const char *load_call_env;
	/* Inner: enter the folder. */
	const char *enter_dir;
	/* Inner: leave no name of the wrapper behind. */
	const char *prelude_close;
	/* Outer: take the command's true code, also after it was stopped and continued. */
	const char *collect;
	/* Outer: stop what the command left behind in its group before the exit is told. */
	const char *reap_group;
	/* Outer: go on to everything that carries the mark. */
	const char *reap_marked;
	/* Outer: invalidate the group record and exit with the code. */
	const char *close;

	/* The kill command (another exec), joined in this order. */

	/* Leave the marker that stops a command which has not started. */
	const char *kill_marker;
	/* Read the group; without one there is nothing to signal. */
	const char *kill_find;
	/* Send the signal asked for. */
	const char *kill_send;
	/* Wait up to the grace for the group to be gone. */
	const char *kill_grace;
	/* KILL what is left of the group. */
	const char *kill_escalate;
	/* KILL everything that carries the mark, until a walk finds nothing. */
	const char *kill_walk;

	/* The signal command (another exec). */

	/* Deliver one signal to the group, exactly. */
	const char *signal_send;
};

#define SP_RENDER_STEPS_VERSION 1

/* The named steps of the Render provider (sandbox-contract 5). */
struct sp_render_steps {
	unsigned version;
	struct sp_render_shell shell;

	/* Signal that is sent for the one asked for (item 5). */
	int (*map_signal)(int asked);
	/* Whether a variable may be set; false is refused before anything is merged (items 15, 16). */
	bool (*name_allowed)(const char *name);
	/* How many of `len` bytes are kept when `held` of `cap` are held; must cut at a character (item 18). */
	size_t (*cap)(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
		      size_t len);
	/* Whether a call may start, given its cancel (item 19). */
	bool (*may_start)(struct sp_cancel *cancel);
	/* The code that is reported for the one that the stream told. */
	int (*exit_code)(int told);
	/* Stored name of a snapshot for a label (item 23); malloc'ed. */
	char *(*snapshot_name)(const char *label);

	/* Switches of the order of things; each is true in the healthy provider. */

	/* Check all names before merging any (item 16). */
	bool names_before_merge;
	/* Per-call variables travel in an uploaded file, not in the command text (item 6). */
	bool env_in_files;
	/* One queue for env writes, snapshots and command starts (item 12). */
	bool one_queue;
	/* A kill waits until it is carried out before wait() may answer (field:K05). */
	bool kill_before_wait;
	/* An abort of the cancel ends the command in the sandbox (field:K03). */
	bool abort_kills;
	/* An aborted create terminates what it made (item 20). */
	bool terminate_aborted_create;
	/* A transport's end without a terminal event is an error (field:X03). */
	bool end_needs_exit;
	/* A missing file of fs_write is answered with one mkdir and a second upload. */
	bool write_makes_parents;
};

/* Where a fault sits. */
enum sp_fault_seam {
	/* Replaces one step of the Render provider; needs SPEC bash or render. */
	SP_FAULT_RENDER_STEP = 0,
	/* Wraps the transport below the Render provider. */
	SP_FAULT_TRANSPORT,
	/* Wraps a provider's table: works on any provider ("level: contract"). */
	SP_FAULT_PROVIDER,
	SP_FAULT_STORE,
	SP_FAULT_LOCK,
};

#define SP_FAULT_VERSION 1

/* One fault: one behaviour changed, nothing else. All texts are static; lists end with NULL. */
struct sp_fault {
	unsigned version;
	/* Stable id, lower case ("kill-leader-only"). */
	const char *id;
	/* One sentence: what the faulty implementation does. */
	const char *summary;
	/* Where it was seen: "contract:C3", "field:K01", "render:3". */
	const char *const *sources;
	/* Suite and clause that it breaks: "kill K1". */
	const char *clause;
	/* Cases that must catch it; at least one. */
	const char *const *cases;
	enum sp_fault_seam seam;
	/* True when the fault can signal, write or unmount outside its sandbox: it then runs only in its own pid and mount namespaces. */
	bool reaches_outside;
	/* Exactly the one that fits `seam` is set. Each gets the healthy thing and changes or wraps it in place; `arg` is NULL. */
	void (*change_steps)(struct sp_render_steps *steps);
	int (*wrap_transport)(struct sp_transport *transport, struct sp_error *err);
	int (*wrap_provider)(struct sp_provider *provider, struct sp_error *err);
	int (*wrap_store)(struct sp_store *store, struct sp_error *err);
	int (*wrap_lock)(struct sp_lock *lock, struct sp_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
