/* SPDX-License-Identifier: MIT */
/* What became of a fault, from what its cases said. */
#include <cli/prove.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>
#include <runner/runner.h>

/* Bytes of what there was instead, in an evidence line. */
#define ACTUAL_MAX 100

/* How a case of the platform suite says that a fact does not hold: no provider is to blame. */
#define PLATFORM_CHANGED "platform changed: "

static bool is_platform_change(const struct sp_result_case *result)
{
	return result->verdict == SP_ERROR && result->message &&
	       !strncmp(result->message, PLATFORM_CHANGED, strlen(PLATFORM_CHANGED));
}

static bool sees_fault(const struct sp_result_case *result)
{
	/* A broken SHOULD is told as a warning: the case has seen the fault. */
	return result->verdict == SP_FAIL || result->verdict == SP_WARN ||
	       is_platform_change(result);
}

static bool is_control(const struct prove_defect *defect, const struct prove_case *one)
{
	return one == &defect->cases[defect->n_cases - 1];
}

static bool has_caught(const struct prove_defect *defect, const struct prove_case *one)
{
	return !is_control(defect, one) && one->caught;
}

/* ---- Taking results ---- */

static void take_case(struct prove_case *one, const struct sp_result_case *result)
{
	const char *message = result->message ? result->message : "";

	one->verdict = result->verdict;
	one->ran = result->verdict != SP_SKIP;
	one->caught = sees_fault(result);
	one->by_deadline = !strncmp(message, SP_MESSAGE_DEADLINE, strlen(SP_MESSAGE_DEADLINE));
	free(one->message);
	one->message = strdup(message);
	free(one->actual);
	one->actual = result->actual ? strdup(result->actual) : NULL;
}

static struct prove_case *find_case(struct prove_defect *defect, const char *id)
{
	for (size_t i = 0; i < defect->n_cases; i++)
		if (!strcmp(defect->cases[i].id, id))
			return &defect->cases[i];
	return NULL;
}

/* Adds a word to a list of words. */
static void add_word(char **words, const char *word)
{
	char *grown;

	if (asprintf(&grown, "%s%s%s", *words ? *words : "", *words ? " " : "", word) < 0)
		return;
	free(*words);
	*words = grown;
}

bool prove_is_platform_change(const struct sp_results *results)
{
	bool any = false;

	for (size_t i = 0; i < results->n_cases; i++) {
		bool change = is_platform_change(&results->cases[i]);

		if (results->cases[i].verdict == SP_ERROR && !change)
			return false;
		any = any || change;
	}
	return any;
}

void prove_take(struct prove *prove, struct prove_defect *defect, const struct sp_results *results,
		char *trouble)
{
	unsigned stack = defect->stacks[defect->turn];

	free(defect->trouble);
	defect->trouble = trouble;
	for (size_t i = 0; i < results->n_cases; i++) {
		const struct sp_result_case *result = &results->cases[i];
		struct prove_case *one = find_case(defect, result->id);

		if (one && !one->ran) {
			take_case(one, result);
			if (one->ran)
				prove_plan_late(prove, stack, one->id);
		} else if (!one && sees_fault(result)) {
			add_word(&defect->others, result->id);
		}
	}
	defect->turn++;
}

bool prove_goes_on(const struct prove_defect *defect)
{
	if (defect->trouble || defect->turn >= defect->n_stacks)
		return false;
	for (size_t i = 0; i < defect->n_cases; i++)
		if (!defect->cases[i].ran)
			return true;
	return false;
}

void prove_take_healthy(struct prove_healthy *healthy, const struct sp_results *results,
			char *trouble)
{
	healthy->trouble = trouble;
	healthy->end = results->end;
	for (size_t i = 0; i < results->n_cases; i++) {
		enum sp_verdict verdict = results->cases[i].verdict;

		/* What a reference is known to do less well is a warning, in every run. */
		if (verdict != SP_PASS && verdict != SP_SKIP && verdict != SP_WARN)
			add_word(&healthy->failures, results->cases[i].id);
	}
	for (size_t i = 0; i < results->n_leaks; i++)
		add_word(&healthy->failures, results->leaks[i].id);
}

/* ---- Judging ---- */

/* What the cases that were made for the fault say together. */
static enum prove_status from_cases(const struct prove_defect *defect)
{
	size_t caught = 0, green = 0, seen = 0;

	for (size_t i = 0; i + 1 < defect->n_cases; i++) {
		const struct prove_case *one = &defect->cases[i];

		caught += has_caught(defect, one);
		seen += has_caught(defect, one) && !one->by_deadline;
		green += one->ran && !one->caught;
	}
	if (!caught)
		return !green		 ? PROVE_SKIPPED
		       : defect->others ? PROVE_UNRELATED
					 : PROVE_MISSED;
	if (green)
		return PROVE_PARTLY;
	return seen || defect->fault->hangs ? PROVE_CAUGHT : PROVE_DEADLINE;
}

void prove_judge(const struct prove *prove, struct prove_defect *defect)
{
	const struct prove_case *control = &defect->cases[defect->n_cases - 1];

	(void)prove;
	defect->done = true;
	defect->status = from_cases(defect);
	if (defect->trouble)
		defect->status = PROVE_TROUBLE;
	else if (control->ran && control->verdict != SP_PASS)
		defect->status = defect->status == PROVE_MISSED ? PROVE_UNRELATED : PROVE_CRUDE;
}

bool prove_is_good(enum prove_status status)
{
	return status == PROVE_CAUGHT || status == PROVE_SKIPPED;
}

const char *prove_status_name(enum prove_status status)
{
	switch (status) {
	case PROVE_CAUGHT:
		return "caught";
	case PROVE_SKIPPED:
		return "skipped";
	case PROVE_MISSED:
		return "missed";
	case PROVE_PARTLY:
		return "partly";
	case PROVE_UNRELATED:
		return "unrelated";
	case PROVE_DEADLINE:
		return "deadline";
	case PROVE_CRUDE:
		return "crude";
	case PROVE_TROUBLE:
		return "trouble";
	}
	return "unknown";
}

/* ---- Evidence ---- */

void prove_caught_by(const struct prove_defect *defect, struct sp_buf *out)
{
	size_t start = out->len;

	for (size_t i = 0; i < defect->n_cases; i++)
		if (has_caught(defect, &defect->cases[i]))
			sp_buf_addf(out, "%s%s", out->len > start ? " " : "", defect->cases[i].id);
}

/* The first case that is as the status says, or NULL. */
static const struct prove_case *telling_case(const struct prove_defect *defect)
{
	const struct prove_case *by_deadline = NULL;

	for (size_t i = 0; i + 1 < defect->n_cases; i++) {
		const struct prove_case *one = &defect->cases[i];
		bool caught = has_caught(defect, one);

		if (defect->status == PROVE_CAUGHT && caught && !one->by_deadline)
			return one;
		if (defect->status == PROVE_SKIPPED || (caught && !by_deadline))
			by_deadline = one;
		if ((defect->status == PROVE_PARTLY || defect->status == PROVE_MISSED ||
		     defect->status == PROVE_UNRELATED) &&
		    one->ran && !caught)
			return one;
	}
	return by_deadline;
}

/* How much of a text goes into one line. */
static int line_of(const char *text)
{
	size_t len = strcspn(text, "\n");

	return (int)(len < ACTUAL_MAX ? len : sp_utf8_cut(text, len, ACTUAL_MAX));
}

void prove_evidence(const struct prove_defect *defect, struct sp_buf *out)
{
	const struct prove_case *control = &defect->cases[defect->n_cases - 1];
	const struct prove_case *one = telling_case(defect);
	const char *message = one && one->message ? one->message : "";

	switch (defect->status) {
	case PROVE_CAUGHT:
	case PROVE_SKIPPED:
		sp_buf_addf(out, "%.*s", (int)strcspn(message, "\n"), message);
		if (one && one->actual && *one->actual)
			sp_buf_addf(out, ": %.*s", line_of(one->actual), one->actual);
		break;
	case PROVE_MISSED:
	case PROVE_PARTLY:
		sp_buf_addf(out, "%s was made for it and says %s%s%.*s", one ? one->id : "a case",
			    one ? sp_verdict_name(one->verdict) : "nothing", *message ? ": " : "",
			    (int)strcspn(message, "\n"), message);
		break;
	case PROVE_UNRELATED:
		sp_buf_addf(out, "only %s saw it, which was not made for it",
			    defect->others ? defect->others : control->id);
		break;
	case PROVE_DEADLINE:
		sp_buf_addf(out,
			    "%s ended at its deadline only; count rounds, or say in the fault's "
			    "`hangs` why they cannot show it",
			    one ? one->id : "its case");
		break;
	case PROVE_CRUDE:
		sp_buf_addf(out, "the control case %s says %s: %.*s", control->id,
			    sp_verdict_name(control->verdict),
			    control->message ? (int)strcspn(control->message, "\n") : 0,
			    control->message ? control->message : "");
		break;
	case PROVE_TROUBLE:
		sp_buf_adds(out, defect->trouble);
		break;
	}
}
