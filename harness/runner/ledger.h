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
#include <stdint.h>

#include <sandproof/error.h>

struct sp_ledger;

/*
 * Makes and locks a new file below $XDG_STATE_HOME/sandproof, or
 * $HOME/.local/state/sandproof. `sync`: a row is on the disk before the call
 * that it announces. `subjects` is redacted.
 */
int sp_ledger_open(const char *subjects, bool sync, struct sp_ledger **ret_ledger,
		   struct sp_error *err);

/* All of these do nothing without a ledger and return 0 or -errno. */

/*
 * A sandbox is about to be made with this lifetime, which is its
 * fingerprint. `*ret_row` names the row.
 */
int sp_ledger_intent(struct sp_ledger *ledger, const char *shown_spec, uint32_t lifetime_s,
		     char ret_row[17]);
/* The call of that row ended: it made `id`, or nothing (NULL). */
int sp_ledger_made(struct sp_ledger *ledger, const char *row, const char *id);
/* A sandbox is gone. */
int sp_ledger_gone(struct sp_ledger *ledger, const char *id);

/* True when the file announces a call whose outcome it does not tell. */
bool sp_ledger_open_rows(const struct sp_ledger *ledger);
/* Closes; removes the file when `clean`. NULL is fine. */
void sp_ledger_close(struct sp_ledger *ledger, bool clean);
/* Path of the file, or NULL. */
const char *sp_ledger_path(const struct sp_ledger *ledger);

#endif
