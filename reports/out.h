/* SPDX-License-Identifier: MIT */
/*
 * A report on its way to a file: pieces are appended to a buffer and leave it as it fills, so that
 * a report of any size needs little memory. The file appears under its name only when it is whole.
 */
#ifndef SP_REPORTS_OUT_H
#define SP_REPORTS_OUT_H

#include <stdint.h>

#include <base/buf.h>
#include <sandproof/error.h>

struct sp_out {
	/* Append here, then call sp_out_pass(). */
	struct sp_buf buf;
	/* Bytes that have left the buffer. */
	uint64_t written;
	/* Private. */
	const char *path;
	char *temporary;
	/* `fd` is of a device or pipe. */
	bool device;
	int fd;
	/* 0 or the errno of the first write that failed. */
	int error;
};
#define SP_OUT_INIT                                                                                \
	{                                                                                          \
		.buf = SP_BUF_INIT((size_t)1 << 28), .fd = -1                                      \
	}

/* Opens a report at `path` (borrowed); "-" is standard output. SP_IO names the path. */
int sp_out_open(struct sp_out *out, const char *path, struct sp_error *err);
/* Writes the buffer away once it is large. */
void sp_out_pass(struct sp_out *out);
/* Writes the buffer away now, for a reader that waits for it. */
void sp_out_flush(struct sp_out *out);
/* Writes the buffer away and then bytes that are large enough to go without a copy. */
void sp_out_write(struct sp_out *out, const void *data, size_t len);
/* Gives the report up for an errno: sp_out_close() says it. */
void sp_out_fail(struct sp_out *out, int error);
/* Writes the rest and gives the file its name. SP_IO names the path, and nothing is left of it. */
int sp_out_close(struct sp_out *out, struct sp_error *err);
/* Gives up what was not closed; for SP_CLEANUP(). */
void sp_out_done(struct sp_out *out);

#endif
