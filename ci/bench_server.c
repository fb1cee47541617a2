/* SPDX-License-Identifier: MIT */
/*
 * The fake API server by itself: commands a second through raw /runs/stream with every core busy,
 * beside the same number of bare shells on the same cores, in turns; and what a thousand idle event
 * streams cost it.
 */
#include <ci/bench_api.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>

#define TURNS 5
/* Commands of one turn and thread. */
#define COMMANDS 100
/* Threads a core: while one waits for its answer another keeps the core busy. */
#define PER_CORE 4
#define THREADS_MAX 256
#define STREAMS 1000

struct worker {
	pthread_t thread;
	struct bench_place *place;
	const char *sandbox;
};

static void open_run(struct bench_place *place, const char *id, const char *body,
		     struct sp_http_stream *ret_stream)
{
	const struct sp_http_header json_header = { "Content-Type", "application/json" };
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *token SP_FREE = NULL;
	char *url SP_FREE = bench_mint(place, id, "stream", &token);

	request.method = "POST";
	request.url = url;
	request.bearer = token;
	request.headers = &json_header;
	request.n_headers = 1;
	request.body = body;
	request.body_len = strlen(body);
	if (place->transport.ops->open(place->transport.self, &request, ret_stream, &err))
		bench_die("stream", &err);
	if (ret_stream->ops->status(ret_stream->self) != 200)
		bench_die("a command was refused", NULL);
}

/* Reads to the end; true when the exit was told. */
static bool read_run(struct sp_http_stream *stream)
{
	struct sp_error err = SP_ERROR_INIT;
	char piece[4096];
	bool exited = false;
	size_t n = 0;

	while (!stream->ops->read(stream->self, piece, sizeof(piece) - 1, &n, NULL, &err) && n) {
		piece[n] = '\0';
		exited = exited || strstr(piece, "{\"exit_code\":0}");
	}
	stream->ops->close(stream->self);
	return exited;
}

static void *run_commands(void *arg)
{
	struct worker *worker = arg;
	struct sp_http_stream stream;

	for (int i = 0; i < COMMANDS; i++) {
		open_run(worker->place, worker->sandbox, "{\"command\":\"true\"}", &stream);
		if (!read_run(&stream))
			bench_die("a command without an exit", NULL);
	}
	return NULL;
}

static void *run_shells(void *arg SP_UNUSED)
{
	static const char *const argv[] = { "bash", "-c", "true", NULL };

	for (int i = 0; i < COMMANDS; i++)
		bench_spawn(argv);
	return NULL;
}

/* One turn of all threads; nanoseconds. */
static uint64_t turn(struct worker *workers, size_t n, void *(*body)(void *arg))
{
	uint64_t start = sp_now();

	for (size_t i = 0; i < n; i++)
		pthread_create(&workers[i].thread, NULL, body, &workers[i]);
	for (size_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	return sp_now() - start;
}

static void throughput(struct bench_place *place, const char *id)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = PER_CORE * (cores < 1 ? 1 : (size_t)cores);
	struct worker workers[THREADS_MAX];
	struct bench_series served = { 0 }, bare = { 0 };

	n = n > THREADS_MAX ? THREADS_MAX : n;
	for (size_t i = 0; i < n; i++)
		workers[i] = (struct worker){ .place = place, .sandbox = id };
	for (int i = 0; i < TURNS; i++) {
		bench_add(&bare, turn(workers, n, run_shells));
		bench_add(&served, turn(workers, n, run_commands));
	}
	double total = (double)(n * COMMANDS) * (double)SP_SECOND;
	double shells = total / (double)bench_median(&bare);
	double commands = total / (double)bench_median(&served);

	bench_print("cores kept busy", (double)cores, "", 0);
	bench_print("bare `bash -c true` a second", shells, "/s", 0);
	bench_print("commands a second through raw /runs/stream", commands, "/s", 0);
	bench_print_least("commands a second / bare shells a second", commands / shells, "x", 0.6);
	bench_series_done(&bare);
	bench_series_done(&served);
}

/* Each stands at a FIFO until all are told to go. */
static void idle_streams(struct bench_place *place, const char *id)
{
	struct sp_http_stream *streams = calloc(STREAMS, sizeof(*streams));

	if (!streams)
		bench_die("no memory", NULL);
	bench_call(place, id, "mkfifo gate && echo ok");
	double before = bench_place_memory(place, "VmRSS:");

	for (int i = 0; i < STREAMS; i++)
		open_run(place, id, "{\"command\":\"read -r x <gate; exit 0\"}", &streams[i]);
	double with = bench_place_memory(place, "VmRSS:");

	/* Whoever comes late finds a line as well: the FIFO is kept open until all have gone. */
	bench_call(place, id,
		   "exec 4<>gate; printf '\\n%.0s' {1..1000} >&4; while IFS= read -r -t 0 -u 4; do "
		   "read -r -t .01 -u 5 5<> <(:); done; echo ok");
	for (int i = 0; i < STREAMS; i++)
		if (!read_run(&streams[i]))
			bench_die("an idle stream without its exit", NULL);
	free(streams);
	bench_print("memory of the server before", before, "MB", 0);
	bench_print("memory of the server with 1,000 idle event streams", with, "MB", 32);
	bench_print("its peak, and with their ends", bench_place_memory(place, "VmHWM:"), "MB", 32);
}

void bench_server(struct bench *bench)
{
	struct bench_place place;

	bench_place_open(bench, &place);
	char *id SP_FREE = bench_make(&place, NULL);

	throughput(&place, id);
	bench_end(&place, id);
	char *second SP_FREE = bench_make(&place, NULL);

	idle_streams(&place, second);
	bench_place_close(&place);
}
