/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <witness/canary.h>

void sp_canary_make(struct sp_case *t, struct sp_canary *canary)
{
	sp_random_id(canary->text, SP_CANARY_LEN);
	sp_case_secret(t, canary->text);
}

static bool has(const void *data, size_t len, const char *needle, size_t needle_len)
{
	return memmem(data, len, needle, needle_len) != NULL;
}

/*
 * Base64 of the canary inside a longer text: what stands before it shifts it
 * by 0, 1 or 2 bytes, and the characters that mix with neighbours are left out.
 */
static bool has_base64(const struct sp_canary *canary, const void *data, size_t len)
{
	for (size_t shift = 0; shift < 3; shift++) {
		struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(256);
		char shifted[SP_CANARY_LEN + 3] = { 0 };
		size_t first = shift ? 4 : 0, whole = (shift + SP_CANARY_LEN) / 3 * 4;

		memcpy(shifted + shift, canary->text, SP_CANARY_LEN);
		if (sp_buf_add_base64(&buf, shifted, shift + SP_CANARY_LEN) < 0)
			continue;
		if (has(data, len, sp_buf_str(&buf) + first, whole - first))
			return true;
	}
	return false;
}

static bool has_hex(const struct sp_canary *canary, const void *data, size_t len)
{
	char lower[2 * SP_CANARY_LEN], upper[2 * SP_CANARY_LEN];

	for (size_t i = 0; i < SP_CANARY_LEN; i++) {
		unsigned char c = (unsigned char)canary->text[i];

		lower[2 * i] = "0123456789abcdef"[c >> 4];
		lower[2 * i + 1] = "0123456789abcdef"[c & 15];
		upper[2 * i] = "0123456789ABCDEF"[c >> 4];
		upper[2 * i + 1] = "0123456789ABCDEF"[c & 15];
	}
	return has(data, len, lower, sizeof(lower)) || has(data, len, upper, sizeof(upper));
}

const char *sp_canary_find(const struct sp_canary *canary, const void *data, size_t len)
{
	if (!data || len == 0)
		return NULL;
	if (has(data, len, canary->text, SP_CANARY_LEN))
		return "plain";
	if (has_base64(canary, data, len))
		return "base64";
	if (has_hex(canary, data, len))
		return "hex";
	return NULL;
}

bool sp_canary_check_absent(struct sp_case *t, const struct sp_canary *canary, const void *data,
			    size_t len, struct sp_where where, const char *what)
{
	const char *form = sp_canary_find(canary, data, len);

	return sp_check(t, !form, where, "%s does not hold the secret%s%s", what,
			form ? "; it does, as " : "", form ? form : "");
}
