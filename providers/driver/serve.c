/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <base/files.h>

/* Requests at once; one more is answered with an error. */
#define MAX_THREADS 1024
#define STACK_SIZE ((size_t)512 * 1024)

static const struct serve_method *const tables[] = {
    serve_provider_methods, serve_sandbox_methods, serve_process_methods,
    serve_store_methods,    serve_journal_methods,
};

/*
 * Methods that wait for what others do, perhaps for ever. The end of the input ends them; all
 * others are carried out first.
 */
static const char *const waiting[] = {
    "process/read", "process/write_stdin", "process/wait",
    "journal/next", "journal/attach",	   "lock/acquire",
};

static bool waits(const char *method)
{
	for (size_t i = 0; i < SP_COUNT(waiting); i++)
		if (!strcmp(method, waiting[i]))
			return true;
	return false;
}

void serve_send(struct serve *serve, const struct sp_buf *frame)
{
	pthread_mutex_lock(&serve->writing);
	/* A client that is gone is noticed by the reader. */
	(void)sp_write_all(serve->out, frame->data, frame->len);
	pthread_mutex_unlock(&serve->writing);
}

/* ---- initialize ---- */

static void put_three(struct sp_buf *out, const char *kind, const char *first, bool a, bool multi,
		      bool fence)
{
	drv_put_open(out, kind, '{');
	drv_put_open(out, "capabilities", '{');
	drv_put_bool(out, first, a);
	drv_put_bool(out, "multi_process", multi);
	drv_put_bool(out, "fence", fence);
	sp_buf_adds(out, "}}");
}

static void put_offer(const struct sp_serve_offer *offer, struct sp_buf *out)
{
	if (offer->provider) {
		drv_put_open(out, "provider", '{');
		drv_put_text(out, "name", sp_provider_name(offer->provider));
		drv_put_capabilities(out, sp_provider_capabilities(offer->provider));
		sp_buf_addc(out, '}');
	}
	if (offer->store) {
		const struct sp_store_capabilities *c = sp_store_capabilities(offer->store);

		put_three(out, "store", "durable", c->durable, c->multi_process, c->fence);
	}
	if (offer->lock) {
		const struct sp_lock_capabilities *c = sp_lock_capabilities(offer->lock);

		put_three(out, "lock", "lease", c->lease, c->multi_process, c->fence);
	}
	if (offer->journal) {
		drv_put_open(out, "journal", '{');
		sp_buf_addc(out, '}');
	}
}

static int initialize(struct serve_call *call, cJSON *params, struct sp_buf *result,
		      struct sp_error *err)
{
	struct serve *serve = call->serve;
	const cJSON *limits = cJSON_GetObjectItemCaseSensitive(params, "limits");
	uint64_t max = DRV_MAX_FRAME;
	int64_t protocol;
	int rc = drv_get_int(params, "protocol", &protocol, err);

	if (!rc)
		rc = drv_get_uint_opt(limits, "max_frame", &max, err);
	if (rc)
		return rc;
	if (protocol < DRV_PROTOCOL)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "this driver speaks version %d of the protocol and none before",
				    DRV_PROTOCOL);
	if (max < serve->max_frame)
		serve->max_frame = max;
	drv_put_int(result, "protocol", DRV_PROTOCOL);
	drv_put_open(result, "driver", '{');
	drv_put_text(result, "name", "sandproof serve");
	drv_put_text(result, "version", SP_VERSION);
	sp_buf_addc(result, '}');
	drv_put_open(result, "limits", '{');
	drv_put_uint(result, "max_frame", DRV_MAX_FRAME);
	sp_buf_addc(result, '}');
	put_offer(serve->offer, result);
	serve->initialized = true;
	return 0;
}

/* ---- Answers ---- */

static void begin_answer(struct sp_buf *frame, const struct serve_call *call)
{
	sp_buf_addf(frame, "{\"jsonrpc\":\"2.0\",\"id\":%lld", (long long)call->id);
}

static void answer_error(struct serve_call *call, const struct sp_error *err)
{
	struct sp_buf frame SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	begin_answer(&frame, call);
	drv_put_error(&frame, err);
	sp_buf_adds(&frame, "}\n");
	serve_send(call->serve, &frame);
}

static serve_fn find_method(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(tables); i++)
		for (const struct serve_method *at = tables[i]; at->name; at++)
			if (!strcmp(at->name, name))
				return at->fn;
	return NULL;
}

static int carry_out(struct serve_call *call, const char *method, cJSON *params,
		     struct sp_buf *result, struct sp_error *err)
{
	serve_fn fn = find_method(method);

	if (!strcmp(method, "initialize"))
		return initialize(call, params, result, err);
	if (!call->serve->initialized)
		return sp_error_set(err, SP_INVALID, "%s came before initialize", method);
	if (!fn)
		return sp_error_set(err, SP_UNSUPPORTED, "there is no method %.100s", method);
	return fn(call, params, result, err);
}

static void run_call(struct serve_call *call, const char *method, cJSON *params)
{
	struct sp_buf frame SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(call->serve->max_frame);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	begin_answer(&frame, call);
	drv_put_open(&frame, "result", '{');
	rc = carry_out(call, method, params, &frame, &err);
	sp_buf_adds(&frame, "}}\n");
	if (!rc && frame.error)
		rc = sp_error_set(&err, frame.error == -ENOBUFS ? SP_UNSUPPORTED : SP_INTERNAL,
				  "%s: the answer passes the %zu bytes of a frame; ask for less",
				  method, call->serve->max_frame);
	if (rc)
		answer_error(call, &err);
	else
		serve_send(call->serve, &frame);
}

/* ---- Calls ---- */

/* A cancel that has not fired yet. Called with the lock held. */
static struct sp_cancel *take_cancel(struct serve *serve)
{
	return serve->n_spare ? serve->spare[--serve->n_spare] : sp_cancel_new();
}

static void give_cancel(struct serve *serve, struct sp_cancel *cancel)
{
	bool clean = !sp_cancel_check(cancel, NULL) && sp_cancel_refs(cancel) == 1 &&
		     !sp_cancel_watchers(cancel);

	pthread_mutex_lock(&serve->lock);
	if (clean && serve->n_spare < SP_COUNT(serve->spare))
		serve->spare[serve->n_spare++] = SP_TAKE(cancel);
	pthread_mutex_unlock(&serve->lock);
	sp_cancel_unref(cancel);
}

static struct serve_call *begin_call(struct serve *serve, int64_t id, const char *method)
{
	struct serve_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->serve = serve;
	call->id = id;
	call->waits = waits(method);
	pthread_mutex_lock(&serve->lock);
	call->cancel = take_cancel(serve);
	call->next = serve->calls;
	serve->calls = call;
	pthread_mutex_unlock(&serve->lock);
	return call;
}

static void on_lost(void *arg)
{
	struct serve_handle *handle = arg;
	struct sp_buf frame SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_error why = SP_ERROR_INIT;

	(void)sp_cancel_check(handle->cancel, &why);
	sp_buf_adds(&frame, "{\"jsonrpc\":\"2.0\",\"method\":\"lock/lost\",\"params\":{");
	drv_put_text(&frame, "lease", handle->name);
	drv_put_text(&frame, "reason", why.message);
	sp_buf_adds(&frame, "}}\n");
	serve_send(handle->serve, &frame);
}

static void end_call(struct serve_call *call)
{
	struct serve *serve = call->serve;
	struct serve_call **at = &serve->calls;

	pthread_mutex_lock(&serve->lock);
	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	if (serve->ended && !serve->calls)
		(void)eventfd_write(serve->drained, 1);
	pthread_mutex_unlock(&serve->lock);
	if (call->made_lease) {
		sp_cancel_watch(call->made_lease->cancel, on_lost, call->made_lease,
				&call->made_lease->watch);
		serve_handle_put(call->made_lease);
	}
	if (call->handle)
		serve_handle_put(call->handle);
	give_cancel(serve, call->cancel);
	free(call);
}

void serve_fire(struct sp_cancel *cancel, const cJSON *why)
{
	const char *code = sp_json_str(why, "code"), *reason = sp_json_str(why, "reason");

	if (code && !strcmp(code, "timed-out"))
		sp_cancel_set_deadline(cancel, 1);
	else
		sp_cancel_abort(cancel, reason ? reason : "");
}

static void cancel_call(struct serve *serve, int64_t id, const cJSON *why)
{
	struct sp_cancel *cancel = NULL;

	pthread_mutex_lock(&serve->lock);
	for (struct serve_call *at = serve->calls; at; at = at->next)
		if (at->id == id)
			cancel = sp_cancel_ref(at->cancel);
	pthread_mutex_unlock(&serve->lock);
	/* Without the lock: firing calls whoever watches. */
	if (cancel)
		serve_fire(cancel, why);
	sp_cancel_unref(cancel);
}

static void notified(struct serve *serve, const char *method, const cJSON *params)
{
	int64_t id;

	if (strcmp(method, "$/cancel"))
		return;
	if (sp_json_int(params, "id", &id))
		cancel_call(serve, id, params);
	serve_handle_cancel(serve, SERVE_PROCESS, sp_json_str(params, "process"), params);
	serve_handle_cancel(serve, SERVE_READER, sp_json_str(params, "reader"), params);
}

/* ---- Reading in turns ---- */

/* What one thread took: a request that is registered already. */
struct taken {
	cJSON *message;
	struct serve_call *call;
};

static void refuse(struct serve *serve, const char *what)
{
	sp_error_set(&serve->problem, SP_PROTOCOL, "the client sent %s", what);
}

/* One line of the client. True when `taken` is a request. */
static bool take_line(struct serve *serve, const char *line, size_t len, struct taken *taken)
{
	cJSON *message SP_CLEANUP(sp_json_done) = NULL;
	const char *method;
	const cJSON *params;
	int64_t id;

	if (sp_json_parse(line, len, DRV_MAX_FRAME, &message, NULL)) {
		refuse(serve, "a line that is no JSON");
		return false;
	}
	method = sp_json_str(message, "method");
	params = cJSON_GetObjectItemCaseSensitive(message, "params");
	/* Answers to what we never asked are of no use. */
	if (!method)
		return false;
	if (!cJSON_GetObjectItemCaseSensitive(message, "id")) {
		notified(serve, method, params);
		return false;
	}
	if (!sp_json_int(message, "id", &id)) {
		refuse(serve, "a request whose id is no integer");
		return false;
	}
	taken->call = begin_call(serve, id, method);
	if (!taken->call || !taken->call->cancel)
		abort();
	if (cJSON_GetObjectItemCaseSensitive(params, "cancelled"))
		serve_fire(taken->call->cancel,
			   cJSON_GetObjectItemCaseSensitive(params, "cancelled"));
	taken->message = SP_TAKE(message);
	return true;
}

/* Waits for more, where the descriptor does not. */
static void await_input(int in)
{
	struct pollfd fd = {.fd = in, .events = POLLIN};

	(void)poll(&fd, 1, -1);
}

/* Called with the turn. False at the end. */
static bool take_request(struct serve *serve, struct taken *taken)
{
	char *line;
	size_t len;
	int rc = 1;

	while (rc > 0 || rc == -EAGAIN) {
		if (serve->problem.code)
			return false;
		if (drv_lines_take(&serve->lines, &line, &len)) {
			if (take_line(serve, line, len, taken))
				return true;
			continue;
		}
		rc = drv_lines_fill(&serve->lines, serve->in);
		if (rc == -EAGAIN)
			await_input(serve->in);
	}
	if (rc == -ENOBUFS)
		refuse(serve, "a line beyond the ceiling of a frame");
	return false;
}

/* ---- The end of the input ---- */

/* Readers wait for their own cancel, not for that of a call. */
static void abort_readers(struct serve *serve, const char *reason)
{
	pthread_mutex_lock(&serve->lock);
	for (struct serve_handle *at = serve->handles; at; at = at->next)
		if (at->kind == SERVE_READER)
			sp_cancel_abort(at->cancel, reason);
	pthread_mutex_unlock(&serve->lock);
}

static void abort_calls(struct serve *serve, bool all, const char *reason)
{
	for (;;) {
		struct sp_cancel *cancel = NULL;

		pthread_mutex_lock(&serve->lock);
		for (struct serve_call *at = serve->calls; at && !cancel; at = at->next)
			if ((all || at->waits) && !sp_cancel_check(at->cancel, NULL))
				cancel = sp_cancel_ref(at->cancel);
		pthread_mutex_unlock(&serve->lock);
		if (!cancel)
			return;
		sp_cancel_abort(cancel, reason);
		sp_cancel_unref(cancel);
	}
}

/* Of TCP one cannot tell a client that says no more from one that is gone. */
static bool is_tcp(int fd)
{
	socklen_t len = sizeof(int);
	int domain = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain != AF_UNIX;
}

/*
 * A client that has said all may still listen: what it asked is carried out, unless it waits for
 * something that may never come, or the client hears nothing any more.
 */
static void see_calls_out(struct serve *serve)
{
	struct pollfd fds[] = {
	    {.fd = serve->drained, .events = POLLIN},
	    {.fd = serve->out},
	};

	abort_readers(serve, "the input has ended");
	abort_calls(serve, serve->problem.code || is_tcp(serve->in), "the input has ended");
	while (!fds[0].revents) {
		if (poll(fds, SP_COUNT(fds), -1) <= 0)
			fds[0].revents = fds[1].revents = 0;
		if (!fds[1].revents)
			continue;
		fds[1].fd = -1;
		abort_calls(serve, true, "the client has gone");
	}
}

/* ---- Reading in turns ---- */

static void *serve_main(void *arg);

/* One more thread, if nobody waits for the turn. False when there are too many. */
static bool keep_reader(struct serve *serve)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool good = true;

	pthread_mutex_lock(&serve->lock);
	if (!serve->idle) {
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, STACK_SIZE);
		good = serve->threads < MAX_THREADS &&
		       !pthread_create(&thread, &attr, serve_main, serve);
		pthread_attr_destroy(&attr);
		if (good) {
			serve->threads++;
			serve->idle++;
		}
	}
	pthread_mutex_unlock(&serve->lock);
	return good;
}

static void serve_one(struct taken *taken, bool has_reader)
{
	struct sp_error err = SP_ERROR_INIT;
	cJSON *message SP_CLEANUP(sp_json_done) = taken->message;

	if (has_reader) {
		run_call(taken->call, sp_json_str(message, "method"),
			 cJSON_GetObjectItemCaseSensitive(message, "params"));
	} else {
		sp_error_set(&err, SP_UNAVAILABLE, "%d calls are in flight already", MAX_THREADS);
		answer_error(taken->call, &err);
	}
	end_call(taken->call);
}

static void set_idle(struct serve *serve, int by)
{
	pthread_mutex_lock(&serve->lock);
	serve->idle += (unsigned)by;
	pthread_mutex_unlock(&serve->lock);
}

/* Takes one request, with the turn, and carries it out without it. True when it has it again. */
static bool take_turn(struct serve *serve)
{
	struct taken taken = {NULL, NULL};
	bool first = !serve->initialized, has_reader;

	if (!take_request(serve, &taken)) {
		serve_turn_end(serve);
		see_calls_out(serve);
		return false;
	}
	/* Nothing is looked at before `initialize` is answered. */
	if (first) {
		serve_one(&taken, true);
		return true;
	}
	has_reader = keep_reader(serve);
	serve_turn_put(serve);
	serve_one(&taken, has_reader);
	return serve_turn_try(serve);
}

/* Starts as one that waits for the turn. */
static void *serve_main(void *arg)
{
	struct serve *serve = arg;

	while (serve_turn_wait(serve)) {
		set_idle(serve, -1);
		while (take_turn(serve))
			;
		set_idle(serve, 1);
	}
	pthread_mutex_lock(&serve->lock);
	serve->threads--;
	pthread_cond_broadcast(&serve->changed);
	pthread_mutex_unlock(&serve->lock);
	return NULL;
}

/* ---- A connection ---- */

static void close_handles(struct serve *serve)
{
	while (serve->handles) {
		struct serve_handle *handle = serve->handles;

		serve->handles = handle->next;
		serve_handle_put(handle);
	}
}

int sp_serve(int in, int out, const struct sp_serve_offer *offer, struct sp_error *err)
{
	struct serve serve = {
	    .offer = offer,
	    .in = in,
	    .out = out,
	    .max_frame = DRV_MAX_FRAME,
	    .writing = PTHREAD_MUTEX_INITIALIZER,
	    .lock = PTHREAD_MUTEX_INITIALIZER,
	    .changed = PTHREAD_COND_INITIALIZER,
	    .lines = DRV_LINES_INIT(DRV_MAX_FRAME),
	    .gate = -1,
	    .more = -1,
	    .drained = -1,
	    .threads = 1,
	    .idle = 1,
	};
	int rc = serve_turn_open(&serve, err);

	if (!rc) {
		serve_turn_put(&serve);
		serve_main(&serve);
	}
	pthread_mutex_lock(&serve.lock);
	while (!rc && serve.threads)
		pthread_cond_wait(&serve.changed, &serve.lock);
	pthread_mutex_unlock(&serve.lock);
	close_handles(&serve);
	while (serve.n_spare)
		sp_cancel_unref(serve.spare[--serve.n_spare]);
	drv_lines_done(&serve.lines);
	serve_turn_close(&serve);
	if (rc)
		return rc;
	if (serve.problem.code && err)
		*err = serve.problem;
	return serve.problem.code;
}
