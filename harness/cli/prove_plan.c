/* SPDX-License-Identifier: MIT */
/* What is run where: stacks, the cases of each fault, and the healthy references. */
#include <cli/prove.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <cli/select.h>
#include <runner/runner.h>

/* ---- Stacks ---- */

enum {
	BASH,
	LOCAL,
	RUNTIME,
	ENSURE_BASH,
	ENSURE_LOCAL,
	SQLITE,
	MEMORY,
	N_STACKS,
};

/* A run takes the suites whose subjects are named; ensure's is named for its store. */
static const struct prove_stack own_stacks[N_STACKS] = {
	[BASH] = { NULL, { "--provider", "bash" } },
	[LOCAL] = { NULL, { "--provider", "local" } },
	[RUNTIME] = { NULL, { "--provider", "bash", "--option", "snapshot_kind=runtime" } },
	[ENSURE_BASH] = { NULL, { "--provider", "bash", "--suite", "ensure" } },
	[ENSURE_LOCAL] = { NULL, { "--provider", "local", "--suite", "ensure" } },
	[SQLITE] = { NULL, { "--store", "sqlite" } },
	[MEMORY] = { NULL, { "--store", "memory" } },
};

/* "provider bash, snapshot_kind=runtime": the words without their dashes. */
static char *name_of(const char *const *words)
{
	struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (size_t i = 0; words[i]; i += 2) {
		const char *option = words[i] + 2;
		const char *file = strstr(words[i + 1], ":@");

		sp_buf_addf(&name, "%s%s%s%.*s", i ? ", " : "",
			    strcmp(option, "option") ? option : "",
			    strcmp(option, "option") ? " " : "",
			    (int)(file ? (size_t)(file - words[i + 1]) : strlen(words[i + 1])),
			    words[i + 1]);
	}
	return sp_buf_take(&name, NULL);
}

static int no_memory(struct sp_error *err)
{
	return sp_error_set(err, SP_INTERNAL, "out of memory");
}

/* Our own stacks, then one for each store that was named. */
static int plan_stacks(struct prove *prove, struct sp_error *err)
{
	const struct cli_list *stores = &prove->args->stores;

	prove->stacks = calloc(N_STACKS + stores->len, sizeof(*prove->stacks));
	if (!prove->stacks)
		return no_memory(err);
	for (size_t i = 0; i < N_STACKS + stores->len; i++) {
		struct prove_stack *stack = &prove->stacks[prove->n_stacks++];

		if (i < N_STACKS) {
			*stack = own_stacks[i];
		} else {
			const char *spec = stores->items[i - N_STACKS];
			int rc = cli_spec_check(SP_SUBJECT_STORE, spec, err);

			if (rc)
				return rc;
			stack->words[0] = "--store";
			stack->words[1] = spec;
		}
		stack->name = name_of(stack->words);
		if (!stack->name)
			return no_memory(err);
	}
	return 0;
}

static bool in_suite(const struct sp_fault *fault, const char *suite)
{
	size_t len = strlen(suite);

	return !strncmp(fault->clause, suite, len) && fault->clause[len] == ' ';
}

static bool is_of_store(const struct sp_fault *fault)
{
	return fault->seam == SP_FAULT_STORE || fault->seam == SP_FAULT_LOCK;
}

/* The stacks that can show a fault, the best first; the rest is for what that one skips. */
static void plan_chain(const struct prove *prove, struct prove_defect *defect)
{
	const struct sp_fault *fault = defect->fault;
	unsigned n = 0;

	if (in_suite(fault, "ensure")) {
		defect->stacks[n++] = ENSURE_BASH;
		defect->stacks[n++] = ENSURE_LOCAL;
	} else if (is_of_store(fault)) {
		defect->stacks[n++] = SQLITE;
		defect->stacks[n++] = MEMORY;
		for (unsigned i = N_STACKS; i < prove->n_stacks && n < 4; i++)
			defect->stacks[n++] = i;
	} else {
		defect->stacks[n++] = BASH;
		/* Each kind of snapshot has cases of its own. */
		if (in_suite(fault, "snapshot"))
			defect->stacks[n++] = RUNTIME;
		else if (cli_fault_is_contract(fault))
			defect->stacks[n++] = LOCAL;
	}
	defect->n_stacks = n;
}

bool prove_may_wait(const struct prove_defect *defect)
{
	static const char *const suites[] = { "lock", "journal", "ensure", "kill" };

	for (size_t i = 0; i < SP_COUNT(suites); i++)
		if (in_suite(defect->fault, suites[i]))
			return true;
	return defect->fault->hangs;
}

/* ---- Faults ---- */

/*
 * The case that must stay green beside a fault: cheap, of the same subject, and about something
 * else. A fault that touches it by nature names another.
 */
static const char *control_of(const struct sp_fault *fault)
{
	static const struct {
		const char *suite, *first, *second;
	} rows[] = {
		{ "exec", "fs.write.replaces", NULL },
		{ "journal", "journal.list.names", "journal.remove.own" },
		{ "store", "store.get.absent", "store.get.whole" },
		{ "lock", "lock.hold.again", "lock.cancel.before" },
		{ "ensure", "ensure.create.record", "ensure.key.golden" },
	};
	const char *first = "exec.output.apart", *second = NULL;

	if (fault->control)
		return fault->control;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		if (!in_suite(fault, rows[i].suite))
			continue;
		first = rows[i].first;
		second = rows[i].second;
	}
	for (const char *const *id = fault->cases; second && *id; id++)
		if (!strcmp(*id, first))
			return second;
	return first;
}

static int plan_cases(struct prove_defect *defect, struct sp_error *err)
{
	size_t n = 0;

	while (defect->fault->cases[n])
		n++;
	defect->cases = calloc(n + 1, sizeof(*defect->cases));
	if (!defect->cases)
		return no_memory(err);
	for (size_t i = 0; i <= n; i++) {
		defect->cases[i].id = i < n ? defect->fault->cases[i] : control_of(defect->fault);
		defect->cases[i].verdict = SP_SKIP;
	}
	defect->n_cases = n + 1;
	return 0;
}

static int add_defect(struct prove *prove, const struct sp_fault *fault, struct sp_error *err)
{
	struct prove_defect *defect = &prove->defects[prove->n_defects++];

	defect->fault = fault;
	plan_chain(prove, defect);
	return plan_cases(defect, err);
}

static int plan_defects(struct prove *prove, struct sp_error *err)
{
	const struct cli_list *named = &prove->args->defects;
	size_t n;
	const struct sp_fault *const *faults = cli_faults(&n);
	int rc = 0;

	prove->defects = calloc(named->len ? named->len : n, sizeof(*prove->defects));
	if (!prove->defects)
		return no_memory(err);
	for (size_t i = 0; !rc && !named->len && i < n; i++)
		rc = add_defect(prove, faults[i], err);
	for (size_t i = 0; !rc && i < named->len; i++) {
		const char *id = named->items[i];
		const struct sp_fault *fault = cli_fault_find(id);

		rc = fault ? add_defect(prove, fault, err) : cli_unknown_fault(id, err);
	}
	return rc;
}

char *prove_toothless(void)
{
	struct sp_buf names SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	size_t n_suites, n_faults;
	const struct sp_suite *const *suites = cli_suites(&n_suites);
	const struct sp_fault *const *faults = cli_faults(&n_faults);

	for (size_t s = 0; s < n_suites; s++) {
		for (size_t c = 0; c < suites[s]->n_cases; c++) {
			const char *id = suites[s]->cases[c].id;
			bool named = false;

			for (size_t f = 0; !named && f < n_faults; f++)
				for (const char *const *of = faults[f]->cases; *of; of++)
					named = named || !strcmp(*of, id);
			if (!named)
				sp_buf_addf(&names, "%s%s", names.len ? " " : "", id);
		}
	}
	return names.len ? sp_buf_take(&names, NULL) : strdup("");
}

/* ---- Healthy references ---- */

static void add_healthy(struct prove *prove, unsigned stack, const char *suite)
{
	prove->healthy[prove->n_healthy++] =
		(struct prove_healthy){ .stack = stack, .suite = suite };
}

static void add_late(struct prove *prove, unsigned stack)
{
	add_healthy(prove, stack, NULL);
	prove->healthy[prove->n_healthy - 1].late = true;
}

/* True for a suite that runs when a provider alone is named. */
static bool needs_provider_only(const struct sp_suite *suite)
{
	return suite->subject == SP_SUBJECT_PROVIDER || suite->subject == SP_SUBJECT_JOURNAL ||
	       suite->subject == SP_SUBJECT_PLATFORM;
}

/* Everything, the suites of the fake apart, so that they share the cores. */
static int plan_all_healthy(struct prove *prove, struct sp_error *err)
{
	size_t n_suites;
	const struct sp_suite *const *suites = cli_suites(&n_suites);

	prove->healthy = calloc(n_suites + N_STACKS + 1 + prove->args->stores.len,
				sizeof(*prove->healthy));
	if (!prove->healthy)
		return no_memory(err);
	for (size_t i = 0; i < n_suites; i++)
		if (needs_provider_only(suites[i]))
			add_healthy(prove, BASH, suites[i]->name);
	add_healthy(prove, RUNTIME, "env");
	add_healthy(prove, RUNTIME, "snapshot");
	add_healthy(prove, ENSURE_BASH, NULL);
	add_healthy(prove, SQLITE, NULL);
	/* These show what the first of their kind skips, and are asked for that alone. */
	add_late(prove, LOCAL);
	add_late(prove, ENSURE_LOCAL);
	for (unsigned stack = MEMORY; stack < prove->n_stacks; stack++)
		add_late(prove, stack);
	return 0;
}

static bool has_word(const struct cli_list *list, const char *word)
{
	for (size_t i = 0; i < list->len; i++)
		if (!strcmp(list->items[i], word))
			return true;
	return false;
}

void prove_plan_late(struct prove *prove, unsigned stack, const char *id)
{
	for (size_t i = 0; i < prove->n_healthy; i++) {
		struct prove_healthy *healthy = &prove->healthy[i];

		if (healthy->late && healthy->stack == stack && !has_word(&healthy->cases, id))
			cli_list_add(&healthy->cases, id);
	}
}

/* Some faults only: the cases that they are held against, on the same stacks. */
static int plan_some_healthy(struct prove *prove, struct sp_error *err)
{
	prove->healthy = calloc(prove->n_stacks, sizeof(*prove->healthy));
	if (!prove->healthy)
		return no_memory(err);
	for (unsigned stack = 0; stack < prove->n_stacks; stack++) {
		struct prove_healthy *healthy = &prove->healthy[prove->n_healthy];

		healthy->stack = stack;
		for (size_t d = 0; d < prove->n_defects; d++) {
			const struct prove_defect *defect = &prove->defects[d];

			if (defect->stacks[0] != stack)
				continue;
			for (size_t c = 0; c < defect->n_cases; c++)
				if (!has_word(&healthy->cases, defect->cases[c].id))
					cli_list_add(&healthy->cases, defect->cases[c].id);
		}
		prove->n_healthy += healthy->cases.len > 0;
	}
	return 0;
}

int prove_plan(struct prove *prove, struct sp_error *err)
{
	int rc = plan_stacks(prove, err);

	if (!rc)
		rc = plan_defects(prove, err);
	if (!rc)
		rc = prove->args->defects.len ? plan_some_healthy(prove, err)
					      : plan_all_healthy(prove, err);
	return rc;
}
