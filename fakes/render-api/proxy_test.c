/* SPDX-License-Identifier: MIT */
/* Commands, tokens and files through the proxy. */
#include <fakes/render-api/testing.h>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

Test(run, stream)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox_with(&server, ",\"env\":{\"GREETING\":\"grüß\"}");

	await_state(&server, id, "running");
	struct reply reply SP_CLEANUP(reply_done) =
	    run_stream(&server, id, "printf '%s\\n' \"$GREETING\"; pwd; exit 7");

	cr_expect(reply.status == 200 && reply.code == CURLE_OK, "200 expected, got %ld: %s",
		  reply.status, curl_easy_strerror(reply.code));
	cr_expect(has_header(&reply, "\r\nContent-Type: text/event-stream\r\n"));
	cr_expect(has_header(&reply, "\r\nConnection: close\r\n"));
	cr_expect(has(&reply, "event: output\ndata: {\"stream\":\"stdout\",\"data\":\"grüß\\n"),
		  "%s", sp_buf_str(&reply.body));
	cr_expect(has(&reply, "event: exit\ndata: {\"exit_code\":7}\n\n"), "%s",
		  sp_buf_str(&reply.body));
	struct reply killed SP_CLEANUP(reply_done) = run_stream(&server, id, "kill -TERM $$");

	cr_expect(has(&killed, "{\"exit_code\":143}"), "%s", sp_buf_str(&killed.body));
	server_stop(&server);
}

Test(run, sync)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct reply reply SP_CLEANUP(reply_done) =
	    run_kind(&server, id, "sync", "echo out; echo err >&2; printf '\\377'; exit 3");

	cr_expect(has(&reply, "\"stdout\":\"out\\n\xef\xbf\xbd\"") &&
		      has(&reply, "\"stderr\":\"err\\n\"") && has(&reply, "\"exit_code\":3"),
		  "%ld %s", reply.status, sp_buf_str(&reply.body));
	struct reply large SP_CLEANUP(reply_done) =
	    run_kind(&server, id, "sync", "head -c 5000000 /dev/zero");

	cr_expect(large.status == 500 && has(&large, "output_too_large"), "%ld", large.status);
	server_stop(&server);
}

static long run_with(struct server *server, const char *uri, const char *token, const char *body)
{
	struct reply reply SP_CLEANUP(reply_done) = server_ask(
	    server, &(struct ask){.method = "POST", .target = uri, .bearer = token, .body = body});

	return reply.status;
}

Test(run, bad_bodies)
{
	static const struct {
		const char *body;
		long status;
	} rows[] = {
	    {"{}", 400},
	    {"", 400},
	    {"{\"command\":null}", 400},
	    {"{\"command\":[\"true\"]}", 400},
	    {"{\"command\":\"\\u0000\"}", 400},
	    {"{\"command\":\"\\ud800\"}", 400},
	    {"{\"command\":\"\xff\"}", 400},
	    {"{\"command\":\"true\"", 400},
	    {"{\"command\":\"true\"}", 200},
	};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct mint token = mint(&server, id, "runs/stream", "");
		long status = run_with(&server, token.uri, token.token, rows[i].body);

		cr_expect(status == rows[i].status, "`%s`: %ld expected, got %ld", rows[i].body,
			  rows[i].status, status);
	}
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	sp_buf_adds(&command, ": ");
	for (int i = 0; i < 14000; i++)
		sp_buf_adds(&command, "0123456789");
	struct reply reply SP_CLEANUP(reply_done) = run_stream(&server, id, sp_buf_str(&command));

	cr_expect(reply.status == 400, "too long for one argument: 400 expected, got %ld %s",
		  reply.status, sp_buf_str(&reply.body));
	server_stop(&server);
}

/* A token is for one operation on one sandbox and path, once, for 300 seconds. */
Test(token, bounds)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *other SP_FREE = make_sandbox(&server);
	static const char body[] = "{\"command\":\"true\"}";
	struct mint token = mint(&server, id, "runs/stream", "");
	struct mint second = mint(&server, id, "runs/stream", "");
	struct mint upload = mint(&server, id, "files/upload", "?path=a");
	char uri[256];

	cr_expect(run_with(&server, token.uri, token.token, body) == 200);
	cr_expect(run_with(&server, token.uri, token.token, body) == 401, "used twice");
	snprintf(uri, sizeof(uri), "/proxy/%s/runs/stream", other);
	cr_expect(run_with(&server, uri, second.token, body) == 401, "used elsewhere");
	snprintf(uri, sizeof(uri), "/proxy/%s/runs/sync", id);
	cr_expect(run_with(&server, uri, second.token, body) == 401, "used for another kind");
	snprintf(uri, sizeof(uri), "/proxy/%s/files/upload?path=b", id);
	struct reply put SP_CLEANUP(reply_done) = server_ask(
	    &server,
	    &(struct ask){.method = "PUT", .target = uri, .bearer = upload.token, .body = "x"});

	cr_expect(put.status == 401, "used for another path: got %ld", put.status);
	cr_expect(control_do(&server, "POST", "clock", "{\"advance_ms\":299000}") == 204);
	cr_expect(run_with(&server, second.uri, second.token, body) == 200, "a second early");
	second = mint(&server, id, "runs/stream", "");
	cr_expect(control_do(&server, "POST", "clock", "{\"advance_ms\":300000}") == 204);
	cr_expect(run_with(&server, second.uri, second.token, body) == 401, "too late");
	server_stop(&server);
}

/* The text that ran is on the timeline, cut at 4 KB and at a character, whatever the mint said. */
Test(token, timeline)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	char target[128];

	sp_buf_adds(&command, ":");
	while (command.len < 5000)
		sp_buf_adds(&command, " ü");
	struct reply run SP_CLEANUP(reply_done) = run_stream(&server, id, sp_buf_str(&command));

	snprintf(target, sizeof(target), "/v1/sandboxes/%s/execs", id);
	struct reply execs SP_CLEANUP(reply_done) = ask_api(&server, "GET", target, NULL);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;

	sp_json_parse(execs.body.data, execs.body.len, TEST_BODY, &json, NULL);
	const char *text =
	    sp_json_str(cJSON_GetObjectItem(cJSON_GetArrayItem(json, 0), "execution"), "command");

	cr_assert(text, "no command in %s", sp_buf_str(&execs.body));
	/* ":" and whole " ü" of three bytes: 4096 = 1 + 3 * 1365. */
	cr_expect(strlen(text) == 4096 && !strncmp(text, sp_buf_str(&command), 4096),
		  "4096 bytes expected, got %zu", strlen(text));
	server_stop(&server);
}

static struct reply put_file(struct server *server, const char *id, const char *path,
			     const char *data, size_t len)
{
	char query[256];

	snprintf(query, sizeof(query), "?path=%s", path);
	struct mint token = mint(server, id, "files/upload", query);

	return server_ask(server,
			  &(struct ask){.method = "PUT",
					.target = token.uri,
					.bearer = token.token,
					.body = data,
					.body_len = len,
					.header = "Content-Type: application/octet-stream"});
}

static struct reply get_file(struct server *server, const char *id, const char *path)
{
	char query[256];

	snprintf(query, sizeof(query), "?path=%s", path);
	struct mint token = mint(server, id, "files/download", query);

	return server_ask(
	    server, &(struct ask){.method = "GET", .target = token.uri, .bearer = token.token});
}

static char *pattern(size_t len)
{
	char *data = malloc(len);
	uint32_t state = 1;

	for (size_t i = 0; i < len; i++) {
		state = state * 1664525U + 1013904223U;
		data[i] = (char)(state >> 24);
	}
	return data;
}

Test(files, round_trips)
{
	static const size_t sizes[] = {0, 1, 4095, 70000, 5000000};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);

	for (size_t i = 0; i < SP_COUNT(sizes); i++) {
		char *data SP_FREE = pattern(sizes[i] + 1);
		/* Without a length of its own the client would count the text. */
		struct reply put SP_CLEANUP(reply_done) =
		    put_file(&server, id, "dir-less", sizes[i] ? data : "", sizes[i]);
		struct reply got SP_CLEANUP(reply_done) = get_file(&server, id, "dir-less");

		cr_expect(put.status == 204, "%zu bytes: 204 expected, got %ld %s", sizes[i],
			  put.status, sp_buf_str(&put.body));
		cr_expect(got.status == 200 && got.body.len == sizes[i] &&
			      !memcmp(sp_buf_str(&got.body), data, sizes[i]),
			  "%zu bytes: got %ld with %zu bytes", sizes[i], got.status, got.body.len);
		cr_expect(has_header(&got, "\r\nContent-Type: application/octet-stream\r\n"));
		cr_expect(has_header(&got, "attachment; filename=\"dir-less\""));
	}
	char *mode SP_FREE = run_sync(&server, id, "stat -c '%a %u' dir-less; id -u");

	/* Ours, and nobody else's. */
	cr_expect(!strncmp(mode, "600 ", 4) && strlen(mode) > 6 &&
		      !strncmp(mode + 4, strchr(mode, '\n') + 1, strlen(mode + 4) / 2),
		  "%s", mode);
	server_stop(&server);
}

Test(files, errors)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE = run_sync(&server, id, "mkdir d && mkfifo f && echo made");
	struct reply missing SP_CLEANUP(reply_done) = get_file(&server, id, "no%2Fsuch");
	struct reply no_folder SP_CLEANUP(reply_done) =
	    put_file(&server, id, "no%2Fsuch%2Ffile", "x", 1);
	struct reply folder SP_CLEANUP(reply_done) = put_file(&server, id, "d", "x", 1);
	struct reply fifo SP_CLEANUP(reply_done) = get_file(&server, id, "f");
	struct mint token = mint(&server, id, "files/upload", "?path=t");
	struct reply tar SP_CLEANUP(reply_done) =
	    server_ask(&server, &(struct ask){.method = "PUT",
					      .target = token.uri,
					      .bearer = token.token,
					      .body = "x",
					      .header = "Content-Type: application/x-tar"});

	cr_expect_str_eq(made, "made\n");
	cr_expect(missing.status == 404 && has(&missing, "file_not_found"), "%ld", missing.status);
	cr_expect(no_folder.status == 404 && has(&no_folder, "file_not_found"), "%ld %s",
		  no_folder.status, sp_buf_str(&no_folder.body));
	cr_expect(folder.status == 409, "%ld %s", folder.status, sp_buf_str(&folder.body));
	cr_expect(fifo.status == 400, "%ld %s", fifo.status, sp_buf_str(&fifo.body));
	cr_expect(tar.status == 400 && has(&tar, "invalid_archive"), "%ld %s", tar.status,
		  sp_buf_str(&tar.body));
	server_stop(&server);
}

/* "type name size" a line, sorted by the walk. */
static void list_archive(const struct sp_buf *body, struct sp_buf *out)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;

	archive_read_support_filter_gzip(archive);
	archive_read_support_format_tar(archive);
	cr_expect(!archive_read_open_memory(archive, body->data, body->len), "%s",
		  archive_error_string(archive));
	while (archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
		char data[64] = "";
		const char *target = archive_entry_symlink(entry);

		if (archive_entry_filetype(entry) == AE_IFREG)
			archive_read_data(archive, data, sizeof(data) - 1);
		sp_buf_addf(out, "%o %s %s\n", archive_entry_mode(entry),
			    archive_entry_pathname(entry), target ? target : data);
	}
	archive_read_free(archive);
}

Test(files, a_folder_is_an_archive)
{
	static const char *const expected[] = {"40700 a/ \n", "100640 a/file text\n",
					       "120777 a/link ../../etc/passwd\n",
					       "40755 empty/ \n"};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct sp_buf list SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char *made SP_FREE = run_sync(
	    &server, id,
	    "umask 022; mkdir -p t/a t/empty && cd t && printf text >a/file && chmod 640 a/file && "
	    "chmod 700 a && ln -s ../../etc/passwd a/link && mkfifo a/queue && echo made");
	struct reply got SP_CLEANUP(reply_done) = get_file(&server, id, "t");

	cr_expect_str_eq(made, "made\n");
	cr_expect(got.status == 200 &&
		      has_header(&got, "\r\nContent-Type: application/x-tar\r\n") &&
		      has_header(&got, "\r\nContent-Encoding: gzip\r\n"),
		  "%ld\n%s", got.status, sp_buf_str(&got.headers));
	list_archive(&got.body, &list);
	for (size_t i = 0; i < SP_COUNT(expected); i++)
		cr_expect(strstr(sp_buf_str(&list), expected[i]), "`%s` expected in\n%s",
			  expected[i], sp_buf_str(&list));
	cr_expect(!strstr(sp_buf_str(&list), "queue"), "a queue was archived");
	server_stop(&server);
}

/* A suspended sandbox sleeps through looks and mints; the use of a token wakes it. */
Test(wake, by_a_run)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char body[256];

	snprintf(body, sizeof(body), "{\"sandbox_id\":\"%s\",\"state\":\"suspended\"}", id);
	cr_expect(control_do(&server, "POST", "state", body) == 204);
	struct mint token = mint(&server, id, "runs/stream", "");

	await_state(&server, id, "suspended");
	long hold = control_hold(&server, "resume", "before");
	struct later *run = later_ask(&server, &(struct ask){.method = "POST",
							     .target = token.uri,
							     .bearer = token.token,
							     .body = "{\"command\":\"true\"}"});

	control_await(&server, hold);
	await_state(&server, id, "resuming");
	control_release(&server, hold);
	struct reply reply SP_CLEANUP(reply_done) = later_join(run);

	cr_expect(has(&reply, "{\"exit_code\":0}"), "%ld %s", reply.status,
		  sp_buf_str(&reply.body));
	await_state(&server, id, "running");
	cr_expect(control_do(&server, "POST", "state", body) == 204);
	struct reply put SP_CLEANUP(reply_done) = put_file(&server, id, "x", "y", 1);

	cr_expect(put.status == 204, "an upload wakes: got %ld", put.status);
	await_state(&server, id, "running");
	server_stop(&server);
}

/* Lifetime and idle time go by the workspace's clock. */
Test(wake, clock)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox_with(&server, ",\"timeoutSeconds\":3600");

	await_state(&server, id, "running");
	cr_expect(control_do(&server, "POST", "clock", "{\"advance_ms\":900000}") == 204);
	await_state(&server, id, "suspended");
	char *out SP_FREE = run_sync(&server, id, "echo awake");

	cr_expect_str_eq(out, "awake\n");
	await_state(&server, id, "running");
	cr_expect(control_do(&server, "POST", "clock", "{\"advance_ms\":3600000}") == 204);
	await_state(&server, id, "terminated");
	server_stop(&server);
}

/* A body of JSON is bounded; beyond it nothing is kept, and the rest is read all the same. */
Test(run, a_body_beyond_the_bound_is_refused)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT((size_t)40 << 20);
	struct mint token = mint(&server, id, "runs/stream", "");

	sp_buf_adds(&body, "{\"command\":\"true\",\"x\":\"");
	while (body.len < (size_t)30 << 20)
		sp_buf_adds(&body, "0123456789abcdef0123456789abcdef0123456789abcdef");
	sp_buf_adds(&body, "\"}");
	struct reply reply SP_CLEANUP(reply_done) =
	    server_ask(&server, &(struct ask){.method = "POST",
					      .target = token.uri,
					      .bearer = token.token,
					      .body = sp_buf_str(&body),
					      .body_len = body.len});

	cr_expect(reply.status == 413 && has(&reply, "\"code\":\"body_too_large\""), "%ld %s",
		  reply.status, sp_buf_str(&reply.body));
	expect_peak_below(&server, 20);
	server_stop(&server);
}
