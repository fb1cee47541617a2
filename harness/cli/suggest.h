/* SPDX-License-Identifier: MIT */
/* Words that name nothing where they stand: what was probably meant, and how that is written. */
#ifndef SP_CLI_SUGGEST_H
#define SP_CLI_SUGGEST_H

#include <cli/cli.h>

/* SP_INVALID for a word that takes no case of any suite; the message says what to write instead. */
int cli_check_words(enum sp_topic topic, const struct cli_list *words, struct sp_error *err);

/* "suite", "case" or "tag", as the option is called. */
const char *cli_topic_name(enum sp_topic topic);

/* True for a word that takes a case of any suite; that one's suite, where `ret_suite` is given. */
bool cli_word_fits(enum sp_topic topic, const char *word, const struct sp_suite **ret_suite);

/* Appends what there is of the suite in "kill:K99" or "exec.nosuch"; nothing for other words. */
void cli_suggest_family(const char *word, struct sp_buf *out);

/*
 * For commands that take options only: true after a message where there is a word, which says by
 * what option of the command it is to be given.
 */
bool cli_loose_word(const struct cli_command *self, const struct cli_list *words);

#endif
