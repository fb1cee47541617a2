/* SPDX-License-Identifier: MIT */
/* What each suite cost: sandboxes and requests to a service, and the budget of a run. */
#ifndef SP_CLI_USAGE_H
#define SP_CLI_USAGE_H

#include <cli/console.h>
#include <cli/registry.h>
#include <runner/runner.h>

/* What --budget allows; 0: no limit. */
struct cli_budget {
	uint64_t sandboxes, requests, seconds;
};

/* Reads "sandboxes=N,requests=N,seconds=N", any of them; SP_INVALID. */
int cli_budget_parse(const char *text, struct cli_budget *ret_budget, struct sp_error *err);

struct cli_books;

/* Keeps the books of a run; `registry` and `budget` are borrowed. NULL without memory. */
struct cli_books *cli_books_new(const struct cli_registry *registry,
				const struct cli_budget *budget);
struct cli_books *cli_books_free(struct cli_books *books);
/* A listener that books each case to its suite. */
struct sp_run_listener cli_books_listener(struct cli_books *books);
/* See sp_run_options.budget; `books` is a struct cli_books. */
int cli_books_budget(void *books, bool *ret_refused, struct sp_error *err);
/*
 * Says what each suite cost, and the sum; nothing where no service was asked. With several workers
 * at once only the sum is known.
 */
void cli_books_print(const struct cli_books *books, struct cli_console *console);
/*
 * Says what a profile costs the service: what it took over the fake, and at least so long as the
 * service's hundred requests a minute make of it. `profile` NULL: full.
 */
void cli_cost_print(const char *profile, struct cli_console *console);

#endif
