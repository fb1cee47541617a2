/* SPDX-License-Identifier: MIT */
/*
 * The ledger: one file a run that names what the run made, so that whatever a
 * killed run left behind can be found and removed later. It is locked while
 * anybody of the run lives; rows are only ever appended, one write each, by
 * several processes.
 */
#ifndef SP_RUNNER_LEDGER_H
#define SP_RUNNER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sandproof/error.h>

struct sp_ledger;

/*
 * The folder of the ledgers, "$XDG_STATE_HOME/sandproof" or "$HOME/.local/state/sandproof";
 * malloc'ed, NULL where there is no place for it.
 */
char *sp_ledger_folder(void);
/*
 * Makes and locks a new file there. `provider`: redacted SPEC that opens what the rows name, or
 * NULL. `sync`: a row is on the disk before the call that it announces. `subjects` is redacted.
 */
int sp_ledger_open(const char *subjects, const char *provider, bool sync,
		   struct sp_ledger **ret_ledger, struct sp_error *err);

/* Size of a row's name with its NUL. */
#define SP_LEDGER_ROW 17

/*
 * All of these do nothing without a ledger and return 0 or -errno. `workspace` may be NULL: there
 * is only one.
 */

/* These sandboxes were there before the run made any; at most once a workspace. */
int sp_ledger_before(struct sp_ledger *ledger, const char *workspace, const char *const *ids,
		     size_t n_ids);
/*
 * A sandbox is about to be made with this lifetime, which is its
 * fingerprint. `*ret_row` names the row.
 */
int sp_ledger_intent(struct sp_ledger *ledger, const char *workspace, uint32_t lifetime_s,
		     char ret_row[SP_LEDGER_ROW]);
/* The call of that row (NULL: of none) ended: it made `id`, or nothing (NULL). */
int sp_ledger_made(struct sp_ledger *ledger, const char *row, const char *workspace,
		   const char *id);
/* A sandbox is gone. */
int sp_ledger_gone(struct sp_ledger *ledger, const char *id);
/* A snapshot of a sandbox is about to be taken into `group` (NULL: not known). */
int sp_ledger_snapshot(struct sp_ledger *ledger, const char *workspace, const char *sandbox,
		       const char *group, const char *label, char ret_row[SP_LEDGER_ROW]);
/* The call of that row ended: it took a snapshot with this reference, or none (NULL). */
int sp_ledger_taken(struct sp_ledger *ledger, const char *row, const char *reference);
/* A snapshot is deleted. */
int sp_ledger_deleted(struct sp_ledger *ledger, const char *reference);

/*
 * The store that rows of records mean: redacted SPEC, and the folder from which it is to be
 * understood. Before any of them.
 */
int sp_ledger_store(struct sp_ledger *ledger, const char *store);
/* A record may be in the store from now on; it is not there any more. */
int sp_ledger_record(struct sp_ledger *ledger, const char *key);
int sp_ledger_forgot(struct sp_ledger *ledger, const char *key);

/* True when the file names something that is not told to be gone, or a call without an outcome. */
bool sp_ledger_open_rows(const struct sp_ledger *ledger);
/* Closes; removes the file when `clean`. NULL is fine. */
void sp_ledger_close(struct sp_ledger *ledger, bool clean);
/* Path of the file, or NULL. */
const char *sp_ledger_path(const struct sp_ledger *ledger);

/* ---- Reading: what a run left ---- */

/* A sandbox that was announced or made, and is not told to be gone. Texts are owned by the book. */
struct sp_book_sandbox {
	char *row;
	char *workspace;
	/* NULL: the call's outcome is not known. */
	char *id;
	/* When it was announced, and its fingerprint; 0: it was not announced. */
	int64_t at_ms;
	uint32_t lifetime_s;
};

/* The same of a snapshot. */
struct sp_book_snapshot {
	char *row;
	char *workspace;
	char *sandbox;
	/* NULL: not known. */
	char *group;
	char *label;
	/* NULL: the call's outcome is not known. */
	char *reference;
	int64_t at_ms;
};

/*
 * Ids that are known: not a stranger's if the run made them, a stranger's if they were there
 * before.
 */
struct sp_book_id {
	/* Of a workspace whose list was taken before; for `made` NULL. */
	char *workspace;
	/* NULL: only says that the list was taken. */
	char *id;
};

/* A ledger, read. */
struct sp_book {
	/* SPEC of the provider; NULL: none was named, or the first row cannot be read. */
	char *provider;
	int64_t pid;
	int64_t start_ms;
	struct sp_book_sandbox *sandboxes;
	size_t n_sandboxes;
	struct sp_book_snapshot *snapshots;
	size_t n_snapshots;
	struct sp_book_id *before;
	size_t n_before;
	/* Keys of records that may be there, and what opens their store from which folder. */
	char *store;
	char *cwd;
	char **records;
	size_t n_records;
	/* Everything that the run made, gone or not. */
	struct sp_book_id *made;
	size_t n_made;
};

#define SP_BOOK_INIT { .provider = NULL }

/*
 * Reads a file, locked or not. A last line without its end, of a run that was killed, is left out.
 * SP_IO, SP_INTERNAL; SP_INVALID: the file is no ledger of this version.
 */
int sp_book_read(const char *path, struct sp_book *ret_book, struct sp_error *err);
void sp_book_done(struct sp_book *book);

#endif
