/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/faults.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/nearest.h>

/* Column at which it is told what a switch does. */
#define COLUMN 25

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

void api_faults_list(struct sp_buf *out)
{
#define API_FAULT_LINE(identifier, name, text) { name, text },
	static const struct {
		const char *name, *text;
	} lines[] = { API_FAULTS(API_FAULT_LINE) };
#undef API_FAULT_LINE

	for (size_t i = 0; i < SP_COUNT(lines); i++)
		sp_buf_addf(out, "  %-*s%s\n", COLUMN - 2, lines[i].name, lines[i].text);
}

static int unknown_fault(const char *name, struct sp_error *err)
{
	char *near SP_FREE = sp_nearest(name, fault_names, SP_COUNT(fault_names));

	return sp_error_set(err, SP_INVALID, "unknown fault `%.80s`%s%s", name,
			    near && *near ? "; the nearest: " : "", near ? near : "");
}

int api_faults_parse(const char *const *names, size_t n, api_faults *ret_faults,
		     struct sp_error *err)
{
	api_faults faults = 0;

	for (size_t i = 0; i < n; i++) {
		int fault = api_fault_from_name(names[i]);

		if (fault < 0)
			return unknown_fault(names[i], err);
		faults |= 1U << fault;
	}
	*ret_faults = faults;
	return 0;
}
