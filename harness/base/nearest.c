/* SPDX-License-Identifier: MIT */
#include "nearest.h"

#include <stdint.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>

/* Longer words are not typed by hand. */
#define WORD_MAX_LEN 128
#define SUGGESTIONS 3

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Damerau-Levenshtein in its restricted form: insert, delete, replace, swap two neighbours. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][WORD_MAX_LEN + 1];

	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *row = rows[i % 3];
		size_t *above = rows[(i + 2) % 3];
		size_t *above2 = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t cost = above[j - 1] + (a[i - 1] != b[j - 1]);

			cost = least(cost, least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost = least(cost, above2[j - 2] + 1);
			row[j] = cost;
		}
	}
	return rows[n % 3][m];
}

/* The letters of a glob without its stars. */
static size_t bare_word(const char *word, char bare[WORD_MAX_LEN + 1])
{
	size_t len = 0;

	for (; *word && len < WORD_MAX_LEN; word++)
		if (*word != '*' && *word != '?')
			bare[len++] = *word;
	bare[len] = '\0';
	return len;
}

/*
 * Distance of a name to what was typed: of the whole name, or of its part of that
 * length when the word is in it.
 */
static size_t rank(const char *bare, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	if (name_len > WORD_MAX_LEN)
		return SIZE_MAX;
	if (len >= 3 && strstr(name, bare))
		return 1;
	return distance(bare, len, name, name_len);
}

struct near {
	const char *name;
	size_t rank;
};

/* Keeps the best few, in order; equal ranks stay in the order of the list. */
static void offer(struct near best[SUGGESTIONS], const char *name, size_t rank)
{
	for (size_t i = 0; i < SUGGESTIONS; i++) {
		if (best[i].name && !strcmp(best[i].name, name))
			return;
		if (best[i].name && best[i].rank <= rank)
			continue;
		memmove(&best[i + 1], &best[i], (SUGGESTIONS - 1 - i) * sizeof(*best));
		best[i] = (struct near){ name, rank };
		return;
	}
}

char *sp_nearest(const char *word, const char *const *names, size_t n_names)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct near best[SUGGESTIONS] = { 0 };
	char bare[WORD_MAX_LEN + 1];
	size_t len = bare_word(word, bare);
	/* A third of the word may be wrong. */
	size_t limit = len < 6 ? 2 : len / 3;

	for (size_t i = 0; len && i < n_names; i++) {
		size_t r = rank(bare, len, names[i]);

		if (r <= limit)
			offer(best, names[i], r);
	}
	for (size_t i = 0; i < SUGGESTIONS && best[i].name; i++)
		sp_buf_addf(&out, "%s%s", i ? ", " : "", best[i].name);
	return sp_buf_take(&out, NULL);
}
