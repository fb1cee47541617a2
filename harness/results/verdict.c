/* SPDX-License-Identifier: MIT */
#include <results/results.h>

#include <string.h>

static const char *const names[SP_VERDICT_MAX_] = {
	[SP_PASS] = "pass",   [SP_FAIL] = "fail",   [SP_WARN] = "warn",   [SP_SKIP] = "skip",
	[SP_XFAIL] = "xfail", [SP_XPASS] = "xpass", [SP_ERROR] = "error",
};

const char *sp_verdict_name(enum sp_verdict verdict)
{
	return (unsigned)verdict < SP_VERDICT_MAX_ ? names[verdict] : "unknown";
}

int sp_verdict_from_name(const char *name)
{
	for (int i = 0; i < SP_VERDICT_MAX_; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}
