/* SPDX-License-Identifier: MIT */
/* Shared between the parts of the guard; nobody else includes it. */
#ifndef SP_RUNNER_GUARD_IMPL_H
#define SP_RUNNER_GUARD_IMPL_H

#include <pthread.h>

#include "evidence.h"
#include "guard.h"

/* A handle that somebody holds. */
struct sp_guard_link {
	struct sp_guard_link *next;
	struct sp_guard_link **from;
	/* Releases the handle and frees its wrapper. */
	void (*close)(void *self);
	void *self;
	bool kept;
};

/* A thing that exists by id. */
struct sp_guard_thing {
	struct sp_guard_thing *next;
	char *id;
	/* A sandbox that stays over the end of the case. */
	bool kept;
};

/* The bare platform below a guarded provider. */
struct sp_guarded_platform {
	struct sp_guard *guard;
	struct sp_platform inner;
};

struct sp_guard {
	struct sp_guard_options options;
	pthread_mutex_t lock;
	atomic_bool muted;
	/* Newest first, so that a process goes before its sandbox. */
	struct sp_guard_link *links;
	struct sp_guard_thing *sandboxes;
	struct sp_guard_thing *snapshots;
	/* Rows of the ledger: a sandbox or a snapshot may be there, and nobody knows its id. */
	struct sp_guard_thing *unknown_sandboxes;
	struct sp_guard_thing *unknown_snapshots;
	/* Keys of records. */
	struct sp_guard_thing *records;
	/* Of the back end, where it names them; under `lock`, and kept until the end. */
	char *workspace;
	char *group;
	/* The list of what was there before is in the ledger. */
	bool listed;
};

/* Names are static and begin with their table: "sandbox.exec". */
void sp_guard_enter(struct sp_guard *guard, const char *name);
void sp_guard_leave(struct sp_guard *guard, const char *name);
/* Around a call that only looks something up: the name that was there stays the last one. */
const char *sp_guard_look(struct sp_guard *guard, const char *name);
void sp_guard_looked(struct sp_guard *guard, const char *name, const char *before);
void sp_guard_link(struct sp_guard *guard, struct sp_guard_link *link, void (*close)(void *self),
		   void *self);
void sp_guard_unlink(struct sp_guard *guard, struct sp_guard_link *link);
void sp_guard_add(struct sp_guard *guard, struct sp_guard_thing **list, const char *id);
bool sp_guard_remove(struct sp_guard *guard, struct sp_guard_thing **list, const char *id);
/*
 * Around the taking of a snapshot: its row is in the ledger before it is asked for. An error means
 * that it must not be asked for. `platform` (may have no table) tells the group.
 */
int sp_guard_snapshot_begins(struct sp_guard *guard, struct sp_platform *platform,
			     const char *sandbox, const char *label, char row[SP_LEDGER_ROW],
			     struct sp_cancel *cancel, struct sp_error *err);
void sp_guard_snapshot_ended(struct sp_guard *guard, const char *row, int rc,
			     const char *reference, const struct sp_error *err);
/* After such a failure nobody knows whether anything was made: its row stays open for `sweep`. */
bool sp_guard_may_be_there(int rc, const struct sp_error *err);
/*
 * Before a sandbox is made: the list of what is there, once, and the row. An error means that it
 * must not be made.
 */
int sp_guard_intent(struct sp_guard *guard, struct sp_provider *inner, uint32_t lifetime_s,
		    char row[SP_LEDGER_ROW], struct sp_cancel *cancel, struct sp_error *err);
void sp_guard_made(struct sp_guard *guard, const char *row, const char *id);
void sp_guard_gone(struct sp_guard *guard, const char *id);

/*
 * One guarded call. `w` may be freed by another thread while the call is on
 * its way (close and destroy never wait), so everything is copied out first.
 */
#define SP_GUARDED(guard_, name, call)                                                             \
	({                                                                                         \
		int guarded_rc_;                                                                   \
		sp_guard_enter(guard_, name);                                                      \
		guarded_rc_ = (call);                                                              \
		sp_guard_leave(guard_, name);                                                      \
		guarded_rc_;                                                                       \
	})

/*
 * Wrap a handle in place; one that is wrapped already stays. SP_INTERNAL without
 * memory: the handle is then closed.
 */
int sp_guard_sandbox(struct sp_guard *guard, const struct sp_platform *platform,
		     struct sp_sandbox *sandbox, struct sp_error *err);
int sp_guard_process(struct sp_guard *guard, struct sp_process *process, struct sp_error *err);

/* Wrap one table of a subject in place, if it is filled. */
int sp_guard_provider(struct sp_guard *guard, struct sp_provider *provider,
		      struct sp_platform *platform, struct sp_error *err);
/* Fills `w`, which lives as long as the provider, and puts it in the place of the table. */
void sp_guard_platform(struct sp_guarded_platform *w, struct sp_guard *guard,
		       struct sp_platform *platform);
int sp_guard_store(struct sp_guard *guard, struct sp_store *store, struct sp_error *err);
int sp_guard_lock(struct sp_guard *guard, struct sp_lock *lock, struct sp_error *err);
int sp_guard_journal(struct sp_guard *guard, struct sp_journal *journal, struct sp_error *err);
int sp_guard_ensure(struct sp_guard *guard, struct sp_ensure *ensure, struct sp_error *err);

#endif
