/* SPDX-License-Identifier: MIT */
/*
 * The commands, byte for byte (sandbox-contract 3.3, vectors A.4). All texts are
 * malloc'ed; NULL without memory.
 */
#ifndef SP_JOURNAL_COMMANDS_H
#define SP_JOURNAL_COMMANDS_H

#include <sandproof/seams.h>

/* Puts a text into one single-quoted word. */
char *sp_journal_quote(const char *text);

/* See struct sp_journal_steps for each of these. */
char *sp_journal_compose_start(const struct sp_journal_words *words, const char *command,
			       const char *nonce);
char *sp_journal_compose_prepare(const struct sp_journal_words *words);
char *sp_journal_compose_look(const struct sp_journal_words *words, uint64_t from);
/*
 * A look, and what follows only where it is content, in one command, since a service counts
 * commands. Takes both; NULL when one is. `apart`: a line "." stands between their answers.
 */
char *sp_journal_compose_both(char *look, char *read, bool apart);
char *sp_journal_compose_follow(const struct sp_journal_words *words, uint64_t from);
char *sp_journal_compose_poll(const struct sp_journal_words *words, uint64_t from, uint64_t max);
char *sp_journal_compose_probe(const struct sp_journal_words *words, uint64_t max);
/* Ours, beside the published ones: the size in bytes; the last sentinel of the last `max` bytes, as
 * base64; names that hold a newline, base64 and a full stop for each. */
char *sp_journal_compose_size(const struct sp_journal_words *words);
char *sp_journal_compose_search(const struct sp_journal_words *words, const char *nonce,
				uint64_t max);
char *sp_journal_compose_strange(const struct sp_journal_words *words);
char *sp_journal_compose_stderr(const struct sp_journal_words *words, uint64_t max);
char *sp_journal_compose_exists(const struct sp_journal_words *words);
char *sp_journal_compose_remove(const struct sp_journal_words *words);
char *sp_journal_compose_list(const struct sp_journal_words *words);
char *sp_journal_compose_mtimes(const struct sp_journal_words *words);

/* Codes of look and prepare. */
enum {
	SP_JOURNAL_ABSENT = 1,
	SP_JOURNAL_NO_FILE = 3,
	SP_JOURNAL_UNREADABLE = 4,
	SP_JOURNAL_USED = 5,
};

#endif
