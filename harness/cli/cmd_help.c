/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <cli/spec.h>
#include <cli/text.h>

static void add_exit_codes(struct sp_buf *out)
{
	sp_buf_adds(
		out,
		"Exit codes of `sandproof run`, the strongest first: where two apply, the upper "
		"one counts.\n\n"
		"  130  interrupted; results so far are kept and reported, sandboxes are removed\n"
		"    3  a fault of the harness or the set-up: no verdict about the subject\n"
		"    1  a clause failed (or --min-executed, --fail-on-skip were not met)\n"
		"    5  every clause held, but something was left behind\n"
		"    4  nothing ran: every case was skipped\n"
		"    2  wrong usage, found before anything ran\n"
		"    0  every case that ran passed; also an empty shard, and --gated without "
		"credentials\n\n"
		"The other commands use 0, 2 and 3 with the same meaning; replay also 1, where "
		"answers differ. An option or back end that is not built yet is 3.\n");
}

static void add_environment(struct sp_buf *out)
{
	sp_buf_adds(
		out,
		"Variables that sandproof reads. Options beat them.\n\n"
		"  RENDER_API_KEY, RENDER_WORKSPACE_ID\n"
		"                           credentials for the providers render and render:URL\n"
		"  SANDPROOF_CONTROL_TOKEN  token for --control URL\n"
		"  SANDPROOF_TIME_SCALE     multiplies every limit (0.1 to 1000), for slow "
		"machines\n"
		"  SANDPROOF_FAKE           plain or namespaces: how the bash fake isolates its "
		"sandboxes\n"
		"  SANDPROOF_POSTGRES_DIR   socket folder of a PostgreSQL server that tests may "
		"break\n"
		"                           (ci/postgres sets it); others are never closed or "
		"marked\n"
		"  TMPDIR                   where temporary folders are made (/tmp)\n"
		"  XDG_STATE_HOME           where results of the last run and ledgers are kept\n"
		"                           (~/.local/state), in the folder sandproof\n"
		"  NO_COLOR, TERM=dumb      no colours\n"
		"  CI                       no live progress\n\n"
		"Secrets are read from the environment and never from options: every process of a "
		"machine can read options.\n");
}

static void add_providers(struct sp_buf *out)
{
	sp_buf_adds(out, "What --provider takes:\n\n");
	cli_spec_help(SP_SUBJECT_PROVIDER, out);
	sp_buf_adds(out, "\nWhat --store and --lock take (a store's own lock is the default):\n\n");
	cli_spec_help(SP_SUBJECT_STORE, out);
	sp_buf_adds(out,
		    "\n--journal takes plugin SPECs and the driver SPEC that --provider has; "
		    "--ensure takes\nplugin SPECs and our own.\n"
		    "Without any of them: --provider bash --store sqlite, as far as they "
		    "are built.\nA driver is a program in any language that speaks the protocol "
		    "of\nproviders/driver/PROTOCOL.md; `sandproof serve` speaks it as well. "
		    "A plugin is built\nwith `cc -shared -fPIC -Iharness/include -o FILE.so "
		    "FILE.c` (sandproof/plugin.h says\nhow it is written); what follows FILE.so: "
		    "is its own.\n");
}

static void add_verdicts(struct sp_buf *out)
{
	sp_buf_adds(out,
		    "What can become of a case:\n\n"
		    "  pass    every check held; at least one was made\n"
		    "  fail    the subject broke a MUST\n"
		    "  warn    the subject broke a SHOULD\n"
		    "  skip    not applicable here; the reason names what is missing\n"
		    "  xfail   failed as the baseline says (counted as skipped)\n"
		    "  xpass   passed although the baseline says it fails (counted as failed)\n"
		    "  error   the harness, the set-up or a budget failed: says nothing about the "
		    "subject\n"
		    "          (counted as failed; exit code 3)\n"
		    "  leak    a line of its own: a process, descriptor, file, sandbox or snapshot "
		    "was left behind\n\n"
		    "The last line of a run is always `N passed, N failed, N skipped`.\n");
}

static const struct {
	const char *name;
	const char *summary;
	void (*add)(struct sp_buf *out);
} topics[] = {
	{ "exit-codes", "what the exit code says", add_exit_codes },
	{ "environment", "variables that are read", add_environment },
	{ "providers", "what --provider, --store and so on take", add_providers },
	{ "verdicts", "what can become of a case", add_verdicts },
};

/* Nearest among topics and subcommands. */
static int unknown_topic(const char *name)
{
	const char *names[64];
	const struct cli_command *const *commands;
	size_t n_commands, n = 0;
	char *near SP_FREE = NULL;

	commands = cli_commands(&n_commands);
	for (size_t i = 0; i < SP_COUNT(topics); i++)
		names[n++] = topics[i].name;
	for (size_t i = 0; i < n_commands && n < SP_COUNT(names); i++)
		names[n++] = commands[i]->name;
	near = sp_nearest(name, names, n);
	cli_say("error: there is no help on \"%s\"%s%s", name,
		near && *near ? "; the nearest: " : "", near ? near : "");
	return SP_EXIT_USAGE;
}

static int help_on(const char *name)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const struct cli_command *command = cli_command_find(name);

	for (size_t i = 0; i < SP_COUNT(topics); i++) {
		if (strcmp(topics[i].name, name))
			continue;
		topics[i].add(&out);
		return cli_print(&out);
	}
	if (!command)
		return unknown_topic(name);
	cli_print_command_help(command);
	return SP_EXIT_OK;
}

static int run_help(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	int code = 0;

	if (!cli_begin(self, argc, argv, NULL, &words, &code))
		return code;
	if (cli_too_many_words(self, &words, 1))
		return SP_EXIT_USAGE;
	if (words.len)
		return help_on(words.items[0]);
	cli_print_help();
	return SP_EXIT_OK;
}

const struct cli_command cli_help_command = {
	.name = "help",
	.synopsis = "[COMMAND | exit-codes | environment | providers | verdicts]",
	.summary = "explain a command or a topic",
	.examples = "  sandproof help exit-codes\n  sandproof help run\n",
	.run = run_help,
};
