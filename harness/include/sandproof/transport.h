/* SPDX-License-Identifier: MIT */
/*
 * The seam between a provider and the network: one HTTP exchange at a time,
 * pulled by the caller. libcurl fills it in production; unit tests script it
 * and faults wrap it.
 */
#ifndef SANDPROOF_TRANSPORT_H
#define SANDPROOF_TRANSPORT_H

#include <sandproof/cancel.h>
#include <sandproof/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One header line. Borrowed text. */
struct sp_http_header {
	const char *name;
	const char *value;
};

#define SP_HTTP_REQUEST_VERSION 1

/* One request. All pointers are borrowed until the stream is closed. */
struct sp_http_request {
	unsigned version;
	/* "GET", "POST", "PUT", "DELETE". */
	const char *method;
	/* Absolute URL. Whoever fills it in has checked that the bearer may go to its host. */
	const char *url;
	/* Token for the Authorization header, or NULL. Kept apart so that nobody prints it. */
	const char *bearer;
	const struct sp_http_header *headers;
	size_t n_headers;
	/* Body bytes; NULL with body_len 0 is an empty body (Content-Length: 0). */
	const void *body;
	size_t body_len;
	/*
	 * Instead of `body`, when it is not NULL: gives the next bytes of a body of unknown length,
	 * at most `max` of them; 0 ends it, a negative code gives up (open answers SP_ABORTED or
	 * what it set). Called by the thread that opens the stream, so it must not wait for long.
	 */
	int64_t (*body_read)(void *arg, void *buffer, size_t max);
	void *body_arg;
	/* Milliseconds without a single byte after which the exchange is SP_TIMED_OUT; 0: none. */
	uint32_t idle_timeout_ms;
	struct sp_cancel *cancel;
};

#define SP_HTTP_REQUEST_INIT { .version = SP_HTTP_REQUEST_VERSION }

#define SP_HTTP_STREAM_VERSION 1

struct sp_http_stream_ops {
	unsigned version;
	/* Status of the final answer, 100 to 599. */
	int (*status)(void *self);
	/*
	 * Value of a header of the answer (name in any case), or NULL; lives as long as the stream.
	 */
	const char *(*header)(void *self, const char *name);
	/*
	 * Waits for body bytes. `*ret_len` = 0 is the orderly end of the body; a body that
	 * was cut off is SP_UNKNOWN_OUTCOME. `cancel` (with the
	 * request's own) ends the waiting.
	 */
	int (*read)(void *self, void *buffer, size_t max, size_t *ret_len, struct sp_cancel *cancel,
		    struct sp_error *err);
	/* Ends the exchange, whatever is left of it. Never waits. */
	void (*close)(void *self);
};

/* A reference to a running exchange; close it once. */
struct sp_http_stream {
	const struct sp_http_stream_ops *ops;
	void *self;
};

#define SP_TRANSPORT_VERSION 1

struct sp_transport_ops {
	unsigned version;
	/*
	 * Sends a request and returns when the headers of the answer are there,
	 * whatever its status. SP_UNAVAILABLE: no connection, nothing was
	 * carried out. SP_UNKNOWN_OUTCOME: the request went out and no answer
	 * came. SP_ABORTED, SP_TIMED_OUT, SP_DENIED (TLS).
	 */
	int (*open)(void *self, const struct sp_http_request *request,
		    struct sp_http_stream *ret_stream, struct sp_error *err);
	/* Frees the transport; all streams are closed before. */
	void (*close)(void *self);
};

/* A reference to a transport: two pointers, copied freely; close it once. Thread-safe. */
struct sp_transport {
	const struct sp_transport_ops *ops;
	void *self;
};

#ifdef __cplusplus
}
#endif
#endif
