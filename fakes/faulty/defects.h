/* SPDX-License-Identifier: MIT */
/* The table of known defects (defects.txt), and where each is shown here. */
#ifndef FAKE_FAULTY_DEFECTS_H
#define FAKE_FAULTY_DEFECTS_H

#include <stdbool.h>
#include <stddef.h>

#include <sandproof/error.h>

/* One way in which an entry is placed. */
enum defect_placement {
	/* Modelled by faults of ours. */
	DEFECT_FAULT = 0,
	/* One with another entry. */
	DEFECT_SAME,
	/* Shown by a unit test of our own client, runner or witness. */
	DEFECT_TEST,
	/* Not under this contract, and why. */
	DEFECT_OUTSIDE,
	DEFECT_PLACEMENT_MAX_,
};

/* One entry. Texts are owned by the table; NULL where a placement is not there. */
struct defect {
	/* "contract:C3", "field:K01", "render:5". */
	char *id;
	/* What the defective implementation does. */
	char *words;
	/* By placement: words of one line, joined by single spaces. */
	char *placed[DEFECT_PLACEMENT_MAX_];
	/* Line of the file, from 1. */
	size_t line;
};

struct defect_table {
	struct defect *entries;
	size_t len;
	/* Sources that are sections and no entries, joined by spaces. */
	char *sections;
};

/* The text that is built into this program. */
const char *defects_text(void);
/*
 * Reads a table. SP_INVALID names the line: no id, an id twice, a line of an unknown kind, a
 * placement twice, or a mixture that says two things. Free it in any case.
 */
int defects_read(const char *text, struct defect_table *ret_table, struct sp_error *err);
void defects_done(struct defect_table *table);

/* One entry by id, or NULL. */
struct defect *defects_find(const struct defect_table *table, const char *id);
/* True when the entry is placed at all. */
bool defect_is_placed(const struct defect *defect);
/* "fault" and so on. */
const char *defect_placement_name(enum defect_placement placement);
/* True when `word` is one of the words of a text that are joined by spaces; NULL has none. */
bool defect_has_word(const char *words, const char *word);

#endif
