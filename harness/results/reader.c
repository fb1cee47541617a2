/* SPDX-License-Identifier: MIT */
#include <results/results.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <base/json.h>
#include <results/fields.h>
#include <results/flat.h>
#include <results/texts.h>

/* Ten MiB of control characters are six times as long in JSON. */
#define LINE_MAX_BYTES (64UL * 1024 * 1024)
#define READ_BYTES (256UL * 1024)
/* How every line begins that begins a run; a quote inside of a JSON string would have a backslash.
 */
#define RUN_HEAD "{\"type\":\"run\","

/* Where the reader is, and where its results go. */
struct reader {
	const char *path;
	size_t line;
	struct sp_error *err;
	struct sp_results_set *set;
	/* Runs that the set had before this file. */
	size_t first;
};

static int bad(const struct reader *r, const char *name, const char *what)
{
	return sp_error_set(r->err, SP_PROTOCOL, "%s, line %zu: \"%s\" %s", r->path, r->line, name,
			    what);
}

static int no_memory(const struct reader *r)
{
	return sp_error_set(r->err, SP_INTERNAL, "no memory to read %s", r->path);
}

/* ---- One member ---- */

static int read_text(const struct reader *r, const struct sp_flat *m, const char *name, char **ret)
{
	struct sp_texts *texts = r->set->texts;
	char *room;

	if (*m->value != '"')
		return bad(r, name, "is not a string");
	room = sp_texts_reserve(texts, m->value_len);
	if (!room)
		return no_memory(r);
	*ret = sp_texts_keep(texts, sp_flat_text(m->value, m->value_len, room));
	return *ret ? 0 : no_memory(r);
}

static int read_words(const struct reader *r, const struct sp_flat *m, const char *name, char **ret)
{
	const char *at = sp_flat_open(m->value, m->value_len, '[');
	char *room = at ? sp_texts_reserve(r->set->texts, m->value_len) : NULL;
	struct sp_flat word;
	size_t len = 0;

	if (!at)
		return bad(r, name, "is not an array");
	if (!room)
		return no_memory(r);
	while (sp_flat_element(&at, &word)) {
		if (*word.value != '"')
			return bad(r, name, "holds something else than strings");
		if (len)
			room[len++] = ' ';
		len += sp_flat_text(word.value, word.value_len, room + len);
	}
	*ret = sp_texts_keep(r->set->texts, len);
	return *ret ? 0 : no_memory(r);
}

static int read_json(const struct reader *r, const struct sp_flat *m, char **ret)
{
	if (m->value_len == 4 && !memcmp(m->value, "null", 4))
		return 0;
	*ret = sp_texts_add(r->set->texts, m->value, m->value_len);
	return *ret ? 0 : no_memory(r);
}

static int read_digits(const struct reader *r, const struct sp_flat *m, const char *name,
		       uint64_t *ret)
{
	char text[24] = "", *end = NULL;
	unsigned long long value;

	if (*m->value == '"' && m->value_len > 2 && m->value_len < sizeof(text) + 2)
		memcpy(text, m->value + 1, m->value_len - 2);
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return bad(r, name, "is not a string of digits");
	*ret = value;
	return 0;
}

/* The scanner has seen to it that no integer is beyond 2^53. */
static bool to_integer(const struct sp_flat *m, int64_t *ret)
{
	const char *at = m->value, *end = at + m->value_len;
	bool negative = *at == '-';
	int64_t value = 0;

	for (at += negative; at < end; at++) {
		if (*at < '0' || *at > '9')
			return false;
		value = value * 10 + (*at - '0');
	}
	*ret = negative ? -value : value;
	return true;
}

static int read_int(const struct reader *r, const struct sp_field *field, const struct sp_flat *m,
		    void *to)
{
	int64_t low = field->kind == SP_FIELD_INT     ? INT_MIN
		      : field->kind == SP_FIELD_INT64 ? INT64_MIN
						      : 0;
	int64_t high = field->kind == SP_FIELD_INT	  ? INT_MAX
		       : field->kind == SP_FIELD_UNSIGNED ? (int64_t)UINT_MAX
							  : INT64_MAX;
	int64_t value;

	if (!to_integer(m, &value))
		return bad(r, field->name, "is not an integer");
	if (value < low || value > high)
		return bad(r, field->name, "is out of range");
	if (field->kind == SP_FIELD_INT)
		*(int *)to = (int)value;
	else if (field->kind == SP_FIELD_UNSIGNED)
		*(unsigned *)to = (unsigned)value;
	else if (field->kind == SP_FIELD_SIZE)
		*(size_t *)to = (size_t)value;
	else
		*(int64_t *)to = value;
	return 0;
}

static int read_bool(const struct reader *r, const struct sp_flat *m, const char *name, bool *ret)
{
	if (*m->value != 't' && *m->value != 'f')
		return bad(r, name, "is not true or false");
	*ret = *m->value == 't';
	return 0;
}

static int read_verdict(const struct reader *r, const struct sp_flat *m, const char *name,
			enum sp_verdict *ret)
{
	char text[16] = "";
	int verdict;

	if (*m->value == '"' && m->value_len > 2 && m->value_len < sizeof(text) + 2)
		memcpy(text, m->value + 1, m->value_len - 2);
	verdict = sp_verdict_from_name(text);
	if (verdict < 0)
		return bad(r, name, "is not a verdict");
	*ret = (enum sp_verdict)verdict;
	return 0;
}

static int read_field(const struct reader *r, const struct sp_field *field, const struct sp_flat *m,
		      void *record)
{
	void *to = (char *)record + field->offset;

	switch (field->kind) {
	case SP_FIELD_TEXT:
		return read_text(r, m, field->name, to);
	case SP_FIELD_WORDS:
		return read_words(r, m, field->name, to);
	case SP_FIELD_JSON:
		return read_json(r, m, to);
	case SP_FIELD_DIGITS:
		return read_digits(r, m, field->name, to);
	case SP_FIELD_INT:
	case SP_FIELD_UNSIGNED:
	case SP_FIELD_INT64:
	case SP_FIELD_UINT64:
	case SP_FIELD_SIZE:
		return read_int(r, field, m, to);
	case SP_FIELD_BOOL:
		return read_bool(r, m, field->name, to);
	case SP_FIELD_VERDICT:
		return read_verdict(r, m, field->name, to);
	}
	return 0;
}

/* ---- One line ---- */

static bool is_named(const struct sp_flat *m, const char *name)
{
	return strlen(name) == m->name_len && !memcmp(m->name, name, m->name_len);
}

/* Index of the field of this name, or n_fields; members mostly come in the table's order, from
 * `guess` on. */
static size_t find_field(const struct sp_line *line, const struct sp_flat *m, size_t guess)
{
	for (size_t i = 0; i < line->n_fields; i++) {
		size_t at = (guess + i) % line->n_fields;

		if (is_named(m, line->fields[at].name))
			return at;
	}
	return line->n_fields;
}

static int read_record(const struct reader *r, enum sp_line_kind kind, const char *object,
		       size_t len, void *record)
{
	const struct sp_line *line = sp_line_of(kind);
	const char *at = sp_flat_open(object, len, '{');
	size_t guess = 0;
	uint32_t seen = 0;
	struct sp_flat m;

	while (sp_flat_member(&at, &m)) {
		size_t i = find_field(line, &m, guess);
		int rc;

		/* A member that a later minor change added. */
		if (i == line->n_fields)
			continue;
		rc = read_field(r, &line->fields[i], &m, record);
		if (rc)
			return rc;
		seen |= UINT32_C(1) << i;
		guess = i + 1;
	}
	for (size_t i = 0; i < line->n_fields; i++)
		if (line->fields[i].required && !(seen >> i & 1))
			return bad(r, line->fields[i].name, "is missing");
	return 0;
}

/* Room for one more element, zeroed; NULL without memory. */
static void *one_more(void *array_, size_t len, size_t size)
{
	void **array = array_;
	char *grown;

	/* Grows at powers of two. */
	if (!(len & (len - 1))) {
		grown = reallocarray(*array, len ? len * 2 : 1, size);
		if (!grown)
			return NULL;
		*array = grown;
	}
	return memset((char *)*array + len * size, 0, size);
}

static int read_element(const struct reader *r, enum sp_line_kind kind, const char *object,
			size_t len, void *array, size_t *n)
{
	void *record = one_more(array, *n, sp_line_of(kind)->size);
	int rc;

	if (!record)
		return no_memory(r);
	rc = read_record(r, kind, object, len, record);
	if (!rc)
		++*n;
	return rc;
}

static void count_case(const struct sp_result_case *result, struct sp_result_end *end)
{
	switch (result->verdict) {
	case SP_PASS:
		end->passed++;
		break;
	case SP_FAIL:
		end->failed++;
		break;
	case SP_WARN:
		end->warned++;
		break;
	case SP_SKIP:
		end->skipped++;
		break;
	case SP_XFAIL:
		end->xfailed++;
		break;
	case SP_XPASS:
		end->xpassed++;
		break;
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		end->errors++;
		break;
	}
}

/* What a cut-off file can still say about its end. */
static void reconstruct_end(struct sp_results *results)
{
	struct sp_result_end *end = &results->end;

	memset(end, 0, sizeof(*end));
	end->leaks = results->n_leaks;
	end->interrupted = true;
	for (size_t i = 0; i < results->n_cases; i++) {
		const struct sp_result_case *result = &results->cases[i];
		int64_t until = result->start + result->duration_ms - results->run.start;

		count_case(result, end);
		if (until > end->duration_ms)
			end->duration_ms = until;
	}
}

static void end_run(struct reader *r)
{
	struct sp_results *run;

	if (r->set->n_runs == r->first)
		return;
	run = &r->set->runs[r->set->n_runs - 1];
	if (!run->complete)
		reconstruct_end(run);
}

static int check_version(const struct reader *r, const char *object, size_t len)
{
	const char *at = sp_flat_open(object, len, '{');
	struct sp_flat m;
	int64_t version;

	while (sp_flat_member(&at, &m)) {
		if (!is_named(&m, "schema_version") || !to_integer(&m, &version))
			continue;
		if (version != SP_RESULTS_SCHEMA_VERSION)
			return sp_error_set(
			    r->err, SP_PROTOCOL,
			    "%s, line %zu: schema_version %lld, and this program reads version %d; "
			    "use the sandproof that wrote it",
			    r->path, r->line, (long long)version, SP_RESULTS_SCHEMA_VERSION);
	}
	return 0;
}

/* A run begins; what was before it, if anything, ended or was cut off. */
static int begin_run(struct reader *r, const char *object, size_t len)
{
	struct sp_results *run;
	int rc = check_version(r, object, len);

	if (rc)
		return rc;
	end_run(r);
	run = one_more(&r->set->runs, r->set->n_runs, sizeof(*run));
	if (!run)
		return no_memory(r);
	r->set->n_runs++;
	run->source = sp_texts_add(r->set->texts, r->path, strlen(r->path));
	if (!run->source)
		return no_memory(r);
	return read_record(r, SP_LINE_RUN, object, len, &run->run);
}

static int read_of_run(struct reader *r, enum sp_line_kind kind, const char *object, size_t len)
{
	struct sp_results *run;

	if (r->set->n_runs == r->first)
		return sp_error_set(r->err, SP_PROTOCOL, "%s does not begin with a run line",
				    r->path);
	run = &r->set->runs[r->set->n_runs - 1];
	if (run->complete)
		return sp_error_set(r->err, SP_PROTOCOL, "%s, line %zu: more after the end",
				    r->path, r->line);
	switch (kind) {
	case SP_LINE_CASE:
		return read_element(r, kind, object, len, &run->cases, &run->n_cases);
	case SP_LINE_LEAK:
		return read_element(r, kind, object, len, &run->leaks, &run->n_leaks);
	case SP_LINE_DEFECT:
		return read_element(r, kind, object, len, &run->defects, &run->n_defects);
	case SP_LINE_END:
		run->complete = true;
		return read_record(r, kind, object, len, &run->end);
	case SP_LINE_RUN:
	case SP_LINE_MAX_:
		break;
	}
	return bad(r, "type", "is not known");
}

static int read_object(struct reader *r, const char *text, size_t len)
{
	const char *at = sp_flat_open(text, len, '{');
	struct sp_flat m;
	int kind = -1;

	if (!at)
		return sp_error_set(r->err, SP_PROTOCOL, "%s, line %zu: not an object", r->path,
				    r->line);
	while (sp_flat_member(&at, &m)) {
		if (!is_named(&m, "type"))
			continue;
		kind = *m.value == '"' ? sp_line_kind_of(m.value + 1, m.value_len - 2) : -1;
		if (kind < 0)
			return bad(r, "type", "is not known");
		break;
	}
	if (kind < 0)
		return bad(r, "type", "is missing");
	return kind == SP_LINE_RUN ? begin_run(r, text, len)
				   : read_of_run(r, (enum sp_line_kind)kind, text, len);
}

/* A file that was cut off and then appended to: half a line, and in the same line the next run. */
static const char *run_behind_a_cut(const char *text, size_t len)
{
	return len > 1 ? memmem(text + 1, len - 1, RUN_HEAD, strlen(RUN_HEAD)) : NULL;
}

static int read_line(struct reader *r, const char *text, size_t len)
{
	struct sp_error why = SP_ERROR_INIT;
	const char *next;

	if (!sp_json_scan(text, len, LINE_MAX_BYTES, &why))
		return read_object(r, text, len);
	next = run_behind_a_cut(text, len);
	if (next)
		return read_line(r, next, len - (size_t)(next - text));
	return sp_error_set(r->err, SP_PROTOCOL, "%s, line %zu: %s", r->path, r->line, why.message);
}

/* ---- A file ---- */

/* Reads whole lines out of the buffer and keeps the rest. */
static int take_lines(struct reader *r, struct sp_buf *buf)
{
	const char *at = buf->data, *end;
	size_t left = buf->len;

	while ((end = memchr(at, '\n', left))) {
		size_t len = (size_t)(end - at);
		int rc;

		r->line++;
		rc = read_line(r, at, len);
		if (rc)
			return rc;
		left -= len + 1;
		at = end + 1;
	}
	sp_buf_consume(buf, buf->len - left);
	return 0;
}

static int read_stream(struct reader *r, int fd)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(LINE_MAX_BYTES + READ_BYTES);

	for (;;) {
		char *room = sp_buf_reserve(&buf, READ_BYTES);
		ssize_t n;
		int rc;

		if (!room)
			return sp_error_set(r->err, SP_PROTOCOL,
					    "%s, line %zu: longer than %lu MiB", r->path,
					    r->line + 1, LINE_MAX_BYTES >> 20);
		n = read(fd, room, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sp_error_set_errno(r->err, errno, "cannot read %s", r->path);
		if (!n)
			break;
		buf.len += (size_t)n;
		rc = take_lines(r, &buf);
		if (rc)
			return rc;
	}
	/* What is left has no newline: the last line of a run that was cut off. */
	if (!r->line)
		return sp_error_set(r->err, SP_PROTOCOL, "%s holds no whole line", r->path);
	end_run(r);
	return 0;
}

static void free_arrays(struct sp_results *run)
{
	free(run->cases);
	free(run->leaks);
	free(run->defects);
}

int sp_results_add(struct sp_results_set *set, const char *path, struct sp_error *err)
{
	struct reader r = {.path = path, .err = err, .set = set, .first = set->n_runs};
	int fd, rc;

	if (!set->texts)
		set->texts = sp_texts_new();
	if (!set->texts)
		return no_memory(&r);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return sp_error_set_errno(err, errno, "cannot read %s", path);
	rc = read_stream(&r, fd);
	close(fd);
	while (rc && set->n_runs > r.first)
		free_arrays(&set->runs[--set->n_runs]);
	return rc;
}

void sp_results_set_done(struct sp_results_set *set)
{
	for (size_t i = 0; i < set->n_runs; i++)
		free_arrays(&set->runs[i]);
	free(set->runs);
	sp_texts_free(set->texts);
	*set = (struct sp_results_set)SP_RESULTS_SET_INIT;
}

int sp_results_read(const char *path, struct sp_results *ret_results, struct sp_error *err)
{
	struct sp_results_set set = SP_RESULTS_SET_INIT;
	int rc = sp_results_add(&set, path, err);

	if (!rc) {
		*ret_results = set.runs[--set.n_runs];
		ret_results->texts = set.texts;
		set.texts = NULL;
	}
	sp_results_set_done(&set);
	return rc;
}

void sp_results_done(struct sp_results *results)
{
	free_arrays(results);
	sp_texts_free(results->texts);
	memset(results, 0, sizeof(*results));
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Shards and repeats may share a beginning; two runs never share when each of their cases began. */
static bool is_copy(const struct sp_results *a, const struct sp_results *b)
{
	if (a->run.start != b->run.start || a->run.seed != b->run.seed ||
	    a->n_cases != b->n_cases || a->n_leaks != b->n_leaks || a->n_defects != b->n_defects ||
	    a->complete != b->complete || a->end.duration_ms != b->end.duration_ms ||
	    !same_text(a->run.suite_version, b->run.suite_version) ||
	    !same_text(a->run.requirements_sha256, b->run.requirements_sha256) ||
	    !same_text(a->run.subjects, b->run.subjects) ||
	    !same_text(a->run.host, b->run.host) || !same_text(a->run.defect, b->run.defect))
		return false;
	for (size_t i = 0; i < a->n_cases; i++)
		if (a->cases[i].start != b->cases[i].start ||
		    a->cases[i].duration_ms != b->cases[i].duration_ms ||
		    a->cases[i].verdict != b->cases[i].verdict ||
		    !same_text(a->cases[i].id, b->cases[i].id) ||
		    !same_text(a->cases[i].subject, b->cases[i].subject))
			return false;
	for (size_t i = 0; i < a->n_defects; i++)
		if (!same_text(a->defects[i].id, b->defects[i].id))
			return false;
	return true;
}

size_t sp_results_drop_copies(struct sp_results_set *set, size_t first)
{
	size_t kept = first, dropped;

	for (size_t i = first; i < set->n_runs; i++) {
		bool copy = false;

		for (size_t k = 0; k < kept && !copy; k++)
			copy = is_copy(&set->runs[k], &set->runs[i]);
		if (copy)
			free_arrays(&set->runs[i]);
		else
			set->runs[kept++] = set->runs[i];
	}
	dropped = set->n_runs - kept;
	set->n_runs = kept;
	return dropped;
}

int sp_results_same_requirements(const struct sp_results_set *set, struct sp_error *err)
{
	const struct sp_results *a = set->n_runs ? &set->runs[0] : NULL;

	for (size_t i = 1; i < set->n_runs; i++) {
		const struct sp_results *b = &set->runs[i];

		if (strcmp(a->run.requirements_sha256, b->run.requirements_sha256) ||
		    strcmp(a->run.suite_version, b->run.suite_version))
			return sp_error_set(
			    err, SP_CONFLICT,
			    "two requirement sets: %s was judged by version %s (%.12s), %s by "
			    "version "
			    "%s (%.12s); run both with the same suites, or merge them all the same "
			    "with --mixed",
			    a->source ? a->source : "one run", a->run.suite_version,
			    a->run.requirements_sha256, b->source ? b->source : "another",
			    b->run.suite_version, b->run.requirements_sha256);
	}
	return 0;
}
