/* SPDX-License-Identifier: MIT */
#include "wrap_ensure.h"

#include <stdio.h>
#include <string.h>

/* ---- The provider of one call ---- */

static const char *provider_name(void *self)
{
	return sp_provider_name(((struct fault_ensure_call *)self)->asked->provider);
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	return sp_provider_capabilities(((struct fault_ensure_call *)self)->asked->provider);
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct fault_ensure_call *call = self;
	struct sp_create_options own = *options;
	int rc = call->ensure->hooks->create ?
			 call->ensure->hooks->create(call, &own, ret_sandbox, err) :
			 sp_provider_create(call->asked->provider, options, ret_sandbox, err);

	if (!rc)
		snprintf(call->id, sizeof(call->id), "%s", sp_sandbox_id(ret_sandbox));
	return rc;
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_ensure_call *call = self;
	int rc = call->ensure->hooks->resume ?
			 call->ensure->hooks->resume(call, id, ret_sandbox, cancel, err) :
			 sp_provider_resume(call->asked->provider, id, ret_sandbox, cancel, err);

	call->resumed = !rc && ret_sandbox->ops;
	return rc;
}

static int provider_restore(void *self, const char *snapshot_id,
			    const struct sp_create_options *options,
			    struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct fault_ensure_call *call = self;
	struct sp_create_options own = *options;
	int rc = call->ensure->hooks->restore ?
			 call->ensure->hooks->restore(call, snapshot_id, &own, ret_sandbox, err) :
			 sp_provider_restore(call->asked->provider, snapshot_id, options,
					     ret_sandbox, err);

	call->restored = !rc;
	return rc;
}

int fault_asked_remove(struct fault_ensure_call *call, const char *id, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	return sp_provider_destroy(call->asked->provider, id, cancel, err);
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct fault_ensure_call *call = self;
	int rc = call->ensure->hooks->remove ? call->ensure->hooks->remove(call, id, cancel, err) :
					       fault_asked_remove(call, id, cancel, err);

	call->remove_rc = rc ? rc : call->remove_rc;
	return rc;
}

static int provider_snapshot_delete(void *self, const char *snapshot_id, struct sp_cancel *cancel,
				    struct sp_error *err)
{
	struct fault_ensure_call *call = self;

	return call->ensure->hooks->snapshot_delete ?
		       call->ensure->hooks->snapshot_delete(call, snapshot_id, cancel, err) :
		       sp_provider_snapshot_delete(call->asked->provider, snapshot_id, cancel, err);
}

static const struct sp_provider_ops provider_ops = {
	.version = SP_PROVIDER_VERSION,
	.name = provider_name,
	.capabilities = provider_capabilities,
	.create = provider_create,
	.resume = provider_resume,
	.restore = provider_restore,
	.destroy = provider_destroy,
	.snapshot_delete = provider_snapshot_delete,
};

/* ---- The store of one call ---- */

static const struct sp_store_capabilities *store_capabilities(void *self)
{
	return sp_store_capabilities(((struct fault_ensure_call *)self)->asked->store);
}

int fault_asked_get(struct fault_ensure_call *call, const char *key, struct sp_record *ret_record,
		    bool *ret_found, struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_store_get(call->asked->store, key, ret_record, ret_found, cancel, err);
}

static int store_get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_ensure_call *call = self;
	int rc = call->ensure->hooks->get ?
			 call->ensure->hooks->get(call, key, ret_record, ret_found, cancel, err) :
			 fault_asked_get(call, key, ret_record, ret_found, cancel, err);

	call->found = !rc && *ret_found;
	return rc;
}

int fault_asked_upsert(struct fault_ensure_call *call, const struct sp_record *record,
		       const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_store_upsert(call->asked->store, record, fence, cancel, err);
}

static int store_upsert(void *self, const struct sp_record *record, const uint64_t *fence,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_ensure_call *call = self;
	struct sp_record own = *record;

	return call->ensure->hooks->upsert ?
		       call->ensure->hooks->upsert(call, &own, fence, cancel, err) :
		       fault_asked_upsert(call, record, fence, cancel, err);
}

static int store_del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_ensure_call *call = self;

	return call->ensure->hooks->del ? call->ensure->hooks->del(call, key, cancel, err) :
					  sp_store_del(call->asked->store, key, cancel, err);
}

static const struct sp_store_ops store_ops = {
	.version = SP_STORE_VERSION,
	.capabilities = store_capabilities,
	.get = store_get,
	.upsert = store_upsert,
	.del = store_del,
};

/* ---- The lock of one call ---- */

static const struct sp_lock_capabilities *lock_capabilities(void *self)
{
	return sp_lock_capabilities(((struct fault_ensure_call *)self)->asked->lock);
}

static int lock_acquire(void *self, const char *key, struct sp_cancel *cancel,
			struct sp_lease *ret_lease, struct sp_error *err)
{
	struct fault_ensure_call *call = self;

	return call->ensure->hooks->acquire ?
		       call->ensure->hooks->acquire(call, key, cancel, ret_lease, err) :
		       sp_lock_acquire(call->asked->lock, key, cancel, ret_lease, err);
}

static const struct sp_lock_ops lock_ops = {
	.version = SP_LOCK_VERSION,
	.capabilities = lock_capabilities,
	.acquire = lock_acquire,
};

static void empty_release(void *self)
{
	(void)self;
}

struct sp_lease fault_empty_lease(void)
{
	static const struct sp_lease_ops ops = { .version = SP_LEASE_VERSION,
						 .release = empty_release };

	return (struct sp_lease){ &ops, NULL };
}

/* ---- The bootstrap of one call ---- */

static int run_bootstrap(void *arg, struct sp_sandbox *sandbox, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	struct fault_ensure_call *call = arg;
	int rc = call->ensure->hooks->bootstrap ?
			 call->ensure->hooks->bootstrap(call, sandbox, cancel, err) :
			 call->asked->bootstrap(call->asked->bootstrap_arg, sandbox, cancel, err);

	call->bootstrap_failed = rc != 0;
	return rc;
}

/* ---- Ensure ---- */

static void begin(struct fault_ensure *ensure, const struct sp_ensure_options *options,
		  struct fault_ensure_call *call)
{
	*call = (struct fault_ensure_call){ .ensure = ensure, .asked = options };
	call->options = *options;
	if (ensure->inner.ops->key(ensure->inner.self, options, call->key, NULL))
		call->key[0] = '\0';
	call->provider = (struct sp_provider){ &provider_ops, call };
	call->store = (struct sp_store){ &store_ops, call };
	call->lock = (struct sp_lock){ &lock_ops, call };
	if (options->provider && options->provider->ops)
		call->options.provider = &call->provider;
	if (options->store && options->store->ops)
		call->options.store = &call->store;
	if (options->lock && options->lock->ops)
		call->options.lock = &call->lock;
	if (options->bootstrap) {
		call->options.bootstrap = run_bootstrap;
		call->options.bootstrap_arg = call;
	}
	if (ensure->hooks->before)
		ensure->hooks->before(call);
}

static int ensure_ensure(void *self, const struct sp_ensure_options *options,
			 struct sp_sandbox *ret_sandbox, enum sp_ensure_outcome *ret_outcome,
			 struct sp_error *err)
{
	struct fault_ensure *ensure = self;
	struct fault_ensure_call call;
	int rc;

	begin(ensure, options, &call);
	rc = ensure->inner.ops->ensure(ensure->inner.self, &call.options, ret_sandbox, ret_outcome,
				       err);
	return ensure->hooks->after ? ensure->hooks->after(&call, rc, ret_sandbox, ret_outcome, err)
				    : rc;
}

static int ensure_key(void *self, const struct sp_ensure_options *options, char ret_key[17],
		      struct sp_error *err)
{
	struct fault_ensure *ensure = self;
	struct fault_ensure_call call;

	begin(ensure, options, &call);
	return ensure->inner.ops->key(ensure->inner.self, &call.options, ret_key, err);
}

static int ensure_destroy(void *self, const struct sp_ensure_options *options,
			  struct sp_error *err)
{
	struct fault_ensure *ensure = self;
	struct fault_ensure_call call;

	begin(ensure, options, &call);
	return ensure->hooks->destroy ?
		       ensure->hooks->destroy(&call, err) :
		       ensure->inner.ops->destroy(ensure->inner.self, &call.options, err);
}

static void ensure_close(void *self)
{
	struct fault_ensure *ensure = self;

	ensure->inner.ops->close(ensure->inner.self);
	pthread_mutex_destroy(&ensure->lock);
	free(ensure->key);
	free(ensure->text);
	free(ensure);
}

static const struct sp_ensure_ops ensure_ops = {
	.version = SP_ENSURE_VERSION,
	.ensure = ensure_ensure,
	.key = ensure_key,
	.destroy = ensure_destroy,
	.close = ensure_close,
};

int fault_wrap_ensure(struct sp_ensure *ensure, const struct fault_ensure_hooks *hooks,
		      struct sp_error *err)
{
	struct fault_ensure *faulty = calloc(1, sizeof(*faulty));

	if (!faulty)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	faulty->inner = *ensure;
	faulty->hooks = hooks;
	pthread_mutex_init(&faulty->lock, NULL);
	*ensure = (struct sp_ensure){ &ensure_ops, faulty };
	return 0;
}

/* ---- What hooks use ---- */

bool fault_has_record(struct fault_ensure_call *call, struct sp_record *ret_record)
{
	bool found = false;

	return call->key[0] && call->asked->store && call->asked->store->ops &&
	       fault_asked_get(call, call->key, ret_record, &found, NULL, NULL) == 0 && found;
}

void fault_set_text(char **at, const char *text)
{
	free(*at);
	*at = text ? strdup(text) : NULL;
}
