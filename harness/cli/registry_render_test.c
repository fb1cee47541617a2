/* SPDX-License-Identifier: MIT */
/*
 * Wrong addresses, keys, workspaces and clocks of `--provider render:URL`, from outside: one clear
 * line, exit 3, and nothing was made. And the right ones, with control.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/json.h>
#include <base/testing.h>
#include <control/control.h>
#include <providers/render/render.h>
#include <providers/render/tree.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"
#define OUTPUT_MAX (4 * 1024 * 1024)
#define ONE_CASE "exec.code.syntax-error"

/* Limit that turns a hang into a failure. */
#define LIMIT_MS 120000

/* A fake server on TCP, started by hand. */
struct fake {
	struct sp_child child;
	char *base_url, *key, *workspace, *control_url, *control_token;
};

SP_TEST_SUITE_WITH_STATE(render, .timeout = 250);

static char *text_of(const cJSON *json, const char *name)
{
	const char *text = sp_json_str(json, name);

	return strdup(text ? text : "");
}

static struct fake fake_start(void)
{
	static const char *const argv[] = { PROGRAM, "fake-api", "--json", "--die-with-parent",
					    NULL };
	struct fake fake = { .child = SP_CHILD_INIT };
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;
	char c;

	fake.child.argv = argv;
	fake.child.out = SP_CHILD_PIPE;
	cr_assert(!sp_child_start(&fake.child, &err), "%s", err.message);
	while (read(fake.child.out, &c, 1) == 1 && c != '\n')
		sp_buf_addc(&line, c);
	cr_assert(!sp_json_parse(sp_buf_str(&line), line.len, SP_BUF_LINE, &json, &err), "%s: %s",
		  sp_buf_str(&line), err.message);
	fake.base_url = text_of(json, "base_url");
	fake.key = text_of(json, "api_key");
	fake.workspace = text_of(json, "workspace_id");
	fake.control_url = text_of(json, "control_url");
	fake.control_token = text_of(json, "control_token");
	return fake;
}

static void fake_stop(struct fake *fake)
{
	struct sp_cancel *limit = sp_cancel_new();

	sp_cancel_set_deadline(limit, sp_deadline_ms(LIMIT_MS));
	sp_child_signal(&fake->child, SIGTERM);
	sp_child_wait(&fake->child, limit, NULL);
	sp_child_done(&fake->child);
	sp_cancel_unref(limit);
	free(fake->base_url);
	free(fake->key);
	free(fake->workspace);
	free(fake->control_url);
	free(fake->control_token);
}

/* ---- a server that says one thing to everybody ---- */

struct parrot {
	pthread_t thread;
	int fd;
	char url[64];
	char answer[512];
};

static void *parrot_run(void *arg)
{
	struct parrot *parrot = arg;
	char request[4096];
	int fd;

	while ((fd = accept(parrot->fd, NULL, NULL)) >= 0) {
		/* One read is enough: a request without a body comes in one piece. */
		if (read(fd, request, sizeof(request)) > 0)
			(void)sp_write_all(fd, parrot->answer, strlen(parrot->answer));
		close(fd);
	}
	return NULL;
}

static void parrot_start(struct parrot *parrot)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	parrot->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(!bind(parrot->fd, (struct sockaddr *)&address, len) &&
			  !listen(parrot->fd, 16) &&
			  !getsockname(parrot->fd, (struct sockaddr *)&address, &len),
		  "%s", strerror(errno));
	snprintf(parrot->url, sizeof(parrot->url), "http://127.0.0.1:%d/v1",
		 ntohs(address.sin_port));
	pthread_create(&parrot->thread, NULL, parrot_run, parrot);
}

static void parrot_stop(struct parrot *parrot)
{
	shutdown(parrot->fd, SHUT_RDWR);
	pthread_join(parrot->thread, NULL);
	close(parrot->fd);
}

/* ---- the program ---- */

static struct sp_run_result run_one(const char *url, const char *key, const char *workspace,
				    const struct fake *control)
{
	char spec[256], key_text[128], workspace_text[128], token_text[128];
	const char *argv[20] = { "env", key_text, workspace_text, token_text, PROGRAM, "run",
				 "--jobs", "1", "--case", ONE_CASE, "--provider", spec };

	snprintf(spec, sizeof(spec), "render:%s", url);
	snprintf(key_text, sizeof(key_text), "RENDER_API_KEY=%s", key);
	snprintf(workspace_text, sizeof(workspace_text), "RENDER_WORKSPACE_ID=%s", workspace);
	snprintf(token_text, sizeof(token_text), "SANDPROOF_CONTROL_TOKEN=%s",
		 control ? control->control_token : "");
	if (control) {
		argv[12] = "--control";
		argv[13] = control->control_url;
	}
	return sp_test_run(argv);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

/* One line of an error, which says this; exit 3; no case ran; the key is nowhere. */
static void expect_refused(const char *what, struct sp_run_result *r, const char *key,
			   const char *says)
{
	cr_expect(r->code == 3, "%s: exit 3 expected, got %d\n%s%s", what, r->code, r->out,
		  r->err);
	cr_expect(count(r->out, "error") == 1 && !*r->err, "%s: one error expected in\n%s%s", what,
		  r->out, r->err);
	cr_expect(strstr(r->out, says), "%s: `%s` expected in\n%s", what, says, r->out);
	cr_expect(strstr(r->out, "0 passed, 0 failed, 0 skipped\n"), "%s:\n%s", what, r->out);
	cr_expect(!strstr(r->out, key) && !strstr(r->err, key), "%s: the key is in\n%s%s", what,
		  r->out, r->err);
	sp_run_result_done(r);
}

/* Sandboxes that are, or were, in the fake's first workspace. */
static size_t made(const struct fake *fake)
{
	struct sp_control control = SP_CONTROL_INIT;
	struct sp_control_requests requests = SP_CONTROL_REQUESTS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	size_t n = 0;

	cr_assert(!sp_control_open(fake->control_url, fake->control_token, fake->workspace,
				   &control, &err) &&
			  !control.ops->requests(control.self, true, &requests, &err),
		  "%s", err.message);
	for (size_t i = 0; i < requests.len; i++)
		n += !strcmp(requests.items[i].method, "POST");
	sp_control_requests_done(&requests);
	control.ops->close(control.self);
	return n;
}

/* Turns a fault of the fake on for its first workspace. */
static void turn_on(const struct fake *fake, const char *fault)
{
	char url[256], auth[128], body[128];
	const char *argv[] = { "env", "bash", "-c",
			       "exec 3<>\"/dev/tcp/127.0.0.1/$1\" && printf '%s' \"$2\" >&3 && "
			       "read -r -u 3 line && [[ $line == *204* ]]",
			       "bash", url, auth, NULL };
	struct sp_run_result result = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	char request[1024];

	snprintf(url, sizeof(url), "%s", strrchr(fake->control_url, ':') + 1);
	snprintf(body, sizeof(body), "{\"fault\":\"%s\",\"on\":true}", fault);
	snprintf(request, sizeof(request),
		 "POST /admin/workspaces/%s/faults HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		 "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
		 fake->workspace, fake->control_token, strlen(body), body);
	argv[6] = request;
	cr_assert(!sp_run(argv, NULL, NULL, 0, OUTPUT_MAX, NULL, &result, &err), "%s",
		  err.message);
	cr_assert(result.code == 0, "turning %s on: %s%s", fault, result.out, result.err);
	sp_run_result_done(&result);
}

Test(render, a_fake_started_by_hand_serves)
{
	struct fake fake = fake_start();
	struct sp_run_result r = run_one(fake.base_url, fake.key, fake.workspace, NULL);

	cr_expect(r.code == 0 && strstr(r.out, "1 passed, 0 failed, 0 skipped\n"), "%d\n%s%s",
		  r.code, r.out, r.err);
	sp_run_result_done(&r);
	/* With control every worker has a key of its own: the environment's is not used. */
	r = run_one(fake.base_url, "rnd_unused", "tea-unused", &fake);
	cr_expect(r.code == 0 && strstr(r.out, "1 passed, 0 failed, 0 skipped\n"), "%d\n%s%s",
		  r.code, r.out, r.err);
	sp_run_result_done(&r);
	fake_stop(&fake);
}

Test(render, what_is_wrong_is_told_once)
{
	struct fake fake = fake_start();
	char *no_version = strndup(fake.base_url, strlen(fake.base_url) - 3);
	const struct {
		const char *what, *url, *key, *workspace, *says;
	} rows[] = {
		{ "bad key", fake.base_url, "rnd_hunter22hunter22", fake.workspace,
		  "the key is not accepted (status 401): look at RENDER_API_KEY" },
		{ "wrong workspace", fake.base_url, fake.key, "tea-00000000000000000000",
		  "has no access to workspace tea-00000000000000000000 (status 403)" },
		{ "base URL without /v1", no_version, fake.key, fake.workspace,
		  "its base URL ends in /v1" },
		{ "nobody there", "http://127.0.0.1:1/v1", fake.key, fake.workspace,
		  "no connection" },
		{ "no socket there", "unix:/nonexistent/api", fake.key, fake.workspace,
		  "no connection" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_run_result r =
			run_one(rows[i].url, rows[i].key, rows[i].workspace, NULL);

		expect_refused(rows[i].what, &r, rows[i].key, rows[i].says);
	}
	turn_on(&fake, "no-entitlement");
	struct sp_run_result r = run_one(fake.base_url, fake.key, fake.workspace, NULL);

	expect_refused("no entitlement", &r, fake.key,
		       "is not there, or is not entitled to sandboxes (status 404)");
	cr_expect(made(&fake) == 0, "something was asked for: %zu", made(&fake));
	free(no_version);
	fake_stop(&fake);
}

Test(render, what_answers_may_be_somebody_else)
{
	static const struct {
		const char *what, *status, *type, *body, *says;
	} rows[] = {
		{ "a login page", "200 OK", "text/html", "<html>log in</html>", "is not the API" },
		{ "a proxy", "407 Proxy Authentication Required", "text/html", "<html></html>",
		  "is not the API" },
		{ "an edge", "403 Forbidden", "text/html", "<html></html>", "is not the API" },
		{ "an error page", "503 Unavailable", "text/plain", "down", "is not the API" },
		{ "another service", "200 OK", "application/json", "{\"ok\":true}",
		  "is not the API" },
		{ "a redirect", "302 Found\r\nLocation: http://127.0.0.1:1/", "text/html", "",
		  "redirects are refused" },
		{ "a service that is down", "503 Unavailable", "application/json",
		  "{\"message\":\"maintenance\"}", "status 503: maintenance" },
	};
	struct parrot parrot = { .fd = -1 };

	parrot_start(&parrot);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		snprintf(parrot.answer, sizeof(parrot.answer),
			 "HTTP/1.1 %s\r\nContent-Type: %s\r\nrender-request-id: x\r\n"
			 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
			 rows[i].status, rows[i].type, strlen(rows[i].body), rows[i].body);
		struct sp_run_result r =
			run_one(parrot.url, "rnd_hunter22hunter22", "tea-x", NULL);

		expect_refused(rows[i].what, &r, "hunter22", rows[i].says);
	}
	parrot_stop(&parrot);
}

Test(render, clocks_agree)
{
	static const struct {
		int64_t off_s;
		const char *says;
	} rows[] = {
		{ 3600, " s behind the service's" },
		{ -3600, " s ahead of the service's" },
	};
	struct parrot parrot = { .fd = -1 };

	parrot_start(&parrot);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		time_t then = (time_t)(sp_wall_ms() / 1000 + rows[i].off_s);
		char date[64];
		struct tm tm;

		strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &tm));
		snprintf(parrot.answer, sizeof(parrot.answer),
			 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: %s\r\n"
			 "Content-Length: 2\r\nConnection: close\r\n\r\n[]",
			 date);
		struct sp_run_result r =
			run_one(parrot.url, "rnd_hunter22hunter22", "tea-x", NULL);

		expect_refused("clock skew", &r, "hunter22", rows[i].says);
	}
	parrot_stop(&parrot);
}

Test(render, a_port_in_use)
{
	struct parrot parrot = { .fd = -1 };
	struct sp_run_result r = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	char address[64];

	parrot_start(&parrot);
	snprintf(address, sizeof(address), "%.*s", (int)strcspn(parrot.url + 7, "/"),
		 parrot.url + 7);
	const char *argv[] = { PROGRAM, "fake-api", "--listen", address, NULL };

	cr_expect(!sp_run(argv, NULL, NULL, 0, OUTPUT_MAX, NULL, &r, &err), "%s", err.message);
	cr_expect(r.code == 3 && count(r.err, "\n") == 1 && strstr(r.err, address) &&
			  strstr(r.err, "in use"),
		  "exit 3 and one line expected, got %d\n%s%s", r.code, r.out, r.err);
	sp_run_result_done(&r);
	parrot_stop(&parrot);
}

/* ---- folders and files, there and back ---- */

struct scene {
	struct fake fake;
	struct sp_provider provider;
	struct sp_sandbox sandbox;
	struct sp_control control;
	char *folder;
};

static void scene_open(struct scene *s)
{
	struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	*s = (struct scene){ .fake = fake_start() };
	options.base_url = s->fake.base_url;
	options.token = s->fake.key;
	options.owner_id = s->fake.workspace;
	options.poll_ms = 2;
	cr_assert(!sp_tmp_dir("cli-tree-", &s->folder, &err) &&
			  !sp_render_open(&options, &s->provider, &err) &&
			  !s->provider.ops->create(s->provider.self, &create, &s->sandbox,
						   &err) &&
			  !sp_control_open(s->fake.control_url, s->fake.control_token,
					   s->fake.workspace, &s->control, &err),
		  "%s", err.message);
}

static void scene_close(struct scene *s)
{
	s->control.ops->close(s->control.self);
	s->sandbox.ops->destroy(s->sandbox.self, NULL, NULL);
	s->sandbox.ops->close(s->sandbox.self);
	s->provider.ops->close(s->provider.self);
	sp_remove_tree(s->folder);
	free(s->folder);
	fake_stop(&s->fake);
}

/* Runs a text of the shell in the scene's folder on this machine; it has to succeed. */
static void shell(const struct scene *s, const char *text)
{
	const char *argv[] = { "bash", "-c", "cd \"$1\" && eval \"$2\"", "bash", s->folder, text,
			       NULL };
	struct sp_run_result r = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	cr_assert(!sp_run(argv, NULL, NULL, 0, OUTPUT_MAX, NULL, &r, &err), "%s", err.message);
	cr_expect(r.code == 0, "%s: %d\n%s%s", text, r.code, r.out, r.err);
	sp_run_result_done(&r);
}

Test(render, a_folder_goes_there_and_back)
{
	struct sp_error err = SP_ERROR_INIT;
	struct scene s;
	char from[128], to[128];

	scene_open(&s);
	shell(&s, "mkdir -p from/d/e from/empty to && printf text >from/d/f && : >from/none && "
		  "head -c 3000000 /dev/urandom >from/large && chmod 750 from/d/f && "
		  "ln -s d/f from/link && ln from/large from/again && mkfifo from/pipe && "
		  "printf x >'from/d/e/wörd  \n line'");
	snprintf(from, sizeof(from), "%s/from", s.folder);
	snprintf(to, sizeof(to), "%s/to", s.folder);
	/* The first try is refused by the rate: the archive is made a second time. */
	cr_assert(!s.control.ops->fail(s.control.self, SP_STEP_UPLOAD, 1, SP_FAIL_RATE_LIMIT, 0,
				       &err));
	int rc = sp_render_send_tree(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp/tree", from,
				     NULL, &err);

	cr_expect(!rc, "sending: %s", err.message);
	rc = sp_render_fetch_tree(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp/tree", to, NULL,
				  &err);
	cr_expect(!rc, "fetching: %s", err.message);
	/* Neither the FIFO nor the identity of hard links goes along. */
	shell(&s, "rm from/pipe && diff -r --no-dereference from to && "
		  "[[ $(stat -c %a to/d/f) = 750 && $(stat -c %h to/large) = 1 ]]");
	rc = sp_render_fetch_tree(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp/tree", to, NULL,
				  &err);
	cr_expect(rc == SP_CONFLICT, "over what is there: conflict expected, got %s",
		  sp_code_name(rc));
	rc = sp_render_fetch_tree(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp/none", to, NULL,
				  &err);
	cr_expect(rc == SP_NOT_FOUND, "no folder: not-found expected, got %s (%s)",
		  sp_code_name(rc), err.message);
	rc = sp_render_fetch_tree(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp/tree/d/f", to,
				  NULL, &err);
	cr_expect(rc == SP_INVALID, "a file: invalid expected, got %s", sp_code_name(rc));
	scene_close(&s);
}

static long peak_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* What sanitizers keep after it was freed says nothing of ours. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GROWTH_KB (1 << 20)
#else
#define GROWTH_KB (16 << 10)
#endif

/* Memory does not grow with a file. */
Test(render, a_large_file_is_streamed)
{
	enum { SIZE = 100 << 20 };
	struct sp_error err = SP_ERROR_INIT;
	int from = memfd_create("from", MFD_CLOEXEC), to = memfd_create("to", MFD_CLOEXEC);
	char there = '-', back = '-';
	struct scene s;

	cr_assert(!ftruncate(from, SIZE) && pwrite(from, "x", 1, SIZE - 2) == 1);
	scene_open(&s);
	long before = peak_kb();
	int rc = sp_render_send_file(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp/large", from,
				     NULL, &err);

	cr_expect(!rc, "sending: %s", err.message);
	rc = sp_render_fetch_file(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp/large", to, NULL,
				  &err);
	cr_expect(!rc, "fetching: %s", err.message);
	cr_expect(peak_kb() - before < GROWTH_KB, "%ld KB more than before", peak_kb() - before);
	cr_expect(lseek(to, 0, SEEK_END) == SIZE && pread(to, &there, 1, SIZE - 2) == 1 &&
			  pread(to, &back, 1, 5) == 1 && there == 'x' && !back,
		  "%ld bytes, %d and %d", (long)lseek(to, 0, SEEK_END), there, back);
	rc = sp_render_fetch_file(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp", to, NULL, &err);
	cr_expect(rc == SP_INVALID, "a folder: invalid expected, got %s", sp_code_name(rc));
	close(from);
	close(to);
	scene_close(&s);
}

static void *abort_it(void *cancel)
{
	sp_cancel_abort(cancel, "enough");
	return NULL;
}

/* A body without an end: nothing but the cancel can have ended it. */
Test(render, an_upload_can_be_cancelled_in_the_middle)
{
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_error err = SP_ERROR_INIT;
	pthread_t thread;
	struct scene s;

	scene_open(&s);
	pthread_create(&thread, NULL, abort_it, cancel);
	int rc = sp_render_send_file(&s.provider, sp_sandbox_id(&s.sandbox), "/tmp/endless", zeros,
				     cancel, &err);

	pthread_join(thread, NULL);
	cr_expect(rc == SP_ABORTED && sp_cancel_refs(cancel) == 1, "aborted expected, got %s (%s)",
		  sp_code_name(rc), err.message);
	sp_cancel_unref(cancel);
	close(zeros);
	scene_close(&s);
}

/* ---- a cancel wherever an exec may stand ---- */

struct stood {
	struct scene *s;
	struct sp_cancel *cancel;
	struct sp_error err;
	int rc;
};

static void *run_held(void *arg)
{
	struct stood *stood = arg;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;

	options.command = "echo done";
	options.cancel = stood->cancel;
	stood->rc = stood->s->sandbox.ops->exec(stood->s->sandbox.self, &options, &result,
						&stood->err);
	sp_exec_result_done(&result);
	return NULL;
}

/* The request stands in the server when the abort comes; nothing but the abort lets exec answer. */
Test(render, an_exec_can_be_cancelled_wherever_it_stands)
{
	static const struct {
		enum sp_control_step step;
		enum sp_control_when when;
	} rows[] = {
		{ SP_STEP_MINT_RUN, SP_BEFORE }, { SP_STEP_MINT_RUN, SP_AFTER },
		{ SP_STEP_RUN, SP_BEFORE },	 { SP_STEP_RUN, SP_AFTER },
		{ SP_STEP_EXIT, SP_BEFORE },
	};
	struct sp_error err = SP_ERROR_INIT;
	struct scene s;

	scene_open(&s);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct stood stood = { .s = &s, .cancel = sp_cancel_new(), .err = SP_ERROR_INIT };
		uint64_t hold = 0;
		pthread_t thread;

		cr_assert(!s.control.ops->hold(s.control.self, rows[i].step, rows[i].when,
					       sp_sandbox_id(&s.sandbox), &hold, &err),
			  "%s", err.message);
		pthread_create(&thread, NULL, run_held, &stood);
		cr_assert(!s.control.ops->await_held(s.control.self, hold, NULL, &err), "%s",
			  err.message);
		sp_cancel_abort(stood.cancel, "enough");
		pthread_join(thread, NULL);
		cr_expect(stood.rc == SP_ABORTED && sp_cancel_refs(stood.cancel) == 1,
			  "%s/%s: aborted expected, got %s (%s), %d references",
			  sp_control_step_name(rows[i].step), rows[i].when ? "after" : "before",
			  sp_code_name(stood.rc), stood.err.message,
			  (int)sp_cancel_refs(stood.cancel));
		s.control.ops->release(s.control.self, hold, NULL);
		sp_cancel_unref(stood.cancel);
	}
	scene_close(&s);
}
