/* SPDX-License-Identifier: MIT */
/*
 * The log of what a workspace received, as lines of JSON in an unlinked file: it can be sent as it
 * is and costs no memory. A full log keeps what it has and counts what it lost.
 */
#ifndef FAKE_RENDER_API_RECORD_H
#define FAKE_RENDER_API_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Body bytes kept of one request. */
#define RECORD_BODY ((size_t)1 << 20)
/* Bytes kept of one workspace's log. */
#define RECORD_LOG ((uint64_t)256 << 20)

struct request_log {
	/* -1 until the first request. */
	int fd;
	uint64_t len;
	/* Requests that found no room. */
	uint64_t lost;
};

#define REQUEST_LOG_INIT { .fd = -1 }

/* One request as it is logged; texts are borrowed. */
struct record {
	const char *method;
	const char *target;
	const char *headers;
	const void *body;
	size_t body_len;
	bool cut;
};

/* Appends one request; what finds no room is counted as lost. `dir` is where the file is made. */
void record_add(struct request_log *log, const char *dir, const struct record *record);
/* Forgets everything. */
void record_clear(struct request_log *log);

#endif
