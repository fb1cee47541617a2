/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/record.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/nameless.h>

/*
 * A line: the base64 of a body, and a target and headers bounded by the connection's memory,
 * escaped.
 */
#define LINE_CEILING (RECORD_BODY * 2)

static void add_line(struct sp_buf *line, const struct record *record)
{
	json_open(line, NULL, '{');
	json_str(line, "method", record->method);
	json_str(line, "target", record->target);
	json_str(line, "headers", record->headers);
	json_bool(line, "cut", record->cut);
	sp_buf_adds(line, ",\"body\":\"");
	sp_buf_add_base64(line, record->body, record->body_len);
	sp_buf_adds(line, "\"}\n");
}

void record_add(struct request_log *log, const char *dir, const struct record *record)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(LINE_CEILING);

	if (log->fd < 0)
		log->fd = nameless_open(dir);
	add_line(&line, record);
	/* Half a line would spoil the ones after it. */
	if (log->fd < 0 || line.error || log->len + line.len > RECORD_LOG ||
	    sp_write_all(log->fd, line.data, line.len)) {
		if (log->fd >= 0 && (ftruncate(log->fd, (off_t)log->len) ||
				     lseek(log->fd, (off_t)log->len, SEEK_SET) < 0))
			log->fd = sp_close(log->fd);
		log->lost++;
		return;
	}
	log->len += line.len;
}

void record_clear(struct request_log *log)
{
	sp_close(log->fd);
	*log = (struct request_log)REQUEST_LOG_INIT;
}
