/* SPDX-License-Identifier: MIT */
/* Faults of output: what arrives, whole or not, in which stream and when. */
#include "exec_faults.h"

#include <ctype.h>
#include <string.h>

#include <base/utf8.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define REPLACEMENT_LEN 3

/* ---- Which stream ---- */

/* On the text's own first line, so that its line numbers hold. */
static void folded_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	sp_buf_adds(out, "exec 2>&1;");
	sp_buf_adds(out, options->command);
}

static int folded_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	return exec_rewritten(sandbox, folded_text, options, ret_result, err);
}

static int folded_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct fault_process *process, struct sp_error *err)
{
	return spawn_rewritten(sandbox, folded_text, options, process, err);
}

static const struct fault_hooks folded = { .exec = folded_exec, .spawn = folded_spawn };
FAULT_WRAP(wrap_folded, folded)

/* ---- Which bytes ---- */

static void trimmed_result(struct sp_exec_result *result)
{
	struct sp_bytes *out = &result->stdout_bytes;
	size_t len = out->len;

	while (len && isspace(out->data[len - 1]))
		len--;
	exec_keep_head(out, len);
}
EXEC_RESULT_FAULT(trimmed)

/*
 * Each byte is a chunk of its own, and each chunk is decoded by itself. A caller
 * with less room gets the bytes.
 */
static int per_chunk_read(struct fault_process *process, enum sp_stream stream, void *buffer,
			  size_t max, size_t *ret_len, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(max);
	unsigned char *bytes = buffer;
	size_t len = 0;
	int rc = sp_process_read(&process->inner, stream, buffer,
				 max < REPLACEMENT_LEN ? max : max / REPLACEMENT_LEN, &len, cancel,
				 err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; max >= REPLACEMENT_LEN && i < len; i++) {
		if (bytes[i] < 0x80)
			sp_buf_addc(&out, (char)bytes[i]);
		else
			sp_buf_adds(&out, REPLACEMENT);
	}
	if (out.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a chunk");
	if (out.len) {
		memcpy(buffer, out.data, out.len);
		len = out.len;
	}
	*ret_len = len;
	return 0;
}

static const struct fault_hooks per_chunk = { .read = per_chunk_read };
FAULT_WRAP(wrap_per_chunk, per_chunk)

/* Drops bytes that are no UTF-8, and what a decoder below has put in their place. */
static void drop_invalid(struct sp_bytes *bytes)
{
	char *text = (char *)bytes->data;
	size_t kept = 0, len;
	bool valid;

	for (size_t i = 0; i < bytes->len; i += len) {
		len = sp_utf8_next(text + i, bytes->len - i, &valid);
		if (!valid || (len == REPLACEMENT_LEN && !memcmp(text + i, REPLACEMENT, len)))
			continue;
		memmove(text + kept, text + i, len);
		kept += len;
	}
	exec_keep_head(bytes, kept);
}

static void invalid_dropped_result(struct sp_exec_result *result)
{
	drop_invalid(&result->stdout_bytes);
	drop_invalid(&result->stderr_bytes);
}
EXEC_RESULT_FAULT(invalid_dropped)

/* ---- How much ---- */

/* A reader that is destroyed at the exit had only whole blocks. */
static void tail_lost_result(struct sp_exec_result *result)
{
	enum { BLOCK = 4096 };

	if (result->stdout_bytes.len > BLOCK)
		exec_keep_head(&result->stdout_bytes, result->stdout_bytes.len / BLOCK * BLOCK);
}
EXEC_RESULT_FAULT(tail_lost)

/* A line reader with a ceiling; the rest of the line is skipped. */
static void line_ceiling_result(struct sp_exec_result *result)
{
	enum { CEILING = 64 * 1024 };
	struct sp_bytes *out = &result->stdout_bytes;
	size_t kept = 0, column = 0;

	for (size_t i = 0; i < out->len; i++) {
		column = out->data[i] == '\n' ? 0 : column + 1;
		if (column <= CEILING)
			out->data[kept++] = out->data[i];
	}
	exec_keep_head(out, kept);
}
EXEC_RESULT_FAULT(line_ceiling)

/* Events that were sent before anybody listened: one command in sixteen is that quick. */
static int instant_lost_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			     struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);

	if (rc == 0 && atomic_fetch_add(&sandbox->count, 1) % 16 == 15)
		exec_forget(ret_result, ret_result->exit_code);
	return rc;
}

static const struct fault_hooks instant_lost = { .exec = instant_lost_exec };
FAULT_WRAP(wrap_instant_lost, instant_lost)

static void ring_buffer_result(struct sp_exec_result *result)
{
	enum { RING = 1024 * 1024 };

	exec_keep_tail(&result->stdout_bytes, RING);
	exec_keep_tail(&result->stderr_bytes, RING);
}
EXEC_RESULT_FAULT(ring_buffer)

/* ---- When ---- */

static int closed_at_exit_read(struct fault_process *process, enum sp_stream stream, void *buffer,
			       size_t max, size_t *ret_len, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	if (!atomic_load(&process->exited))
		return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
	*ret_len = 0;
	return 0;
}

static const struct fault_hooks closed_at_exit = { .read = closed_at_exit_read };
FAULT_WRAP(wrap_closed_at_exit, closed_at_exit)

static int buffered_read(struct fault_process *process, enum sp_stream stream, void *buffer,
			 size_t max, size_t *ret_len, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	struct sp_exit exit;
	int rc = fault_inner_wait(process, &exit, cancel, err);

	if (rc < 0)
		return rc;
	return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
}

static const struct fault_hooks buffered = { .read = buffered_read };
FAULT_WRAP(wrap_buffered, buffered)

static const struct sp_fault faults[] = {
	EXEC_FAULT("stderr-folded", folded, "X2", "stderr is folded into stdout.",
		   FAULT_LIST("field:X17"),
		   FAULT_LIST("exec.output.apart", "exec.spawn.streams-apart")),
	EXEC_FAULT("exec-output-trimmed", trimmed, "X2",
		   "White space at the end of stdout is taken away.", FAULT_LIST("field:F14"),
		   FAULT_LIST("exec.output.undecorated")),
	EXEC_FAULT("decoded-per-chunk", per_chunk, "X2",
		   "Each byte of a spawned command's output is decoded by itself.",
		   FAULT_LIST("field:X09", "contract:C69", "contract:C140"),
		   FAULT_LIST("exec.output.split-characters", "exec.spawn.small-reads")),
	EXEC_FAULT("exec-invalid-dropped", invalid_dropped, "X2",
		   "Bytes that are no UTF-8 are dropped without a trace.",
		   FAULT_LIST("contract:1.4"), FAULT_LIST("exec.output.invalid-bytes")),
	EXEC_FAULT("exec-tail-lost", tail_lost, "X3",
		   "The last part of a long output, short of 4 KiB, is lost at the exit.",
		   FAULT_LIST("field:X11", "contract:C142"), FAULT_LIST("exec.output.last-bytes")),
	EXEC_FAULT("exec-line-ceiling", line_ceiling, "X3", "A line is cut at 64 KiB.",
		   FAULT_LIST("field:X15"), FAULT_LIST("exec.output.long-line")),
	EXEC_FAULT("exec-instant-output-lost", instant_lost, "X3",
		   "One command in sixteen ends before anybody listens, and its output is lost.",
		   FAULT_LIST("field:X29"), FAULT_LIST("exec.output.instant")),
	EXEC_FAULT("exec-ring-buffer", ring_buffer, "X3",
		   "Only the last MiB of each stream is kept.", FAULT_LIST("field:X12"),
		   FAULT_LIST("exec.output.burst")),
	EXEC_FAULT("spawn-streams-closed-at-exit", closed_at_exit, "X3",
		   "Unread output is thrown away once wait has answered.", FAULT_LIST("field:X11"),
		   FAULT_LIST("exec.output.slow-reader")),
	EXEC_FAULT("spawn-buffers-until-exit", buffered, "X5",
		   "Output of a spawned command is held back until it ends.",
		   FAULT_LIST("contract:C143"), FAULT_LIST("exec.spawn.delivers")),
};
FAULT_TABLE(fault_exec_output, faults);
