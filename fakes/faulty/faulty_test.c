/* SPDX-License-Identifier: MIT */
/* The registry and its records; whether a fault is caught is for the runs with --defect. */
#include <criterion/criterion.h>
#include <string.h>

#include "faulty.h"

Test(faulty, ids_are_unique_and_sorted)
{
	size_t len;
	const struct sp_fault *const *faults = sp_faults(&len);

	cr_assert_gt(len, 0u);
	for (size_t i = 1; i < len; i++)
		cr_assert_lt(strcmp(faults[i - 1]->id, faults[i]->id), 0, "%s comes before %s",
			     faults[i - 1]->id, faults[i]->id);
}

Test(faulty, every_fault_is_found_by_its_id)
{
	size_t len;
	const struct sp_fault *const *faults = sp_faults(&len);

	for (size_t i = 0; i < len; i++)
		cr_assert_eq(sp_fault_find(faults[i]->id), faults[i], "%s is not found",
			     faults[i]->id);
	cr_assert_null(sp_fault_find("no-such-fault"));
	cr_assert_null(sp_fault_find(""));
}

static int set_functions(const struct sp_fault *fault)
{
	return !!fault->change_steps + !!fault->wrap_transport + !!fault->wrap_provider +
	       !!fault->wrap_store + !!fault->wrap_lock + !!fault->wrap_ensure +
	       !!fault->change_journal + !!fault->wrap_journal + !!fault->wrap_platform;
}

static bool fits_seam(const struct sp_fault *fault)
{
	switch (fault->seam) {
	case SP_FAULT_RENDER_STEP:
		return fault->change_steps;
	case SP_FAULT_TRANSPORT:
		return fault->wrap_transport;
	case SP_FAULT_PROVIDER:
		return fault->wrap_provider;
	case SP_FAULT_STORE:
		return fault->wrap_store;
	case SP_FAULT_LOCK:
		return fault->wrap_lock;
	case SP_FAULT_ENSURE:
		return fault->wrap_ensure;
	case SP_FAULT_PLATFORM:
		return fault->wrap_platform;
	case SP_FAULT_JOURNAL_STEP:
		return fault->change_journal;
	case SP_FAULT_JOURNAL:
		return fault->wrap_journal;
	}
	return false;
}

Test(faulty, records_are_complete)
{
	size_t len;
	const struct sp_fault *const *faults = sp_faults(&len);

	for (size_t i = 0; i < len; i++) {
		const struct sp_fault *fault = faults[i];

		cr_assert_eq(fault->version, (unsigned)SP_FAULT_VERSION, "%s: version", fault->id);
		cr_assert(fault->summary && fault->summary[0], "%s: summary", fault->id);
		cr_assert(fault->sources && fault->sources[0], "%s: no source", fault->id);
		cr_assert(fault->cases && fault->cases[0], "%s: no case", fault->id);
		cr_assert(fault->clause && strchr(fault->clause, ' '), "%s: clause", fault->id);
		cr_assert_eq(set_functions(fault), 1, "%s: exactly one function, not %d", fault->id,
			     set_functions(fault));
		cr_assert(fits_seam(fault), "%s: the function does not fit its seam", fault->id);
	}
}

/* A fault's cases belong to the suite that its clause names. */
Test(faulty, cases_belong_to_the_clause)
{
	size_t len;
	const struct sp_fault *const *faults = sp_faults(&len);

	for (size_t i = 0; i < len; i++) {
		size_t suite = strcspn(faults[i]->clause, " ");

		for (const char *const *id = faults[i]->cases; *id; id++)
			cr_assert(strncmp(*id, faults[i]->clause, suite) == 0 &&
					  (*id)[suite] == '.',
				  "%s: %s is not of the suite of %s", faults[i]->id, *id,
				  faults[i]->clause);
	}
}
