/* SPDX-License-Identifier: MIT */
/*
 * COUNT: what the back end received and what lives there. Needs control,
 * except where said.
 */
#ifndef SP_WITNESS_COUNT_H
#define SP_WITNESS_COUNT_H

#include <base/cleanup.h>
#include <sandproof/case.h>

/* What is in one sandbox now. `found` is false when the back end no longer has it. */
struct sp_count {
	bool found;
	size_t processes;
	size_t commands;
	size_t files;
};

/* Counts one sandbox. False after a recorded error. */
bool sp_count_sandbox(struct sp_case *t, const char *sandbox_id, struct sp_count *ret_count);

/* Forgets all requests received so far. False after a recorded error. */
bool sp_count_forget_requests(struct sp_case *t);

/*
 * Number of requests since then whose method is `method` and whose target (path and query) holds
 * `part`; each of them becomes a line of the dialogue. -1 after a recorded error.
 */
long sp_count_requests(struct sp_case *t, const char *method, const char *part);

/* Number of all requests since then; -1 after a recorded error. */
long sp_count_all_requests(struct sp_case *t);

/*
 * Without control: state letter of a process of the sandbox ('S', 'Z', …), '-' when there is no
 * such process, 0 after a recorded failure.
 */
char sp_count_state(struct sp_case *t, struct sp_sandbox *sandbox, long pid);

/*
 * False, with the case skipped by name, where the back end says that it cannot hold `what`
 * ("network-policy"; sp_census.cannot_hold). Needs no control: a back end without it is believed.
 */
bool sp_count_holds(struct sp_case *t, const char *what);

#endif
