/* SPDX-License-Identifier: MIT */
/* From a request of the seam to the options of an easy handle. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>

static void url_done(CURLU **url)
{
	curl_url_cleanup(*url);
}

static void text_done(char **text)
{
	curl_free(*text);
}

/* Nothing that would start another header line or another request. */
static bool clean(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static bool is_loopback(const char *host)
{
	unsigned a, b, c, d;
	char end;

	if (!strcasecmp(host, "localhost") || !strcmp(host, "[::1]"))
		return true;
	return sscanf(host, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &end) == 4 && a == 127 &&
	       b < 256 && c < 256 && d < 256;
}

/* Clear text goes to this machine only. */
static int check_url(const struct http_transport *transport, const char *text, struct sp_error *err)
{
	CURLU *url SP_CLEANUP(url_done) = curl_url();
	char *scheme SP_CLEANUP(text_done) = NULL;
	char *host SP_CLEANUP(text_done) = NULL;

	if (!url)
		return sp_error_set(err, SP_INTERNAL, "no memory for a URL");
	if (!text || curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER) ||
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) ||
	    curl_url_get(url, CURLUPART_HOST, &host, 0))
		return sp_error_set(err, SP_INVALID, "not a URL that a request can go to");
	if (!strcmp(scheme, "https"))
		return 0;
	if (strcmp(scheme, "http"))
		return sp_error_set(err, SP_INVALID, "only https is spoken, not %s", scheme);
	if (!transport->unix_path && !is_loopback(host))
		return sp_error_set(
		    err, SP_INVALID,
		    "http without TLS is for loopback and Unix sockets only, not for %s", host);
	return 0;
}

static int add_header(struct http_stream *stream, const char *name, const char *separator,
		      const char *value, struct sp_error *err)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct curl_slist *longer;

	if (!clean(name) || !clean(value))
		return sp_error_set(err, SP_INVALID, "control character in a header");
	if (sp_buf_addf(&line, "%s%s%s", name, separator, value))
		return sp_error_set(err, SP_INVALID, "header too long");
	longer = curl_slist_append(stream->headers, sp_buf_str(&line));
	/* The line may hold the bearer. */
	explicit_bzero(line.data, line.len);
	if (!longer)
		return sp_error_set(err, SP_INTERNAL, "no memory for a header");
	stream->headers = longer;
	return 0;
}

static int add_headers(struct http_stream *stream, const struct sp_http_request *request,
		       struct sp_error *err)
{
	bool typed = false;
	int rc = 0;

	for (size_t i = 0; !rc && i < request->n_headers; i++) {
		typed |= !strcasecmp(request->headers[i].name, "Content-Type");
		rc = add_header(stream, request->headers[i].name, ": ", request->headers[i].value,
				err);
	}
	/* Undone by us, not by libcurl: gunzip.c says why. */
	if (!rc && !strcmp(request->method, "GET"))
		rc = add_header(stream, "Accept-Encoding", ": ", "gzip", err);
	/* Without this libcurl names a form, and asks for leave before a large body. */
	if (!rc && !typed)
		rc = add_header(stream, "Content-Type", ":", "", err);
	if (!rc)
		rc = add_header(stream, "Expect", ":", "", err);
	if (!rc && request->bearer)
		rc = add_header(stream, "Authorization", ": Bearer ", request->bearer, err);
	return rc;
}

/* libcurl sends a request again by itself when a kept connection turns out to be dead: fine for a
 * look, never for a deed. */
static int before_sending(void *arg, char *peer SP_UNUSED, char *local SP_UNUSED,
			  int peer_port SP_UNUSED, int local_port SP_UNUSED)
{
	struct http_stream *stream = arg;

	stream->last_byte = sp_now();
	if (stream->sends++ && !stream->repeatable)
		return CURL_PREREQFUNC_ABORT;
	return CURL_PREREQFUNC_OK;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
	struct http_stream *stream = arg;
	size_t len = size * n;
	long status = 0;

	stream->last_byte = sp_now();
	if (len <= 2 && (line[0] == '\r' || line[0] == '\n')) {
		curl_easy_getinfo(stream->slot->easy, CURLINFO_RESPONSE_CODE, &status);
		stream->answered = status >= 200;
	}
	return len;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct http_stream *stream = arg;
	size_t len = size * n;

	if (stream->head + stream->len + len > HTTP_WINDOW) {
		memmove(stream->slot->window, stream->slot->window + stream->head, stream->len);
		stream->head = 0;
	}
	if (stream->len + len > HTTP_WINDOW) {
		stream->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	memcpy(stream->slot->window + stream->head + stream->len, data, len);
	stream->len += len;
	stream->last_byte = sp_now();
	return len;
}

/* What never changes from one request to the next. */
static CURLcode set_policy(const struct http_transport *transport, CURL *easy)
{
	CURLcode rc = CURLE_OK;

	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PROXY, "");
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)HTTP_CHUNK);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_USERAGENT, transport->user_agent);
	rc = rc ? rc
		: curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
				   (long)transport->connect_timeout_ms);
	if (transport->unix_path)
		rc = rc ? rc
			: curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, transport->unix_path);
	if (transport->ca_file)
		rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_CAINFO, transport->ca_file);
	return rc;
}

static size_t give_body(char *buffer, size_t size, size_t n, void *arg)
{
	struct http_stream *stream = arg;
	int64_t len = stream->body_read(stream->body_arg, buffer, size * n);

	stream->last_byte = sp_now();
	if (len >= 0)
		return (size_t)len;
	stream->body_error = (int)len;
	return CURL_READFUNC_ABORT;
}

/* In chunks, since nobody knows its length. */
static CURLcode set_body_reader(struct http_stream *stream, CURL *easy,
				const struct sp_http_request *request)
{
	CURLcode rc = CURLE_OK;

	stream->body_read = request->body_read;
	stream->body_arg = request->body_arg;
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_READDATA, stream);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	return rc;
}

static CURLcode set_body(struct http_stream *stream, CURL *easy,
			 const struct sp_http_request *request)
{
	CURLcode rc = CURLE_OK;

	if (stream->is_get)
		return CURLE_OK;
	if (request->body_read)
		return set_body_reader(stream, easy, request);
	/* An empty one is an explicit Content-Length: 0. */
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_POST, 1L);
	rc =
	    rc ? rc
	       : curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
	rc =
	    rc ? rc
	       : curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body_len ? request->body : "");
	if (strcmp(request->method, "POST"))
		rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	return rc;
}

static CURLcode set_callbacks(struct http_stream *stream, CURL *easy)
{
	CURLcode rc = CURLE_OK;

	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, stream->text);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HTTPHEADER, stream->headers);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PREREQDATA, stream);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HEADERDATA, stream);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_WRITEDATA, stream);
	return rc;
}

int http_request_setup(struct http_stream *stream, const struct sp_http_request *request,
		       struct sp_error *err)
{
	CURL *easy = stream->slot->easy;
	CURLcode set;
	int rc;

	if (!request->method || !*request->method ||
	    strspn(request->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != strlen(request->method))
		return sp_error_set(err, SP_INVALID, "not a method");
	rc = check_url(stream->transport, request->url, err);
	if (rc)
		return rc;
	stream->is_get = !strcmp(request->method, "GET");
	stream->repeatable = stream->is_get;
	if (stream->is_get && (request->body_len || request->body_read))
		return sp_error_set(err, SP_INVALID, "a GET has no body");
	rc = add_headers(stream, request, err);
	if (rc)
		return rc;
	set = set_policy(stream->transport, easy);
	set = set ? set : curl_easy_setopt(easy, CURLOPT_URL, request->url);
	set = set ? set : set_body(stream, easy, request);
	set = set ? set : set_callbacks(stream, easy);
	if (set)
		return sp_error_set(err, SP_INTERNAL, "libcurl refuses an option: %s",
				    curl_easy_strerror(set));
	return 0;
}
