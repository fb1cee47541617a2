/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/json.h>
#include <providers/render/http/http.h>
#include <providers/render/render.h>

/* The fake as a child, on a Unix socket in a folder of its own. */
struct server {
	struct sp_child child;
	char *dir;
	char *base_url, *api_key, *workspace_id;
};

static char *copy(const cJSON *json, const char *name)
{
	const char *text = sp_json_str(json, name);
	char *result = text ? strdup(text) : NULL;

	if (!result)
		bench_die("the fake's first line lacks a member", NULL);
	return result;
}

static void read_first_line(struct server *server)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;
	char c;

	while (read(server->child.out, &c, 1) == 1 && c != '\n')
		sp_buf_addc(&line, c);
	if (sp_json_parse(line.data ? line.data : "", line.len, SP_BUF_LINE, &json, &err) < 0)
		bench_die("the fake's first line", &err);
	server->base_url = copy(json, "base_url");
	server->api_key = copy(json, "api_key");
	server->workspace_id = copy(json, "workspace_id");
}

static void start_server(const struct bench *bench, struct server *server)
{
	struct sp_error err = SP_ERROR_INIT;
	char *listen SP_FREE = NULL;

	if (sp_tmp_dir("bench-", &server->dir, &err) < 0)
		bench_die("temporary folder", &err);
	if (asprintf(&listen, "unix:%s/api", server->dir) < 0)
		bench_die("no memory", NULL);
	const char *argv[] = { bench->program, "fake-api", "--listen", listen, "--json", NULL };
	server->child = (struct sp_child)SP_CHILD_INIT;
	server->child.argv = argv;
	server->child.out = SP_CHILD_PIPE;
	if (sp_child_start(&server->child, &err) < 0)
		bench_die("fake-api", &err);
	read_first_line(server);
}

static void stop_server(struct server *server)
{
	kill(server->child.pid, SIGTERM);
	sp_child_wait(&server->child, NULL, NULL);
	sp_child_done(&server->child);
	sp_remove_tree(server->dir);
	free(server->dir);
	free(server->base_url);
	free(server->api_key);
	free(server->workspace_id);
}

/*
 * A transport that measures: from the first request after it was armed to the
 * end of the last stream that was opened since. That is a kill's own command,
 * without the end of the command that it kills.
 */
struct watch {
	struct sp_transport inner;
	atomic_bool armed;
	_Atomic uint64_t first, last;
};

struct watched_stream {
	struct sp_http_stream inner;
	struct watch *watch;
	bool counted;
};

static int stream_status(void *self)
{
	struct watched_stream *stream = self;
	return stream->inner.ops->status(stream->inner.self);
}

static const char *stream_header(void *self, const char *name)
{
	struct watched_stream *stream = self;
	return stream->inner.ops->header(stream->inner.self, name);
}

static int stream_read(void *self, void *buffer, size_t max, size_t *ret_len,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	struct watched_stream *stream = self;
	int rc = stream->inner.ops->read(stream->inner.self, buffer, max, ret_len, cancel, err);

	if (stream->counted)
		stream->watch->last = sp_now();
	return rc;
}

static void stream_close(void *self)
{
	struct watched_stream *stream = self;

	stream->inner.ops->close(stream->inner.self);
	free(stream);
}

static const struct sp_http_stream_ops stream_ops = {
	.version = SP_HTTP_STREAM_VERSION,
	.status = stream_status,
	.header = stream_header,
	.read = stream_read,
	.close = stream_close,
};

static int watch_open(void *self, const struct sp_http_request *request,
		      struct sp_http_stream *ret_stream, struct sp_error *err)
{
	struct watch *watch = self;
	struct watched_stream *stream = calloc(1, sizeof(*stream));
	uint64_t none = 0;

	if (!stream)
		bench_die("no memory", NULL);
	stream->watch = watch;
	stream->counted = watch->armed;
	if (stream->counted)
		atomic_compare_exchange_strong(&watch->first, &none, sp_now());
	int rc = watch->inner.ops->open(watch->inner.self, request, &stream->inner, err);
	if (rc < 0) {
		free(stream);
		return rc;
	}
	*ret_stream = (struct sp_http_stream){ &stream_ops, stream };
	return 0;
}

static void watch_close(void *self)
{
	struct watch *watch = self;
	watch->inner.ops->close(watch->inner.self);
}

static const struct sp_transport_ops watch_ops = {
	.version = SP_TRANSPORT_VERSION,
	.open = watch_open,
	.close = watch_close,
};

static void open_provider(const struct server *server, struct watch *watch,
			  struct sp_provider *ret_provider)
{
	struct sp_http_options http = SP_HTTP_OPTIONS_INIT;
	struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (!strncmp(server->base_url, "unix:", 5))
		http.unix_path = server->base_url + 5;
	if (sp_http_transport_open(&http, &watch->inner, &err) < 0)
		bench_die("transport", &err);
	options.token = server->api_key;
	options.owner_id = server->workspace_id;
	options.base_url = server->base_url;
	options.poll_ms = 2;
	options.transport = (struct sp_transport){ &watch_ops, watch };
	if (sp_render_open(&options, ret_provider, &err) < 0)
		bench_die("provider", &err);
}

static uint64_t timed_raw(struct sp_platform *platform, const char *id)
{
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	uint64_t start = sp_now();

	if (platform->ops->raw_exec(platform->self, id, "true", &result, NULL, &err) < 0)
		bench_die("raw exec", &err);
	uint64_t took = sp_now() - start;
	sp_exec_result_done(&result);
	return took;
}

static uint64_t timed_exec(struct sp_sandbox *sandbox)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.command = "true";
	uint64_t start = sp_now();
	if (sp_sandbox_exec(sandbox, &options, &result, &err) < 0)
		bench_die("exec", &err);
	uint64_t took = sp_now() - start;
	sp_exec_result_done(&result);
	return took;
}

/*
 * Kills a process that has certainly started; the kill's own command by the watch, the
 * call as a whole by the clock.
 */
static void timed_kill(struct sp_sandbox *sandbox, struct watch *watch, struct bench_series *own,
		       struct bench_series *whole)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	size_t n = 0;
	char c;

	options.command = "echo; exec sleep 1000";
	if (sp_sandbox_spawn(sandbox, &options, &process, &err) < 0 ||
	    sp_process_read(&process, SP_STDOUT, &c, 1, &n, NULL, &err) < 0 || n != 1)
		bench_die("spawn", &err);
	watch->first = watch->last = 0;
	watch->armed = true;
	uint64_t start = sp_now();
	if (sp_process_kill(&process, SIGKILL, NULL, &err) < 0)
		bench_die("kill", &err);
	bench_add(whole, sp_now() - start);
	watch->armed = false;
	if (watch->first && watch->last > watch->first)
		bench_add(own, watch->last - watch->first);
	sp_process_done(&process);
}

static void measure(struct bench *bench, struct sp_provider *provider, struct sp_sandbox *sandbox,
		    struct watch *watch)
{
	static const char *const bare_argv[] = { "bash", "-c", "true", NULL };
	struct bench_series bare = { 0 }, raw = { 0 }, wrapped = { 0 }, own = { 0 }, whole = { 0 };
	struct sp_platform platform = sp_render_platform(provider);

	for (size_t i = 0; i < bench->rounds; i++) {
		bench_add(&bare, bench_spawn(bare_argv));
		bench_add(&raw, timed_raw(&platform, sp_sandbox_id(sandbox)));
		bench_add(&wrapped, timed_exec(sandbox));
		if (i % 5 == 0)
			timed_kill(sandbox, watch, &own, &whole);
	}
	bench->bare_ns = bench_median(&bare);
	double unit = (double)bench->bare_ns;
	bench_print("bare `bash -c true`, posix_spawn", unit / (double)SP_MS, "ms", 0);
	bench_print("exec of true over HTTP, without the wrapper",
		    (double)bench_median(&raw) / unit, "x", 1.5);
	bench_print("exec of true over HTTP, with the wrapper",
		    (double)bench_median(&wrapped) / unit, "x", 3.2);
	bench_print("group kill, its own command", (double)bench_median(&own) / unit, "x", 1.5);
	bench_print("group kill, the whole call", (double)bench_median(&whole) / unit, "x", 0);
	bench_series_done(&bare);
	bench_series_done(&raw);
	bench_series_done(&wrapped);
	bench_series_done(&own);
	bench_series_done(&whole);
}

void bench_served(struct bench *bench, void (*fn)(struct bench *bench, struct sp_provider *provider,
						  struct sp_sandbox *sandbox))
{
	struct server server = { 0 };
	struct watch watch = { 0 };
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	start_server(bench, &server);
	open_provider(&server, &watch, &provider);
	if (sp_provider_create(&provider, &create, &sandbox, &err) < 0)
		bench_die("create", &err);
	fn(bench, &provider, &sandbox);
	if (sp_sandbox_destroy(&sandbox, NULL, &err) < 0)
		bench_die("destroy", &err);
	sp_sandbox_done(&sandbox);
	sp_provider_done(&provider);
	stop_server(&server);
}

void bench_exec(struct bench *bench)
{
	struct server server = { 0 };
	struct watch watch = { 0 };
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	start_server(bench, &server);
	open_provider(&server, &watch, &provider);
	if (sp_provider_create(&provider, &create, &sandbox, &err) < 0)
		bench_die("create", &err);
	measure(bench, &provider, &sandbox, &watch);
	if (sp_sandbox_destroy(&sandbox, NULL, &err) < 0)
		bench_die("destroy", &err);
	sp_sandbox_done(&sandbox);
	sp_provider_done(&provider);
	stop_server(&server);
}
