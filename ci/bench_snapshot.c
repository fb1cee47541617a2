/* SPDX-License-Identifier: MIT */
/*
 * Capture and restore of a sandbox with 10,000 files and 1 GiB beside `tar`
 * doing the same to the same files, in turns; how late the lines of an event stream are
 * meanwhile; and what memory it takes.
 */
#include <ci/bench.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/json.h>
#include <cli/fake.h>
#include <providers/render/http/http.h>

#define ROUNDS 3
#define ANSWER_MAX ((size_t)1 << 20)

struct place {
	struct cli_fake fake;
	struct sp_transport transport;
	char *group;
};

/* One exchange whose answer is an object; the text of a member, the caller's ("" without one). */
static char *ask(struct place *place, const char *bearer, const char *method, const char *url,
		 const char *body, const char *member)
{
	const struct sp_http_header json_header = { "Content-Type", "application/json" };
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	struct sp_buf answer SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ANSWER_MAX);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	char piece[4096];
	size_t n = 0;

	request.method = method;
	request.url = url;
	request.bearer = bearer;
	request.headers = &json_header;
	request.n_headers = 1;
	request.body = body;
	request.body_len = body ? strlen(body) : 0;
	if (place->transport.ops->open(place->transport.self, &request, &stream, &err))
		bench_die(url, &err);
	while (!stream.ops->read(stream.self, piece, sizeof(piece), &n, NULL, &err) && n)
		sp_buf_add(&answer, piece, n);
	if (stream.ops->status(stream.self) >= 300)
		bench_die(sp_buf_str(&answer), NULL);
	stream.ops->close(stream.self);
	if (!member)
		return NULL;
	if (sp_json_parse(sp_buf_str(&answer), answer.len, ANSWER_MAX, &json, &err))
		bench_die(url, &err);
	return strdup(sp_json_str(json, member) ? sp_json_str(json, member) : "");
}

static char *api(struct place *place, const char *method, const char *path, const char *body,
		 const char *member)
{
	char *url SP_FREE = NULL;

	if (asprintf(&url, "http://localhost/v1/%s", path) < 0)
		bench_die("no memory", NULL);
	return ask(place, place->fake.api_key, method, url, body, member);
}

static void await(struct place *place, const char *path, const char *expected)
{
	for (;;) {
		char *status SP_FREE = api(place, "GET", path, NULL, "status");

		if (!strcmp(status, expected))
			return;
		if (strcmp(status, "creating"))
			bench_die(status, NULL);
		usleep(2000);
	}
}

/* A sandbox, from a snapshot or without one; its id. */
static char *make(struct place *place, const char *snapshot)
{
	char body[256], path[64];

	snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"%s%s%s}", place->fake.workspace_id,
		 snapshot ? ",\"snapshotId\":\"" : "", snapshot ? snapshot : "",
		 snapshot ? "\"" : "");
	char *id = api(place, "POST", "sandboxes", body, "id");

	snprintf(path, sizeof(path), "sandboxes/%s", id);
	await(place, path, "running");
	return id;
}

static void end(struct place *place, const char *id)
{
	char path[64];

	snprintf(path, sizeof(path), "sandboxes/%s/terminate", id);
	api(place, "POST", path, NULL, NULL);
}

/* Mints a run; the address to call and the token are the caller's. */
static char *mint(struct place *place, const char *id, const char *kind, char **ret_token)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&path, "sandboxes/%s/runs/%s/token", id, kind);
	*ret_token = api(place, "POST", sp_buf_str(&path), "{}", "token");
	sp_buf_clear(&path);
	sp_buf_addf(&path, "http://localhost/proxy/%s/runs/%s", id, kind);
	return strdup(sp_buf_str(&path));
}

static void run(struct place *place, const char *id, const char *command)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char *token SP_FREE = NULL;
	char *url SP_FREE = mint(place, id, "sync", &token);

	sp_buf_adds(&body, "{\"command\":");
	sp_buf_add_json(&body, command, strlen(command));
	sp_buf_addc(&body, '}');
	char *said SP_FREE = ask(place, token, "POST", url, sp_buf_str(&body), "stdout");

	if (strcmp(said, "ok\n"))
		bench_die(command, NULL);
}

/* ---- the event stream ---- */

/* Lines of a sandbox that say when they were written; how late each came. */
struct line_watch {
	struct place *place;
	char *id;
	pthread_t thread;
	atomic_bool meanwhile;
	struct bench_series idle, busy;
};

static uint64_t wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Takes every "@SECONDS.MICROSECONDS@" of a piece. */
static void take_lines(struct line_watch *watch, const char *piece)
{
	uint64_t now = wall_us();

	for (const char *at = piece; (at = strchr(at, '@'));) {
		unsigned long long seconds, us;

		if (sscanf(at, "@%llu.%6llu@", &seconds, &us) == 2) {
			uint64_t sent = seconds * 1000000 + us;

			bench_add(watch->meanwhile ? &watch->busy : &watch->idle,
				  now > sent ? (now - sent) * 1000 : 0);
		}
		at++;
	}
}

static void *watch_lines(void *arg)
{
	struct line_watch *watch = arg;
	struct place *place = watch->place;
	const char *body =
		"{\"command\":\"exec 4<> <(:); while read -t .005 -u 4; [[ ! -e stop ]]; do "
		"echo @$EPOCHREALTIME@; done\"}";
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	char *token SP_FREE = NULL;
	char *url SP_FREE = mint(place, watch->id, "stream", &token);
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	char piece[4096];
	size_t n = 0;

	request.method = "POST";
	request.url = url;
	request.bearer = token;
	request.body = body;
	request.body_len = strlen(body);
	if (place->transport.ops->open(place->transport.self, &request, &stream, &err))
		bench_die("stream", &err);
	while (!stream.ops->read(stream.self, piece, sizeof(piece) - 1, &n, NULL, &err) && n) {
		piece[n] = '\0';
		take_lines(watch, piece);
	}
	stream.ops->close(stream.self);
	return NULL;
}

/* The value below which `percent` of the series lie. */
static double percentile(struct bench_series *series, double percent)
{
	bench_median(series);
	return series->len ? (double)series->ns[(size_t)((double)(series->len - 1) * percent / 100)]
			   : 0;
}

/* ---- the figures ---- */

/* Peak memory of the server so far, MB. */
static double peak_mb(const struct place *place)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)place->fake.child.pid);
	FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[n] = '\0';
	const char *at = strstr(text, "VmHWM:");

	return at ? (double)strtol(at + 6, NULL, 10) / 1024 : 0;
}

static uint64_t capture(struct place *place, const char *id, char **ret_snapshot)
{
	char path[128];
	uint64_t start = sp_now();

	snprintf(path, sizeof(path), "sandboxes/%s/snapshots", id);
	*ret_snapshot = api(place, "POST", path, "{\"kind\":\"filesystem\"}", "id");
	snprintf(path, sizeof(path), "sandbox-groups/%s/snapshots/%s", place->group, *ret_snapshot);
	await(place, path, "available");
	return sp_now() - start;
}

static void forget(struct place *place, const char *snapshot)
{
	char path[128];

	snprintf(path, sizeof(path), "sandbox-groups/%s/snapshots/%s", place->group, snapshot);
	api(place, "DELETE", path, NULL, NULL);
}

static uint64_t timed_run(struct place *place, const char *id, const char *command)
{
	uint64_t start = sp_now();

	run(place, id, command);
	return sp_now() - start;
}

struct times {
	struct bench_series capture, restore, tar_c, tar_x;
};

/*
 * `tar` writes and extracts in the sandbox itself, on the same disk; what it
 * leaves is removed, unmeasured.
 */
static void one_round(struct place *place, const char *id, struct line_watch *watch,
		      struct times *times)
{
	char *snapshot = NULL;

	watch->meanwhile = true;
	bench_add(&times->capture, capture(place, id, &snapshot));
	watch->meanwhile = false;
	bench_add(&times->tar_c, timed_run(place, id, "tar -C ~ -cf /tmp/x.tar data && echo ok"));
	watch->meanwhile = true;
	uint64_t start = sp_now();
	char *copy SP_FREE = make(place, snapshot);

	bench_add(&times->restore, sp_now() - start);
	watch->meanwhile = false;
	end(place, copy);
	bench_add(&times->tar_x,
		  timed_run(place, id, "mkdir /tmp/x && tar -C /tmp/x -xf /tmp/x.tar && echo ok"));
	run(place, id, "rm -rf /tmp/x /tmp/x.tar && echo ok");
	forget(place, snapshot);
	free(snapshot);
}

/* Thousands of files of 64 KiB, and files of 64 MiB, 1 GiB in all for ten thousand. */
static void fill(struct place *place, const char *id, unsigned parts)
{
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&command,
		    "mkdir data && cd data && head -c 67108864 /dev/urandom >seed && "
		    "for ((i=0;i<%u;i++)); do mkdir d$i && head -c 65536000 seed | "
		    "split -b 65536 -a 4 -d - d$i/f || exit 9; done && "
		    "for ((i=0;i<%u;i++)); do cat seed >big$i; done && echo ok",
		    parts, parts * 6 / 10);
	run(place, id, sp_buf_str(&command));
}

static void open_place(const struct bench *bench, struct place *place)
{
	struct sp_http_options http = SP_HTTP_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	*place = (struct place){ .fake = CLI_FAKE_INIT };
	if (cli_fake_start(&place->fake, bench->program, &err))
		bench_die("fake-api", &err);
	http.unix_path = place->fake.base_url + 5;
	if (sp_http_transport_open(&http, &place->transport, &err))
		bench_die("transport", &err);
}

static void print_times(const struct bench *bench, struct times *times, struct line_watch *watch)
{
	double c = (double)bench_median(&times->capture), r = (double)bench_median(&times->restore);
	double tc = (double)bench_median(&times->tar_c), tx = (double)bench_median(&times->tar_x);

	bench_print("snapshots: thousands of files, 0.1 GiB each", bench->snapshot_parts, "", 0);
	bench_print("capture", c / (double)SP_SECOND, "s", 0);
	bench_print("capture / tar -c of the same", c / tc, "x", 1 / 0.9);
	bench_print("restore", r / (double)SP_SECOND, "s", 0);
	bench_print("restore / tar -x of the same", r / tx, "x", 1 / 0.9);
	bench_print("event stream line, idle, p99", percentile(&watch->idle, 99) / (double)SP_MS,
		    "ms", 0);
	bench_print("event stream line, during capture and restore, p50",
		    percentile(&watch->busy, 50) / (double)SP_MS, "ms", 0);
	bench_print("event stream line, during capture and restore, p99",
		    percentile(&watch->busy, 99) / (double)SP_MS, "ms", 5);
}

void bench_snapshot(struct bench *bench)
{
	struct line_watch watch = { 0 };
	struct times times = { 0 };
	struct place place;
	char *small = NULL;
	char path[64];
	double before;

	open_place(bench, &place);
	char *id SP_FREE = make(&place, NULL);

	snprintf(path, sizeof(path), "sandboxes/%s", id);
	place.group = api(&place, "GET", path, NULL, "sandboxGroupId");
	capture(&place, id, &small);
	before = peak_mb(&place);
	fill(&place, id, bench->snapshot_parts);
	watch.place = &place;
	watch.id = make(&place, NULL);
	pthread_create(&watch.thread, NULL, watch_lines, &watch);
	for (int i = 0; i < ROUNDS; i++)
		one_round(&place, id, &watch, &times);
	run(&place, watch.id, ": >stop; echo ok");
	pthread_join(watch.thread, NULL);
	print_times(bench, &times, &watch);
	bench_print("peak memory of the fake, after a capture of nothing", before, "MB", 0);
	bench_print("peak memory of the fake, after all of these", peak_mb(&place), "MB",
		    before + 4);
	place.transport.ops->close(place.transport.self);
	cli_fake_stop(&place.fake);
	free(place.group);
	free(watch.id);
	free(small);
}
