/* SPDX-License-Identifier: MIT */
/* Reading what the admin endpoint answers. */
#ifndef SP_CONTROL_ANSWERS_H
#define SP_CONTROL_ANSWERS_H

#include <base/buf.h>
#include <base/json.h>
#include <sandproof/control.h>

/* One JSON object a line, as the log of requests comes; memory for one line only. */
struct request_reader {
	struct sp_buf line;
	struct sp_control_requests list;
};

/* A line holds a body of 1 MiB in base64, and headers. */
#define REQUEST_READER_INIT { .line = SP_BUF_INIT((size_t)4 << 20) }

/* Takes the next bytes. SP_PROTOCOL. */
int request_reader_add(struct request_reader *reader, const char *data, size_t len,
		       struct sp_error *err);
/* The end: SP_PROTOCOL when a line is not whole; else the list is the caller's. */
int request_reader_take(struct request_reader *reader, struct sp_control_requests *ret_requests,
			struct sp_error *err);
void request_reader_done(struct request_reader *reader);

/* Reads a census; on success it is the caller's. */
int census_read(const cJSON *json, struct sp_census *ret_census, struct sp_error *err);

#endif
