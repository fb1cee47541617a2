/* SPDX-License-Identifier: MIT */
/* Vectors A.4: one exact string a command, since quoting shows in nothing else. */
#include "commands.h"

#include <criterion/criterion.h>

#include <string.h>

#include <base/cleanup.h>

#define DIR "'/tmp/tanstack-runs'"
#define NONCE "434c899024bf72700c6bbcd8dcada793"
#define JOURNAL "'/tmp/tanstack-runs/r_271.ndjson'"
#define ERR "'/tmp/tanstack-runs/r_271.err'"

static const struct sp_journal_words words = { DIR, JOURNAL, ERR };
static const struct sp_journal_words folder = { "'/tmp/d'", NULL, NULL };

Test(journal_commands, vectors)
{
	const struct {
		char *made;
		const char *expected;
	} rows[] = {
		{ sp_journal_compose_start(&words, "echo hi", NONCE),
		  "mkdir -p " DIR " && { ( echo hi ); printf '{\"__exit\":%d,\"__nonce\":\"" NONCE
		  "\"}\\n' \"$?\"; } >> " JOURNAL " 2>> " ERR },
		{ sp_journal_compose_follow(&words, 0),
		  "mkdir -p " DIR " 2>/dev/null; : >> " JOURNAL " 2>/dev/null; tail -c +1 "
								"-f " JOURNAL " 2>/dev/null" },
		/* The peer's form with our bound in it. */
		{ sp_journal_compose_poll(&words, 41, 100),
		  "tail -c +42 " JOURNAL " 2>/dev/null | head -c 100 | base64" },
		{ sp_journal_compose_both(strdup("look"), strdup("read"), false), "look && read" },
		{ sp_journal_compose_both(strdup("look"), strdup("read"), true),
		  "look && echo . && read" },
		{ sp_journal_compose_probe(&words, 4096), "tail -c -4096 " JOURNAL " 2>/dev/null | "
										   "base64" },
		{ sp_journal_compose_search(&words, NONCE, 67108864),
		  "tail -c -67108864 " JOURNAL " 2>/dev/null | LC_ALL=C grep -aoE "
		  "'\\{\"__exit\":[0-9]+,\"__nonce\":\"" NONCE "\"\\}$' 2>/dev/null | "
		  "tail -n 1 | base64" },
		{ sp_journal_compose_stderr(&words, 4096), "tail -c -4096 " ERR " 2>/dev/null | "
										"base64" },
		{ sp_journal_compose_exists(&words), "test -f " JOURNAL },
		{ sp_journal_compose_remove(&words), "rm -f " JOURNAL " " ERR },
		{ sp_journal_compose_list(&words), "ls -1 " DIR " 2>/dev/null" },
		{ sp_journal_compose_mtimes(&folder), "stat -c '%Y %n' '/tmp/d' '/tmp/d'/* "
						      "2>/dev/null" },
		{ sp_journal_quote("a'b"), "'a'\\''b'" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		cr_expect_str_eq(rows[i].made, rows[i].expected, "made     %s\nexpected %s",
				 rows[i].made, rows[i].expected);
		free(rows[i].made);
	}
}

/* The shell reads to the end of the line: what follows has to begin on the next one. */
Test(journal_commands, a_command_cannot_swallow_the_wrapper)
{
	static const char *const commands[] = { "echo hi # note", "cat <<E\nx\nE", "echo a\\" };

	for (size_t i = 0; i < SP_COUNT(commands); i++) {
		char *made SP_FREE = sp_journal_compose_start(&words, commands[i], NONCE);
		char *expected SP_FREE = NULL;

		cr_assert(asprintf(&expected, "{ ( %s\n); printf", commands[i]) > 0);
		cr_expect(strstr(made, expected), "%s is not in %s", expected, made);
	}
}
