/* SPDX-License-Identifier: MIT */
/*
 * A whole world for ensure in memory: a provider with sandboxes and snapshots,
 * a store, a lock with a lease. It writes down every call, and fails those
 * that a test names. Made for unit tests; one includes it.
 */
#ifndef SP_ENSURE_TEST_SCRIPT_H
#define SP_ENSURE_TEST_SCRIPT_H

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <ensure/ensure.h>

#define SCRIPT_MAX 64

struct script {
	pthread_mutex_t mutex;
	/* Names of the calls, separated by blanks. */
	struct sp_buf log;
	/* The call of this name answers this code; "name!" does its work first. */
	const char *fail;
	int fail_code;
	/* Alive or not, by number: sandbox 3 is "sb-3". */
	bool sandboxes[SCRIPT_MAX], snapshots[SCRIPT_MAX];
	int n_sandboxes, n_snapshots;
	struct sp_record records[SCRIPT_MAX];
	int n_records;
	struct sp_capabilities caps;
	struct sp_store_capabilities store_caps;
	struct sp_lock_capabilities lock_caps;
	/* The lease; `lost` is NULL where it cannot be lost. */
	uint64_t fence, fence_seen;
	struct sp_cancel *lost;
	bool held;
	/* What the last create or restore was asked for. */
	char asked_id[64], asked_workspace[256];
	enum sp_network asked_network;
	size_t asked_env, set_env;
	/* Called by create, with nothing locked: to stop there. May be NULL. */
	void (*at_create)(void *arg);
	void *at_create_arg;

	struct sp_provider provider;
	struct sp_store store;
	struct sp_lock lock;
};

struct script_sandbox {
	struct script *script;
	char id[32];
};

/* Writes a call down; true when it is to fail, before or after its work. */
static inline bool script_call(struct script *s, const char *name, bool after, struct sp_error *err)
{
	char wanted[40];
	bool fails;

	snprintf(wanted, sizeof(wanted), "%s%s", name, after ? "!" : "");
	pthread_mutex_lock(&s->mutex);
	if (!after)
		sp_buf_addf(&s->log, "%s%s", s->log.len ? " " : "", name);
	fails = s->fail && strcmp(s->fail, wanted) == 0;
	pthread_mutex_unlock(&s->mutex);
	if (fails)
		sp_error_set(err, (enum sp_code)s->fail_code, "scripted: %s", name);
	return fails;
}

#define SCRIPT_CALL(s, name, err)                                                                  \
	do {                                                                                       \
		if (script_call(s, name, false, err))                                              \
			return (s)->fail_code;                                                     \
	} while (0)
#define SCRIPT_ANSWER(s, name, err) return script_call(s, name, true, err) ? (s)->fail_code : 0

/* ---- Sandboxes ---- */

static inline int script_number(const char *id)
{
	int n = -1;

	return id && sscanf(id, "s%*[bn]-%d", &n) == 1 && n >= 0 && n < SCRIPT_MAX ? n : -1;
}

static inline const char *script_id(void *self)
{
	return ((struct script_sandbox *)self)->id;
}

static inline int script_env_set(void *self, const struct sp_env *env, size_t n_env,
				 struct sp_cancel *cancel, struct sp_error *err)
{
	struct script *s = ((struct script_sandbox *)self)->script;

	(void)env, (void)cancel;
	SCRIPT_CALL(s, "env_set", err);
	s->set_env = n_env;
	SCRIPT_ANSWER(s, "env_set", err);
}

static inline int script_snapshot(void *self, const char *label, struct sp_snapshot_ref *ret_ref,
				  struct sp_cancel *cancel, struct sp_error *err)
{
	struct script *s = ((struct script_sandbox *)self)->script;

	(void)cancel;
	SCRIPT_CALL(s, "snapshot", err);
	s->snapshots[s->n_snapshots] = true;
	if (asprintf(&ret_ref->id, "sn-%d", s->n_snapshots++) < 0)
		ret_ref->id = NULL;
	ret_ref->label = label ? strdup(label) : NULL;
	return 0;
}

static inline void script_close(void *self)
{
	free(self);
}

static const struct sp_sandbox_ops script_sandbox_ops = {
	.version = SP_SANDBOX_VERSION,
	.id = script_id,
	.env_set = script_env_set,
	.snapshot = script_snapshot,
	.close = script_close,
};

static inline void script_handle(struct script *s, int number, struct sp_sandbox *ret_sandbox)
{
	struct script_sandbox *handle = calloc(1, sizeof(*handle));

	handle->script = s;
	snprintf(handle->id, sizeof(handle->id), "sb-%d", number);
	*ret_sandbox = (struct sp_sandbox){ &script_sandbox_ops, handle };
}

/* ---- The provider ---- */

static inline const char *script_name(void *self)
{
	(void)self;
	return "render";
}

static inline const struct sp_capabilities *script_caps(void *self)
{
	return &((struct script *)self)->caps;
}

static inline void script_make(struct script *s, const struct sp_create_options *options,
			       struct sp_sandbox *ret_sandbox)
{
	pthread_mutex_lock(&s->mutex);
	snprintf(s->asked_id, sizeof(s->asked_id), "%s", options->id ? options->id : "");
	snprintf(s->asked_workspace, sizeof(s->asked_workspace), "%s",
		 options->workspace ? options->workspace : "");
	s->asked_network = options->network;
	s->asked_env = options->n_env;
	s->sandboxes[s->n_sandboxes] = true;
	script_handle(s, s->n_sandboxes++, ret_sandbox);
	pthread_mutex_unlock(&s->mutex);
}

static inline int script_create(void *self, const struct sp_create_options *options,
				struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct script *s = self;

	SCRIPT_CALL(s, "create", err);
	if (s->at_create)
		s->at_create(s->at_create_arg);
	/* A lease that is lost here reaches the call by its cancel, a little later. */
	while (s->lost && sp_cancel_check(s->lost, NULL) && !sp_cancel_check(options->cancel, NULL))
		(void)poll(&(struct pollfd){ .fd = sp_cancel_fd(options->cancel),
					     .events = POLLIN },
			   1, -1);
	if (sp_cancel_check(options->cancel, NULL))
		return sp_cancel_check(options->cancel, err);
	script_make(s, options, ret_sandbox);
	return 0;
}

static inline int script_restore(void *self, const char *snapshot_id,
				 const struct sp_create_options *options,
				 struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct script *s = self;
	int n = script_number(snapshot_id);

	SCRIPT_CALL(s, "restore", err);
	if (n < 0 || !s->snapshots[n])
		return sp_error_set(err, SP_GONE, "no snapshot %s", snapshot_id);
	script_make(s, options, ret_sandbox);
	return 0;
}

static inline int script_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
				struct sp_cancel *cancel, struct sp_error *err)
{
	struct script *s = self;
	int n = script_number(id);

	(void)cancel;
	SCRIPT_CALL(s, "resume", err);
	*ret_sandbox = (struct sp_sandbox)SP_SANDBOX_INIT;
	if (n >= 0 && s->sandboxes[n])
		script_handle(s, n, ret_sandbox);
	return 0;
}

static inline int script_destroy(void *self, const char *id, struct sp_cancel *cancel,
				 struct sp_error *err)
{
	struct script *s = self;
	int n = script_number(id);

	SCRIPT_CALL(s, "destroy", err);
	if (sp_cancel_check(cancel, NULL))
		return sp_cancel_check(cancel, err);
	if (n >= 0)
		s->sandboxes[n] = false;
	return 0;
}

static inline int script_snapshot_delete(void *self, const char *id, struct sp_cancel *cancel,
					 struct sp_error *err)
{
	struct script *s = self;
	int n = script_number(id);

	(void)cancel;
	SCRIPT_CALL(s, "snapshot_delete", err);
	if (n >= 0)
		s->snapshots[n] = false;
	return 0;
}

static const struct sp_provider_ops script_provider_ops = {
	.version = SP_PROVIDER_VERSION,
	.name = script_name,
	.capabilities = script_caps,
	.create = script_create,
	.resume = script_resume,
	.restore = script_restore,
	.destroy = script_destroy,
	.snapshot_delete = script_snapshot_delete,
};

/* ---- The store ---- */

static inline const struct sp_store_capabilities *script_store_caps(void *self)
{
	return &((struct script *)self)->store_caps;
}

static inline struct sp_record *script_find(struct script *s, const char *key)
{
	for (int i = 0; i < s->n_records; i++)
		if (s->records[i].key && strcmp(s->records[i].key, key) == 0)
			return &s->records[i];
	return NULL;
}

static inline char *script_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static inline struct sp_record script_copy_record(const struct sp_record *r)
{
	return (struct sp_record){ script_copy(r->key),
				   script_copy(r->provider),
				   script_copy(r->provider_sandbox_id),
				   script_copy(r->latest_snapshot_id),
				   script_copy(r->thread_id),
				   script_copy(r->latest_run_id),
				   r->updated_at };
}

static inline int script_get(void *self, const char *key, struct sp_record *ret_record,
			     bool *ret_found, struct sp_cancel *cancel, struct sp_error *err)
{
	struct script *s = self;
	struct sp_record *found;

	(void)cancel;
	SCRIPT_CALL(s, "get", err);
	pthread_mutex_lock(&s->mutex);
	found = script_find(s, key);
	*ret_found = found != NULL;
	if (found)
		*ret_record = script_copy_record(found);
	pthread_mutex_unlock(&s->mutex);
	return 0;
}

static inline void script_put(struct script *s, const struct sp_record *record)
{
	struct sp_record *at;

	pthread_mutex_lock(&s->mutex);
	at = script_find(s, record->key);
	if (at)
		sp_record_done(at);
	else
		at = &s->records[s->n_records++];
	*at = script_copy_record(record);
	pthread_mutex_unlock(&s->mutex);
}

static inline int script_upsert(void *self, const struct sp_record *record, const uint64_t *fence,
				struct sp_cancel *cancel, struct sp_error *err)
{
	struct script *s = self;

	(void)cancel;
	SCRIPT_CALL(s, "upsert", err);
	s->fence_seen = fence ? *fence : 0;
	script_put(s, record);
	SCRIPT_ANSWER(s, "upsert", err);
}

static inline int script_del(void *self, const char *key, struct sp_cancel *cancel,
			     struct sp_error *err)
{
	struct script *s = self;
	struct sp_record *at;

	(void)cancel;
	SCRIPT_CALL(s, "del", err);
	at = script_find(s, key);
	if (at)
		sp_record_done(at);
	return 0;
}

static const struct sp_store_ops script_store_ops = {
	.version = SP_STORE_VERSION,
	.capabilities = script_store_caps,
	.get = script_get,
	.upsert = script_upsert,
	.del = script_del,
};

/* ---- The lock ---- */

static inline const struct sp_lock_capabilities *script_lock_caps(void *self)
{
	struct script *s = self;

	s->lock_caps.lease = s->lost != NULL;
	return &s->lock_caps;
}

static inline uint64_t script_fence(void *self)
{
	return ((struct script *)self)->fence;
}

static inline struct sp_cancel *script_lost(void *self)
{
	return ((struct script *)self)->lost;
}

static inline void script_release(void *self)
{
	struct script *s = self;

	(void)script_call(s, "release", false, NULL);
	s->held = false;
}

static const struct sp_lease_ops script_lease_ops = {
	.version = SP_LEASE_VERSION,
	.fence = script_fence,
	.lost = script_lost,
	.release = script_release,
};

static inline int script_acquire(void *self, const char *key, struct sp_cancel *cancel,
				 struct sp_lease *ret_lease, struct sp_error *err)
{
	struct script *s = self;

	(void)key;
	SCRIPT_CALL(s, "acquire", err);
	if (sp_cancel_check(cancel, NULL))
		return sp_cancel_check(cancel, err);
	s->held = true;
	*ret_lease = (struct sp_lease){ &script_lease_ops, s };
	return 0;
}

static const struct sp_lock_ops script_lock_ops = {
	.version = SP_LOCK_VERSION,
	.capabilities = script_lock_caps,
	.acquire = script_acquire,
};

/* ---- The whole ---- */

static inline void script_init(struct script *s)
{
	*s = (struct script){
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.log = SP_BUF_INIT(SP_BUF_LINE),
		.caps = SP_CAPABILITIES_INIT,
		.store_caps = SP_STORE_CAPABILITIES_INIT,
		.lock_caps = SP_LOCK_CAPABILITIES_INIT,
	};
	s->caps.snapshots = s->caps.env = true;
	s->provider = (struct sp_provider){ &script_provider_ops, s };
	s->store = (struct sp_store){ &script_store_ops, s };
	s->lock = (struct sp_lock){ &script_lock_ops, s };
}

static inline void script_done(struct script *s)
{
	for (int i = 0; i < s->n_records; i++)
		sp_record_done(&s->records[i]);
	sp_buf_done(&s->log);
	s->lost = sp_cancel_unref(s->lost);
}

static inline int script_live(const struct script *s)
{
	int n = 0;

	for (int i = 0; i < SCRIPT_MAX; i++)
		n += s->sandboxes[i];
	return n;
}

static inline int script_kept(const struct script *s)
{
	int n = 0;

	for (int i = 0; i < SCRIPT_MAX; i++)
		n += s->snapshots[i];
	return n;
}

#endif
