/* SPDX-License-Identifier: MIT */
/*
 * Every fault by switch: on from the start by `--fault`, and turned on by control for one
 * workspace. Both have to do the same.
 */
#include <fakes/render-api/faults.h>
#include <fakes/render-api/testing.h>

/* A server that misbehaves; `name` is the way, for messages. */
struct faulty {
	struct server server;
	const char *fault;
	const char *way;
};

static void turn(struct server *server, const char *fault, bool on)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"fault\":\"%s\",\"on\":%s}", fault, on ? "true" : "false");
	long status = control_do(server, "POST", "faults", body);

	cr_assert(status == 204, "turning %s: 204 expected, got %ld", fault, status);
}

static struct reply exec_true(struct server *server, const char *id)
{
	return run_stream(server, id, "echo some output; true");
}

/* ---- what each of them does ---- */

static void check_creating(struct faulty *f, long expected)
{
	char *id SP_FREE = make_sandbox_with(&f->server, "");
	struct mint token = mint(&f->server, id, "runs/stream", "");

	cr_expect(token.status == expected, "%s by %s: %ld expected, got %ld", f->fault, f->way,
		  expected, token.status);
	await_state(&f->server, id, "creating");
	cr_expect(control_do(&f->server, "POST", "clock", "{\"advance_ms\":1600}") == 204);
	await_state(&f->server, id, "running");
	cr_expect(mint(&f->server, id, "runs/stream", "").status == 201, "%s by %s: after it",
		  f->fault, f->way);
}

static void slow_boot(struct faulty *f)
{
	check_creating(f, 503);
}

static void create_404(struct faulty *f)
{
	check_creating(f, 404);
}

static void create_429(struct faulty *f)
{
	check_creating(f, 429);
}

static void create_503(struct faulty *f)
{
	check_creating(f, 503);
}

static void rate_limit(struct faulty *f)
{
	struct reply reply = {.status = 200};
	int n = 0;

	for (; n <= 100 && reply.status == 200; n++) {
		reply_done(&reply);
		reply = ask_api(&f->server, "GET", "/v1/sandboxes", NULL);
	}
	cr_expect(n == 101 && reply.status == 429 && has(&reply, "rate limit exceeded") &&
		      has_header(&reply, "\r\nRetry-After: ") &&
		      has_header(&reply, "\r\nRateLimit-Limit: 100\r\n") &&
		      has_header(&reply, "\r\nRateLimit-Remaining: 0\r\n"),
		  "by %s: request %d: %ld\n%s", f->way, n, reply.status,
		  sp_buf_str(&reply.headers));
	reply_done(&reply);
	cr_expect(control_do(&f->server, "POST", "clock", "{\"advance_ms\":60000}") == 204);
	reply = ask_api(&f->server, "GET", "/v1/sandboxes", NULL);
	cr_expect(reply.status == 200, "by %s: after a minute %ld", f->way, reply.status);
	reply_done(&reply);
}

static void edge_403(struct faulty *f)
{
	static const struct {
		const char *command;
		bool refused;
	} rows[] = {
	    {"true; curl http://127.0.0.1:1", true},
	    {"true;wget -q x", true},
	    {"cat /etc/passwd", true},
	    {"true\ncurl --version", false},
	    {"echo fine; true", false},
	};
	char *id SP_FREE = make_sandbox(&f->server);

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct reply reply SP_CLEANUP(reply_done) =
		    run_stream(&f->server, id, rows[i].command);

		cr_expect((reply.status == 403) == rows[i].refused, "by %s, `%s`: got %ld", f->way,
			  rows[i].command, reply.status);
		cr_expect(!rows[i].refused || (has(&reply, "Attention Required! | Cloudflare") &&
					       !has_header(&reply, "render-request-id") &&
					       has_header(&reply, "x-frame-options: SAMEORIGIN")),
			  "by %s, `%s`:\n%s", f->way, rows[i].command, sp_buf_str(&reply.headers));
	}
}

static void cut_stream(struct faulty *f)
{
	char *id SP_FREE = make_sandbox(&f->server);
	struct reply cut SP_CLEANUP(reply_done) = exec_true(&f->server, id);

	cr_expect(cut.status == 200 && cut.code != CURLE_OK && !has(&cut, "event: exit"),
		  "by %s: %ld %s", f->way, cut.status, sp_buf_str(&cut.body));
}

static void lost_create(struct faulty *f)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"}", f->server.workspace);
	struct reply lost SP_CLEANUP(reply_done) =
	    ask_api(&f->server, "POST", "/v1/sandboxes", body);
	struct reply list SP_CLEANUP(reply_done) =
	    ask_api(&f->server, "GET", "/v1/sandboxes", NULL);

	cr_expect(lost.status == 0 && has(&list, "[{\"sandbox\":"), "by %s: %ld, then %s", f->way,
		  lost.status, sp_buf_str(&list.body));
}

static void disk_full(struct faulty *f)
{
	char *id SP_FREE = make_sandbox(&f->server);
	struct mint upload = mint(&f->server, id, "files/upload", "?path=x");
	struct reply put SP_CLEANUP(reply_done) =
	    server_ask(&f->server, &(struct ask){.method = "PUT",
						 .target = upload.uri,
						 .bearer = upload.token,
						 .body = "x"});

	cr_expect(put.status == 507 && has(&put, "\"code\":\"insufficient_storage\""),
		  "by %s: %ld %s", f->way, put.status, sp_buf_str(&put.body));
}

static void suspended_at_capacity(struct faulty *f)
{
	char *id SP_FREE = make_sandbox(&f->server);
	char body[256];

	snprintf(body, sizeof(body), "{\"sandbox_id\":\"%s\",\"state\":\"suspended\"}", id);
	cr_expect(control_do(&f->server, "POST", "state", body) == 204);
	struct reply asleep SP_CLEANUP(reply_done) = exec_true(&f->server, id);

	cr_expect(asleep.status == 429 && !has_header(&asleep, "Retry-After"), "by %s: %ld",
		  f->way, asleep.status);
	await_state(&f->server, id, "suspended");
}

static void token_expired(struct faulty *f)
{
	char *id SP_FREE = make_sandbox(&f->server);
	struct reply reply SP_CLEANUP(reply_done) = exec_true(&f->server, id);

	cr_expect(reply.status == 401 && has(&reply, "expired"), "by %s: %ld", f->way,
		  reply.status);
}

static void token_reuse(struct faulty *f)
{
	char *id SP_FREE = make_sandbox(&f->server);
	struct mint upload = mint(&f->server, id, "files/upload", "?path=x");
	struct ask ask = {
	    .method = "PUT", .target = upload.uri, .bearer = upload.token, .body = "x"};

	for (int i = 0; i < 2; i++) {
		struct reply put SP_CLEANUP(reply_done) = server_ask(&f->server, &ask);

		cr_expect(put.status == 204, "by %s, use %d: 204 expected, got %ld", f->way, i + 1,
			  put.status);
	}
	turn(&f->server, "token-reuse", false);
	struct reply put SP_CLEANUP(reply_done) = server_ask(&f->server, &ask);

	cr_expect(put.status == 401, "turned off: 401 expected, got %ld", put.status);
}

static void no_entitlement(struct faulty *f)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"}", f->server.workspace);
	struct reply create SP_CLEANUP(reply_done) =
	    ask_api(&f->server, "POST", "/v1/sandboxes", body);
	struct reply list SP_CLEANUP(reply_done) =
	    ask_api(&f->server, "GET", "/v1/sandboxes", NULL);

	cr_expect(create.status == 404 && list.status == 404, "by %s: create %ld, list %ld",
		  f->way, create.status, list.status);
	turn(&f->server, "no-entitlement", false);
	struct reply again SP_CLEANUP(reply_done) =
	    ask_api(&f->server, "GET", "/v1/sandboxes", NULL);

	cr_expect(again.status == 200, "turned off: 200 expected, got %ld", again.status);
}

static const struct {
	const char *name;
	void (*check)(struct faulty *f);
} checks[API_FAULT_MAX_] = {
    [API_FAULT_SLOW_BOOT] = {"slow-boot", slow_boot},
    [API_FAULT_CREATE_404] = {"create-404", create_404},
    [API_FAULT_CREATE_429] = {"create-429", create_429},
    [API_FAULT_CREATE_503] = {"create-503", create_503},
    [API_FAULT_RATE_LIMIT] = {"rate-limit", rate_limit},
    [API_FAULT_EDGE_403] = {"edge-403", edge_403},
    [API_FAULT_CUT_STREAM] = {"cut-stream", cut_stream},
    [API_FAULT_LOST_CREATE] = {"lost-create", lost_create},
    [API_FAULT_DISK_FULL] = {"disk-full", disk_full},
    [API_FAULT_SUSPENDED_AT_CAPACITY] = {"suspended-at-capacity", suspended_at_capacity},
    [API_FAULT_TOKEN_EXPIRED] = {"token-expired", token_expired},
    [API_FAULT_TOKEN_REUSE] = {"token-reuse", token_reuse},
    [API_FAULT_NO_ENTITLEMENT] = {"no-entitlement", no_entitlement},
};

Test(switches, by_option)
{
	for (size_t i = 0; i < API_FAULT_MAX_; i++) {
		const char *const faults[] = {checks[i].name, NULL};
		struct faulty f = {server_start('C', faults), checks[i].name, "option"};

		checks[i].check(&f);
		server_stop(&f.server);
	}
}

Test(switches, by_control)
{
	struct faulty f = {server_start('C', NULL), NULL, "control"};

	for (size_t i = 0; i < API_FAULT_MAX_; i++) {
		f.fault = checks[i].name;
		/* A new minute, since requests are counted all the time. */
		cr_expect(control_do(&f.server, "POST", "clock", "{\"advance_ms\":60000}") == 204);
		turn(&f.server, f.fault, true);
		checks[i].check(&f);
		/* Resetting a workspace gives it the server's own switches back. */
		cr_expect(control_do(&f.server, "POST", "reset", NULL) == 204);
	}
	char *id SP_FREE = make_sandbox(&f.server);
	struct reply healthy SP_CLEANUP(reply_done) = exec_true(&f.server, id);

	cr_expect(healthy.status == 200 && has(&healthy, "{\"exit_code\":0}"), "%ld",
		  healthy.status);
	server_stop(&f.server);
}
