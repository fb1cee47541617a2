/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <witness/mark.h>

bool sp_mark_make(struct sp_case *t, struct sp_sandbox *sandbox, const char *name,
		  struct sp_mark *mark)
{
	mark->t = t;
	mark->path = sp_case_format(t, "/tmp/%s-mark-%s", sp_case_unique(t), name);
	mark->shell = sp_case_format(t, ": >%s", mark->path);
	mark->sandbox = sandbox;
	return sp_mark_check(mark, false, SP_HERE, "the mark before the act");
}

int sp_mark_there(const struct sp_mark *mark)
{
	const char *text = sp_sh_out(mark->t, mark->sandbox,
				     "if [ -e %s ]; then echo there; else echo absent; fi",
				     mark->path);

	return text ? strcmp(text, "there") == 0 : -1;
}

bool sp_mark_check(const struct sp_mark *mark, bool there, struct sp_where where, const char *what)
{
	int found = sp_mark_there(mark);

	if (found < 0)
		return false;
	return sp_check_str(mark->t, there ? "there" : "absent", found ? "there" : "absent", where,
			    "%s", what);
}

void sp_mark_done(struct sp_mark *mark)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (!mark->sandbox)
		return;
	options.command = sp_case_format(mark->t, "rm -f %s", mark->path);
	options.cancel = sp_case_cancel(mark->t);
	(void)sp_sandbox_exec(mark->sandbox, &options, &result, &err);
}
