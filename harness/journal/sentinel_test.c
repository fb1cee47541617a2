/* SPDX-License-Identifier: MIT */
/* Vectors A.3, and the rule of the unterminated line, which is ours. */
#include "sentinel.h"

#include <string.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>

#define N "85be979a9cde500b9aa7e513cd00a79f"
#define NONE (-9999)

Test(journal_sentinel, vectors)
{
	static const struct {
		const char *line;
		int code;
	} rows[] = {
		{ "{\"__exit\":0,\"__nonce\":\"" N "\"}", 0 },
		{ "{\"__nonce\":\"" N "\",\"__exit\":3}", 3 },
		{ "{\"__exit\":1e2,\"__nonce\":\"" N "\"}", 100 },
		{ "{\"__exit\":-1,\"__nonce\":\"" N "\"}", -1 },
		{ "{\"__exit\":1.0,\"__nonce\":\"" N "\"}", 1 },
		{ "  {\"__exit\":0,\"__nonce\":\"" N "\"}\r", 0 },
		{ "\ufeff\u00a0{\"__exit\":4,\"__nonce\":\"" N "\"}\u3000", 4 },
		{ "{ \"more\": [1], \"__exit\" : 5 , \"__nonce\" : \"" N "\" }", 5 },
		{ "{\"__exit\":6,\"__nonce\":\"\\u0038" "5be979a9cde500b9aa7e513cd00a79f\"}", 6 },
		{ "{\"__exit\":\"0\",\"__nonce\":\"" N "\"}", NONE },
		{ "{\"__exit\":1.5,\"__nonce\":\"" N "\"}", NONE },
		{ "{\"__exit\":null,\"__nonce\":\"" N "\"}", NONE },
		{ "{\"__exit\":true,\"__nonce\":\"" N "\"}", NONE },
		{ "{\"__exit\":1e99,\"__nonce\":\"" N "\"}", NONE },
		{ "{\"__exit\":0}", NONE },
		{ "{\"__nonce\":\"" N "\"}", NONE },
		{ "{\"__exit\":0,\"__nonce\":\"95be979a9cde500b9aa7e513cd00a79f\"}", NONE },
		{ "{\"__exit\":0,\"__nonce\":\"85BE979A9CDE500B9AA7E513CD00A79F\"}", NONE },
		{ "[{\"__exit\":0,\"__nonce\":\"" N "\"}]", NONE },
		{ "text {\"__exit\":0,\"__nonce\":\"" N "\"}", NONE },
		{ "{\"__exit\":0,\"__nonce\":\"" N "\"} text", NONE },
		{ "{\"a\":{\"__exit\":0,\"__nonce\":\"" N "\"}}", NONE },
		{ "\"" N "\"", NONE },
		{ "", NONE },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		int code = NONE;
		bool found =
			sp_journal_parse_sentinel(rows[i].line, strlen(rows[i].line), N, &code);

		cr_expect(found == (rows[i].code != NONE) && code == rows[i].code,
			  "%s: %s %d, expected %d", rows[i].line, found ? "yes" : "no", code,
			  rows[i].code);
	}
}

Test(journal_sentinel, behind_an_unterminated_line)
{
	static const struct {
		const char *line;
		int code;
		size_t at;
	} rows[] = {
		{ "x{\"__exit\":0,\"__nonce\":\"" N "\"}", 0, 1 },
		{ "partial{\"__exit\":137,\"__nonce\":\"" N "\"}", 137, 7 },
		{ "{\"__exit\":0}{\"__exit\":7,\"__nonce\":\"" N "\"}", 7, 12 },
		/* The whole line is the sentinel itself, not something behind a line. */
		{ "{\"__exit\":0,\"__nonce\":\"" N "\"}", NONE, 0 },
		/* Only exactly what the wrapper writes. */
		{ "x{\"__exit\":00,\"__nonce\":\"" N "\"}", NONE, 0 },
		{ "x{\"__exit\":256,\"__nonce\":\"" N "\"}", NONE, 0 },
		{ "x{\"__exit\":-1,\"__nonce\":\"" N "\"}", NONE, 0 },
		{ "x{\"__exit\":0, \"__nonce\":\"" N "\"}", NONE, 0 },
		{ "x{\"__nonce\":\"" N "\",\"__exit\":0}", NONE, 0 },
		{ "x{\"__exit\":0,\"__nonce\":\"" N "\"} ", NONE, 0 },
		{ "x{\"__exit\":0,\"__nonce\":\"95be979a9cde500b9aa7e513cd00a79f\"}", NONE, 0 },
		{ "", NONE, 0 },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		int code = NONE;
		size_t at = 0;
		bool found = sp_journal_fused_sentinel(rows[i].line, strlen(rows[i].line), N, &at,
						       &code);

		cr_expect(found == (rows[i].code != NONE) && code == rows[i].code &&
				  at == rows[i].at,
			  "%s: %s %d at %zu, expected %d at %zu", rows[i].line,
			  found ? "yes" : "no", code, at, rows[i].code, rows[i].at);
	}
}

#define S(code) "{\"__exit\":" code ",\"__nonce\":\"" N "\"}"

Test(journal_sentinel, exit_in_a_tail)
{
	static const struct {
		const char *text;
		bool whole;
		int code;
	} rows[] = {
		{ S("7") "\n" S("0") "\n", true, 0 },
		{ S("7") "\njunk\n", true, 7 },
		{ S("7") "\njunk", true, 7 },
		{ S("7"), true, 7 },
		{ "junk\n", true, NONE },
		{ "", true, NONE },
		{ "line\npartial" S("3") "\n", true, 3 },
		/*
		 * A tail that begins within a line: its first line may be the end of another one.
		 */
		{ "{\"__nonce\":\"" N "\",\"__exit\":3}\n", true, 3 },
		{ "{\"__nonce\":\"" N "\",\"__exit\":3}\n", false, NONE },
		{ S("4") "\n", false, 4 },
		{ "x\n" S("5") "\n", false, 5 },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		int code = NONE;
		bool found = sp_journal_find_exit(rows[i].text, strlen(rows[i].text), rows[i].whole,
						  N, &code);

		cr_expect(found == (rows[i].code != NONE) && code == rows[i].code,
			  "%s: %s %d, expected %d", rows[i].text, found ? "yes" : "no", code,
			  rows[i].code);
	}
}
