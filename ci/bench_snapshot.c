/* SPDX-License-Identifier: MIT */
/*
 * Capture and restore of a sandbox with 10,000 files and 1 GiB beside `tar`
 * doing the same to the same files, in turns; how late the lines of an event stream are
 * meanwhile; and what memory it takes.
 */
#include <ci/bench_api.h>

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

#define ROUNDS 3

/* ---- the event stream ---- */

/* Lines of a sandbox that say when they were written; how late each came. */
struct line_watch {
	struct bench_place *place;
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
	struct bench_place *place = watch->place;
	const char *body =
		"{\"command\":\"exec 4<> <(:); while read -t .005 -u 4; [[ ! -e stop ]]; do "
		"echo @$EPOCHREALTIME@; done\"}";
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	char *token SP_FREE = NULL;
	char *url SP_FREE = bench_mint(place, watch->id, "stream", &token);
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

/* ---- the figures ---- */

static uint64_t capture(struct bench_place *place, const char *id, char **ret_snapshot)
{
	char path[128];
	uint64_t start = sp_now();

	snprintf(path, sizeof(path), "sandboxes/%s/snapshots", id);
	*ret_snapshot = bench_api(place, "POST", path, "{\"kind\":\"filesystem\"}", "id");
	snprintf(path, sizeof(path), "sandbox-groups/%s/snapshots/%s", place->group, *ret_snapshot);
	bench_await(place, path, "available");
	return sp_now() - start;
}

static void forget(struct bench_place *place, const char *snapshot)
{
	char path[128];

	snprintf(path, sizeof(path), "sandbox-groups/%s/snapshots/%s", place->group, snapshot);
	bench_api(place, "DELETE", path, NULL, NULL);
}

static uint64_t timed_run(struct bench_place *place, const char *id, const char *command)
{
	uint64_t start = sp_now();

	bench_call(place, id, command);
	return sp_now() - start;
}

struct times {
	struct bench_series capture, restore, tar_c, tar_x;
};

/*
 * `tar` writes and extracts in the sandbox itself, on the same disk; what it
 * leaves is removed, unmeasured.
 */
static void one_round(struct bench_place *place, const char *id, struct line_watch *watch,
		      struct times *times)
{
	char *snapshot = NULL;

	watch->meanwhile = true;
	bench_add(&times->capture, capture(place, id, &snapshot));
	watch->meanwhile = false;
	bench_add(&times->tar_c, timed_run(place, id, "tar -C ~ -cf /tmp/x.tar data && echo ok"));
	watch->meanwhile = true;
	uint64_t start = sp_now();
	char *copy SP_FREE = bench_make(place, snapshot);

	bench_add(&times->restore, sp_now() - start);
	watch->meanwhile = false;
	bench_end(place, copy);
	bench_add(&times->tar_x,
		  timed_run(place, id, "mkdir /tmp/x && tar -C /tmp/x -xf /tmp/x.tar && echo ok"));
	bench_call(place, id, "rm -rf /tmp/x /tmp/x.tar && echo ok");
	forget(place, snapshot);
	free(snapshot);
}

/* Thousands of files of 64 KiB, and files of 64 MiB, 1 GiB in all for ten thousand. */
static void fill(struct bench_place *place, const char *id, unsigned parts)
{
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&command,
		    "mkdir data && cd data && head -c 67108864 /dev/urandom >seed && "
		    "for ((i=0;i<%u;i++)); do mkdir d$i && head -c 65536000 seed | "
		    "split -b 65536 -a 4 -d - d$i/f || exit 9; done && "
		    "for ((i=0;i<%u;i++)); do cat seed >big$i; done && echo ok",
		    parts, parts * 6 / 10);
	bench_call(place, id, sp_buf_str(&command));
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
	bench_print("event stream line, idle, p99",
		    bench_percentile(&watch->idle, 99) / (double)SP_MS, "ms", 5);
	bench_print("event stream line, during capture and restore, p50",
		    bench_percentile(&watch->busy, 50) / (double)SP_MS, "ms", 0);
	bench_print("event stream line, during capture and restore, p99",
		    bench_percentile(&watch->busy, 99) / (double)SP_MS, "ms", 5);
}

void bench_snapshot(struct bench *bench)
{
	struct line_watch watch = { 0 };
	struct times times = { 0 };
	struct bench_place place;
	char *small = NULL;
	char path[64];
	double before;

	bench_place_open(bench, &place);
	char *id SP_FREE = bench_make(&place, NULL);

	snprintf(path, sizeof(path), "sandboxes/%s", id);
	place.group = bench_api(&place, "GET", path, NULL, "sandboxGroupId");
	capture(&place, id, &small);
	before = bench_place_memory(&place, "VmHWM:");
	fill(&place, id, bench->snapshot_parts);
	watch.place = &place;
	watch.id = bench_make(&place, NULL);
	pthread_create(&watch.thread, NULL, watch_lines, &watch);
	for (int i = 0; i < ROUNDS; i++)
		one_round(&place, id, &watch, &times);
	bench_call(&place, watch.id, ": >stop; echo ok");
	pthread_join(watch.thread, NULL);
	print_times(bench, &times, &watch);
	bench_print("peak memory of the fake, after a capture of nothing", before, "MB", 0);
	bench_print("peak memory of the fake, after all of these",
		    bench_place_memory(&place, "VmHWM:"), "MB", before + 4);
	bench_place_close(&place);
	free(watch.id);
	free(small);
}
