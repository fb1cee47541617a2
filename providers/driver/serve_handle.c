/* SPDX-License-Identifier: MIT */
/* What the client of a served connection holds. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    [SERVE_SANDBOX] = "sandbox",
    [SERVE_PROCESS] = "process",
    [SERVE_LEASE] = "lease",
    [SERVE_READER] = "reader",
};

struct serve_handle *serve_handle_new(struct serve *serve, enum serve_kind kind)
{
	struct serve_handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	handle->serve = serve;
	handle->kind = kind;
	handle->refs = 2;
	pthread_mutex_lock(&serve->lock);
	snprintf(handle->name, sizeof(handle->name), "%c%llu", kinds[kind][0],
		 (unsigned long long)++serve->last_handle);
	handle->next = serve->handles;
	serve->handles = handle;
	pthread_mutex_unlock(&serve->lock);
	return handle;
}

/* Called with the lock held. */
static struct serve_handle *find(struct serve *serve, enum serve_kind kind, const char *name)
{
	struct serve_handle *at = serve->handles;

	while (at && (at->kind != kind || strcmp(at->name, name)))
		at = at->next;
	return at;
}

int serve_handle_get(struct serve_call *call, const cJSON *params, enum serve_kind kind,
		     struct serve_handle **ret_handle, struct sp_error *err)
{
	struct serve *serve = call->serve;
	const char *name = NULL;
	int rc = drv_get_text(params, kinds[kind], &name, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&serve->lock);
	call->handle = find(serve, kind, name);
	if (call->handle)
		call->handle->refs++;
	pthread_mutex_unlock(&serve->lock);
	*ret_handle = call->handle;
	return call->handle ? 0
			    : sp_error_set(err, SP_INVALID, "there is no %s with the handle %.100s",
					   kinds[kind], name);
}

/* Ends what the handle stands for, as the table's own closing does. */
static void free_handle(struct serve_handle *handle)
{
	switch (handle->kind) {
	case SERVE_SANDBOX:
		sp_sandbox_done(&handle->sandbox);
		break;
	case SERVE_PROCESS:
		sp_process_done(&handle->process);
		sp_cancel_unref(handle->cancel);
		break;
	case SERVE_LEASE:
		sp_cancel_unwatch(handle->cancel, handle->watch);
		sp_lease_done(&handle->lease);
		break;
	case SERVE_READER:
		if (handle->reader.ops)
			handle->reader.ops->close(handle->reader.self);
		sp_cancel_unref(handle->cancel);
		break;
	}
	free(handle);
}

void serve_handle_put(struct serve_handle *handle)
{
	struct serve *serve = handle->serve;
	bool last;

	pthread_mutex_lock(&serve->lock);
	last = !--handle->refs;
	pthread_mutex_unlock(&serve->lock);
	if (last)
		free_handle(handle);
}

/* A cancel of a call that uses the handle and has not been ended; with a reference. */
static struct sp_cancel *other_user(struct serve_call *call, const struct serve_handle *handle)
{
	struct sp_cancel *cancel = NULL;

	pthread_mutex_lock(&call->serve->lock);
	for (struct serve_call *at = call->serve->calls; at && !cancel; at = at->next)
		if (at != call && at->handle == handle && !sp_cancel_check(at->cancel, NULL))
			cancel = sp_cancel_ref(at->cancel);
	pthread_mutex_unlock(&call->serve->lock);
	return cancel;
}

void serve_handle_close(struct serve_call *call, struct serve_handle *handle)
{
	struct serve *serve = call->serve;
	struct serve_handle **at = &serve->handles;
	struct sp_cancel *cancel;
	bool listed;

	pthread_mutex_lock(&serve->lock);
	while (*at && *at != handle)
		at = &(*at)->next;
	listed = *at != NULL;
	if (listed)
		*at = handle->next;
	pthread_mutex_unlock(&serve->lock);
	if (handle->kind == SERVE_READER)
		sp_cancel_abort(handle->cancel, "the reader was closed");
	while ((cancel = other_user(call, handle))) {
		sp_cancel_abort(cancel, "the handle was closed");
		sp_cancel_unref(cancel);
	}
	if (listed)
		serve_handle_put(handle);
}

void serve_handle_cancel(struct serve *serve, enum serve_kind kind, const char *name,
			 const cJSON *why)
{
	struct sp_cancel *cancel = NULL;
	struct serve_handle *handle;

	if (!name)
		return;
	pthread_mutex_lock(&serve->lock);
	handle = find(serve, kind, name);
	if (handle && handle->cancel)
		cancel = sp_cancel_ref(handle->cancel);
	pthread_mutex_unlock(&serve->lock);
	if (cancel)
		serve_fire(cancel, why);
	sp_cancel_unref(cancel);
}

void serve_put_listeners(struct sp_buf *result, struct sp_cancel *cancel)
{
	size_t n = cancel ? sp_cancel_watchers(cancel) : 0;

	if (n)
		drv_put_uint(result, "listeners", n);
}

int serve_put_sandbox(struct serve *serve, struct sp_sandbox *sandbox, struct sp_buf *result,
		      struct sp_error *err)
{
	struct serve_handle *handle = serve_handle_new(serve, SERVE_SANDBOX);

	if (!handle) {
		sp_sandbox_done(sandbox);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	handle->sandbox = *sandbox;
	drv_put_text(result, "sandbox", handle->name);
	drv_put_text(result, "id", sp_sandbox_id(sandbox));
	drv_put_text(result, "workspace_root", sp_sandbox_workspace_root(sandbox));
	serve_handle_put(handle);
	return 0;
}

int serve_put_process(struct serve *serve, struct sp_process *process, struct sp_cancel *cancel,
		      struct sp_buf *result, struct sp_error *err)
{
	struct serve_handle *handle = serve_handle_new(serve, SERVE_PROCESS);

	if (!handle) {
		sp_process_done(process);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	handle->process = *process;
	handle->cancel = sp_cancel_ref(cancel);
	drv_put_text(result, "process", handle->name);
	serve_handle_put(handle);
	return 0;
}
