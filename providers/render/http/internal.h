/* SPDX-License-Identifier: MIT */
/* What the files of the libcurl transport share. */
#ifndef SP_HTTP_INTERNAL_H
#define SP_HTTP_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <curl/curl.h>

#include <sandproof/transport.h>

#include "http.h"

/* Received bytes that wait for the reader; the connection stands still beyond it. */
#define HTTP_WINDOW (64 * 1024)
/* Most bytes that libcurl hands over at once; the window takes two of them. */
#define HTTP_CHUNK (32 * 1024)
/* Slots kept for reuse. More may be in use at a time. */
#define HTTP_IDLE_SLOTS 16

/*
 * A multi handle with its connections, one easy handle and one window: used by one stream at
 * a time. Kept connections belong to the multi, so a slot that goes back
 * to the pool brings them to whichever thread comes next.
 */
struct http_slot {
	struct http_slot *next;
	CURLM *multi;
	CURL *easy;
	unsigned char window[HTTP_WINDOW];
};

struct http_gunzip;

struct http_transport {
	pthread_mutex_t lock;
	/* Last in, first out: the warmest connection is used first. */
	struct http_slot *idle;
	size_t n_idle;
	char *unix_path;
	char *ca_file;
	char *user_agent;
	uint32_t connect_timeout_ms;
};

struct http_stream {
	struct http_transport *transport;
	struct http_slot *slot;
	struct curl_slist *headers;
	/* Undoes the body's coding; NULL: there is none, or it is not known yet. */
	struct http_gunzip *gunzip;
	bool coding_known;
	struct sp_cancel *cancel;
	uint32_t idle_timeout_ms;
	uint64_t last_byte;
	/* Unread bytes are window[head, head + len). */
	size_t head;
	size_t len;
	/* How often the request was about to be sent; libcurl repeats one by itself on a dead kept
	 * connection. */
	unsigned sends;
	bool repeatable;
	/* Where a body comes from piece by piece; NULL: nowhere. */
	int64_t (*body_read)(void *arg, void *buffer, size_t max);
	void *body_arg;
	/* It gave up with this code, or 0. */
	int body_error;
	bool is_get;
	bool answered;
	bool paused;
	bool done;
	CURLcode result;
	char text[CURL_ERROR_SIZE];
};

/* Takes a slot out of the pool or makes one; NULL without memory. */
struct http_slot *http_slot_take(struct http_transport *transport);
/* Puts a slot back, or frees it when enough are idle. */
void http_slot_put(struct http_transport *transport, struct http_slot *slot);
void http_slot_free(struct http_slot *slot);

/* Checks a request and sets the easy handle up for it. SP_INVALID, SP_INTERNAL. */
int http_request_setup(struct http_stream *stream, const struct sp_http_request *request,
		       struct sp_error *err);

/* A decoder for this Content-Encoding; NULL for none. SP_PROTOCOL for any but gzip. */
int http_gunzip_new(const char *coding, struct http_gunzip **ret_gunzip, struct sp_error *err);
void http_gunzip_free(struct http_gunzip *gunzip);
/*
 * Takes what it can of `in` and gives what it can; nothing taken and nothing given: it needs more.
 * SP_PROTOCOL: not gzip, or a wrong checksum.
 */
int http_gunzip_step(struct http_gunzip *gunzip, const void *in, size_t len, size_t *ret_used,
		     void *out, size_t max, size_t *ret_len, struct sp_error *err);
/* Whether the body may end here. */
bool http_gunzip_is_whole(const struct http_gunzip *gunzip);

/* Turns the end of a failed exchange into a code of the contract. */
int http_failure(const struct http_stream *stream, struct sp_error *err);

#endif
