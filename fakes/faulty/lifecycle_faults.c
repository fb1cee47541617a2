/* SPDX-License-Identifier: MIT */
/* Faults of making, finding and removing sandboxes. */
#include <string.h>

#include <base/buf.h>

#include "tables.h"
#include "wrap.h"

/* ---- Creating ---- */

static int early_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		      struct sp_exec_result *ret_result, struct sp_error *err)
{
	if (atomic_fetch_add(&sandbox->count, 1) == 0)
		return sp_error_set(err, SP_UNAVAILABLE, "the sandbox is still starting");
	return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
}

static const struct fault_hooks early = { .exec = early_exec };
FAULT_WRAP(wrap_early, early)

static int reuses_create(struct sp_provider *inner, const struct sp_create_options *options,
			 struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	int rc = sp_provider_list(inner, &list, options->cancel, err);

	if (rc == 0 && list.len)
		rc = sp_provider_resume(inner, list.ids[0], ret_inner, options->cancel, err);
	return rc < 0 || ret_inner->ops ? rc : sp_provider_create(inner, options, ret_inner, err);
}

static const struct fault_hooks reuses = { .create = reuses_create };
FAULT_WRAP(wrap_reuses, reuses)

static int env_dropped_create(struct sp_provider *inner, const struct sp_create_options *options,
			      struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_create_options changed = *options;

	changed.n_env = 0;
	return sp_provider_create(inner, &changed, ret_inner, err);
}

static const struct fault_hooks env_dropped = { .create = env_dropped_create };
FAULT_WRAP(wrap_env_dropped, env_dropped)

static int ignores_abort_create(struct sp_provider *inner, const struct sp_create_options *options,
				struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_create_options changed = *options;

	changed.cancel = NULL;
	return sp_provider_create(inner, &changed, ret_inner, err);
}

static const struct fault_hooks ignores_abort = { .create = ignores_abort_create };
FAULT_WRAP(wrap_ignores_abort, ignores_abort)

static void change_abort_leaves(struct sp_render_steps *steps)
{
	steps->terminate_aborted_create = false;
}

/* The environment is set in a second step whose failure nobody cleans up after. */
static int failed_stays_create(struct sp_provider *inner, const struct sp_create_options *options,
			       struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_create_options changed = *options;
	struct sp_sandbox made = SP_SANDBOX_INIT;
	int rc;

	changed.n_env = 0;
	rc = sp_provider_create(inner, &changed, &made, err);
	if (rc == 0 && options->n_env)
		rc = sp_sandbox_env_set(&made, options->env, options->n_env, options->cancel, err);
	if (rc < 0)
		sp_sandbox_done(&made);
	else
		*ret_inner = made;
	return rc;
}

static const struct fault_hooks failed_stays = { .create = failed_stays_create };
FAULT_WRAP(wrap_failed_stays, failed_stays)

static int repeats_create(struct sp_provider *inner, const struct sp_create_options *options,
			  struct sp_sandbox *ret_inner, struct sp_error *err)
{
	int rc = sp_provider_create(inner, options, ret_inner, err);

	return rc == SP_UNKNOWN_OUTCOME ? sp_provider_create(inner, options, ret_inner, err) : rc;
}

static const struct fault_hooks repeats = { .create = repeats_create };
FAULT_WRAP(wrap_repeats, repeats)

static int lifetime_create(struct sp_provider *inner, const struct sp_create_options *options,
			   struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_create_options changed = *options;

	changed.lifetime_s = 0;
	return sp_provider_create(inner, &changed, ret_inner, err);
}

static const struct fault_hooks lifetime = { .create = lifetime_create };
FAULT_WRAP(wrap_lifetime, lifetime)

/* ---- Finding ---- */

static int new_resume(struct sp_provider *inner, const char *id SP_UNUSED,
		      struct sp_sandbox *ret_inner, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;

	options.cancel = cancel;
	return sp_provider_create(inner, &options, ret_inner, err);
}

static const struct fault_hooks resume_new = { .resume = new_resume };
FAULT_WRAP(wrap_resume_new, resume_new)

static int replaces_resume(struct sp_provider *inner, const char *id, struct sp_sandbox *ret_inner,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_provider_resume(inner, id, ret_inner, cancel, err);

	return rc < 0 || ret_inner->ops ? rc : new_resume(inner, id, ret_inner, cancel, err);
}

static const struct fault_hooks replaces = { .resume = replaces_resume };
FAULT_WRAP(wrap_replaces, replaces)

static void destroys_close(struct fault_sandbox *sandbox)
{
	(void)sp_sandbox_destroy(&sandbox->inner, NULL, NULL);
}

static const struct fault_hooks close_destroys = { .close = destroys_close };
FAULT_WRAP(wrap_close_destroys, close_destroys)

static void change_suspended_gone(struct sp_render_steps *steps)
{
	steps->resume_wakes = false;
}

static void change_impatient(struct sp_render_steps *steps)
{
	steps->resume_waits = false;
}

static void change_end_is_error(struct sp_render_steps *steps)
{
	steps->resume_end_is_gone = false;
}

static void change_404_is_gone(struct sp_render_steps *steps)
{
	steps->gone_needs_list = false;
}

static int null_on_error_resume(struct sp_provider *inner, const char *id,
				struct sp_sandbox *ret_inner, struct sp_cancel *cancel,
				struct sp_error *err)
{
	if (sp_provider_resume(inner, id, ret_inner, cancel, err) < 0)
		*ret_inner = (struct sp_sandbox)SP_SANDBOX_INIT;
	return 0;
}

static const struct fault_hooks null_on_error = { .resume = null_on_error_resume };
FAULT_WRAP(wrap_null_on_error, null_on_error)

/* ---- Removing ---- */

static int unknown_throws_destroy(struct sp_provider *inner, const char *id,
				  struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	bool known = false;
	int rc = sp_provider_list(inner, &list, cancel, err);

	for (size_t i = 0; !rc && i < list.len; i++)
		known = known || !strcmp(list.ids[i], id);
	if (!rc && !known)
		rc = sp_error_set(err, SP_NOT_FOUND, "there is no such sandbox");
	return rc ? rc : sp_provider_destroy(inner, id, cancel, err);
}

static const struct fault_hooks unknown_throws = { .destroy_id = unknown_throws_destroy };
FAULT_WRAP(wrap_unknown_throws, unknown_throws)

/* One at a time, and who comes meanwhile is turned away. */
static atomic_int being_destroyed;

static int busy_destroy(struct fault_sandbox *sandbox, struct sp_cancel *cancel,
			struct sp_error *err)
{
	int rc;

	atomic_fetch_add(&being_destroyed, 1);
	rc = sp_sandbox_destroy(&sandbox->inner, cancel, err);
	atomic_fetch_sub(&being_destroyed, 1);
	return rc;
}

static int busy_destroy_id(struct sp_provider *inner, const char *id, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	if (atomic_load(&being_destroyed))
		return sp_error_set(err, SP_CONFLICT, "the sandbox is being removed");
	return sp_provider_destroy(inner, id, cancel, err);
}

static const struct fault_hooks busy = { .destroy = busy_destroy, .destroy_id = busy_destroy_id };
FAULT_WRAP(wrap_busy, busy)

static int once_destroy(struct fault_sandbox *sandbox, struct sp_cancel *cancel,
			struct sp_error *err)
{
	if (atomic_fetch_add(&sandbox->count, 1))
		return sp_error_set(err, SP_NOT_FOUND, "there is no such sandbox");
	return sp_sandbox_destroy(&sandbox->inner, cancel, err);
}

static const struct fault_hooks once = { .destroy = once_destroy };
FAULT_WRAP(wrap_once, once)

static int id_noop_destroy(struct sp_provider *inner SP_UNUSED, const char *id SP_UNUSED,
			   struct sp_cancel *cancel SP_UNUSED, struct sp_error *err SP_UNUSED)
{
	return 0;
}

static const struct fault_hooks id_noop = { .destroy_id = id_noop_destroy };
FAULT_WRAP(wrap_id_noop, id_noop)

static int neighbours_destroy(struct sp_provider *inner, const char *id, struct sp_cancel *cancel,
			      struct sp_error *err)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	int rc = sp_provider_list(inner, &list, cancel, err);

	for (size_t i = 0; rc == 0 && i < list.len; i++)
		rc = sp_provider_destroy(inner, list.ids[i], cancel, err);
	return rc < 0 ? rc : sp_provider_destroy(inner, id, cancel, err);
}

static const struct fault_hooks neighbours = { .destroy_id = neighbours_destroy };
FAULT_WRAP(wrap_neighbours, neighbours)

static int noop_destroy(struct fault_sandbox *sandbox SP_UNUSED, struct sp_cancel *cancel SP_UNUSED,
			struct sp_error *err SP_UNUSED)
{
	return 0;
}

static const struct fault_hooks noop = { .destroy = noop_destroy };
FAULT_WRAP(wrap_noop, noop)

static int swallows_destroy(struct fault_sandbox *sandbox, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	(void)sp_sandbox_destroy(&sandbox->inner, cancel, err);
	return 0;
}

static const struct fault_hooks swallows = { .destroy = swallows_destroy };
FAULT_WRAP(wrap_swallows, swallows)

static int answers_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);

	if (rc != SP_GONE)
		return rc;
	*ret_result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}

static const struct fault_hooks answers = { .exec = answers_exec };
FAULT_WRAP(wrap_answers, answers)

/* Variables that are kept in the handle do not need the sandbox. */
static int takes_env_set(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
			 struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_env_set(&sandbox->inner, env, n_env, cancel, err);

	return rc == SP_GONE ? 0 : rc;
}

static const struct fault_hooks takes_env = { .env_set = takes_env_set };
FAULT_WRAP(wrap_takes_env, takes_env)

/* ---- Listing ---- */

static int empty_list(struct sp_provider *inner SP_UNUSED, struct sp_id_list *ret_list,
		      struct sp_cancel *cancel SP_UNUSED, struct sp_error *err SP_UNUSED)
{
	*ret_list = (struct sp_id_list)SP_ID_LIST_INIT;
	return 0;
}

static const struct fault_hooks list_empty = { .list = empty_list };
FAULT_WRAP(wrap_list_empty, list_empty)

static int empty_on_error_list(struct sp_provider *inner, struct sp_id_list *ret_list,
			       struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_provider_list(inner, ret_list, cancel, err) < 0 ?
		       empty_list(inner, ret_list, cancel, err) :
		       0;
}

static const struct fault_hooks empty_on_error = { .list = empty_on_error_list };
FAULT_WRAP(wrap_empty_on_error, empty_on_error)

/* ---- Sleep ---- */

/* A wake that starts from the image: what lay in /tmp is gone. */
static int wipes_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		      struct sp_exec_result *ret_result, struct sp_error *err)
{
	if (atomic_fetch_add(&sandbox->count, 1))
		fault_inner_shell(sandbox, "find /tmp -mindepth 1 -delete", options->cancel);
	return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
}

static const struct fault_hooks wipes = { .exec = wipes_exec };
FAULT_WRAP(wrap_wipes, wipes)

static int asleep_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	if (atomic_fetch_add(&sandbox->count, 1) == 0)
		return sp_error_set(err, SP_CONFLICT, "the sandbox is suspended");
	return sp_sandbox_write(&sandbox->inner, path, data, len, cancel, err);
}

static const struct fault_hooks asleep = { .fs_write = asleep_write };
FAULT_WRAP(wrap_asleep, asleep)

static int loses_env_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			  struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options changed = *options;

	sp_buf_addf(&text, "unset SP_AWAKE\n%s", options->command);
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a rewritten command");
	changed.command = sp_buf_str(&text);
	return sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static const struct fault_hooks loses_env = { .exec = loses_env_exec };
FAULT_WRAP(wrap_loses_env, loses_env)

static int fresh_resume(struct sp_provider *inner, const char *id, struct sp_sandbox *ret_inner,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	int rc = sp_provider_resume(inner, id, ret_inner, cancel, err);

	options.command = "find . -mindepth 1 -delete";
	options.cancel = cancel;
	if (rc == 0 && ret_inner->ops)
		(void)sp_sandbox_exec(ret_inner, &options, &result, NULL);
	return rc;
}

static const struct fault_hooks fresh = { .resume = fresh_resume };
FAULT_WRAP(wrap_fresh, fresh)

/* Whatever stands in the way of a new one is removed. */
static int clears_create(struct sp_provider *inner, const struct sp_create_options *options,
			 struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;

	if (!sp_provider_list(inner, &list, options->cancel, NULL))
		for (size_t i = 0; i < list.len; i++)
			(void)sp_provider_destroy(inner, list.ids[i], options->cancel, NULL);
	return sp_provider_create(inner, options, ret_inner, err);
}

static const struct fault_hooks clears = { .create = clears_create };
FAULT_WRAP(wrap_clears, clears)

/* An id is a path below the provider's folder: what is before its last name does not count. */
static int path_resume(struct sp_provider *inner, const char *id, struct sp_sandbox *ret_inner,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	const char *slash = strrchr(id, '/');

	return sp_provider_resume(inner, slash ? slash + 1 : id, ret_inner, cancel, err);
}

static const struct fault_hooks id_path = { .resume = path_resume };
FAULT_WRAP(wrap_id_path, id_path)

/* Pages of one: the next begins strictly after the time of the last, which its twin shares. */
static int skips_list(struct sp_provider *inner, struct sp_id_list *ret_list,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_provider_list(inner, ret_list, cancel, err);
	size_t kept = 0;

	for (size_t i = 0; !rc && i < ret_list->len; i++) {
		if (i % 2)
			free(ret_list->ids[i]);
		else
			ret_list->ids[kept++] = ret_list->ids[i];
	}
	if (!rc)
		ret_list->len = kept;
	return rc;
}

static const struct fault_hooks list_skips = { .list = skips_list };
FAULT_WRAP(wrap_list_skips, list_skips)

#define PROVIDER(id_, wrap_, clause_, outside_, summary_, sources_, ...)                           \
	{ .version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,        \
	  .clause = "lifecycle " clause_, .cases = FAULT_LIST(__VA_ARGS__),                        \
	  .seam = SP_FAULT_PROVIDER, .reaches_outside = outside_, .wrap_provider = wrap_ }

#define STEP(id_, change_, clause_, summary_, sources_, ...)                                       \
	{ .version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,        \
	  .clause = "lifecycle " clause_, .cases = FAULT_LIST(__VA_ARGS__),                        \
	  .seam = SP_FAULT_RENDER_STEP, .change_steps = change_ }

static const struct sp_fault faults[] = {
	{ .version = SP_FAULT_VERSION, .id = "life-create-early",
	  .summary = "create() answers before the sandbox takes commands.",
	  .sources = FAULT_LIST("contract:1.3"), .clause = "lifecycle L1",
	  .cases = FAULT_LIST("lifecycle.create.ready"),
	  /* Whatever runs a command may come too early for it. */
	  .control = "caps.declared.constant", .seam = SP_FAULT_PROVIDER,
	  .wrap_provider = wrap_early },
	PROVIDER("life-create-reuses", wrap_reuses, "L1", false,
		 "create() gives a sandbox that is there already.", FAULT_LIST("contract:1.3"),
		 "lifecycle.create.independent"),
	{ .version = SP_FAULT_VERSION, .id = "life-create-clears-the-way",
	  .summary = "create() removes the sandboxes that are there already.",
	  .sources = FAULT_LIST("contract:C160"), .clause = "lifecycle L1",
	  .cases = FAULT_LIST("lifecycle.create.independent"),
	  /* The other control shares a sandbox, which the next create removes. */
	  .control = "caps.declared.constant", .seam = SP_FAULT_PROVIDER,
	  .wrap_provider = wrap_clears },
	PROVIDER("life-create-env-dropped", wrap_env_dropped, "L1", false,
		 "The variables given to create() are lost.", FAULT_LIST("contract:1.3"),
		 "lifecycle.create.env"),
	PROVIDER("life-create-ignores-abort", wrap_ignores_abort, "L2", false,
		 "create() does not look at its cancel.", FAULT_LIST("contract:1.3"),
		 "lifecycle.create.aborted"),
	STEP("life-abort-leaves", change_abort_leaves, "L2",
	     "An aborted create leaves what it made.", FAULT_LIST("contract:C161", "render:20"),
	     "lifecycle.create.aborted-during"),
	PROVIDER("life-failed-create-stays", wrap_failed_stays, "L2", false,
		 "A create whose environment cannot be set leaves its sandbox.",
		 FAULT_LIST("contract:1.3"), "lifecycle.create.fails-part-way"),
	PROVIDER("life-create-repeats", wrap_repeats, "L3", false,
		 "A create whose answer was lost is sent again.", FAULT_LIST("contract:1.3"),
		 "lifecycle.create.lost-answer"),
	PROVIDER("life-resume-new", wrap_resume_new, "L4", false, "resume() makes a new sandbox.",
		 FAULT_LIST("contract:1.3"), "lifecycle.resume.same"),
	PROVIDER("life-close-destroys", wrap_close_destroys, "L4", false,
		 "Closing a handle destroys its sandbox.", FAULT_LIST("contract:1.3"),
		 "lifecycle.resume.closed"),
	PROVIDER("life-resume-replaces", wrap_replaces, "L5", false,
		 "resume() of a sandbox that is gone makes a new one.", FAULT_LIST("contract:1.3"),
		 "lifecycle.resume.gone"),
	PROVIDER("life-resume-id-is-path", wrap_id_path, "L5", false,
		 "An id is taken for a path, of which the last name counts.",
		 FAULT_LIST("contract:C163"), "lifecycle.resume.odd-ids"),
	STEP("life-resume-suspended-gone", change_suspended_gone, "L5",
	     "A suspended sandbox passes for gone.", FAULT_LIST("contract:C169", "render:22"),
	     "lifecycle.resume.states"),
	STEP("life-resume-impatient", change_impatient, "L5",
	     "resume() fails while a sandbox is resuming or suspending.", FAULT_LIST("render:22"),
	     "lifecycle.resume.changes"),
	STEP("life-resume-end-is-error", change_end_is_error, "L5",
	     "A sandbox that ends while resume() waits is an error.", FAULT_LIST("render:22"),
	     "lifecycle.resume.changes", "lifecycle.resume.creating"),
	PROVIDER("life-resume-null-on-error", wrap_null_on_error, "L6", false,
		 "resume() answers \"gone\" to any failure.",
		 FAULT_LIST("contract:C167", "contract:1.3"),
		 "lifecycle.resume.transient"),
	STEP("life-404-is-gone", change_404_is_gone, "L6", "A 404 alone is taken for gone.",
	     FAULT_LIST("render-api:3.3"), "lifecycle.resume.not-found"),
	PROVIDER("life-destroy-once", wrap_once, "L7", false, "A second destroy is an error.",
		 FAULT_LIST("field:L07", "contract:1.3"), "lifecycle.destroy.again"),
	PROVIDER("life-destroy-id-noop", wrap_id_noop, "L7", false, "destroy by id does nothing.",
		 FAULT_LIST("contract:1.3"), "lifecycle.destroy.by-id"),
	PROVIDER("life-destroy-neighbours", wrap_neighbours, "L7", false,
		 "destroy by id removes every sandbox of the workspace.",
		 FAULT_LIST("contract:1.3"), "lifecycle.destroy.others",
		 "lifecycle.destroy.unknown"),
	PROVIDER("life-destroy-unknown-throws", wrap_unknown_throws, "L7", false,
		 "destroy by an id that is not listed is \"not found\".", FAULT_LIST("field:L07"),
		 "lifecycle.destroy.unknown"),
	PROVIDER("life-destroy-busy", wrap_busy, "L7", false,
		 "Whoever destroys meanwhile is turned away.", FAULT_LIST("field:L07"),
		 "lifecycle.destroy.at-once"),
	PROVIDER("life-destroy-noop", wrap_noop, "L7", false, "destroy() does nothing.",
		 FAULT_LIST("contract:1.3"), "lifecycle.destroy.all-of-it"),
	PROVIDER("life-destroy-swallows", wrap_swallows, "L8", false,
		 "destroy() is a success whatever the service says.",
		 FAULT_LIST("contract:C166", "contract:C167", "contract:C168", "contract:1.3"),
		 "lifecycle.destroy.refused"),
	PROVIDER("life-destroyed-answers", wrap_answers, "L8", false,
		 "exec in a destroyed sandbox answers code 0.", FAULT_LIST("contract:1.3"),
		 "lifecycle.destroy.then-use"),
	PROVIDER("life-destroyed-takes-env", wrap_takes_env, "L8", false,
		 "env_set in a destroyed sandbox is a success.", FAULT_LIST("contract:1.3"),
		 "lifecycle.destroy.then-use"),
	PROVIDER("life-list-empty", wrap_list_empty, "L9", false, "list() is always empty.",
		 FAULT_LIST("contract:1.3"), "lifecycle.list.live"),
	PROVIDER("life-list-skips", wrap_list_skips, "L9", false,
		 "list() leaves out what was made at the same time as the one before.",
		 FAULT_LIST("field:L17"), "lifecycle.list.live"),
	PROVIDER("life-list-empty-on-error", wrap_empty_on_error, "L9", false,
		 "A list that fails is an empty one.", FAULT_LIST("contract:1.3"),
		 "lifecycle.list.fails"),
	PROVIDER("life-lifetime-dropped", wrap_lifetime, "L10", false,
		 "The lifetime asked for is not passed on.", FAULT_LIST("contract:1.3"),
		 "lifecycle.lifetime.ends"),
	PROVIDER("life-wake-wipes", wrap_wipes, "L11", true, "A wake loses what lay in /tmp.",
		 FAULT_LIST("contract:5"), "lifecycle.sleep.files"),
	PROVIDER("life-write-does-not-wake", wrap_asleep, "L11", false,
		 "A write to a suspended sandbox is refused.", FAULT_LIST("contract:5"),
		 "lifecycle.sleep.transfers"),
	PROVIDER("life-wake-loses-env", wrap_loses_env, "L11", false,
		 "A command after waking lacks its environment.", FAULT_LIST("contract:5"),
		 "lifecycle.sleep.env"),
	PROVIDER("life-resume-fresh-disk", wrap_fresh, "L12", true,
		 "A stopped sandbox starts with an empty workspace.", FAULT_LIST("contract:1.2"),
		 "lifecycle.sleep.durable"),
};
FAULT_TABLE(fault_lifecycle, faults);
