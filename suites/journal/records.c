/* SPDX-License-Identifier: MIT */
#include "records.h"

#include <string.h>

int records_ask(void *arg, const char *run_id, enum sp_journal_record *ret_record)
{
	struct records *records = arg;

	records->asked++;
	records->last = sp_case_format(records->t, "%s", run_id);
	if (records->never && !strcmp(run_id, records->never))
		records->never_asked = true;
	*ret_record = SP_RECORD_ABSENT;
	for (size_t i = 0; i < records->len; i++) {
		if (strcmp(records->rows[i].run_id, run_id))
			continue;
		*ret_record = records->rows[i].answer;
		return records->rows[i].rc;
	}
	return 0;
}
