/* SPDX-License-Identifier: MIT */
/* Event streams, cut at every byte, and the data of their events. */
#include <criterion/criterion.h>

#include <string.h>

#include "internal.h"

TestSuite(sse, .timeout = 60);

/* Joins what a parser gives out: "[type|data]" for each event. */
static void parse(const char *text, size_t len, size_t first, struct sp_buf *out)
{
	struct sse sse SP_CLEANUP(sse_done);
	const size_t ends[] = {first, len};
	size_t at = 0, used;
	bool event;

	sse_init(&sse, SP_BUF_LINE);
	for (size_t i = 0; i < 2; i++)
		while (at < ends[i]) {
			cr_assert_eq(sse_push(&sse, text + at, ends[i] - at, &used, &event, NULL),
				     0);
			at += used;
			if (event)
				sp_buf_addf(out, "[%s|%s]", sse.type, sp_buf_str(&sse.data));
		}
	cr_assert_eq(sse_finish(&sse, &event, NULL), 0);
	if (event)
		sp_buf_addf(out, "[%s|%s]", sse.type, sp_buf_str(&sse.data));
}

static const struct {
	const char *text;
	const char *events;
} streams[] = {
    {"", ""},
    {"\n\n\r\n", ""},
    {"event: a\ndata: b\n\n", "[a|b]"},
    {"event: a\r\ndata: b\r\n\r\n", "[a|b]"},
    {"event:a\ndata:b\n\n", "[a|b]"},
    {"event:  a\ndata:  b \n\n", "[ a| b ]"},
    {"data: b\nevent: a\n\n", "[a|b]"},
    {"event: a\ndata: 1\ndata: 2\ndata:\ndata: 3\n\n", "[a|1\n2\n\n3]"},
    {": comment\nevent: a\n: more\ndata: b\n:\n\n", "[a|b]"},
    {": keep-alive\n\nevent: a\ndata: b\n\n: keep-alive\n\n", "[a|b]"},
    {"id: 7\nretry: 9\nevent: a\nwhatever\ndata: b\n\n", "[a|b]"},
    {"event: a\ndata: b", "[a|b]"},
    {"event: a\ndata: b\n", "[a|b]"},
    {"event: a\ndata: b\r", "[a|b]"},
    {"event: a\n\nevent: c\ndata: d\n\n", "[a|][c|d]"},
    {"data: b\n\n", "[|b]"},
    {"data\n\n", "[|]"},
    {"event: a\ndata: {\"x\":\"\xc3\xa4\xf0\x9f\x98\x80\"}\n\nevent: e\ndata: f\n\n",
     "[a|{\"x\":\"\xc3\xa4\xf0\x9f\x98\x80\"}][e|f]"},
};

Test(sse, is_the_same_wherever_it_is_cut)
{
	for (size_t i = 0; i < SP_COUNT(streams); i++) {
		size_t len = strlen(streams[i].text);

		for (size_t cut = 0; cut <= len; cut++) {
			struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

			parse(streams[i].text, len, cut, &out);
			cr_expect_str_eq(sp_buf_str(&out), streams[i].events,
					 "<%s> cut at %zu: <%s>, not <%s>", streams[i].text, cut,
					 sp_buf_str(&out), streams[i].events);
		}
	}
}

Test(sse, a_line_over_the_ceiling_is_named)
{
	struct sse sse SP_CLEANUP(sse_done);
	struct sp_error err = SP_ERROR_INIT;
	char piece[1000];
	size_t used;
	bool event;
	int rc = 0;

	sse_init(&sse, 5000);
	memset(piece, 'x', sizeof(piece));
	for (int i = 0; !rc && i < 6; i++)
		rc = sse_push(&sse, piece, sizeof(piece), &used, &event, &err);
	cr_expect_eq(rc, SP_PROTOCOL);
	cr_expect_not_null(strstr(err.message, "5000"), "%s", err.message);
}

static const struct {
	const char *type;
	const char *data;
	int rc;
	enum render_event_type kind;
	int code;
	const char *text;
	size_t len;
} events[] = {
    {"output", "{\"stream\":\"stdout\",\"data\":\"a\"}", 0, RENDER_OUTPUT, SP_STDOUT, "a", 1},
    {"output", " { \"data\" : \"a\" , \"stream\" : \"stderr\" } ", 0, RENDER_OUTPUT, SP_STDERR, "a",
     1},
    {"output", "{\"stream\":\"stdout\",\"data\":\"\"}", 0, RENDER_OUTPUT, SP_STDOUT, "", 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"a\\u0000b\"}", 0, RENDER_OUTPUT, SP_STDOUT,
     "a\0b", 3},
    {"output", "{\"stream\":\"stdout\",\"data\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", 0, RENDER_OUTPUT,
     SP_STDOUT, "\"\\/\b\f\n\r\t", 8},
    {"output", "{\"stream\":\"stdout\",\"data\":\"\\u00e4\\u20AC\\ud83d\\ude00\"}", 0,
     RENDER_OUTPUT, SP_STDOUT, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9},
    {"output",
     "{\"x\":[1,{\"y\":\"}\"},null,true,-1.5e3],\"stream\":\"stdout\",\"data\":\"a\",\"z\":{}}", 0,
     RENDER_OUTPUT, SP_STDOUT, "a", 1},
    {"exit", "{\"exit_code\":0}", 0, RENDER_EXIT, 0, NULL, 0},
    {"exit", "{\"exit_code\":255,\"more\":\"x\"}", 0, RENDER_EXIT, 255, NULL, 0},
    {"error", "{\"status\":408,\"message\":\"exec timed out\"}", 0, RENDER_ERROR, 408,
     "exec timed out", 14},
    {"error", "{}", 0, RENDER_ERROR, 0, "", 0},
    /* What the protocol does not allow. */
    {"output", "{\"stream\":\"stdin\",\"data\":\"a\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"data\":\"a\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":1}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"a\",\"data\":\"b\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"\\ud83d\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"\\ude00\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"\\x\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"\xff\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"a\"", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"a\"} x", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "{\"stream\":\"stdout\",\"data\":\"a", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "", SP_PROTOCOL, 0, 0, NULL, 0},
    {"output", "[]", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exitCode\":0}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exit_code\":256}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exit_code\":-1}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exit_code\":1.5}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exit_code\":1e2}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exit_code\":01}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exit_code\":\"0\"}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exit_code\":null}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"exit", "{\"exit_code\":0,}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"done", "{\"exit_code\":0}", SP_PROTOCOL, 0, 0, NULL, 0},
    {"", "{\"exit_code\":0}", SP_PROTOCOL, 0, 0, NULL, 0},
};

Test(sse, events_are_what_the_protocol_says_and_nothing_else)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (size_t i = 0; i < SP_COUNT(events); i++) {
		struct render_event event;
		struct sp_error err = SP_ERROR_INIT;
		int rc = render_decode_event(events[i].type, events[i].data, strlen(events[i].data),
					     &text, &event, &err);

		cr_expect_eq(rc, events[i].rc, "%s %s: %d %s", events[i].type, events[i].data, rc,
			     err.message);
		if (rc || events[i].rc)
			continue;
		cr_expect_eq(event.type, events[i].kind, "%s", events[i].data);
		if (event.type == RENDER_OUTPUT) {
			cr_expect_eq((int)event.stream, events[i].code);
			cr_expect_eq(event.len, events[i].len, "%s: %zu", events[i].data,
				     event.len);
			cr_expect_arr_eq(event.data, events[i].text, events[i].len, "%s",
					 events[i].data);
		} else {
			cr_expect_eq(event.type == RENDER_EXIT ? event.code : event.status,
				     events[i].code);
			cr_expect(!events[i].text || !strcmp(event.message, events[i].text));
		}
	}
}
