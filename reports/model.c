/* SPDX-License-Identifier: MIT */
#include <reports/model.h>

#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>

#define NAMES_CEILING ((size_t)64 << 20)

static int no_memory(struct sp_error *err)
{
	return sp_error_set(err, SP_INTERNAL, "no memory for the report");
}

int sp_verdict_weight(enum sp_verdict verdict)
{
	switch (verdict) {
	case SP_PASS:
		return 0;
	case SP_SKIP:
		return 1;
	case SP_XFAIL:
		return 2;
	case SP_WARN:
		return 3;
	case SP_XPASS:
		return 4;
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		return 5;
	case SP_FAIL:
		return 6;
	}
	return 5;
}

bool sp_verdict_is_bad(enum sp_verdict verdict)
{
	return sp_verdict_weight(verdict) >= 4;
}

const char *sp_exercise_name(enum sp_exercise exercise)
{
	static const char *const names[SP_EXERCISE_MAX_] = {
	    [SP_EXERCISED] = "exercised",
	    [SP_SKIPPED] = "skipped",
	    [SP_COULD_NOT] = "could-not",
	    [SP_NOT_SELECTED] = "not-selected",
	};

	return (unsigned)exercise < SP_EXERCISE_MAX_ ? names[exercise] : "unknown";
}

static const char *text_or(const char *text, const char *otherwise)
{
	return text && *text ? text : otherwise;
}

/* ---- Rows ---- */

/* Rows while they are collected, in order of appearance. */
struct rows {
	struct sp_index ids;
	struct sp_model_row *rows;
	size_t size;
};

static size_t row_of(struct rows *rows, const struct sp_result_case *c)
{
	bool is_new = false;
	size_t at = sp_index_put(&rows->ids, text_or(c->id, "unnamed"), &is_new);
	struct sp_model_row *grown;

	if (at == SP_INDEX_NONE || !is_new)
		return at;
	if (at == rows->size) {
		rows->size = rows->size ? rows->size * 2 : 64;
		grown = reallocarray(rows->rows, rows->size, sizeof(*grown));
		if (!grown)
			return SP_INDEX_NONE;
		rows->rows = grown;
	}
	rows->rows[at] = (struct sp_model_row){
	    text_or(c->id, "unnamed"),
	    text_or(c->suite, "unnamed"),
	    text_or(c->clause, ""),
	    text_or(c->level, ""),
	};
	return at;
}

/* Texts that are equal are mostly one, and "K10" comes after "K9". */
static int natural(const char *a, const char *b)
{
	return a == b ? 0 : strverscmp(a, b);
}

static int compare_rows(const void *a_, const void *b_)
{
	const struct sp_model_row *a = a_, *b = b_;
	int order = natural(a->suite, b->suite);

	if (!order)
		order = natural(a->clause, b->clause);
	return order ? order : natural(a->id, b->id);
}

static int collect_rows(struct sp_model *m, struct rows *rows)
{
	const struct sp_results_set *set = m->judged.set;

	for (size_t i = 0; i < set->n_runs; i++) {
		const struct sp_results *run = &set->runs[i];

		for (size_t c = 0; sp_judged_has(&m->judged, run) && c < run->n_cases; c++)
			if (row_of(rows, &run->cases[c]) == SP_INDEX_NONE)
				return -1;
	}
	m->rows = rows->rows;
	m->n_rows = rows->ids.len;
	rows->rows = NULL;
	if (m->n_rows)
		qsort(m->rows, m->n_rows, sizeof(*m->rows), compare_rows);
	/* Numbers by id again, now of the sorted rows. */
	sp_index_done(&rows->ids);
	for (size_t i = 0; i < m->n_rows; i++)
		if (sp_index_put(&rows->ids, m->rows[i].id, NULL) == SP_INDEX_NONE)
			return -1;
	return 0;
}

/* ---- Cells and subjects ---- */

static void put_cell(struct sp_model *m, size_t row, size_t subject, const struct sp_result_case *c)
{
	const struct sp_result_case **cell = &m->cells[row * m->n_subjects + subject];

	if (!*cell || sp_verdict_weight(c->verdict) > sp_verdict_weight((*cell)->verdict))
		*cell = c;
}

static void add_run(struct sp_model *m, const struct rows *rows, const struct sp_results *run)
{
	const char *last = NULL;
	size_t subject = 0;

	for (size_t i = 0; i < run->n_cases; i++) {
		const struct sp_result_case *c = &run->cases[i];

		if (!i || c->subject != last)
			subject = sp_judged_subject(&m->judged, run, c->subject);
		last = c->subject;
		if (!m->subjects[subject].run)
			m->subjects[subject].run = run;
		put_cell(m, sp_index_find(&rows->ids, text_or(c->id, "unnamed")), subject, c);
	}
	for (size_t i = 0; i < run->n_leaks; i++) {
		const char *of = NULL;

		(void)sp_leak_suite(run, &run->leaks[i], &of);
		subject = of ? sp_judged_subject(&m->judged, run, of) : 0;
		if (subject < m->n_subjects)
			m->subjects[subject].leaks++;
	}
}

static int fill_cells(struct sp_model *m, const struct rows *rows)
{
	const struct sp_results_set *set = m->judged.set;

	m->n_subjects = m->judged.subjects.len;
	m->subjects = calloc(m->n_subjects + 1, sizeof(*m->subjects));
	m->cells = calloc(m->n_rows * m->n_subjects + 1, sizeof(*m->cells));
	if (!m->subjects || !m->cells)
		return -1;
	for (size_t i = 0; i < m->n_subjects; i++)
		m->subjects[i].label = m->judged.subjects.keys[i];
	for (size_t i = 0; i < set->n_runs; i++)
		if (sp_judged_has(&m->judged, &set->runs[i]))
			add_run(m, rows, &set->runs[i]);
	for (size_t i = 0; i < m->n_rows * m->n_subjects; i++) {
		struct sp_model_subject *subject = &m->subjects[i % m->n_subjects];
		const struct sp_result_case *c = m->cells[i];

		if (!c)
			continue;
		subject->counts[c->verdict]++;
		subject->n_cases++;
		subject->busy_ms += c->duration_ms > 0 ? c->duration_ms : 0;
	}
	return 0;
}

/* ---- Clauses and suites ---- */

/* Keeps a text for the model's life; NULL without memory. */
static char *keep(struct sp_model *m, char *text)
{
	char **grown = text ? reallocarray(m->texts, m->n_texts + 1, sizeof(*grown)) : NULL;

	if (!grown) {
		free(text);
		return NULL;
	}
	m->texts = grown;
	return grown[m->n_texts++] = text;
}

static struct sp_model_clause *add_clause(struct sp_model *m, const char *suite, const char *clause)
{
	struct sp_model_clause *grown;

	/* Grows at powers of two. */
	if (!(m->n_clauses & (m->n_clauses - 1))) {
		grown =
		    reallocarray(m->clauses, m->n_clauses ? m->n_clauses * 2 : 1, sizeof(*grown));
		if (!grown)
			return NULL;
		m->clauses = grown;
	}
	grown = &m->clauses[m->n_clauses++];
	*grown = (struct sp_model_clause){.suite = suite, .clause = clause};
	return grown;
}

static struct sp_model_clause *find_clause(struct sp_model *m, const char *suite,
					   const char *clause)
{
	for (size_t i = 0; i < m->n_clauses; i++)
		if (!strcmp(m->clauses[i].clause, clause) && !strcmp(m->clauses[i].suite, suite))
			return &m->clauses[i];
	return NULL;
}

/* Clauses that a run names and that no case is of. */
static int add_unselected(struct sp_model *m, const struct sp_results *run)
{
	char *words = run->run.clauses ? keep(m, strdup(run->run.clauses)) : NULL;

	for (char *word = words; word && *word;) {
		char *end = word + strcspn(word, " "), *next = end + (*end == ' ');
		char *colon = memchr(word, ':', (size_t)(end - word));

		*end = '\0';
		if (colon)
			*colon = '\0';
		if (colon && !find_clause(m, word, colon + 1) && !add_clause(m, word, colon + 1))
			return -1;
		word = next;
	}
	return 0;
}

static int compare_clauses(const void *a_, const void *b_)
{
	const struct sp_model_clause *a = a_, *b = b_;
	int order = natural(a->suite, b->suite);

	return order ? order : natural(a->clause, b->clause);
}

static int find_clauses(struct sp_model *m)
{
	const struct sp_results_set *set = m->judged.set;
	const char *last = NULL;

	for (size_t i = 0; i < m->n_rows; i++) {
		const struct sp_model_row *row = &m->rows[i], *before = i ? row - 1 : NULL;

		if (!before || natural(before->suite, row->suite) ||
		    natural(before->clause, row->clause)) {
			struct sp_model_clause *clause = add_clause(m, row->suite, row->clause);

			if (!clause)
				return -1;
			clause->first = i;
		}
		m->clauses[m->n_clauses - 1].n++;
	}
	for (size_t i = 0; i < set->n_runs; i++) {
		const struct sp_results *run = &set->runs[i];

		/* Shards and subjects of one requirement set name the same clauses. */
		if (!sp_judged_has(&m->judged, run) || run->run.clauses == last)
			continue;
		last = run->run.clauses;
		if (add_unselected(m, run))
			return -1;
	}
	if (m->n_clauses)
		qsort(m->clauses, m->n_clauses, sizeof(*m->clauses), compare_clauses);
	return 0;
}

static int find_suites(struct sp_model *m)
{
	m->suites = calloc(m->n_clauses + 1, sizeof(*m->suites));
	if (!m->suites)
		return -1;
	for (size_t i = 0; i < m->n_clauses; i++) {
		if (!i || strcmp(m->clauses[i].suite, m->clauses[i - 1].suite))
			m->suites[m->n_suites++] = (struct sp_model_suite){
			    .suite = m->clauses[i].suite,
			    .first = i,
			};
		m->suites[m->n_suites - 1].n++;
	}
	return 0;
}

/* ---- Defects ---- */

static struct sp_model_defect *defect_of(struct sp_model *m, const char *id)
{
	struct sp_model_defect *grown;

	for (size_t i = 0; i < m->n_defects; i++)
		if (!strcmp(m->defects[i].id, id))
			return &m->defects[i];
	grown = reallocarray(m->defects, m->n_defects + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	m->defects = grown;
	grown[m->n_defects] = (struct sp_model_defect){.id = id, .status = "", .caught_by = ""};
	return &grown[m->n_defects++];
}

static int status_weight(const char *status)
{
	return !strcmp(status, "caught") ? 2 : !strcmp(status, "green") ? 1 : 0;
}

/* The same fault may have been tried on several stacks: where it was caught counts. */
static int put_defect(struct sp_model *m, const struct sp_model_defect *found)
{
	struct sp_model_defect *d = defect_of(m, found->id);

	if (!d)
		return -1;
	if (!*d->status || status_weight(found->status) > status_weight(d->status))
		*d = *found;
	return 0;
}

static bool is_caught(enum sp_verdict verdict)
{
	return verdict == SP_FAIL || verdict == SP_WARN;
}

/* A run with a fault is a proof of its own. */
static int prove_by_run(struct sp_model *m, const struct sp_results *run)
{
	struct sp_buf names SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(NAMES_CEILING);
	struct sp_model_defect d = {.id = run->run.defect, .status = "skip", .suite = ""};

	for (size_t i = 0; i < run->n_cases; i++) {
		const struct sp_result_case *c = &run->cases[i];

		if (!i)
			d.suite = text_or(c->suite, "");
		if (is_caught(c->verdict)) {
			sp_buf_addf(&names, "%s%s", names.len ? " " : "", text_or(c->id, ""));
			if (status_weight(d.status) < 2)
				d.evidence = c->message;
			d.status = "caught";
		} else if (c->verdict != SP_SKIP && status_weight(d.status) < 1) {
			d.status = "green";
		} else if (c->verdict == SP_SKIP && !d.evidence) {
			d.evidence = c->message;
		}
	}
	d.caught_by = keep(m, sp_buf_take(&names, NULL));
	return d.caught_by ? put_defect(m, &d) : -1;
}

static int compare_defects(const void *a_, const void *b_)
{
	const struct sp_model_defect *a = a_, *b = b_;
	int order = status_weight(a->status) - status_weight(b->status);

	/* What nobody saw comes first. */
	if (!strcmp(a->status, "green") != !strcmp(b->status, "green"))
		return !strcmp(a->status, "green") ? -1 : 1;
	return order ? -order : natural(a->id, b->id);
}

static int find_defects(struct sp_model *m)
{
	const struct sp_results_set *set = m->judged.set;

	for (size_t i = 0; i < set->n_runs; i++) {
		const struct sp_results *run = &set->runs[i];

		if (run->run.defect && prove_by_run(m, run))
			return -1;
		for (size_t d = 0; d < run->n_defects; d++) {
			const struct sp_result_defect *line = &run->defects[d];
			struct sp_model_defect found = {
			    line->id,
			    text_or(line->suite, ""),
			    text_or(line->status, "skip"),
			    text_or(line->caught_by, ""),
			    line->evidence,
			};

			if (put_defect(m, &found))
				return -1;
		}
	}
	if (m->n_defects)
		qsort(m->defects, m->n_defects, sizeof(*m->defects), compare_defects);
	return 0;
}

/* ---- The whole ---- */

int sp_model_make(const struct sp_results_set *set, struct sp_model *ret, struct sp_error *err)
{
	struct rows rows = {.ids = SP_INDEX_INIT};
	struct sp_model m = {.mixed = sp_results_same_requirements(set, NULL) != 0};
	int rc = sp_judged_make(set, &m.judged, err);

	if (rc)
		return rc;
	sp_judged_total(&m.judged, &m.total);
	rc = collect_rows(&m, &rows) || fill_cells(&m, &rows) || find_clauses(&m) ||
	     find_suites(&m) || find_defects(&m);
	sp_index_done(&rows.ids);
	free(rows.rows);
	if (rc) {
		sp_model_done(&m);
		return no_memory(err);
	}
	*ret = m;
	return 0;
}

void sp_model_done(struct sp_model *m)
{
	for (size_t i = 0; i < m->n_texts; i++)
		free(m->texts[i]);
	free(m->texts);
	free(m->defects);
	free(m->suites);
	free(m->clauses);
	free(m->cells);
	free(m->rows);
	free(m->subjects);
	sp_judged_done(&m->judged);
	*m = (struct sp_model){.n_rows = 0};
}

const struct sp_result_case *sp_model_cell(const struct sp_model *m, size_t row, size_t subject)
{
	return m->cells[row * m->n_subjects + subject];
}

size_t sp_model_caught(const struct sp_model *m)
{
	size_t caught = 0;

	for (size_t i = 0; i < m->n_defects; i++)
		caught += !strcmp(m->defects[i].status, "caught");
	return caught;
}

static enum sp_exercise exercise_of(const struct sp_model_mark *mark)
{
	if (!mark->n)
		return SP_NOT_SELECTED;
	if (mark->n == mark->counts[SP_SKIP])
		return SP_SKIPPED;
	if (mark->n == mark->counts[SP_SKIP] + mark->counts[SP_ERROR])
		return SP_COULD_NOT;
	return SP_EXERCISED;
}

/* A clause that was exercised is not told by those of its cases that were skipped. */
static int mark_weight(enum sp_verdict verdict)
{
	return verdict == SP_SKIP ? -1 : sp_verdict_weight(verdict);
}

struct sp_model_mark sp_model_mark(const struct sp_model *m, size_t clause, size_t subject)
{
	const struct sp_model_clause *c = &m->clauses[clause];
	struct sp_model_mark mark = {.worst = SP_PASS};

	for (size_t row = c->first; row < c->first + c->n; row++) {
		const struct sp_result_case *cell = sp_model_cell(m, row, subject);

		if (!cell)
			continue;
		mark.counts[cell->verdict]++;
		mark.n++;
		if (!mark.witness || mark_weight(cell->verdict) > mark_weight(mark.worst)) {
			mark.worst = cell->verdict;
			mark.witness = cell;
		}
	}
	mark.exercise = exercise_of(&mark);
	return mark;
}
