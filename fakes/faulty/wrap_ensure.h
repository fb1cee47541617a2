/* SPDX-License-Identifier: MIT */
/*
 * An ensure around an ensure. For each call it puts stand-ins around the
 * caller's provider, store and lock, so a fault can change what ensure hears and what it
 * does, on any implementation. A hook gets the call and reaches the healthy thing
 * below; a NULL hook passes through.
 */
#ifndef FAKE_FAULTY_WRAP_ENSURE_H
#define FAKE_FAULTY_WRAP_ENSURE_H

#include <pthread.h>
#include <stdatomic.h>

#include <base/cleanup.h>
#include <sandproof/seams.h>

#include "tables.h"

struct fault_ensure_call;

/* What one fault replaces. Static. */
struct fault_ensure_hooks {
	/* Before anything: may change call->options. Also before key() and destroy(). */
	void (*before)(struct fault_ensure_call *call);
	/*
	 * After the healthy ensure answered `rc`; its answer is the call's. May change
	 * the sandbox and the outcome.
	 */
	int (*after)(struct fault_ensure_call *call, int rc, struct sp_sandbox *sandbox,
		     enum sp_ensure_outcome *outcome, struct sp_error *err);
	/* In place of the healthy destroy. */
	int (*destroy)(struct fault_ensure_call *call, struct sp_error *err);

	/* What ensure calls; each in place of the healthy one. */
	int (*acquire)(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
		       struct sp_lease *ret_lease, struct sp_error *err);
	int (*get)(struct fault_ensure_call *call, const char *key, struct sp_record *ret_record,
		   bool *ret_found, struct sp_cancel *cancel, struct sp_error *err);
	int (*upsert)(struct fault_ensure_call *call, struct sp_record *record,
		      const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err);
	int (*del)(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
		   struct sp_error *err);
	int (*create)(struct fault_ensure_call *call, struct sp_create_options *options,
		      struct sp_sandbox *ret_sandbox, struct sp_error *err);
	int (*resume)(struct fault_ensure_call *call, const char *id,
		      struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
		      struct sp_error *err);
	int (*restore)(struct fault_ensure_call *call, const char *snapshot_id,
		       struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
		       struct sp_error *err);
	int (*remove)(struct fault_ensure_call *call, const char *id, struct sp_cancel *cancel,
		      struct sp_error *err);
	int (*snapshot_delete)(struct fault_ensure_call *call, const char *snapshot_id,
			       struct sp_cancel *cancel, struct sp_error *err);
	int (*bootstrap)(struct fault_ensure_call *call, struct sp_sandbox *sandbox,
			 struct sp_cancel *cancel, struct sp_error *err);
};

/* The wrapper; one an instance. */
struct fault_ensure {
	struct sp_ensure inner;
	const struct fault_ensure_hooks *hooks;
	/* For the fault's own state. */
	pthread_mutex_t lock;
	/* What a fault remembers of a key, or NULL. Owned. */
	char *key, *text;
};

/* One call of ensure(), key() or destroy(). */
struct fault_ensure_call {
	struct fault_ensure *ensure;
	/* What the caller asked, and what the healthy ensure is asked. */
	const struct sp_ensure_options *asked;
	struct sp_ensure_options options;
	struct sp_provider provider;
	struct sp_store store;
	struct sp_lock lock;
	/* What ensure has done so far. */
	bool found, resumed, restored, bootstrap_failed;
	/* Code of a removal that failed. */
	int remove_rc;
	/* The key of what was asked; "": it has none. */
	char key[17];
	/* The sandbox that create() made; "": none yet. */
	char id[256];
	/* The fault's own. */
	char text[256];
	struct sp_lease lease;
};

/* Puts the wrapper around `ensure`, in place. */
int fault_wrap_ensure(struct sp_ensure *ensure, const struct fault_ensure_hooks *hooks,
		      struct sp_error *err);

/* The healthy calls below, of the caller's own provider, store and lock. */
int fault_asked_get(struct fault_ensure_call *call, const char *key, struct sp_record *ret_record,
		    bool *ret_found, struct sp_cancel *cancel, struct sp_error *err);
int fault_asked_upsert(struct fault_ensure_call *call, const struct sp_record *record,
		       const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err);
int fault_asked_remove(struct fault_ensure_call *call, const char *id, struct sp_cancel *cancel,
		       struct sp_error *err);
/* True when the caller's store has a record of the call's key; the record is the caller's. */
bool fault_has_record(struct fault_ensure_call *call, struct sp_record *ret_record);
/* A lease that holds nothing. */
struct sp_lease fault_empty_lease(void);
/* Replaces a text of a record; `text` may be NULL. */
void fault_set_text(char **at, const char *text);

/*
 * Defines the hooks of a fault and its wrap function, which ENSURE_FAULT() finds by the same name.
 */
#define ENSURE_HOOKS(name, ...)                                                                    \
	static const struct fault_ensure_hooks name = { __VA_ARGS__ };                             \
	static int wrap_##name(struct sp_ensure *ensure, struct sp_error *err)                     \
	{                                                                                          \
		return fault_wrap_ensure(ensure, &(name), err);                                    \
	}

/* A record of such a fault; the cases come last. */
#define ENSURE_FAULT(id_, name_, clause_, summary_, sources_, ...)                                 \
	{                                                                                          \
		.version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,  \
		.clause = "ensure " clause_, .cases = SOURCES(__VA_ARGS__),                        \
		.seam = SP_FAULT_ENSURE, .wrap_ensure = wrap_##name_                               \
	}
/* Lists in records. */
#define SOURCES(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif
