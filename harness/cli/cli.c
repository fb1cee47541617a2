/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <errno.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <cli/text.h>

/* Largest output that is built in memory. */
#define OUTPUT_CEILING (64 * 1024 * 1024)

static const struct cli_command *const commands[] = {
	&cli_run_command, &cli_list_command, &cli_show_command, &cli_prove_command,
	&cli_report_command, &cli_baseline_command, &cli_journal_command, &cli_serve_command,
	&cli_fake_api_command, &cli_sweep_command, &cli_doctor_command, &cli_completion_command,
	&cli_init_command, &cli_replay_command, &cli_help_command,
};

static const char *program = "sandproof";

const struct cli_command *const *cli_commands(size_t *ret_len)
{
	*ret_len = SP_COUNT(commands);
	return commands;
}

const struct cli_command *cli_command_find(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(commands); i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

const char *cli_program(void)
{
	return program;
}

int cli_print(const struct sp_buf *out)
{
	if (out->error) {
		cli_say("error: the output is too large for memory");
		return SP_EXIT_HARNESS;
	}
	if (fwrite(sp_buf_str(out), 1, out->len, stdout) != out->len || fflush(stdout)) {
		cli_say("error: cannot write to standard output: %s", strerror(errno));
		return SP_EXIT_HARNESS;
	}
	return 0;
}

static void add_commands(struct sp_buf *out)
{
	for (size_t i = 0; i < SP_COUNT(commands); i++) {
		size_t start = out->len;

		sp_buf_addf(out, "  %s", commands[i]->name);
		cli_text_pad(out, start, 14);
		sp_buf_addf(out, "%s\n", commands[i]->summary);
	}
}

void cli_print_help(void)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);

	sp_buf_adds(&out, "sandproof proves that a sandbox provider keeps its promises.\n\n"
			  "usage: sandproof COMMAND [OPTION]…\n\n");
	add_commands(&out);
	sp_buf_adds(&out,
		    "\ntry:\n"
		    "  sandproof run                          every case against our fake\n"
		    "  sandproof run --provider local         against processes of this machine\n"
		    "  sandproof run --case 'kill.*'          some cases\n"
		    "  sandproof show CASE                    what a case proves, and how\n"
		    "  sandproof COMMAND --help\n"
		    "  sandproof help exit-codes | environment | providers | verdicts\n");
	(void)cli_print(&out);
}

void cli_print_command_help(const struct cli_command *command)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	unsigned width = cli_prose_width(stdout);

	sp_buf_addf(&out, "usage: sandproof %s%s%s\n\n", command->name,
		    command->synopsis ? " " : "", command->synopsis ? command->synopsis : "");
	if (command->details) {
		cli_text_wrap(&out, command->details, 0, 0, width);
		sp_buf_adds(&out, "\n\n");
	} else {
		sp_buf_addf(&out, "%s\n\n", command->summary);
	}
	cli_options_help(command->options, command->n_options, width, &out);
	if (command->examples)
		sp_buf_addf(&out, "%sexamples:\n%s", command->n_options ? "\n" : "",
			    command->examples);
	(void)cli_print(&out);
}

bool cli_begin(const struct cli_command *self, int argc, char **argv, void *args,
	       struct cli_list *words, int *ret_exit)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = cli_parse(self->options, self->n_options, argc, argv, args, words, &err);

	if (rc == CLI_WANTS_HELP) {
		cli_print_command_help(self);
		*ret_exit = SP_EXIT_OK;
		return false;
	}
	if (rc) {
		*ret_exit = cli_fail(self, &err);
		return false;
	}
	return true;
}

int cli_fail(const struct cli_command *self, const struct sp_error *err)
{
	cli_say("error: %s", err->message);
	if (*err->detail)
		cli_say("       %s", err->detail);
	if (err->code != SP_INVALID)
		return SP_EXIT_HARNESS;
	if (self)
		fprintf(stderr, "see `sandproof %s --help`\n", self->name);
	return SP_EXIT_USAGE;
}

bool cli_too_many_words(const struct cli_command *self, const struct cli_list *words, size_t max)
{
	if (words->len <= max)
		return false;
	cli_say("error: \"%s\" is one argument too many", words->items[max]);
	fprintf(stderr, "see `sandproof %s --help`\n", self->name);
	return true;
}

static int unknown_command(const char *name)
{
	const char *names[SP_COUNT(commands)];
	char *near SP_FREE = NULL;

	for (size_t i = 0; i < SP_COUNT(commands); i++)
		names[i] = commands[i]->name;
	near = sp_nearest(name, names, SP_COUNT(commands));
	cli_say("error: unknown command \"%s\"%s%s", name,
		near && *near ? "; the nearest: " : "", near ? near : "");
	fputs("see `sandproof help`\n", stderr);
	return SP_EXIT_USAGE;
}

int cli_main(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc > 0 && argv[0][0])
		program = argv[0];
	if (argc < 2) {
		cli_print_help();
		return SP_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		cli_print_help();
		return SP_EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("sandproof " SP_VERSION);
		return SP_EXIT_OK;
	}
	command = cli_command_find(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return command->run(command, argc - 2, argv + 2);
}
