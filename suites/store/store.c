/* SPDX-License-Identifier: MIT */
/* The records of the store suite: what each case demands, why, and how it sees the defect. */
#include <suites/store/cases.h>
#include <suites/store/store.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct sp_case_def cases[] = {
    {
	.id = "store.replace.both",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_NO_SANDBOX,
	.faults = LIST("store-merges"),
	.requirement = "An upsert without the optional fields clears both of them.",
	.rationale = "A merge keeps a stale snapshot id, which is restored later (contract:C177, "
		     "field:T01).",
	.detection = "Upsert with both, then without: get() answers neither.",
	.run = store_replace_both,
    },
};

const struct sp_suite sp_suite_store = {
    .version = SP_SUITE_VERSION,
    .name = "store",
    .summary = "Stores keep what they acknowledged, whole, apart and across processes.",
    .subject = SP_SUBJECT_STORE,
    .cases = cases,
    .n_cases = sizeof(cases) / sizeof(cases[0]),
    .clauses_version = "1",
};
