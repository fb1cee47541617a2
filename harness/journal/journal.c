/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <base/clock.h>
#include <base/utf8.h>

#include "commands.h"
#include "names.h"

/* ---- Options ---- */

static uint32_t or_default32(uint32_t value, uint32_t unset, uint32_t instead)
{
	return value == unset ? instead : value;
}

int journal_options_make(const struct sp_journal_options *given, struct journal_options *ret,
			 struct sp_error *err)
{
	static const struct sp_journal_options none = SP_JOURNAL_OPTIONS_INIT;
	const struct sp_journal_options *o = given ? given : &none;
	const char *dir = o->dir ? o->dir : JOURNAL_DEFAULT_DIR;
	size_t len = strlen(dir);

	if (o->version != SP_JOURNAL_OPTIONS_VERSION)
		return sp_error_set(err, SP_INVALID, "journal options of version %u, expected %d",
				    o->version, SP_JOURNAL_OPTIONS_VERSION);
	if (*dir != '/')
		return sp_error_set(err, SP_INVALID,
				    "the journal folder must be absolute, not \"%.200s\"", dir);
	*ret = (struct journal_options){
		.dir = strndup(dir, len > 1 && dir[len - 1] == '/' ? len - 1 : len),
		.strategy = o->until_end ? SP_JOURNAL_POLL : o->strategy,
		.first_byte_ms = or_default32(o->first_byte_ms, 0, JOURNAL_FIRST_BYTE_MS),
		.poll_ms = o->poll_ms,
		.line_ceiling = o->line_ceiling ? o->line_ceiling : JOURNAL_LINE_CEILING,
		.until_end = o->until_end,
		.cancel = o->cancel,
	};
	return ret->dir ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");
}

void journal_options_done(struct journal_options *options)
{
	free(options->dir);
	options->dir = NULL;
}

/* ---- Names of a run ---- */

static char *quoted_file(const struct journal *journal, const char *dir, const char *token,
			 const char *ending)
{
	char *path SP_FREE = NULL;

	if (asprintf(&path, "%s/%s%s", dir, token, ending) < 0) {
		path = NULL;
		return NULL;
	}
	return journal->steps.quote(path);
}

int journal_run_make(const struct journal *journal, const struct journal_options *options,
		     const char *run_id, struct journal_run *ret, struct sp_error *err)
{
	const struct sp_journal_steps *steps = &journal->steps;
	size_t len = run_id ? strlen(run_id) : 0;
	char *token SP_FREE = NULL;
	int rc;

	if (!len || !sp_utf8_valid(run_id, len))
		return sp_error_set(err, SP_INVALID, "a run id is %s",
				    len ? "UTF-8 text" : "not empty");
	token = steps->encode_name(run_id, len);
	*ret = (struct journal_run){ .run_id = strdup(run_id) };
	rc = steps->nonce(run_id, len, ret->nonce);
	if (token && !rc) {
		ret->dir = steps->quote(options->dir);
		ret->journal = quoted_file(journal, options->dir, token, SP_JOURNAL_ENDING);
		ret->stderr_file =
			quoted_file(journal, options->dir, token, SP_JOURNAL_STDERR_ENDING);
	}
	if (ret->run_id && ret->dir && ret->journal && ret->stderr_file)
		return 0;
	journal_run_done(ret);
	return sp_error_set(err, SP_INTERNAL, "out of memory");
}

void journal_run_done(struct journal_run *run)
{
	free(run->run_id);
	free(run->dir);
	free(run->journal);
	free(run->stderr_file);
	*run = (struct journal_run){ .run_id = NULL };
}

struct sp_journal_words journal_run_words(const struct journal_run *run)
{
	return (struct sp_journal_words){ run->dir, run->journal, run->stderr_file };
}

/* ---- Commands ---- */

int journal_exec(struct sp_sandbox *sandbox, char *command, struct sp_cancel *cancel,
		 struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	int rc;

	if (!command)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	options.command = command;
	options.cancel = cancel;
	rc = sp_sandbox_exec(sandbox, &options, ret_result, err);
	free(command);
	return rc;
}

int journal_bad_code(const char *what, const struct sp_exec_result *result, struct sp_error *err)
{
	int rc = sp_error_set(err, SP_IO, "%s ended with code %d", what, result->exit_code);
	const char *text = (const char *)result->stderr_bytes.data;

	if (err && text && sp_utf8_valid(text, result->stderr_bytes.len))
		sp_error_set_detail(err, text);
	return rc;
}

int journal_look_code(const struct journal_run *run, const char *file,
		      const struct sp_exec_result *result, struct sp_error *err)
{
	switch (result->exit_code) {
	case 0:
	case SP_JOURNAL_ABSENT:
		return 0;
	case SP_JOURNAL_NO_FILE:
		return sp_error_set(err, SP_CONFLICT,
				    "the file of run %.100s, %.200s, is no regular file",
				    run->run_id, file);
	case SP_JOURNAL_UNREADABLE:
		return sp_error_set(err, SP_DENIED,
				    "the file of run %.100s, %.200s, cannot be read",
				    run->run_id, file);
	}
	return journal_bad_code("looking at the journal", result, err);
}

void journal_pause(uint32_t ms, struct sp_cancel *cancel)
{
	struct pollfd fd = { .fd = sp_cancel_fd(cancel), .events = POLLIN };

	(void)poll(&fd, 1, ms > INT32_MAX ? INT32_MAX : (int)ms);
}

/* ---- The table ---- */

static void journal_close(void *self)
{
	free(self);
}

static const struct sp_journal_ops ops = {
	.version = SP_JOURNAL_VERSION,
	.start = journal_start,
	.read = journal_read,
	.probe = journal_probe,
	.stderr_tail = journal_stderr_tail,
	.list = journal_list,
	.remove = journal_remove,
	.attach = journal_attach,
	.sweep = journal_sweep,
	.close = journal_close,
};

int sp_journal_open(const struct sp_journal_open_options *options, struct sp_journal *ret_journal,
		    struct sp_error *err)
{
	const struct sp_capabilities *caps = options->capabilities;
	struct journal *journal;

	if (options->version != SP_JOURNAL_OPEN_VERSION ||
	    (options->steps && options->steps->version != SP_JOURNAL_STEPS_VERSION))
		return sp_error_set(err, SP_INVALID, "a journal of another version");
	journal = malloc(sizeof(*journal));
	if (!journal)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	*journal = (struct journal){
		.steps = options->steps ? *options->steps : sp_journal_steps(),
		.can_follow = caps && caps->background_processes && caps->killable_processes,
		.cannot_follow = caps && !(caps->background_processes && caps->killable_processes),
		.output = caps ? caps->output : SP_OUTPUT_UTF8,
	};
	*ret_journal = (struct sp_journal){ &ops, journal };
	return 0;
}
