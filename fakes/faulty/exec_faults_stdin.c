/* SPDX-License-Identifier: MIT */
/* Faults of standard input. */
#include "exec_faults.h"

#include <string.h>

/* The command holds both ends of its stdin: nobody else writes, and no end ever comes. */
static void left_open_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	sp_buf_adds(out,
		    "p=${TMPDIR:-/tmp}/.in$$;mkfifo \"$p\"||exit 125;exec 0<>\"$p\";rm -f \"$p\";"
		    "unset p;");
	sp_buf_adds(out, options->command);
}
EXEC_TEXT_FAULT(left_open)

/* end() closes the caller's side only. */
static int close_lost_close(struct fault_process *process, struct sp_error *err)
{
	(void)process;
	(void)err;
	return 0;
}

static const struct fault_hooks close_lost = { .close_stdin = close_lost_close };
FAULT_WRAP(wrap_close_lost, close_lost)

/*
 * Input stands in a queue of one write; it moves on when the next one comes, and what stands
 * there at the close is dropped. One writer at a time, as it is on any stream.
 */
static int queued_write(struct fault_process *process, const void *data, size_t len,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_bytes *queued = process->data;
	unsigned char *copy;
	int rc;

	if (!queued)
		queued = process->data = calloc(1, sizeof(*queued));
	copy = malloc(len + 1);
	if (!queued || !copy) {
		free(copy);
		return sp_error_set(err, SP_INTERNAL, "no memory for queued input");
	}
	memcpy(copy, data, len);
	copy[len] = '\0';
	rc = queued->len ? sp_process_write_stdin(&process->inner, queued->data, queued->len,
						  cancel, err)
			 : 0;
	sp_bytes_done(queued);
	*queued = (struct sp_bytes){ copy, len };
	return rc;
}

static void queued_release(struct fault_process *process)
{
	if (process->data)
		sp_bytes_done(process->data);
	free(process->data);
}

static const struct fault_hooks queued = { .write_stdin = queued_write, .release = queued_release };
FAULT_WRAP(wrap_queued, queued)

/* A short write that counts as done. */
static int short_write(struct fault_process *process, const void *data, size_t len,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	enum { PIPE = 64 * 1024 };

	return sp_process_write_stdin(&process->inner, data, len < PIPE ? len : PIPE, cancel, err);
}

static const struct fault_hooks shortened = { .write_stdin = short_write };
FAULT_WRAP(wrap_shortened, shortened)

static int swallowed_write(struct fault_process *process, const void *data, size_t len,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_process_write_stdin(&process->inner, data, len, cancel, err);

	return rc == SP_UNSUPPORTED ? 0 : rc;
}

static int swallowed_close(struct fault_process *process, struct sp_error *err)
{
	int rc = sp_process_close_stdin(&process->inner, err);

	return rc == SP_UNSUPPORTED ? 0 : rc;
}

static const struct fault_hooks swallowed = { .write_stdin = swallowed_write,
					      .close_stdin = swallowed_close };
FAULT_WRAP(wrap_swallowed, swallowed)

static const struct sp_fault faults[] = {
	EXEC_FAULT("stdin-left-open", left_open, "X6", "The stdin of exec never ends.",
		   FAULT_LIST("field:X20"), FAULT_LIST("exec.stdin.empty")),
	EXEC_FAULT("stdin-close-lost", close_lost, "X6", "close_stdin does not reach the process.",
		   FAULT_LIST("field:X21"), FAULT_LIST("exec.stdin.close-arrives")),
	EXEC_FAULT("stdin-dropped-at-close", queued, "X6",
		   "Input that is still queued when stdin is closed is dropped.",
		   FAULT_LIST("field:X22"), FAULT_LIST("exec.stdin.kept-for-late-reader")),
	EXEC_FAULT("stdin-short-write", shortened, "X6",
		   "Of each write at most 64 KiB are written, and all of it counts as written.",
		   FAULT_LIST("contract:1.4"), FAULT_LIST("exec.stdin.large")),
	EXEC_FAULT("stdin-swallowed", swallowed, "X6",
		   "Where stdin is not writable, writing succeeds into nothing.",
		   FAULT_LIST("contract:C146", "render:29"), FAULT_LIST("exec.stdin.refused")),
};
FAULT_TABLE(fault_exec_stdin, faults);
