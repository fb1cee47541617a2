/* SPDX-License-Identifier: MIT */
#include <witness/rounds.h>
#include <witness/shell.h>

bool sp_rounds(struct sp_case *t, struct sp_sandbox *sandbox)
{
	for (unsigned i = 0; i < sp_case_rounds(t); i++) {
		if (!sp_sh_ok(t, sandbox, ":"))
			return false;
	}
	return true;
}

bool sp_rounds_pending(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_call *call)
{
	for (unsigned i = 0; i < sp_case_rounds(t); i++) {
		if (!sp_call_pending(call))
			return false;
		if (!sp_sh_ok(t, sandbox, ":"))
			return false;
	}
	return sp_call_pending(call);
}

bool sp_rounds_done(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_call *call)
{
	for (unsigned i = 0; i < sp_case_rounds(t); i++) {
		if (!sp_call_pending(call))
			return true;
		if (!sp_sh_ok(t, sandbox, ":"))
			return false;
	}
	return !sp_call_pending(call);
}
