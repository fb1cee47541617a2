/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <witness/count.h>
#include <witness/shell.h>

bool sp_count_sandbox(struct sp_case *t, const char *sandbox_id, struct sp_count *ret_count)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	if (!control)
		return false;
	rc = control->ops->census(control->self, &census, &err);
	if (rc < 0) {
		sp_case_error(t, SP_HERE, "control cannot count: %s", err.message);
		return false;
	}
	*ret_count = (struct sp_count){ false, 0, 0, 0 };
	for (size_t i = 0; i < census.n_sandboxes; i++) {
		const struct sp_census_sandbox *sandbox = &census.sandboxes[i];

		if (strcmp(sandbox->id, sandbox_id) != 0)
			continue;
		*ret_count = (struct sp_count){ true, sandbox->processes, sandbox->commands,
						sandbox->files };
	}
	return true;
}

static bool requests(struct sp_case *t, bool take, struct sp_control_requests *ret)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	if (!control)
		return false;
	rc = control->ops->requests(control->self, take, ret, &err);
	if (rc < 0)
		sp_case_error(t, SP_HERE, "control cannot tell the requests: %s", err.message);
	return rc >= 0;
}

bool sp_count_forget_requests(struct sp_case *t)
{
	struct sp_control_requests list SP_CLEANUP(sp_control_requests_done) =
		SP_CONTROL_REQUESTS_INIT;

	return requests(t, true, &list);
}

static long count(struct sp_case *t, const char *method, const char *part)
{
	struct sp_control_requests list SP_CLEANUP(sp_control_requests_done) =
		SP_CONTROL_REQUESTS_INIT;
	long n = 0;

	if (!requests(t, false, &list))
		return -1;
	for (size_t i = 0; i < list.len; i++) {
		const struct sp_control_request *request = &list.items[i];

		if (method && strcmp(request->method, method) != 0)
			continue;
		if (part && !strstr(request->target, part))
			continue;
		sp_case_note(t, "request: %s %s", request->method, request->target);
		n++;
	}
	return n;
}

long sp_count_requests(struct sp_case *t, const char *method, const char *part)
{
	return count(t, method, part);
}

long sp_count_all_requests(struct sp_case *t)
{
	return count(t, NULL, NULL);
}

char sp_count_state(struct sp_case *t, struct sp_sandbox *sandbox, long pid)
{
	const char *text;

	text = sp_sh_out(t, sandbox,
			 "if read -r s 2>/dev/null </proc/%ld/stat; then s=${s##*) }; "
			 "echo \"${s%%%% *}\"; else echo -; fi",
			 pid);
	return text ? text[0] : 0;
}
