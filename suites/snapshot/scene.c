/* SPDX-License-Identifier: MIT */
#include <suites/snapshot/scene.h>

bool snap_scene_open(struct sp_case *t, struct snap_scene *s)
{
	s->t = t;
	s->sandbox = sp_case_sandbox(t);
	if (!s->sandbox)
		return false;
	sp_secret_make(t, &s->secret);
	sp_canary_make(t, &s->decoy);
	s->var = (struct sp_env){SNAP_NAME, s->secret.value};
	return sp_vars_set(t, s->sandbox, &s->var, 1, SP_HERE, "env_set of a secret") &&
	       sp_vars_arrive(t, s->sandbox, NULL, 0, &s->var, 1, SP_HERE,
			      "the sandbox's secret") &&
	       sp_sh_ok(t, s->sandbox, "echo %s >decoy", s->decoy.text);
}

bool snap_other(struct snap_scene *s)
{
	if (!s->other.ops)
		s->other = sp_second_handle(s->t, s->sandbox);
	return s->other.ops;
}

bool snap_is_kind(struct sp_case *t, enum sp_snapshot_kind kind)
{
	if (sp_case_capabilities(t)->snapshot_kinds == (unsigned)kind)
		return true;
	sp_skip(t, "needs snapshots of the %s kind",
		kind == SP_SNAPSHOT_RUNTIME ? "runtime" : "filesystem");
	return false;
}

bool snap_is_isolated(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	int isolated = sandbox ? sp_search_isolated(t, sandbox) : -1;

	if (!isolated)
		sp_skip(t, "needs isolation: files and network of the sandbox are the host's");
	return isolated > 0;
}

const char *snap_keep(struct snap_scene *s, struct sp_snapshot_ref *ref)
{
	if (!ref->id)
		return NULL;
	if (s->n_refs == SP_COUNT(s->refs)) {
		sp_case_error(s->t, SP_HERE, "more snapshots than a scene keeps");
		return NULL;
	}
	s->refs[s->n_refs] = *ref;
	*ref = (struct sp_snapshot_ref)SP_SNAPSHOT_REF_INIT;
	return s->refs[s->n_refs++].id;
}

/* The run's own text first: a snapshot that is left tells whose it was. */
static const char *own_label(struct snap_scene *s, const char *label)
{
	/* One text for the whole case: what has one label must have one here too. */
	if (!s->own)
		s->own = sp_case_unique(s->t);
	return sp_case_format(s->t, "%s-%s", s->own, label);
}

const char *snap_take(struct snap_scene *s, const char *label)
{
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_snapshot(s->sandbox, own_label(s, label), &ref,
				     sp_case_cancel(s->t), &err);

	return SP_CHECK_OK(s->t, rc, &err, "snapshot") &&
		       SP_CHECK(s->t, ref.id != NULL, "a snapshot has a reference")
		   ? snap_keep(s, &ref)
		   : NULL;
}

bool snap_delete_all(struct snap_scene *s)
{
	bool whole = true;

	while (s->n_refs) {
		struct sp_snapshot_ref *ref = &s->refs[--s->n_refs];
		struct sp_error err = SP_ERROR_INIT;
		int rc = sp_provider_snapshot_delete(sp_case_provider(s->t), ref->id,
						     sp_case_cancel(s->t), &err);

		whole = SP_CHECK_OK(s->t, rc, &err, "the snapshot is deleted") && whole;
		sp_snapshot_ref_done(ref);
	}
	return whole;
}

void snap_scene_done(struct snap_scene *s)
{
	if (s->t)
		(void)snap_delete_all(s);
	sp_sandbox_done(&s->other);
}

static int run_snapshot(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct snap_call *call = arg;

	return sp_sandbox_snapshot(call->s->sandbox, call->label, &call->ref, cancel, &result->err);
}

bool snap_start(struct snap_scene *s, struct snap_call *call)
{
	call->s = s;
	call->label = own_label(s, SNAP_BESIDE);
	call->call = sp_call_start(s->t, run_snapshot, call);
	return call->call;
}

struct sp_call_result *snap_joined(struct snap_call *call)
{
	struct sp_call_result *result = sp_call_join(call->call);

	if (call->s)
		(void)snap_keep(call->s, &call->ref);
	return result;
}

void snap_call_done(struct snap_call *call)
{
	sp_call_done(&call->call);
	if (call->s)
		(void)snap_keep(call->s, &call->ref);
	sp_snapshot_ref_done(&call->ref);
}

struct sp_sandbox snap_restore(struct sp_case *t, const char *ref, const struct sp_env *env,
			       size_t n, enum sp_network network, int *ret_rc, struct sp_error *err)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;

	options.env = env;
	options.n_env = n;
	options.network = network;
	options.cancel = sp_case_cancel(t);
	sp_case_own_sandbox(t, NULL);
	*ret_rc = sp_provider_restore(sp_case_provider(t), ref, &options, &sandbox, err);
	if (!*ret_rc)
		sp_case_own_sandbox(t, sp_sandbox_id(&sandbox));
	return sandbox;
}

struct sp_sandbox snap_restore_ok(struct sp_case *t, const char *ref, const struct sp_env *env,
				  size_t n)
{
	struct sp_error err = SP_ERROR_INIT;
	struct sp_sandbox sandbox;
	int rc;

	sandbox = snap_restore(t, ref, env, n, SP_NETWORK_DEFAULT, &rc, &err);
	SP_CHECK_OK(t, rc, &err, "restore");
	return sandbox;
}

bool snap_destroy(struct sp_case *t, struct sp_sandbox *sandbox)
{
	struct sp_error err = SP_ERROR_INIT;

	return SP_CHECK_OK(t, sp_sandbox_destroy(sandbox, sp_case_cancel(t), &err), &err,
			   "destroy of a restored sandbox");
}

bool snap_count(struct sp_case *t, size_t *ret_snapshots, size_t *ret_sandboxes)
{
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;

	if (control->ops->census(control->self, &census, &err)) {
		sp_case_error(t, SP_HERE, "control cannot count: %s", err.message);
		return false;
	}
	*ret_snapshots = census.n_snapshots;
	*ret_sandboxes = census.n_sandboxes;
	return true;
}

bool snap_check_count(struct sp_case *t, size_t expected, struct sp_where where, const char *what)
{
	size_t snapshots, sandboxes;

	return snap_count(t, &snapshots, &sandboxes) &&
	       sp_check_int(t, (long long)expected, (long long)snapshots, where, "%s", what);
}

bool snap_fail(struct sp_case *t, enum sp_control_step step, enum sp_control_how how, int status)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;

	if (!control->ops->fail(control->self, step, 1, (int)how, status, &err))
		return true;
	sp_case_error(t, SP_HERE, "control cannot fail %s: %s", sp_control_step_name(step),
		      err.message);
	return false;
}
