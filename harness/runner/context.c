/* SPDX-License-Identifier: MIT */
/* What a case asks its context for. */
#include "worker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

#define FORMAT_CEILING (64UL * 1024 * 1024)

void sp_case_init(struct sp_case *t)
{
	pthread_mutex_init(&t->lock, NULL);
	t->verdict = SP_PASS;
	t->where = (struct sp_where){ t->def->file, t->def->line };
}

void sp_case_release(struct sp_case *t)
{
	while (t->seconds) {
		struct sp_case_second *second = t->seconds;

		t->seconds = second->next;
		sp_subject_done(&second->subject);
		free(second);
	}
	t->cancel = sp_cancel_unref(t->cancel);
}

void sp_case_done(struct sp_case *t)
{
	while (t->blocks) {
		struct sp_case_block *block = t->blocks;

		t->blocks = block->next;
		free(block);
	}
	free(t->message);
	free(t->expected);
	free(t->actual);
	pthread_mutex_destroy(&t->lock);
}

static struct sp_where own_place(struct sp_case *t)
{
	return (struct sp_where){ t->def->file, t->def->line };
}

struct sp_subject *sp_case_subject(struct sp_case *t)
{
	return &t->opened->subject;
}

struct sp_provider *sp_case_provider(struct sp_case *t)
{
	if (!t->opened->subject.provider.ops)
		sp_case_error(t, own_place(t), "the case asks for a provider; its subject is a %s",
			      sp_subject_kind_name(t->opened->kind));
	return &t->opened->subject.provider;
}

struct sp_store *sp_case_store(struct sp_case *t)
{
	if (!t->opened->subject.store.ops)
		sp_case_error(t, own_place(t), "the case asks for a store; its subject is a %s",
			      sp_subject_kind_name(t->opened->kind));
	return &t->opened->subject.store;
}

struct sp_lock *sp_case_lock(struct sp_case *t)
{
	if (!t->opened->subject.lock.ops)
		sp_case_error(t, own_place(t), "the case asks for a lock; its subject is a %s",
			      sp_subject_kind_name(t->opened->kind));
	return &t->opened->subject.lock;
}

const struct sp_capabilities *sp_case_capabilities(struct sp_case *t)
{
	static const struct sp_capabilities nothing = SP_CAPABILITIES_INIT;
	struct sp_provider *provider = sp_case_provider(t);
	const struct sp_capabilities *declared =
		provider->ops ? sp_provider_capabilities(provider) : NULL;

	return declared ? declared : &nothing;
}

/* The case's sandbox, made under the case's own cancel. */
static int acquire_sandbox(struct sp_case *t, struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	if (t->def->needs & SP_NEED_FRESH)
		return sp_worker_make_sandbox(t->worker, t->opened, sp_case_cancel(t), ret_sandbox,
					      err);
	return sp_worker_shared_sandbox(t->worker, t->opened, sp_case_cancel(t), ret_sandbox, err);
}

/* A provider that has no create lacks what every provider owes; all else is no fault of its own. */
static void no_sandbox(struct sp_case *t, const struct sp_error *err)
{
	if (err->code == SP_UNSUPPORTED)
		(void)sp_check(t, false, own_place(t),
			       "every provider creates sandboxes, and this one does not: %s",
			       err->message);
	else
		sp_case_error(t, own_place(t), "no sandbox could be made: %s: %s%s%s",
			      sp_code_name(err->code), err->message, *err->detail ? ": " : "",
			      err->detail);
}

struct sp_sandbox *sp_case_sandbox(struct sp_case *t)
{
	struct sp_error err = SP_ERROR_INIT;

	if (t->sandbox.ops)
		return &t->sandbox;
	if (t->sandbox_failed)
		return NULL;
	if (sp_needs_no_sandbox(t->def)) {
		sp_case_error(t, own_place(t),
			      "the case asks for a sandbox and declares SP_NEED_NO_SANDBOX");
	} else if (acquire_sandbox(t, &t->sandbox, &err)) {
		no_sandbox(t, &err);
	} else {
		return &t->sandbox;
	}
	t->sandbox_failed = true;
	return NULL;
}

void sp_case_own_sandbox(struct sp_case *t, const char *id)
{
	/* What goes through the subject's tables was seen by the guard already, before the call. */
	if (id)
		sp_guard_track(t->guard, id);
}

void sp_case_own_record(struct sp_case *t, const char *key)
{
	const struct sp_store_capabilities *declared =
	    sp_store_capabilities(&t->opened->subject.store);

	if (key && declared && declared->durable)
		(void)sp_guard_wrote(t->guard, key);
}

int sp_case_try_second(struct sp_case *t, struct sp_subject **ret_subject, struct sp_error *err)
{
	struct sp_case_second *second = calloc(1, sizeof(*second));
	int rc = second ? sp_worker_open(t->worker, t->opened, &second->subject, err) :
			  sp_error_set(err, SP_INTERNAL, "out of memory");

	if (rc) {
		free(second);
		return rc;
	}
	second->next = t->seconds;
	t->seconds = second;
	*ret_subject = &second->subject;
	return 0;
}

struct sp_subject *sp_case_second(struct sp_case *t)
{
	struct sp_subject *subject = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (!sp_case_try_second(t, &subject, &err))
		return subject;
	sp_case_error(t, own_place(t), "a second instance could not be opened: %s: %s",
		      sp_code_name(err.code), err.message);
	return NULL;
}

struct sp_subject *sp_case_reopen(struct sp_case *t)
{
	struct sp_error err = SP_ERROR_INIT;

	/* What a case still holds of it (leases) cannot outlive it. */
	sp_guard_drop_handles(t->guard);
	sp_worker_close_subject(t->worker, t->opened);
	if (!sp_worker_open_subject(t->worker, t->opened, &err))
		return &t->opened->subject;
	sp_case_error(t, own_place(t), "the subject could not be opened again: %s: %s",
		      sp_code_name(err.code), err.message);
	return NULL;
}

/*
 * ---- A control for cases that ask for one where there is none: they
 * get answers, not a crash. ----
 */

static int no_control(struct sp_error *err)
{
	return sp_error_set(err, SP_UNSUPPORTED,
			    "this back end has no control; the case has to declare "
			    "SP_NEED_CONTROL");
}

static int no_hold(void *self, enum sp_control_step step, enum sp_control_when when,
		   const char *sandbox_id, uint64_t *ret_hold, struct sp_error *err)
{
	(void)self, (void)step, (void)when, (void)sandbox_id, (void)ret_hold;
	return no_control(err);
}

static int no_await_held(void *self, uint64_t hold, struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)hold, (void)cancel;
	return no_control(err);
}

static int no_release(void *self, uint64_t hold, struct sp_error *err)
{
	(void)self, (void)hold;
	return no_control(err);
}

static int no_fail(void *self, enum sp_control_step step, unsigned nth, int how, int status,
		   struct sp_error *err)
{
	(void)self, (void)step, (void)nth, (void)how, (void)status;
	return no_control(err);
}

static int no_requests(void *self, bool take, struct sp_control_requests *ret_requests,
		       struct sp_error *err)
{
	(void)self, (void)take, (void)ret_requests;
	return no_control(err);
}

static int no_census(void *self, struct sp_census *ret_census, struct sp_error *err)
{
	(void)self, (void)ret_census;
	return no_control(err);
}

static int no_set_state(void *self, const char *sandbox_id, const char *state, struct sp_error *err)
{
	(void)self, (void)sandbox_id, (void)state;
	return no_control(err);
}

static int no_advance(void *self, uint64_t milliseconds, struct sp_error *err)
{
	(void)self, (void)milliseconds;
	return no_control(err);
}

static int no_snapshot_read(void *self, const char *snapshot_id, size_t max,
			    struct sp_bytes *ret_bytes, struct sp_error *err)
{
	(void)self, (void)snapshot_id, (void)max, (void)ret_bytes;
	return no_control(err);
}

static int no_snapshot_plant(void *self, const char *snapshot_id, const void *data, size_t len,
			     struct sp_error *err)
{
	(void)self, (void)snapshot_id, (void)data, (void)len;
	return no_control(err);
}

static int no_reset(void *self, struct sp_error *err)
{
	(void)self;
	return no_control(err);
}

static void no_close(void *self)
{
	(void)self;
}

static const struct sp_control_ops no_control_ops = {
	.version = SP_CONTROL_VERSION,
	.hold = no_hold,
	.await_held = no_await_held,
	.release = no_release,
	.fail = no_fail,
	.requests = no_requests,
	.census = no_census,
	.set_state = no_set_state,
	.advance = no_advance,
	.snapshot_read = no_snapshot_read,
	.snapshot_plant = no_snapshot_plant,
	.reset = no_reset,
	.close = no_close,
};

struct sp_control *sp_case_control(struct sp_case *t)
{
	static struct sp_control none = { &no_control_ops, NULL };

	if (!(t->def->needs & SP_NEED_CONTROL))
		sp_case_error(t, own_place(t),
			      "the case asks for control and does not declare SP_NEED_CONTROL");
	return t->opened->subject.control.ops ? &t->opened->subject.control : &none;
}

struct sp_cancel *sp_case_cancel(struct sp_case *t)
{
	pthread_mutex_lock(&t->lock);
	if (!t->cancel) {
		t->cancel = sp_cancel_new();
		sp_cancel_set_deadline(t->cancel, t->cancel_at);
	}
	pthread_mutex_unlock(&t->lock);
	/* Calls take NULL as "never": the supervisor's deadline still holds. */
	if (!t->cancel)
		sp_case_error(t, own_place(t), "no descriptor or memory for a cancel");
	return t->cancel;
}

unsigned sp_case_rounds(struct sp_case *t)
{
	return t->rounds;
}

/* Room for a text that lives as long as the case. */
static char *keep(struct sp_case *t, size_t len)
{
	struct sp_case_block *block = malloc(sizeof(*block) + len + 1);

	/* Nothing a case asks for is NULL; the worker then ends, which is an error of the case. */
	if (!block)
		abort();
	pthread_mutex_lock(&t->lock);
	block->next = t->blocks;
	t->blocks = block;
	pthread_mutex_unlock(&t->lock);
	return block->text;
}

const char *sp_case_unique(struct sp_case *t)
{
	char *text = keep(t, 63);

	pthread_mutex_lock(&t->lock);
	sp_worker_unique(t->worker, text, 64);
	pthread_mutex_unlock(&t->lock);
	return text;
}

const char *sp_case_format(struct sp_case *t, const char *format, ...)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FORMAT_CEILING);
	va_list args;
	char *text;

	va_start(args, format);
	sp_buf_vaddf(&buf, format, args);
	va_end(args);
	if (buf.error)
		abort();
	text = keep(t, buf.len);
	memcpy(text, sp_buf_str(&buf), buf.len + 1);
	return text;
}

void sp_case_secret(struct sp_case *t, const char *secret)
{
	sp_redact_add(t->redact, secret);
	sp_worker_secret(t->worker, secret);
}
