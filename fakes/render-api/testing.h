/* SPDX-License-Identifier: MIT */
/*
 * For the tests of this folder only: a server in a child on a Unix socket in
 * a private folder, and requests to it by libcurl. Every limit only turns a hang into a failure.
 */
#ifndef FAKE_RENDER_API_TESTING_H
#define FAKE_RENDER_API_TESTING_H

#include <criterion/criterion.h>
#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/json.h>

#define TEST_LIMIT_MS 60000
#define TEST_BODY ((size_t)128 << 20)
#define TEST_HELPER SP_TEST_BIN_DIR "/fake_render_api_server_helper"

struct server {
	struct sp_child child;
	/* The server's TMPDIR is below it, so that what it leaves is seen. */
	char *dir;
	char socket[108];
	char *key;
	char *workspace;
	char *control_token;
};

/* An answer; `code` says how the transfer itself ended. Freed by reply_done(). */
struct reply {
	long status;
	struct sp_buf headers;
	struct sp_buf body;
	CURLcode code;
};

/* A cancel that fires when something hangs; the caller drops it. */
static SP_UNUSED struct sp_cancel *test_limit(void)
{
	struct sp_cancel *cancel = sp_cancel_new();

	sp_cancel_set_deadline(cancel, sp_deadline_ms(TEST_LIMIT_MS));
	return cancel;
}

/* Reads one line, or everything, of a descriptor. */
static SP_UNUSED void test_read(int fd, struct sp_buf *buf, bool line)
{
	char c;

	while (read(fd, &c, 1) == 1) {
		sp_buf_addc(buf, c);
		if (line && c == '\n')
			break;
	}
}

/* Reads the line that a server prints as soon as it listens. */
static SP_UNUSED void server_read_line(struct server *server, int fd)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;

	test_read(fd, &line, true);
	cr_assert(!sp_json_parse(sp_buf_str(&line), line.len, SP_BUF_LINE, &json, &err),
		  "no JSON line from the server but `%s`: %s", sp_buf_str(&line), err.message);
	server->key = strdup(sp_json_str(json, "api_key"));
	server->workspace = strdup(sp_json_str(json, "workspace_id"));
	server->control_token = strdup(sp_json_str(json, "control_token"));
}

/* Starts a server of an era with faults (NULL-terminated, may be NULL). */
static SP_UNUSED struct server server_start(char era, const char *const *faults)
{
	struct server server = {.child = SP_CHILD_INIT};
	struct sp_error err = SP_ERROR_INIT;
	char listen[128];
	char era_text[] = {era, '\0'};
	char tmp[128];
	const char *argv[16] = {TEST_HELPER, listen, era_text};
	const char *mode = getenv("SANDPROOF_FAKE");
	char mode_text[64];
	const char *env[] = {tmp,
			     "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			     mode ? mode_text : NULL, NULL};

	for (size_t i = 0; faults && faults[i] && i < 12; i++)
		argv[3 + i] = faults[i];
	cr_assert(!sp_tmp_dir("api-test-", &server.dir, &err), "%s", err.message);
	snprintf(server.socket, sizeof(server.socket), "%s/socket", server.dir);
	snprintf(listen, sizeof(listen), "unix:%s", server.socket);
	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", server.dir);
	snprintf(mode_text, sizeof(mode_text), "SANDPROOF_FAKE=%s", mode ? mode : "");
	server.child.argv = argv;
	server.child.env = env;
	server.child.out = SP_CHILD_PIPE;
	server.child.err = dup(STDERR_FILENO);
	cr_assert(!sp_child_start(&server.child, &err), "%s", err.message);
	server_read_line(&server, server.child.out);
	return server;
}

/* TERM, and what is left in its folder is counted: nothing. */
static SP_UNUSED void server_stop(struct server *server)
{
	struct sp_error err = SP_ERROR_INIT;
	struct sp_cancel *limit = test_limit();
	struct sp_buf left SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct dirent *entry;
	int rc;
	DIR *dir;

	sp_child_signal(&server->child, SIGTERM);
	rc = sp_child_wait(&server->child, limit, &err);
	sp_child_done(&server->child);
	dir = opendir(server->dir);
	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			sp_buf_addf(&left, " %s", entry->d_name);
	if (dir)
		closedir(dir);
	sp_remove_tree(server->dir);
	sp_cancel_unref(limit);
	free(server->dir);
	free(server->key);
	free(server->workspace);
	free(server->control_token);
	cr_expect(!rc, "the server did not stop: %s", err.message);
	cr_expect(rc || server->child.code == 0, "exit code of the server: 0 expected, got %d",
		  server->child.code);
	cr_expect(!left.len, "left behind by the server:%s", sp_buf_str(&left));
}

/* libcurl's callback: into a buffer. */
static SP_UNUSED size_t test_take(char *data, size_t size, size_t n, void *arg)
{
	return sp_buf_add(arg, data, size * n) ? 0 : size * n;
}

static SP_UNUSED void reply_done(struct reply *reply)
{
	sp_buf_done(&reply->headers);
	sp_buf_done(&reply->body);
}

struct ask {
	const char *method;
	/* Path and query, or a whole URI. */
	const char *target;
	const char *bearer;
	const char *body;
	size_t body_len;
	const char *header;
};

/* A handle that is ready to go; it and the headers are the caller's. */
static SP_UNUSED CURL *test_easy(struct server *server, const struct ask *ask, struct reply *reply,
				 struct curl_slist **ret_headers)
{
	CURL *easy = curl_easy_init();
	char auth[256];
	char url[8192];

	snprintf(auth, sizeof(auth), "Authorization: Bearer %s", ask->bearer ? ask->bearer : "");
	*ret_headers = ask->bearer ? curl_slist_append(NULL, auth) : NULL;
	*ret_headers = curl_slist_append(*ret_headers, "Expect:");
	if (ask->header)
		*ret_headers = curl_slist_append(*ret_headers, ask->header);
	snprintf(url, sizeof(url), "%s%s", *ask->target == '/' ? "http://localhost" : "",
		 ask->target);
	reply->headers.ceiling = TEST_BODY;
	reply->body.ceiling = TEST_BODY;
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, server->socket);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, ask->method);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	if (ask->body || !strcmp(ask->method, "POST")) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ask->body ? ask->body : "");
		curl_easy_setopt(
		    easy, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)(ask->body_len || !ask->body ? ask->body_len : strlen(ask->body)));
	}
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *ret_headers);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, test_take);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, &reply->headers);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, test_take);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, &reply->body);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)TEST_LIMIT_MS);
	return easy;
}

/* One exchange; never asserts, so that it can run on any thread. */
static SP_UNUSED struct reply server_ask(struct server *server, const struct ask *ask)
{
	struct reply reply = {.status = 0};
	struct curl_slist *headers;
	CURL *easy = test_easy(server, ask, &reply, &headers);

	reply.code = curl_easy_perform(easy);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply.status);
	curl_easy_cleanup(easy);
	curl_slist_free_all(headers);
	return reply;
}

/* An exchange on a thread of its own. */
struct later {
	pthread_t thread;
	struct server *server;
	struct ask ask;
	char target[4096];
	char bearer[128];
	char body[8192];
	struct reply reply;
};

/* The thread of later_ask(). */
static SP_UNUSED void *later_run(void *arg)
{
	struct later *later = arg;

	later->reply = server_ask(later->server, &later->ask);
	return NULL;
}

/* Begins an exchange on a thread; texts are copied. Ended by later_join(). */
static SP_UNUSED struct later *later_ask(struct server *server, const struct ask *ask)
{
	struct later *later = calloc(1, sizeof(*later));

	later->server = server;
	later->ask = *ask;
	snprintf(later->target, sizeof(later->target), "%s", ask->target);
	snprintf(later->bearer, sizeof(later->bearer), "%s", ask->bearer);
	snprintf(later->body, sizeof(later->body), "%s", ask->body ? ask->body : "");
	later->ask.target = later->target;
	later->ask.bearer = later->bearer;
	later->ask.body = ask->body ? later->body : NULL;
	pthread_create(&later->thread, NULL, later_run, later);
	return later;
}

/* Waits for the answer and frees the exchange. */
static SP_UNUSED struct reply later_join(struct later *later)
{
	struct reply reply;

	pthread_join(later->thread, NULL);
	reply = later->reply;
	free(later);
	return reply;
}

/* A text of a JSON answer; "" when it is not there. */
static SP_UNUSED char *reply_str(const struct reply *reply, const char *name)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *text = NULL;

	if (!sp_json_parse(sp_buf_str(&reply->body), reply->body.len, TEST_BODY, &json, NULL))
		text = sp_json_str(json, name);
	return strdup(text ? text : "");
}

/* Whether the body holds a text. */
static SP_UNUSED bool has(const struct reply *reply, const char *text)
{
	return strstr(sp_buf_str(&reply->body), text);
}

/* Whether the headers hold a text, in any case of letters. */
static SP_UNUSED bool has_header(const struct reply *reply, const char *text)
{
	return strcasestr(sp_buf_str(&reply->headers), text);
}

/* A call of the admin endpoint for the server's first workspace. */
static SP_UNUSED struct reply ask_control(struct server *server, const char *method,
					  const char *tail, const char *body)
{
	char target[512];

	snprintf(target, sizeof(target), "/admin/workspaces/%s/%s", server->workspace, tail);
	return server_ask(server, &(struct ask){.method = method,
						.target = target,
						.bearer = server->control_token,
						.body = body});
}

/* A call of the control plane with the key. */
static SP_UNUSED struct reply ask_api(struct server *server, const char *method, const char *target,
				      const char *body)
{
	return server_ask(
	    server,
	    &(struct ask){.method = method, .target = target, .bearer = server->key, .body = body});
}

/* Status of a control call without an answer of interest. */
static SP_UNUSED long control_do(struct server *server, const char *method, const char *tail,
				 const char *body)
{
	struct reply reply SP_CLEANUP(reply_done) = ask_control(server, method, tail, body);

	return reply.status;
}

/* Arranges a hold for any sandbox; its number. */
static SP_UNUSED long control_hold(struct server *server, const char *step, const char *when)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"step\":\"%s\",\"when\":\"%s\"}", step, when);
	struct reply reply SP_CLEANUP(reply_done) = ask_control(server, "POST", "holds", body);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	int64_t hold = 0;

	if (!sp_json_parse(sp_buf_str(&reply.body), reply.body.len, TEST_BODY, &json, NULL))
		sp_json_int(json, "hold", &hold);
	cr_assert(hold > 0, "a hold of %s/%s: %ld %s", step, when, reply.status,
		  sp_buf_str(&reply.body));
	return (long)hold;
}

/* Waits until something stands at the hold. */
static SP_UNUSED void control_await(struct server *server, long hold)
{
	char tail[64];

	snprintf(tail, sizeof(tail), "holds/%ld", hold);
	long status = control_do(server, "GET", tail, NULL);

	cr_assert(status == 204, "awaiting hold %ld: 204 expected, got %ld", hold, status);
}

/* Lets it go. */
static SP_UNUSED void control_release(struct server *server, long hold)
{
	char tail[64];

	snprintf(tail, sizeof(tail), "holds/%ld", hold);
	long status = control_do(server, "DELETE", tail, NULL);

	cr_assert(status == 204, "releasing hold %ld: 204 expected, got %ld", hold, status);
}

/* Arranges a failure. */
static SP_UNUSED void control_fail(struct server *server, const char *step, unsigned nth,
				   const char *how, int status)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"step\":\"%s\",\"nth\":%u,\"how\":\"%s\",\"status\":%d}",
		 step, nth, how, status);
	long got = control_do(server, "POST", "failures", body);

	cr_assert(got == 204, "arranging %s of %s: 204 expected, got %ld", how, step, got);
}

/* The server never had `mb` MB. What sanitizers keep after it was freed says nothing of ours. */
static SP_UNUSED void expect_peak_below(struct server *server, size_t mb)
{
	struct sp_bytes status SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	char path[64];
	const char *line;
	size_t kb;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)server->child.pid);
	cr_assert(!sp_read_file(path, SP_BUF_LINE, &status, NULL), "%s cannot be read", path);
	line = strstr((char *)status.data, "VmHWM:");
	cr_assert(line, "%s tells no peak", path);
	kb = strtoul(line + 6, NULL, 10);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	mb = 1024;
#endif
	cr_expect(kb < mb << 10, "peak memory %zu kB, below %zu MB expected", kb, mb);
}

/*
 * Asks until the sandbox says the state; each round is an exchange, and the service bounds their
 * number.
 */
static SP_UNUSED void await_state(struct server *server, const char *id, const char *state)
{
	uint64_t limit = sp_deadline_ms(TEST_LIMIT_MS);
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s", id);
	for (;;) {
		struct reply reply SP_CLEANUP(reply_done) = ask_api(server, "GET", target, NULL);
		char *status SP_FREE = reply_str(&reply, "status");

		if (!strcmp(status, state))
			return;
		cr_assert(sp_now() < limit && reply.status == 200, "%s never became %s: %s", id,
			  state, sp_buf_str(&reply.body));
	}
}

/* A running sandbox; its id is the caller's. `more` is ",\"k\":v" or "". */
static SP_UNUSED char *make_sandbox_with(struct server *server, const char *more)
{
	char body[1024];

	snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"%s}", server->workspace, more);
	struct reply reply SP_CLEANUP(reply_done) = ask_api(server, "POST", "/v1/sandboxes", body);
	char *id = reply_str(&reply, "id");

	cr_assert(reply.status == 201, "creating a sandbox: %ld %s", reply.status,
		  sp_buf_str(&reply.body));
	return id;
}

/* A running sandbox with every default; its id is the caller's. */
static SP_UNUSED char *make_sandbox(struct server *server)
{
	char *id = make_sandbox_with(server, "");

	await_state(server, id, "running");
	return id;
}

/* The group of a sandbox; the caller's. */
static SP_UNUSED char *group_id(struct server *server, const char *id)
{
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s", id);
	struct reply reply SP_CLEANUP(reply_done) = ask_api(server, "GET", target, NULL);

	return reply_str(&reply, "sandboxGroupId");
}

/* Begins a snapshot (`body` NULL: of kind filesystem); its id is the caller's. */
static SP_UNUSED char *begin_snapshot(struct server *server, const char *id, const char *body)
{
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s/snapshots", id);
	struct reply reply SP_CLEANUP(reply_done) =
		ask_api(server, "POST", target, body ? body : "{\"kind\":\"filesystem\"}");
	char *snapshot = reply_str(&reply, "id");

	cr_assert(reply.status == 202 && has(&reply, "\"status\":\"creating\""),
		  "a snapshot of %s: %ld %s", id, reply.status, sp_buf_str(&reply.body));
	return snapshot;
}

/* A call for one snapshot of a group. */
static SP_UNUSED struct reply ask_snapshot(struct server *server, const char *method,
					   const char *group, const char *snapshot)
{
	char target[256];

	snprintf(target, sizeof(target), "/v1/sandbox-groups/%s/snapshots/%s", group, snapshot);
	return ask_api(server, method, target, NULL);
}

/* Asks until it is creating no longer; each round is an exchange. */
static SP_UNUSED struct reply await_snapshot(struct server *server, const char *group,
					     const char *snapshot)
{
	uint64_t limit = sp_deadline_ms(TEST_LIMIT_MS);

	for (;;) {
		struct reply reply = ask_snapshot(server, "GET", group, snapshot);

		if (!has(&reply, "\"status\":\"creating\""))
			return reply;
		reply_done(&reply);
		cr_assert(sp_now() < limit, "%s is creating for ever", snapshot);
	}
}

/* A complete snapshot; its id is the caller's. */
static SP_UNUSED char *take_snapshot(struct server *server, const char *id, const char *body)
{
	char *snapshot = begin_snapshot(server, id, body);
	char *group SP_FREE = group_id(server, id);
	struct reply reply SP_CLEANUP(reply_done) = await_snapshot(server, group, snapshot);

	cr_assert(has(&reply, "\"status\":\"available\""), "%s: %s", snapshot,
		  sp_buf_str(&reply.body));
	return snapshot;
}

/* A running sandbox restored from a snapshot; the caller's. */
static SP_UNUSED char *restore_snapshot(struct server *server, const char *snapshot)
{
	char more[128];

	snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", snapshot);
	char *id = make_sandbox_with(server, more);

	await_state(server, id, "running");
	return id;
}

/* What a mint gave. */
struct mint {
	long status;
	char uri[4096];
	char token[64];
	char exec[32];
};

/* Mints a token: `what` is "runs/stream" and so on, `query` "" or "?path=…". */
static SP_UNUSED struct mint mint(struct server *server, const char *id, const char *what,
				  const char *query)
{
	struct mint mint = {.status = 0};
	char target[4096];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s/%s/token%s", id, what, query);
	struct reply reply SP_CLEANUP(reply_done) = ask_api(server, "POST", target, NULL);
	char *uri SP_FREE = reply_str(&reply, "uri");
	char *token SP_FREE = reply_str(&reply, "token");
	char *exec SP_FREE = reply_str(&reply, "executionId");

	mint.status = reply.status;
	snprintf(mint.uri, sizeof(mint.uri), "%s", uri);
	snprintf(mint.token, sizeof(mint.token), "%s", token);
	snprintf(mint.exec, sizeof(mint.exec), "%s", exec);
	return mint;
}

/* The body that runs a command. */
static SP_UNUSED void run_body(struct sp_buf *buf, const char *command)
{
	sp_buf_adds(buf, "{\"command\":");
	sp_buf_add_json(buf, command, strlen(command));
	sp_buf_addc(buf, '}');
}

/* Runs a command by its own mint; `kind` is "stream" or "sync". */
static SP_UNUSED struct reply run_kind(struct server *server, const char *id, const char *kind,
				       const char *command)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	char what[32];

	snprintf(what, sizeof(what), "runs/%s", kind);
	struct mint token = mint(server, id, what, "");

	run_body(&body, command);
	return server_ask(server, &(struct ask){.method = "POST",
						.target = token.uri,
						.bearer = token.token,
						.body = sp_buf_str(&body),
						.body_len = body.len});
}

/* Runs a command and reads its stream to the end. */
static SP_UNUSED struct reply run_stream(struct server *server, const char *id, const char *command)
{
	return run_kind(server, id, "stream", command);
}

/* Same, on a thread. */
static SP_UNUSED struct later *later_stream(struct server *server, const char *id,
					    const char *command)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct mint token = mint(server, id, "runs/stream", "");

	run_body(&body, command);
	return later_ask(server, &(struct ask){.method = "POST",
					       .target = token.uri,
					       .bearer = token.token,
					       .body = sp_buf_str(&body)});
}

/* Its output on both streams, joined; the caller's. */
static SP_UNUSED char *run_sync(struct server *server, const char *id, const char *command)
{
	struct reply reply SP_CLEANUP(reply_done) = run_kind(server, id, "sync", command);

	cr_assert(reply.status == 200, "running `%s`: %ld %s", command, reply.status,
		  sp_buf_str(&reply.body));
	return reply_str(&reply, "stdout");
}

#endif
