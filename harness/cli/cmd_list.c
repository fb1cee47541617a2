/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <string.h>

#include <base/cleanup.h>
#include <cli/registry.h>
#include <cli/select.h>
#include <cli/suggest.h>
#include <cli/text.h>

#define OUTPUT_CEILING (64 * 1024 * 1024)

struct list_args {
	struct cli_filter_args filter;
	struct cli_list suite_plugins;
	bool json;
	bool faults;
};

static const struct cli_option options[] = {
	CLI_OPTION(struct list_args, json, "json", NULL, CLI_FLAG,
		   "one JSON array on standard output"),
	CLI_FILTER_OPTIONS(struct list_args),
	CLI_SUITE_PLUGIN_OPTION(struct list_args),
	CLI_OPTION(struct list_args, faults, "faults", NULL, CLI_FLAG,
		   "the faults that cases are shown to catch, instead of the cases"),
};

/* ---- JSON ---- */

static void add_string(struct sp_buf *out, const char *text)
{
	sp_buf_add_json(out, text ? text : "", text ? strlen(text) : 0);
}

static void add_member(struct sp_buf *out, const char *name, const char *text)
{
	sp_buf_addf(out, "\"%s\": ", name);
	add_string(out, text);
	sp_buf_adds(out, ", ");
}

/* Elements of a list that ends with NULL. */
static void add_elements(struct sp_buf *out, const char *const *items, const char *prefix,
			 bool *first)
{
	for (; items && *items; items++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		sp_buf_addf(&text, "%s%s", prefix, *items);
		if (!*first)
			sp_buf_adds(out, ", ");
		add_string(out, sp_buf_str(&text));
		sp_buf_inherit(out, &text);
		*first = false;
	}
}

static void add_array(struct sp_buf *out, const char *name, const char *const *items)
{
	bool first = true;

	sp_buf_addf(out, "\"%s\": [", name);
	add_elements(out, items, "", &first);
	sp_buf_addc(out, ']');
}

static void add_needs(struct sp_buf *out, const struct sp_case_def *def)
{
	bool first = true;

	sp_buf_adds(out, "\"needs\": [");
	for (unsigned bit = 1; bit; bit <<= 1) {
		const char *const name[] = { def->needs & bit ? cli_need_name(bit) : NULL, NULL };

		add_elements(out, name, "", &first);
	}
	add_elements(out, def->tools, "tool:", &first);
	sp_buf_adds(out, "], ");
}

static void add_case_json(struct sp_buf *out, const struct sp_suite *suite,
			  const struct sp_case_def *def)
{
	sp_buf_addc(out, '{');
	add_member(out, "id", def->id);
	add_member(out, "suite", suite->name);
	add_member(out, "subject", sp_subject_kind_name(suite->subject));
	add_member(out, "clause", def->clause);
	add_member(out, "level", cli_level_name(def->level));
	add_member(out, "summary", def->requirement);
	add_needs(out, def);
	add_array(out, "tags", def->tags);
	sp_buf_adds(out, ", ");
	add_array(out, "defects", def->faults);
	sp_buf_addc(out, '}');
}

static void add_fault_json(struct sp_buf *out, const struct sp_fault *fault)
{
	sp_buf_addc(out, '{');
	add_member(out, "id", fault->id);
	add_member(out, "summary", fault->summary);
	add_array(out, "sources", fault->sources);
	sp_buf_adds(out, ", ");
	add_member(out, "clause", fault->clause);
	add_array(out, "cases", fault->cases);
	sp_buf_adds(out, ", ");
	add_member(out, "seam", cli_fault_seam_name(fault->seam));
	add_member(out, "level", cli_fault_is_contract(fault) ? "contract" : "implementation");
	sp_buf_addf(out, "\"reaches_outside\": %s}", fault->reaches_outside ? "true" : "false");
}

/* ---- Tables ---- */

/* The rest of a row: whole off a terminal, cut to its width on one. */
static void add_last_column(struct sp_buf *out, const struct cli_style *style, size_t start,
			    const char *text)
{
	size_t used = cli_text_columns(out, start);

	if (!style->width)
		sp_buf_adds(out, text);
	else if (style->width > used + 1)
		cli_text_cut(out, style, text, style->width - used - 1);
	sp_buf_addc(out, '\n');
}

static size_t longest_id(const struct sp_selection *selection)
{
	size_t longest = 0;

	for (size_t i = 0; i < selection->len; i++)
		if (strlen(selection->cases[i]->id) > longest)
			longest = strlen(selection->cases[i]->id);
	return longest;
}

static void add_case_rows(struct sp_buf *out, const struct sp_selection *selection)
{
	struct cli_style style = cli_style_of(stdout);
	size_t column = longest_id(selection) + 4;

	for (size_t i = 0; i < selection->len; i++) {
		const struct sp_case_def *def = selection->cases[i];
		size_t start;

		if (!i || selection->suites[i] != selection->suites[i - 1]) {
			sp_buf_adds(out, i ? "\n" : "");
			cli_text_ink(out, &style, CLI_BOLD, selection->suites[i]->name);
			sp_buf_addf(out, "  %s\n", selection->suites[i]->summary);
		}
		start = out->len;
		sp_buf_addf(out, "  %s", def->id);
		cli_text_pad(out, start, column);
		sp_buf_addf(out, "%-5s %-6s  ", def->clause, cli_level_name(def->level));
		add_last_column(out, &style, start, def->requirement);
	}
}

static void add_fault_row(struct sp_buf *out, const struct cli_style *style,
			  const struct sp_fault *fault)
{
	size_t start = out->len;

	sp_buf_adds(out, fault->id);
	cli_text_pad(out, start, 36);
	sp_buf_adds(out, fault->clause);
	cli_text_pad(out, start, 46);
	add_last_column(out, style, start, fault->summary);
}

static int list_faults(bool json)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	struct cli_style style = cli_style_of(stdout);
	size_t n;
	const struct sp_fault *const *faults = cli_faults(&n);

	sp_buf_adds(&out, json ? "[" : "");
	for (size_t i = 0; i < n; i++) {
		if (json) {
			sp_buf_adds(&out, i ? ",\n " : "\n ");
			add_fault_json(&out, faults[i]);
		} else {
			add_fault_row(&out, &style, faults[i]);
		}
	}
	sp_buf_adds(&out, json ? "\n]\n" : "");
	return cli_print(&out);
}

static int list_cases(const struct sp_selection *selection, bool json)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);

	if (!json) {
		add_case_rows(&out, selection);
		return cli_print(&out);
	}
	sp_buf_addc(&out, '[');
	for (size_t i = 0; i < selection->len; i++) {
		sp_buf_adds(&out, i ? ",\n " : "\n ");
		add_case_json(&out, selection->suites[i], selection->cases[i]);
	}
	sp_buf_adds(&out, "\n]\n");
	return cli_print(&out);
}

static int list_selected(const struct cli_command *self, const struct list_args *args)
{
	struct sp_selection selection = { NULL, NULL, 0 };
	struct sp_error err = SP_ERROR_INIT;
	struct sp_filter filter;
	const struct sp_suite *const *suites;
	size_t n;
	int code;

	if (cli_load_suites(&args->suite_plugins, &err))
		return cli_fail(self, &err);
	suites = cli_suites(&n);
	if (cli_filter_make(&args->filter, &filter, &err) ||
	    sp_select(suites, n, &filter, &selection, &err))
		return cli_fail(self, &err);
	code = list_cases(&selection, args->json);
	sp_selection_done(&selection);
	return code;
}

static int run_list(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct list_args args = { .json = false };
	int code = 0;

	if (cli_begin(self, argc, argv, &args, &words, &code)) {
		if (cli_loose_word(self, &words))
			code = SP_EXIT_USAGE;
		else
			code = args.faults ? list_faults(args.json) : list_selected(self, &args);
	}
	cli_list_done(&args.suite_plugins);
	cli_filter_done(&args.filter);
	return code;
}

const struct cli_command cli_list_command = {
	.name = "list",
	.synopsis = "[--json] [--suite S]… [--case GLOB]… [--tag T]… [--shard I/N] "
		    "[--suite-plugin FILE.so]… [--faults]",
	.summary = "list cases, or the faults that they catch",
	.details =
		"Lists every case with its clause, level and requirement. Needs no credentials and "
		"no network.",
	.options = options,
	.n_options = SP_COUNT(options),
	.examples = "  sandproof list --suite kill\n"
		    "  sandproof list --json | jq -r '.[] | select(.level == \"MUST\") | .id'\n"
		    "  sandproof list --faults\n",
	.run = run_list,
};
