/* SPDX-License-Identifier: MIT */
/*
 * The provider, with libcurl and everything, against a server that says whatever a script says: bad
 * JSON, wrong types, answers that come byte by byte, end early or never.
 */
#include "http/testing.h"

#include "internal.h"

#define ID "sbx-1cd4gcph1rs3idesc73a2b2mg"
#define KEY "rnd_hunter22"
#define TOKEN "token.hunter33"

#define HEAD(status_, type_, more_)                                                                \
	"HTTP/1.1 " status_ "\r\nContent-Type: " type_ "\r\nrender-request-id: x\r\n"              \
	"Connection: close\r\n" more_ "\r\n"
#define JSON(status_, body_) HEAD(status_, "application/json", "") body_
#define LATER(status_, body_) HEAD(status_, "application/json", "Retry-After: 0\r\n") body_
#define SAYS(text_) { .text = text_, .close = true }
#define TRICKLES(text_) { .text = text_, .close = true, .trickle = true }
#define END { .text = NULL }

#define GRANT(token_, uri_, method_)                                                               \
	JSON("201 Created", "{\"executionId\":\"exe-1\",\"token\":" token_ ",\"uri\":" uri_        \
			    ",\"method\":" method_ ",\"expiresAt\":\"2026-11-30T10:10:00Z\"}")
#define URI "\"http://localhost/proxy/x/runs/stream\""
#define GRANTED GRANT("\"" TOKEN "\"", URI, "\"POST\"")

#define STREAM(events_) HEAD("200 OK", "text/event-stream", "") events_
#define OUTPUT(data_) "event: output\ndata: " data_ "\n\n"
#define HI OUTPUT("{\"stream\":\"stdout\",\"data\":\"hi\"}")
#define EXIT(code_) "event: exit\ndata: {\"exit_code\":" code_ "}\n\n"

struct row {
	const char *what;
	struct answer script[4];
	int rc;
	/* Part of the error's words; of the output when there is none. */
	const char *says;
	/* Requests that the server read. */
	size_t requests;
};

static const struct row mints[] = {
	{ "as it should be", { SAYS(GRANTED), SAYS(STREAM(HI EXIT("0"))), END }, 0, "hi", 2 },
	{ "no JSON", { SAYS(JSON("201 Created", "{\"token\":")), END }, SP_PROTOCOL, "token", 1 },
	{ "more behind it", { SAYS(GRANTED "x"), END }, SP_PROTOCOL, "token", 1 },
	{ "a NUL in it", { SAYS(GRANT("\"a\\u0000b\"", URI, "\"POST\"")), END }, SP_PROTOCOL,
	  "token", 1 },
	{ "no UTF-8", { SAYS(GRANT("\"\xff\"", URI, "\"POST\"")), END }, SP_PROTOCOL, "token", 1 },
	{ "an array", { SAYS(JSON("201 Created", "[]")), END }, SP_PROTOCOL, "without token", 1 },
	{ "no token", { SAYS(JSON("201 Created", "{\"uri\":" URI "}")), END }, SP_PROTOCOL,
	  "without token", 1 },
	{ "a number for a token", { SAYS(GRANT("7", URI, "\"POST\"")), END }, SP_PROTOCOL,
	  "without token", 1 },
	{ "a token that is two lines", { SAYS(GRANT("\"a\\r\\nb\"", URI, "\"POST\"")), END },
	  SP_PROTOCOL, "without token", 1 },
	{ "null for an address", { SAYS(GRANT("\"" TOKEN "\"", "null", "\"POST\"")), END },
	  SP_PROTOCOL, "without token or uri", 1 },
	{ "another method", { SAYS(GRANT("\"" TOKEN "\"", URI, "\"PUT\"")), END }, SP_PROTOCOL,
	  "method PUT", 1 },
	{ "another host",
	  { SAYS(GRANT("\"" TOKEN "\"", "\"https://sandbox.evil.example/\"", "\"POST\"")), END },
	  SP_PROTOCOL, "the token was not sent", 1 },
	{ "a host that looks like it",
	  { SAYS(GRANT("\"" TOKEN "\"", "\"https://x.sandbox.onrender.com.evil.example/\"",
		       "\"POST\"")),
	    END },
	  SP_PROTOCOL, "the token was not sent", 1 },
	{ "no TLS to the service's own",
	  { SAYS(GRANT("\"" TOKEN "\"", "\"http://x.oregon.sandbox.onrender.com/\"", "\"POST\"")),
	    END },
	  SP_PROTOCOL, "the token was not sent", 1 },
	{ "a redirect",
	  { SAYS(HEAD("302 Found", "application/json", "Location: http://localhost/b\r\n")), END },
	  SP_PROTOCOL, "redirects are refused", 1 },
	{ "a wrong key", { SAYS(JSON("401 Unauthorized", "{\"message\":\"no\"}")), END },
	  SP_DENIED, "status 401", 1 },
	{ "no access", { SAYS(JSON("403 Forbidden", "{\"message\":\"no\"}")), END }, SP_DENIED,
	  "status 403", 1 },
	{ "the edge, once",
	  { SAYS("HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
		 "<html></html>"),
	    SAYS(GRANTED), SAYS(STREAM(HI EXIT("0"))), END },
	  0, "hi", 3 },
	{ "a limit with its header",
	  { SAYS(LATER("429 Too Many Requests", "{\"message\":\"rate limit exceeded\"}")),
	    SAYS(GRANTED), SAYS(STREAM(HI EXIT("0"))), END },
	  0, "hi", 3 },
	{ "a status that nobody knows", { SAYS(JSON("299 Odd", "{\"message\":\"odd\"}")), END },
	  SP_PROTOCOL, "status 299", 1 },
	{ "an early end", { SAYS("HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n{"), END },
	  SP_UNAVAILABLE, "nothing was started", 1 },
	{ "no answer", { SAYS(""), END }, SP_UNAVAILABLE, "nothing was started", 1 },
	{ "half a header", { SAYS("HTTP/1.1 201 Created\r\nContent-Ty"), END }, SP_UNAVAILABLE,
	  "nothing was started", 1 },
	{ "byte by byte", { TRICKLES(GRANTED), TRICKLES(STREAM(HI EXIT("0"))), END }, 0, "hi", 2 },
	{ "an answer without an end",
	  { { .text = HEAD("201 Created", "application/json", ""),
	      .close = true,
	      .endless = "          " },
	    END },
	  SP_PROTOCOL, "more than 16777216 bytes", 1 },
};

static const struct row streams[] = {
	{ "no stream", { SAYS(GRANTED), SAYS(JSON("200 OK", "{\"stdout\":\"\"}")), END },
	  SP_PROTOCOL, "not with a stream", 2 },
	{ "no type", { SAYS(GRANTED), SAYS("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), END },
	  SP_PROTOCOL, "nothing named", 2 },
	{ "a token that is refused",
	  { SAYS(GRANTED), SAYS(JSON("401 Unauthorized", "{\"code\":\"unauthorized\"}")), END },
	  SP_DENIED, "status 401", 2 },
	{ "a redirect",
	  { SAYS(GRANTED),
	    SAYS(HEAD("307 Temporary", "text/html", "Location: http://localhost/b\r\n")), END },
	  SP_PROTOCOL, "redirects are refused", 2 },
	{ "an unknown event", { SAYS(GRANTED), SAYS(STREAM("event: log\ndata: {}\n\n")), END },
	  SP_PROTOCOL, "\"log\"", 2 },
	{ "no JSON", { SAYS(GRANTED), SAYS(STREAM(OUTPUT("{\"stream\":"))), END }, SP_PROTOCOL,
	  "cannot be read", 2 },
	{ "no UTF-8",
	  { SAYS(GRANTED), SAYS(STREAM(OUTPUT("{\"stream\":\"stdout\",\"data\":\"\xff\"}"))), END },
	  SP_PROTOCOL, "cannot be read", 2 },
	{ "half a surrogate",
	  { SAYS(GRANTED), SAYS(STREAM(OUTPUT("{\"stream\":\"stdout\",\"data\":\"\\ud800\"}"))),
	    END },
	  SP_PROTOCOL, "cannot be read", 2 },
	{ "a number for a stream",
	  { SAYS(GRANTED), SAYS(STREAM(OUTPUT("{\"stream\":1,\"data\":\"\"}"))), END }, SP_PROTOCOL,
	  "cannot be read", 2 },
	{ "a third stream",
	  { SAYS(GRANTED), SAYS(STREAM(OUTPUT("{\"stream\":\"stdlog\",\"data\":\"\"}"))), END },
	  SP_PROTOCOL, "\"stdlog\"", 2 },
	{ "an object for data",
	  { SAYS(GRANTED), SAYS(STREAM(OUTPUT("{\"stream\":\"stdout\",\"data\":{}}"))), END },
	  SP_PROTOCOL, "cannot be read", 2 },
	{ "a text for a code", { SAYS(GRANTED), SAYS(STREAM(EXIT("\"0\""))), END }, SP_PROTOCOL,
	  "exit", 2 },
	{ "half a code", { SAYS(GRANTED), SAYS(STREAM(EXIT("1.5"))), END }, SP_PROTOCOL, "exit",
	  2 },
	{ "a code beyond all", { SAYS(GRANTED), SAYS(STREAM(EXIT("99999999999999999999"))), END },
	  SP_PROTOCOL, "exit", 2 },
	{ "a code below zero", { SAYS(GRANTED), SAYS(STREAM(EXIT("-1"))), END }, SP_PROTOCOL,
	  "exit", 2 },
	{ "the other name of the code",
	  { SAYS(GRANTED), SAYS(STREAM("event: exit\ndata: {\"exitCode\":0}\n\n")), END },
	  SP_PROTOCOL, "without a code", 2 },
	{ "no exit", { SAYS(GRANTED), SAYS(STREAM(HI)), END }, SP_UNKNOWN_OUTCOME,
	  "ended without an exit", 2 },
	{ "nothing at all", { SAYS(GRANTED), SAYS(STREAM("")), END }, SP_UNKNOWN_OUTCOME,
	  "ended without an exit", 2 },
	{ "an early end in a chunk",
	  { SAYS(GRANTED),
	    SAYS(HEAD("200 OK", "text/event-stream", "Transfer-Encoding: chunked\r\n") "40\r\ne"),
	    END },
	  SP_UNKNOWN_OUTCOME, "cut off", 2 },
	{ "a chunk without a length",
	  { SAYS(GRANTED),
	    SAYS(HEAD("200 OK", "text/event-stream", "Transfer-Encoding: chunked\r\n") "zz\r\n"),
	    END },
	  SP_UNKNOWN_OUTCOME, "", 2 },
	{ "an error instead of an exit",
	  { SAYS(GRANTED),
	    SAYS(STREAM(HI "event: error\ndata: {\"status\":408,\"message\":\"timed out\"}\n\n")),
	    END },
	  SP_UNKNOWN_OUTCOME, "status 408", 2 },
	{ "lines that end in two ways, comments, fields of no interest, data in two lines",
	  { SAYS(GRANTED),
	    SAYS(STREAM(": alive\r\n\r\nid: 7\r\nevent:output\r\ndata:{\"stream\":\"stdout\",\n"
			"data:\"data\":\"hi\"}\r\n\r\nretry: 1\n" EXIT("0"))),
	    END },
	  0, "hi", 2 },
	{ "no blank line at the end",
	  { SAYS(GRANTED), SAYS(STREAM(HI "event: exit\ndata: {\"exit_code\":0}")), END }, 0, "hi",
	  2 },
	{ "a character in pieces, byte by byte",
	  { SAYS(GRANTED),
	    TRICKLES(STREAM(OUTPUT("{\"stream\":\"stdout\",\"data\":\"w\xc3\xa9\"}") EXIT("0"))),
	    END },
	  0, "w\xc3\xa9", 2 },
	{ "a line without an end",
	  { SAYS(GRANTED),
	    { .text = STREAM("event: output\ndata: "),
	      .close = true,
	      .endless = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
			 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
	    END },
	  SP_PROTOCOL, "over 67108864 bytes", 2 },
	{ "an event without an end",
	  { SAYS(GRANTED),
	    { .text = STREAM("event: output\n"),
	      .close = true,
	      .endless = "data: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\n"
			 "data: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab\n" },
	    END },
	  SP_PROTOCOL, "over 67108864 bytes", 2 },
};

/* The key went to the API alone, the token to the proxy alone. Number of requests. */
static size_t check_bearers(const char *what, char *log)
{
	size_t n = 0;
	char *request;

	while ((request = log) && *request) {
		char *end = strstr(request, "\n----\n");

		if (end)
			*end = '\0';
		log = end ? end + 6 : NULL;
		const char *path = strstr(request, " /v1/");
		bool api = path && path < strchr(request, '\r');

		cr_expect(api == (strstr(request, "Bearer " KEY "\r\n") != NULL) &&
				  !api == (strstr(request, "Bearer " TOKEN "\r\n") != NULL),
			  "%s: a bearer in the wrong place:\n%s", what, request);
		n++;
	}
	return n;
}

static int run_true(const struct server *server, struct sp_exec_result *result,
		    struct sp_error *err)
{
	struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
	struct sp_provider provider = SP_PROVIDER_INIT;
	char url[128];
	int rc;

	snprintf(url, sizeof(url), "unix:%s", server->path);
	options.base_url = url;
	options.token = KEY;
	options.owner_id = "tea-x";
	options.poll_ms = 1;
	cr_assert_eq(sp_render_open(&options, &provider, err), 0, "%s", err->message);
	struct sp_platform platform = sp_render_platform(&provider);

	rc = platform.ops->raw_exec(platform.self, ID, "true", result, NULL, err);
	sp_provider_done(&provider);
	return rc;
}

static void check(const struct row *row)
{
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct server server;

	start(&server, false, row->script);
	int rc = run_true(&server, &result, &err);

	stop(&server);
	const char *words = rc ? err.message : (const char *)result.stdout_bytes.data;

	cr_expect(rc == row->rc && words && strstr(words, row->says),
		  "%s: %s with `%s` expected, got %s with `%s`", row->what, sp_code_name(row->rc),
		  row->says, sp_code_name(rc), words ? words : "");
	cr_expect(!strstr(err.message, "hunter") && !strstr(err.detail, "hunter"), "%s: %s %s",
		  row->what, err.message, err.detail);
	size_t n = check_bearers(row->what, server.requests.data);

	cr_expect(n == row->requests, "%s: %zu requests expected, got %zu", row->what,
		  row->requests, n);
	sp_exec_result_done(&result);
	sp_buf_done(&server.requests);
}

TestSuite(malformed, .timeout = 120);

Test(malformed, tokens)
{
	for (size_t i = 0; i < SP_COUNT(mints); i++)
		check(&mints[i]);
}

Test(malformed, streams)
{
	for (size_t i = 0; i < SP_COUNT(streams); i++)
		check(&streams[i]);
}
