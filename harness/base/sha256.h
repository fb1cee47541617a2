/* SPDX-License-Identifier: MIT */
/* SHA-256 of bytes in memory, by libcrypto. */
#ifndef SP_BASE_SHA256_H
#define SP_BASE_SHA256_H

#include <stddef.h>

/* Length of the hexadecimal form with its NUL. */
#define SP_SHA256_HEX 65

/*
 * Writes the digest of `len` bytes as 64 lower-case hex digits and a NUL. 0, or
 * SP_INTERNAL when libcrypto fails.
 */
int sp_sha256_hex(const void *data, size_t len, char ret_hex[SP_SHA256_HEX]);

#endif
