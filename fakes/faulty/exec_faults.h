/* SPDX-License-Identifier: MIT */
/*
 * What the faults of the exec suite share: commands that are rewritten,
 * and results that are changed.
 */
#ifndef FAKE_FAULTY_EXEC_FAULTS_H
#define FAKE_FAULTY_EXEC_FAULTS_H

#include <base/buf.h>

#include "tables.h"
#include "wrap.h"

/*
 * Writes the text that is run instead of options->command; the caller looks at the buffer's error.
 */
typedef void (*exec_text_fn)(const struct sp_exec_options *options, struct sp_buf *out);
/* Changes in place what a command left. Called after a healthy answer only. */
typedef void (*exec_result_fn)(struct sp_exec_result *result);

/* exec() of another text. */
int exec_rewritten(struct fault_sandbox *sandbox, exec_text_fn text,
		   const struct sp_exec_options *options, struct sp_exec_result *ret_result,
		   struct sp_error *err);
/* spawn() of another text. */
int spawn_rewritten(struct fault_sandbox *sandbox, exec_text_fn text,
		    const struct sp_exec_options *options, struct fault_process *process,
		    struct sp_error *err);
/* exec() whose result is changed. */
int exec_changed(struct fault_sandbox *sandbox, exec_result_fn change,
		 const struct sp_exec_options *options, struct sp_exec_result *ret_result,
		 struct sp_error *err);

/* Keeps the first `len` bytes; more than there are keeps all. */
void exec_keep_head(struct sp_bytes *bytes, size_t len);
/* Keeps the last `len` bytes. */
void exec_keep_tail(struct sp_bytes *bytes, size_t len);
/* Replaces the result of a command by nothing and a code. */
void exec_forget(struct sp_exec_result *result, int code);

/* Defines the wrap function of a fault that runs NAME_text() of each exec's command. */
#define EXEC_TEXT_FAULT(name)                                                                      \
	static int name##_exec(struct fault_sandbox *sandbox,                                      \
			       const struct sp_exec_options *options,                              \
			       struct sp_exec_result *ret_result, struct sp_error *err)            \
	{                                                                                          \
		return exec_rewritten(sandbox, name##_text, options, ret_result, err);             \
	}                                                                                          \
	static const struct fault_hooks name = { .exec = name##_exec };                            \
	FAULT_WRAP(wrap_##name, name)

/* Same, of a fault that applies NAME_result() to what each exec left. */
#define EXEC_RESULT_FAULT(name)                                                                    \
	static int name##_exec(struct fault_sandbox *sandbox,                                      \
			       const struct sp_exec_options *options,                              \
			       struct sp_exec_result *ret_result, struct sp_error *err)            \
	{                                                                                          \
		return exec_changed(sandbox, name##_result, options, ret_result, err);             \
	}                                                                                          \
	static const struct fault_hooks name = { .exec = name##_exec };                            \
	FAULT_WRAP(wrap_##name, name)

/* One record of a fault that wraps a provider by wrap_NAME(). */
#define EXEC_FAULT(id_, name_, clause_, summary_, sources_, cases_, ...)                           \
	{ .version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,        \
	  .clause = "exec " clause_, .cases = cases_, .seam = SP_FAULT_PROVIDER,                   \
	  .wrap_provider = wrap_##name_, ##__VA_ARGS__ }

#endif
