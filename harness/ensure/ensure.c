/* SPDX-License-Identifier: MIT */
/* The steps of ensure (sandbox-contract 4.2), in their order. */
#include <ensure/ensure.h>

#include <stdatomic.h>
#include <stdio.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <ensure/attempt.h>
#include <ensure/canonical.h>

#define SNAPSHOT_LABEL "after-setup"

struct own_ensure {
	struct sp_ensure_settings settings;
	atomic_flag warned;
};

/* ---- What is asked ---- */

static int check_options(const struct sp_ensure_options *o, struct sp_error *err)
{
	if (!o || o->version != SP_ENSURE_OPTIONS_VERSION)
		return sp_error_set(err, SP_INVALID, "ensure options of version %d are required",
				    SP_ENSURE_OPTIONS_VERSION);
	if (!o->provider || !o->provider->ops)
		return sp_error_set(err, SP_INVALID, "ensure needs a provider");
	if (!o->store || !o->store->ops)
		return sp_error_set(err, SP_INVALID,
				    "ensure needs a store: without one nobody would find the "
				    "sandbox "
				    "again; a store in memory has to be asked for");
	if (!o->lock || !o->lock->ops)
		return sp_error_set(err, SP_INVALID,
				    "ensure needs a lock: without one two callers would make two "
				    "sandboxes");
	return 0;
}

/* What an ensure asks beyond that, refused before anything is looked at. */
static int check_wishes(const struct sp_ensure_options *o, int64_t *ret_age_ms,
			struct sp_error *err)
{
	const struct sp_capabilities *caps = sp_provider_capabilities(o->provider);
	int rc = sp_ensure_age(o->max_age, ret_age_ms, err);

	if (!rc && o->snapshot_after_setup && !(caps && caps->snapshots))
		rc = sp_error_set(err, SP_UNSUPPORTED,
				  "%s: snapshots is declared false, so there is no snapshot after "
				  "the "
				  "set-up; leave snapshot_after_setup out",
				  sp_provider_name(o->provider));
	return rc;
}

const char *sp_ensure_pairing(struct sp_store *store, struct sp_lock *lock)
{
	const struct sp_store_capabilities *s = sp_store_capabilities(store);
	const struct sp_lock_capabilities *l = sp_lock_capabilities(lock);

	if (!s || !l || l->multi_process || !(s->durable || s->multi_process))
		return NULL;
	return "the lock excludes only within this process, while the store outlives it or is "
	       "shared with "
	       "others: two processes that ensure one key can make two sandboxes; take the store's "
	       "own "
	       "lock";
}

static void warn_of_pairing(struct own_ensure *own, const struct sp_ensure_options *o)
{
	const char *text = sp_ensure_pairing(o->store, o->lock);

	if (!text || atomic_flag_test_and_set(&own->warned))
		return;
	if (own->settings.warn)
		own->settings.warn(own->settings.warn_arg, text);
	else
		fprintf(stderr, "sandproof: warning: %s\n", text);
}

/* ---- A sandbox that is there ---- */

static int set_env(struct attempt *a, struct sp_error *err)
{
	const struct sp_ensure_options *o = a->options;

	/* What the sandbox holds may be older, or lost. */
	return o->n_env ? sp_sandbox_env_set(&a->sandbox, o->env, o->n_env, a->work.cancel, err)
			: 0;
}

static int finish_resumed(struct attempt *a, struct sp_error *err)
{
	int rc = set_env(a, err);

	if (!rc)
		rc = attempt_store(a, a->record.provider_sandbox_id, a->record.latest_snapshot_id,
				   err);
	/* Nothing was made, so nothing is removed: the sandbox is live work. */
	return rc ? attempt_undo(a, rc, err) : 0;
}

/* ---- A sandbox that has to be made ---- */

/* How to make one; `workspace` is JSON even where the caller's has members that are undefined. */
static int creation(struct attempt *a, struct sp_buf *workspace, struct sp_create_options *create,
		    struct sp_error *err)
{
	const struct sp_ensure_options *o = a->options;
	int rc = 0;

	if (o->workspace)
		rc = sp_canonical_object("workspace", o->workspace, SP_UNDEFINED_DROPPED, workspace,
					 err);
	*create = (struct sp_create_options)SP_CREATE_OPTIONS_INIT;
	create->id = a->key;
	create->workspace = o->workspace ? sp_buf_str(workspace) : NULL;
	create->network = o->network;
	create->env = o->env;
	create->n_env = o->n_env;
	create->cancel = a->work.cancel;
	create->adapter_name = "sandproof";
	return rc;
}

/* Makes one, from a snapshot or empty. */
static int make(struct attempt *a, const char *snapshot_id, struct sp_error *err)
{
	struct sp_buf workspace SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * SP_CANONICAL_MAX);
	struct sp_provider *provider = a->options->provider;
	struct sp_create_options create;
	int rc = creation(a, &workspace, &create, err);

	if (!rc)
		rc = snapshot_id ?
			     sp_provider_restore(provider, snapshot_id, &create, &a->sandbox, err) :
			     sp_provider_create(provider, &create, &a->sandbox, err);
	a->made = !rc;
	return rc;
}

static int finish_restored(struct attempt *a, struct sp_error *err)
{
	int rc = set_env(a, err);

	return rc ? rc :
		    attempt_store(a, sp_sandbox_id(&a->sandbox), a->record.latest_snapshot_id, err);
}

static int bootstrap(struct attempt *a, struct sp_error *err)
{
	const struct sp_ensure_options *o = a->options;
	struct sp_error own = SP_ERROR_INIT;
	int rc;

	if (!o->bootstrap)
		return 0;
	rc = o->bootstrap(o->bootstrap_arg, &a->sandbox, a->work.cancel, &own);
	if (rc > 0)
		return sp_error_set(err, SP_INTERNAL,
				    "the bootstrap answered %d, which is neither 0 nor one of our "
				    "codes",
				    rc);
	if (rc && err)
		*err = own;
	if (rc && err && !own.message[0])
		sp_error_set(err, rc, "the bootstrap failed and said no more");
	return rc;
}

static int finish_created(struct attempt *a, struct sp_error *err)
{
	int rc = bootstrap(a, err);

	/* A bootstrap may overlook what the caller, or the lock, wants meanwhile. */
	if (!rc)
		rc = attempt_check(a, err);
	if (!rc && a->options->snapshot_after_setup)
		rc = sp_sandbox_snapshot(&a->sandbox, SNAPSHOT_LABEL, &a->snapshot, a->work.cancel,
					 err);
	if (!rc)
		rc = attempt_store(a, sp_sandbox_id(&a->sandbox), a->snapshot.id, err);
	return rc;
}

/* ---- The order of it all ---- */

static int start_over(struct attempt *a, enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	int rc;

	/* What the record said is over; nothing of it goes into the new one. */
	sp_record_done(&a->record);
	a->found = false;
	*outcome = SP_ENSURE_CREATED;
	rc = make(a, NULL, err);
	if (!rc)
		rc = finish_created(a, err);
	return rc ? attempt_undo(a, rc, err) : 0;
}

/* The sandbox is gone for good; its snapshot may not be. */
static int come_back_anew(struct attempt *a, enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	struct sp_error own = SP_ERROR_INIT;
	int rc;

	if (!a->record.latest_snapshot_id || !attempt_has_snapshots(a))
		return start_over(a, outcome, err);
	rc = make(a, a->record.latest_snapshot_id, &own);
	if (rc == SP_GONE)
		return start_over(a, outcome, err);
	if (rc && err)
		*err = own;
	*outcome = SP_ENSURE_RESTORED;
	if (!rc)
		rc = finish_restored(a, err);
	return rc ? attempt_undo(a, rc, err) : 0;
}

static int come_back(struct attempt *a, enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	int rc = sp_provider_resume(a->options->provider, a->record.provider_sandbox_id,
				    &a->sandbox, a->work.cancel, err);

	/* Only "gone for good" may replace what is there; any error leaves it as it is. */
	if (rc)
		return attempt_undo(a, rc, err);
	if (!a->sandbox.ops)
		return come_back_anew(a, outcome, err);
	*outcome = SP_ENSURE_RESUMED;
	return finish_resumed(a, err);
}

/* Removes what an expired record names, while it still names it. */
static int retire(struct attempt *a, struct sp_error *err)
{
	int rc = attempt_destroy(a, a->record.provider_sandbox_id, err);

	if (!rc)
		rc = attempt_delete_snapshot(a, a->record.latest_snapshot_id, err);
	return rc;
}

static int ensure_locked(struct attempt *a, int64_t max_age_ms, enum sp_ensure_outcome *outcome,
			 struct sp_error *err)
{
	int rc;

	if (!a->found)
		return start_over(a, outcome, err);
	if (!sp_ensure_expired(a->record.updated_at, a->now_ms, max_age_ms))
		return come_back(a, outcome, err);
	rc = attempt_check(a, err);
	if (!rc)
		rc = retire(a, err);
	return rc ? rc : start_over(a, outcome, err);
}

static int64_t now_ms(const struct own_ensure *own)
{
	return own->settings.now_ms ? own->settings.now_ms(own->settings.now_arg) : sp_wall_ms();
}

static int ensure_ensure(void *self, const struct sp_ensure_options *options,
			 struct sp_sandbox *ret_sandbox, enum sp_ensure_outcome *ret_outcome,
			 struct sp_error *err)
{
	struct attempt a SP_CLEANUP(attempt_done) = ATTEMPT_INIT;
	enum sp_ensure_outcome outcome = SP_ENSURE_CREATED;
	int64_t max_age_ms = -1;
	int rc = check_options(options, err);

	if (!rc)
		rc = check_wishes(options, &max_age_ms, err);
	if (rc)
		return rc;
	warn_of_pairing(self, options);
	rc = attempt_begin(&a, options, false, err);
	if (rc)
		return rc;
	a.now_ms = now_ms(self);
	rc = ensure_locked(&a, max_age_ms, &outcome, err);
	if (rc)
		return rc;
	*ret_sandbox = a.sandbox;
	a.sandbox = (struct sp_sandbox)SP_SANDBOX_INIT;
	*ret_outcome = outcome;
	return 0;
}

static int ensure_key(void *self SP_UNUSED, const struct sp_ensure_options *options,
		      char ret_key[17], struct sp_error *err)
{
	if (!options || options->version != SP_ENSURE_OPTIONS_VERSION)
		return sp_error_set(err, SP_INVALID, "ensure options of version %d are required",
				    SP_ENSURE_OPTIONS_VERSION);
	if (!options->provider || !options->provider->ops)
		return sp_error_set(err, SP_INVALID, "a key needs a provider: its name is a part");
	return sp_ensure_key(options, sp_provider_name(options->provider), ret_key, err);
}

static int ensure_destroy(void *self SP_UNUSED, const struct sp_ensure_options *options,
			  struct sp_error *err)
{
	struct attempt a SP_CLEANUP(attempt_done) = ATTEMPT_INIT;
	int rc = check_options(options, err);

	if (!rc)
		rc = attempt_begin(&a, options, true, err);
	if (rc || !a.found)
		return rc;
	rc = attempt_check(&a, err);
	if (!rc)
		rc = retire(&a, err);
	if (!rc)
		rc = sp_store_del(options->store, a.key, a.work.cancel, err);
	return rc;
}

static void ensure_close(void *self)
{
	free(self);
}

static const struct sp_ensure_ops ops = {
	.version = SP_ENSURE_VERSION,
	.ensure = ensure_ensure,
	.key = ensure_key,
	.destroy = ensure_destroy,
	.close = ensure_close,
};

int sp_ensure_open(const struct sp_ensure_settings *settings, struct sp_ensure *ret_ensure,
		   struct sp_error *err)
{
	struct own_ensure *own;

	if (settings && settings->version != SP_ENSURE_SETTINGS_VERSION)
		return sp_error_set(err, SP_INVALID, "ensure settings of version %d are required",
				    SP_ENSURE_SETTINGS_VERSION);
	own = calloc(1, sizeof(*own));
	if (!own)
		return sp_error_set(err, SP_INTERNAL, "no memory for ensure");
	if (settings)
		own->settings = *settings;
	atomic_flag_clear(&own->warned);
	*ret_ensure = (struct sp_ensure){ &ops, own };
	return 0;
}
