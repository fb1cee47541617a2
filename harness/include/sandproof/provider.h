/* SPDX-License-Identifier: MIT */
/*
 * A provider: makes, finds and removes sandboxes (sandbox-contract 1.3).
 * Threads: every call may be made from any thread.
 */
#ifndef SANDPROOF_PROVIDER_H
#define SANDPROOF_PROVIDER_H

#include <sandproof/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a sandbox may reach. */
enum sp_network {
	/* The provider's own default; never SP_UNSUPPORTED. */
	SP_NETWORK_DEFAULT = 0,
	SP_NETWORK_ALLOW,
	/* No name look-up, no TCP, no UDP leaves the sandbox; its own loopback works. */
	SP_NETWORK_DENY,
};

#define SP_CREATE_OPTIONS_VERSION 1

/* How to make a sandbox. All pointers are borrowed for the call. */
struct sp_create_options {
	unsigned version;
	/* Deterministic instance key; a provider that mints ids may ignore it. May be NULL. */
	const char *id;
	/* Description of the workspace as JSON text; opaque to most providers. May be NULL. */
	const char *workspace;
	enum sp_network network;
	/*
	 * The workspace's secrets: the environment of every command. Never on
	 * a command line, log or disk.
	 */
	const struct sp_env *env;
	size_t n_env;
	/*
	 * Seconds after which the platform ends the sandbox by itself; 0 is the provider's default.
	 */
	uint32_t lifetime_s;
	/*
	 * Abort or deadline during create removes what was made. An abort
	 * after create returned has no effect.
	 */
	struct sp_cancel *cancel;
	/* Name of the calling adapter, for the platform's own records. May be NULL. */
	const char *adapter_name;
};

#define SP_CREATE_OPTIONS_INIT { .version = SP_CREATE_OPTIONS_VERSION }

/* Ids of sandboxes. Owned by the caller. */
struct sp_id_list {
	char **ids;
	size_t len;
};

#define SP_ID_LIST_INIT { NULL, 0 }

/* Frees the list and clears the struct. */
void sp_id_list_done(struct sp_id_list *list);

/* Part of the detail of a failed create or snapshot that may have left something. */
#define SP_MAY_BE_THERE "may still be there"

#define SP_PROVIDER_VERSION 1

struct sp_provider_ops {
	unsigned version;

	/* Stable lower-case name ("render"); lives as long as the provider. */
	const char *(*name)(void *self);
	/* The declaration; lives as long as the provider and never changes. */
	const struct sp_capabilities *(*capabilities)(void *self);

	/*
	 * Makes a sandbox and returns when it takes commands. If it fails part
	 * way, what was made is removed and the first error is the answer; a
	 * sandbox of that name that already existed is never removed
	 * (SP_CONFLICT). SP_UNKNOWN_OUTCOME: the request went out and no answer came.
	 * If what was made could not be removed, the error's detail says SP_MAY_BE_THERE.
	 */
	int (*create)(void *self, const struct sp_create_options *options,
		      struct sp_sandbox *ret_sandbox, struct sp_error *err);

	/*
	 * Finds a sandbox by id and starts it if it is stopped. Returns 0 with a
	 * cleared `ret_sandbox` (ops NULL) only when it is gone for good. A
	 * transient or authorisation error is an error and never "gone".
	 */
	int (*resume)(void *self, const char *id, struct sp_sandbox *ret_sandbox,
		      struct sp_cancel *cancel, struct sp_error *err);

	/*
	 * Optional. A new sandbox from a snapshot; env and network come from
	 * `options`, never from the snapshot.
	 */
	int (*restore)(void *self, const char *snapshot_id, const struct sp_create_options *options,
		       struct sp_sandbox *ret_sandbox, struct sp_error *err);

	/*
	 * Removes a sandbox by id. Idempotent: already gone is success; SP_DENIED or
	 * SP_UNAVAILABLE is not "gone".
	 */
	int (*destroy)(void *self, const char *id, struct sp_cancel *cancel, struct sp_error *err);

	/* Optional. Deletes a snapshot by reference id. Idempotent. */
	int (*snapshot_delete)(void *self, const char *snapshot_id, struct sp_cancel *cancel,
			       struct sp_error *err);

	/* Optional. Ids of the live sandboxes that this provider's credentials can see. */
	int (*list)(void *self, struct sp_id_list *ret_list, struct sp_cancel *cancel,
		    struct sp_error *err);

	/* Frees the provider; its sandboxes live on. Close their handles first. */
	void (*close)(void *self);
};

/* A reference to a provider: two pointers, copied freely; close it once. */
struct sp_provider {
	const struct sp_provider_ops *ops;
	void *self;
};

#define SP_PROVIDER_INIT { NULL, NULL }

/* Callers use these: they answer SP_UNSUPPORTED where a table has no entry. */

/* See sp_provider_ops.name. */
const char *sp_provider_name(struct sp_provider *provider);
/* See sp_provider_ops.capabilities. */
const struct sp_capabilities *sp_provider_capabilities(struct sp_provider *provider);
/* See sp_provider_ops.create. */
int sp_provider_create(struct sp_provider *provider, const struct sp_create_options *options,
		       struct sp_sandbox *ret_sandbox, struct sp_error *err);
/* See sp_provider_ops.resume. */
int sp_provider_resume(struct sp_provider *provider, const char *id, struct sp_sandbox *ret_sandbox,
		       struct sp_cancel *cancel, struct sp_error *err);
/* See sp_provider_ops.restore. */
int sp_provider_restore(struct sp_provider *provider, const char *snapshot_id,
			const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
			struct sp_error *err);
/* See sp_provider_ops.destroy. */
int sp_provider_destroy(struct sp_provider *provider, const char *id, struct sp_cancel *cancel,
			struct sp_error *err);
/* See sp_provider_ops.snapshot_delete. */
int sp_provider_snapshot_delete(struct sp_provider *provider, const char *snapshot_id,
				struct sp_cancel *cancel, struct sp_error *err);
/* See sp_provider_ops.list. */
int sp_provider_list(struct sp_provider *provider, struct sp_id_list *ret_list,
		     struct sp_cancel *cancel, struct sp_error *err);
/* Closes the provider and clears the reference; a cleared one is fine. */
void sp_provider_done(struct sp_provider *provider);

#ifdef __cplusplus
}
#endif
#endif
