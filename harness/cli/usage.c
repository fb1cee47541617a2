/* SPDX-License-Identifier: MIT */
#include <cli/usage.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <cli/options.h>

#define SUITES_MAX 64
#define BUDGET_MAX (UINT64_C(1) << 40)

int cli_budget_parse(const char *text, struct cli_budget *ret_budget, struct sp_error *err)
{
	struct cli_budget budget = {0, 0, 0};
	const struct {
		const char *name;
		uint64_t *value;
	} rows[] = {
	    {"sandboxes=", &budget.sandboxes},
	    {"requests=", &budget.requests},
	    {"seconds=", &budget.seconds},
	};

	for (const char *part = text;; part++) {
		size_t len = strcspn(part, ","), i = 0;
		char *number SP_FREE = NULL;

		while (i < SP_COUNT(rows) && strncmp(part, rows[i].name, strlen(rows[i].name)))
			i++;
		if (i < SP_COUNT(rows) && len > strlen(rows[i].name))
			number = strndup(part + strlen(rows[i].name), len - strlen(rows[i].name));
		if (!number || *rows[i].value ||
		    cli_parse_number("", number, 1, BUDGET_MAX, rows[i].value, NULL))
			return sp_error_set(err, SP_INVALID,
					    "--budget takes sandboxes=N,requests=N,seconds=N (any "
					    "of them), not \"%.*s\"",
					    (int)(len < 80 ? len : 80), part);
		part += len;
		if (!*part)
			break;
	}
	*ret_budget = budget;
	return 0;
}

/* What one suite cost. */
struct account {
	char name[32];
	uint64_t sandboxes, requests;
};

struct cli_books {
	const struct cli_registry *registry;
	const struct cli_budget *budget;
	struct account accounts[SUITES_MAX];
	size_t n_accounts;
	struct cli_usage last;
	uint64_t begun;
	unsigned jobs;
};

struct cli_books *cli_books_new(const struct cli_registry *registry,
				const struct cli_budget *budget)
{
	struct cli_books *books = calloc(1, sizeof(*books));

	if (!books)
		return NULL;
	books->registry = registry;
	books->budget = budget;
	books->begun = sp_now();
	return books;
}

struct cli_books *cli_books_free(struct cli_books *books)
{
	free(books);
	return NULL;
}

/* ---- listening ---- */

static struct account *account_of(struct cli_books *books, const char *suite)
{
	for (size_t i = 0; i < books->n_accounts; i++)
		if (!strcmp(books->accounts[i].name, suite))
			return &books->accounts[i];
	if (books->n_accounts == SUITES_MAX)
		return NULL;
	snprintf(books->accounts[books->n_accounts].name, sizeof(books->accounts[0].name), "%s",
		 suite);
	return &books->accounts[books->n_accounts++];
}

/* Everything since the last time was for this suite. */
static void book(struct cli_books *books, const char *suite)
{
	struct cli_usage now = cli_registry_usage(books->registry);
	struct account *account = account_of(books, suite);

	if (account) {
		account->sandboxes += now.sandboxes - books->last.sandboxes;
		account->requests += now.requests - books->last.requests;
	}
	books->last = now;
}

static void on_started(void *arg, const struct sp_selection *selection, unsigned jobs)
{
	struct cli_books *books = arg;

	(void)selection;
	books->jobs = jobs;
}

static void on_case_ended(void *arg, const struct sp_result_case *result)
{
	book(arg, result->suite);
}

static void on_ended(void *arg, const struct sp_result_end *end)
{
	(void)end;
	/* The removal of the shared sandboxes. */
	book(arg, "(end)");
}

struct sp_run_listener cli_books_listener(struct cli_books *books)
{
	return (struct sp_run_listener){
	    .arg = books,
	    .started = on_started,
	    .case_ended = on_case_ended,
	    .ended = on_ended,
	};
}

/* ---- the budget ---- */

static uint64_t seconds_of(const struct cli_books *books)
{
	return (sp_now() - books->begun) / SP_SECOND;
}

int cli_books_budget(void *arg, bool *ret_refused, struct sp_error *err)
{
	const struct cli_books *books = arg;
	struct cli_usage now = cli_registry_usage(books->registry);
	uint64_t seconds = seconds_of(books);

	*ret_refused = now.refused > 0;
	if (!now.used_up && (!books->budget->seconds || seconds < books->budget->seconds))
		return 0;
	return sp_error_set(err, SP_RATE_LIMITED,
			    "%" PRIu64 " sandboxes, %" PRIu64 " requests, %" PRIu64
			    " seconds are used",
			    now.sandboxes, now.requests, seconds);
}

void cli_books_print(const struct cli_books *books, struct cli_console *console)
{
	struct cli_usage sum = cli_registry_usage(books->registry);

	if (!sum.requests)
		return;
	for (size_t i = 0; books->jobs < 2 && i < books->n_accounts; i++)
		if (books->accounts[i].requests)
			cli_console_note(console,
					 "  %-10s %4" PRIu64 " sandboxes %6" PRIu64 " requests",
					 books->accounts[i].name, books->accounts[i].sandboxes,
					 books->accounts[i].requests);
	cli_console_note(console,
			 "asked of the service: %" PRIu64 " sandboxes, %" PRIu64 " requests",
			 sum.sandboxes, sum.requests);
	if (sum.paced)
		cli_console_note(console,
				 "%" PRIu64 " requests waited for the service's next window",
				 sum.paced);
}

/* Measured over the fake without control; the READMEs and ci/live say the same. */
static const struct {
	const char *profile;
	unsigned sandboxes, requests;
} costs[] = {
    {"full", 140, 3800},
    {"live-core", 25, 500},
};

#define REQUESTS_A_MINUTE 100

void cli_cost_print(const char *profile, struct cli_console *console)
{
	size_t i = 0;

	while (profile && i + 1 < SP_COUNT(costs) && strcmp(costs[i].profile, profile))
		i++;
	cli_console_note(console,
			 "with credentials this bills: the profile %s takes about %u sandboxes of "
			 "the smallest plan and %u requests, %u minutes or more",
			 costs[i].profile, costs[i].sandboxes, costs[i].requests,
			 costs[i].requests / REQUESTS_A_MINUTE);
}
