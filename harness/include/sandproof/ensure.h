/* SPDX-License-Identifier: MIT */
/* Ensure: one live sandbox for a key, whoever asks and however often (sandbox-contract 4). */
#ifndef SANDPROOF_ENSURE_H
#define SANDPROOF_ENSURE_H

#include <sandproof/provider.h>
#include <sandproof/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the sandbox was come by. */
enum sp_ensure_outcome {
	SP_ENSURE_CREATED = 0,
	SP_ENSURE_RESUMED,
	SP_ENSURE_RESTORED,
};

#define SP_ENSURE_OPTIONS_VERSION 1

/* What to ensure. All pointers are borrowed for the call. */
struct sp_ensure_options {
	unsigned version;
	struct sp_provider *provider;
	/* Required: ensure without a store is SP_INVALID, never a silent one in memory. */
	struct sp_store *store;
	/* Required. */
	struct sp_lock *lock;
	/* Parts of the key (sandbox-contract 4.1). */
	const char *thread_id;
	const char *sandbox_id;
	const char *run_id;
	/* Canonical workspace JSON without secrets, or NULL. */
	const char *workspace;
	/* Canonical tenant JSON, or NULL. */
	const char *tenant;
	/* True: one sandbox a run instead of one a thread. */
	bool per_run;
	/*
	 * Oldest record that is resumed: "<n>h" or "<n>m"; NULL: any age; other text is SP_INVALID.
	 */
	const char *max_age;
	/* Take a snapshot after the bootstrap of a new sandbox. */
	bool snapshot_after_setup;
	enum sp_network network;
	const struct sp_env *env;
	size_t n_env;
	/* Prepares a new sandbox; failing removes it. May be NULL. */
	int (*bootstrap)(void *arg, struct sp_sandbox *sandbox, struct sp_cancel *cancel,
			 struct sp_error *err);
	void *bootstrap_arg;
	struct sp_cancel *cancel;
};

#define SP_ENSURE_OPTIONS_INIT { .version = SP_ENSURE_OPTIONS_VERSION }

#define SP_ENSURE_VERSION 1

struct sp_ensure_ops {
	unsigned version;
	/*
	 * Resumes, restores or creates. SP_CONFLICT when the key belongs to another thread. A
	 * transient error of the provider is the answer and leaves the record untouched.
	 */
	int (*ensure)(void *self, const struct sp_ensure_options *options,
		      struct sp_sandbox *ret_sandbox, enum sp_ensure_outcome *ret_outcome,
		      struct sp_error *err);
	/* The key of these options, 16 hex digits and a NUL. */
	int (*key)(void *self, const struct sp_ensure_options *options, char ret_key[17],
		   struct sp_error *err);
	/* Destroys the key's sandbox, then its record; the record stays when destroying failed. */
	int (*destroy)(void *self, const struct sp_ensure_options *options, struct sp_error *err);
	/* Frees the implementation. */
	void (*close)(void *self);
};

/* A reference to an ensure implementation: two pointers, copied freely; close it once. */
struct sp_ensure {
	const struct sp_ensure_ops *ops;
	void *self;
};

#define SP_ENSURE_INIT { NULL, NULL }

#ifdef __cplusplus
}
#endif
#endif
