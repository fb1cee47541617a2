/* SPDX-License-Identifier: MIT */
/*
 * The transport over libcurl. There is no thread here: whoever opens or reads
 * a stream drives its own multi handle, and waits in one poll for the network
 * and for the cancels.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>

#define CONNECT_TIMEOUT_MS 10000
/* Most bytes that are given at once of a compressed answer. */
#define GZIP_PIECE ((size_t)1 << 20)

static int check_cancels(struct http_stream *stream, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_cancel_check(stream->cancel, err);

	return rc ? rc : sp_cancel_check(cancel, err);
}

/* Milliseconds until the exchange has been silent for too long; -1 without such a limit, -2 when it
 * has. */
static int silence_left(const struct http_stream *stream, uint64_t since)
{
	uint64_t limit, now = sp_now();

	if (!stream->idle_timeout_ms)
		return -1;
	if (stream->last_byte > since)
		since = stream->last_byte;
	limit = since + stream->idle_timeout_ms * SP_MS;
	return now >= limit ? -2 : (int)((limit - now) / SP_MS + 1);
}

static int wait_for_network(struct http_stream *stream, struct sp_cancel *cancel, int limit_ms,
			    struct sp_error *err)
{
	struct curl_waitfd fds[2];
	unsigned n = 0;
	CURLMcode rc;

	if (stream->cancel)
		fds[n++] = (struct curl_waitfd){.fd = sp_cancel_fd(stream->cancel),
						.events = CURL_WAIT_POLLIN};
	if (cancel && cancel != stream->cancel)
		fds[n++] =
		    (struct curl_waitfd){.fd = sp_cancel_fd(cancel), .events = CURL_WAIT_POLLIN};
	rc = curl_multi_poll(stream->slot->multi, fds, n, limit_ms < 0 ? 60000 : limit_ms, NULL);
	if (rc)
		return sp_error_set(err, SP_INTERNAL, "libcurl: %s", curl_multi_strerror(rc));
	return 0;
}

/* Lets libcurl work on what is there. */
static int perform(struct http_stream *stream, struct sp_error *err)
{
	int running, left;
	CURLMsg *message;
	CURLMcode rc;

	if (stream->paused) {
		stream->paused = false;
		/* Delivers at once what was held back; that may pause it again. */
		curl_easy_pause(stream->slot->easy, CURLPAUSE_CONT);
	}
	rc = curl_multi_perform(stream->slot->multi, &running);
	if (rc)
		return sp_error_set(err, SP_INTERNAL, "libcurl: %s", curl_multi_strerror(rc));
	while ((message = curl_multi_info_read(stream->slot->multi, &left))) {
		if (message->msg != CURLMSG_DONE)
			continue;
		stream->done = true;
		stream->result = message->data.result;
	}
	return 0;
}

/* Drives the exchange until its answer began, or (with `body`) until body bytes or its end are
 * there. */
static int drive(struct http_stream *stream, bool body, struct sp_cancel *cancel,
		 struct sp_error *err)
{
	uint64_t since = sp_now();

	for (;;) {
		int limit, rc;

		if (stream->len ? body : false)
			return 0;
		if (stream->answered && !body)
			return 0;
		if (stream->done)
			return stream->result ? http_failure(stream, err) : 0;
		rc = check_cancels(stream, cancel, err);
		if (!rc)
			rc = perform(stream, err);
		if (rc)
			return rc;
		if (stream->done || (body ? stream->len > 0 : stream->answered))
			continue;
		limit = silence_left(stream, since);
		if (limit == -2)
			return sp_error_set(err, SP_TIMED_OUT, "not a byte for %u ms",
					    stream->idle_timeout_ms);
		rc = wait_for_network(stream, cancel, limit, err);
		if (rc)
			return rc;
	}
}

static int stream_status(void *self)
{
	struct http_stream *stream = self;
	long status = 0;

	curl_easy_getinfo(stream->slot->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

static const char *stream_header(void *self, const char *name)
{
	struct http_stream *stream = self;
	struct curl_header *header;

	if (curl_easy_header(stream->slot->easy, name, 0, CURLH_HEADER, -1, &header))
		return NULL;
	return header->value;
}

static void consume(struct http_stream *stream, size_t len)
{
	stream->head += len;
	stream->len -= len;
	if (!stream->len)
		stream->head = 0;
}

static int read_plain(struct http_stream *stream, void *buffer, size_t max, size_t *ret_len,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = drive(stream, true, cancel, err);

	if (rc)
		return rc;
	if (max > stream->len)
		max = stream->len;
	memcpy(buffer, stream->slot->window + stream->head, max);
	consume(stream, max);
	*ret_len = max;
	return 0;
}

static int read_gzip(struct http_stream *stream, void *buffer, size_t max, size_t *ret_len,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	for (;;) {
		size_t used, n;
		int rc = http_gunzip_step(stream->gunzip, stream->slot->window + stream->head,
					  stream->len, &used, buffer, max, &n, err);

		if (rc)
			return rc;
		consume(stream, used);
		if (n) {
			*ret_len = n;
			return 0;
		}
		if (stream->len)
			continue;
		rc = drive(stream, true, cancel, err);
		if (rc)
			return rc;
		if (!stream->len)
			break;
	}
	if (!http_gunzip_is_whole(stream->gunzip))
		return sp_error_set(err, SP_UNKNOWN_OUTCOME, "the compressed answer was cut off");
	*ret_len = 0;
	return 0;
}

static int stream_read(void *self, void *buffer, size_t max, size_t *ret_len,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	struct http_stream *stream = self;
	int rc;

	if (!max)
		return sp_error_set(err, SP_INVALID, "no room to read into");
	if (!stream->coding_known) {
		rc = http_gunzip_new(stream_header(stream, "Content-Encoding"), &stream->gunzip,
				     err);
		if (rc)
			return rc;
		stream->coding_known = true;
	}
	/* zlib counts in 32 bits. */
	if (stream->gunzip)
		return read_gzip(stream, buffer, max < GZIP_PIECE ? max : GZIP_PIECE, ret_len,
				 cancel, err);
	return read_plain(stream, buffer, max, ret_len, cancel, err);
}

static void stream_close(void *self)
{
	struct http_stream *stream = self;

	/* An unfinished exchange loses its connection here; a finished one keeps it in the multi.
	 */
	curl_multi_remove_handle(stream->slot->multi, stream->slot->easy);
	http_slot_put(stream->transport, stream->slot);
	curl_slist_free_all(stream->headers);
	http_gunzip_free(stream->gunzip);
	sp_cancel_unref(stream->cancel);
	free(stream);
}

static const struct sp_http_stream_ops stream_ops = {
    .version = SP_HTTP_STREAM_VERSION,
    .status = stream_status,
    .header = stream_header,
    .read = stream_read,
    .close = stream_close,
};

static int stream_start(struct http_stream *stream, const struct sp_http_request *request,
			struct sp_error *err)
{
	CURLMcode added;
	int rc;

	rc = sp_cancel_check(request->cancel, err);
	if (!rc)
		rc = http_request_setup(stream, request, err);
	if (rc)
		return rc;
	added = curl_multi_add_handle(stream->slot->multi, stream->slot->easy);
	if (added)
		return sp_error_set(err, SP_INTERNAL, "libcurl: %s", curl_multi_strerror(added));
	rc = drive(stream, false, NULL, err);
	/* libcurl takes an end within the headers for an end. */
	if (!rc && !stream->answered)
		rc = sp_error_set(err, SP_UNKNOWN_OUTCOME, "the answer was cut off in its headers");
	return rc;
}

static int transport_open(void *self, const struct sp_http_request *request,
			  struct sp_http_stream *ret_stream, struct sp_error *err)
{
	struct http_transport *transport = self;
	struct http_stream *stream = calloc(1, sizeof(*stream));
	int rc;

	if (!stream)
		return sp_error_set(err, SP_INTERNAL, "no memory for a request");
	stream->transport = transport;
	stream->slot = http_slot_take(transport);
	if (!stream->slot) {
		free(stream);
		return sp_error_set(err, SP_INTERNAL, "no memory for a request");
	}
	stream->cancel = sp_cancel_ref(request->cancel);
	stream->idle_timeout_ms = request->idle_timeout_ms;
	stream->last_byte = sp_now();
	rc = stream_start(stream, request, err);
	if (rc) {
		stream_close(stream);
		return rc;
	}
	*ret_stream = (struct sp_http_stream){&stream_ops, stream};
	return 0;
}

static void transport_close(void *self)
{
	struct http_transport *transport = self;

	while (transport->idle) {
		struct http_slot *slot = transport->idle;

		transport->idle = slot->next;
		http_slot_free(slot);
	}
	pthread_mutex_destroy(&transport->lock);
	free(transport->unix_path);
	free(transport->ca_file);
	free(transport->user_agent);
	free(transport);
}

static const struct sp_transport_ops transport_ops = {
    .version = SP_TRANSPORT_VERSION,
    .open = transport_open,
    .close = transport_close,
};

static CURLcode global_code;

static void global_init(void)
{
	global_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int copy(char **to, const char *text)
{
	if (!text)
		return 0;
	*to = strdup(text);
	return *to ? 0 : -1;
}

int sp_http_transport_open(const struct sp_http_options *options,
			   struct sp_transport *ret_transport, struct sp_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct http_transport *transport;

	if (options->version != SP_HTTP_OPTIONS_VERSION)
		return sp_error_set(err, SP_INVALID, "transport options of version %u",
				    options->version);
	pthread_once(&once, global_init);
	if (global_code)
		return sp_error_set(err, SP_INTERNAL, "libcurl cannot be set up: %s",
				    curl_easy_strerror(global_code));
	transport = calloc(1, sizeof(*transport));
	if (!transport)
		return sp_error_set(err, SP_INTERNAL, "no memory for a transport");
	pthread_mutex_init(&transport->lock, NULL);
	transport->connect_timeout_ms =
	    options->connect_timeout_ms ? options->connect_timeout_ms : CONNECT_TIMEOUT_MS;
	if (copy(&transport->unix_path, options->unix_path) ||
	    copy(&transport->ca_file, options->ca_file) ||
	    copy(&transport->user_agent,
		 options->user_agent ? options->user_agent : "sandproof/" SP_VERSION)) {
		transport_close(transport);
		return sp_error_set(err, SP_INTERNAL, "no memory for a transport");
	}
	*ret_transport = (struct sp_transport){&transport_ops, transport};
	return 0;
}
