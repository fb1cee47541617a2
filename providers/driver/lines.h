/* SPDX-License-Identifier: MIT */
/* Lines from a descriptor, each at most as long as the ceiling: the frames of both sides. */
#ifndef SP_DRIVER_LINES_H
#define SP_DRIVER_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include <base/buf.h>

struct drv_lines {
	struct sp_buf buf;
	/* Where the first line that was not taken begins, and how far newlines were looked for. */
	size_t start, scanned;
};

/* `ceiling` counts the newline. */
#define DRV_LINES_INIT(ceiling)                                                                    \
	{                                                                                          \
		.buf = SP_BUF_INIT(ceiling)                                                        \
	}

/*
 * Reads what is there, once. 1; 0 at the end; -EAGAIN; -ENOBUFS when a line passes the ceiling;
 * another -errno. Lines taken before are no longer valid.
 */
int drv_lines_fill(struct drv_lines *lines, int fd);
/* Takes the next whole line, without its newline. */
bool drv_lines_take(struct drv_lines *lines, char **ret_line, size_t *ret_len);
/* Whether there is a whole line to take. */
bool drv_lines_ready(struct drv_lines *lines);
/* Bytes of a line whose end has not come. */
size_t drv_lines_left(const struct drv_lines *lines);
void drv_lines_done(struct drv_lines *lines);

#endif
