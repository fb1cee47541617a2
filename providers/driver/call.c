/* SPDX-License-Identifier: MIT */
/* Requests of the client, from the frame to the answer. */
#include "conn.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <base/cleanup.h>

void drv_wake(struct sp_driver *driver)
{
	const uint64_t one = 1;

	(void)!write(driver->wake, &one, sizeof(one));
}

bool drv_flush(struct sp_driver *driver)
{
	struct sp_buf *out = &driver->outgoing;

	while (out->len && driver->in >= 0) {
		ssize_t n = write(driver->in, out->data, out->len);

		if (n >= 0)
			sp_buf_consume(out, (size_t)n);
		else if (errno == EAGAIN)
			return true;
		else if (errno != EINTR)
			return false;
	}
	return true;
}

void drv_send(struct sp_driver *driver, const struct sp_buf *frame)
{
	bool queued = driver->outgoing.len > 0;
	size_t done = 0;

	driver->sent += frame->len;
	drv_trace_add(driver->trace, true, frame->data, frame->len - 1);
	while (!queued && done < frame->len && driver->in >= 0) {
		ssize_t n = write(driver->in, frame->data + done, frame->len - done);

		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			break;
	}
	if (done == frame->len)
		return;
	/* What did not fit, and an input that is closed, are the thread's to deal with. */
	sp_buf_add(&driver->outgoing, frame->data + done, frame->len - done);
	drv_wake(driver);
}

/* ---- Call structs, kept with their descriptor ---- */

static struct drv_call *new_call(struct sp_driver *driver)
{
	struct drv_call *call = driver->spare;

	if (call) {
		driver->spare = call->next;
		*call = (struct drv_call){.event = call->event};
		return call;
	}
	call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	call->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (call->event >= 0)
		return call;
	free(call);
	return NULL;
}

static void drop_call(struct sp_driver *driver, struct drv_call *call)
{
	cJSON_Delete(SP_TAKE(call->answer));
	call->next = driver->spare;
	driver->spare = call;
}

static void unlink_call(struct sp_driver *driver, struct drv_call *call)
{
	struct drv_call **at = &driver->calls;

	while (*at && *at != call)
		at = &(*at)->next;
	if (*at)
		*at = call->next;
}

/* The answer, or the driver's end, is there. Called with the lock held. */
void drv_finish_call(struct sp_driver *driver, struct drv_call *call, bool wake)
{
	const uint64_t one = 1;

	unlink_call(driver, call);
	call->done = true;
	if (!call->posted) {
		if (wake)
			(void)!write(call->event, &one, sizeof(one));
		return;
	}
	if (call->answered) {
		pthread_mutex_unlock(&driver->lock);
		call->answered(call->arg, call);
		pthread_mutex_lock(&driver->lock);
	}
	drop_call(driver, call);
}

void drv_fail_calls(struct sp_driver *driver)
{
	while (driver->calls) {
		struct drv_call *call = driver->calls;

		sp_error_set(&call->err, SP_UNKNOWN_OUTCOME, "%s was not answered: %s",
			     call->method, driver->cause.message);
		drv_finish_call(driver, call, true);
	}
}

/* ---- Sending ---- */

static void build_request(struct sp_buf *frame, const struct drv_call *call,
			  const struct sp_buf *params)
{
	sp_buf_addf(frame, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\",\"params\":",
		    (long long)call->id, call->method);
	sp_buf_add(frame, params->data, params->len);
	sp_buf_adds(frame, "}\n");
}

static int gone(const struct sp_driver *driver, const char *method, struct sp_error *err)
{
	return sp_error_set(err, SP_UNAVAILABLE, "%s was not called: %s", method,
			    driver->cause.message);
}

/* Registers the call and sends it. Called with the lock held. */
static int start_call(struct sp_driver *driver, struct drv_call *call, const char *method,
		      struct sp_buf *params, struct sp_error *err)
{
	struct sp_buf frame SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(driver->max_frame);

	call->method = method;
	call->id = driver->last_id + 1;
	build_request(&frame, call, params);
	if (frame.error == -ENOBUFS || params->error == -ENOBUFS)
		return sp_error_set(err, SP_INVALID,
				    "%s: its arguments pass the %zu bytes of a frame", method,
				    driver->max_frame);
	if (frame.error || params->error)
		return sp_error_set(err, SP_INTERNAL, "%s: out of memory", method);
	driver->last_id = call->id;
	call->begins = driver->sent;
	call->next = driver->calls;
	driver->calls = call;
	drv_send(driver, &frame);
	return 0;
}

static struct drv_call *begin_call(struct sp_driver *driver, const char *method,
				   struct sp_buf *params, struct sp_error *err)
{
	struct drv_call *call = NULL;

	pthread_mutex_lock(&driver->lock);
	if (driver->broken) {
		gone(driver, method, err);
	} else {
		call = new_call(driver);
		if (!call)
			sp_error_set(err, SP_INTERNAL, "%s: out of memory", method);
		else if (start_call(driver, call, method, params, err)) {
			drop_call(driver, call);
			call = NULL;
		}
	}
	pthread_mutex_unlock(&driver->lock);
	return call;
}

void drv_send_cancel(struct sp_driver *driver, const char *kind, const char *handle, int64_t id,
		     const struct sp_error *why)
{
	struct sp_buf frame SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_adds(&frame, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel\",\"params\":{");
	if (handle)
		drv_put_text(&frame, kind, handle);
	else
		drv_put_int(&frame, "id", id);
	drv_put_text(&frame, "code", sp_code_name(why->code));
	drv_put_text(&frame, "reason", why->code == SP_ABORTED ? why->message : "");
	sp_buf_adds(&frame, "}}\n");
	if (!frame.error && !driver->broken)
		drv_send(driver, &frame);
}

/* The cancel has fired: tells the driver. */
static void pass_cancel(struct sp_driver *driver, const struct drv_call *call,
			struct sp_cancel *cancel)
{
	struct sp_error why = SP_ERROR_INIT;

	(void)sp_cancel_check(cancel, &why);
	pthread_mutex_lock(&driver->lock);
	if (!call->done)
		drv_send_cancel(driver, NULL, NULL, call->id, &why);
	pthread_mutex_unlock(&driver->lock);
}

enum { AT_EVENT, AT_CANCEL, AT_OUT, N_WAITED };

/* Reads for itself where nobody else does: each thread that an answer wakes costs a turn. */
static void await_answer(struct sp_driver *driver, struct drv_call *call, struct sp_cancel *cancel)
{
	int out = drv_turn_lead(driver, call);
	struct pollfd fds[N_WAITED] = {
	    [AT_EVENT] = {.fd = call->event, .events = POLLIN},
	    [AT_CANCEL] = {.fd = sp_cancel_fd(cancel), .events = POLLIN},
	    [AT_OUT] = {.events = POLLIN},
	};
	bool reads = out >= 0;
	uint64_t count;

	do {
		fds[AT_OUT].fd = reads ? out : -1;
		if (poll(fds, N_WAITED, -1) < 0)
			continue;
		if (fds[AT_OUT].revents)
			reads = drv_turn_read(driver);
		if (fds[AT_EVENT].revents)
			(void)!read(call->event, &count, sizeof(count));
		if (fds[AT_CANCEL].revents && sp_cancel_check(cancel, NULL)) {
			pass_cancel(driver, call, cancel);
			fds[AT_CANCEL].fd = -1;
		}
	} while (!drv_turn_is_over(driver, call, &reads));
}

/* Takes the result, or the error, out of an answer. */
static int read_answer(struct sp_driver *driver, struct drv_call *call, cJSON **ret_result,
		       struct sp_error *err)
{
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(call->answer, "error");
	int rc;

	if (!call->answer) {
		if (err)
			*err = call->err;
		return call->err.code;
	}
	if (error) {
		struct sp_error said = SP_ERROR_INIT;

		rc = drv_get_error(error, &said);
		if (err)
			*err = said;
		return rc;
	}
	*ret_result = cJSON_DetachItemFromObjectCaseSensitive(call->answer, "result");
	if (cJSON_IsObject(*ret_result))
		return 0;
	cJSON_Delete(SP_TAKE(*ret_result));
	sp_error_set(err, SP_PROTOCOL, "its result is no object");
	return drv_nonsense(driver, call->method, err);
}

/* The cancel had fired before the call: the driver hears of it together with the call. */
static void note_fired(struct sp_buf *params, struct sp_cancel *cancel)
{
	struct sp_error why = SP_ERROR_INIT;

	if (!cancel || !sp_cancel_check(cancel, &why) || params->error || !params->len)
		return;
	params->len--;
	drv_put_open(params, "cancelled", '{');
	drv_put_text(params, "code", sp_code_name(why.code));
	drv_put_text(params, "reason", why.code == SP_ABORTED ? why.message : "");
	sp_buf_adds(params, "}}");
}

int drv_call(struct sp_driver *driver, const char *method, struct sp_buf *params,
	     struct sp_cancel *cancel, cJSON **ret_result, struct sp_error *err)
{
	cJSON *result = NULL;
	struct drv_call *call;
	struct sp_error own = SP_ERROR_INIT;
	int rc;

	if (!err)
		err = &own;
	note_fired(params, cancel);
	call = begin_call(driver, method, params, err);
	if (!call)
		return err->code;
	await_answer(driver, call, cancel);
	rc = read_answer(driver, call, &result, err);
	pthread_mutex_lock(&driver->lock);
	drop_call(driver, call);
	pthread_mutex_unlock(&driver->lock);
	if (!rc && ret_result)
		*ret_result = SP_TAKE(result);
	cJSON_Delete(result);
	return rc;
}

int64_t drv_post(struct sp_driver *driver, const char *method, struct sp_buf *params,
		 drv_answered_fn answered, void *arg)
{
	struct drv_call *call;
	int64_t id = 0;

	pthread_mutex_lock(&driver->lock);
	call = driver->broken ? NULL : new_call(driver);
	if (call) {
		call->posted = true;
		call->answered = answered;
		call->arg = arg;
		if (start_call(driver, call, method, params, NULL))
			drop_call(driver, call);
		else
			id = call->id;
	}
	pthread_mutex_unlock(&driver->lock);
	if (!id && answered)
		answered(arg, NULL);
	return id;
}

void drv_notify(struct sp_driver *driver, const char *method, const struct sp_buf *params)
{
	struct sp_buf frame SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(driver->max_frame);

	sp_buf_addf(&frame, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":", method);
	sp_buf_add(&frame, params->data, params->len);
	sp_buf_adds(&frame, "}\n");
	pthread_mutex_lock(&driver->lock);
	if (!frame.error && !driver->broken)
		drv_send(driver, &frame);
	pthread_mutex_unlock(&driver->lock);
}

/* ---- What goes wrong ---- */

void drv_break(struct sp_driver *driver, const char *format, ...)
{
	struct sp_error cause = SP_ERROR_INIT;
	char text[SP_ERROR_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sp_error_set(&cause, SP_PROTOCOL, "the driver %s", text);
	pthread_mutex_lock(&driver->lock);
	if (!driver->broken) {
		driver->broken = true;
		driver->cause = cause;
		drv_fail_calls(driver);
		drv_wake(driver);
	}
	pthread_mutex_unlock(&driver->lock);
}

int drv_nonsense(struct sp_driver *driver, const char *method, struct sp_error *err)
{
	struct sp_error why = SP_ERROR_INIT;

	if (err)
		why = *err;
	/* Memory that is short here is no fault of the driver. */
	if (why.code == SP_INTERNAL)
		return why.code;
	drv_break(driver, "answered %s with nonsense: %s", method, why.message);
	return sp_error_set(err, SP_PROTOCOL, "the driver answered %s with nonsense: %s", method,
			    why.message);
}

/* The end of what it said on standard error, in one line of bounded length. */
static void add_last_words(struct sp_driver *driver, struct sp_error *err)
{
	size_t room = SP_ERROR_TEXT - 1, from;
	struct sp_buf *tail = &driver->tail;

	while (tail->len && strchr("\n\r ", tail->data[tail->len - 1]))
		tail->data[--tail->len] = '\0';
	from = tail->len > room ? tail->len - room : 0;
	/* Whole lines, where one ends early enough. */
	if (from) {
		char *line = memchr(tail->data + from, '\n', room / 2);

		from = line ? (size_t)(line + 1 - tail->data) : from;
	}
	if (tail->len)
		sp_error_set_detail(err, tail->data + from);
}

int sp_driver_check(struct sp_driver *driver, bool *ret_gone, struct sp_error *err)
{
	struct sp_error found = SP_ERROR_INIT;

	pthread_mutex_lock(&driver->lock);
	*ret_gone = driver->broken;
	if (driver->broken && !driver->told) {
		driver->told = true;
		found = driver->cause;
	} else if (driver->violation.code) {
		found = driver->violation;
	}
	driver->violation = (struct sp_error)SP_ERROR_INIT;
	if (found.code)
		add_last_words(driver, &found);
	pthread_mutex_unlock(&driver->lock);
	if (found.code && err)
		*err = found;
	return found.code;
}
