/* SPDX-License-Identifier: MIT */
/* Faults of the mark: what ends a run, and who says so. */
#include <string.h>

#include "journal_faults.h"

static struct sp_journal_steps healthy;

#define CHANGE(name, step)                                                                         \
	static void change_##name(struct sp_journal_steps *steps)                                  \
	{                                                                                          \
		healthy = *steps;                                                                  \
		steps->step = name;                                                                \
	}

#define KEY "\"__exit\":"

/* The number behind the first exit key; NULL: there is none. */
static const char *find_code(const char *line, size_t len, int *ret_code)
{
	const char *key = memmem(line, len, KEY, strlen(KEY));
	char digits[16] = "";
	size_t left;

	if (!key)
		return NULL;
	left = len - (size_t)(key - line) - strlen(KEY);
	memcpy(digits, key + strlen(KEY), left < sizeof(digits) - 1 ? left : sizeof(digits) - 1);
	*ret_code = (int)strtol(digits, NULL, 10);
	return key;
}

static bool any_mark(const char *line, size_t len, const char *nonce, int *ret_code)
{
	(void)nonce;
	return find_code(line, len, ret_code);
}
CHANGE(any_mark, parse_sentinel)

/* A code that is no integer is 0. */
static bool loose(const char *line, size_t len, const char *nonce, int *ret_code)
{
	return memmem(line, len, nonce, strlen(nonce)) && find_code(line, len, ret_code);
}
CHANGE(loose, parse_sentinel)

static bool strict(const char *line, size_t len, const char *nonce, int *ret_code)
{
	char *expected SP_FREE = NULL;
	int code = 0;

	if (!find_code(line, len, &code))
		return false;
	expected = journal_text("{" KEY "%d,\"__nonce\":\"%s\"}", code, nonce);
	if (!expected || strlen(expected) != len || memcmp(expected, line, len))
		return false;
	*ret_code = code;
	return true;
}
CHANGE(strict, parse_sentinel)

static int shared_nonce(const char *run_id, size_t len, char ret_nonce[33])
{
	(void)run_id, (void)len;
	memset(ret_nonce, '0', 32);
	ret_nonce[32] = '\0';
	return 0;
}
CHANGE(shared_nonce, nonce)

static bool unfused(const char *line, size_t len, const char *nonce, size_t *ret_at, int *ret_code)
{
	(void)line, (void)len, (void)nonce, (void)ret_at, (void)ret_code;
	return false;
}
CHANGE(unfused, fused_sentinel)

static bool first_on_line(const char *line, size_t len, const char *nonce, size_t *ret_at,
			  int *ret_code)
{
	const char *key = find_code(line, len, ret_code);

	(void)nonce;
	if (!key)
		return false;
	*ret_at = key == line ? 0 : (size_t)(key - line) - 1;
	return true;
}
CHANGE(first_on_line, fused_sentinel)

static bool from_start(const char *text, size_t len, bool whole, const char *nonce, int *ret_code)
{
	(void)whole;
	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline ? (size_t)(newline - text) : len;

		if (healthy.parse_sentinel(text, n, nonce, ret_code))
			return true;
		n += newline != NULL;
		text += n;
		len -= n;
	}
	return false;
}
CHANGE(from_start, find_exit)

static bool made_up(const char *text, size_t len, bool whole, const char *nonce, int *ret_code)
{
	if (healthy.find_exit(text, len, whole, nonce, ret_code))
		return true;
	*ret_code = 0;
	return len != 0;
}
CHANGE(made_up, find_exit)

static void change_first_mark(struct sp_journal_steps *steps)
{
	steps->last_sentinel = false;
}

static const struct sp_fault faults[] = {
	JOURNAL_STEP_FAULT("journal-any-mark", any_mark, "J7",
			   "Any line with an exit key ends the run.", FAULT_LIST("field:J13"),
			   FAULT_LIST("journal.mark.forged", "journal.follow.forged")),
	JOURNAL_STEP_FAULT("journal-mark-loose", loose, "J7", "A code that is no integer is 0.",
			   FAULT_LIST("contract:C65"), FAULT_LIST("journal.mark.forged")),
	JOURNAL_STEP_FAULT("journal-mark-strict", strict, "J7",
			   "Only one spelling of the mark is known.", FAULT_LIST("contract:3.2"),
			   FAULT_LIST("journal.mark.spellings")),
	JOURNAL_STEP_FAULT("journal-nonce-shared", shared_nonce, "J7", "All runs have one nonce.",
			   FAULT_LIST("field:J13"),
			   FAULT_LIST("journal.mark.forged", "journal.names.vectors")),
	JOURNAL_STEP_FAULT("journal-tail-lost", unfused, "J7",
			   "A mark on the same line as a last line without newline is not seen.",
			   FAULT_LIST("contract:C48", "field:J05"),
			   FAULT_LIST("journal.line.unterminated", "journal.follow.unterminated")),
	JOURNAL_STEP_FAULT("journal-mark-first-on-line", first_on_line, "J7",
			   "The first mark on a line counts, whoever's it is.",
			   FAULT_LIST("field:J13"), FAULT_LIST("journal.mark.fused")),
	JOURNAL_STEP_FAULT("journal-probe-first", from_start, "J7",
			   "The probe takes the first mark of the tail.",
			   FAULT_LIST("contract:3.2"), FAULT_LIST("journal.mark.probe")),
	JOURNAL_STEP_FAULT("journal-exit-made-up", made_up, "J12",
			   "A journal that stands still is told finished with 0.",
			   FAULT_LIST("contract:C61", "field:J19"),
			   FAULT_LIST("journal.ends.killed", "journal.mark.probe")),
	JOURNAL_STEP_FAULT("journal-reader-first-mark", first_mark, "J7",
			   "A reader stops at the first mark, a probe begins at the end.",
			   FAULT_LIST("contract:3.2"), FAULT_LIST("journal.mark.two")),
};
FAULT_TABLE(fault_journal_marks, faults);
