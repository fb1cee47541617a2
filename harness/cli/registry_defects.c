/* SPDX-License-Identifier: MIT */
/* The table of known defects, for everything that may not see the fakes. */
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <fakes/faulty/defects.h>

#include "registry_impl.h"

/* A copy that may be of nothing. */
static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

bool cli_defect_find(const char *id, struct cli_defect *ret_defect)
{
	struct defect_table table SP_CLEANUP(defects_done) = { .len = 0 };
	const struct defect *found;

	if (defects_read(defects_text(), &table, NULL))
		return false;
	found = defects_find(&table, id);
	if (!found)
		return false;
	*ret_defect = (struct cli_defect){
		.id = copy(found->id),
		.words = copy(found->words),
		.faults = copy(found->placed[DEFECT_FAULT]),
		.same = copy(found->placed[DEFECT_SAME]),
		.tests = copy(found->placed[DEFECT_TEST]),
		.outside = copy(found->placed[DEFECT_OUTSIDE]),
	};
	return true;
}

void cli_defect_done(struct cli_defect *defect)
{
	free(defect->id);
	free(defect->words);
	free(defect->faults);
	free(defect->same);
	free(defect->tests);
	free(defect->outside);
	*defect = (struct cli_defect){ NULL };
}

/* True when one of the faults that an entry names is not there. */
static bool lacks_fault(const struct defect *entry)
{
	char *words SP_FREE = copy(entry->placed[DEFECT_FAULT]), *at = words, *id;

	while (words && (id = strsep(&at, " ")))
		if (!cli_fault_find(id))
			return true;
	return false;
}

char *cli_defects_unplaced(size_t *ret_len)
{
	struct defect_table table SP_CLEANUP(defects_done) = { .len = 0 };
	struct sp_buf ids SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (defects_read(defects_text(), &table, NULL))
		return strdup("the-table-cannot-be-read");
	for (size_t i = 0; i < table.len; i++)
		if (!defect_is_placed(&table.entries[i]) || lacks_fault(&table.entries[i]))
			sp_buf_addf(&ids, "%s%s", ids.len ? " " : "", table.entries[i].id);
	if (ret_len)
		*ret_len = table.len;
	return ids.len ? sp_buf_take(&ids, NULL) : strdup("");
}
