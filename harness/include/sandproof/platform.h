/* SPDX-License-Identifier: MIT */
/*
 * Optional: the bare platform below a provider, without wrapper, cap or env
 * files. The `platform` suite uses it to measure again the facts on which the
 * fake stands; the runner's ledger and its sweep to name what was made and to
 * look at what may have been.
 */
#ifndef SANDPROOF_PLATFORM_H
#define SANDPROOF_PLATFORM_H

#include <sandproof/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SP_PLATFORM_VERSION 2

/* What the platform says of a sandbox. Owned by the caller. */
struct sp_platform_sandbox {
	/* Wire name ("running"). */
	char state[16];
	/* Group that its snapshots belong to; NULL where the platform names none. */
	char *group;
	/* Unix milliseconds by the platform's clock; 0: not told. */
	int64_t created_ms;
	/* Seconds; 0: no limit, or not told. */
	uint32_t lifetime_s;
};

#define SP_PLATFORM_SANDBOX_INIT { .group = NULL }

/* Frees the texts and clears the struct. */
void sp_platform_sandbox_done(struct sp_platform_sandbox *sandbox);

/* One snapshot of a group. Texts are owned by the list. */
struct sp_platform_snapshot {
	/* Reference as provider.snapshot_delete takes it. */
	char *reference;
	/* Name on the platform, NULL: none. */
	char *name;
	char *source_id;
	/* Unix milliseconds by the platform's clock; 0: not told. */
	int64_t requested_ms;
};

/* Owned by the caller. */
struct sp_platform_snapshots {
	struct sp_platform_snapshot *items;
	size_t len;
};

#define SP_PLATFORM_SNAPSHOTS_INIT { NULL, 0 }

/* Frees the list and clears the struct. */
void sp_platform_snapshots_done(struct sp_platform_snapshots *snapshots);

struct sp_platform_ops {
	unsigned version;
	/* Runs a command exactly as given. */
	int (*raw_exec)(void *self, const char *sandbox_id, const char *command,
			struct sp_exec_result *ret_result, struct sp_cancel *cancel,
			struct sp_error *err);
	/* Starts a command exactly as given and drops its stream as soon as it is accepted. */
	int (*raw_start_and_drop)(void *self, const char *sandbox_id, const char *command,
				  struct sp_cancel *cancel, struct sp_error *err);
	/* Uploads bytes to a platform path. */
	int (*raw_upload)(void *self, const char *sandbox_id, const char *path, const void *data,
			  size_t len, struct sp_cancel *cancel, struct sp_error *err);
	/* Downloads a platform path; `*ret_is_archive` is true for a folder. */
	int (*raw_download)(void *self, const char *sandbox_id, const char *path,
			    struct sp_bytes *ret_bytes, bool *ret_is_archive,
			    struct sp_cancel *cancel, struct sp_error *err);
	/* Takes a snapshot under exactly this name. */
	int (*raw_snapshot)(void *self, const char *sandbox_id, const char *name,
			    enum sp_snapshot_kind kind, char **ret_snapshot_id,
			    struct sp_cancel *cancel, struct sp_error *err);
	/* Looks at a sandbox, which wakes nothing. SP_GONE: it is not there any more. */
	int (*look)(void *self, const char *sandbox_id, struct sp_platform_sandbox *ret_sandbox,
		    struct sp_cancel *cancel, struct sp_error *err);
	/* Lists the snapshots of a group, those that are being captured or failed included. */
	int (*snapshots)(void *self, const char *group, struct sp_platform_snapshots *ret_snapshots,
			 struct sp_cancel *cancel, struct sp_error *err);
	/* Name of the workspace that the credentials belong to; lives as long as the platform. */
	const char *(*workspace)(void *self);
};

/* A reference to a platform; owned by the provider that gave it. */
struct sp_platform {
	const struct sp_platform_ops *ops;
	void *self;
};

#define SP_PLATFORM_INIT { NULL, NULL }

#ifdef __cplusplus
}
#endif
#endif
