/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <base/cleanup.h>
#include <cli/plan.h>
#include <cli/registry.h>

struct serve_args {
	const char *provider, *store, *lock, *listen;
	struct cli_list options;
};

static const struct cli_option options[] = {
    CLI_OPTION(struct serve_args, provider, "provider", "SPEC", CLI_TEXT,
	       "offer this provider, and our journal on it"),
    CLI_OPTION(struct serve_args, store, "store", "SPEC", CLI_TEXT,
	       "offer this store, and its own lock unless --lock names another"),
    CLI_OPTION(struct serve_args, lock, "lock", "SPEC", CLI_TEXT, "offer this lock"),
    CLI_OPTION(struct serve_args, listen, "listen", "ADDRESS", CLI_TEXT,
	       "unix:PATH or 127.0.0.1:PORT (0: any); its SPEC is printed. Without it the "
	       "protocol is spoken on standard input and output"),
    CLI_OPTION(struct serve_args, options, "option", "K=V", CLI_LIST,
	       "as of `sandproof run`: kill_grace_ms, unread_bound, output_cap, …"),
};

static int check(const struct serve_args *args, struct run_plan *plan, struct sp_error *err)
{
	const struct {
		enum sp_subject_kind kind;
		const char *spec;
	} rows[] = {
	    {SP_SUBJECT_PROVIDER, args->provider},
	    {SP_SUBJECT_STORE, args->store},
	    {SP_SUBJECT_LOCK, args->lock},
	};
	int rc = args->provider || args->store || args->lock
		     ? 0
		     : sp_error_set(err, SP_INVALID,
				    "nothing to serve: name a --provider, a --store or a --lock");

	for (size_t i = 0; !rc && i < SP_COUNT(rows); i++)
		if (rows[i].spec)
			rc = cli_spec_check(rows[i].kind, rows[i].spec, err);
	for (size_t i = 0; !rc && i < args->options.len; i++)
		rc = cli_plan_option(args->options.items[i], plan, err);
	return rc;
}

static int serve(const struct cli_command *self, const struct serve_args *args)
{
	struct run_plan plan = {.n_subjects = 0};
	struct sp_error err = SP_ERROR_INIT;
	struct cli_serve_driver_options options = {
	    .provider = args->provider,
	    .store = args->store,
	    .lock = args->lock,
	    .listen = args->listen,
	};
	int rc = check(args, &plan, &err);

	options.settings = plan.settings;
	if (!rc)
		rc = cli_serve_driver(&options, &err);
	return rc ? cli_fail(self, &err) : SP_EXIT_OK;
}

static int run_serve(const struct cli_command *self, int argc, char **argv)
{
	struct serve_args args = {.provider = NULL};
	struct cli_list words SP_CLEANUP(cli_list_done) = {NULL, 0};
	int code = 0;

	if (cli_begin(self, argc, argv, &args, &words, &code))
		code = cli_too_many_words(self, &words, 0) ? SP_EXIT_USAGE : serve(self, &args);
	cli_list_done(&args.options);
	return code;
}

const struct cli_command cli_serve_command = {
    .name = "serve",
    .synopsis = "--provider SPEC | --store SPEC | --lock SPEC [--listen ADDRESS]",
    .summary = "offer a provider, store or lock over the driver protocol",
    .details =
	"Speaks the driver protocol (providers/driver/PROTOCOL.md) from the driver's side, so "
	"that a program in any language uses what sandproof has, and so that the author of a "
	"driver sees real answers. Ends with its standard input; with --listen each "
	"connection has instances of its own, until a signal ends it.",
    .options = options,
    .n_options = SP_COUNT(options),
    .examples = "  sandproof serve --provider local\n"
		"  sandproof run --provider 'driver:sandproof serve --provider local'\n"
		"  sandproof serve --store sqlite:/tmp/records.db --listen unix:/tmp/store.sock\n",
    .run = run_serve,
};
