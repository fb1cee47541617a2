/* SPDX-License-Identifier: MIT */
/* The client against a real server, which is another room's helper program. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/json.h>
#include <control/control.h>
#include <control/exchange.h>

#define HELPER SP_TEST_BIN_DIR "/fake_render_api_server_helper"

struct backend {
	struct sp_child child;
	char *dir;
	char *url;
	char *token;
	char *workspace;
};

static void read_line(int fd, struct sp_buf *line)
{
	char c;

	while (read(fd, &c, 1) == 1 && c != '\n')
		sp_buf_addc(line, c);
}

static struct backend backend_start(bool unix_socket)
{
	struct backend backend = {.child = SP_CHILD_INIT};
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;
	char listen[128] = "127.0.0.1:0";
	char tmp[128];
	const char *const argv[] = {HELPER, listen, "C", NULL};
	const char *const env[] = {tmp, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};

	cr_assert(!sp_tmp_dir("control-", &backend.dir, &err), "%s", err.message);
	if (unix_socket)
		snprintf(listen, sizeof(listen), "unix:%s/s", backend.dir);
	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", backend.dir);
	backend.child.argv = argv;
	backend.child.env = env;
	backend.child.out = SP_CHILD_PIPE;
	cr_assert(!sp_child_start(&backend.child, &err),
		  "%s; build fake_render_api_server_helper first", err.message);
	read_line(backend.child.out, &line);
	cr_assert(!sp_json_parse(sp_buf_str(&line), line.len, SP_BUF_LINE, &json, &err));
	backend.url = strdup(sp_json_str(json, "control_url"));
	backend.token = strdup(sp_json_str(json, "control_token"));
	backend.workspace = strdup(sp_json_str(json, "workspace_id"));
	return backend;
}

static void backend_stop(struct backend *backend)
{
	struct sp_error err = SP_ERROR_INIT;

	sp_child_signal(&backend->child, SIGTERM);
	cr_expect(!sp_child_wait(&backend->child, NULL, &err));
	sp_child_done(&backend->child);
	cr_expect(!rmdir(backend->dir), "something was left in %s", backend->dir);
	free(backend->dir);
	free(backend->url);
	free(backend->token);
	free(backend->workspace);
}

Test(open, urls)
{
	static const struct {
		const char *url;
		bool good;
	} rows[] = {
	    {"unix:/tmp/s", true},
	    {"http://127.0.0.1:80", true},
	    {"http://127.0.0.1:80/", true},
	    {"http://localhost:1234", true},
	    {"http://[::1]:1234", true},
	    {NULL, false},
	    {"", false},
	    {"unix:", false},
	    {"https://127.0.0.1", false},
	    {"http://127.evil.example:80", false},
	    {"http://127.0.0.1.example:80", false},
	    {"http://localhost.example", false},
	    {"http://127.0.0.1@example.com", false},
	    {"http://user@127.0.0.1", false},
	    {"http://127.0.0.1/path", false},
	    {"http://127.0.0.1/?q", false},
	    {"http://192.0.2.1", false},
	    {"http://[::2]", false},
	    {"file:///etc/passwd", false},
	    {"127.0.0.1:80", false},
	};
	char long_path[300] = "unix:/";

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_control control = SP_CONTROL_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = sp_control_open(rows[i].url, "token", "tea-x", &control, &err);

		cr_expect(rc == (rows[i].good ? 0 : SP_INVALID), "%s: got %s: %s", rows[i].url,
			  sp_code_name(rc), err.message);
		cr_expect(!strstr(err.message, "token") || strstr(err.message, "missing"));
		if (!rc)
			control.ops->close(control.self);
	}
	memset(long_path + 6, 'x', 200);
	struct sp_control control = SP_CONTROL_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_expect(sp_control_open(long_path, "token", "tea-x", &control, &err) == SP_INVALID);
	cr_expect(strstr(err.message, "107"), "%s", err.message);
	cr_expect(sp_control_open("unix:/tmp/s", "", "tea-x", &control, &err) == SP_INVALID);
	cr_expect(sp_control_open("unix:/tmp/s", "t", NULL, &control, &err) == SP_INVALID);
}

Test(open, nobody_there)
{
	struct sp_control control = SP_CONTROL_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *id = NULL;
	char *key = NULL;

	cr_assert(!sp_control_open("unix:/no/such/socket", "token", "tea-x", &control, &err));
	cr_expect(control.ops->reset(control.self, &err) == SP_UNAVAILABLE, "%s", err.message);
	control.ops->close(control.self);
	cr_expect(sp_control_new_workspace("unix:/no/such/socket", "token", &id, &key, &err) ==
		  SP_UNAVAILABLE);
	cr_expect(!id && !key);
}

static void check_table(bool unix_socket)
{
	struct backend backend = backend_start(unix_socket);
	struct sp_control control = SP_CONTROL_INIT;
	struct sp_control wrong = SP_CONTROL_INIT;
	struct sp_census census = SP_CENSUS_INIT;
	struct sp_control_requests requests = SP_CONTROL_REQUESTS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *id SP_FREE = NULL;
	char *key SP_FREE = NULL;
	uint64_t hold = 0;

	cr_assert(!sp_control_new_workspace(backend.url, backend.token, &id, &key, &err), "%s",
		  err.message);
	cr_expect(!strncmp(id, "tea-", 4) && !strncmp(key, "rnd_", 4) &&
		  strcmp(id, backend.workspace));
	cr_assert(!sp_control_open(backend.url, backend.token, id, &control, &err));
	cr_assert(!sp_control_open(backend.url, "wrong", id, &wrong, &err));
	cr_expect(wrong.ops->reset(wrong.self, &err) == SP_DENIED, "%s", err.message);
	cr_expect(!control.ops->hold(control.self, SP_STEP_RUN, SP_BEFORE, NULL, &hold, &err), "%s",
		  err.message);
	cr_expect(control.ops->hold(control.self, SP_STEP_RUN, SP_AFTER, "sbx-x", &hold, &err) ==
		  SP_NOT_FOUND);
	cr_expect(control.ops->hold(control.self, SP_STEP_MAX_, SP_AFTER, NULL, &hold, &err) ==
		  SP_INVALID);
	cr_expect(!control.ops->census(control.self, &census, &err), "%s", err.message);
	cr_expect(census.n_sandboxes == 0 && census.n_holds == 1, "%zu holds", census.n_holds);
	sp_census_done(&census);
	cr_expect(!control.ops->release(control.self, hold, &err), "%s", err.message);
	cr_expect(control.ops->release(control.self, hold, &err) == SP_NOT_FOUND);
	cr_expect(control.ops->await_held(control.self, hold, NULL, &err) == SP_NOT_FOUND);
	cr_expect(!control.ops->fail(control.self, SP_STEP_GET, 1, SP_FAIL_STATUS, 500, &err));
	cr_expect(!control.ops->fail(control.self, SP_STEP_GET, 0, -1, 0, &err));
	cr_expect(control.ops->fail(control.self, SP_STEP_GET, 0, 99, 0, &err) == SP_INVALID);
	cr_expect(control.ops->fail(control.self, SP_STEP_GET, 0, SP_FAIL_STATUS, 9, &err) ==
		  SP_INVALID);
	cr_expect(!control.ops->requests(control.self, true, &requests, &err), "%s", err.message);
	cr_expect(requests.len == 0, "%zu requests", requests.len);
	sp_control_requests_done(&requests);
	cr_expect(control.ops->set_state(control.self, "sbx-x", "suspended", &err) == SP_NOT_FOUND);
	cr_expect(!control.ops->advance(control.self, 1000, &err), "%s", err.message);
	cr_expect(!control.ops->reset(control.self, &err), "%s", err.message);
	control.ops->close(control.self);
	wrong.ops->close(wrong.self);
	backend_stop(&backend);
}

Test(table, over_a_unix_socket)
{
	check_table(true);
}

Test(table, over_loopback)
{
	check_table(false);
}

/*
 * One call of the service itself, with the workspace's key; the text of an
 * answer's member, the caller's.
 */
static char *ask_service(struct backend *backend, const char *key, const char *method,
			 const char *path, const char *text, const char *member)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct exchanger *exchanger;

	cr_assert(!exchanger_new(backend->url, key, &exchanger, &err), "%s", err.message);
	sp_buf_adds(&body, text ? text : "");
	exchange.method = method;
	exchange.path = path;
	exchange.body = text ? &body : NULL;
	cr_assert(!exchange_run(exchanger, &exchange, &err), "%s %s: %s", method, path,
		  err.message);
	exchanger_free(exchanger);
	cr_assert(!sp_json_parse(sp_buf_str(&exchange.answer), exchange.answer.len, EXCHANGE_ANSWER,
				 &json, &err));
	return strdup(sp_json_str(json, member));
}

/* A snapshot's bytes are read whole, or not at all; others can be put in their place. */
Test(snapshot, read_and_planted)
{
	struct backend backend = backend_start(true);
	struct sp_control control = SP_CONTROL_INIT;
	struct sp_census census = SP_CENSUS_INIT;
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *workspace SP_FREE = NULL, *key SP_FREE = NULL, *state = NULL;
	char text[128], path[128];

	cr_assert(!sp_control_new_workspace(backend.url, backend.token, &workspace, &key, &err));
	cr_assert(!sp_control_open(backend.url, backend.token, workspace, &control, &err));
	snprintf(text, sizeof(text), "{\"ownerId\":\"%s\"}", workspace);
	char *id SP_FREE = ask_service(&backend, key, "POST", "/v1/sandboxes", text, "id");

	snprintf(path, sizeof(path), "/v1/sandboxes/%s", id);
	do {
		free(state);
		state = ask_service(&backend, key, "GET", path, NULL, "status");
	} while (!strcmp(state, "creating"));
	cr_expect_str_eq(state, "running");
	free(state);
	snprintf(path, sizeof(path), "/v1/sandboxes/%s/snapshots", id);
	char *snapshot SP_FREE =
	    ask_service(&backend, key, "POST", path, "{\"kind\":\"runtime\",\"name\":\"n\"}", "id");

	do {
		sp_census_done(&census);
		cr_assert(!control.ops->census(control.self, &census, &err), "%s", err.message);
		cr_assert(census.n_snapshots == 1 && census.snapshots);
	} while (!strcmp(census.snapshots[0].status, "creating"));
	cr_expect_str_eq(census.snapshots[0].status, "available");
	cr_expect_str_eq(census.snapshots[0].id, snapshot);
	cr_expect_str_eq(census.snapshots[0].sandbox_id, id);
	cr_expect_str_eq(census.snapshots[0].name, "n");
	cr_expect_str_eq(census.snapshots[0].kind, "runtime");
	sp_census_done(&census);
	cr_expect(control.ops->snapshot_read(control.self, snapshot, 10, &bytes, &err) ==
		      SP_INVALID &&
		  !bytes.data);
	cr_expect(control.ops->snapshot_read(control.self, "snp-x", 10, &bytes, &err) ==
		  SP_NOT_FOUND);
	cr_expect(!control.ops->snapshot_read(control.self, snapshot, 1 << 24, &bytes, &err), "%s",
		  err.message);
	cr_expect(bytes.len > 1024 && !memcmp(bytes.data + 257, "ustar", 5), "%zu bytes",
		  bytes.len);
	sp_bytes_done(&bytes);
	cr_expect(!control.ops->snapshot_plant(control.self, snapshot, "other", 5, &err), "%s",
		  err.message);
	cr_expect(!control.ops->snapshot_read(control.self, snapshot, 5, &bytes, &err) &&
			  bytes.len == 5 && !memcmp(bytes.data, "other", 5),
		  "%zu bytes: %s", bytes.len, err.message);
	sp_bytes_done(&bytes);
	cr_expect(control.ops->snapshot_plant(control.self, "snp-x", "", 0, &err) == SP_NOT_FOUND);
	control.ops->close(control.self);
	backend_stop(&backend);
}

struct waiter {
	struct sp_control control;
	struct sp_cancel *cancel;
	uint64_t hold;
	int rc;
	struct sp_error err;
};

static void *wait_held(void *arg)
{
	struct waiter *waiter = arg;

	waiter->rc = waiter->control.ops->await_held(waiter->control.self, waiter->hold,
						     waiter->cancel, &waiter->err);
	return NULL;
}

/* A wait ends by the abort, by the deadline and by the release; other calls go on beside it. */
Test(await, ends)
{
	static const struct {
		const char *how;
		int expected;
	} rows[] = {{"abort", SP_ABORTED}, {"deadline", SP_TIMED_OUT}, {"release", SP_NOT_FOUND}};
	struct backend backend = backend_start(true);
	struct sp_control control = SP_CONTROL_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert(!sp_control_open(backend.url, backend.token, backend.workspace, &control, &err));
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct waiter waiter = {.control = control, .cancel = sp_cancel_new()};
		pthread_t thread;

		cr_assert(!control.ops->hold(control.self, SP_STEP_GET, SP_BEFORE, NULL,
					     &waiter.hold, &err));
		pthread_create(&thread, NULL, wait_held, &waiter);
		cr_expect(!control.ops->advance(control.self, 1, &err), "%s", err.message);
		if (i == 0)
			sp_cancel_abort(waiter.cancel, "enough");
		else if (i == 1)
			sp_cancel_set_deadline(waiter.cancel, sp_now());
		else
			cr_expect(!control.ops->release(control.self, waiter.hold, &err));
		pthread_join(thread, NULL);
		cr_expect(waiter.rc == rows[i].expected, "%s: %s expected, got %s: %s", rows[i].how,
			  sp_code_name(rows[i].expected), sp_code_name(waiter.rc),
			  waiter.err.message);
		cr_expect(i || !strcmp(waiter.err.message, "enough"), "%s", waiter.err.message);
		cr_expect(sp_cancel_refs(waiter.cancel) == 1, "a reference was kept");
		sp_cancel_unref(waiter.cancel);
	}
	control.ops->close(control.self);
	backend_stop(&backend);
}
