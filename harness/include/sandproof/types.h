/* SPDX-License-Identifier: MIT */
/* Small values that every table of the contract uses. */
#ifndef SANDPROOF_TYPES_H
#define SANDPROOF_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Owned bytes. `data` comes from malloc() and is always followed by a NUL
 * that `len` does not count, so text can be printed; it may hold NULs.
 */
struct sp_bytes {
	unsigned char *data;
	size_t len;
};

#define SP_BYTES_INIT { NULL, 0 }

/* Frees the bytes and clears the struct; a cleared struct is fine. */
void sp_bytes_done(struct sp_bytes *bytes);

/* One variable of an environment. Borrowed text: valid for the call that it is passed to. */
struct sp_env {
	const char *name;
	const char *value;
};

/* The output streams of a process. */
enum sp_stream {
	SP_STDOUT = 1,
	SP_STDERR = 2,
};

#ifdef __cplusplus
}
#endif
#endif
