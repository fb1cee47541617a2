/* SPDX-License-Identifier: MIT */
/* The registry: tables of faults, joined and sorted once. */
#include "faulty.h"

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

#include "tables.h"

#define MAX_FAULTS 512

static int by_id(const void *a, const void *b)
{
	const struct sp_fault *const *x = a;
	const struct sp_fault *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

const struct sp_fault *const *sp_faults(size_t *ret_len)
{
	static const struct fault_table *const tables[] = { &fault_table_steps };
	static const struct sp_fault *all[MAX_FAULTS];
	static size_t len;

	if (!len) {
		for (size_t i = 0; i < SP_COUNT(tables); i++)
			for (size_t k = 0; k < tables[i]->len && len < MAX_FAULTS; k++)
				all[len++] = &tables[i]->faults[k];
		qsort(all, len, sizeof(*all), by_id);
	}
	*ret_len = len;
	return all;
}

const struct sp_fault *sp_fault_find(const char *id)
{
	size_t len;
	const struct sp_fault *const *faults = sp_faults(&len);

	for (size_t i = 0; i < len; i++)
		if (!strcmp(faults[i]->id, id))
			return faults[i];
	return NULL;
}
