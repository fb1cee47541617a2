/* SPDX-License-Identifier: MIT */
/* What a driver says, and the thread that looks after it. */
#include "conn.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/utf8.h>

/* How long a driver that closed its output may take to end, so that its exit code can be told. */
#define LAST_WORDS_MS 500
/* Bytes of a line that is no message that are quoted. */
#define QUOTE_MAX 80

/* ---- One message ---- */

static struct drv_call *find_call(struct sp_driver *driver, int64_t id)
{
	struct drv_call *call = driver->calls;

	while (call && call->id != id)
		call = call->next;
	return call;
}

static void take_violation(struct sp_driver *driver, const cJSON *params)
{
	const char *message = sp_json_str(params, "message");

	if (!message) {
		drv_break(driver, "sent $/violation without its message");
		return;
	}
	pthread_mutex_lock(&driver->lock);
	if (!driver->violation.code)
		sp_error_set(&driver->violation, SP_PROTOCOL, "%s", message);
	pthread_mutex_unlock(&driver->lock);
}

/* A driver may not ask; it is told so, since it might wait. */
static void refuse_request(struct sp_driver *driver, const cJSON *id)
{
	struct sp_buf frame SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char *text SP_FREE = cJSON_PrintUnformatted(id);

	sp_buf_addf(
	    &frame,
	    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-2,\"message\":\"the client "
	    "takes no requests\"}}\n",
	    text ? text : "null");
	pthread_mutex_lock(&driver->lock);
	if (!frame.error && !driver->broken)
		drv_send(driver, &frame);
	pthread_mutex_unlock(&driver->lock);
}

static void take_notification(struct sp_driver *driver, const cJSON *message, const char *method)
{
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(message, "id");
	const cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");

	if (id)
		refuse_request(driver, id);
	else if (driver->heard)
		driver->heard(driver->heard_arg, method, params);
	else if (!strcmp(method, "$/violation"))
		take_violation(driver, params);
	else if (!strcmp(method, "lock/lost"))
		drv_lease_lost(driver, params);
}

/* Hands an answer to its call; false when nobody asked. */
static bool hand_over(struct sp_driver *driver, int64_t id, cJSON **message)
{
	struct drv_call *call;

	pthread_mutex_lock(&driver->lock);
	call = find_call(driver, id);
	if (call) {
		call->answer = SP_TAKE(*message);
		drv_finish_call(driver, call, call != driver->leader);
	}
	pthread_mutex_unlock(&driver->lock);
	return call != NULL;
}

static void take_answer(struct sp_driver *driver, cJSON **message)
{
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(*message, "error");
	const cJSON *result = cJSON_GetObjectItemCaseSensitive(*message, "result");
	const char *text = sp_json_str(error, "message");
	int64_t id;

	if (!error == !result) {
		drv_break(driver, "sent an answer with %s of \"result\" and \"error\"",
			  error ? "both" : "none");
	} else if (!sp_json_int(*message, "id", &id)) {
		drv_break(driver,
			  error ? "could not read what it was sent: %.200s"
				: "sent an answer without the id of its request",
			  text ? text : "it gave no reason");
	} else if (!hand_over(driver, id, message)) {
		bool asked = id >= 1 && id <= driver->last_id;

		drv_break(driver,
			  asked ? "answered the id %" PRId64 " twice"
				: "answered the id %" PRId64 ", which nobody asked",
			  id);
	}
}

/* A banner is shown, so that its author knows it again. */
static void refuse_line(struct sp_driver *driver, const char *line, size_t len, const char *reason)
{
	struct sp_buf quote SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_utf8_decoder decoder = {.n_held = 0};

	if (!len || *line == '{') {
		drv_break(driver, "sent a line that is no message: %s",
			  len ? reason : "it is empty");
		return;
	}
	sp_utf8_decode(&decoder, line, len < QUOTE_MAX ? len : QUOTE_MAX, &quote);
	drv_break(
	    driver,
	    "printed a line that is no message (standard output belongs to the protocol; print "
	    "to standard error): \"%s\"%s",
	    sp_buf_str(&quote), len > QUOTE_MAX ? "…" : "");
}

static void dispatch(struct sp_driver *driver, const char *line, size_t len)
{
	cJSON *message SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;
	const char *method, *version;

	drv_trace_add(driver->trace, false, line, len);
	if (sp_json_parse(line, len, DRV_MAX_FRAME, &message, &err)) {
		refuse_line(driver, line, len, err.message);
		return;
	}
	method = sp_json_str(message, "method");
	version = sp_json_str(message, "jsonrpc");
	if (!cJSON_IsObject(message) || !version || strcmp(version, "2.0"))
		refuse_line(driver, line, len, "it is no object with \"jsonrpc\":\"2.0\"");
	else if (method)
		take_notification(driver, message, method);
	else
		take_answer(driver, &message);
}

/* ---- What is there ---- */

void drv_dispatch_lines(struct sp_driver *driver)
{
	char *line;
	size_t len;

	while (!driver->broken && drv_lines_take(&driver->lines, &line, &len))
		dispatch(driver, line, len);
}

static void describe_end(struct sp_driver *driver, const char *otherwise)
{
	const char *within = drv_lines_left(&driver->lines) ? " in the middle of a line" : "";
	siginfo_t info = {0};

	if (driver->attached || !drv_is_ending(driver) || !drv_await_end(driver, LAST_WORDS_MS) ||
	    waitid(P_PIDFD, (id_t)driver->child.pidfd, &info, WEXITED | WNOWAIT))
		drv_break(driver, "%s%s", otherwise, within);
	else if (info.si_code == CLD_EXITED)
		drv_break(driver, "ended with exit code %d%s", info.si_status, within);
	else
		drv_break(driver, "was ended by signal %s%s", sp_signal_name(info.si_status),
			  within);
}

/* Reads once, with the turn. False when there is nothing more. */
static bool read_lines(struct sp_driver *driver)
{
	int rc = drv_lines_fill(&driver->lines, driver->out);

	if (rc == -EAGAIN)
		return false;
	if (rc > 0)
		drv_dispatch_lines(driver);
	else if (rc == -ENOBUFS)
		drv_break(driver, "sent a line of more than %zu bytes", DRV_MAX_FRAME);
	else
		describe_end(driver, driver->attached ? "closed the connection"
						      : "closed its standard output");
	return rc > 0;
}

void drv_drain_err(struct sp_driver *driver)
{
	struct sp_buf *tail = &driver->tail;

	while (driver->err >= 0) {
		char *room = sp_buf_reserve(tail, DRV_TAIL_MAX);
		ssize_t n = room ? read(driver->err, room, DRV_TAIL_MAX) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			driver->err = sp_close(driver->err);
			return;
		}
		tail->len += (size_t)n;
		tail->data[tail->len] = '\0';
		/* NULs would cut it short. */
		for (size_t i = tail->len - (size_t)n; i < tail->len; i++)
			if (!tail->data[i])
				tail->data[i] = ' ';
		if (tail->len > DRV_TAIL_MAX)
			sp_buf_consume(tail, tail->len - DRV_TAIL_MAX);
		/* One piece at a time: whoever floods it does not keep us from the rest. */
		return;
	}
}

/* ---- The loop ---- */

enum { AT_WAKE, AT_GATE, AT_FIRED, AT_ERR, AT_IN, AT_PID, N_WAITED };

/* What it said before its end counts; of one that lives, what is there. */
static void end_well_read(struct sp_driver *driver, bool has_ended, const char *how)
{
	drv_turn_insist(driver);
	while (!driver->broken && read_lines(driver) && has_ended)
		;
	if (!driver->broken)
		describe_end(driver, how);
	drv_turn_give(driver);
}

static void look_at_input(struct sp_driver *driver, short revents)
{
	bool open = true;

	if (revents & POLLOUT) {
		pthread_mutex_lock(&driver->lock);
		open = drv_flush(driver);
		pthread_mutex_unlock(&driver->lock);
	}
	/* A socket tells of its end by what is read from it. */
	if (!open || (revents & (POLLERR | POLLHUP) && !driver->attached))
		end_well_read(driver, false,
			      driver->attached ? "closed the connection"
					       : "closed its standard input");
}

static void handle(struct sp_driver *driver, const struct pollfd *fds)
{
	uint64_t count;

	if (fds[AT_WAKE].revents)
		(void)!read(driver->wake, &count, sizeof(count));
	if (fds[AT_ERR].revents) {
		pthread_mutex_lock(&driver->lock);
		drv_drain_err(driver);
		pthread_mutex_unlock(&driver->lock);
	}
	if (fds[AT_FIRED].revents)
		drv_look_at_watches(driver);
	if (fds[AT_GATE].revents && drv_turn_take(driver)) {
		read_lines(driver);
		drv_turn_give(driver);
	} else if (fds[AT_PID].revents && !driver->broken) {
		end_well_read(driver, true, "ended");
	}
	if (!driver->broken && fds[AT_IN].revents)
		look_at_input(driver, fds[AT_IN].revents);
}

/* What is waited for next, and until when. False when the loop is over. */
static bool collect(struct sp_driver *driver, struct pollfd *fds, int *ret_ms)
{
	bool goes_on;

	pthread_mutex_lock(&driver->lock);
	fds[AT_WAKE].fd = driver->wake;
	fds[AT_GATE].fd = driver->gate;
	fds[AT_FIRED].fd = driver->fired;
	fds[AT_ERR].fd = driver->err;
	fds[AT_IN].fd = driver->in;
	fds[AT_PID].fd = driver->child.pidfd;
	for (size_t i = 0; i < N_WAITED; i++)
		fds[i].events = POLLIN;
	fds[AT_IN].events = driver->outgoing.len ? POLLOUT : 0;
	*ret_ms = sp_until_ms(driver->start_deadline);
	goes_on = !driver->broken && !(driver->closing && !driver->outgoing.len);
	pthread_mutex_unlock(&driver->lock);
	return goes_on;
}

static void check_start(struct sp_driver *driver)
{
	bool late;

	pthread_mutex_lock(&driver->lock);
	late = driver->start_deadline && sp_now() >= driver->start_deadline;
	pthread_mutex_unlock(&driver->lock);
	if (late)
		drv_break(driver, "did not answer initialize in time");
}

void *drv_io_main(void *arg)
{
	struct sp_driver *driver = arg;
	struct pollfd fds[N_WAITED];
	int ms;

	while (collect(driver, fds, &ms)) {
		if (poll(fds, N_WAITED, ms) >= 0)
			handle(driver, fds);
		check_start(driver);
	}
	/* Nobody reads any more: the output is closed now. */
	drv_turn_insist(driver);
	drv_end(driver, !driver->broken);
	pthread_mutex_lock(&driver->lock);
	if (!driver->broken) {
		driver->broken = driver->told = true;
		sp_error_set(&driver->cause, SP_GONE, "the driver was closed");
	}
	drv_fail_calls(driver);
	pthread_mutex_unlock(&driver->lock);
	return NULL;
}
