/* SPDX-License-Identifier: MIT */
/* Reads defects.txt. Strict, since nobody looks at a line that is quietly passed over. */
#include "defects.h"

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

static const char text[] =
#include <defects.inc>
	;

const char *defects_text(void)
{
	return text;
}

static const char *const names[DEFECT_PLACEMENT_MAX_] = {
	[DEFECT_FAULT] = "fault",
	[DEFECT_SAME] = "same",
	[DEFECT_TEST] = "test",
	[DEFECT_OUTSIDE] = "outside",
};

const char *defect_placement_name(enum defect_placement placement)
{
	return names[placement];
}

bool defect_has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; at && *at;) {
		size_t n = strcspn(at, " ");

		if (n == len && !strncmp(at, word, len))
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

struct defect *defects_find(const struct defect_table *table, const char *id)
{
	for (size_t i = 0; i < table->len; i++)
		if (!strcmp(table->entries[i].id, id))
			return &table->entries[i];
	return NULL;
}

bool defect_is_placed(const struct defect *defect)
{
	for (unsigned i = 0; i < DEFECT_PLACEMENT_MAX_; i++)
		if (defect->placed[i])
			return true;
	return false;
}

/* ---- Reading ---- */

struct reader {
	struct defect_table *table;
	size_t line;
	/* Where a continued line goes, or NULL. */
	char **last;
	struct sp_error *err;
};

static int wrong(struct reader *r, const char *what, const char *line)
{
	return sp_error_set(r->err, SP_INVALID, "line %zu of the table of defects %s: \"%.60s\"",
			    r->line, what, line);
}

static int no_memory(struct reader *r)
{
	return sp_error_set(r->err, SP_INTERNAL, "out of memory");
}

/* Appends words to a text. */
static int append(struct reader *r, char **to, const char *words)
{
	char *grown;

	if (asprintf(&grown, "%s%s%s", *to ? *to : "", *to ? " " : "", words) < 0)
		return no_memory(r);
	free(*to);
	*to = grown;
	return 0;
}

/* "ID | words" */
static int read_entry(struct reader *r, char *line)
{
	struct defect_table *table = r->table;
	struct defect *grown;
	char *bar = strstr(line, " | ");

	if (!bar || bar == line || !bar[3])
		return wrong(r, "has no \"ID | words\"", line);
	*bar = '\0';
	if (strchr(line, ' ') || !strchr(line, ':'))
		return wrong(r, "has no id such as contract:C3", line);
	if (defects_find(table, line))
		return wrong(r, "has an id that was there before", line);
	grown = reallocarray(table->entries, table->len + 1, sizeof(*grown));
	if (!grown)
		return no_memory(r);
	table->entries = grown;
	grown[table->len] = (struct defect){ .id = strdup(line), .words = strdup(bar + 3),
					     .line = r->line };
	r->last = NULL;
	table->len++;
	return grown[table->len - 1].id && grown[table->len - 1].words ? 0 : no_memory(r);
}

/* "\tkind words" */
static int read_placement(struct reader *r, const char *line)
{
	struct defect *entry = r->table->len ? &r->table->entries[r->table->len - 1] : NULL;
	size_t len = strcspn(line, " ");

	if (!entry)
		return wrong(r, "belongs to no entry", line);
	if (!line[len] || !line[len + 1])
		return wrong(r, "has nothing after its kind", line);
	for (unsigned i = 0; i < DEFECT_PLACEMENT_MAX_; i++) {
		if (strlen(names[i]) != len || strncmp(line, names[i], len))
			continue;
		if (entry->placed[i])
			return wrong(r, "has a kind that was there before", line);
		r->last = &entry->placed[i];
		return append(r, r->last, line + len + 1);
	}
	return wrong(r, "has a kind that is not fault, same, test or outside", line);
}

/* "# section ID..." */
static int read_comment(struct reader *r, const char *line)
{
	static const char sections[] = "# section ";

	if (strncmp(line, sections, sizeof(sections) - 1))
		return 0;
	return append(r, &r->table->sections, line + sizeof(sections) - 1);
}

static int read_line(struct reader *r, char *line)
{
	if (*line == '#')
		return read_comment(r, line);
	if (!*line)
		return 0;
	if (*line != '\t')
		return read_entry(r, line);
	if (line[1] != '\t')
		return read_placement(r, line + 1);
	if (!r->last || !line[2])
		return wrong(r, "continues nothing", line + 1);
	return append(r, r->last, line + 2);
}

/* Modelled or shown here, one with another, or outside: an entry says one of them. */
static int check_mixture(struct reader *r, const struct defect *entry)
{
	bool here = entry->placed[DEFECT_FAULT] || entry->placed[DEFECT_TEST];
	int ways = here + !!entry->placed[DEFECT_SAME] + !!entry->placed[DEFECT_OUTSIDE];

	r->line = entry->line;
	return ways > 1 ? wrong(r, "is placed in two ways", entry->id) : 0;
}

int defects_read(const char *table_text, struct defect_table *ret_table, struct sp_error *err)
{
	struct reader r = { .table = ret_table, .err = err };
	char *copy SP_FREE = strdup(table_text), *at = copy, *line;
	int rc = 0;

	*ret_table = (struct defect_table){ .len = 0 };
	if (!copy)
		return no_memory(&r);
	while (!rc && (line = strsep(&at, "\n"))) {
		r.line++;
		rc = read_line(&r, line);
	}
	for (size_t i = 0; !rc && i < ret_table->len; i++)
		rc = check_mixture(&r, &ret_table->entries[i]);
	return rc;
}

void defects_done(struct defect_table *table)
{
	for (size_t i = 0; i < table->len; i++) {
		free(table->entries[i].id);
		free(table->entries[i].words);
		for (unsigned p = 0; p < DEFECT_PLACEMENT_MAX_; p++)
			free(table->entries[i].placed[p]);
	}
	free(table->entries);
	free(table->sections);
	*table = (struct defect_table){ .len = 0 };
}
