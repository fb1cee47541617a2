/* SPDX-License-Identifier: MIT */
#include <suites/ensure/stage.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

static const char *const call_names[STAGE_CALLS_] = {
	[STAGE_ACQUIRE] = "acquire",	 [STAGE_RELEASE] = "release",
	[STAGE_GET] = "get",		 [STAGE_UPSERT] = "upsert",
	[STAGE_DEL] = "del",		 [STAGE_CREATE] = "create",
	[STAGE_RESUME] = "resume",	 [STAGE_RESTORE] = "restore",
	[STAGE_DESTROY] = "destroy",	 [STAGE_SNAPSHOT_DELETE] = "snapshot_delete",
	[STAGE_ENV_SET] = "env_set",	 [STAGE_SNAPSHOT] = "snapshot",
	[STAGE_BOOTSTRAP] = "bootstrap",
};

/* ---- Counting, holding, failing ---- */

/* Waits until `fd` is readable; false when the case's cancel fires first. */
static bool await_fd(struct sp_case *t, int fd)
{
	struct sp_cancel *cancel = sp_case_cancel(t);
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = sp_cancel_fd(cancel), .events = POLLIN } };

	while (!fds[0].revents) {
		(void)poll(fds, SP_COUNT(fds), -1);
		if (!fds[0].revents && sp_cancel_check(cancel, NULL))
			return false;
	}
	return true;
}

static void stand_at(struct ensure_stage *stage, enum stage_call call)
{
	struct stage_gate *gate = &stage->gates[call];

	if (gate->open < 0)
		return;
	(void)eventfd_write(gate->reached, 1);
	(void)await_fd(stage->t, gate->open);
}

/* The code with which a call is to fail now; 0: none. */
static int failure(struct ensure_stage *stage, enum stage_call call, enum stage_when when,
		   struct sp_error *err)
{
	int code;

	pthread_mutex_lock(&stage->mutex);
	code = stage->failing[call].when == when ? stage->failing[call].code : 0;
	pthread_mutex_unlock(&stage->mutex);
	return code ? sp_error_set(err, (enum sp_code)code, "the case fails every %s",
				   call_names[call]) :
		      0;
}

int stage_enter(struct ensure_stage *stage, enum stage_call call, struct sp_error *err)
{
	pthread_mutex_lock(&stage->mutex);
	stage->calls[call]++;
	if (call != STAGE_ACQUIRE && call != STAGE_RELEASE &&
	    stage->calls[STAGE_ACQUIRE] == stage->calls[STAGE_RELEASE])
		stage->unlocked++;
	pthread_mutex_unlock(&stage->mutex);
	stand_at(stage, call);
	return failure(stage, call, STAGE_INSTEAD, err);
}

/* What a call that did its work answers. */
static int leave(struct ensure_stage *stage, enum stage_call call, int rc, struct sp_error *err)
{
	return rc ? rc : failure(stage, call, STAGE_AFTERWARDS, err);
}

void stage_fail(struct ensure_stage *stage, enum stage_call call, int code, enum stage_when when)
{
	pthread_mutex_lock(&stage->mutex);
	stage->failing[call].code = code;
	stage->failing[call].when = when;
	pthread_mutex_unlock(&stage->mutex);
}

unsigned stage_calls(struct ensure_stage *stage, enum stage_call call)
{
	unsigned n;

	pthread_mutex_lock(&stage->mutex);
	n = stage->calls[call];
	pthread_mutex_unlock(&stage->mutex);
	return n;
}

bool stage_hold(struct ensure_stage *stage, enum stage_call call)
{
	struct stage_gate *gate = &stage->gates[call];

	gate->reached = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	gate->open = eventfd(0, EFD_CLOEXEC);
	if (gate->reached < 0 || gate->open < 0)
		sp_case_error(stage->t, SP_HERE, "no descriptors for a gate");
	return gate->reached >= 0 && gate->open >= 0;
}

bool stage_await(struct ensure_stage *stage, enum stage_call call)
{
	eventfd_t one;

	return SP_CHECK(stage->t, await_fd(stage->t, stage->gates[call].reached),
			"%s is called", call_names[call]) &&
	       eventfd_read(stage->gates[call].reached, &one) == 0;
}

void stage_release(struct ensure_stage *stage, enum stage_call call)
{
	if (stage->gates[call].open >= 0)
		(void)eventfd_write(stage->gates[call].open, 1);
}

/* ---- Sandboxes ---- */

struct stage_sandbox {
	struct ensure_stage *stage;
	struct sp_sandbox inner;
};

static const char *sandbox_id(void *self)
{
	return sp_sandbox_id(&((struct stage_sandbox *)self)->inner);
}

static const char *sandbox_root(void *self)
{
	return sp_sandbox_workspace_root(&((struct stage_sandbox *)self)->inner);
}

static int sandbox_exec(void *self, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	return sp_sandbox_exec(&((struct stage_sandbox *)self)->inner, options, ret_result, err);
}

static int sandbox_env_set(void *self, const struct sp_env *env, size_t n_env,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct stage_sandbox *s = self;
	int rc = stage_enter(s->stage, STAGE_ENV_SET, err);

	if (!rc)
		rc = sp_sandbox_env_set(&s->inner, env, n_env, cancel, err);
	return leave(s->stage, STAGE_ENV_SET, rc, err);
}

const char *stage_add_snapshot(struct ensure_stage *stage)
{
	const char *id = sp_case_format(stage->t, "shot-%s", sp_case_unique(stage->t));

	pthread_mutex_lock(&stage->mutex);
	if (stage->n_shots < STAGE_MADE_MAX)
		stage->shots[stage->n_shots++] = id;
	pthread_mutex_unlock(&stage->mutex);
	return id;
}

static int sandbox_snapshot(void *self, const char *label, struct sp_snapshot_ref *ret_ref,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	struct stage_sandbox *s = self;
	int rc = stage_enter(s->stage, STAGE_SNAPSHOT, err);

	if (rc)
		return rc;
	if (!s->stage->snapshots)
		return sp_sandbox_snapshot(&s->inner, label, ret_ref, cancel, err);
	ret_ref->id = strdup(stage_add_snapshot(s->stage));
	ret_ref->label = label ? strdup(label) : NULL;
	return 0;
}

static int sandbox_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	struct stage_sandbox *s = self;
	int rc = stage_enter(s->stage, STAGE_DESTROY, err);

	if (!rc)
		rc = sp_sandbox_destroy(&s->inner, cancel, err);
	return leave(s->stage, STAGE_DESTROY, rc, err);
}

static void sandbox_close(void *self)
{
	struct stage_sandbox *s = self;

	sp_sandbox_done(&s->inner);
	free(s);
}

static const struct sp_sandbox_ops sandbox_ops = {
	.version = SP_SANDBOX_VERSION,
	.id = sandbox_id,
	.workspace_root = sandbox_root,
	.exec = sandbox_exec,
	.env_set = sandbox_env_set,
	.snapshot = sandbox_snapshot,
	.destroy = sandbox_destroy,
	.close = sandbox_close,
};

/* Consumes `inner`. */
static int stage_handle(struct ensure_stage *stage, struct sp_sandbox *inner,
			struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct stage_sandbox *s = calloc(1, sizeof(*s));

	if (!s) {
		sp_sandbox_done(inner);
		return sp_error_set(err, SP_INTERNAL, "no memory for a handle");
	}
	*s = (struct stage_sandbox){ stage, *inner };
	*ret_sandbox = (struct sp_sandbox){ &sandbox_ops, s };
	return 0;
}

/* ---- The provider ---- */

static const char *provider_name(void *self)
{
	struct ensure_stage *stage = self;

	return stage->name ? stage->name : sp_provider_name(&stage->subject->provider);
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	struct ensure_stage *stage = self;

	stage->caps.snapshots = stage->snapshots;
	return &stage->caps;
}

static const char *kept(struct sp_case *t, const char *text)
{
	return text ? sp_case_format(t, "%s", text) : NULL;
}

static void note_asked(struct ensure_stage *stage, const struct sp_create_options *options,
		       const char *from)
{
	struct stage_asked asked = { kept(stage->t, options->id),
				     kept(stage->t, options->workspace),
				     kept(stage->t, from),
				     options->network,
				     options->n_env,
				     options->cancel != NULL };

	pthread_mutex_lock(&stage->mutex);
	stage->asked = asked;
	pthread_mutex_unlock(&stage->mutex);
}

static void note_made(struct ensure_stage *stage, const char *id)
{
	const char *copy = kept(stage->t, id);

	pthread_mutex_lock(&stage->mutex);
	if (stage->n_made < STAGE_MADE_MAX)
		stage->made[stage->n_made++] = copy;
	pthread_mutex_unlock(&stage->mutex);
}

static int make(struct ensure_stage *stage, enum stage_call call, const char *from,
		const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
		struct sp_error *err)
{
	struct sp_sandbox inner = SP_SANDBOX_INIT;
	struct sp_create_options handed_on = *options;
	int rc;

	note_asked(stage, options, from);
	handed_on.network = SP_NETWORK_DEFAULT;
	rc = sp_provider_create(&stage->subject->provider, &handed_on, &inner, err);
	if (rc)
		return rc;
	note_made(stage, sp_sandbox_id(&inner));
	rc = failure(stage, call, STAGE_AFTERWARDS, err);
	if (rc) {
		sp_sandbox_done(&inner);
		return rc;
	}
	return stage_handle(stage, &inner, ret_sandbox, err);
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	int rc = stage_enter(self, STAGE_CREATE, err);

	return rc ? rc : make(self, STAGE_CREATE, NULL, options, ret_sandbox, err);
}

static const char **find_shot(struct ensure_stage *stage, const char *id)
{
	for (unsigned i = 0; i < stage->n_shots; i++)
		if (stage->shots[i] && id && strcmp(stage->shots[i], id) == 0)
			return &stage->shots[i];
	return NULL;
}

static int provider_restore(void *self, const char *snapshot_id,
			    const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
			    struct sp_error *err)
{
	struct ensure_stage *stage = self;
	int rc = stage_enter(stage, STAGE_RESTORE, err);
	bool known;

	if (rc)
		return rc;
	pthread_mutex_lock(&stage->mutex);
	known = find_shot(stage, snapshot_id) != NULL;
	pthread_mutex_unlock(&stage->mutex);
	if (!known)
		return sp_error_set(err, SP_GONE, "the snapshot %.100s is gone", snapshot_id);
	return make(stage, STAGE_RESTORE, snapshot_id, options, ret_sandbox, err);
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct ensure_stage *stage = self;
	struct sp_sandbox inner = SP_SANDBOX_INIT;
	int rc = stage_enter(stage, STAGE_RESUME, err);

	if (!rc)
		rc = sp_provider_resume(&stage->subject->provider, id, &inner, cancel, err);
	if (rc)
		return rc;
	if (inner.ops)
		return stage_handle(stage, &inner, ret_sandbox, err);
	*ret_sandbox = inner;
	return 0;
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct ensure_stage *stage = self;
	int rc = stage_enter(stage, STAGE_DESTROY, err);

	if (!rc)
		rc = sp_provider_destroy(&stage->subject->provider, id, cancel, err);
	return leave(stage, STAGE_DESTROY, rc, err);
}

static int provider_snapshot_delete(void *self, const char *snapshot_id, struct sp_cancel *cancel,
				    struct sp_error *err)
{
	struct ensure_stage *stage = self;
	int rc = stage_enter(stage, STAGE_SNAPSHOT_DELETE, err);
	const char **shot;

	(void)cancel;
	if (rc)
		return rc;
	pthread_mutex_lock(&stage->mutex);
	shot = find_shot(stage, snapshot_id);
	if (shot)
		*shot = NULL;
	pthread_mutex_unlock(&stage->mutex);
	return 0;
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

/* ---- The store ---- */

static const struct sp_store_capabilities *store_capabilities(void *self)
{
	struct ensure_stage *stage = self;

	/*
	 * Set whether or not the store below knows fences: ensure's
	 * side of it is what is looked at.
	 */
	stage->store_caps.fence = stage->fence != 0;
	return &stage->store_caps;
}

static int store_get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct ensure_stage *stage = self;
	int rc = stage_enter(stage, STAGE_GET, err);

	return rc ? rc :
		    sp_store_get(&stage->subject->store, key, ret_record, ret_found, cancel, err);
}

static int store_upsert(void *self, const struct sp_record *record, const uint64_t *fence,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct ensure_stage *stage = self;
	int rc = stage_enter(stage, STAGE_UPSERT, err);

	pthread_mutex_lock(&stage->mutex);
	stage->fence_seen = fence ? *fence : 0;
	pthread_mutex_unlock(&stage->mutex);
	/* A token that the stage made up means nothing below. */
	if (!rc)
		rc = sp_store_upsert(&stage->subject->store, record, stage->fence ? NULL : fence,
				     cancel, err);
	return leave(stage, STAGE_UPSERT, rc, err);
}

static int store_del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	struct ensure_stage *stage = self;
	int rc = stage_enter(stage, STAGE_DEL, err);

	if (!rc)
		rc = sp_store_del(&stage->subject->store, key, cancel, err);
	return leave(stage, STAGE_DEL, rc, err);
}

static const struct sp_store_ops store_ops = {
	.version = SP_STORE_VERSION,
	.capabilities = store_capabilities,
	.get = store_get,
	.upsert = store_upsert,
	.del = store_del,
};

/* ---- The lock ---- */

struct stage_lease {
	struct ensure_stage *stage;
	struct sp_lease inner;
};

static uint64_t lease_fence(void *self)
{
	struct stage_lease *lease = self;

	return lease->stage->fence ? lease->stage->fence : sp_lease_fence(&lease->inner);
}

static struct sp_cancel *lease_lost(void *self)
{
	struct stage_lease *lease = self;

	return lease->stage->lost ? lease->stage->lost : sp_lease_lost(&lease->inner);
}

static void lease_release(void *self)
{
	struct stage_lease *lease = self;

	(void)stage_enter(lease->stage, STAGE_RELEASE, NULL);
	sp_lease_done(&lease->inner);
	free(lease);
}

static const struct sp_lease_ops lease_ops = {
	.version = SP_LEASE_VERSION,
	.fence = lease_fence,
	.lost = lease_lost,
	.release = lease_release,
};

static const struct sp_lock_capabilities *lock_capabilities(void *self)
{
	struct ensure_stage *stage = self;

	stage->lock_caps.fence = stage->lock_caps.fence || stage->fence;
	stage->lock_caps.lease = stage->lock_caps.lease || stage->lost;
	return &stage->lock_caps;
}

static int lock_acquire(void *self, const char *key, struct sp_cancel *cancel,
			struct sp_lease *ret_lease, struct sp_error *err)
{
	struct ensure_stage *stage = self;
	struct stage_lease *lease = calloc(1, sizeof(*lease));
	const char *copy = kept(stage->t, key);
	int rc = lease ? stage_enter(stage, STAGE_ACQUIRE, err) :
			 sp_error_set(err, SP_INTERNAL, "no memory for a lease");

	pthread_mutex_lock(&stage->mutex);
	stage->lock_key = copy;
	pthread_mutex_unlock(&stage->mutex);
	if (!rc)
		rc = sp_lock_acquire(&stage->subject->lock, key, cancel, &lease->inner, err);
	if (rc) {
		free(lease);
		return rc;
	}
	lease->stage = stage;
	*ret_lease = (struct sp_lease){ &lease_ops, lease };
	return 0;
}

static const struct sp_lock_ops lock_ops = {
	.version = SP_LOCK_VERSION,
	.capabilities = lock_capabilities,
	.acquire = lock_acquire,
};

/* ---- The whole ---- */

bool stage_open(struct sp_case *t, struct sp_subject *subject, struct ensure_stage *stage)
{
	const struct sp_capabilities *caps = sp_provider_capabilities(&subject->provider);
	const struct sp_store_capabilities *store = sp_store_capabilities(&subject->store);

	const struct sp_lock_capabilities *lock = sp_lock_capabilities(&subject->lock);

	if (!caps || !store || !lock || !subject->ensure.ops) {
		sp_case_error(t, SP_HERE,
			      "the subject lacks a provider, a store, a lock or ensure");
		return false;
	}
	*stage = (struct ensure_stage){ .t = t, .subject = subject };
	pthread_mutex_init(&stage->mutex, NULL);
	stage->caps = *caps;
	stage->store_caps = *store;
	stage->lock_caps = *lock;
	for (int i = 0; i < STAGE_CALLS_; i++)
		stage->gates[i] = (struct stage_gate){ -1, -1 };
	stage->provider = (struct sp_provider){ &provider_ops, stage };
	stage->store = (struct sp_store){ &store_ops, stage };
	stage->lock = (struct sp_lock){ &lock_ops, stage };
	return true;
}

void stage_close(struct ensure_stage *stage)
{
	if (!stage->t)
		return;
	for (int i = 0; i < STAGE_CALLS_; i++) {
		sp_close(stage->gates[i].reached);
		sp_close(stage->gates[i].open);
	}
	stage->lost = sp_cancel_unref(stage->lost);
	pthread_mutex_destroy(&stage->mutex);
	stage->t = NULL;
}

unsigned stage_shots(struct ensure_stage *stage)
{
	unsigned n = 0;

	pthread_mutex_lock(&stage->mutex);
	for (unsigned i = 0; i < stage->n_shots; i++)
		n += stage->shots[i] != NULL;
	pthread_mutex_unlock(&stage->mutex);
	return n;
}

int stage_alive(struct ensure_stage *stage, const char *id)
{
	struct sp_sandbox found SP_CLEANUP(sp_sandbox_done) = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_provider_resume(&stage->subject->provider, id, &found, sp_case_cancel(stage->t),
				    &err);

	if (!SP_CHECK_OK(stage->t, rc, &err, "a look at the sandbox %s", id))
		return -1;
	return found.ops != NULL;
}

int stage_live(struct ensure_stage *stage)
{
	int live = 0;

	for (unsigned i = 0; i < stage->n_made; i++) {
		int alive = stage_alive(stage, stage->made[i]);

		if (alive < 0)
			return -1;
		live += alive;
	}
	return live;
}
