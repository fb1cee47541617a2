/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/faults.h>

#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>

static const char *const fault_names[] = {
#define API_FAULT_NAME(identifier, name, text) [API_FAULT_##identifier] = name,
	API_FAULTS(API_FAULT_NAME)
#undef API_FAULT_NAME
};

int api_fault_from_name(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(fault_names); i++)
		if (!strcmp(fault_names[i], name))
			return (int)i;
	return -1;
}

int api_faults_parse(const char *const *names, size_t n, api_faults *ret_faults,
		     struct sp_error *err)
{
	api_faults faults = 0;

	for (size_t i = 0; i < n; i++) {
		int fault = api_fault_from_name(names[i]);

		if (fault < 0) {
			struct sp_buf known SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

			for (size_t k = 0; k < SP_COUNT(fault_names); k++)
				sp_buf_addf(&known, "%s%s", k ? ", " : "", fault_names[k]);
			return sp_error_set(err, SP_INVALID, "unknown fault `%s`; known are %s",
					    names[i], sp_buf_str(&known));
		}
		faults |= 1U << fault;
	}
	*ret_faults = faults;
	return 0;
}
