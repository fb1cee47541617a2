/* SPDX-License-Identifier: MIT */
#include <cli/options.h>

#include <inttypes.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <cli/text.h>
#include <runner/runner.h>

/* Column at which the explanations stand. */
#define HELP_COLUMN 26

void cli_list_done(struct cli_list *list)
{
	free(list->items);
	*list = (struct cli_list){ NULL, 0 };
}

int cli_list_add(struct cli_list *list, const char *text)
{
	const char **grown = reallocarray(list->items, list->len + 1, sizeof(*grown));

	if (!grown)
		return SP_INTERNAL;
	list->items = grown;
	list->items[list->len++] = text;
	return 0;
}

int cli_parse_number(const char *what, const char *text, uint64_t min, uint64_t max,
		     uint64_t *ret_value, struct sp_error *err)
{
	uint64_t value = 0;
	bool good = *text != '\0';

	for (const char *p = text; *p && good; p++) {
		good = *p >= '0' && *p <= '9' && value <= (UINT64_MAX - 9) / 10;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	if (!good || value < min || value > max)
		return sp_error_set(err, SP_INVALID,
				    "%s takes a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"",
				    what, min, max, text);
	*ret_value = value;
	return 0;
}

/* Row of the name text[0..len), or NULL. */
static const struct cli_option *find_option(const struct cli_option *options, size_t n_options,
					    const char *text, size_t len)
{
	for (size_t i = 0; i < n_options; i++)
		if (strlen(options[i].name) == len && !strncmp(options[i].name, text, len))
			return &options[i];
	return NULL;
}

/* What others call it. */
static const struct {
	const char *word, *option;
} meant[] = {
	{ "fault", "defect" },
	{ "faults", "defect" },
	{ "defect", "faults" },
};

static const char *other_name(const struct cli_option *options, size_t n_options, const char *word)
{
	for (size_t i = 0; i < SP_COUNT(meant); i++)
		if (!strcmp(meant[i].word, word) &&
		    find_option(options, n_options, meant[i].option, strlen(meant[i].option)))
			return meant[i].option;
	return NULL;
}

static int unknown_option(const struct cli_option *options, size_t n_options, const char *arg,
			  struct sp_error *err)
{
	struct cli_list names SP_CLEANUP(cli_list_done) = { NULL, 0 };
	size_t dashes = strspn(arg, "-");
	char *word SP_FREE = strndup(arg + dashes, strcspn(arg + dashes, "="));
	const char *other = word ? other_name(options, n_options, word) : NULL;
	int shown = (int)strcspn(arg, "=");
	char *near SP_FREE = NULL;

	if (other)
		return sp_error_set(err, SP_INVALID, "unknown option %.*s; it is called --%s",
				    shown, arg, other);
	cli_list_add(&names, "help");
	for (size_t i = 0; i < n_options; i++)
		if (!options[i].hidden)
			cli_list_add(&names, options[i].name);
	near = word && *word ? sp_nearest(word, names.items, names.len) : NULL;
	if (near && *near)
		return sp_error_set(err, SP_INVALID, "unknown option %.*s; the nearest: --%s",
				    shown, arg, near);
	return sp_error_set(err, SP_INVALID, "unknown option %.*s%s", shown, arg,
			    n_options ? "" : "; there is none but --help");
}

static int store_text(const struct cli_option *option, const char *value, void *field,
		      struct sp_error *err)
{
	const char **text = field;

	if (*text)
		return sp_error_set(err, SP_INVALID, "--%s is given twice", option->name);
	*text = value;
	return 0;
}

static int store_number(const struct cli_option *option, const char *value, void *field,
			struct sp_error *err)
{
	struct cli_number *number = field;
	char what[64];

	if (number->set)
		return sp_error_set(err, SP_INVALID, "--%s is given twice", option->name);
	snprintf(what, sizeof(what), "--%s", option->name);
	number->set = true;
	return cli_parse_number(what, value, option->min, option->max, &number->value, err);
}

static int store(const struct cli_option *option, const char *value, void *args,
		 struct sp_error *err)
{
	void *field = (char *)args + option->offset;

	switch (option->kind) {
	case CLI_FLAG:
		*(bool *)field = true;
		return 0;
	case CLI_TEXT:
		return store_text(option, value, field, err);
	case CLI_LIST:
		if (cli_list_add(field, value))
			return sp_error_set(err, SP_INTERNAL, "out of memory");
		return 0;
	case CLI_NUMBER:
		return store_number(option, value, field, err);
	}
	return SP_INTERNAL;
}

/* Takes one option and, where it needs one, its value; `*at` moves on. */
static int parse_one(const struct cli_option *options, size_t n_options, int argc, char **argv,
		     int *at, void *args, struct sp_error *err)
{
	const char *arg = argv[*at], *equals = strchr(arg, '='), *value = NULL;
	size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct cli_option *option =
		len > 2 && arg[1] == '-' ? find_option(options, n_options, arg + 2, len - 2) : NULL;

	if (!option)
		return unknown_option(options, n_options, arg, err);
	if (option->kind == CLI_FLAG) {
		if (equals)
			return sp_error_set(err, SP_INVALID, "--%s takes no value", option->name);
		return store(option, NULL, args, err);
	}
	if (equals)
		value = equals + 1;
	else if (*at + 1 < argc)
		value = argv[++*at];
	if (!value || !*value)
		return sp_error_set(err, SP_INVALID, "--%s needs a value: --%s %s", option->name,
				    option->name, option->value);
	return store(option, value, args, err);
}

int cli_parse(const struct cli_option *options, size_t n_options, int argc, char **argv, void *args,
	      struct cli_list *words, struct sp_error *err)
{
	bool ended = false;

	for (int i = 0; i < argc; i++) {
		bool option = !ended && argv[i][0] == '-' && argv[i][1];
		int rc;

		if (option && !strcmp(argv[i], "--")) {
			ended = true;
			continue;
		}
		if (option && (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")))
			return CLI_WANTS_HELP;
		if (option)
			rc = parse_one(options, n_options, argc, argv, &i, args, err);
		else
			rc = cli_list_add(words, argv[i]);
		if (rc)
			return rc;
	}
	return 0;
}

void cli_options_help(const struct cli_option *options, size_t n_options, unsigned width,
		      struct sp_buf *out)
{
	for (size_t i = 0; i < n_options; i++) {
		const struct cli_option *o = &options[i];
		size_t start = out->len;

		if (o->hidden)
			continue;
		sp_buf_addf(out, "  --%s%s%s%s", o->name, o->value ? " " : "",
			    o->value ? o->value : "", o->kind == CLI_LIST ? "…" : "");
		cli_text_pad(out, start, HELP_COLUMN);
		cli_text_wrap(out, o->help, HELP_COLUMN, HELP_COLUMN, width);
		sp_buf_addc(out, '\n');
	}
}
