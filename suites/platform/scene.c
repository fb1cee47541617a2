/* SPDX-License-Identifier: MIT */
#include <suites/platform/scene.h>

#include <stdarg.h>
#include <string.h>

#include <base/buf.h>

bool plat_fact(struct sp_case *t, bool held, struct sp_where where, const char *fact,
	       const char *seen, ...)
{
	struct sp_buf words SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	va_list args;

	if (held)
		return SP_CHECK(t, true, "%s", fact);
	va_start(args, seen);
	sp_buf_vaddf(&words, seen, args);
	va_end(args);
	/* The message of an error is one line. */
	for (size_t i = 0; i < words.len; i++)
		words.data[i] = words.data[i] == '\n' ? ' ' : words.data[i];
	sp_case_error(t, where, "platform changed: %s: %s", fact, sp_buf_str(&words));
	return false;
}

bool plat_ok(struct sp_case *t, int rc, const struct sp_error *err, const char *what)
{
	if (!rc)
		return true;
	sp_case_error(t, SP_HERE, "the platform could not be measured: %s: %s: %s%s%s", what,
		      sp_code_name(rc), err->message, *err->detail ? ": " : "", err->detail);
	return false;
}

/* The output of a command as text of the case. */
static const char *output(struct sp_case *t, const struct sp_exec_result *result)
{
	size_t len = result->stdout_bytes.len;
	const char *text = (const char *)result->stdout_bytes.data;

	if (len && text[len - 1] == '\n')
		len--;
	return sp_case_format(t, "%.*s", (int)len, len ? text : "");
}

const char *plat_run(struct plat_scene *s, const char *id, const char *format, ...)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_platform *platform = &sp_case_subject(s->t)->platform;
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_error err = SP_ERROR_INIT;
	va_list args;
	int rc;

	va_start(args, format);
	sp_buf_vaddf(&command, format, args);
	va_end(args);
	rc = platform->ops->raw_exec(platform->self, id, sp_buf_str(&command), &result,
				     sp_case_cancel(s->t), &err);
	return plat_ok(s->t, rc, &err, sp_buf_str(&command)) ? output(s->t, &result) : NULL;
}

int plat_upload(struct plat_scene *s, const char *path, const char *text, struct sp_error *err)
{
	struct sp_platform *platform = &sp_case_subject(s->t)->platform;

	return platform->ops->raw_upload(platform->self, s->id, path, text, strlen(text),
					 sp_case_cancel(s->t), err);
}

bool plat_scene_open(struct sp_case *t, struct plat_scene *s)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	s->t = t;
	if (!sandbox)
		return false;
	s->id = sp_sandbox_id(sandbox);
	s->name = sp_case_unique(t);
	s->dir = plat_run(s, s->id, "mkdir ~/%s && cd ~/%s && pwd", s->name, s->name);
	return s->dir != NULL;
}

void plat_scene_done(struct plat_scene *s)
{
	struct sp_platform *platform;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;

	if (!s->dir)
		return;
	/* Clean-up, not a check: the runner looks at what a shared sandbox holds. */
	platform = &sp_case_subject(s->t)->platform;
	(void)platform->ops->raw_exec(platform->self, s->id,
				      sp_case_format(s->t, "rm -rf %s", s->dir), &result,
				      sp_case_cancel(s->t), NULL);
}
