/* SPDX-License-Identifier: MIT */
#include <witness/canary.h>

#include <base/files.h>
#include <redact/redact.h>

void sp_canary_make(struct sp_case *t, struct sp_canary *canary)
{
	sp_random_id(canary->text, SP_CANARY_LEN);
	sp_case_secret(t, canary->text);
}

const char *sp_canary_find(const struct sp_canary *canary, const void *data, size_t len)
{
	return data && len ? sp_redact_find(canary->text, data, len) : NULL;
}

bool sp_canary_check_absent(struct sp_case *t, const struct sp_canary *canary, const void *data,
			    size_t len, struct sp_where where, const char *what)
{
	const char *form = sp_canary_find(canary, data, len);

	return sp_check(t, !form, where, "%s does not hold the secret%s%s", what,
			form ? "; it does, as " : "", form ? form : "");
}
