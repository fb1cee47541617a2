/* SPDX-License-Identifier: MIT */
#include <cli/plan.h>

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/nearest.h>
#include <cli/cli.h>
#include <cli/plan_scope.h>
#include <cli/text.h>
#include <redact/redact.h>
#include <runner/baseline.h>

#define TEXT_CEILING (256 * 1024)
/* A subject under a debugger stands still for as long as its author thinks. */
#define ATTACHED_DEADLINE_MS (UINT64_C(30) * 24 * 3600 * 1000)
/* Profile, and the tag of its cases. */
#define PROFILE_CORE "live-core"

/*
 * Usage errors come before "not built yet": a typing error must not hide
 * behind a missing feature. So the first of the latter waits here until all is checked.
 */
struct checks {
	struct sp_error err;
	struct sp_error later;
};

/* Records what a check said; true when the checking is over. */
static bool stops(struct checks *checks, int rc)
{
	if (rc == SP_UNSUPPORTED && checks->later.code == SP_OK)
		checks->later = checks->err;
	return rc && rc != SP_UNSUPPORTED;
}

/* ---- --option K=V ---- */

enum target {
	TO_KILL_GRACE,
	TO_UNREAD_BOUND,
	TO_OUTPUT_CAP,
	TO_POLL,
	TO_START_TIMEOUT,
	TO_CASE_DEADLINE,
	TO_GRACE,
	TO_ROUNDS,
	TO_PRIVATE_DIR,
	TO_PLAN,
	TO_SNAPSHOT_KIND,
};

static const struct key {
	const char *name;
	enum target target;
	/* Range of a number; max 0: a text. */
	uint64_t min, max;
} keys[] = {
	{ "kill_grace_ms", TO_KILL_GRACE, 0, 600000 },
	{ "unread_bound", TO_UNREAD_BOUND, 1, UINT64_C(1) << 40 },
	{ "output_cap", TO_OUTPUT_CAP, 1, UINT64_C(1) << 40 },
	{ "poll_ms", TO_POLL, 1, 600000 },
	{ "start_timeout_ms", TO_START_TIMEOUT, 1, 86400000 },
	{ "case_deadline_ms", TO_CASE_DEADLINE, 1, 86400000 },
	{ "grace_ms", TO_GRACE, 1, 600000 },
	{ "rounds", TO_ROUNDS, 1, 100000 },
	{ "private_dir", TO_PRIVATE_DIR, 0, 0 },
	{ "plan", TO_PLAN, 0, 0 },
	{ "snapshot_kind", TO_SNAPSHOT_KIND, 0, 0 },
};

static int unknown_key(const char *text, struct sp_error *err)
{
	const char *names[SP_COUNT(keys)];
	char *word SP_FREE = strndup(text, strcspn(text, "=")), *near SP_FREE = NULL;
	struct sp_buf all SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (size_t i = 0; i < SP_COUNT(keys); i++) {
		names[i] = keys[i].name;
		sp_buf_addf(&all, "%s%s", i ? ", " : "", keys[i].name);
	}
	near = word ? sp_nearest(word, names, SP_COUNT(keys)) : NULL;
	return sp_error_set(err, SP_INVALID, "--option has no key \"%.60s\"; %s: %s",
			    word ? word : "", near && *near ? "the nearest" : "there are",
			    near && *near ? near : sp_buf_str(&all));
}

static void set_number(struct run_plan *plan, enum target target, uint64_t value)
{
	switch (target) {
	case TO_KILL_GRACE:
		plan->settings.has_kill_grace = true;
		plan->settings.kill_grace_ms = (uint32_t)value;
		break;
	case TO_UNREAD_BOUND:
		plan->settings.unread_bound = value;
		break;
	case TO_OUTPUT_CAP:
		plan->settings.output_cap = value;
		break;
	case TO_POLL:
		plan->settings.poll_ms = (uint32_t)value;
		break;
	case TO_START_TIMEOUT:
		plan->settings.start_timeout_ms = (uint32_t)value;
		break;
	case TO_CASE_DEADLINE:
		plan->case_deadline_ms = value;
		break;
	case TO_GRACE:
		plan->grace_ms = value;
		break;
	case TO_ROUNDS:
		plan->rounds = (unsigned)value;
		break;
	case TO_PRIVATE_DIR:
	case TO_PLAN:
	case TO_SNAPSHOT_KIND:
		break;
	}
}

static int set_snapshot_kind(struct run_plan *plan, const char *value, struct sp_error *err)
{
	if (!strcmp(value, "filesystem"))
		plan->settings.snapshot_kind = SP_SNAPSHOT_FILESYSTEM;
	else if (!strcmp(value, "runtime"))
		plan->settings.snapshot_kind = SP_SNAPSHOT_RUNTIME;
	else
		return sp_error_set(err, SP_INVALID,
				    "--option snapshot_kind takes filesystem or runtime, not "
				    "\"%.60s\"",
				    value);
	return 0;
}

static int set_text(struct run_plan *plan, enum target target, const char *value,
		    struct sp_error *err)
{
	if (!*value)
		return sp_error_set(err, SP_INVALID, "--option has a key without value");
	if (target == TO_PRIVATE_DIR && *value != '/')
		return sp_error_set(err, SP_INVALID,
				    "--option private_dir takes an absolute path, not \"%.200s\"",
				    value);
	if (target == TO_SNAPSHOT_KIND)
		return set_snapshot_kind(plan, value, err);
	if (target == TO_PRIVATE_DIR)
		plan->settings.private_dir = value;
	else
		plan->settings.plan = value;
	return 0;
}

int cli_plan_option(const char *text, struct run_plan *plan, struct sp_error *err)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	char what[64];
	uint64_t value;

	for (size_t i = 0; i < SP_COUNT(keys); i++) {
		int rc;

		if (strlen(keys[i].name) != len || strncmp(keys[i].name, text, len))
			continue;
		if (!equals)
			return sp_error_set(err, SP_INVALID, "--option %s needs a value: %s=V",
					    keys[i].name, keys[i].name);
		if (!keys[i].max)
			return set_text(plan, keys[i].target, equals + 1, err);
		snprintf(what, sizeof(what), "--option %s", keys[i].name);
		rc = cli_parse_number(what, equals + 1, keys[i].min, keys[i].max, &value, err);
		if (!rc)
			set_number(plan, keys[i].target, value);
		return rc;
	}
	return unknown_key(text, err);
}

/* ---- Single options ---- */

/* Only Render's API is counted; time passes everywhere. */
static int check_budget(const struct run_args *args, struct run_plan *plan, struct sp_error *err)
{
	const char *provider = cli_plan_provider(plan);
	int rc = cli_budget_parse(args->budget, &plan->budget, err);

	if (rc || (!plan->budget.sandboxes && !plan->budget.requests) ||
	    (provider && cli_spec_is_render(provider)))
		return rc;
	return sp_error_set(err, SP_INVALID,
			    "--budget sandboxes= and requests= count what is asked of Render's "
			    "API: use them with --provider render; seconds= goes with any");
}

static int unknown_profile(const char *word, struct sp_error *err)
{
	static const char *const names[] = { "full", PROFILE_CORE };
	char *near SP_FREE = sp_nearest(word, names, SP_COUNT(names));

	return sp_error_set(err, SP_INVALID, "--profile takes full or %s, not \"%.80s\"%s%s",
			    PROFILE_CORE, word, near && *near ? "; the nearest: " : "",
			    near ? near : "");
}

static int check_profile(const struct run_args *args, struct sp_error *err)
{
	if (!strcmp(args->profile, "full"))
		return 0;
	if (strcmp(args->profile, PROFILE_CORE))
		return unknown_profile(args->profile, err);
	if (args->filter.tags.len)
		return sp_error_set(err, SP_INVALID,
				    "--profile %s is a choice of tag; leave --tag out",
				    PROFILE_CORE);
	return 0;
}

/* Counters are collected of what is inside a worker; everything else counts for itself. */
static int check_coverage(const struct run_args *args, const struct run_plan *plan,
			  struct sp_error *err)
{
	bool plugin = args->suite_plugins.len;

	if (!args->coverage)
		return 0;
	for (size_t i = 0; i < plan->n_subjects; i++)
		plugin = plugin || !strncmp(plan->subjects[i].spec, "plugin:", 7);
	if (!*args->coverage || !plugin)
		return sp_error_set(err, SP_INVALID,
				    "--coverage DIR collects the coverage of plugins, and this run "
				    "has none (plugin:FILE.so, --suite-plugin)");
	return 0;
}

/* What could not be written anyhow is told before the run; what happens during it comes later. */
static int check_place(const struct cli_report *report, struct sp_error *err)
{
	const char *slash = strrchr(report->path, '/');
	char *dir SP_FREE = strndup(report->path, slash ? (size_t)(slash - report->path) + 1 : 0);
	const char *place = dir && *dir ? dir : ".";
	struct stat st;

	if (cli_report_is_stdout(report))
		return 0;
	if (!stat(report->path, &st) && S_ISDIR(st.st_mode))
		return sp_error_set(err, SP_INVALID, "--report %s: %s is a folder",
				    report->format->name, report->path);
	/* A device or pipe stays and is written into. */
	if (!stat(report->path, &st) && !S_ISREG(st.st_mode) && !access(report->path, W_OK))
		return 0;
	if (access(place, W_OK | X_OK))
		return sp_error_set(err, SP_INVALID, "--report %s: %s cannot be written: %s: %s",
				    report->format->name, report->path, place, strerror(errno));
	return 0;
}

static bool check_reports(const struct run_args *args, struct run_plan *plan, struct checks *checks)
{
	size_t on_stdout = 0;

	plan->reports = calloc(args->reports.len + 1, sizeof(*plan->reports));
	if (!plan->reports)
		return !stops(checks, sp_error_set(&checks->err, SP_INTERNAL, "out of memory"));
	for (size_t i = 0; i < args->reports.len; i++) {
		struct cli_report *report = &plan->reports[plan->n_reports];
		int rc = cli_report_parse(args->reports.items[i], true, report, &checks->err);

		if (stops(checks, rc))
			return false;
		if (rc)
			continue;
		if (stops(checks, check_place(report, &checks->err)))
			return false;
		plan->n_reports++;
		on_stdout += cli_report_is_stdout(report);
	}
	plan->report_on_stdout = on_stdout > 0;
	if (on_stdout < 2)
		return true;
	return !stops(checks, sp_error_set(&checks->err, SP_INVALID,
					   "only one report can go to standard output"));
}

static bool check_options(const struct run_args *args, struct run_plan *plan, struct checks *checks)
{
	for (size_t i = 0; i < args->options.len; i++)
		if (stops(checks, cli_plan_option(args->options.items[i], plan, &checks->err)))
			return false;
	return true;
}

/* ---- Subjects and suites ---- */

static bool add_subject(struct run_plan *plan, enum sp_subject_kind kind, const char *spec,
			struct checks *checks)
{
	char *shown;

	if (stops(checks, cli_spec_check(kind, spec, &checks->err)))
		return false;
	shown = sp_redact_spec(spec);
	plan->shown[plan->n_subjects] = shown;
	plan->subjects[plan->n_subjects++] =
		(struct sp_run_subject){ .kind = kind, .spec = spec, .shown = shown };
	return true;
}

static bool has_subject(const struct run_plan *plan, enum sp_subject_kind kind)
{
	return cli_plan_spec(plan, kind) != NULL;
}

/* The default of a kind, where it is built and nothing of the kind is there. */
static bool add_default(struct run_plan *plan, enum sp_subject_kind kind, struct checks *checks)
{
	const char *spec = cli_spec_default(kind);

	return has_subject(plan, kind) || !spec || add_subject(plan, kind, spec, checks);
}

/* A suite that was named takes the defaults of the kinds that were not. */
static bool add_defaults_of_suites(const struct run_args *args, struct run_plan *plan,
				   struct checks *checks)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);

	for (size_t i = 0; i < n * args->filter.suites.len; i++) {
		const struct sp_suite *suite = suites[i % n];

		if (strcmp(suite->name, args->filter.suites.items[i / n]))
			continue;
		for (unsigned kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
			if (plan_kinds_needed(plan, suite->subject) & 1u << kind &&
			    !add_default(plan, kind, checks))
				return false;
	}
	return true;
}

/* The SPEC that a kind has when only what it stands on was named, or NULL. */
static const char *implied(const struct run_plan *plan, enum sp_subject_kind kind)
{
	switch (kind) {
	case SP_SUBJECT_LOCK:
		return cli_plan_spec(plan, SP_SUBJECT_STORE);
	case SP_SUBJECT_PLATFORM:
		return cli_plan_provider(plan);
	case SP_SUBJECT_JOURNAL:
	case SP_SUBJECT_ENSURE:
		return cli_spec_default(kind);
	case SP_SUBJECT_PROVIDER:
	case SP_SUBJECT_STORE:
	case SP_SUBJECT_KIND_MAX_:
		break;
	}
	return NULL;
}

/* What the suites that run need besides what was named: a store's own lock, our own journal. */
static bool add_implied(struct run_plan *plan, struct checks *checks)
{
	plan->n_named = plan->n_subjects;
	for (size_t i = 0; i < plan->n_suites; i++) {
		enum sp_subject_kind kind = plan->suites[i]->subject;
		const char *spec = implied(plan, kind);

		if (spec && !has_subject(plan, kind) && !add_subject(plan, kind, spec, checks))
			return false;
	}
	return true;
}

/* What the last run judged, where no subject is named. */
static bool add_last_subjects(struct run_plan *plan, struct checks *checks)
{
	if (stops(checks, cli_state_last_specs(&plan->last_specs, &checks->err)))
		return false;
	for (unsigned kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++) {
		const char *spec = plan->last_specs.by_kind[kind];

		if (spec && !add_subject(plan, kind, spec, checks))
			return false;
	}
	return true;
}

static bool check_subjects(const struct run_args *args, struct run_plan *plan,
			   struct checks *checks)
{
	const char *const named[SP_SUBJECT_KIND_MAX_] = {
		[SP_SUBJECT_PROVIDER] = args->provider, [SP_SUBJECT_STORE] = args->store,
		[SP_SUBJECT_LOCK] = args->lock,		[SP_SUBJECT_JOURNAL] = args->journal,
		[SP_SUBJECT_ENSURE] = args->ensure,
	};

	for (unsigned kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		if (named[kind] && !add_subject(plan, kind, named[kind], checks))
			return false;
	if (args->last_failed && !plan->n_subjects && !add_last_subjects(plan, checks))
		return false;
	if (!plan->n_subjects && (!add_default(plan, SP_SUBJECT_PROVIDER, checks) ||
				  !add_default(plan, SP_SUBJECT_STORE, checks)))
		return false;
	return add_defaults_of_suites(args, plan, checks);
}

/* A run of no suite would look like one that passed. */
static int nothing_served(struct sp_error *err)
{
	return sp_error_set(err, SP_INVALID,
			    "nothing to run: an ensure is judged on a provider and a store, a "
			    "journal on a provider; name them too, or the suite (--suite ensure)");
}

static bool take_suites(struct run_plan *plan, struct checks *checks)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);

	plan->suites = calloc(n, sizeof(*plan->suites));
	if (!plan->suites)
		return !stops(checks, sp_error_set(&checks->err, SP_INTERNAL, "out of memory"));
	for (size_t i = 0; i < n; i++)
		if (plan_serves(plan, suites[i]))
			plan->suites[plan->n_suites++] = suites[i];
	if (!plan->n_suites && checks->later.code == SP_OK)
		return !stops(checks, nothing_served(&checks->err));
	return add_implied(plan, checks);
}

/* ---- Cases ---- */

/* Puts the ids of the last run's failures in place of --case. */
static bool take_last_failed(const struct run_args *args, struct run_plan *plan,
			     struct sp_filter *filter, struct checks *checks)
{
	if (args->filter.cases.len)
		return !stops(checks, sp_error_set(&checks->err, SP_INVALID,
						   "--last-failed and --case exclude each other"));
	if (stops(checks, cli_state_last_failed(&plan->last_failed, &checks->err)))
		return false;
	plan->nothing_failed = !plan->last_failed.len;
	filter->cases = (const char *const *)plan->last_failed.items;
	filter->n_cases = plan->last_failed.len;
	return true;
}

/* The kinds that were named, as bits. */
static unsigned named_kinds(const struct run_args *args)
{
	return (args->provider ? 1u << SP_SUBJECT_PROVIDER : 0) |
	       (args->store ? 1u << SP_SUBJECT_STORE : 0) |
	       (args->lock ? 1u << SP_SUBJECT_LOCK : 0) |
	       (args->journal ? 1u << SP_SUBJECT_JOURNAL : 0) |
	       (args->ensure ? 1u << SP_SUBJECT_ENSURE : 0);
}

static int select_cases(const struct run_args *args, struct run_plan *plan,
			const struct sp_filter *filter, struct sp_error *err)
{
	int rc = plan_check_served(plan, filter, err);

	if (!rc)
		rc = sp_select(plan->suites, plan->n_suites, filter, &plan->selection, err);
	if (rc)
		return rc;
	plan->unjudged = plan_unjudged(plan, named_kinds(args), filter);
	return plan->unjudged ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");
}

static bool check_cases(const struct run_args *args, struct run_plan *plan, struct checks *checks)
{
	static const char *const core[] = { PROFILE_CORE };
	struct sp_filter filter = { .suites = NULL };
	int rc = cli_filter_make(&args->filter, &filter, &checks->err);

	if (args->profile && !strcmp(args->profile, PROFILE_CORE)) {
		filter.tags = core;
		filter.n_tags = 1;
	}

	if (stops(checks, rc) || !take_suites(plan, checks))
		return false;
	/* A suite that is not built yet, or one without its subject, has nothing to select from. */
	if (rc || !plan->n_suites)
		return true;
	if (args->last_failed && !take_last_failed(args, plan, &filter, checks))
		return false;
	if (plan->nothing_failed)
		return true;
	return !stops(checks, select_cases(args, plan, &filter, &checks->err));
}

/* ---- Faults and control ---- */

static int check_fault(const struct run_args *args, struct run_plan *plan, struct sp_error *err)
{
	const char *provider = cli_plan_provider(plan);

	if (!args->defect)
		return 0;
	plan->fault = cli_fault_find(args->defect);
	if (!plan->fault)
		return cli_unknown_fault(args->defect, err);
	if (plan->fault->seam == SP_FAULT_STORE && !has_subject(plan, SP_SUBJECT_STORE))
		return sp_error_set(err, SP_INVALID,
				    "the fault %s changes a store; name one with --store",
				    args->defect);
	if (plan->fault->seam == SP_FAULT_LOCK && !has_subject(plan, SP_SUBJECT_STORE) &&
	    !has_subject(plan, SP_SUBJECT_LOCK))
		return sp_error_set(err, SP_INVALID,
				    "the fault %s changes a lock; name one with --lock or --store",
				    args->defect);
	if (!cli_fault_is_contract(plan->fault) && provider && !cli_spec_is_render(provider))
		return sp_error_set(
			err, SP_INVALID,
			"the fault %s changes the Render provider; use it with --provider "
			"bash",
			args->defect);
	return 0;
}

static int check_control(const struct run_args *args, struct run_plan *plan, struct sp_error *err)
{
	const char *provider = cli_plan_provider(plan);
	const char *token = getenv("SANDPROOF_CONTROL_TOKEN");

	plan->no_control = args->control && !strcmp(args->control, "off");
	if (!args->control || plan->no_control)
		return 0;
	if (sp_redact_spec_has_secret(args->control))
		return sp_error_set(err, SP_INVALID,
				    "--control holds a secret; the token goes into "
				    "SANDPROOF_CONTROL_TOKEN");
	if (strncmp(args->control, "unix:/", 6) && strncmp(args->control, "http://", 7))
		return sp_error_set(
			err, SP_INVALID,
			"--control takes the control_url of `sandproof fake-api --json`, "
			"not \"%.100s\"",
			args->control);
	if (!provider || strncmp(provider, "render", 6))
		return sp_error_set(
			err, SP_INVALID,
			"--control goes with --provider render:URL; bash brings its own");
	if (!token || !*token)
		return sp_error_set(err, SP_INVALID,
				    "--control needs its token in SANDPROOF_CONTROL_TOKEN");
	return 0;
}

/* ---- Drivers ---- */

/* Whether any subject, or with `attached` any that we attach to, is behind a driver. */
static bool has_driver(const struct run_plan *plan, bool attached)
{
	for (size_t i = 0; i < plan->n_subjects; i++) {
		const struct sp_run_subject *s = &plan->subjects[i];

		if (attached ? cli_spec_is_attached(s->kind, s->spec) :
			       cli_spec_is_driver(s->kind, s->spec))
			return true;
	}
	return false;
}

static int check_driver(const struct run_args *args, const struct run_plan *plan,
			struct sp_error *err)
{
	const char *provider = cli_plan_provider(plan);

	if (args->journal && cli_spec_is_driver(SP_SUBJECT_JOURNAL, args->journal) &&
	    (!provider || strcmp(provider, args->journal)))
		return sp_error_set(err, SP_INVALID,
				    "a driver's journal works on the sandboxes of the same driver: "
				    "name the same SPEC with --provider and --journal");
	if (plan->fault && plan->fault->seam == SP_FAULT_JOURNAL_STEP && args->journal &&
	    strcmp(args->journal, "ours"))
		return sp_error_set(err, SP_INVALID,
				    "the fault %s changes our journal; leave --journal out",
				    args->defect);
	if ((args->trace || args->driver_env.len) && !has_driver(plan, false))
		return sp_error_set(err, SP_INVALID,
				    "%s is about a driver, and this run has no driver; every "
				    "failure prints its dialogue anyway",
				    args->trace ? "--trace" : "--driver-env");
	return 0;
}

/* ---- What follows from it ---- */

static unsigned cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

/*
 * Workers without workspaces of their own would see each other: one job unless more are asked
 * for.
 */
static unsigned default_jobs(const struct run_args *args, const struct run_plan *plan)
{
	const char *provider = cli_plan_provider(plan);
	bool shared = provider && !strncmp(provider, "render", 6) && !args->control;

	for (size_t i = 0; i < plan->n_named; i++)
		shared = shared || !strncmp(plan->subjects[i].spec, "postgres:", 9) ||
			 !strncmp(plan->subjects[i].spec, "sqlite:", 7);

	return plan->live || shared ? 1 : cores();
}

static void add_words(struct sp_buf *out, const char *option, const char *value)
{
	sp_buf_addf(out, " %s ", option);
	cli_text_word(out, value);
}

static const char *shown_of(const struct run_plan *plan, enum sp_subject_kind kind)
{
	for (size_t i = 0; i < plan->n_subjects; i++)
		if (plan->subjects[i].kind == kind)
			return plan->shown[i];
	return NULL;
}

/* "ours over bash", "ours over bash, sqlite": or results of two providers would share a subject. */
static int name_subjects(struct run_plan *plan, struct sp_error *err)
{
	const char *provider = shown_of(plan, SP_SUBJECT_PROVIDER);
	const char *store = shown_of(plan, SP_SUBJECT_STORE);

	for (size_t i = 0; i < plan->n_subjects; i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
		bool ensure = plan->subjects[i].kind == SP_SUBJECT_ENSURE;

		if ((!ensure && plan->subjects[i].kind != SP_SUBJECT_JOURNAL) || !provider)
			continue;
		sp_buf_addf(&text, "%s over %s%s%s", plan->shown[i], provider,
			    ensure && store ? ", " : "", ensure && store ? store : "");
		plan->over[i] = sp_buf_take(&text, NULL);
		if (!plan->over[i])
			return sp_error_set(err, SP_INTERNAL, "out of memory");
		plan->subjects[i].shown = plan->over[i];
	}
	return 0;
}

static int make_texts(const struct run_args *args, struct run_plan *plan, struct sp_error *err)
{
	struct sp_buf rerun SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	struct sp_buf subjects SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);

	cli_text_word(&rerun, cli_program());
	sp_buf_adds(&rerun, " run");
	for (size_t i = 0; i < plan->n_named; i++) {
		const char *kind = sp_subject_kind_name(plan->subjects[i].kind);
		const char *shown = plan->shown[i] ? plan->shown[i] : "";

		sp_buf_addf(&subjects, "%s%s %s", i ? ", " : "", kind, shown);
		sp_buf_addf(&rerun, " --%s ", kind);
		cli_text_word(&rerun, shown);
	}
	for (size_t i = 0; i < args->suite_plugins.len; i++)
		add_words(&rerun, "--suite-plugin", args->suite_plugins.items[i]);
	if (args->control)
		add_words(&rerun, "--control", args->control);
	if (args->defect)
		add_words(&rerun, "--defect", args->defect);
	for (size_t i = 0; i < args->options.len; i++)
		add_words(&rerun, "--option", args->options.items[i]);
	plan->rerun_prefix = sp_buf_take(&rerun, NULL);
	plan->subjects_text = sp_buf_take(&subjects, NULL);
	return plan->rerun_prefix && plan->subjects_text ?
		       0 :
		       sp_error_set(err, SP_INTERNAL, "out of memory");
}

const char *cli_plan_spec(const struct run_plan *plan, enum sp_subject_kind kind)
{
	for (size_t i = 0; i < plan->n_subjects; i++)
		if (plan->subjects[i].kind == kind)
			return plan->subjects[i].spec;
	return NULL;
}

const char *cli_plan_provider(const struct run_plan *plan)
{
	return cli_plan_spec(plan, SP_SUBJECT_PROVIDER);
}

/* Held against every case of every suite: a filter must not make an entry look stale. */
static int read_baseline(const struct run_args *args, struct run_plan *plan, struct sp_error *err)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);
	int rc = args->baseline ? sp_baseline_read(args->baseline, &plan->baseline, err) : 0;

	return rc || !args->baseline
		       ? rc
		       : sp_baseline_bind(plan->baseline, suites, n, sp_wall_ms(), err);
}

int cli_plan_make(const struct run_args *args, struct run_plan *plan, struct sp_error *err)
{
	struct checks checks = { SP_ERROR_INIT, SP_ERROR_INIT };
	const char *provider;
	bool good;

	*plan = (struct run_plan){ .n_subjects = 0 };
	if (!sp_time_scale_valid())
		return sp_error_set(err, SP_INVALID,
				    "SANDPROOF_TIME_SCALE takes a number from 0.1 to 1000, not "
				    "\"%.80s\"",
				    getenv("SANDPROOF_TIME_SCALE"));
	good = !stops(&checks, cli_load_suites(&args->suite_plugins, &checks.err)) &&
	       check_subjects(args, plan, &checks) && check_options(args, plan, &checks) &&
	       check_reports(args, plan, &checks) &&
	       !stops(&checks, check_fault(args, plan, &checks.err)) &&
	       !stops(&checks, check_control(args, plan, &checks.err)) &&
	       !stops(&checks, check_coverage(args, plan, &checks.err)) &&
	       !stops(&checks, check_driver(args, plan, &checks.err)) &&
	       !(args->profile && stops(&checks, check_profile(args, &checks.err))) &&
	       !(args->budget && stops(&checks, check_budget(args, plan, &checks.err))) &&
	       check_cases(args, plan, &checks);
	if (good && checks.later.code != SP_OK)
		checks.err = checks.later;
	if (!good || checks.later.code != SP_OK) {
		*err = checks.err;
		return (int)checks.err.code;
	}
	if (read_baseline(args, plan, err))
		return (int)err->code;
	provider = cli_plan_provider(plan);
	plan->live = provider && cli_spec_is_live(provider);
	plan->outlives = provider && cli_spec_outlives(provider);
	plan->jobs = args->jobs.set ? (unsigned)args->jobs.value : default_jobs(args, plan);
	if (has_driver(plan, true)) {
		plan->jobs = 1;
		plan->case_deadline_ms = ATTACHED_DEADLINE_MS;
	}
	return name_subjects(plan, err) ? (int)err->code : make_texts(args, plan, err);
}

void cli_plan_done(struct run_plan *plan)
{
	for (size_t i = 0; i < plan->n_subjects; i++) {
		free(plan->shown[i]);
		free(plan->over[i]);
	}
	sp_selection_done(&plan->selection);
	cli_ids_done(&plan->last_failed);
	cli_specs_done(&plan->last_specs);
	sp_baseline_free(plan->baseline);
	free(plan->suites);
	free(plan->unjudged);
	free(plan->reports);
	free(plan->rerun_prefix);
	free(plan->subjects_text);
	*plan = (struct run_plan){ .n_subjects = 0 };
}
