/* SPDX-License-Identifier: MIT */
/* The registry: gathers the tables once and sorts them by id. A new table is one line here. */
#include "faulty.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

#include "tables.h"

static const struct fault_table *const tables[] = {
	&fault_env_calls, &fault_env_steps, &fault_snapshot,
	&fault_kill_kill, &fault_kill_tell, &fault_kill_abort,
	&fault_kill_wait, &fault_kill_codes, &fault_kill_ends,
	&fault_kill_steps, &fault_exec_code, &fault_exec_output,
	&fault_exec_cap, &fault_exec_turns, &fault_exec_stdin,
	&fault_exec_shell, &fault_exec_place, &fault_exec_git, &fault_exec_outcome,
	&fault_exec_transport, &fault_store_fields,
	&fault_store_keys, &fault_store_answers, &fault_store_fence,
	&fault_store_instances, &fault_lock_keys, &fault_lock_holders,
	&fault_lifecycle,
	&fault_journal_write, &fault_journal_read, &fault_journal_marks, &fault_journal_names,
	&fault_fs,
	&fault_ensure_key, &fault_ensure_paths, &fault_ensure_lock, &fault_ensure_failures,
	&fault_network,
	&fault_platform,
	&fault_caps,
};

/* Room for all tables; the unit test fails before it is short. */
#define FAULTS_MAX 1024

static const struct sp_fault *sorted[FAULTS_MAX];
static size_t n_sorted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_id(const void *a, const void *b)
{
	return strcmp((*(const struct sp_fault *const *)a)->id,
		      (*(const struct sp_fault *const *)b)->id);
}

static void gather(void)
{
	for (size_t i = 0; i < SP_COUNT(tables); i++) {
		for (size_t j = 0; j < tables[i]->len && n_sorted < FAULTS_MAX; j++)
			sorted[n_sorted++] = &tables[i]->faults[j];
	}
	qsort(sorted, n_sorted, sizeof(sorted[0]), by_id);
}

const struct sp_fault *const *sp_faults(size_t *ret_len)
{
	pthread_once(&once, gather);
	*ret_len = n_sorted;
	return sorted;
}

const struct sp_fault *sp_fault_find(const char *id)
{
	const struct sp_fault key = { .id = id }, *wanted = &key, **found;

	pthread_once(&once, gather);
	found = bsearch(&wanted, sorted, n_sorted, sizeof(sorted[0]), by_id);
	return found ? *found : NULL;
}
