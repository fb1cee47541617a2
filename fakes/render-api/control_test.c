/* SPDX-License-Identifier: MIT */
/* Holds, failures, the log, reset, and the switches. */
#include <fakes/render-api/testing.h>

static const char *read_log(struct server *server, struct reply *reply)
{
	*reply = ask_control(server, "DELETE", "requests", NULL);
	return sp_buf_str(&reply->body);
}

/* Both sides of a run: nothing is started, then all of it has happened and is not told. */
Test(hold, run)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	long before = control_hold(&server, "run", "before");
	struct later *run = later_stream(&server, id, "echo done >marker");

	control_await(&server, before);
	char *none SP_FREE = run_sync(&server, id, "[ -e marker ] || echo nothing");

	cr_expect_str_eq(none, "nothing\n");
	control_release(&server, before);
	struct reply ran SP_CLEANUP(reply_done) = later_join(run);

	cr_expect(has(&ran, "{\"exit_code\":0}"), "%s", sp_buf_str(&ran.body));
	long after = control_hold(&server, "run", "after");

	run = later_stream(&server, id, "mkfifo gate; echo here >gate; echo out");
	control_await(&server, after);
	/* Its own end does not need our answer to the client. */
	char *here SP_FREE = run_sync(&server, id, "until [ -p gate ]; do :; done; cat gate");

	cr_expect_str_eq(here, "here\n");
	control_release(&server, after);
	struct reply told SP_CLEANUP(reply_done) = later_join(run);

	cr_expect(has(&told, "out\\n") && has(&told, "{\"exit_code\":0}"), "%s",
		  sp_buf_str(&told.body));
	server_stop(&server);
}

/* The command has ended and the client does not know. */
Test(hold, exit)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	long before = control_hold(&server, "exit", "before");
	struct later *run = later_stream(&server, id, "echo $$ >pid; echo last; exit 5");

	control_await(&server, before);
	char *gone SP_FREE = run_sync(&server, id, "kill -0 $(cat pid) 2>/dev/null || echo gone");

	cr_expect_str_eq(gone, "gone\n");
	control_release(&server, before);
	struct reply reply SP_CLEANUP(reply_done) = later_join(run);

	cr_expect(has(&reply, "last\\n") && has(&reply, "{\"exit_code\":5}"), "%s",
		  sp_buf_str(&reply.body));
	long after = control_hold(&server, "exit", "after");

	run = later_stream(&server, id, "exit 6");
	control_await(&server, after);
	control_release(&server, after);
	struct reply second SP_CLEANUP(reply_done) = later_join(run);

	cr_expect(has(&second, "{\"exit_code\":6}"), "%s", sp_buf_str(&second.body));
	server_stop(&server);
}

static size_t count_sandboxes(struct server *server)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct reply reply SP_CLEANUP(reply_done) = ask_control(server, "GET", "census", NULL);

	sp_json_parse(reply.body.data, reply.body.len, TEST_BODY, &json, NULL);
	return (size_t)cJSON_GetArraySize(cJSON_GetObjectItem(json, "sandboxes"));
}

Test(hold, create_both_sides)
{
	struct server server = server_start('C', NULL);
	char body[128];
	long before = control_hold(&server, "create", "before");
	long after = control_hold(&server, "create", "after");

	snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"}", server.workspace);
	struct later *create = later_ask(&server, &(struct ask){.method = "POST",
								.target = "/v1/sandboxes",
								.bearer = server.key,
								.body = body});

	control_await(&server, before);
	cr_expect(count_sandboxes(&server) == 0, "0 expected, got %zu", count_sandboxes(&server));
	control_release(&server, before);
	control_await(&server, after);
	cr_expect(count_sandboxes(&server) == 1, "1 expected, got %zu", count_sandboxes(&server));
	control_release(&server, after);
	struct reply reply SP_CLEANUP(reply_done) = later_join(create);

	cr_expect(reply.status == 201, "201 expected, got %ld", reply.status);
	server_stop(&server);
}

/* Before: not a byte is taken. After: the file is there and nobody was told. */
Test(hold, upload)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct mint token = mint(&server, id, "files/upload", "?path=file");
	long before = control_hold(&server, "upload", "before");
	long after = control_hold(&server, "upload", "after");
	struct later *put = later_ask(&server, &(struct ask){.method = "PUT",
							     .target = token.uri,
							     .bearer = token.token,
							     .body = "content"});

	control_await(&server, before);
	char *none SP_FREE = run_sync(&server, id, "ls -A | grep -c . || :");

	cr_expect_str_eq(none, "0\n");
	control_release(&server, before);
	control_await(&server, after);
	char *there SP_FREE = run_sync(&server, id, "cat file");

	cr_expect_str_eq(there, "content");
	control_release(&server, after);
	struct reply reply SP_CLEANUP(reply_done) = later_join(put);

	cr_expect(reply.status == 204, "204 expected, got %ld", reply.status);
	server_stop(&server);
}

/* Every other step stands still on both sides as well. */
Test(hold, every_step)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *other SP_FREE = make_sandbox(&server);
	char targets[6][160];
	const struct {
		const char *step;
		const char *method;
		const char *format;
		long status;
	} rows[] = {
	    {"get", "GET", "/v1/sandboxes/%s", 200},
	    {"list", "GET", "/v1/sandboxes?x=%s", 200},
	    {"mint_run", "POST", "/v1/sandboxes/%s/runs/stream/token", 201},
	    {"mint_upload", "POST", "/v1/sandboxes/%s/files/upload/token?path=a", 201},
	    {"mint_download", "POST", "/v1/sandboxes/%s/files/download/token?path=a", 201},
	    {"terminate", "POST", "/v1/sandboxes/%s/terminate", 204},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		long before = control_hold(&server, rows[i].step, "before");
		long after = control_hold(&server, rows[i].step, "after");

		snprintf(targets[i], sizeof(targets[i]), rows[i].format, id);
		struct later *later = later_ask(&server, &(struct ask){.method = rows[i].method,
								       .target = targets[i],
								       .bearer = server.key});

		control_await(&server, before);
		control_release(&server, before);
		control_await(&server, after);
		/* One that stands still holds up nobody else. */
		char *free_one SP_FREE = run_sync(&server, other, "echo free");

		cr_expect_str_eq(free_one, "free\n");
		control_release(&server, after);
		struct reply reply SP_CLEANUP(reply_done) = later_join(later);

		cr_expect(reply.status == rows[i].status, "%s: %ld expected, got %ld", rows[i].step,
			  rows[i].status, reply.status);
	}
	server_stop(&server);
}

/* A hold can be for one sandbox, be cancelled, and an await of it may be given up. */
Test(hold, scope_and_cancel)
{
	struct server server = server_start('C', NULL);
	char *one SP_FREE = make_sandbox(&server);
	char *two SP_FREE = make_sandbox(&server);
	char body[256];
	char tail[64];

	snprintf(body, sizeof(body), "{\"step\":\"run\",\"when\":\"before\",\"sandbox_id\":\"%s\"}",
		 one);
	struct reply made SP_CLEANUP(reply_done) = ask_control(&server, "POST", "holds", body);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	int64_t hold = 0;

	sp_json_parse(made.body.data, made.body.len, TEST_BODY, &json, NULL);
	sp_json_int(json, "hold", &hold);
	char *free_one SP_FREE = run_sync(&server, two, "echo free");

	cr_expect_str_eq(free_one, "free\n");
	char target[256];

	snprintf(target, sizeof(target), "/admin/workspaces/%s/holds/%ld", server.workspace,
		 (long)hold);
	struct later *await = later_ask(
	    &server,
	    &(struct ask){.method = "GET", .target = target, .bearer = server.control_token});

	snprintf(tail, sizeof(tail), "holds/%ld", (long)hold);
	/*
	 * Whichever comes first: the wait is answered 404 by the release, or finds no hold any
	 * more.
	 */
	control_release(&server, (long)hold);
	struct reply awaited SP_CLEANUP(reply_done) = later_join(await);

	cr_expect(awaited.status == 404, "404 expected, got %ld", awaited.status);
	cr_expect(control_do(&server, "DELETE", tail, NULL) == 404);
	char *again SP_FREE = run_sync(&server, one, "echo free");

	cr_expect_str_eq(again, "free\n");
	server_stop(&server);
}

struct failing {
	const char *step;
	const char *how;
	int status;
	/* Of the answer; 0: the connection breaks. */
	long answer;
	const char *contains;
};

static struct reply exec_true(struct server *server, const char *id)
{
	return run_stream(server, id, "echo some output; true");
}

Test(fail, runs)
{
	static const struct failing rows[] = {
	    {"run", "status", 502, 502, "\"code\":\"injected\""},
	    {"run", "drop", 0, 0, NULL},
	    {"run", "lost_answer", 0, 0, NULL},
	    {"run", "rate_limit", 0, 429, "too_many_requests"},
	    {"run", "edge", 0, 403, "<!DOCTYPE html>"},
	    {"run", "disk_full", 0, 507, "insufficient_storage"},
	    {"run", "cut", 0, -200, NULL},
	    {"exit", "cut", 0, -200, NULL},
	    {"exit", "drop", 0, 200, "some output"},
	    {"exit", "status", 408, 200, "event: error\ndata: {\"status\":408,\"message\":"},
	};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		control_fail(&server, rows[i].step, 1, rows[i].how, rows[i].status);
		struct reply reply SP_CLEANUP(reply_done) = exec_true(&server, id);
		bool broken = rows[i].answer <= 0;

		cr_expect(reply.status == labs(rows[i].answer), "%s %s: %ld expected, got %ld",
			  rows[i].step, rows[i].how, rows[i].answer, reply.status);
		cr_expect((reply.code != CURLE_OK) == broken, "%s %s: broken is %d expected: %s",
			  rows[i].step, rows[i].how, broken, curl_easy_strerror(reply.code));
		cr_expect(!has(&reply, "event: exit"), "%s %s: an exit was told", rows[i].step,
			  rows[i].how);
		cr_expect(!rows[i].contains || has(&reply, rows[i].contains), "%s %s: %s",
			  rows[i].step, rows[i].how, sp_buf_str(&reply.body));
		struct reply healthy SP_CLEANUP(reply_done) = exec_true(&server, id);

		cr_expect(has(&healthy, "{\"exit_code\":0}"), "once only: %s",
			  sp_buf_str(&healthy.body));
	}
	server_stop(&server);
}

/*
 * nth counts occurrences; 0 is each of them until cleared. A lost answer was carried out, a dropped
 * request was not.
 */
Test(fail, counting)
{
	static const long expected[] = {201, 503, 201};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);

	control_fail(&server, "mint_run", 2, "status", 503);
	for (size_t i = 0; i < SP_COUNT(expected); i++) {
		struct mint token = mint(&server, id, "runs/stream", "");

		cr_expect(token.status == expected[i], "mint %zu: %ld expected, got %ld", i,
			  expected[i], token.status);
	}
	control_fail(&server, "mint_run", 0, "status", 500);
	for (size_t i = 0; i < 3; i++)
		cr_expect(mint(&server, id, "runs/stream", "").status == 500);
	control_fail(&server, "mint_run", 0, "clear", 0);
	cr_expect(mint(&server, id, "runs/stream", "").status == 201);

	control_fail(&server, "create", 1, "drop", 0);
	char body[128];

	snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"}", server.workspace);
	struct reply dropped SP_CLEANUP(reply_done) =
	    ask_api(&server, "POST", "/v1/sandboxes", body);

	cr_expect(dropped.status == 0 && count_sandboxes(&server) == 1);
	control_fail(&server, "create", 1, "lost_answer", 0);
	struct reply lost SP_CLEANUP(reply_done) = ask_api(&server, "POST", "/v1/sandboxes", body);

	cr_expect(lost.status == 0 && count_sandboxes(&server) == 2);
	server_stop(&server);
}

Test(fail, transfers)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE = run_sync(&server, id, "head -c 100000 /dev/zero >big && echo made");
	struct mint token = mint(&server, id, "files/download", "?path=big");

	cr_expect_str_eq(made, "made\n");
	control_fail(&server, "download", 1, "cut", 0);
	struct reply got SP_CLEANUP(reply_done) = server_ask(
	    &server, &(struct ask){.method = "GET", .target = token.uri, .bearer = token.token});

	cr_expect(got.code == CURLE_PARTIAL_FILE && got.body.len < 100000,
		  "a broken transfer expected: %s, %zu bytes", curl_easy_strerror(got.code),
		  got.body.len);
	control_fail(&server, "upload", 1, "cut", 0);
	token = mint(&server, id, "files/upload", "?path=new");
	struct reply put SP_CLEANUP(reply_done) = server_ask(
	    &server, &(struct ask){
			 .method = "PUT", .target = token.uri, .bearer = token.token, .body = "x"});

	cr_expect(put.code != CURLE_OK, "a broken upload expected, got %ld", put.status);
	control_fail(&server, "upload", 1, "disk_full", 0);
	token = mint(&server, id, "files/upload", "?path=new");
	struct reply full SP_CLEANUP(reply_done) = server_ask(
	    &server, &(struct ask){
			 .method = "PUT", .target = token.uri, .bearer = token.token, .body = "x"});

	cr_expect(full.status == 507 && has(&full, "insufficient_storage"), "%ld", full.status);
	char *left SP_FREE = run_sync(&server, id, "ls -A");

	cr_expect_str_eq(left, "big\n");
	server_stop(&server);
}

/* Everything that was received, oldest first, without what opens doors. */
Test(log, requests)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct reply log SP_CLEANUP(reply_done) = {.status = 0};
	struct reply empty SP_CLEANUP(reply_done) = {.status = 0};
	char *big SP_FREE = calloc(1, 3 << 20);
	const char *text;

	read_log(&server, &empty);
	reply_done(&empty);
	struct mint token = mint(&server, id, "files/upload", "?path=f");
	struct reply put SP_CLEANUP(reply_done) =
	    server_ask(&server, &(struct ask){.method = "PUT",
					      .target = token.uri,
					      .bearer = token.token,
					      .body = big,
					      .body_len = 3 << 20});

	text = read_log(&server, &log);
	const char *first = strstr(text, "files/upload/token?path=f");
	const char *second = strstr(text, "/files/upload?path=f\"");

	cr_expect(put.status == 204, "%ld", put.status);
	cr_expect(first && second && first < second, "both requests in order expected: %.300s",
		  text);
	cr_expect(strstr(text, "Authorization: \\n") || strstr(text, "Authorization: \""),
		  "the header without its value expected: %.300s", text);
	cr_expect(!strstr(text, server.key) && !strstr(text, token.token),
		  "a key or token was kept");
	cr_expect(second && strstr(second, "\"cut\":true"), "a body of 3 MiB is cut");
	cr_expect(log.body.len < (2 << 20), "%zu bytes", log.body.len);
	cr_expect(has_header(&log, "x-requests-lost: 0"));
	cr_expect(!*read_log(&server, &empty), "taken twice: %.200s", sp_buf_str(&empty.body));
	server_stop(&server);
}

/* Whatever stands or fails, a reset ends it all and answers when that is proven. */
Test(reset, ends_everything)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct later *stream =
	    later_stream(&server, id, "mkfifo gate; echo on >gate; trap '' TERM; sleep 1000");
	char *on SP_FREE = run_sync(&server, id, "until [ -p gate ]; do :; done; cat gate");
	long hold = control_hold(&server, "get", "before");
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s", id);
	struct later *get = later_ask(
	    &server, &(struct ask){.method = "GET", .target = target, .bearer = server.key});

	cr_expect_str_eq(on, "on\n");
	control_await(&server, hold);
	control_fail(&server, "list", 0, "status", 500);
	cr_expect(control_do(&server, "POST", "reset", NULL) == 204);
	struct reply census SP_CLEANUP(reply_done) = ask_control(&server, "GET", "census", NULL);

	cr_expect(has(&census, "{\"sandboxes\":[],\"snapshots\":0,\"holds\":0"), "%s",
		  sp_buf_str(&census.body));
	struct reply got SP_CLEANUP(reply_done) = later_join(get);
	struct reply streamed SP_CLEANUP(reply_done) = later_join(stream);
	struct reply list SP_CLEANUP(reply_done) = ask_api(&server, "GET", "/v1/sandboxes", NULL);

	cr_expect(got.status == 200, "%ld", got.status);
	cr_expect(has(&streamed, "{\"exit_code\":137}"), "%s", sp_buf_str(&streamed.body));
	cr_expect(list.status == 200 && has(&list, "[]"), "%ld %s", list.status,
		  sp_buf_str(&list.body));
	server_stop(&server);
}
