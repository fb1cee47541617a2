/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/model.h>

#include <stdlib.h>
#include <string.h>

#include <base/files.h>
#include <base/utf8.h>
#include <fakes/render-api/json_out.h>

/* Records kept of one sandbox. */
#define RECORDS_KEPT 1000

/* Tokens are known at sight, as keys are: whoever searches for a leak can find any of them. */
#define TOKEN_START "connecttoken"

static char *cut_copy(const char *text)
{
	return strndup(text, sp_utf8_cut(text, strlen(text), TIMELINE_TEXT));
}

struct exec *exec_new(struct sandbox *sandbox, enum operation operation, const char *text)
{
	struct workspace *workspace = sandbox->workspace;
	struct exec *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return NULL;
	exec->sandbox = sandbox;
	exec->number = ++sandbox->last_exec;
	memcpy(exec->id, "exe-", 4);
	sp_random_id(exec->id + 4, 20);
	memcpy(exec->token, TOKEN_START, strlen(TOKEN_START));
	sp_random_id(exec->token + strlen(TOKEN_START), API_TOKEN_LEN - strlen(TOKEN_START));
	exec->operation = operation;
	exec->timeline = -1;
	exec->text = text ? cut_copy(text) : NULL;
	exec->started_ms = workspace_now(workspace);
	exec->expires_ms = exec->started_ms;
	if (!api_fault_on(workspace->faults, API_FAULT_TOKEN_EXPIRED))
		exec->expires_ms += TOKEN_LIFE_MS;
	TAILQ_INSERT_HEAD(&sandbox->execs, exec, entry);
	if (++sandbox->n_execs > RECORDS_KEPT)
		exec_free(TAILQ_LAST(&sandbox->execs, exec_list));
	return exec;
}

void exec_free(struct exec *exec)
{
	TAILQ_REMOVE(&exec->sandbox->execs, exec, entry);
	exec->sandbox->n_execs--;
	free(exec->text);
	free(exec);
}

struct exec *exec_find(struct sandbox *sandbox, const char *id)
{
	struct exec *exec;

	TAILQ_FOREACH (exec, &sandbox->execs, entry)
		if (!strcmp(exec->id, id))
			return exec;
	return NULL;
}

struct exec *exec_redeem(struct sandbox *sandbox, const char *token, enum operation operation,
			 const char *path, const char **ret_why)
{
	struct exec *exec;

	*ret_why = "the token is not valid here";
	TAILQ_FOREACH (exec, &sandbox->execs, entry)
		if (api_secret_equal(exec->token, token))
			break;
	if (!exec || exec->operation != operation)
		return NULL;
	if (path && (!exec->text || strcmp(path, exec->text)))
		return NULL;
	*ret_why = "the token has expired";
	if (workspace_now(sandbox->workspace) >= exec->expires_ms)
		return NULL;
	*ret_why = "the token was used already";
	if (exec->used && !api_fault_on(sandbox->workspace->faults, API_FAULT_TOKEN_REUSE))
		return NULL;
	exec->used = true;
	return exec;
}

void exec_finalize(struct sandbox *sandbox)
{
	struct exec *exec;

	TAILQ_FOREACH (exec, &sandbox->execs, entry) {
		free(exec->text);
		exec->text = NULL;
		exec->timeline = -1;
		if (!exec->stopped_ms)
			exec->stopped_ms = sandbox->terminated_ms;
	}
}

const char *operation_name(enum operation operation)
{
	switch (operation) {
	case OP_RUN_SYNC:
		return "sync";
	case OP_RUN_STREAM:
		return "stream";
	case OP_UPLOAD:
		return "upload";
	case OP_DOWNLOAD:
		return "download";
	}
	return "?";
}

static void command_json(struct sp_buf *buf, const struct exec *exec)
{
	const char *text = exec->text;

	if (exec->timeline >= 0 && exec->sandbox->handle)
		text = fake_timeline_get(exec->sandbox->handle, (size_t)exec->timeline).text;
	if (text)
		json_strn(buf, "command", text, sp_utf8_cut(text, strlen(text), TIMELINE_TEXT));
}

static void common_json(struct sp_buf *buf, const struct exec *exec)
{
	bool run = exec->operation == OP_RUN_SYNC || exec->operation == OP_RUN_STREAM;

	json_str(buf, "sandboxId", exec->sandbox->id);
	json_str(buf, "type", run ? "runs" : "files");
	json_str(buf, "operation", operation_name(exec->operation));
	command_json(buf, exec);
	json_time(buf, "startedAt", exec->started_ms);
	if (exec->stopped_ms)
		json_time(buf, "stoppedAt", exec->stopped_ms);
	if (exec->has_code)
		json_int(buf, "exitCode", exec->exit_code);
}

void exec_json(struct sp_buf *buf, const char *name, const struct exec *exec)
{
	json_open(buf, name, '{');
	json_str(buf, "id", exec->id);
	json_str(buf, "userId", exec->sandbox->workspace->user_id);
	common_json(buf, exec);
	json_close(buf, '}');
}

void exec_report_json(struct sp_buf *buf, const struct exec *exec)
{
	json_open(buf, NULL, '{');
	json_str(buf, "execId", exec->id);
	common_json(buf, exec);
	json_close(buf, '}');
}
