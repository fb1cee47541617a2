/* SPDX-License-Identifier: MIT */
/*
 * The provider over a scripted transport: each test lists the requests that it
 * expects, in order, and what each is answered.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "internal.h"

#define ID "sbx-1cd4gcph1rs3idesc73a2b2mg"
#define OWNER "tea-d0000000000000000001"
#define KEY "rnd_secret"
#define PROXY "https://" ID ".oregon.sandbox.onrender.com"

struct answer {
	/* "POST /sandboxes": method and path below the base URL, or a whole URL; the query is left
	 * out. NULL ends. */
	const char *request;
	/* What opening answers, instead of a status. */
	int fails;
	int status;
	/* "Name: value", or NULL. */
	const char *header;
	const char *body;
	/* The body is cut off behind its last byte. */
	bool cut;
	/* Fires this when the request comes. */
	struct sp_cancel *fire;
};

/* The transport: one script, one place in it, one log. */
static struct {
	const struct answer *at;
	size_t open;
	struct sp_buf log;
	struct sp_buf bodies;
} script;

struct scripted {
	const struct answer *answer;
	size_t read;
};

static int scripted_status(void *self)
{
	return ((struct scripted *)self)->answer->status;
}

static const char *scripted_header(void *self, const char *name)
{
	const struct answer *answer = ((struct scripted *)self)->answer;
	size_t len = strlen(name);

	if (answer->header && !strncasecmp(answer->header, name, len) && answer->header[len] == ':')
		return answer->header + len + 2;
	if (!strcasecmp(name, "Content-Type"))
		return strstr(answer->request, "/runs/stream") && answer->status == 200 &&
			       !strstr(answer->request, "token")
			   ? "text/event-stream"
			   : "application/json";
	return !strcasecmp(name, "render-request-id") ? "id" : NULL;
}

static int scripted_read(void *self, void *buffer, size_t max, size_t *ret_len,
			 struct sp_cancel *cancel, struct sp_error *err)
{
	struct scripted *stream = self;
	const char *body = stream->answer->body ? stream->answer->body : "";
	size_t left = strlen(body) - stream->read;
	int rc = sp_cancel_check(cancel, err);

	if (rc)
		return rc;
	if (!left && stream->answer->cut)
		return sp_error_set(err, SP_UNKNOWN_OUTCOME, "cut off");
	*ret_len = left < max ? left : max;
	memcpy(buffer, body + stream->read, *ret_len);
	stream->read += *ret_len;
	return 0;
}

static void scripted_close(void *self)
{
	script.open--;
	free(self);
}

static const struct sp_http_stream_ops scripted_ops = {
    .version = SP_HTTP_STREAM_VERSION,
    .status = scripted_status,
    .header = scripted_header,
    .read = scripted_read,
    .close = scripted_close,
};

static int scripted_open(void *self SP_UNUSED, const struct sp_http_request *request,
			 struct sp_http_stream *ret_stream, struct sp_error *err)
{
	const struct answer *answer = script.at;
	const char *base = "https://api.render.com/v1", *url = request->url;
	struct scripted *stream;
	int rc = sp_cancel_check(request->cancel, err);

	if (rc)
		return rc;
	if (!strncmp(url, base, strlen(base)))
		url += strlen(base);
	sp_buf_addf(&script.log, "%s %.*s\n", request->method, (int)strcspn(url, "?"), url);
	sp_buf_add(&script.bodies, request->body_len ? request->body : "", request->body_len);
	sp_buf_addc(&script.bodies, '\n');
	cr_assert(answer && answer->request, "one request too many:\n%s", sp_buf_str(&script.log));
	cr_assert(
	    !strncmp(answer->request, request->method, strlen(request->method)) &&
		!strncmp(answer->request + strlen(request->method) + 1, url, strcspn(url, "?")) &&
		strlen(answer->request) == strlen(request->method) + 1 + strcspn(url, "?"),
	    "expected %s, came:\n%s", answer->request, sp_buf_str(&script.log));
	/* The key goes to the API only, a token to a sandbox only. */
	cr_assert_eq(!strcmp(request->bearer, KEY), url != request->url, "%s", request->url);
	script.at++;
	if (answer->fire)
		sp_cancel_abort(answer->fire, "enough");
	if (answer->fails)
		return sp_error_set(err, answer->fails, "scripted failure");
	stream = calloc(1, sizeof(*stream));
	stream->answer = answer;
	script.open++;
	*ret_stream = (struct sp_http_stream){&scripted_ops, stream};
	return 0;
}

static void scripted_done(void *self SP_UNUSED)
{
}

static const struct sp_transport_ops transport_ops = {
    .version = SP_TRANSPORT_VERSION,
    .open = scripted_open,
    .close = scripted_done,
};

static struct sp_provider open_with(const struct answer *answers,
				    const struct sp_render_steps *steps)
{
	struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_error err = SP_ERROR_INIT;

	script.at = answers;
	script.log.ceiling = SP_BUF_COMMAND;
	script.bodies.ceiling = SP_BUF_COMMAND;
	options.token = KEY;
	options.owner_id = OWNER;
	options.poll_ms = 1;
	options.output_cap = 16;
	options.transport = (struct sp_transport){&transport_ops, &script};
	options.steps = steps;
	cr_assert_eq(sp_render_open(&options, &provider, &err), 0, "%s", err.message);
	return provider;
}

/* Everything of the script has happened, and nothing is left open. */
static void close_all(struct sp_provider *provider, struct sp_sandbox *sandbox)
{
	if (sandbox)
		sp_sandbox_done(sandbox);
	sp_provider_done(provider);
	cr_expect(!script.at->request, "not asked for: %s\n%s", script.at->request,
		  sp_buf_str(&script.log));
	cr_expect_eq(script.open, 0, "%zu streams are open", script.open);
	sp_buf_done(&script.log);
	sp_buf_done(&script.bodies);
}

TestSuite(provider, .timeout = 60);

#define OBJECT(status_) "{\"id\":\"" ID "\",\"status\":\"" status_ "\",\"more\":[null,{\"x\":1}]}"
#define CREATED                                                                                    \
	{                                                                                          \
		"POST /sandboxes", 0, 201, NULL, OBJECT("creating"), 0, NULL                       \
	}
#define GET(status_)                                                                               \
	{                                                                                          \
		"GET /sandboxes/" ID, 0, 200, NULL, OBJECT(status_), 0, NULL                       \
	}
#define GET_IS(code_)                                                                              \
	{                                                                                          \
		"GET /sandboxes/" ID, 0, code_, NULL, "{\"message\":\"no\"}", 0, NULL              \
	}
#define LIST(body_)                                                                                \
	{                                                                                          \
		"GET /sandboxes", 0, 200, NULL, body_, 0, NULL                                     \
	}
#define TERMINATE                                                                                  \
	{                                                                                          \
		"POST /sandboxes/" ID "/terminate", 0, 204, NULL, NULL, 0, NULL                    \
	}
#define GRANT(uri_)                                                                                \
	"{\"executionId\":\"exe-1\",\"token\":\"tok\",\"method\":\"POST\",\"uri\":\"" uri_ "\"}"
#define MINT                                                                                       \
	{                                                                                          \
		"POST /sandboxes/" ID "/runs/stream/token", 0, 201, NULL,                          \
		    GRANT(PROXY "/runs/stream"), 0, NULL                                           \
	}
#define MINT_IS(code_, body_)                                                                      \
	{                                                                                          \
		"POST /sandboxes/" ID "/runs/stream/token", 0, code_, NULL, body_, 0, NULL         \
	}
#define RUN(body_)                                                                                 \
	{                                                                                          \
		"POST " PROXY "/runs/stream", 0, 200, NULL, body_, 0, NULL                         \
	}
#define OUT(stream_, text_)                                                                        \
	"event: output\ndata: {\"stream\":\"" stream_ "\",\"data\":\"" text_ "\"}\n\n"
#define EXIT(code_) "event: exit\ndata: {\"exit_code\":" code_ "}\n\n"
#define PREPARE MINT, RUN(OUT("stdout", "/root\\n") EXIT("0"))
#define END                                                                                        \
	{                                                                                          \
		NULL, 0, 0, NULL, NULL, 0, NULL                                                    \
	}
#define READY GET("running"), PREPARE

static int resume(struct sp_provider *provider, struct sp_sandbox *ret_sandbox,
		  struct sp_error *err)
{
	return sp_provider_resume(provider, ID, ret_sandbox, NULL, err);
}

/* What each state means to resume: 0 with a handle, 0 without, or an error. */
Test(provider, resume_maps_every_state)
{
	static const struct {
		const char *name;
		struct answer answers[8];
		int rc;
		bool found;
	} cases[] = {
	    {"running", {READY, END}, 0, true},
	    {"suspended", {GET("suspended"), PREPARE, END}, 0, true},
	    {"creating", {GET("creating"), GET("creating"), READY, END}, 0, true},
	    {"resuming", {GET("resuming"), READY, END}, 0, true},
	    {"suspending", {GET("suspending"), GET("suspended"), PREPARE, END}, 0, true},
	    {"errored", {GET("errored"), END}, 0, false},
	    {"terminated", {GET("terminated"), END}, 0, false},
	    {"errored meanwhile", {GET("creating"), GET("errored"), END}, 0, false},
	    {"terminated meanwhile", {GET("resuming"), GET("terminated"), END}, 0, false},
	    {"unknown state", {GET("dancing"), END}, SP_PROTOCOL, false},
	    {"404 and not listed", {GET_IS(404), LIST("[]"), END}, 0, false},
	    {"404 and others listed",
	     {GET_IS(404), LIST("[{\"sandbox\":{\"id\":\"sbx-other\"},\"cursor\":\"c\"}]"),
	      LIST("[]"), END},
	     0,
	     false},
	    {"404 and on the second page",
	     {GET_IS(404), LIST("[{\"sandbox\":{\"id\":\"sbx-other\"},\"cursor\":\"c\"}]"),
	      LIST("[{\"sandbox\":" OBJECT("running") ",\"cursor\":\"d\"}]"), LIST("[]"), END},
	     SP_UNAVAILABLE,
	     false},
	    {"404 and the list fails",
	     {GET_IS(404), {"GET /sandboxes", 0, 503, NULL, "{}", 0, NULL}, END},
	     SP_UNAVAILABLE,
	     false},
	    {"404 and the list is denied",
	     {GET_IS(404), {"GET /sandboxes", 0, 401, NULL, "{}", 0, NULL}, END},
	     SP_DENIED,
	     false},
	    {"404 and the list is 404",
	     {GET_IS(404), {"GET /sandboxes", 0, 404, NULL, "{}", 0, NULL}, END},
	     SP_DENIED,
	     false},
	    {"404 and the list is no list", {GET_IS(404), LIST("{}"), END}, SP_PROTOCOL, false},
	    {"404 while it starts", {GET("creating"), GET_IS(404), LIST("[]"), END}, 0, false},
	    {"401", {GET_IS(401), END}, SP_DENIED, false},
	    {"403", {GET_IS(403), END}, SP_DENIED, false},
	    {"500", {GET_IS(500), END}, SP_UNAVAILABLE, false},
	    {"418", {GET_IS(418), END}, SP_PROTOCOL, false},
	    {"302", {GET_IS(302), END}, SP_PROTOCOL, false},
	    {"429 without a time", {GET_IS(429), END}, SP_RATE_LIMITED, false},
	    {"429 with one",
	     {{"GET /sandboxes/" ID, 0, 429, "Retry-After: 0", "{}", 0, NULL}, READY, END},
	     0,
	     true},
	    {"no connection",
	     {{"GET /sandboxes/" ID, SP_UNAVAILABLE, 0, NULL, NULL, 0, NULL}, END},
	     SP_UNAVAILABLE,
	     false},
	    {"not JSON",
	     {{"GET /sandboxes/" ID, 0, 200, NULL, "<html>", 0, NULL}, END},
	     SP_PROTOCOL,
	     false},
	    {"cut",
	     {{"GET /sandboxes/" ID, 0, 200, NULL, "{\"id\"", true, NULL}, END},
	     SP_UNKNOWN_OUTCOME,
	     false},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_provider provider = open_with(cases[i].answers, NULL);
		struct sp_sandbox sandbox = SP_SANDBOX_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = resume(&provider, &sandbox, &err);

		cr_expect_eq(rc, cases[i].rc, "%s: %s (%s), not %s", cases[i].name,
			     sp_code_name(rc), err.message, sp_code_name(cases[i].rc));
		cr_expect_eq(sandbox.ops != NULL, cases[i].found, "%s", cases[i].name);
		close_all(&provider, &sandbox);
	}
}

Test(provider, create_removes_what_it_made_when_it_fails)
{
	static const struct {
		const char *name;
		struct answer answers[8];
		int rc;
	} cases[] = {
	    {"errored", {CREATED, GET("errored"), TERMINATE, END}, SP_GONE},
	    {"the state is denied", {CREATED, GET_IS(401), TERMINATE, END}, SP_DENIED},
	    {"cannot be prepared",
	     {CREATED, GET("running"), MINT, RUN(EXIT("1")), TERMINATE, END},
	     SP_UNAVAILABLE},
	    {"terminate fails too",
	     {CREATED,
	      GET_IS(401),
	      {"POST /sandboxes/" ID "/terminate", 0, 500, NULL, "{}", 0, NULL},
	      END},
	     SP_DENIED},
	    /* Nothing was made, or nobody knows. */
	    {"refused", {{"POST /sandboxes", 0, 403, NULL, "{}", 0, NULL}, END}, SP_DENIED},
	    {"payment", {{"POST /sandboxes", 0, 402, NULL, "{}", 0, NULL}, END}, SP_DENIED},
	    {"bad", {{"POST /sandboxes", 0, 400, NULL, "{}", 0, NULL}, END}, SP_INVALID},
	    {"full", {{"POST /sandboxes", 0, 429, NULL, "{}", 0, NULL}, END}, SP_RATE_LIMITED},
	    {"no answer",
	     {{"POST /sandboxes", SP_UNKNOWN_OUTCOME, 0, NULL, NULL, 0, NULL}, END},
	     SP_UNKNOWN_OUTCOME},
	    {"a cut answer",
	     {{"POST /sandboxes", 0, 201, NULL, "{\"id\":", true, NULL}, END},
	     SP_UNKNOWN_OUTCOME},
	    {"a gateway's answer",
	     {{"POST /sandboxes", 0, 502, NULL, "bad gateway", 0, NULL}, END},
	     SP_UNKNOWN_OUTCOME},
	    {"an answer without id",
	     {{"POST /sandboxes", 0, 201, NULL, "{}", 0, NULL}, END},
	     SP_UNKNOWN_OUTCOME},
	    {"an id that is a path",
	     {{"POST /sandboxes", 0, 201, NULL, "{\"id\":\"../x\"}", 0, NULL}, END},
	     SP_UNKNOWN_OUTCOME},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_provider provider = open_with(cases[i].answers, NULL);
		struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
		struct sp_sandbox sandbox = SP_SANDBOX_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = sp_provider_create(&provider, &options, &sandbox, &err);

		cr_expect_eq(rc, cases[i].rc, "%s: %s (%s), not %s", cases[i].name,
			     sp_code_name(rc), err.message, sp_code_name(cases[i].rc));
		cr_expect_null(sandbox.ops, "%s", cases[i].name);
		cr_expect_null(strstr(err.message, KEY));
		close_all(&provider, NULL);
	}
}

Test(provider, an_aborted_create_is_terminated)
{
	struct sp_cancel *cancel = sp_cancel_new();
	const struct answer answers[] = {
	    {"POST /sandboxes", 0, 201, NULL, OBJECT("creating"), 0, cancel}, TERMINATE, END};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.cancel = cancel;
	cr_expect_eq(sp_provider_create(&provider, &options, &sandbox, &err), SP_ABORTED);
	cr_expect_str_eq(err.message, "enough", "%s", err.message);
	/* And one that has fired before sends nothing. */
	cr_expect_eq(sp_provider_create(&provider, &options, &sandbox, &err), SP_ABORTED);
	cr_expect_eq(sp_cancel_refs(cancel), 1);
	cr_expect_eq(sp_cancel_watchers(cancel), 0);
	close_all(&provider, NULL);
	sp_cancel_unref(cancel);
}

Test(provider, create_says_what_was_asked_and_no_secret)
{
	static const struct answer answers[] = {
	    CREATED,
	    READY,
	    {"POST /sandboxes/" ID "/files/upload/token", 0, 201, NULL,
	     "{\"token\":\"tok\",\"method\":\"PUT\",\"uri\":\"" PROXY "/files/upload\"}", 0, NULL},
	    {"PUT " PROXY "/files/upload", 0, 204, NULL, NULL, 0, NULL},
	    END,
	};
	static const struct sp_env env[] = {{"SECRET", "it's"}};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *bodies;

	options.network = SP_NETWORK_DENY;
	options.lifetime_s = 300;
	options.env = env;
	options.n_env = 1;
	cr_expect_eq(sp_provider_create(&provider, &options, &sandbox, &err), 0, "%s", err.message);
	bodies = sp_buf_str(&script.bodies);
	cr_expect_not_null(strstr(bodies, "{\"ownerId\":\"" OWNER "\",\"timeoutSeconds\":300,"
					  "\"networkPolicy\":{\"default\":\"deny-all\"}}"),
			   "%s", bodies);
	/* In the uploaded file, and nowhere else. */
	cr_expect_not_null(strstr(bodies, "export SECRET='it'\\''s'\n"), "%s", bodies);
	cr_expect_null(strstr(strstr(bodies, "SECRET") + 1, "SECRET"), "%s", bodies);
	cr_expect_str_eq(sp_sandbox_id(&sandbox), ID);
	cr_expect_str_eq(sp_sandbox_workspace_root(&sandbox), "/root");
	close_all(&provider, &sandbox);
}

Test(provider, destroy_is_idempotent_and_folds_nothing)
{
	static const struct {
		const char *name;
		struct answer answers[4];
		int rc;
	} cases[] = {
	    {"there", {TERMINATE, END}, 0},
#define TERMINATE_IS(code_) {"POST /sandboxes/" ID "/terminate", 0, code_, NULL, "{}", 0, NULL}
	    {"gone", {TERMINATE_IS(404), LIST("[]"), END}, 0},
	    {"404 and listed",
	     {TERMINATE_IS(404), LIST("[{\"sandbox\":" OBJECT("running") "}]"), END},
	     SP_UNAVAILABLE},
	    {"401", {TERMINATE_IS(401), END}, SP_DENIED},
	    {"500", {TERMINATE_IS(500), END}, SP_UNAVAILABLE},
	    {"HTML 403",
	     {{"POST /sandboxes/" ID "/terminate", 0, 403, "Content-Type: text/html", "<html>", 0,
	       NULL},
	      END},
	     SP_UNAVAILABLE},
	    {"HTML 200",
	     {{"POST /sandboxes/" ID "/terminate", 0, 200, "Content-Type: text/html", "<html>", 0,
	       NULL},
	      END},
	     SP_PROTOCOL},
	    {"no answer",
	     {{"POST /sandboxes/" ID "/terminate", SP_UNKNOWN_OUTCOME, 0, NULL, NULL, 0, NULL},
	      END},
	     SP_UNKNOWN_OUTCOME},
	};
	struct sp_provider provider;

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		provider = open_with(cases[i].answers, NULL);
		rc = sp_provider_destroy(&provider, ID, NULL, &err);
		cr_expect_eq(rc, cases[i].rc, "%s: %s (%s)", cases[i].name, sp_code_name(rc),
			     err.message);
		close_all(&provider, NULL);
	}
	provider = open_with((const struct answer[]){END}, NULL);
	cr_expect_eq(sp_provider_destroy(&provider, "../x", NULL, NULL), SP_INVALID);
	cr_expect_eq(sp_provider_destroy(&provider, "", NULL, NULL), SP_INVALID);
	close_all(&provider, NULL);
}

/* One exec of "x" on a ready sandbox. */
static const struct {
	const char *name;
	struct answer answers[12];
	int rc;
	int code;
	const char *out;
	bool cut;
} execs[] = {
    {"plain",
     {READY, MINT, RUN(OUT("stdout", "a") OUT("stderr", "b") OUT("stdout", "c") EXIT("7")), END},
     0,
     7,
     "ac",
     false},
    {"what follows the exit is ignored",
     {READY, MINT, RUN(EXIT("3") "garbage\n\nevent: x\n\n"), END},
     0,
     3,
     "",
     false},
    {"exit without its blank line",
     {READY, MINT, RUN("event: exit\ndata: {\"exit_code\":3}"), END},
     0,
     3,
     "",
     false},
    {"16 bytes",
     {READY, MINT, RUN(OUT("stdout", "0123456789abcdef") EXIT("0")), END},
     0,
     0,
     "0123456789abcdef",
     false},
    {"17 bytes",
     {READY, MINT, RUN(OUT("stdout", "0123456789abcdefg") EXIT("0")), END},
     0,
     0,
     "0123456789abcdef",
     true},
    {"no hole",
     {READY, MINT,
      RUN(OUT("stdout", "0123456789abcde") OUT("stdout", "\\u00e4") OUT("stdout", "x") EXIT("0")),
      END},
     0,
     0,
     "0123456789abcde",
     true},
    {"4-byte character at the cut",
     {READY, MINT, RUN(OUT("stdout", "0123456789abc\\ud83d\\ude00") EXIT("0")), END},
     0,
     0,
     "0123456789abc",
     true},
    {"no terminal event",
     {READY, MINT, RUN(OUT("stdout", "a")), END},
     SP_UNKNOWN_OUTCOME,
     0,
     NULL,
     false},
    {"cut off",
     {READY,
      MINT,
      {"POST " PROXY "/runs/stream", 0, 200, NULL, OUT("stdout", "a"), true, NULL},
      END},
     SP_UNKNOWN_OUTCOME,
     0,
     NULL,
     false},
    {"error event",
     {READY, MINT, RUN("event: error\ndata: {\"status\":408,\"message\":\"exec timed out\"}\n\n"),
      END},
     SP_UNKNOWN_OUTCOME,
     0,
     NULL,
     false},
    {"unknown event",
     {READY, MINT, RUN("event: log\ndata: {}\n\n" EXIT("0")), END},
     SP_PROTOCOL,
     0,
     NULL,
     false},
    {"exit 256", {READY, MINT, RUN(EXIT("256")), END}, SP_PROTOCOL, 0, NULL, false},
    {"no event stream",
     {READY,
      MINT,
      {"POST " PROXY "/runs/stream", 0, 200, "Content-Type: text/html", "<html>", 0, NULL},
      END},
     SP_PROTOCOL,
     0,
     NULL,
     false},
    {"no answer",
     {READY, MINT, {"POST " PROXY "/runs/stream", SP_UNKNOWN_OUTCOME, 0, NULL, NULL, 0, NULL}, END},
     SP_UNKNOWN_OUTCOME,
     0,
     NULL,
     false},
    {"no connection",
     {READY, MINT, {"POST " PROXY "/runs/stream", SP_UNAVAILABLE, 0, NULL, NULL, 0, NULL}, END},
     SP_UNAVAILABLE,
     0,
     NULL,
     false},
    {"token refused",
     {READY, MINT, {"POST " PROXY "/runs/stream", 0, 401, NULL, "{}", 0, NULL}, END},
     SP_DENIED,
     0,
     NULL,
     false},
    {"mint: no answer",
     {READY,
      {"POST /sandboxes/" ID "/runs/stream/token", SP_UNKNOWN_OUTCOME, 0, NULL, NULL, 0, NULL},
      END},
     SP_UNAVAILABLE,
     0,
     NULL,
     false},
    {"mint: 401", {READY, MINT_IS(401, "{}"), END}, SP_DENIED, 0, NULL, false},
    {"mint: JSON 403", {READY, MINT_IS(403, "{}"), END}, SP_DENIED, 0, NULL, false},
    {"mint: 500", {READY, MINT_IS(500, "{}"), END}, SP_UNAVAILABLE, 0, NULL, false},
    {"mint: no token",
     {READY, MINT_IS(201, "{\"uri\":\"" PROXY "/x\"}"), END},
     SP_PROTOCOL,
     0,
     NULL,
     false},
    {"mint: other method",
     {READY, MINT_IS(201, "{\"token\":\"t\",\"method\":\"GET\",\"uri\":\"" PROXY "/x\"}"), END},
     SP_PROTOCOL,
     0,
     NULL,
     false},
    {"mint: other host",
     {READY, MINT_IS(201, GRANT("https://evil.example/runs")), END},
     SP_PROTOCOL,
     0,
     NULL,
     false},
    {"mint: trailing bytes",
     {READY, MINT_IS(201, GRANT(PROXY "/runs/stream") "x"), END},
     SP_PROTOCOL,
     0,
     NULL,
     false},
    {"mint: 404, running",
     {READY, MINT_IS(404, "{}"), GET("running"), END},
     SP_UNAVAILABLE,
     0,
     NULL,
     false},
    {"mint: 404, gone",
     {READY, MINT_IS(404, "{}"), GET_IS(404), LIST("[]"), END},
     SP_GONE,
     0,
     NULL,
     false},
    {"mint: 404, terminated",
     {READY, MINT_IS(404, "{}"), GET("terminated"), END},
     SP_GONE,
     0,
     NULL,
     false},
    {"mint: 404, state denied",
     {READY, MINT_IS(404, "{}"), GET_IS(401), END},
     SP_DENIED,
     0,
     NULL,
     false},
    {"mint: 404 while resuming",
     {READY, MINT_IS(404, "{}"), GET("resuming"), GET("resuming"), GET("running"), MINT,
      RUN(EXIT("0")), END},
     0,
     0,
     "",
     false},
    {"mint: 503 while creating",
     {READY, MINT_IS(503, "{}"), GET("creating"), GET("running"), MINT, RUN(EXIT("0")), END},
     0,
     0,
     "",
     false},
    {"mint: 503, running",
     {READY, MINT_IS(503, "{}"), GET("running"), END},
     SP_UNAVAILABLE,
     0,
     NULL,
     false},
    {"run: 404 of a sandbox that is gone",
     {READY,
      MINT,
      {"POST " PROXY "/runs/stream", 0, 404, NULL, "404 page not found", 0, NULL},
      GET_IS(404),
      LIST("[]"),
      END},
     SP_GONE,
     0,
     NULL,
     false},
    {"run: 429 with a time",
     {READY,
      MINT,
      {"POST " PROXY "/runs/stream", 0, 429, "Retry-After: 0", "{}", 0, NULL},
      MINT,
      RUN(EXIT("0")),
      END},
     0,
     0,
     "",
     false},
};

Test(provider, exec_answers_what_happened)
{
	for (size_t i = 0; i < SP_COUNT(execs); i++) {
		struct sp_provider provider = open_with(execs[i].answers, NULL);
		struct sp_sandbox sandbox = SP_SANDBOX_INIT;
		struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
		struct sp_exec_result result = SP_EXEC_RESULT_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		cr_assert_eq(resume(&provider, &sandbox, &err), 0, "%s", err.message);
		options.command = "x";
		rc = sp_sandbox_exec(&sandbox, &options, &result, &err);
		cr_expect_eq(rc, execs[i].rc, "%s: %s (%s), not %s", execs[i].name,
			     sp_code_name(rc), err.message, sp_code_name(execs[i].rc));
		if (!rc && !execs[i].rc) {
			cr_expect_eq(result.exit_code, execs[i].code, "%s: %d", execs[i].name,
				     result.exit_code);
			cr_expect_str_eq((char *)result.stdout_bytes.data, execs[i].out, "%s: <%s>",
					 execs[i].name, result.stdout_bytes.data);
			cr_expect_eq(result.stdout_cut, execs[i].cut, "%s", execs[i].name);
		}
		sp_exec_result_done(&result);
		close_all(&provider, &sandbox);
	}
}

Test(provider, an_edge_rejection_is_retried_wrapped_and_remembered)
{
	static const struct answer answers[] = {
	    READY,
	    MINT,
	    {"POST " PROXY "/runs/stream", 0, 403, "Content-Type: text/html", "<html>", 0, NULL},
	    MINT,
	    RUN(EXIT("5")),
	    MINT,
	    RUN(EXIT("6")),
	    END,
	};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(resume(&provider, &sandbox, &err), 0);
	options.command = "cat /etc/passwd";
	cr_expect_eq(sp_sandbox_exec(&sandbox, &options, &result, &err), 0, "%s", err.message);
	cr_expect_eq(result.exit_code, 5);
	sp_exec_result_done(&result);
	sp_buf_clear(&script.bodies);
	cr_expect_eq(sp_sandbox_exec(&sandbox, &options, &result, &err), 0, "%s", err.message);
	cr_expect_eq(result.exit_code, 6);
	cr_expect_null(strstr(sp_buf_str(&script.bodies), "passwd"));
	cr_expect_not_null(strstr(sp_buf_str(&script.bodies), "base64 -d"));
	sp_exec_result_done(&result);
	close_all(&provider, &sandbox);
}

Test(provider, a_fired_cancel_sends_nothing)
{
	static const struct answer answers[] = {READY, END};
	static const struct sp_env env[] = {{"A", "b"}};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_bytes bytes;
	bool exists;

	cr_assert_eq(resume(&provider, &sandbox, &err), 0);
	options.command = "x";
	options.env = env;
	options.n_env = 1;
	options.cancel = sp_cancel_new();
	sp_cancel_abort(options.cancel, "before");
	cr_expect_eq(sp_sandbox_exec(&sandbox, &options, &result, &err), SP_ABORTED);
	cr_expect_str_eq(err.message, "before");
	cr_expect_eq(sp_sandbox_spawn(&sandbox, &options, &process, &err), SP_ABORTED);
	cr_expect_eq(sp_sandbox_env_set(&sandbox, env, 1, options.cancel, &err), SP_ABORTED);
	cr_expect_eq(sp_sandbox_read(&sandbox, "a", &bytes, options.cancel, &err), SP_ABORTED);
	cr_expect_eq(sp_sandbox_exists(&sandbox, "a", &exists, options.cancel, &err), SP_ABORTED);
	cr_expect_eq(sp_cancel_refs(options.cancel), 1);
	cr_expect_eq(sp_cancel_watchers(options.cancel), 0);
	sp_cancel_unref(options.cancel);
	close_all(&provider, &sandbox);
}

Test(provider, an_abort_kills_before_it_is_answered)
{
	struct sp_cancel *cancel = sp_cancel_new();
	const struct answer answers[] = {
	    READY,
	    MINT,
	    {"POST " PROXY "/runs/stream", 0, 200, NULL, OUT("stdout", "a"), 0, cancel},
	    /* The kill. */
	    MINT,
	    RUN(EXIT("0")),
	    END,
	};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(resume(&provider, &sandbox, &err), 0);
	options.command = "x";
	options.cancel = cancel;
	cr_expect_eq(sp_sandbox_exec(&sandbox, &options, &result, &err), SP_ABORTED, "%s",
		     err.message);
	cr_expect_str_eq(err.message, "enough");
	cr_expect_not_null(strstr(sp_buf_str(&script.bodies), ".killed"));
	cr_expect_eq(sp_cancel_refs(cancel), 1);
	close_all(&provider, &sandbox);
	sp_cancel_unref(cancel);
}

/*
 * The upload of a command's variables is given up: what may come of it is barred before the answer.
 */
Test(provider, an_abort_during_an_upload_bars_the_file)
{
	static const struct sp_env env[] = {{"SECRET", "hunter22"}};
	struct sp_cancel *cancel = sp_cancel_new();
	const struct answer answers[] = {
	    READY,
	    {"POST /sandboxes/" ID "/files/upload/token", 0, 201, NULL,
	     "{\"token\":\"tok\",\"method\":\"PUT\",\"uri\":\"" PROXY "/files/upload\"}", 0, NULL},
	    {"PUT " PROXY "/files/upload", SP_UNKNOWN_OUTCOME, 0, NULL, NULL, 0, cancel},
	    /* The removal. */
	    MINT,
	    RUN(EXIT("0")),
	    END,
	};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	cr_assert_eq(resume(&provider, &sandbox, &err), 0);
	options.command = "x";
	options.env = env;
	options.n_env = 1;
	options.cancel = cancel;
	rc = sp_sandbox_exec(&sandbox, &options, &result, &err);
	cr_expect(rc == SP_ABORTED || rc == SP_UNKNOWN_OUTCOME, "%s: %s", sp_code_name(rc),
		  err.message);
	cr_expect_not_null(strstr(sp_buf_str(&script.bodies), "mkdir -m700"), "%s",
			   sp_buf_str(&script.bodies));
	close_all(&provider, &sandbox);
	sp_cancel_unref(cancel);
}

Test(provider, an_abort_that_cannot_be_carried_out_is_an_unknown_outcome)
{
	struct sp_cancel *cancel = sp_cancel_new();
	const struct answer answers[] = {
	    READY,
	    MINT,
	    {"POST " PROXY "/runs/stream", 0, 200, NULL, OUT("stdout", "a"), 0, cancel},
	    MINT_IS(401, "{}"),
	    END,
	};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(resume(&provider, &sandbox, &err), 0);
	options.command = "x";
	options.cancel = cancel;
	cr_expect_eq(sp_sandbox_exec(&sandbox, &options, &result, &err), SP_UNKNOWN_OUTCOME);
	close_all(&provider, &sandbox);
	sp_cancel_unref(cancel);
}

Test(provider, refused_names_change_nothing)
{
	static const struct answer answers[] = {READY, END};
	static const char *const names[] = {"UID",	"EUID",		 "PPID",   "SHELLOPTS",
					    "BASHOPTS", "BASH_VERSINFO", "MY-KEY", "A=B",
					    "",		"RANDOM",	 "_"};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(resume(&provider, &sandbox, &err), 0);
	options.command = "x";
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		const struct sp_env env[] = {{"GOOD", "1"}, {names[i], "secret-value"}};

		options.env = env;
		options.n_env = 2;
		cr_expect_eq(sp_sandbox_env_set(&sandbox, env, 2, NULL, &err), SP_INVALID, "%s",
			     names[i]);
		cr_expect_eq(sp_sandbox_exec(&sandbox, &options, &result, &err), SP_INVALID, "%s",
			     names[i]);
		cr_expect_null(strstr(err.message, "secret-value"));
	}
	close_all(&provider, &sandbox);
}

Test(provider, files_come_as_they_are_and_folders_do_not)
{
#define MINT_FILE(op_, method_)                                                                    \
	{                                                                                          \
		"POST /sandboxes/" ID "/files/" op_ "/token", 0, 201, NULL,                        \
		    "{\"token\":\"tok\",\"method\":\"" method_ "\",\"uri\":\"" PROXY "/files/" op_ \
		    "\"}",                                                                         \
		    0, NULL                                                                        \
	}
#define DOWN MINT_FILE("download", "GET")
#define DOWN_IS(code_, header_, body_)                                                             \
	{                                                                                          \
		"GET " PROXY "/files/download", 0, code_, header_, body_, 0, NULL                  \
	}
	static const struct {
		struct answer answers[8];
		int rc;
	} cases[] = {
	    {{READY, DOWN, DOWN_IS(200, "Content-Type: application/octet-stream", "bytes"), END},
	     0},
	    {{READY, DOWN, DOWN_IS(200, "Content-Type: application/x-tar", "tar"), END},
	     SP_CONFLICT},
	    {{READY, DOWN, DOWN_IS(404, NULL, "{\"code\":\"file_not_found\"}"), END}, SP_NOT_FOUND},
	    {{READY, DOWN, DOWN_IS(404, NULL, "404 page not found"), GET_IS(404), LIST("[]"), END},
	     SP_GONE},
	    {{READY, DOWN, DOWN_IS(404, NULL, "{}"), GET("running"), END}, SP_UNAVAILABLE},
	    {{READY, DOWN, DOWN_IS(401, NULL, "{}"), END}, SP_DENIED},
	    {{READY, DOWN, {"GET " PROXY "/files/download", 0, 200, NULL, "by", true, NULL}, END},
	     SP_UNKNOWN_OUTCOME},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_provider provider = open_with(cases[i].answers, NULL);
		struct sp_sandbox sandbox = SP_SANDBOX_INIT;
		struct sp_bytes bytes = SP_BYTES_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		cr_assert_eq(resume(&provider, &sandbox, &err), 0);
		rc = sp_sandbox_read(&sandbox, "/workspace/a", &bytes, NULL, &err);
		cr_expect_eq(rc, cases[i].rc, "%zu: %s (%s)", i, sp_code_name(rc), err.message);
		cr_expect(rc || !strcmp((char *)bytes.data, "bytes"));
		sp_bytes_done(&bytes);
		close_all(&provider, &sandbox);
	}
}

Test(provider, write_makes_the_folder_once)
{
#define UP MINT_FILE("upload", "PUT")
#define UP_IS(code_, body_)                                                                        \
	{                                                                                          \
		"PUT " PROXY "/files/upload", 0, code_, NULL, body_, 0, NULL                       \
	}
	static const struct answer answers[] = {
	    READY,
	    UP,
	    UP_IS(404, "{\"code\":\"file_not_found\"}"),
	    MINT,
	    RUN(EXIT("0")),
	    UP,
	    UP_IS(204, NULL),
	    UP,
	    UP_IS(507, "{\"code\":\"insufficient_storage\"}"),
	    UP,
	    UP_IS(404, "{\"code\":\"file_not_found\"}"),
	    MINT,
	    RUN(OUT("stderr", "mkdir: cannot create directory 'x': Not a directory\\n") EXIT("1")),
	    END,
	};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(resume(&provider, &sandbox, &err), 0);
	cr_expect_eq(sp_sandbox_write(&sandbox, "a/b", "x", 1, NULL, &err), 0, "%s", err.message);
	cr_expect_eq(sp_sandbox_write(&sandbox, "a/b", "x", 1, NULL, &err), SP_IO);
	cr_expect_eq(err.http_status, 507);
	cr_expect_eq(sp_sandbox_write(&sandbox, "a/b", "x", 1, NULL, &err), SP_CONFLICT, "%s",
		     err.message);
	close_all(&provider, &sandbox);
}

Test(provider, paths_are_mapped_and_clean)
{
	static const char *const paths[][3] = {
	    /* With the root /root, and with the root /. */
	    {"/workspace", "/root", "/"},
	    {"/workspace/", "/root", "/"},
	    {"/workspace/a/b", "/root/a/b", "/a/b"},
	    {"/workspace//a/./b/", "/root/a/b", "/a/b"},
	    {"/workspace/a/../b", "/root/b", "/b"},
	    {"/workspace/../etc", "/etc", "/etc"},
	    {"/workspaces/a", "/workspaces/a", "/workspaces/a"},
	    {"/x/../workspace/a", "/root/a", "/a"},
	    {"a", "/root/a", "/a"},
	    {"./a", "/root/a", "/a"},
	    {".", "/root", "/"},
	    {"..", "/", "/"},
	    {"../../..", "/", "/"},
	    {"/", "/", "/"},
	    {"/tmp/a b\n'\"", "/tmp/a b\n'\"", "/tmp/a b\n'\""},
	    {"-rf", "/root/-rf", "/-rf"},
	    {"...", "/root/...", "/..."},
	    {"..a/b..", "/root/..a/b..", "/..a/b.."},
	};

	for (size_t i = 0; i < SP_COUNT(paths); i++)
		for (int root = 0; root < 2; root++) {
			struct render_sandbox sandbox = {.root = (char *)(root ? "/" : "/root")};
			char *real SP_FREE = NULL;

			cr_assert_eq(render_path(&sandbox, paths[i][0], &real, NULL), 0);
			cr_expect_str_eq(real, paths[i][1 + root], "%s: %s, not %s", paths[i][0],
					 real, paths[i][1 + root]);
		}
}

Test(provider, tokens_go_to_a_sandbox_or_to_the_own_host)
{
	static const struct {
		const char *base;
		const char *uri;
		bool ok;
	} cases[] = {
	    {NULL, "https://a.oregon.sandbox.onrender.com/x", true},
	    {NULL, "https://a.oregon.sandbox.onrender.com:443/x?y=z", true},
	    {NULL, "https://A.Oregon.Sandbox.OnRender.com/x", true},
	    {NULL, "https://a.sandbox.onrender.com", true},
	    {NULL, "http://a.oregon.sandbox.onrender.com/x", false},
	    {NULL, "https://a.oregon.sandbox.onrender.com:444/x", false},
	    {NULL, "https://sandbox.onrender.com/x", false},
	    {NULL, "https://.sandbox.onrender.com/x", false},
	    {NULL, "https://evilsandbox.onrender.com/x", false},
	    {NULL, "https://a.sandbox.onrender.com.evil.example/x", false},
	    {NULL, "https://evil.example/a.sandbox.onrender.com", false},
	    {NULL, "https://evil.example?.sandbox.onrender.com", false},
	    {NULL, "https://evil.example#.sandbox.onrender.com", false},
	    {NULL, "https://evil.example\\.sandbox.onrender.com/", false},
	    {NULL, "https://a.sandbox.onrender.com@evil.example/", false},
	    {NULL, "https://evil.example@a.sandbox.onrender.com/", false},
	    {NULL, "https://a.sandbox.onrender.com\n.evil/", false},
	    {NULL, "https://api.render.com/v1/x", false},
	    {NULL, "ftp://a.sandbox.onrender.com/", false},
	    {NULL, "a.sandbox.onrender.com/x", false},
	    {NULL, "", false},
	    {NULL, "http://127.0.0.1:1/x", false},
	    {NULL, "http://localhost/x", false},
	    {"http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/x", true},
	    {"http://127.0.0.1:8080/v1", "http://127.0.0.1:8081/x", false},
	    {"http://127.0.0.1:8080/v1", "http://127.0.0.1/x", false},
	    {"http://127.0.0.1:8080/v1", "https://127.0.0.1:8080/x", false},
	    {"http://127.0.0.1:8080/v1", "http://evil.example:8080/x", false},
	    {"http://127.0.0.1:8080/v1", "http://127.0.0.1:8080@evil.example/x", false},
	    {"http://[::1]:8080/v1", "http://[::1]:8080/x", true},
	    {"https://localhost:8443/v1", "https://localhost:8443/x", true},
	    {"unix:/run/x", "http://localhost/x", true},
	    {"unix:/run/x", "http://evil.example/x", false},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
		struct render_core *core;

		options.token = KEY;
		options.owner_id = OWNER;
		options.base_url = cases[i].base;
		cr_assert_eq(render_core_new(&options, &core, NULL), 0);
		cr_expect_eq(render_uri_ok(core, cases[i].uri), cases[i].ok, "%s: %s",
			     cases[i].base ? cases[i].base : "(service)", cases[i].uri);
		render_core_unref(core);
	}
}

Test(provider, options_are_checked)
{
	static const struct {
		const char *token, *owner, *url, *dir;
		int rc;
	} cases[] = {
	    {KEY, OWNER, NULL, NULL, 0},
	    {NULL, OWNER, NULL, NULL, SP_DENIED},
	    {KEY, NULL, NULL, NULL, SP_DENIED},
	    {"a\nb", OWNER, NULL, NULL, SP_INVALID},
	    {KEY, "tea x", NULL, NULL, SP_INVALID},
	    {KEY, OWNER, "http://api.render.com/v1", NULL, SP_INVALID},
	    {KEY, OWNER, "http://127.evil.example/v1", NULL, SP_INVALID},
	    {KEY, OWNER, "http://localhost.evil.example/v1", NULL, SP_INVALID},
	    {KEY, OWNER, "https://user:pw@api.render.com/v1", NULL, SP_INVALID},
	    {KEY, OWNER, "https://", NULL, SP_INVALID},
	    {KEY, OWNER, "ftp://localhost/", NULL, SP_INVALID},
	    {KEY, OWNER, "unix:relative", NULL, SP_INVALID},
	    {KEY, OWNER, "unix:/x", NULL, 0},
	    {KEY, OWNER, NULL, "/a/{id}/b", 0},
	    {KEY, OWNER, NULL, "relative", SP_INVALID},
	    {KEY, OWNER, NULL, "/", SP_INVALID},
	    {KEY, OWNER, NULL, "/a/", SP_INVALID},
	    {KEY, OWNER, NULL, "/a/../b", SP_INVALID},
	    {KEY, OWNER, NULL, "/a b", SP_INVALID},
	    {KEY, OWNER, NULL, "/a;b", SP_INVALID},
	    {KEY, OWNER, NULL, "/a{b}", SP_INVALID},
	};

	unsetenv("RENDER_API_KEY");
	unsetenv("RENDER_WORKSPACE_ID");
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
		struct sp_provider provider = SP_PROVIDER_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		options.token = cases[i].token;
		options.owner_id = cases[i].owner;
		options.base_url = cases[i].url;
		options.private_dir = cases[i].dir;
		rc = sp_render_open(&options, &provider, &err);
		cr_expect_eq(rc, cases[i].rc, "%zu: %s (%s)", i, sp_code_name(rc), err.message);
		cr_expect_null(strstr(err.message, KEY));
		sp_provider_done(&provider);
	}
}

/* What is not given comes of the environment; what is given beats it, and "" is nothing. */
Test(provider, credentials_come_from_options_or_the_environment)
{
	static const struct {
		const char *token, *owner, *env_token, *env_owner;
		int rc;
	} cases[] = {
	    {NULL, NULL, KEY, OWNER, 0},	   {KEY, NULL, NULL, OWNER, 0},
	    {NULL, OWNER, KEY, NULL, 0},	   {KEY, OWNER, "a b", "a b", 0},
	    {NULL, NULL, KEY, NULL, SP_DENIED},	   {NULL, NULL, NULL, OWNER, SP_DENIED},
	    {NULL, NULL, NULL, NULL, SP_DENIED},   {NULL, NULL, "", OWNER, SP_DENIED},
	    {NULL, NULL, KEY, "", SP_DENIED},	   {NULL, NULL, "a b", OWNER, SP_INVALID},
	    {"a b", OWNER, KEY, OWNER, SP_INVALID},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
		struct sp_provider provider = SP_PROVIDER_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		unsetenv("RENDER_API_KEY");
		unsetenv("RENDER_WORKSPACE_ID");
		if (cases[i].env_token)
			setenv("RENDER_API_KEY", cases[i].env_token, 1);
		if (cases[i].env_owner)
			setenv("RENDER_WORKSPACE_ID", cases[i].env_owner, 1);
		options.token = cases[i].token;
		options.owner_id = cases[i].owner;
		rc = sp_render_open(&options, &provider, &err);
		cr_expect_eq(rc, cases[i].rc, "%zu: %s (%s)", i, sp_code_name(rc), err.message);
		cr_expect_null(strstr(err.message, KEY));
		sp_provider_done(&provider);
	}
}

/* Item 33 of the contract, word for word, and what goes beyond. */
static void check_declaration(const struct sp_capabilities *c, unsigned kind)
{
	const struct {
		const char *name;
		uint64_t is, want;
	} fields[] = {
	    {"fs", c->fs, true},
	    {"exec", c->exec, true},
	    {"env", c->env, true},
	    {"background_processes", c->background_processes, true},
	    {"killable_processes", c->killable_processes, true},
	    {"snapshots", c->snapshots, true},
	    {"network_policy", c->network_policy, true},
	    {"durable_filesystem", c->durable_filesystem, true},
	    {"ports", c->ports, false},
	    {"writable_stdin", c->writable_stdin, false},
	    {"fork", c->fork, false},
	    {"kill_reach", c->kill_reach, SP_REACH_TREE},
	    {"kill_grace_ms", c->kill_grace_ms, 2000},
	    {"signals", c->signals, UINT64_C(0xfffffffe)},
	    {"exit_reaps_group", c->exit_reaps_group, true},
	    {"output", c->output, SP_OUTPUT_UTF8},
	    {"output_cap", c->output_cap, 8 << 20},
	    {"unread_bound", c->unread_bound, 8 << 20},
	    {"snapshot_kinds", c->snapshot_kinds, kind},
	    {"suspension", c->suspension, true},
	    {"atomic_write", c->atomic_write, false},
	    {"snapshot_lock", c->snapshot_lock, false},
	    {"follow", c->follow, true},
	};

	for (size_t i = 0; i < SP_COUNT(fields); i++)
		cr_expect_eq(fields[i].is, fields[i].want, "%s: %llu instead of %llu",
			     fields[i].name, (unsigned long long)fields[i].is,
			     (unsigned long long)fields[i].want);
	cr_expect_str_eq(c->memory_dir, "/dev");
}

Test(provider, declares_exactly_what_the_contract_says)
{
	static const unsigned kinds[][2] = {{0, SP_SNAPSHOT_FILESYSTEM},
					    {SP_SNAPSHOT_FILESYSTEM, SP_SNAPSHOT_FILESYSTEM},
					    {SP_SNAPSHOT_RUNTIME, SP_SNAPSHOT_RUNTIME}};
	struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.token = KEY;
	options.owner_id = OWNER;
	for (size_t i = 0; i < SP_COUNT(kinds); i++) {
		options.snapshot_kind = kinds[i][0];
		cr_assert_eq(sp_render_open(&options, &provider, &err), 0, "%s", err.message);
		check_declaration(sp_provider_capabilities(&provider), kinds[i][1]);
		sp_provider_done(&provider);
	}
	options.snapshot_kind = SP_SNAPSHOT_FILESYSTEM | SP_SNAPSHOT_RUNTIME;
	cr_expect_eq(sp_render_open(&options, &provider, &err), SP_INVALID);
}

Test(provider, the_cap_cuts_at_characters_and_leaves_no_hole)
{
	static const struct {
		uint64_t held, cap;
		bool cut;
		const char *data;
		size_t keep;
	} cases[] = {
	    {0, 4, false, "abcd", 4},
	    {0, 4, false, "abcde", 4},
	    {4, 4, false, "a", 0},
	    {4, 4, false, "", 0},
	    {3, 4, true, "a", 0},
	    {3, 4, false, "\xc3\xa4", 0},
	    {2, 4, false, "\xc3\xa4", 2},
	    {0, 4, false,
	     "a\xe2\x82\xac"
	     "b",
	     4},
	    {0, 3, false, "a\xe2\x82\xac", 1},
	    {0, 3, false, "\xf0\x9f\x98\x80", 0},
	    {0, 5, false, "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 4},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		size_t keep =
		    render_cap(cases[i].held, cases[i].cap, cases[i].cut,
			       (const unsigned char *)cases[i].data, strlen(cases[i].data));

		cr_expect_eq(keep, cases[i].keep, "%zu: %zu, not %zu", i, keep, cases[i].keep);
	}
}

Test(provider, signals_go_as_asked_or_become_kill)
{
	static const int map[][2] = {{0, 15}, {15, 15}, {2, 2},	 {1, 1},  {3, 3},  {9, 9},
				     {10, 9}, {12, 9},	{19, 9}, {18, 9}, {-1, 9}, {64, 9}};

	for (size_t i = 0; i < SP_COUNT(map); i++)
		cr_expect_eq(render_map_signal(map[i][0]), map[i][1], "%d", map[i][0]);
}

Test(provider, snapshot_names_fit)
{
	static const struct {
		const char *label;
		const char *name;
	} names[] = {
	    {"a", "tsai-a"},
	    {"", "tsai-"},
	    {"12345678901234567890123456789012345678901234567890123456789",
	     "tsai-12345678901234567890123456789012345678901234567890123456789"},
	    {"12345678901234567890123456789012345678901234567890123456789X",
	     "tsai-12345678901234567890123456789012345678901234567890123456789"},
	    {"1234567890123456789012345678901234567890123456789012345678\xc3\xa4\xc3\xb6",
	     "tsai-1234567890123456789012345678901234567890123456789012345678\xc3\xa4"},
	};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		char *name SP_FREE = render_snapshot_name(names[i].label);

		cr_expect_str_eq(name, names[i].name, "%s", name);
	}
}

/* ---- A snapshot whose answer was lost ---- */

#define GROUP "sbg-d0000000000000000009"
#define SNAPSHOTS "/sandbox-groups/" GROUP "/snapshots"
#define LISTED(id_, sandbox_, name_, kind_)                                                        \
	"{\"snapshot\":{\"id\":\"" id_ "\",\"sourceSandboxId\":\"" sandbox_ "\",\"name\":\""      \
	name_ "\",\"kind\":\"" kind_ "\"},\"cursor\":\"c\"}"
#define OLDER LISTED("snp-older", ID, "tsai-label", "filesystem")
#define OURS LISTED("snp-ours", ID, "tsai-label", "filesystem")

/* The POST that is answered with `lost`, then a list with `after`: which reference comes of it. */
static void lose(const char *before, const struct answer *lost, const char *after,
		 const char *expected)
{
	const struct answer answers[] = {
	    READY,
	    MINT,
	    RUN(EXIT("0")),
	    {"GET /sandboxes/" ID, 0, 200, NULL,
	     "{\"id\":\"" ID "\",\"status\":\"running\",\"sandboxGroupId\":\"" GROUP "\"}", 0,
	     NULL},
	    {"GET " SNAPSHOTS, 0, 200, NULL, before, 0, NULL},
	    *lost,
	    {"GET " SNAPSHOTS, 0, 200, NULL, after, 0, NULL},
	    {expected ? "GET " SNAPSHOTS "/snp-ours" : NULL, 0, 200, NULL,
	     "{\"status\":\"available\"}", 0, NULL},
	    END,
	};
	struct sp_provider provider = open_with(answers, NULL);
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	cr_assert_eq(resume(&provider, &sandbox, &err), 0, "%s", err.message);
	rc = sp_sandbox_snapshot(&sandbox, "label", &ref, NULL, &err);
	cr_expect_eq(rc, expected ? 0 : SP_UNKNOWN_OUTCOME, "%s: %d, %s", after, rc, err.message);
	cr_expect_str_eq(ref.id ? ref.id : "none", expected ? expected : "none", "%s", after);
	close_all(&provider, &sandbox);
}

#define POST "POST /sandboxes/" ID "/snapshots"
static const struct answer lost_answers[] = {
    {POST, SP_UNKNOWN_OUTCOME, 0, NULL, NULL, 0, NULL},
    {POST, SP_TIMED_OUT, 0, NULL, NULL, 0, NULL},
    {POST, 0, 504, NULL, "<html>", 0, NULL},
    {POST, 0, 202, NULL, "{\"id\":", 0, NULL},
    {POST, 0, 202, NULL, "{}", 0, NULL},
    {POST, 0, 202, NULL, "{\"id\":\"snp-", 1, NULL},
};

/* However it was lost. */
Test(provider, a_snapshot_whose_answer_was_lost_is_found_again)
{
	for (size_t i = 0; i < SP_COUNT(lost_answers); i++) {
		lose("[" OLDER "]", &lost_answers[i], "[" OURS "," OLDER "]", GROUP "/snp-ours");
		lose("[]", &lost_answers[i], "[" OURS "]", GROUP "/snp-ours");
	}
}

/* Nobody else's is ever taken for it. */
Test(provider, what_may_be_another_snapshot_is_left_alone)
{
	static const char *const after[] = {
	    /* None is new. */
	    "[" OLDER "]",
	    /* Two could be it. */
	    "[" OURS "," LISTED("snp-theirs", ID, "tsai-label", "filesystem") "," OLDER "]",
	    /* Others' by sandbox, by name, by kind. */
	    "[" LISTED("snp-a", "sbx-other", "tsai-label", "filesystem") "," LISTED(
		"snp-b", ID, "tsai-other", "filesystem") "," LISTED("snp-c", ID, "tsai-label",
								    "runtime") "," OLDER "]",
	    /* The mark is gone: nobody knows what is new. */
	    "[" OURS "]",
	    "{}",
	    "[null]",
	};

	for (size_t i = 0; i < SP_COUNT(after); i++)
		lose("[" OLDER "]", &lost_answers[0], after[i], NULL);
}

/* ---- A sandbox that is not awake when its capture comes ---- */

#define LOOK                                                                                       \
	{                                                                                          \
		"GET /sandboxes/" ID, 0, 200, NULL,                                                \
		    "{\"status\":\"running\",\"sandboxGroupId\":\"" GROUP "\"}", 0, NULL           \
	}
#define NEWEST                                                                                     \
	{                                                                                          \
		"GET " SNAPSHOTS, 0, 200, NULL, "[]", 0, NULL                                      \
	}
#define ROUND MINT, RUN(EXIT("0")), LOOK, NEWEST
#define ASLEEP                                                                                     \
	{                                                                                          \
		POST, 0, 409, NULL, "{\"code\":\"sandbox_not_running\"}", 0, NULL                  \
	}
#define TAKEN                                                                                      \
	{                                                                                          \
		POST, 0, 202, NULL,                                                                \
		    "{\"id\":\"snp-1\",\"sandboxGroupId\":\"" GROUP "\"}", 0, NULL                 \
	}
#define CAPTURED                                                                                   \
	{                                                                                          \
		"GET " SNAPSHOTS "/snp-1", 0, 200, NULL, "{\"status\":\"available\"}", 0, NULL     \
	}

/* It is woken again, as often as it is worth; gone is gone; nothing is asked for twice. */
Test(provider, a_snapshot_wakes_what_fell_asleep_meanwhile)
{
	static const struct {
		struct answer answers[32];
		int rc;
	} cases[] = {
	    {{READY, ROUND, TAKEN, CAPTURED, END}, 0},
	    {{READY, ROUND, ASLEEP, GET("suspended"), ROUND, TAKEN, CAPTURED, END}, 0},
	    {{READY, ROUND, ASLEEP, GET("resuming"), ROUND, TAKEN, CAPTURED, END}, 0},
	    {{READY, ROUND, ASLEEP, GET("terminated"), END}, SP_GONE},
	    {{READY, ROUND, ASLEEP, GET("errored"), END}, SP_GONE},
	    {{READY, ROUND, ASLEEP, GET_IS(401), END}, SP_DENIED},
	    {{READY, MINT, RUN(EXIT("1")), END}, SP_UNAVAILABLE},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_provider provider = open_with(cases[i].answers, NULL);
		struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
		struct sp_sandbox sandbox = SP_SANDBOX_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		cr_assert_eq(resume(&provider, &sandbox, &err), 0, "%s", err.message);
		rc = sp_sandbox_snapshot(&sandbox, "label", &ref, NULL, &err);
		cr_expect_eq(rc, cases[i].rc, "%zu: %s, %s", i, sp_code_name(rc), err.message);
		cr_expect_str_eq(ref.id ? ref.id : "none", rc ? "none" : GROUP "/snp-1", "%zu", i);
		close_all(&provider, &sandbox);
	}
}
