/* SPDX-License-Identifier: MIT */
/* J16, J17: what is listed, what is removed, and what a sweep keeps. */
#include "cases.h"
#include "records.h"
#include "scene.h"

/* ---- Scenes ---- */

static const char *path_in(struct scene *s, const char *file)
{
	return sp_case_format(s->t, "%s/%s", s->dir, file);
}

/* Writes a run's two files: a line, and with `code` not negative its exit. */
static bool leave_run(struct scene *s, const char *run_id, int code)
{
	if (!scene_set_run(s, run_id))
		return false;
	return sp_sh_ok(
		s->t, s->sandbox, "mkdir -p %s && echo e > %s && printf '%%s\\n' line %s%s%s > %s",
		s->dir, s->err_file, code < 0 ? "" : "'",
		code < 0 ? "" : journal_mark(s->t, run_id, code), code < 0 ? "" : "'", s->file);
}

/* Names in the folder, by a command, sorted and joined by blanks. */
static const char *files_now(struct scene *s)
{
	return sp_sh_out(s->t, s->sandbox, "cd %s && LC_ALL=C ls -A | tr '\\n' ' '", s->dir);
}

static bool sweep_with(struct scene *s, struct sp_sandbox *sandbox,
		       const struct sp_journal_sweep_options *how,
		       struct sp_journal_sweep *ret_sweep)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	sp_journal_sweep_done(ret_sweep);
	rc = s->journal->ops->sweep(s->journal->self, sandbox, how, &s->options, ret_sweep, &err);
	if (!SP_CHECK_OK(s->t, rc, &err, "sweep answers"))
		return false;
	for (size_t i = 0; i < ret_sweep->len; i++)
		sp_case_note(s->t, "sweep: %s: %s", ret_sweep->runs[i].file,
			     sp_journal_fate_name((int)ret_sweep->runs[i].fate));
	return true;
}

/* Opens a scene for a journal that sweeps. */
static bool sweeping_open(struct sp_case *t, struct scene *s)
{
	if (!scene_open(t, s))
		return false;
	if (s->journal->ops->sweep)
		return true;
	sp_skip(t, "needs sweep: this journal has none");
	return false;
}

/* What the sweep says of a run, or of a name that is none. */
static bool check_fate(struct scene *s, const struct sp_journal_sweep *sweep, const char *name,
		       enum sp_journal_fate fate, struct sp_where where)
{
	const char *found = "not there";

	for (size_t i = 0; i < sweep->len; i++)
		if (!strcmp(sweep->runs[i].run_id ? sweep->runs[i].run_id : sweep->runs[i].file,
			    name))
			found = sp_journal_fate_name((int)sweep->runs[i].fate);
	return sp_check_str(s->t, sp_journal_fate_name((int)fate), found, where,
			    "what the sweep says of %s", name);
}

static bool check_files(struct scene *s, const char *expected, struct sp_where where)
{
	const char *files = files_now(s);

	return files && sp_check_str(s->t, expected, files, where, "the files that are left");
}

#define SWEEP SP_CLEANUP(sp_journal_sweep_done)

/* ---- Listing and removing ---- */

void journal_list_names(struct sp_case *t)
{
	/* Names and the run that each stands for; NULL: nobody's. */
	static const struct {
		const char *file;
		const char *run_id;
	} names[] = {
		{ "run-1.ndjson", "run-1" },
		{ "run-1.err", "run-1" },
		{ "a_2fb.ndjson", "a/b" },
		{ "..ndjson", NULL },
		{ "x.ndjson.ndjson", "x.ndjson" },
		{ "_43_4f_4e.err", "CON" },
		{ "x_2Fy.err", NULL },
		{ "_61.ndjson", NULL },
		{ "CON.ndjson", NULL },
		{ "_ff.ndjson", NULL },
		{ "_4.ndjson", NULL },
		{ "_zz.ndjson", NULL },
		{ "_ed_a0_80.ndjson", NULL },
		{ "_c0_af.ndjson", NULL },
		{ "a b.ndjson", NULL },
		{ "a.txt", NULL },
		{ "stray_1.ndjson", NULL },
	};
	struct sp_buf files SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	size_t seen = 0;
	int rc;

	SP_REQUIRE(scene_open(t, &s) && sp_sh_ok(t, s.sandbox, "mkdir %s", s.dir));
	for (size_t i = 0; i < SP_COUNT(names); i++)
		sp_buf_addf(&files, " '%s'", names[i].file);
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "cd %s && touch%s", s.dir, sp_buf_str(&files)));
	rc = s.journal->ops->list(s.journal->self, s.sandbox, &s.options, &list, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "list answers"));
	for (size_t i = 0; i < list.len; i++) {
		for (size_t j = 0; j < SP_COUNT(names); j++) {
			if (strcmp(list.entries[i].file, names[j].file))
				continue;
			seen++;
			SP_REQUIRE(SP_CHECK_STR(t, names[j].run_id, list.entries[i].run_id,
						"the run of the file %s", names[j].file));
		}
	}
	/* "..ndjson" begins with a dot: `ls` does not show it. */
	SP_CHECK_INT(t, SP_COUNT(names) - 1, (long long)seen, "names that were listed");
	SP_CHECK_INT(t, (long long)seen, (long long)list.len, "names in all");
}

void journal_list_times(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *now;
	int rc;

	SP_REQUIRE(scene_open(t, &s));
	rc = s.journal->ops->list(s.journal->self, s.sandbox, &s.options, &list, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "list of a folder that is not there") &&
		   SP_CHECK_INT(t, 0, (long long)list.len, "names in a folder that is not there"));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "mkdir %s", s.dir));
	rc = s.journal->ops->list(s.journal->self, s.sandbox, &s.options, &list, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "list of an empty folder") &&
		   SP_CHECK_INT(t, 0, (long long)list.len, "names in an empty folder") &&
		   SP_CHECK(t, list.mtimes_known,
			    "the folder's own time shows that times can be told"));
	SP_REQUIRE(leave_run(&s, "r", 0) &&
		   sp_sh_ok(t, s.sandbox, "touch -d @1000000000 %s", s.file));
	now = sp_sh_out(t, s.sandbox, "stat -c %%Y %s", s.err_file);
	rc = s.journal->ops->list(s.journal->self, s.sandbox, &s.options, &list, &err);
	SP_REQUIRE(now && SP_CHECK_OK(t, rc, &err, "list of one run") &&
		   SP_CHECK_INT(t, 2, (long long)list.len, "files of one run"));
	for (size_t i = 0; i < list.len; i++) {
		bool is_err = strstr(list.entries[i].file, ".err");

		SP_CHECK_INT(t, is_err ? strtoll(now, NULL, 10) : 1000000000, list.entries[i].mtime,
			     "time of %s", list.entries[i].file);
	}
}

void journal_remove_own(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(scene_open(t, &s));
	SP_REQUIRE(leave_run(&s, "run", 0) && leave_run(&s, "run-1", 0) && leave_run(&s, "ru", 0));
	for (int i = 0; i < 2; i++) {
		int rc =
			s.journal->ops->remove(s.journal->self, s.sandbox, "run", &s.options, &err);

		SP_REQUIRE(
			SP_CHECK_OK(t, rc, &err, i ? "removing what is gone" : "removing a run"));
		SP_REQUIRE(check_files(&s, "ru.err ru.ndjson run-1.err run-1.ndjson ", SP_HERE));
	}
}

/* ---- Sweeping ---- */

void journal_sweep_finished_only(struct sp_case *t)
{
	static const char kept[] = "_61.ndjson live.err live.ndjson stray_1.ndjson ";
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_sweep sweep SWEEP = SP_JOURNAL_SWEEP_INIT;

	SP_REQUIRE(sweeping_open(t, &s));
	SP_REQUIRE(leave_run(&s, "done", 0) && leave_run(&s, "failed", 7) &&
		   leave_run(&s, "live", -1));
	/* A stranger's file, and one that stands for the finished run "a" without being its own. */
	SP_REQUIRE(scene_append(&s, path_in(&s, "stray_1.ndjson"), "x\n", 2) &&
		   scene_set_run(&s, "a") && scene_append(&s, path_in(&s, "_61.ndjson"), "x\n", 2));
	SP_REQUIRE(sweep_with(&s, s.sandbox, NULL, &sweep));
	SP_REQUIRE(
		check_fate(&s, &sweep, "done", SP_SWEPT_DELETED, SP_HERE) &&
		check_fate(&s, &sweep, "failed", SP_SWEPT_DELETED, SP_HERE) &&
		check_fate(&s, &sweep, "live", SP_KEPT_NOT_FINISHED, SP_HERE) &&
		check_fate(&s, &sweep, "stray_1.ndjson", SP_KEPT_UNDECODABLE, SP_HERE) &&
		check_fate(&s, &sweep, "_61.ndjson", SP_KEPT_UNDECODABLE, SP_HERE) &&
		SP_CHECK_INT(t, 5, (long long)sweep.len, "runs and names that the sweep tells of"));
	SP_REQUIRE(check_files(&s, kept, SP_HERE));
	/* Once more: nothing is deleted, nothing fails. */
	SP_REQUIRE(sweep_with(&s, s.sandbox, NULL, &sweep));
	SP_REQUIRE(SP_CHECK_INT(t, 3, (long long)sweep.len, "what a second sweep tells of"));
	check_files(&s, kept, SP_HERE);
}

void journal_sweep_records(struct sp_case *t)
{
	static const struct record rows[] = {
		{ "over", SP_RECORD_TERMINAL, 0 },
		{ "paused", SP_RECORD_OPEN, 0 },
		{ "cannot-tell", SP_RECORD_TERMINAL, SP_UNAVAILABLE },
		{ "a", SP_RECORD_TERMINAL, 0 },
	};
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_sweep sweep SWEEP = SP_JOURNAL_SWEEP_INIT;
	struct records records = { .t = t, .rows = rows, .len = SP_COUNT(rows), .never = "a" };
	struct sp_journal_sweep_options how = SP_JOURNAL_SWEEP_OPTIONS_INIT;

	SP_REQUIRE(sweeping_open(t, &s));
	how.record = records_ask;
	how.arg = &records;
	/* The record decides, whatever the journal says. */
	SP_REQUIRE(leave_run(&s, "over", -1) && leave_run(&s, "paused", 0) &&
		   leave_run(&s, "cannot-tell", 0) && leave_run(&s, "nobody", 0));
	SP_REQUIRE(scene_append(&s, path_in(&s, "_61.ndjson"), "x\n", 2));
	SP_REQUIRE(sweep_with(&s, s.sandbox, &how, &sweep));
	SP_REQUIRE(check_fate(&s, &sweep, "over", SP_SWEPT_DELETED, SP_HERE) &&
		   check_fate(&s, &sweep, "paused", SP_KEPT_NOT_FINISHED, SP_HERE) &&
		   check_fate(&s, &sweep, "cannot-tell", SP_KEPT_RECORD_ERROR, SP_HERE) &&
		   check_fate(&s, &sweep, "nobody", SP_KEPT_TOO_RECENT, SP_HERE) &&
		   check_fate(&s, &sweep, "_61.ndjson", SP_KEPT_UNDECODABLE, SP_HERE));
	SP_CHECK(t, !records.never_asked, "nobody is asked about a name that is no run's own");
	check_files(&s,
		    "_61.ndjson cannot-tell.err cannot-tell.ndjson nobody.err nobody.ndjson "
		    "paused.err paused.ndjson ",
		    SP_HERE);
}

#define OLD 1000000000

void journal_sweep_age(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_sweep sweep SWEEP = SP_JOURNAL_SWEEP_INIT;
	struct records records = { .t = t };
	struct sp_journal_sweep_options how = SP_JOURNAL_SWEEP_OPTIONS_INIT;

	SP_REQUIRE(sweeping_open(t, &s));
	how.record = records_ask;
	how.arg = &records;
	how.orphan_age_s = 100;
	how.now_s = OLD + 100;
	SP_REQUIRE(leave_run(&s, "exact", 0) && leave_run(&s, "young", 0) &&
		   leave_run(&s, "mixed", 0));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox,
			    "cd %s && touch -d @%d * && touch -d @%d young.* mixed.err", s.dir, OLD,
			    OLD + 1));
	SP_REQUIRE(sweep_with(&s, s.sandbox, &how, &sweep));
	SP_REQUIRE(check_fate(&s, &sweep, "exact", SP_SWEPT_DELETED, SP_HERE) &&
		   check_fate(&s, &sweep, "young", SP_KEPT_TOO_RECENT, SP_HERE) &&
		   check_fate(&s, &sweep, "mixed", SP_KEPT_TOO_RECENT, SP_HERE));
	check_files(&s, "mixed.err mixed.ndjson young.err young.ndjson ", SP_HERE);
}

/* As a `stat` that does not know its flags. */
static int exec_no_stat(struct relay *relay, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options other = *options;

	if (strstr(options->command, "stat -c"))
		other.command = "exit 1";
	return sp_sandbox_exec(relay->inner, &other, ret_result, err);
}

void journal_sweep_no_times(struct sp_case *t)
{
	static const struct relay_hooks hooks = { .exec = exec_no_stat };
	struct scene s SCENE = SCENE_INIT;
	struct relay relay RELAY = RELAY_INIT;
	struct sp_journal_sweep sweep SWEEP = SP_JOURNAL_SWEEP_INIT;
	struct records records = { .t = t };
	struct sp_journal_sweep_options how = SP_JOURNAL_SWEEP_OPTIONS_INIT;

	SP_REQUIRE(sweeping_open(t, &s) && leave_run(&s, "nobody", 0));
	relay_open(t, s.sandbox, &hooks, &relay);
	how.record = records_ask;
	how.arg = &records;
	how.orphan_age_s = 0;
	SP_REQUIRE(sweep_with(&s, &relay.sandbox, &how, &sweep) && relay_used(&relay));
	SP_REQUIRE(check_fate(&s, &sweep, "nobody", SP_KEPT_AGE_UNAVAILABLE, SP_HERE));
	check_files(&s, "nobody.err nobody.ndjson ", SP_HERE);
}

void journal_sweep_cap(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_sweep sweep SWEEP = SP_JOURNAL_SWEEP_INIT;
	struct sp_journal_sweep_options how = SP_JOURNAL_SWEEP_OPTIONS_INIT;
	size_t deleted = 0, capped = 0;

	SP_REQUIRE(sweeping_open(t, &s));
	for (int i = 0; i < 4; i++)
		SP_REQUIRE(leave_run(&s, sp_case_format(t, "r%d", i), 0));
	how.max_deletes = 3;
	SP_REQUIRE(sweep_with(&s, s.sandbox, &how, &sweep));
	for (size_t i = 0; i < sweep.len; i++) {
		deleted += sweep.runs[i].fate == SP_SWEPT_DELETED;
		capped += sweep.runs[i].fate == SP_KEPT_MAX_DELETES;
	}
	SP_CHECK_INT(t, 3, (long long)deleted, "runs deleted by a sweep of three");
	SP_CHECK_INT(t, 1, (long long)capped, "runs kept because the sweep had deleted three");
	SP_REQUIRE(sweep_with(&s, s.sandbox, &how, &sweep));
	check_files(&s, "", SP_HERE);
}

void journal_sweep_failed(struct sp_case *t)
{
	static const struct record rows[] = { { "stuck", SP_RECORD_TERMINAL, 0 } };
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_sweep sweep SWEEP = SP_JOURNAL_SWEEP_INIT;
	struct records records = { .t = t, .rows = rows, .len = 1 };
	struct sp_journal_sweep_options how = SP_JOURNAL_SWEEP_OPTIONS_INIT;

	SP_REQUIRE(sweeping_open(t, &s));
	how.record = records_ask;
	how.arg = &records;
	/* `rm -f` does not remove a folder. */
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "mkdir -p %s/stuck.ndjson", s.dir));
	SP_REQUIRE(sweep_with(&s, s.sandbox, &how, &sweep));
	SP_REQUIRE(check_fate(&s, &sweep, "stuck", SP_KEPT_DELETE_FAILED, SP_HERE));
	check_files(&s, "stuck.ndjson ", SP_HERE);
}
