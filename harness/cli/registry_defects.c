/* SPDX-License-Identifier: MIT */
/* The table of known defects, for everything that may not see the fakes. */
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <fakes/faulty/defects.h>

#include "registry_impl.h"

int cli_defect_find(const char *id, struct cli_defect *ret_defect, struct sp_error *err)
{
	struct defect_table table SP_CLEANUP(defects_done) = { .len = 0 };
	struct defect *found;
	int rc = defects_read(defects_text(), &table, err);

	if (rc)
		return rc;
	found = defects_find(&table, id);
	if (!found)
		return sp_error_set(err, SP_NOT_FOUND, "no known defect is called \"%.80s\"", id);
	*ret_defect = (struct cli_defect){
		.id = SP_TAKE(found->id),
		.words = SP_TAKE(found->words),
		.faults = SP_TAKE(found->placed[DEFECT_FAULT]),
		.same = SP_TAKE(found->placed[DEFECT_SAME]),
		.tests = SP_TAKE(found->placed[DEFECT_TEST]),
		.outside = SP_TAKE(found->placed[DEFECT_OUTSIDE]),
	};
	return 0;
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
	const char *faults = entry->placed[DEFECT_FAULT];
	char *words SP_FREE = faults ? strdup(faults) : NULL, *at = words, *id;

	/* Without memory it is told rather than passed over. */
	if (faults && !words)
		return true;
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
