/* SPDX-License-Identifier: MIT */
/*
 * The key of a sandbox, byte for byte the peer's (sandbox-contract 4.1 and A.5), and
 * the longest age of a record.
 */
#ifndef SP_ENSURE_KEY_H
#define SP_ENSURE_KEY_H

#include <sandproof/ensure.h>

/* 16 hex digits and a NUL. */
#define SP_ENSURE_KEY_SIZE 17

/*
 * Two lanes of 32-bit FNV-1a over the UTF-16 units of `text` (valid UTF-8): the first takes the low
 * bytes, the second the high ones. For ASCII the second knows the length only, so different
 * texts do meet: whoever uses the key compares the thread.
 */
void sp_ensure_hash(const char *text, size_t len, char ret_hash[SP_ENSURE_KEY_SIZE]);

/*
 * The key of these options for a provider of this name. SP_INVALID: a part is missing, empty, not
 * UTF-8, or not the JSON it has to be; or the workspace holds `secrets`, which belong into env.
 */
int sp_ensure_key(const struct sp_ensure_options *options, const char *provider_name,
		  char ret_key[SP_ENSURE_KEY_SIZE], struct sp_error *err);

/*
 * Reads "<n>h" or "<n>m" (digits only, 1 to 1000000 hours or minutes) as milliseconds; NULL gives
 * -1, any age. SP_INVALID for everything else: a limit that is not understood must not become none.
 */
int sp_ensure_age(const char *text, int64_t *ret_ms, struct sp_error *err);

/*
 * True when a record of `updated_at` is older than `max_age_ms` (-1: never) at
 * `now_ms`. A time to come is not old.
 */
bool sp_ensure_expired(int64_t updated_at, int64_t now_ms, int64_t max_age_ms);

#endif
