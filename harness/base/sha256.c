/* SPDX-License-Identifier: MIT */
#include <base/sha256.h>

#include <openssl/evp.h>

#include <sandproof/error.h>

int sp_sha256_hex(const void *data, size_t len, char ret_hex[SP_SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[32];

	if (EVP_Digest(data ? data : "", len, digest, NULL, EVP_sha256(), NULL) != 1)
		return SP_INTERNAL;
	for (size_t i = 0; i < sizeof(digest); i++) {
		ret_hex[2 * i] = digits[digest[i] >> 4];
		ret_hex[2 * i + 1] = digits[digest[i] & 15];
	}
	ret_hex[SP_SHA256_HEX - 1] = '\0';
	return 0;
}
