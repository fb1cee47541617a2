/* SPDX-License-Identifier: MIT */
#include "decode.h"

#include <string.h>

#include <criterion/criterion.h>

#include <base/buf.h>
#include <base/cleanup.h>

Test(journal_decode, table)
{
	static const struct {
		const char *text;
		bool cut;
		/* NULL: not base64. */
		const char *bytes;
	} rows[] = {
		{ "", false, "" },
		{ "\n", false, "" },
		{ "YWJj", false, "abc" },
		{ "YWJj\n", false, "abc" },
		{ "YW\r\nJj\n", false, "abc" },
		{ "YWI=", false, "ab" },
		{ "YQ==\n", false, "a" },
		{ "YWJjYQ==", false, "abca" },
		/* A remainder is an error unless the provider says that it cut. */
		{ "YWJjY", false, NULL },
		{ "YWJjY", true, "abc" },
		{ "YWJjYW", true, "abc" },
		{ "YWJjYWI", true, "abc" },
		{ "Y", true, "" },
		{ "YWJj\nYWJ\n", true, "abc" },
		{ "YW$j", false, NULL },
		{ "YW$j", true, NULL },
		{ "YQ==YQ==", false, NULL },
		{ "Y===", false, NULL },
		{ "=YWJ", false, NULL },
		{ "YQ=a", false, NULL },
		{ "\xff\xff\xff\xff", false, NULL },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		int rc = sp_journal_decode_read(rows[i].text, strlen(rows[i].text), rows[i].cut,
						&bytes, NULL);

		cr_expect_eq(rc, rows[i].bytes ? 0 : SP_PROTOCOL, "\"%s\": %s", rows[i].text,
			     sp_code_name(rc));
		cr_expect(rc || !strcmp((char *)bytes.data, rows[i].bytes), "\"%s\": \"%s\"",
			  rows[i].text, rc ? "" : (char *)bytes.data);
	}
}

/* All bytes, in lines as base64(1) writes them, cut at every place. */
Test(journal_decode, every_cut)
{
	unsigned char all[256];
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf lines SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	sp_buf_add_base64(&text, all, sizeof(all));
	for (size_t i = 0; i < text.len; i += 76)
		sp_buf_addf(&lines, "%.76s\n", text.data + i);
	for (size_t len = 0; len <= lines.len; len++) {
		struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		int rc = sp_journal_decode_read(lines.data, len, true, &bytes, NULL);
		size_t quads = (len - len / 77) / 4, whole = quads * 3 < 256 ? quads * 3 : 256;

		cr_assert(!rc && bytes.len == whole && !memcmp(bytes.data, all, whole),
			  "cut at %zu: %zu bytes, expected %zu", len, bytes.len, whole);
	}
}
