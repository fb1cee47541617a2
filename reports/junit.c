/* SPDX-License-Identifier: MIT */
#include <reports/junit.h>

#include <errno.h>
#include <search.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/utf8.h>
#include <reports/xml.h>

/* One file in memory; the split keeps real ones far below it. */
#define FILE_CEILING ((size_t)1 << 30)
/* What consumers keep of a failing case's text (Jenkins: 100,000 characters). */
#define TEXT_MAX (64 * 1024)
/* A message is a headline. */
#define MESSAGE_MAX 300
/* Opening tags, properties and closing tags of one suite, generously. */
#define SUITE_OVERHEAD 4096
/* First words of a further part, by which a stale one is known again. */
#define PART_MARK "<!-- sandproof: part "

struct counts {
	size_t tests, failures, errors, skipped;
	int64_t ms;
};

struct writer {
	const struct sp_results *results;
	const char *path;
	struct sp_junit_limits limits;
	unsigned part;
	/* Suites of this part that are finished, the open one's testcases, and its counts. */
	struct sp_buf done, suite;
	const char *suite_name;
	struct counts counts;
	/* Testcases and suites of this part. */
	size_t n_cases, n_suites;
	/* Every "classname name" that was given out (tsearch). */
	void *names;
};

/* ---- Pieces of XML ---- */

static void add_attribute(struct sp_buf *buf, const char *name, const char *value)
{
	sp_buf_addf(buf, " %s=\"", name);
	sp_xml_attribute(buf, value);
	sp_buf_addc(buf, '"');
}

static void add_time(struct sp_buf *buf, int64_t ms)
{
	if (ms < 0)
		ms = 0;
	/* By integers: no locale has a say in the dot. */
	sp_buf_addf(buf, " time=\"%lld.%03lld\"", (long long)(ms / 1000), (long long)(ms % 1000));
}

static void add_property(struct sp_buf *buf, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	sp_buf_adds(buf, "   <property");
	add_attribute(buf, "name", name);
	add_attribute(buf, "value", value);
	sp_buf_adds(buf, "/>\n");
}

/* Cleaned text, cut at a character; what was cut is said. */
static void add_bounded(struct sp_buf *buf, const char *text, size_t max)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	size_t keep;

	sp_xml_clean(&clean, text, strlen(text));
	keep = sp_utf8_cut(sp_buf_str(&clean), clean.len, max);
	sp_buf_add(buf, sp_buf_str(&clean), keep);
	if (keep < clean.len)
		sp_buf_addf(buf, "\n[%zu more bytes]", clean.len - keep);
}

/* First line, short enough for a headline. */
static void add_headline(struct sp_buf *buf, const char *text)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	size_t keep;

	text += strspn(text, "\r\n");
	sp_xml_clean(&clean, text, strcspn(text, "\r\n"));
	keep = sp_utf8_cut(sp_buf_str(&clean), clean.len, MESSAGE_MAX);
	sp_buf_add(buf, sp_buf_str(&clean), keep);
	if (keep < clean.len)
		sp_buf_adds(buf, "...");
}

/* <tag message="first line" type="…">text</tag> */
static void add_outcome(struct sp_buf *buf, const char *tag, const char *type, const char *message,
			const char *body)
{
	struct sp_buf headline SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	add_headline(&headline, message && *message ? message : "no message");
	sp_buf_addf(buf, "   <%s", tag);
	add_attribute(buf, "message", sp_buf_str(&headline));
	if (type)
		add_attribute(buf, "type", type);
	sp_buf_addc(buf, '>');
	sp_xml_text(buf, body && *body ? body : sp_buf_str(&headline));
	sp_buf_addf(buf, "</%s>\n", tag);
}

/* ---- Unique names ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* True when "classname name" was free, and is taken now. */
static bool take_name(struct writer *w, const char *classname, const char *name)
{
	struct sp_buf key SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	char *copy;
	void *node;

	sp_buf_addf(&key, "%s\n%s", classname, name);
	copy = sp_buf_take(&key, NULL);
	node = copy ? tsearch(copy, &w->names, compare_names) : NULL;
	if (node && *(char **)node == copy)
		return true;
	free(copy);
	return !node; /* Without memory uniqueness is given up rather than the report. */
}

/*
 * Appends the name under which a testcase appears: consumers keep only the first of two equal
 * ones.
 */
static void add_unique_name(struct writer *w, const char *classname, const char *name,
			    const char *subject, struct sp_buf *ret)
{
	sp_buf_adds(ret, name);
	if (take_name(w, classname, sp_buf_str(ret)))
		return;
	if (subject && *subject) {
		sp_buf_addf(ret, " [%s]", subject);
		if (take_name(w, classname, sp_buf_str(ret)))
			return;
	}
	for (unsigned n = 2;; n++) {
		struct sp_buf numbered SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);

		sp_buf_addf(&numbered, "%s #%u", sp_buf_str(ret), n);
		if (!take_name(w, classname, sp_buf_str(&numbered)))
			continue;
		sp_buf_clear(ret);
		sp_buf_adds(ret, sp_buf_str(&numbered));
		return;
	}
}

/* ---- Suites and files ---- */

static void add_properties(struct sp_buf *buf, const struct sp_results *results)
{
	const struct sp_result_run *run = &results->run;
	char seed[32];

	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)run->seed);
	sp_buf_adds(buf, "  <properties>\n");
	add_property(buf, "subjects", run->subjects);
	add_property(buf, "sandproof_version", run->program_version);
	add_property(buf, "suite_version", run->suite_version);
	add_property(buf, "requirements_sha256", run->requirements_sha256);
	add_property(buf, "seed", seed);
	add_property(buf, "defect", run->defect);
	add_property(buf, "complete",
		     results->complete && !results->end.interrupted ? "true" : "false");
	sp_buf_adds(buf, "  </properties>\n");
}

static void close_suite(struct writer *w)
{
	const struct counts *c = &w->counts;
	char stamp[32] = "";

	if (!c->tests)
		return;
	sp_wall_format(w->results->run.start, stamp, sizeof(stamp));
	stamp[strcspn(stamp, "Z")] = '\0';
	sp_buf_adds(&w->done, " <testsuite");
	add_attribute(&w->done, "name", w->suite_name);
	add_attribute(&w->done, "timestamp", stamp);
	add_attribute(&w->done, "hostname", w->results->run.host);
	sp_buf_addf(&w->done,
		    " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" id=\"%zu\"",
		    c->tests, c->failures, c->errors, c->skipped, w->n_suites++);
	add_attribute(&w->done, "package", "sandproof");
	add_time(&w->done, c->ms);
	sp_buf_adds(&w->done, ">\n");
	add_properties(&w->done, w->results);
	sp_buf_add(&w->done, sp_buf_str(&w->suite), w->suite.len);
	sp_buf_adds(&w->done, " </testsuite>\n");
	sp_buf_clear(&w->suite);
	w->counts = (struct counts){ 0 };
}

/* "out.xml" and 2 to "out.2.xml"; part 1 is the path itself. */
static char *part_path(const char *path, unsigned part)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	char *made = NULL;

	if (part == 1)
		return strdup(path);
	if (!dot || dot == base)
		dot = base + strlen(base);
	if (asprintf(&made, "%.*s.%u%s", (int)(dot - path), path, part, dot) < 0)
		return NULL;
	return made;
}

/* Writes what is collected as one file and starts the next. */
static int flush_part(struct writer *w, struct sp_error *err)
{
	struct sp_buf file SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	char *path SP_FREE = NULL;
	int rc;

	close_suite(w);
	w->part++;
	sp_buf_adds(&file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	if (w->part > 1)
		sp_buf_addf(&file, PART_MARK "%u -->\n", w->part);
	sp_buf_adds(&file, "<testsuites>\n");
	sp_buf_add(&file, sp_buf_str(&w->done), w->done.len);
	sp_buf_adds(&file, "</testsuites>\n");
	path = part_path(w->path, w->part);
	if (file.error || w->done.error || w->suite.error || !path)
		return sp_error_set(err, SP_INTERNAL, "the JUnit report %s is too large for memory",
				    w->path);
	sp_buf_clear(&w->done);
	w->n_cases = w->n_suites = 0;
	if (strcmp(w->path, "-"))
		return sp_write_file(path, sp_buf_str(&file), file.len, 0644, err);
	rc = sp_write_all(STDOUT_FILENO, sp_buf_str(&file), file.len);
	return rc ? sp_error_set_errno(err, -rc, "cannot write the report to standard output") : 0;
}

/* Removes the parts that an earlier, longer report left: a consumer would merge them. */
static void remove_stale_parts(const struct writer *w)
{
	for (unsigned part = w->part + 1;; part++) {
		char *path SP_FREE = part_path(w->path, part), head[128] = "";
		FILE *file = path ? fopen(path, "re") : NULL;
		size_t n;

		if (!file)
			return;
		n = fread(head, 1, sizeof(head) - 1, file);
		fclose(file);
		head[n] = '\0';
		if (!strstr(head, PART_MARK) || unlink(path))
			return;
	}
}

/* Adds one rendered testcase, in the next file when this one is full. */
static int add_testcase(struct writer *w, const struct sp_buf *testcase,
			const struct counts *counts, struct sp_error *err)
{
	size_t bytes = w->done.len + w->suite.len + testcase->len + 2 * SUITE_OVERHEAD;
	bool full = w->n_cases >= w->limits.max_cases || bytes > w->limits.max_bytes;

	if (testcase->error)
		return sp_error_set(err, SP_INTERNAL, "a testcase of %s is too large for memory",
				    w->path);
	if (full && w->n_cases && strcmp(w->path, "-")) {
		int rc = flush_part(w, err);

		if (rc)
			return rc;
	}
	sp_buf_add(&w->suite, sp_buf_str(testcase), testcase->len);
	w->n_cases++;
	w->counts.tests++;
	w->counts.failures += counts->failures;
	w->counts.errors += counts->errors;
	w->counts.skipped += counts->skipped;
	w->counts.ms += counts->ms > 0 ? counts->ms : 0;
	return 0;
}

/* ---- Cases ---- */

static void add_line(struct sp_buf *body, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	sp_buf_addf(body, "%s: ", label);
	add_bounded(body, text, TEXT_MAX);
	sp_buf_addc(body, '\n');
}

/* The whole evidence as text: GitLab shows nothing else. */
static void add_evidence(struct sp_buf *body, const struct sp_result_case *c)
{
	sp_buf_addc(body, '\n');
	add_bounded(body, c->message ? c->message : "", TEXT_MAX);
	sp_buf_addf(body, "\n\nclause: %s %s (%s)\n", c->suite ? c->suite : "",
		    c->clause ? c->clause : "", c->level ? c->level : "");
	add_line(body, "subject", c->subject);
	add_line(body, "expected", c->expected);
	add_line(body, "actual", c->actual);
	if (c->file && *c->file)
		sp_buf_addf(body, "at: %s:%d\n", c->file, c->line);
	add_line(body, "run again", c->rerun);
	if (c->dialogue && *c->dialogue) {
		sp_buf_adds(body, "\ndialogue:\n");
		add_bounded(body, c->dialogue, TEXT_MAX);
		sp_buf_addc(body, '\n');
	}
}

static void add_verdict(struct sp_buf *out, const struct sp_result_case *c, struct counts *counts)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);

	switch (c->verdict) {
	case SP_PASS:
	case SP_VERDICT_MAX_:
		break;
	case SP_WARN:
		add_evidence(&body, c);
		sp_buf_adds(out, "   <system-out>");
		sp_xml_text(out, sp_buf_str(&body));
		sp_buf_adds(out, "</system-out>\n");
		break;
	case SP_FAIL:
	case SP_XPASS:
		counts->failures = 1;
		add_evidence(&body, c);
		add_outcome(out, "failure", sp_verdict_name(c->verdict), c->message,
			    sp_buf_str(&body));
		break;
	case SP_SKIP:
	case SP_XFAIL:
		counts->skipped = 1;
		add_outcome(out, "skipped", NULL, c->message, c->message);
		break;
	case SP_ERROR:
		counts->errors = 1;
		add_evidence(&body, c);
		add_outcome(out, "error", "error", c->message, sp_buf_str(&body));
		break;
	}
	if (body.error && !out->error)
		out->error = body.error;
}

static void open_testcase(struct writer *w, struct sp_buf *out, const char *name,
			  const char *subject, int64_t ms)
{
	struct sp_buf classname SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf unique SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);

	sp_buf_addf(&classname, "sandproof.%s", w->suite_name);
	add_unique_name(w, sp_buf_str(&classname), name && *name ? name : "unnamed", subject,
			&unique);
	sp_buf_adds(out, "  <testcase");
	add_attribute(out, "name", sp_buf_str(&unique));
	add_attribute(out, "classname", sp_buf_str(&classname));
	add_time(out, ms);
}

static int add_case(struct writer *w, const struct sp_result_case *c, struct sp_error *err)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	struct sp_buf inner SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	struct counts counts = { .ms = c->duration_ms };

	open_testcase(w, &out, c->id, c->subject, c->duration_ms);
	if (c->file && *c->file) {
		add_attribute(&out, "file", c->file);
		sp_buf_addf(&out, " line=\"%d\"", c->line);
	}
	add_verdict(&inner, c, &counts);
	if (inner.error)
		out.error = inner.error;
	if (inner.len) {
		sp_buf_adds(&out, ">\n");
		sp_buf_add(&out, sp_buf_str(&inner), inner.len);
		sp_buf_adds(&out, "  </testcase>\n");
	} else {
		sp_buf_adds(&out, "/>\n");
	}
	return add_testcase(w, &out, &counts, err);
}

/* A testcase that is not a case: a leak, or the run itself. */
static int add_extra(struct writer *w, const char *name, const char *tag, const char *message,
		     const char *body, struct sp_error *err)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	bool failure = !strcmp(tag, "failure");
	struct counts counts = { .failures = failure, .errors = !failure };

	open_testcase(w, &out, name, NULL, 0);
	sp_buf_adds(&out, ">\n");
	add_outcome(&out, tag, failure ? "leak" : "error", message, body);
	sp_buf_adds(&out, "  </testcase>\n");
	return add_testcase(w, &out, &counts, err);
}

/* ---- Leaks ---- */

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* All that one case left behind is one testcase. */
static int add_leak(struct writer *w, const struct sp_result_leak *leak, struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf message SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	const struct sp_results *r = w->results;

	for (size_t i = 0; i < r->n_leaks; i++) {
		if (!same_text(r->leaks[i].id, leak->id))
			continue;
		sp_buf_addf(&body, "\n%s: ", r->leaks[i].kind ? r->leaks[i].kind : "leak");
		add_bounded(&body, r->leaks[i].message ? r->leaks[i].message : "", TEXT_MAX);
	}
	sp_buf_addc(&body, '\n');
	sp_buf_addf(&message, "left behind (%s): %s", leak->kind ? leak->kind : "leak",
		    leak->message ? leak->message : "");
	sp_buf_addf(&name, "leak.%s", leak->id && *leak->id ? leak->id : "run");
	return add_extra(w, sp_buf_str(&name), "failure", sp_buf_str(&message), sp_buf_str(&body),
			 err);
}

/* Suite under which a leak is reported: the one of its case, else "leaks". */
static const char *leak_suite(const struct sp_results *results, const struct sp_result_leak *leak)
{
	for (size_t i = 0; leak->id && i < results->n_cases; i++)
		if (same_text(results->cases[i].id, leak->id) && results->cases[i].suite)
			return results->cases[i].suite;
	return "leaks";
}

static bool is_first_leak(const struct sp_results *results, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (same_text(results->leaks[i].id, results->leaks[at].id))
			return false;
	return true;
}

/* ---- The report ---- */

static const char *case_suite(const struct sp_result_case *c)
{
	return c->suite && *c->suite ? c->suite : "unnamed";
}

/* Cases and leaks of one suite. */
static int add_suite(struct writer *w, const char *suite, struct sp_error *err)
{
	const struct sp_results *r = w->results;
	int rc = 0;

	close_suite(w);
	w->suite_name = suite;
	for (size_t i = 0; !rc && i < r->n_cases; i++)
		if (!strcmp(case_suite(&r->cases[i]), suite))
			rc = add_case(w, &r->cases[i], err);
	for (size_t i = 0; !rc && i < r->n_leaks; i++)
		if (!strcmp(leak_suite(r, &r->leaks[i]), suite) && is_first_leak(r, i))
			rc = add_leak(w, &r->leaks[i], err);
	return rc;
}

static bool is_first_of_suite(const struct sp_results *results, size_t at)
{
	for (size_t i = at; i-- > 0;)
		if (!strcmp(case_suite(&results->cases[i]), case_suite(&results->cases[at])))
			return false;
	return true;
}

static int add_run(struct writer *w, struct sp_error *err)
{
	const struct sp_results *r = w->results;
	const char *why = r->complete ? "the run was interrupted: not every case has a result" :
					"the run was cut off: not every case has a result";

	if (r->complete && !r->end.interrupted)
		return 0;
	close_suite(w);
	w->suite_name = "run";
	return add_extra(w, "complete", "error", why, why, err);
}

static int write_all(struct writer *w, struct sp_error *err)
{
	const struct sp_results *r = w->results;
	bool others = false;
	int rc = 0;

	for (size_t i = 0; !rc && i < r->n_cases; i++)
		if (is_first_of_suite(r, i))
			rc = add_suite(w, case_suite(&r->cases[i]), err);
	for (size_t i = 0; i < r->n_leaks; i++)
		others |= !strcmp(leak_suite(r, &r->leaks[i]), "leaks");
	if (!rc && others)
		rc = add_suite(w, "leaks", err);
	if (!rc)
		rc = add_run(w, err);
	return rc ? rc : flush_part(w, err);
}

int sp_junit_write(const struct sp_results *results, const char *path,
		   const struct sp_junit_limits *limits, unsigned *ret_files, struct sp_error *err)
{
	struct writer w = {
		.results = results,
		.path = path,
		.limits = { limits && limits->max_cases ? limits->max_cases : SP_JUNIT_MAX_CASES,
			    limits && limits->max_bytes ? limits->max_bytes : SP_JUNIT_MAX_BYTES },
		.done = SP_BUF_INIT(FILE_CEILING),
		.suite = SP_BUF_INIT(FILE_CEILING),
	};
	int rc = write_all(&w, err);

	tdestroy(w.names, free);
	sp_buf_done(&w.done);
	sp_buf_done(&w.suite);
	if (rc)
		return rc;
	if (strcmp(path, "-"))
		remove_stale_parts(&w);
	if (ret_files)
		*ret_files = w.part;
	return 0;
}
