/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <cli/registry.h>
#include <cli/text.h>

#define OUTPUT_CEILING (256 * 1024)

/* Everything that can stand after a command: its options, and for some the names there are. */
static void add_words(struct sp_buf *out, const struct cli_command *command)
{
	for (size_t i = 0; i < command->n_options; i++)
		if (!command->options[i].hidden)
			sp_buf_addf(out, "--%s ", command->options[i].name);
	sp_buf_adds(out, "--help");
}

static void add_suites(struct sp_buf *out)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);

	for (size_t i = 0; i < n; i++)
		sp_buf_addf(out, "%s%s", i ? " " : "", suites[i]->name);
}

static void add_commands(struct sp_buf *out)
{
	size_t n;
	const struct cli_command *const *commands = cli_commands(&n);

	for (size_t i = 0; i < n; i++)
		sp_buf_addf(out, "%s%s", i ? " " : "", commands[i]->name);
}

static void add_bash(struct sp_buf *out)
{
	size_t n;
	const struct cli_command *const *commands = cli_commands(&n);

	sp_buf_adds(out,
		    "_sandproof() {\n"
		    "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
		    "words\n"
		    "\tif ((COMP_CWORD == 1)); then\n\t\twords='");
	add_commands(out);
	sp_buf_adds(out, "'\n\telif [[ $before == --suite ]]; then\n\t\twords='");
	add_suites(out);
	sp_buf_adds(out, "'\n\telif [[ $before == --provider ]]; then\n"
			 "\t\twords='bash local render'\n"
			 "\telse\n\t\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < n; i++) {
		sp_buf_addf(out, "\t\t%s) words='", commands[i]->name);
		add_words(out, commands[i]);
		sp_buf_adds(out, "' ;;\n");
	}
	sp_buf_adds(out, "\t\tesac\n\tfi\n"
			 "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}\n"
			 "complete -o default -F _sandproof sandproof\n");
}

/* In double quotes of zsh's and fish's lists. */
static void add_quoted(struct sp_buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("'\\[]:", *text))
			sp_buf_addc(out, ' ');
		else
			sp_buf_addc(out, *text);
	}
}

static void add_zsh(struct sp_buf *out)
{
	size_t n;
	const struct cli_command *const *commands = cli_commands(&n);

	sp_buf_adds(out, "#compdef sandproof\n_sandproof() {\n\tlocal -a commands\n\tcommands=(\n");
	for (size_t i = 0; i < n; i++) {
		sp_buf_addf(out, "\t\t'%s:", commands[i]->name);
		add_quoted(out, commands[i]->summary);
		sp_buf_adds(out, "'\n");
	}
	sp_buf_adds(out, "\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n"
			 "\t\treturn\n\tfi\n\tcase $words[2] in\n");
	for (size_t i = 0; i < n; i++) {
		sp_buf_addf(out, "\t%s) compadd -- ", commands[i]->name);
		add_words(out, commands[i]);
		sp_buf_adds(out, " ;;\n");
	}
	sp_buf_adds(out, "\tesac\n\t_files\n}\ncompdef _sandproof sandproof\n");
}

static void add_fish(struct sp_buf *out)
{
	size_t n;
	const struct cli_command *const *commands = cli_commands(&n);

	for (size_t i = 0; i < n; i++) {
		sp_buf_addf(out, "complete -c sandproof -n __fish_use_subcommand -a %s -d '",
			    commands[i]->name);
		add_quoted(out, commands[i]->summary);
		sp_buf_adds(out, "'\n");
		for (size_t k = 0; k < commands[i]->n_options; k++) {
			const struct cli_option *o = &commands[i]->options[k];

			if (o->hidden)
				continue;
			sp_buf_addf(out,
				    "complete -c sandproof -n '__fish_seen_subcommand_from %s' -l "
				    "%s%s -d '",
				    commands[i]->name, o->name, o->value ? " -r" : "");
			add_quoted(out, o->help);
			sp_buf_adds(out, "'\n");
		}
	}
	sp_buf_adds(out, "complete -c sandproof -n '__fish_seen_argument -l suite' -a '");
	add_suites(out);
	sp_buf_adds(out, "'\n");
}

static const struct {
	const char *shell;
	void (*add)(struct sp_buf *out);
} shells[] = {{"bash", add_bash}, {"zsh", add_zsh}, {"fish", add_fish}};

static int unknown_shell(const char *word)
{
	const char *names[SP_COUNT(shells)];
	char *near SP_FREE = NULL;

	for (size_t i = 0; i < SP_COUNT(shells); i++)
		names[i] = shells[i].shell;
	near = word ? sp_nearest(word, names, SP_COUNT(names)) : NULL;
	cli_say("error: completion takes bash, zsh or fish%s%s%s%s", word ? ", not " : "",
		word ? word : "", near && *near ? "; the nearest: " : "", near ? near : "");
	return SP_EXIT_USAGE;
}

static int run_completion(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = {NULL, 0};
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	int code = 0;

	if (!cli_begin(self, argc, argv, NULL, &words, &code))
		return code;
	if (cli_too_many_words(self, &words, 1))
		return SP_EXIT_USAGE;
	for (size_t i = 0; words.len && i < SP_COUNT(shells); i++) {
		if (strcmp(words.items[0], shells[i].shell))
			continue;
		shells[i].add(&out);
		return cli_print(&out);
	}
	return unknown_shell(words.len ? words.items[0] : NULL);
}

const struct cli_command cli_completion_command = {
    .name = "completion",
    .synopsis = "bash | zsh | fish",
    .summary = "print a completion script for a shell",
    .examples = "  source <(sandproof completion bash)\n"
		"  sandproof completion fish >~/.config/fish/completions/sandproof.fish\n",
    .run = run_completion,
};
