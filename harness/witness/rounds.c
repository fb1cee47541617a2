/* SPDX-License-Identifier: MIT */
#include <witness/rounds.h>
#include <witness/shell.h>

/*
 * Where requests count: few round trips, and in each of them as many processes, one after the
 * other, as there would have been round trips. Two, since what was on its way before the first is
 * settled before the second.
 */
#define TRIPS 2

bool sp_counted(struct sp_case *t)
{
	return !sp_case_subject(t)->control.ops && sp_case_capabilities(t)->suspension;
}

static unsigned trips(struct sp_case *t)
{
	return sp_counted(t) ? TRIPS : sp_case_rounds(t);
}

static bool trip(struct sp_case *t, struct sp_sandbox *sandbox)
{
	if (!sp_counted(t))
		return sp_sh_ok(t, sandbox, ":");
	return sp_sh_ok(t, sandbox, "i=0; while [ $i -lt %u ]; do sh -c :; i=$((i + 1)); done",
			sp_case_rounds(t));
}

bool sp_rounds(struct sp_case *t, struct sp_sandbox *sandbox)
{
	for (unsigned i = 0; i < trips(t); i++) {
		if (!trip(t, sandbox))
			return false;
	}
	return true;
}

bool sp_rounds_pending(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_call *call)
{
	for (unsigned i = 0; i < trips(t); i++) {
		if (!sp_call_pending(call))
			return false;
		if (!trip(t, sandbox))
			return false;
	}
	return sp_call_pending(call);
}

bool sp_rounds_done(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_call *call)
{
	for (unsigned i = 0; i < trips(t); i++) {
		if (!sp_call_pending(call))
			return true;
		if (!trip(t, sandbox))
			return false;
	}
	return !sp_call_pending(call);
}
