/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A read takes what a large pipe holds; small messages cost no more for it. */
#define CHUNK ((size_t)256 * 1024)

int drv_lines_fill(struct drv_lines *lines, int fd)
{
	struct sp_buf *buf = &lines->buf;
	size_t room;
	ssize_t n;

	if (lines->start) {
		sp_buf_consume(buf, lines->start);
		lines->scanned -= lines->start;
		lines->start = 0;
	}
	room = buf->ceiling - buf->len;
	if (!room)
		return -ENOBUFS;
	if (room > CHUNK)
		room = CHUNK;
	if (!sp_buf_reserve(buf, room))
		return buf->error;
	n = read(fd, buf->data + buf->len, room);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	buf->len += (size_t)n;
	buf->data[buf->len] = '\0';
	return n > 0;
}

/* The newline of the first line that was not taken, or NULL. */
static char *find_end(struct drv_lines *lines)
{
	struct sp_buf *buf = &lines->buf;
	char *end = NULL;

	if (lines->scanned < buf->len)
		end = memchr(buf->data + lines->scanned, '\n', buf->len - lines->scanned);
	lines->scanned = end ? (size_t)(end - buf->data) : buf->len;
	return end;
}

bool drv_lines_ready(struct drv_lines *lines)
{
	return find_end(lines) != NULL;
}

bool drv_lines_take(struct drv_lines *lines, char **ret_line, size_t *ret_len)
{
	struct sp_buf *buf = &lines->buf;
	char *end = find_end(lines);

	if (!end)
		return false;
	*ret_line = buf->data + lines->start;
	*ret_len = (size_t)(end - *ret_line);
	lines->start = lines->scanned = (size_t)(end - buf->data) + 1;
	return true;
}

size_t drv_lines_left(const struct drv_lines *lines)
{
	return lines->buf.len - lines->start;
}

void drv_lines_done(struct drv_lines *lines)
{
	sp_buf_done(&lines->buf);
	lines->start = lines->scanned = 0;
}
