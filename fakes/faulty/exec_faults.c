/* SPDX-License-Identifier: MIT */
#include "exec_faults.h"

#include <string.h>

static int rewrite(exec_text_fn text, const struct sp_exec_options *options, struct sp_buf *buf,
		   struct sp_exec_options *ret_options, struct sp_error *err)
{
	text(options, buf);
	if (buf->error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a rewritten command");
	*ret_options = *options;
	ret_options->command = sp_buf_str(buf);
	return 0;
}

int exec_rewritten(struct fault_sandbox *sandbox, exec_text_fn text,
		   const struct sp_exec_options *options, struct sp_exec_result *ret_result,
		   struct sp_error *err)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options rewritten;
	int rc = rewrite(text, options, &buf, &rewritten, err);

	return rc < 0 ? rc : sp_sandbox_exec(&sandbox->inner, &rewritten, ret_result, err);
}

int spawn_rewritten(struct fault_sandbox *sandbox, exec_text_fn text,
		    const struct sp_exec_options *options, struct fault_process *process,
		    struct sp_error *err)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options rewritten;
	int rc = rewrite(text, options, &buf, &rewritten, err);

	return rc < 0 ? rc : sp_sandbox_spawn(&sandbox->inner, &rewritten, &process->inner, err);
}

int exec_changed(struct fault_sandbox *sandbox, exec_result_fn change,
		 const struct sp_exec_options *options, struct sp_exec_result *ret_result,
		 struct sp_error *err)
{
	int rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);

	if (rc == 0)
		change(ret_result);
	return rc;
}

void exec_keep_head(struct sp_bytes *bytes, size_t len)
{
	if (len >= bytes->len)
		return;
	bytes->len = len;
	bytes->data[len] = '\0';
}

void exec_keep_tail(struct sp_bytes *bytes, size_t len)
{
	if (len >= bytes->len)
		return;
	memmove(bytes->data, bytes->data + bytes->len - len, len);
	exec_keep_head(bytes, len);
}

void exec_forget(struct sp_exec_result *result, int code)
{
	sp_exec_result_done(result);
	result->exit_code = code;
}
