/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <stdio.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <cli/registry.h>

struct fake_args {
	const char *listen;
	const char *era;
	struct cli_list faults;
	bool json;
	bool die_with_parent;
	const char *own_folder;
};

static const struct cli_option options[] = {
	CLI_OPTION(struct fake_args, listen, "listen", "ADDRESS", CLI_TEXT,
		   "127.0.0.1:PORT (0: any port, the default) or unix:PATH; loopback only"),
	CLI_OPTION(struct fake_args, era, "era", "A|B|C", CLI_TEXT,
		   "vocabulary of the service: oldest, middle or newest (default C)"),
	CLI_OPTION(struct fake_args, faults, "fault", "F", CLI_LIST,
		   "a misbehaviour of the service; the message for an unknown one lists them"),
	CLI_OPTION(struct fake_args, json, "json", NULL, CLI_FLAG,
		   "print where it listens as one JSON line: base_url, api_key, workspace_id, "
		   "control_url, control_token"),
	CLI_OPTION(struct fake_args, die_with_parent, "die-with-parent", NULL, CLI_FLAG,
		   "end with the process that started it"),
	CLI_OPTION(struct fake_args, own_folder, "own-folder", "DIR", CLI_TEXT,
		   "remove this folder of the socket at the end", .hidden = true),
};

/* Our caller removes its folder itself unless it was killed: then nobody else is left to do it. */
static void remove_folder(const char *folder)
{
	char *log SP_FREE = NULL;

	if (!folder)
		return;
	if (asprintf(&log, "%s/stderr", folder) < 0) {
		log = NULL;
		return;
	}
	(void)unlink(log);
	(void)rmdir(folder);
}

/* What there is, with its meaning, where somebody named what there is not. */
static void list_faults(const struct fake_args *args)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(16 * 1024);

	for (size_t i = 0; i < args->faults.len; i++) {
		if (cli_fake_has_fault(args->faults.items[i]))
			continue;
		cli_fake_list_faults(&out);
		fprintf(stderr, "faults:\n%s", sp_buf_str(&out));
		return;
	}
}

static int run_fake_api(const struct cli_command *self, int argc, char **argv)
{
	struct fake_args args = { .listen = NULL };
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct sp_error err = SP_ERROR_INIT;
	int code = 0, rc;

	if (!cli_begin(self, argc, argv, &args, &words, &code)) {
		cli_list_done(&args.faults);
		return code;
	}
	if (cli_too_many_words(self, &words, 0)) {
		cli_list_done(&args.faults);
		return SP_EXIT_USAGE;
	}
	struct cli_serve_options serve = {
		.listen = args.listen,
		.era = args.era,
		.faults = args.faults.items,
		.n_faults = args.faults.len,
		.json = args.json,
		.die_with_parent = args.die_with_parent,
	};

	rc = cli_serve_fake(&serve, &err);
	if (!rc)
		remove_folder(args.own_folder);
	code = rc ? cli_fail(self, &err) : SP_EXIT_OK;
	if (rc)
		list_faults(&args);
	cli_list_done(&args.faults);
	return code;
}

const struct cli_command cli_fake_api_command = {
	.name = "fake-api",
	.synopsis = "[--listen ADDRESS] [--era A|B|C] [--fault F]… [--json]",
	.summary = "serve a stand-in for Render's sandbox API",
	.details =
		"Serves Render's sandbox API over real processes of this machine, each sandbox in "
		"namespaces of its own where the kernel allows, until it gets TERM or INT; then "
		"every sandbox is removed. A client of the API in any language can be tried "
		"against it. Loopback and Unix sockets only.",
	.options = options,
	.n_options = SP_COUNT(options),
	.examples = "  sandproof fake-api --json\n"
		    "  sandproof fake-api --listen unix:/tmp/api.sock\n"
		    "  RENDER_API_KEY=… RENDER_WORKSPACE_ID=… sandproof run --provider "
		    "render:http://127.0.0.1:PORT/v1\n",
	.run = run_fake_api,
};
