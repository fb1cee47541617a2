/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/nearest.h>
#include <runner/runner.h>

static void nothing(struct sp_case *t)
{
	(void)t;
}

static const char *const slow[] = { "slow", NULL };
static const char *const both[] = { "slow", "unix", NULL };
static const char *const old[] = { "kill.old.name", NULL };

#define CASE(id_, ...)                                                                             \
	{                                                                                          \
		.id = id_, .requirement = "must", .clause = "K1", .run = nothing, __VA_ARGS__      \
	}

static const struct sp_case_def kill_cases[] = {
	CASE("kill.group.leader", .level = SP_MUST),
	CASE("kill.group.grandchild", .tags = slow, .aliases = old),
	CASE("kill.twice.same", .tags = both),
};

static const struct sp_case_def exec_cases[] = {
	CASE("exec.code.zero", .level = SP_MUST),
	CASE("exec.code.one", .tags = slow),
};

#define SUITE(name_, cases_)                                                                       \
	{                                                                                          \
		.version = SP_SUITE_VERSION, .name = name_, .summary = "", .cases = cases_,        \
		.n_cases = SP_COUNT(cases_), .clauses_version = "1",                               \
	}

static const struct sp_suite kill_suite = SUITE("kill", kill_cases);
static const struct sp_suite exec_suite = SUITE("exec", exec_cases);
static const struct sp_suite *const suites[] = { &kill_suite, &exec_suite };

/* Words of a list, or NULL. */
struct words {
	const char *list[3];
	size_t n;
};

static const struct {
	struct words suites, cases, tags;
	/* Ids, joined by blanks; NULL: refused. */
	const char *expected;
	/* In the message of a refusal. */
	const char *message;
} rows[] = {
	{ { { NULL }, 0 },
	  { { NULL }, 0 },
	  { { NULL }, 0 },
	  "kill.group.leader kill.group.grandchild kill.twice.same exec.code.zero exec.code.one",
	  NULL },
	{ { { "exec" }, 1 },
	  { { NULL }, 0 },
	  { { NULL }, 0 },
	  "exec.code.zero exec.code.one",
	  NULL },
	{ { { "exec", "kill" }, 2 }, { { NULL }, 0 }, { { "unix" }, 1 }, "kill.twice.same", NULL },
	{ { { NULL }, 0 },
	  { { "*.code.*" }, 1 },
	  { { NULL }, 0 },
	  "exec.code.zero exec.code.one",
	  NULL },
	{ { { NULL }, 0 },
	  { { "kill.group.*", "*.one" }, 2 },
	  { { "slow" }, 1 },
	  "kill.group.grandchild exec.code.one",
	  NULL },
	{ { { NULL }, 0 },
	  { { "kill.old.name" }, 1 },
	  { { NULL }, 0 },
	  "kill.group.grandchild",
	  NULL },
	/* A clause by its name; "k*1" is a glob of ids and of no clause. */
	{ { { NULL }, 0 },
	  { { "exec:K1" }, 1 },
	  { { NULL }, 0 },
	  "exec.code.zero exec.code.one",
	  NULL },
	{ { { NULL }, 0 },
	  { { "kill:K*" }, 1 },
	  { { "unix" }, 1 },
	  "kill.twice.same",
	  NULL },
	{ { { NULL }, 0 }, { { "k*1" }, 1 }, { { NULL }, 0 }, NULL, "no case matches \"k*1\"" },
	{ { { NULL }, 0 },
	  { { "kill:K9" }, 1 },
	  { { NULL }, 0 },
	  NULL,
	  "no case matches \"kill:K9\"" },
	{ { { "kil" }, 1 },
	  { { NULL }, 0 },
	  { { NULL }, 0 },
	  NULL,
	  "no suite matches \"kil\"; nearest: kill" },
	{ { { NULL }, 0 },
	  { { "kill.group.granchild" }, 1 },
	  { { NULL }, 0 },
	  NULL,
	  "nearest: kill.group.grandchild" },
	{ { { NULL }, 0 },
	  { { "exec.code.*", "nothing.like.this.at.all" }, 2 },
	  { { NULL }, 0 },
	  NULL,
	  "no case matches \"nothing.like.this.at.all\"; see" },
	{ { { NULL }, 0 }, { { NULL }, 0 }, { { "slwo" }, 1 }, NULL, "nearest: slow" },
	{ { { "kill" }, 1 },
	  { { "exec.*" }, 1 },
	  { { NULL }, 0 },
	  NULL,
	  "no case fits all filters together" },
};

static void join(const struct sp_selection *selection, struct sp_buf *out)
{
	for (size_t i = 0; i < selection->len; i++)
		sp_buf_addf(out, "%s%s", i ? " " : "", selection->cases[i]->id);
}

Test(select, filters)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf ids SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);
		struct sp_selection selection = { 0 };
		struct sp_error err = SP_ERROR_INIT;
		struct sp_filter filter = {
			.suites = rows[i].suites.list, .n_suites = rows[i].suites.n,
			.cases = rows[i].cases.list,   .n_cases = rows[i].cases.n,
			.tags = rows[i].tags.list,     .n_tags = rows[i].tags.n,
		};
		int rc = sp_select(suites, 2, &filter, &selection, &err);

		if (rows[i].expected) {
			cr_expect_eq(rc, 0, "row %zu: %s", i, err.message);
			join(&selection, &ids);
			cr_expect_str_eq(sp_buf_str(&ids), rows[i].expected, "row %zu", i);
		} else {
			cr_expect_eq(rc, SP_INVALID, "row %zu", i);
			cr_expect(strstr(err.message, rows[i].message), "row %zu: %s", i,
				  err.message);
		}
		sp_selection_done(&selection);
	}
}

Test(select, shards_take_each_case_once)
{
	size_t total = 0;

	for (unsigned shard = 1; shard <= 4; shard++) {
		struct sp_filter filter = { .shard = shard, .n_shards = 4 };
		struct sp_selection selection = { 0 };

		cr_expect_eq(sp_select(suites, 2, &filter, &selection, NULL), 0);
		total += selection.len;
		sp_selection_done(&selection);
	}
	cr_expect_eq(total, 5);
}

Test(select, a_shard_that_does_not_exist_is_refused)
{
	struct sp_filter filter = { .shard = 5, .n_shards = 4 };
	struct sp_selection selection = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(sp_select(suites, 2, &filter, &selection, &err), SP_INVALID);
	cr_expect(strstr(err.message, "shard 5 of 4"), "%s", err.message);
}

static const struct sp_case_def twice_cases[] = { CASE("kill.group.leader", .level = SP_MUST) };
static const struct sp_case_def alias_cases[] = { CASE("kill.old.name", .level = SP_MUST) };
static const struct sp_case_def foreign_cases[] = { CASE("exec.code.two", .level = SP_MUST) };
static const struct sp_case_def other_cases[] = { CASE("kill.other.name", .level = SP_MUST) };
static const struct sp_case_def hollow_cases[] = { { .id = "kill.a.b", .requirement = "must" } };
static const struct sp_suite bad_suites[] = {
	SUITE("kill", twice_cases),
	SUITE("kill", alias_cases),
	SUITE("kill", foreign_cases),
	SUITE("kill", hollow_cases),
	SUITE("kill", other_cases),
	{ .version = 99, .name = "kill", .clauses_version = "1" },
	{ .version = SP_SUITE_VERSION, .name = "dull", .clauses_version = "1" },
	{ .version = SP_SUITE_VERSION, .name = "", .clauses_version = "1" },
	{ .version = SP_SUITE_VERSION, .name = "new", .clauses_version = "1", .summary = "",
	  .n_cases = 1 },
	{ .version = SP_SUITE_VERSION, .name = "new", .clauses_version = "1", .summary = "",
	  .subject = SP_SUBJECT_KIND_MAX_ },
};
static const char *const bad_messages[] = {
	"kill.group.leader is there twice",
	"kill.old.name is there twice",
	"has to begin with \"kill.\"",
	"are required",
	"the suite name kill is there twice",
	"version 99",
	"summary and cases are required",
	"has no name",
	"summary and cases are required",
	"no kind of subject",
};

Test(select, bad_suites_are_refused)
{
	for (size_t i = 0; i < SP_COUNT(bad_suites); i++) {
		const struct sp_suite *const both_suites[] = { &kill_suite, &bad_suites[i] };
		struct sp_filter filter = { .n_suites = 0 };
		struct sp_selection selection = { 0 };
		struct sp_error err = SP_ERROR_INIT;

		cr_expect_eq(sp_select(both_suites, 2, &filter, &selection, &err), SP_INVALID,
			     "row %zu", i);
		cr_expect(strstr(err.message, bad_messages[i]), "row %zu: %s", i, err.message);
	}
}

static const struct {
	const char *word;
	const char *expected;
} near_rows[] = {
	{ "kil", "kill" },
	{ "klil", "kill" },
	{ "exce", "exec" },
	{ "snapshots", "snapshot" },
	{ "*snapsht*", "snapshot" },
	{ "xyzzy-and-more", "" },
	{ "", "" },
	{ "***", "" },
};

Test(select, nearest_names)
{
	static const char *const names[] = { "kill", "exec", "snapshot", "env", "store" };

	for (size_t i = 0; i < SP_COUNT(near_rows); i++) {
		char *near SP_FREE = sp_nearest(near_rows[i].word, names, SP_COUNT(names));

		cr_expect_str_eq(near, near_rows[i].expected, "\"%s\"", near_rows[i].word);
	}
}

Test(select, digest_changes_with_what_is_required_and_with_nothing_else)
{
	struct sp_case_def changed[3];
	struct sp_suite suite = kill_suite;
	const struct sp_suite *const one[] = { &suite };
	char first[65], second[65];

	memcpy(changed, kill_cases, sizeof(changed));
	suite.cases = changed;
	sp_requirements_digest(one, 1, first);
	cr_expect_eq(strlen(first), 64);
	changed[0].rationale = "other";
	changed[0].line = 7;
	sp_requirements_digest(one, 1, second);
	cr_expect_str_eq(first, second, "texts for `show` are not requirements");
	changed[0].requirement = "must more";
	sp_requirements_digest(one, 1, second);
	cr_expect_str_neq(first, second, "requirement");
	changed[0].requirement = "must";
	changed[0].level = SP_SHOULD;
	sp_requirements_digest(one, 1, second);
	cr_expect_str_neq(first, second, "level");
	changed[0].level = SP_MUST;
	suite.clauses_version = "2";
	sp_requirements_digest(one, 1, second);
	cr_expect_str_neq(first, second, "clauses_version");
}
