/* SPDX-License-Identifier: MIT */
/*
 * Optional: the bare platform below a provider, without wrapper, cap or env
 * files. Only the `platform` suite uses it, to measure again the facts on
 * which the fake stands.
 */
#ifndef SANDPROOF_PLATFORM_H
#define SANDPROOF_PLATFORM_H

#include <sandproof/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SP_PLATFORM_VERSION 1

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
