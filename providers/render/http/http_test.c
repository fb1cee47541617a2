/* SPDX-License-Identifier: MIT */
/* The transport against a server that does what a script says. */
#include "testing.h"

#include "http.h"

static struct sp_transport open_transport(const struct server *server, bool tcp)
{
	struct sp_http_options options = SP_HTTP_OPTIONS_INIT;
	struct sp_transport transport;
	struct sp_error err = SP_ERROR_INIT;

	options.unix_path = tcp ? NULL : server->path;
	cr_assert_eq(sp_http_transport_open(&options, &transport, &err), 0, "%s", err.message);
	return transport;
}

static int ask(struct sp_transport *transport, const char *method, const char *url,
	       const char *body, struct sp_http_stream *ret_stream, struct sp_error *err)
{
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;

	request.method = method;
	request.url = url;
	request.body = body;
	request.body_len = body ? strlen(body) : 0;
	return transport->ops->open(transport->self, &request, ret_stream, err);
}

static int read_all(struct sp_http_stream *stream, struct sp_buf *out, size_t piece,
		    struct sp_error *err)
{
	char buffer[4096];
	size_t n;
	int rc;

	do {
		rc = stream->ops->read(stream->self, buffer, piece, &n, NULL, err);
		if (!rc)
			sp_buf_add(out, buffer, n);
	} while (!rc && n);
	return rc;
}

TestSuite(http, .timeout = 60);

#define OK_(body_)                                                                                 \
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-One: two\r\nContent-Type: "                     \
	"text/plain\r\n\r\n" body_

Test(http, a_connection_is_kept_across_threads_and_requests)
{
	static const struct answer script[] = {
	    {.text = OK_("first")}, {.text = OK_("other")}, {.text = OK_("third")}, {0}};
	struct server server;
	struct sp_transport transport;

	start(&server, false, script);
	transport = open_transport(&server, false);
	for (int i = 0; i < 3; i++) {
		struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(100);
		struct sp_http_stream stream;
		struct sp_error err = SP_ERROR_INIT;

		cr_assert_eq(ask(&transport, i ? "POST" : "GET", "http://localhost/a?b=c%20d", NULL,
				 &stream, &err),
			     0, "%s", err.message);
		cr_expect_eq(stream.ops->status(stream.self), 200);
		cr_expect_str_eq(stream.ops->header(stream.self, "x-ONE"), "two");
		cr_expect_null(stream.ops->header(stream.self, "absent"));
		cr_expect_eq(read_all(&stream, &body, 2, &err), 0);
		cr_expect_str_eq(sp_buf_str(&body), i == 0 ? "first" : i == 1 ? "other" : "third");
		stream.ops->close(stream.self);
	}
	transport.ops->close(transport.self);
	stop(&server);
	cr_expect_eq(server.connections, 1, "%d connections", server.connections);
	cr_expect_not_null(strstr(sp_buf_str(&server.requests), "GET /a?b=c%20d HTTP/1.1\r\n"));
	/* An empty post says that it is empty. */
	cr_expect_not_null(strstr(sp_buf_str(&server.requests), "Content-Length: 0\r\n"));
	sp_buf_done(&server.requests);
}

Test(http, what_is_sent_is_what_was_said)
{
	static const struct answer script[] = {{.text = OK_("12345")}, {.text = OK_("12345")}, {0}};
	static const struct sp_http_header headers[] = {{"Content-Type", "application/json"}};
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	struct sp_http_stream stream;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_transport transport;
	struct server server;
	char *large = calloc(1, (3 << 20) + 1);

	memset(large, 'x', 3 << 20);
	start(&server, false, script);
	transport = open_transport(&server, false);
	request.method = "POST";
	request.url = "http://localhost/p";
	request.bearer = "secret-bearer";
	request.headers = headers;
	request.n_headers = 1;
	request.body = "{\"a\":1}";
	request.body_len = 7;
	cr_assert_eq(transport.ops->open(transport.self, &request, &stream, &err), 0, "%s",
		     err.message);
	stream.ops->close(stream.self);
	/* Large: nobody is asked for leave first. */
	request.method = "PUT";
	request.n_headers = 0;
	request.body = large;
	request.body_len = 3 << 20;
	cr_assert_eq(transport.ops->open(transport.self, &request, &stream, &err), 0, "%s",
		     err.message);
	stream.ops->close(stream.self);
	transport.ops->close(transport.self);
	stop(&server);
	cr_expect_not_null(
	    strstr(sp_buf_str(&server.requests), "Authorization: Bearer secret-bearer\r\n"));
	cr_expect_not_null(
	    strstr(sp_buf_str(&server.requests), "Content-Type: application/json\r\n"));
	cr_expect_not_null(strstr(sp_buf_str(&server.requests), "\r\n\r\n{\"a\":1}\n----"));
	cr_expect_not_null(strstr(sp_buf_str(&server.requests), "PUT /p HTTP/1.1\r\n"));
	cr_expect_null(strstr(sp_buf_str(&server.requests), "Expect:"));
	cr_expect_null(strstr(sp_buf_str(&server.requests), "form-urlencoded"));
	sp_buf_done(&server.requests);
	free(large);
}

static const struct {
	const char *name;
	struct answer script[3];
	const char *method;
	int open_rc;
	int read_rc;
	int connections;
} failures[] = {
    {"closed without reading the request",
     {{.text = "", .refuse = true}, {0}},
     "POST",
     SP_UNKNOWN_OUTCOME,
     0,
     1},
    {"closed after the request",
     {{.text = "", .close = true}, {0}},
     "POST",
     SP_UNKNOWN_OUTCOME,
     0,
     1},
    {"cut in the headers",
     {{.text = "HTTP/1.1 200 OK\r\nContent-", .close = true}, {0}},
     "POST",
     SP_UNKNOWN_OUTCOME,
     0,
     1},
    {"cut in the body",
     {{.text = OK_("123"), .close = true}, {0}},
     "POST",
     0,
     SP_UNKNOWN_OUTCOME,
     1},
    {"cut in a chunk",
     {{.text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123", .close = true},
      {0}},
     "POST",
     0,
     SP_UNKNOWN_OUTCOME,
     1},
    {"cut between chunks",
     {{.text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n123\r\n", .close = true},
      {0}},
     "POST",
     0,
     SP_UNKNOWN_OUTCOME,
     1},
    {"whole chunks",
     {{.text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n123\r\n0\r\n\r\n",
       .close = true},
      {0}},
     "POST",
     0,
     0,
     1},
    {"until the end",
     {{.text = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n123", .close = true}, {0}},
     "POST",
     0,
     0,
     1},
    {"not HTTP", {{.text = "SSH-2.0-x\r\n", .close = true}, {0}}, "POST", SP_PROTOCOL, 0, 1},
    {"a redirect",
     {{.text = "HTTP/1.1 302 Found\r\nLocation: http://localhost/b\r\nContent-Length: 0\r\n\r\n"},
      {0}},
     "POST",
     0,
     0,
     1},
    {"an interim answer",
     {{.text = "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"}, {0}},
     "POST",
     0,
     0,
     1},
};

Test(http, ends_are_told_apart)
{
	for (size_t i = 0; i < SP_COUNT(failures); i++) {
		struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(100);
		struct sp_error err = SP_ERROR_INIT;
		struct sp_http_stream stream;
		struct sp_transport transport;
		struct server server;
		int rc;

		start(&server, false, failures[i].script);
		transport = open_transport(&server, false);
		rc = ask(&transport, failures[i].method, "http://localhost/a", NULL, &stream, &err);
		cr_expect_eq(rc, failures[i].open_rc, "%s: %s (%s)", failures[i].name,
			     sp_code_name(rc), err.message);
		if (!rc) {
			rc = read_all(&stream, &body, 10, &err);
			cr_expect_eq(rc, failures[i].read_rc, "%s: %s (%s)", failures[i].name,
				     sp_code_name(rc), err.message);
			stream.ops->close(stream.self);
		}
		transport.ops->close(transport.self);
		stop(&server);
		cr_expect_eq(server.connections, failures[i].connections, "%s: %d connections",
			     failures[i].name, server.connections);
		sp_buf_done(&server.requests);
	}
}

Test(http, a_deed_is_never_sent_twice)
{
	/* The second request dies on the kept connection: libcurl would repeat it by itself. */
	static const struct answer script[] = {
	    {.text = OK_("12345")}, {.text = "", .close = true}, {.text = OK_("again")}, {0}};
	static const char *const methods[] = {"POST", "PUT", "GET"};

	for (size_t i = 0; i < SP_COUNT(methods); i++) {
		struct sp_error err = SP_ERROR_INIT;
		struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(100);
		struct sp_http_stream stream;
		struct sp_transport transport;
		struct server server;
		int rc;

		start(&server, false, script);
		transport = open_transport(&server, false);
		cr_assert_eq(ask(&transport, "GET", "http://localhost/a", NULL, &stream, &err), 0);
		cr_assert_eq(read_all(&stream, &body, 10, &err), 0);
		stream.ops->close(stream.self);
		rc = ask(&transport, methods[i], "http://localhost/b", NULL, &stream, &err);
		if (!strcmp(methods[i], "GET")) {
			cr_expect_eq(rc, 0, "%s", err.message);
			stream.ops->close(stream.self);
		} else {
			cr_expect_eq(rc, SP_UNKNOWN_OUTCOME, "%s: %s (%s)", methods[i],
				     sp_code_name(rc), err.message);
		}
		transport.ops->close(transport.self);
		stop(&server);
		cr_expect_eq(server.connections,
			     !strcmp(methods[i], "GET") ? 2 : server.connections);
		sp_buf_done(&server.requests);
	}
}

Test(http, nobody_there_is_unavailable)
{
	struct sp_http_options options = SP_HTTP_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	struct sp_transport transport;

	options.unix_path = "/nowhere/at/all";
	cr_assert_eq(sp_http_transport_open(&options, &transport, &err), 0);
	cr_expect_eq(ask(&transport, "POST", "http://localhost/a", "x", &stream, &err),
		     SP_UNAVAILABLE, "%s", err.message);
	transport.ops->close(transport.self);
}

Test(http, bad_requests_are_not_sent)
{
	static const char *const urls[] = {"http://example.com/",
					   "ftp://localhost/",
					   "file:///etc/passwd",
					   "http://user:pw@localhost/",
					   "http://127.evil.example/",
					   "http://127.0.0.1.evil.example/",
					   "",
					   "localhost"};
	static const struct sp_http_header bad = {"X", "a\r\nY: b"};
	struct sp_http_options options = SP_HTTP_OPTIONS_INIT;
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	struct sp_transport transport;

	cr_assert_eq(sp_http_transport_open(&options, &transport, &err), 0);
	for (size_t i = 0; i < SP_COUNT(urls); i++)
		cr_expect_eq(ask(&transport, "GET", urls[i], NULL, &stream, &err), SP_INVALID,
			     "%s: %s", urls[i], err.message);
	request.method = "GET";
	request.url = "http://127.0.0.1:1/";
	request.headers = &bad;
	request.n_headers = 1;
	cr_expect_eq(transport.ops->open(transport.self, &request, &stream, &err), SP_INVALID);
	request.n_headers = 0;
	request.bearer = "a\nb";
	cr_expect_eq(transport.ops->open(transport.self, &request, &stream, &err), SP_INVALID);
	cr_expect_null(strstr(err.message, "a\nb"));
	request.bearer = NULL;
	request.method = "GET / HTTP/1.1";
	cr_expect_eq(transport.ops->open(transport.self, &request, &stream, &err), SP_INVALID);
	transport.ops->close(transport.self);
}

Test(http, proxies_of_the_environment_are_left_alone)
{
	static const struct answer script[] = {{.text = OK_("12345")}, {0}};
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	struct sp_transport transport;
	struct server server;
	char url[64];

	setenv("http_proxy", "http://127.0.0.1:1/", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1/", 1);
	start(&server, true, script);
	transport = open_transport(&server, true);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/x", server.port);
	cr_expect_eq(ask(&transport, "GET", url, NULL, &stream, &err), 0, "%s", err.message);
	stream.ops->close(stream.self);
	transport.ops->close(transport.self);
	stop(&server);
	sp_buf_done(&server.requests);
}

Test(http, tls_that_is_none_is_denied)
{
	static const struct answer script[] = {{.text = "this is no handshake", .close = true},
					       {0}};
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	struct sp_transport transport;
	struct server server;
	char url[64];

	start(&server, true, script);
	transport = open_transport(&server, true);
	/* The server answers what it takes for a request. */
	server.script =
	    (const struct answer[]){{.text = "this is no handshake", .refuse = true}, {0}};
	snprintf(url, sizeof(url), "https://127.0.0.1:%d/x", server.port);
	cr_expect_eq(ask(&transport, "GET", url, NULL, &stream, &err), SP_DENIED, "%s",
		     err.message);
	transport.ops->close(transport.self);
	stop(&server);
	sp_buf_done(&server.requests);
}

static void *abort_it(void *arg)
{
	sp_cancel_abort(arg, "enough");
	return NULL;
}

/* The waits are real; what ends each is the abort, or the answer of SP_TIMED_OUT. */
Test(http, a_cancel_ends_every_wait)
{
	static const struct answer silent[] = {{.text = "", .linger = true, .close = true}, {0}};
	static const struct answer begun[] = {
	    {.text = "HTTP/1.1 200 OK\r\n\r\n", .linger = true, .close = true}, {0}};

	for (int reading = 0; reading < 2; reading++) {
		struct sp_cancel *cancel = sp_cancel_new();
		struct sp_http_request request = SP_HTTP_REQUEST_INIT;
		struct sp_error err = SP_ERROR_INIT;
		struct sp_http_stream stream;
		struct sp_transport transport;
		struct server server;
		pthread_t thread;
		char buffer[8];
		size_t n;
		int rc;

		start(&server, false, reading ? begun : silent);
		transport = open_transport(&server, false);
		request.method = "POST";
		request.url = "http://localhost/x";
		request.cancel = reading ? NULL : cancel;
		if (reading)
			cr_assert_eq(transport.ops->open(transport.self, &request, &stream, &err),
				     0);
		cr_assert_eq(pthread_create(&thread, NULL, abort_it, cancel), 0);
		if (reading) {
			rc =
			    stream.ops->read(stream.self, buffer, sizeof(buffer), &n, cancel, &err);
			stream.ops->close(stream.self);
		} else {
			rc = transport.ops->open(transport.self, &request, &stream, &err);
		}
		cr_expect_eq(rc, SP_ABORTED, "%s", err.message);
		cr_expect_str_eq(err.message, "enough");
		pthread_join(thread, NULL);
		cr_expect_eq(sp_cancel_refs(cancel), 1);
		sp_cancel_unref(cancel);
		transport.ops->close(transport.self);
		stop(&server);
		sp_buf_done(&server.requests);
	}
}

Test(http, silence_has_a_limit)
{
	static const struct answer script[] = {
	    {.text = "HTTP/1.1 200 OK\r\n\r\n", .linger = true, .close = true}, {0}};
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	struct sp_transport transport;
	struct server server;
	char buffer[8];
	size_t n;

	start(&server, false, script);
	transport = open_transport(&server, false);
	request.method = "GET";
	request.url = "http://localhost/x";
	request.idle_timeout_ms = 30;
	cr_assert_eq(transport.ops->open(transport.self, &request, &stream, &err), 0);
	cr_expect_eq(stream.ops->read(stream.self, buffer, sizeof(buffer), &n, NULL, &err),
		     SP_TIMED_OUT);
	stream.ops->close(stream.self);
	transport.ops->close(transport.self);
	stop(&server);
	sp_buf_done(&server.requests);
}

Test(http, a_large_body_waits_for_its_reader)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(8 << 20);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(8 << 20);
	struct answer script[2] = {0};
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	struct sp_transport transport;
	struct server server;
	size_t headers;

	sp_buf_adds(&text, "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n");
	headers = text.len;
	for (int i = 0; i < 300000; i++)
		sp_buf_addf(&text, "%09d\n", i);
	script[0].text = text.data;
	script[0].len = text.len;
	start(&server, false, script);
	transport = open_transport(&server, false);
	cr_assert_eq(ask(&transport, "GET", "http://localhost/x", NULL, &stream, &err), 0, "%s",
		     err.message);
	cr_expect_eq(read_all(&stream, &body, 4096, &err), 0, "%s", err.message);
	cr_expect_eq(body.len, 3000000u);
	cr_expect(!memcmp(body.data, text.data + headers, 3000000));
	stream.ops->close(stream.self);
	transport.ops->close(transport.self);
	stop(&server);
	sp_buf_done(&server.requests);
}

/* ---- gzip ---- */

/* "hello\n" as gzip -n gives it: header, 8 bytes of data, checksum, length. */
#define GZIP_HEADER "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
#define GZIP_DATA "\xcb\x48\xcd\xc9\xc9\xe7\x02\x00"
#define GZIP_TRAILER "\x20\x30\x3a\x36\x06\x00\x00\x00"
#define GZIP GZIP_HEADER GZIP_DATA GZIP_TRAILER
#define BODY(text_) text_, sizeof(text_) - 1

Test(http, gzip_is_undone_and_has_to_be_whole)
{
	static const struct {
		const char *name, *coding;
		const char *body;
		size_t len;
		int rc;
		const char *text;
	} rows[] = {
		{ "none", NULL, BODY("hello\n"), 0, "hello\n" },
		{ "identity", "identity", BODY("hello\n"), 0, "hello\n" },
		{ "gzip", "gzip", BODY(GZIP), 0, "hello\n" },
		{ "in capitals", "GZIP", BODY(GZIP), 0, "hello\n" },
		{ "two, one behind the other", "gzip", BODY(GZIP GZIP), 0, "hello\nhello\n" },
		{ "nothing at all", "gzip", BODY(""), 0, "" },
		{ "cut in the header", "gzip", BODY("\x1f\x8b\x08"), SP_UNKNOWN_OUTCOME, "" },
		{ "cut in the data", "gzip", BODY(GZIP_HEADER "\xcb\x48"), SP_UNKNOWN_OUTCOME,
		  NULL },
		{ "without its trailer", "gzip", BODY(GZIP_HEADER GZIP_DATA), SP_UNKNOWN_OUTCOME,
		  "hello\n" },
		{ "half a trailer", "gzip", BODY(GZIP_HEADER GZIP_DATA "\x20\x30\x3a"),
		  SP_UNKNOWN_OUTCOME, "hello\n" },
		{ "a wrong checksum", "gzip",
		  BODY(GZIP_HEADER GZIP_DATA "\x21\x30\x3a\x36\x06\x00\x00\x00"), SP_PROTOCOL,
		  NULL },
		{ "a wrong length", "gzip",
		  BODY(GZIP_HEADER GZIP_DATA "\x20\x30\x3a\x36\x07\x00\x00\x00"), SP_PROTOCOL,
		  NULL },
		{ "no gzip", "gzip", BODY("hello\n"), SP_PROTOCOL, "" },
		{ "something behind it", "gzip", BODY(GZIP "junk"), SP_PROTOCOL, NULL },
		{ "another coding", "br", BODY("hello\n"), SP_PROTOCOL, "" },
		{ "two codings", "gzip, gzip", BODY("hello\n"), SP_PROTOCOL, "" },
	};

	for (size_t i = 0; i < 2 * SP_COUNT(rows); i++) {
		size_t r = i / 2;
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct answer script[2] = { { 0 } };
		struct sp_error err = SP_ERROR_INIT;
		struct sp_http_stream stream;
		struct sp_transport transport;
		struct server server;
		int rc;

		sp_buf_addf(&text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s%s%s\r\n",
			    rows[r].len, rows[r].coding ? "Content-Encoding: " : "",
			    rows[r].coding ? rows[r].coding : "", rows[r].coding ? "\r\n" : "");
		sp_buf_add(&text, rows[r].body, rows[r].len);
		script[0] = (struct answer){ .text = text.data, .len = text.len, .trickle = i % 2 };
		start(&server, false, script);
		transport = open_transport(&server, false);
		rc = ask(&transport, "GET", "http://localhost/x", NULL, &stream, &err);
		cr_assert_eq(rc, 0, "%s: %s", rows[r].name, err.message);
		/* A reader of three bytes at a time is told the same. */
		rc = read_all(&stream, &body, i % 2 ? 3 : 100, &err);
		cr_expect(rc == rows[r].rc &&
				  (!rows[r].text || !strcmp(sp_buf_str(&body), rows[r].text)),
			  "%s: %s and `%s` expected, got %s (%s) and `%s`", rows[r].name,
			  sp_code_name(rows[r].rc), rows[r].text ? rows[r].text : "",
			  sp_code_name(rc), err.message, sp_buf_str(&body));
		stream.ops->close(stream.self);
		transport.ops->close(transport.self);
		stop(&server);
		cr_expect_not_null(
		    strstr(sp_buf_str(&server.requests), "Accept-Encoding: gzip\r\n"));
		sp_buf_done(&server.requests);
	}
}
