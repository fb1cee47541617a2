/* SPDX-License-Identifier: MIT */
#include <cli/clauses.h>
#include <cli/cli.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <cli/registry.h>
#include <cli/select.h>
#include <cli/suggest.h>
#include <cli/text.h>

#define OUTPUT_CEILING (4 * 1024 * 1024)
#define LABEL_COLUMN 14

struct show_args {
	struct cli_list suite_plugins;
};

static const struct cli_option options[] = {
	CLI_SUITE_PLUGIN_OPTION(struct show_args),
};

/* What is being written, and how. */
struct page {
	struct sp_buf out;
	struct cli_style style;
	unsigned width;
};

static void add_title(struct page *page, const char *title)
{
	cli_text_ink(&page->out, &page->style, CLI_BOLD, title);
	sp_buf_addc(&page->out, '\n');
}

static void add_field(struct page *page, const char *label, const char *text)
{
	size_t start = page->out.len;

	if (!text || !*text)
		return;
	sp_buf_adds(&page->out, "  ");
	cli_text_ink(&page->out, &page->style, CLI_DIM, label);
	cli_text_pad(&page->out, start, LABEL_COLUMN);
	cli_text_wrap(&page->out, text, LABEL_COLUMN, LABEL_COLUMN, page->width);
	sp_buf_addc(&page->out, '\n');
}

/* A field of a text that was made; one that could not be made fails the page. */
static void add_made(struct page *page, const char *label, const struct sp_buf *text)
{
	sp_buf_inherit(&page->out, text);
	add_field(page, label, sp_buf_str(text));
}

static void add_list(struct page *page, const char *label, const char *const *items)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (size_t i = 0; items && items[i]; i++)
		sp_buf_addf(&text, "%s%s", i ? ", " : "", items[i]);
	add_field(page, label, sp_buf_str(&text));
}

static void add_needs(struct page *page, const struct sp_case_def *def)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (unsigned bit = 1; bit; bit <<= 1)
		if (def->needs & bit && cli_need_name(bit))
			sp_buf_addf(&text, "%s%s", text.len ? ", " : "", cli_need_name(bit));
	for (size_t i = 0; def->tools && def->tools[i]; i++)
		sp_buf_addf(&text, "%stool %s", text.len ? ", " : "", def->tools[i]);
	add_made(page, "needs", &text);
}

/* A clause in the words of its suite: a table of its own, or the README of ours. */
static const char *clause_text(const struct sp_suite *suite, const char *clause)
{
	for (const struct sp_clause_text *at = suite->texts; at && at->clause; at++)
		if (!strcmp(at->clause, clause))
			return at->text;
	return cli_suite_file(suite) ? NULL : cli_clause_text(suite->name, clause);
}

/* Faults of a foreign suite are its author's, and only named. */
static void add_faults(struct page *page, const struct sp_suite *suite, const char *const *ids)
{
	if (cli_suite_file(suite)) {
		add_list(page, "catches", ids);
		return;
	}
	for (size_t i = 0; ids && ids[i]; i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		const struct sp_fault *fault = cli_fault_find(ids[i]);

		sp_buf_addf(&text, "%s: %s", ids[i], fault ? fault->summary : "not built yet");
		add_made(page, i ? "" : "catches", &text);
	}
}

static void show_case(struct page *page, const struct sp_suite *suite,
		      const struct sp_case_def *def)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	add_title(page, def->id);
	sp_buf_addf(&text, "%s %s (%s)", suite->name, def->clause, cli_level_name(def->level));
	add_made(page, "clause", &text);
	add_field(page, "says", clause_text(suite, def->clause));
	add_field(page, "requirement", def->requirement);
	add_field(page, "rationale", def->rationale);
	add_field(page, "detection", def->detection);
	add_field(page, "limits", def->limits);
	add_needs(page, def);
	add_list(page, "tags", def->tags);
	add_list(page, "once called", def->aliases);
	add_faults(page, suite, def->faults);
	sp_buf_clear(&text);
	sp_buf_addf(&text, "%s:%d", def->file ? def->file : "", def->line);
	add_field(page, "written in", def->file ? sp_buf_str(&text) : NULL);
	sp_buf_clear(&text);
	sp_buf_addf(&text, "%s run --case %s", cli_program(), def->id);
	if (cli_suite_file(suite)) {
		sp_buf_adds(&text, " --suite-plugin ");
		cli_text_word(&text, cli_suite_file(suite));
	}
	add_made(page, "run it", &text);
}

static void show_fault(struct page *page, const struct sp_fault *fault)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	add_title(page, fault->id);
	add_field(page, "fault", fault->summary);
	add_list(page, "seen in", fault->sources);
	add_field(page, "breaks", fault->clause);
	add_list(page, "caught by", fault->cases);
	sp_buf_addf(&text, "%s (%s)", cli_fault_seam_name(fault->seam),
		    cli_fault_is_contract(fault) ? "works on any provider" :
						   "needs the provider bash or render");
	add_made(page, "applied at", &text);
	if (fault->reaches_outside)
		add_field(page, "danger",
			  "can reach outside its sandbox; runs only where sandboxes have pid and "
			  "mount namespaces of their own");
	sp_buf_clear(&text);
	sp_buf_addf(&text, "%s run --defect %s --case %s", cli_program(), fault->id,
		    fault->cases && fault->cases[0] ? fault->cases[0] : "'*'");
	add_made(page, "try it", &text);
}

static bool has(const char *const *list, const char *text)
{
	for (; list && *list; list++)
		if (!strcmp(*list, text))
			return true;
	return false;
}

/* The cases that catch the faults which model an entry. */
static void add_catches(struct page *page, const char *defect)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	size_t n = 0;
	const struct sp_fault *const *faults = cli_faults(&n);

	for (size_t i = 0; i < n; i++) {
		if (!has(faults[i]->sources, defect))
			continue;
		sp_buf_clear(&text);
		sp_buf_addf(&text, "%s (try: %s prove --defect %s)", faults[i]->cases[0],
			    cli_program(), faults[i]->id);
		add_made(page, "caught by", &text);
	}
}

/* An entry of the table of known defects. */
static void show_defect(struct page *page, const struct cli_defect *defect)
{
	add_title(page, defect->id);
	add_field(page, "defect", defect->words);
	add_field(page, "modelled by", defect->faults);
	add_catches(page, defect->id);
	add_field(page, "same as", defect->same);
	add_field(page, "shown by", defect->tests);
	add_field(page, "not judged", defect->outside);
}

static bool is_alias(const struct sp_case_def *def, const char *name)
{
	for (size_t i = 0; def->aliases && def->aliases[i]; i++)
		if (!strcmp(def->aliases[i], name))
			return true;
	return false;
}

/* True when `name` is "K4", "kill:K4" or "kill K4" for this case's clause. */
static bool is_clause(const struct sp_suite *suite, const struct sp_case_def *def, const char *name)
{
	size_t len = strlen(suite->name);

	if (!strncmp(name, suite->name, len) && (name[len] == ':' || name[len] == ' '))
		name += len + 1;
	return !strcmp(def->clause, name);
}

/* A clause by itself: its sentence, before its cases. */
static void show_clause(struct page *page, const struct sp_suite *suite,
			const struct sp_case_def *def)
{
	struct sp_buf title SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&title, "%s:%s", suite->name, def->clause);
	sp_buf_inherit(&page->out, &title);
	add_title(page, sp_buf_str(&title));
	add_field(page, "says", clause_text(suite, def->clause));
	sp_buf_addc(&page->out, '\n');
}

/* The clause of a case, where this is the first one of it, with all its cases. */
static void show_clause_of_suite(struct page *page, const struct sp_suite *suite, size_t first)
{
	struct sp_buf ids SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *clause = suite->cases[first].clause, *says = clause_text(suite, clause);
	bool must = false;

	for (size_t i = 0; i < first; i++)
		if (!strcmp(suite->cases[i].clause, clause))
			return;
	for (size_t i = first; i < suite->n_cases; i++) {
		if (strcmp(suite->cases[i].clause, clause))
			continue;
		must = must || suite->cases[i].level == SP_MUST;
		sp_buf_addf(&ids, "%s%s", ids.len ? ", " : "", suite->cases[i].id);
	}
	sp_buf_addf(&page->out, "\n  %s:%s  %s\n", suite->name, clause, must ? "MUST" : "SHOULD");
	add_field(page, "says", says);
	add_made(page, "cases", &ids);
}

/* A suite by its name: what it is about, its clauses in words, and their cases. */
static bool show_suite(struct page *page, const char *name)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);
	const struct sp_suite *suite = NULL;

	for (size_t i = 0; i < n && !suite; i++)
		if (!strcmp(suites[i]->name, name))
			suite = suites[i];
	if (!suite)
		return false;
	add_title(page, suite->name);
	add_field(page, "about", suite->summary);
	add_field(page, "subject", sp_subject_kind_name(suite->subject));
	add_field(page, "version", suite->clauses_version);
	add_field(page, "loaded from", cli_suite_file(suite));
	for (size_t i = 0; i < suite->n_cases; i++)
		show_clause_of_suite(page, suite, i);
	return true;
}

/* Shows every case of a name: an id, an alias or a clause. Returns how many. */
static size_t show_cases(struct page *page, const char *name)
{
	size_t n, shown = 0;
	const struct sp_suite *const *suites = cli_suites(&n);

	for (size_t i = 0; i < n; i++) {
		bool said = false;

		for (size_t j = 0; j < suites[i]->n_cases; j++) {
			const struct sp_case_def *def = &suites[i]->cases[j];
			bool clause = is_clause(suites[i], def, name);

			if (strcmp(def->id, name) && !is_alias(def, name) && !clause)
				continue;
			sp_buf_adds(&page->out, shown++ ? "\n" : "");
			if (clause && !said)
				show_clause(page, suites[i], def);
			said = said || clause;
			show_case(page, suites[i], def);
		}
	}
	return shown;
}

static void add_known_names(struct cli_list *names)
{
	size_t n_suites, n_faults;
	const struct sp_suite *const *suites = cli_suites(&n_suites);
	const struct sp_fault *const *faults = cli_faults(&n_faults);

	for (size_t i = 0; i < n_suites; i++) {
		cli_list_add(names, suites[i]->name);
		for (size_t j = 0; j < suites[i]->n_cases; j++)
			cli_list_add(names, suites[i]->cases[j].id);
	}
	for (size_t i = 0; i < n_faults; i++)
		cli_list_add(names, faults[i]->id);
}

static int unknown_name(const struct cli_command *self, const char *name)
{
	struct cli_list names SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct sp_buf hint SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_error err = SP_ERROR_INIT;
	char *near SP_FREE = NULL;

	add_known_names(&names);
	near = sp_nearest(name, names.items, names.len);
	if (near && *near)
		sp_buf_addf(&hint, "; the nearest: %s", near);
	else
		cli_suggest_family(name, &hint);
	(void)sp_error_set(&err, SP_INVALID,
			   "no case, clause, suite or fault is called \"%.80s\"%s", name,
			   sp_buf_str(&hint));
	return cli_fail(self, &err);
}

static int show_name(const struct cli_command *self, struct page *page, const char *name)
{
	const struct sp_fault *fault = cli_fault_find(name);
	struct cli_defect defect SP_CLEANUP(cli_defect_done) = { NULL };
	size_t shown = show_cases(page, name) + show_suite(page, name);
	struct sp_error err = SP_ERROR_INIT;
	int rc = cli_defect_find(name, &defect, &err);

	if (fault) {
		sp_buf_adds(&page->out, shown ? "\n" : "");
		show_fault(page, fault);
	}
	if (!rc)
		show_defect(page, &defect);
	else if (rc != SP_NOT_FOUND)
		return cli_fail(self, &err);
	else if (!shown && !fault)
		return unknown_name(self, name);
	return cli_print(&page->out);
}

/* The one word of the command line. */
static int show_word(const struct cli_command *self, const struct cli_list *words)
{
	struct page page = { SP_BUF_INIT(OUTPUT_CEILING), cli_style_of(stdout),
			     cli_prose_width(stdout) };
	struct sp_error err = SP_ERROR_INIT;
	int code;

	if (cli_too_many_words(self, words, 1))
		return SP_EXIT_USAGE;
	if (!words->len) {
		(void)sp_error_set(&err, SP_INVALID, "name a case, a clause, a suite or a fault");
		return cli_fail(self, &err);
	}
	code = show_name(self, &page, words->items[0]);
	sp_buf_done(&page.out);
	return code;
}

static int run_show(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct show_args args = { .suite_plugins = { NULL, 0 } };
	struct sp_error err = SP_ERROR_INIT;
	int code = 0;

	if (cli_begin(self, argc, argv, &args, &words, &code))
		code = cli_load_suites(&args.suite_plugins, &err) ? cli_fail(self, &err)
								  : show_word(self, &words);
	cli_list_done(&args.suite_plugins);
	return code;
}

const struct cli_command cli_show_command = {
	.name = "show",
	.synopsis = "CASE | CLAUSE | SUITE | DEFECT [--suite-plugin FILE.so]…",
	.summary = "explain a case, a clause, a suite, a fault or a known defect",
	.options = options,
	.n_options = SP_COUNT(options),
	.details =
		"Shows the requirement, why it is one, how its violation is detected, which faults "
		"the case is shown to catch, and what it does not prove. A clause is written K4, "
		"or kill:K4 where several suites have one of that name; a known defect by where it "
		"was seen, such as contract:C3, and it says where it is shown here.",
	.examples = "  sandproof show kill.group.grandchild\n"
		    "  sandproof show kill:K4\n"
		    "  sandproof show kill\n"
		    "  sandproof show kill-leader-only\n",
	.run = run_show,
};
