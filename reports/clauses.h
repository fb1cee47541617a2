/* SPDX-License-Identifier: MIT */
/*
 * Clause coverage: which clauses of the requirement set were exercised, skipped, could not be
 * judged, or were not selected, for each subject. JSON schema: reports/clauses.schema.json.
 */
#ifndef SP_REPORTS_CLAUSES_H
#define SP_REPORTS_CLAUSES_H

#include <results/results.h>

#define SP_CLAUSES_SCHEMA_VERSION 1

/* As a table for people. SP_IO names the path; "-" is standard output. */
int sp_clauses_write(const struct sp_results_set *set, const char *path, struct sp_error *err);
/* As JSON. */
int sp_clauses_json_write(const struct sp_results_set *set, const char *path, struct sp_error *err);

#endif
