/* SPDX-License-Identifier: MIT */
/*
 * The seams: the named steps of the Render provider, and faults, which
 * replace exactly one step or wrap one table. A provider fills its table, a
 * fault changes it, and neither includes the other.
 */
#ifndef SANDPROOF_SEAMS_H
#define SANDPROOF_SEAMS_H

#include <sandproof/ensure.h>
#include <sandproof/journal.h>
#include <sandproof/platform.h>
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
	/*
	 * Outer shell: hide its own stderr, job control on, no trace in the command's environment.
	 */
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
	/* Ends the kill where it is sure that nothing is left. */
	const char *kill_look;
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
	/*
	 * Whether a variable may be set; false is refused before anything is merged (items 15, 16).
	 */
	bool (*name_allowed)(const char *name);
	/*
	 * How many of `len` bytes are kept when `held` of `cap` are held; must
	 * cut at a character (item 18).
	 */
	size_t (*cap)(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
		      size_t len);
	/* Whether a call may start, given its cancel (item 19). */
	bool (*may_start)(struct sp_cancel *cancel);
	/* The code that is reported for the one that the stream told. */
	int (*exit_code)(int told);
	/* Stored name of a snapshot for a label (item 23); malloc'ed. */
	char *(*snapshot_name)(const char *label);
	/*
	 * Shell, before each capture: wakes the sandbox, removes overlays that older
	 * versions left on disk (item 14).
	 */
	const char *snapshot_wake;
	/* Shell, before a runtime capture: takes the environment's files out (item 10). */
	const char *snapshot_hide;
	/*
	 * Shell, ended by a newline, in a restored sandbox: removes what the snapshot holds
	 * of an environment (item 24).
	 */
	const char *restore_reset;

	/* Switches of the order of things; each is true in the healthy provider. */

	/* Check all names before merging any (item 16). */
	bool names_before_merge;
	/* Per-call variables travel in an uploaded file, not in the command text (item 6). */
	bool env_in_files;
	/*
	 * Variables that no program can be given, alone or together, are refused (contract:C110).
	 */
	bool env_refuses_long;
	/* What was uploaded for a command that never started is removed (items 3, 11). */
	bool start_cleans_up;
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
	/* A suspended sandbox is there: the first command wakes it (item 22). */
	bool resume_wakes;
	/* resume() waits while a sandbox is resuming or suspending (item 22). */
	bool resume_waits;
	/* A sandbox that ends during that wait is gone, not an error (item 22). */
	bool resume_end_is_gone;
	/* A 404 is "gone" only after a list that succeeds without the sandbox. */
	bool gone_needs_list;
	/* A snapshot has the queue alone until the environment is back (item 12). */
	bool snapshot_alone;
	/* The environment is put back after a runtime capture (item 10). */
	bool snapshot_writes_back;
	/* When that fails the reference is the answer all the same (item 13). */
	bool snapshot_outlives_write_back;
	/* A snapshot that failed, or that nobody waits for any more, is deleted. */
	bool snapshot_cleans_up;
	/* A snapshot whose answer was lost is looked for among the new ones (field:S14). */
	bool snapshot_finds_lost;
	/* A restore sends the network policy that it was given (item 24). */
	bool restore_sends_policy;
};

/* The three places of a run, each already one quoted word of the shell. */
struct sp_journal_words {
	const char *dir;
	const char *journal;
	const char *stderr_file;
};

/* What a sweep knows about one run when it decides. */
struct sp_journal_facts {
	/* The records answered `record`; false: they could not. */
	bool asked;
	enum sp_journal_record record;
	/* There is no owner whose records could be asked: `record` is what the journal says. */
	bool from_journal;
	/* The sandbox could tell times; `newest` is -1 when one file has none. */
	bool mtimes_known;
	int64_t newest;
	int64_t now;
	int64_t orphan_age;
	size_t deleted, max_deletes;
};

#define SP_JOURNAL_STEPS_VERSION 1

/*
 * The named steps of our journal (sandbox-contract 3). Texts that a step returns are
 * malloc'ed, NULL without memory.
 */
struct sp_journal_steps {
	unsigned version;

	/* Names. */

	/* File name of a run id without its ending (3.1). */
	char *(*encode_name)(const char *run_id, size_t len);
	/*
	 * Run id of a listed file name, fail closed: SP_INVALID unless the name is the
	 * one that its run would have.
	 */
	int (*decode_name)(const char *file, struct sp_bytes *ret_run_id);
	/* 32 hex digits of a run id and a NUL (3.2). */
	int (*nonce)(const char *run_id, size_t len, char ret_nonce[33]);
	/* One word of the shell. */
	char *(*quote)(const char *text);

	/* Commands (3.3, appendix A.4). */

	char *(*compose_start)(const struct sp_journal_words *words, const char *command,
			       const char *nonce);
	/*
	 * Ours, before a start: makes the folder. 1: it cannot; 3: no regular file is in the
	 * journal's place; 5: the run id was used.
	 */
	char *(*compose_prepare)(const struct sp_journal_words *words);
	/*
	 * Ours, before a read or for an empty probe: 1 absent, 3 no regular file, 4 unreadable;
	 * else base64 of the byte before `from`, if there is one.
	 */
	char *(*compose_look)(const struct sp_journal_words *words, uint64_t from);
	char *(*compose_follow)(const struct sp_journal_words *words, uint64_t from);
	/* At most `max` bytes from byte `from` on, as base64. */
	char *(*compose_poll)(const struct sp_journal_words *words, uint64_t from, uint64_t max);
	char *(*compose_probe)(const struct sp_journal_words *words, uint64_t max);
	char *(*compose_stderr)(const struct sp_journal_words *words, uint64_t max);
	char *(*compose_exists)(const struct sp_journal_words *words);
	char *(*compose_remove)(const struct sp_journal_words *words);
	char *(*compose_list)(const struct sp_journal_words *words);
	char *(*compose_mtimes)(const struct sp_journal_words *words);

	/* Lines. */

	/* Bytes of the first line of `data` with its newline; 0: not complete yet. */
	size_t (*line_end)(const unsigned char *data, size_t len);
	/*
	 * Where the next line begins, given where this one began, its bytes with its
	 * newline, and where the reader began.
	 */
	uint64_t (*end_position)(uint64_t start, const unsigned char *line, size_t len,
				 uint64_t from);
	/* Whether a line is the sentinel (A.3). */
	bool (*parse_sentinel)(const char *line, size_t len, const char *nonce, int *ret_code);
	/*
	 * Whether a line ends in the exact canonical sentinel behind other
	 * text, and where that begins.
	 */
	bool (*fused_sentinel)(const char *line, size_t len, const char *nonce, size_t *ret_at,
			       int *ret_code);
	/* Finds the exit in a tail, from its end. `whole`: the tail begins at a line. */
	bool (*find_exit)(const char *text, size_t len, bool whole, const char *nonce,
			  int *ret_code);
	/*
	 * Base64 of a bounded read; `cut`: the provider dropped the rest of it.
	 * SP_PROTOCOL for what is none.
	 */
	int (*decode_read)(const char *text, size_t len, bool cut, struct sp_bytes *ret_bytes,
			   struct sp_error *err);

	/* Readers. */

	/* The strategy for what was asked and what the sandbox can. */
	enum sp_journal_strategy (*strategy)(enum sp_journal_strategy asked, bool can_follow);
	/* Milliseconds that the next byte may take, given whether any came; UINT32_MAX is never. */
	uint32_t (*first_byte_ms)(uint32_t asked, bool seen);
	/* Bytes that are asked for in one bounded read. */
	uint64_t read_max;

	/* Sweep. */

	enum sp_journal_fate (*sweep_fate)(const struct sp_journal_facts *facts);

	/* Switches; each is true in the healthy journal. */

	/* The request's cancel is left out of the run's spawn (contract:C45). */
	bool start_detached;
	/* A start on a journal that holds something is refused (contract:C44). */
	bool refuse_reuse;
	/* The place is looked at before a read: kind, rights, length (field:J10). */
	bool look_first;
	/* Later reads prove that the bytes before them are still the same (field:J10). */
	bool verify_place;
	/* A read that failed is told (contract:C77). */
	bool tell_failed_read;
	/* A partial line is kept between two polls (contract:C74). */
	bool keep_partial;
	/* The caller's abort is raced against each read instead of waiting for the provider. */
	bool race_abort;
	/* An abort ends quietly (contract:C62). */
	bool quiet_abort;
	/* A line that holds U+FFFD is read again where output is not bytes (contract:C76). */
	bool reread_replaced;
	/* The end of a follower is not the end of the run (field:J18). */
	bool refollow;
	/* The follower is killed when its reader goes. */
	bool kill_follower;
	/* A sentinel counts only if none follows it, so that reader and probe agree. */
	bool last_sentinel;
	/* A mtime counts only beside the folder's own line (3.3). */
	bool need_witness;
	/* A probe that could not run is not taken for a journal that is there (contract:C55). */
	bool attach_fails_closed;
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
	/* Replaces one step of our journal; needs our journal, on any provider. */
	SP_FAULT_JOURNAL_STEP,
	/* Wraps a journal's table: works on any journal. */
	SP_FAULT_JOURNAL,
	/* Wraps ensure, and through its options what it stands on: works on any of them. */
	SP_FAULT_ENSURE,
	/* Wraps the bare platform below a provider: a service that has changed. */
	SP_FAULT_PLATFORM,
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
	/*
	 * The case that must stay green beside them; NULL: the one that `prove` has for its suite.
	 */
	const char *control;
	/*
	 * Why no count of rounds can show it, so that a case which ends at its deadline is the
	 * proof; NULL for every other fault.
	 */
	const char *hangs;
	enum sp_fault_seam seam;
	/*
	 * True when the fault can signal, write or unmount outside its sandbox: it then runs only
	 * in its own pid and mount namespaces.
	 */
	bool reaches_outside;
	/*
	 * Exactly the one that fits `seam` is set. Each gets the healthy thing and changes or
	 * wraps it in place; `arg` is NULL.
	 */
	void (*change_steps)(struct sp_render_steps *steps);
	int (*wrap_transport)(struct sp_transport *transport, struct sp_error *err);
	int (*wrap_provider)(struct sp_provider *provider, struct sp_error *err);
	int (*wrap_store)(struct sp_store *store, struct sp_error *err);
	int (*wrap_lock)(struct sp_lock *lock, struct sp_error *err);
	void (*change_journal)(struct sp_journal_steps *steps);
	int (*wrap_journal)(struct sp_journal *journal, struct sp_error *err);
	int (*wrap_ensure)(struct sp_ensure *ensure, struct sp_error *err);
	/* `platform` is borrowed from its provider: nothing is closed. */
	int (*wrap_platform)(struct sp_platform *platform, struct sp_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
