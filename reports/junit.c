/* SPDX-License-Identifier: MIT */
#include <reports/junit.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/utf8.h>
#include <reports/index.h>
#include <reports/judged.h>
#include <reports/out.h>
#include <reports/xml.h>

/* One suite in memory; the split keeps real ones far below it. */
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
	struct sp_judged judged;
	const char *path;
	struct sp_junit_limits limits;
	/* The open part, if any, and its number. */
	struct sp_out out;
	unsigned part;
	char *part_path;
	/* The open suite: its testcases, counts, and the first run that is in it. */
	struct sp_buf suite;
	const char *suite_name, *label;
	struct counts counts;
	const struct sp_results *run;
	/* Testcases and suites of this part. */
	size_t n_cases, n_suites;
	/* Suites of all cases as "suite\nlabel", and the number of each case in that list. */
	struct sp_index groups;
	char **group_names;
	size_t n_group_names;
	/* There was no memory for what has to be in the report. */
	bool lost;
	/* Every "classname\nname" that was given out, as hashes. */
	struct name_set {
		uint64_t *slots;
		size_t size, len;
	} names;
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
	sp_buf_inherit(buf, &clean);
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
	sp_buf_inherit(buf, &clean);
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
	sp_buf_inherit(buf, &headline);
	sp_buf_addf(buf, "   <%s", tag);
	add_attribute(buf, "message", sp_buf_str(&headline));
	if (type)
		add_attribute(buf, "type", type);
	sp_buf_addc(buf, '>');
	sp_xml_text(buf, body && *body ? body : sp_buf_str(&headline));
	sp_buf_addf(buf, "</%s>\n", tag);
}

/* ---- Unique names ---- */

static uint64_t add_hash(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (h ^ '\n') * UINT64_C(0x100000001b3);
}

/* True when the hash was not there, and is now. */
static bool put_hash(struct name_set *set, uint64_t h)
{
	size_t at = (h ^ h >> 32) & (set->size - 1);

	while (set->slots[at] && set->slots[at] != h)
		at = (at + 1) & (set->size - 1);
	if (set->slots[at])
		return false;
	set->slots[at] = h;
	set->len++;
	return true;
}

static bool grow_names(struct name_set *set)
{
	struct name_set grown = {.size = set->size ? set->size * 2 : 256};

	if (set->len * 3 < set->size * 2)
		return true;
	grown.slots = calloc(grown.size, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < set->size; i++)
		if (set->slots[i])
			put_hash(&grown, set->slots[i]);
	free(set->slots);
	*set = grown;
	return true;
}

/*
 * True when "classname name" was free, and is taken now. Only a hash is kept: should two ever meet,
 * a name gets a number that it would not have needed.
 */
static bool take_name(struct writer *w, const char *classname, const char *name)
{
	uint64_t h = add_hash(add_hash(UINT64_C(0xcbf29ce484222325), classname), name);

	/* Of two equal names a consumer drops one: without memory for them the report is lost. */
	if (!grow_names(&w->names)) {
		w->lost = true;
		return true;
	}
	return put_hash(&w->names, h ? h : 1);
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
		sp_buf_inherit(ret, &numbered);
		if (!ret->error && !take_name(w, classname, sp_buf_str(&numbered)))
			continue;
		ret->len = 0;
		sp_buf_adds(ret, sp_buf_str(&numbered));
		return;
	}
}

/* ---- Suites and files ---- */

/* Seeds of all runs that are reported, since a shard has its own. */
static void add_seeds(struct sp_buf *seeds, const struct sp_judged *judged)
{
	for (size_t i = 0; i < judged->set->n_runs; i++)
		if (sp_judged_has(judged, &judged->set->runs[i]))
			sp_buf_addf(seeds, "%s%llu", seeds->len ? " " : "",
				    (unsigned long long)judged->set->runs[i].run.seed);
}

static void add_properties(struct sp_buf *buf, const struct writer *w)
{
	const struct sp_result_run *run = &w->run->run;
	struct sp_buf seeds SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_result_end total;

	add_seeds(&seeds, &w->judged);
	sp_judged_total(&w->judged, &total);
	sp_buf_adds(buf, "  <properties>\n");
	add_property(buf, "subjects", run->subjects);
	add_property(buf, "sandproof_version", run->program_version);
	add_property(buf, "suite_version", run->suite_version);
	add_property(buf, "requirements_sha256", run->requirements_sha256);
	if (sp_results_same_requirements(w->judged.set, NULL))
		add_property(buf, "requirements", "mixed");
	add_property(buf, "seed", sp_buf_str(&seeds));
	sp_buf_inherit(buf, &seeds);
	add_property(buf, "defect", run->defect);
	add_property(buf, "complete", total.interrupted ? "false" : "true");
	sp_buf_adds(buf, "  </properties>\n");
}

/* Name of the suite as it is shown: with its subject where there are several. */
static void add_suite_name(struct sp_buf *buf, const struct writer *w)
{
	sp_buf_adds(buf, w->suite_name);
	if (w->label)
		sp_buf_addf(buf, " [%s]", w->label);
}

static void close_suite(struct writer *w)
{
	struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf *to = &w->out.buf;
	const struct counts *c = &w->counts;
	char stamp[32] = "";

	if (!c->tests)
		return;
	add_suite_name(&name, w);
	sp_wall_format(w->run->run.start, stamp, sizeof(stamp));
	stamp[strcspn(stamp, "Z")] = '\0';
	sp_buf_adds(to, " <testsuite");
	add_attribute(to, "name", sp_buf_str(&name));
	sp_buf_inherit(to, &name);
	sp_buf_inherit(to, &w->suite);
	add_attribute(to, "timestamp", stamp);
	add_attribute(to, "hostname", w->run->run.host);
	sp_buf_addf(to, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" id=\"%zu\"",
		    c->tests, c->failures, c->errors, c->skipped, w->n_suites++);
	add_attribute(to, "package", "sandproof");
	add_time(to, c->ms);
	sp_buf_adds(to, ">\n");
	add_properties(to, w);
	sp_out_write(&w->out, w->suite.data, w->suite.len);
	sp_buf_clear(&w->suite);
	sp_buf_adds(to, " </testsuite>\n");
	w->counts = (struct counts){0};
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

/* Opens the part that the next suite goes to, unless one is open. */
static int open_part(struct writer *w, struct sp_error *err)
{
	int rc;

	if (w->out.fd >= 0)
		return 0;
	w->part++;
	free(w->part_path);
	w->part_path = part_path(w->path, w->part);
	if (!w->part_path)
		return sp_error_set(err, SP_INTERNAL, "no memory for the report %s", w->path);
	rc = sp_out_open(&w->out, w->part_path, err);
	if (rc)
		return rc;
	w->out.buf.ceiling = FILE_CEILING;
	sp_buf_adds(&w->out.buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	if (w->part > 1)
		sp_buf_addf(&w->out.buf, PART_MARK "%u -->\n", w->part);
	sp_buf_adds(&w->out.buf, "<testsuites>\n");
	return 0;
}

/* Ends the open part. */
static int close_part(struct writer *w, struct sp_error *err)
{
	int rc = open_part(w, err);

	if (rc)
		return rc;
	close_suite(w);
	sp_buf_adds(&w->out.buf, "</testsuites>\n");
	w->n_cases = w->n_suites = 0;
	rc = sp_out_close(&w->out, err);
	sp_out_done(&w->out);
	return rc;
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
	uint64_t bytes =
	    w->out.written + w->out.buf.len + w->suite.len + testcase->len + 2 * SUITE_OVERHEAD;
	bool full = w->n_cases >= w->limits.max_cases || bytes > w->limits.max_bytes;
	int rc = 0;

	if (testcase->error)
		return sp_error_set(err, SP_INTERNAL, "a testcase of %s is too large for memory",
				    w->path);
	if (full && w->n_cases && strcmp(w->path, "-"))
		rc = close_part(w, err);
	if (!rc)
		rc = open_part(w, err);
	if (rc)
		return rc;
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
	sp_buf_inherit(out, &body);
}

/* Jenkins takes everything before the last dot of a classname for a package. */
static void add_classname(struct sp_buf *buf, const struct writer *w)
{
	sp_buf_addf(buf, "sandproof.%s", w->suite_name);
	if (!w->label)
		return;
	sp_buf_adds(buf, " [");
	for (const char *p = w->label; *p; p++)
		sp_buf_addc(buf, *p == '.' ? '_' : *p);
	sp_buf_addc(buf, ']');
}

static void open_testcase(struct writer *w, struct sp_buf *out, const char *name,
			  const char *subject, int64_t ms)
{
	struct sp_buf classname SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf unique SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);

	add_classname(&classname, w);
	add_unique_name(w, sp_buf_str(&classname), name && *name ? name : "unnamed",
			w->label ? NULL : subject, &unique);
	sp_buf_adds(out, "  <testcase");
	add_attribute(out, "name", sp_buf_str(&unique));
	add_attribute(out, "classname", sp_buf_str(&classname));
	sp_buf_inherit(out, &classname);
	sp_buf_inherit(out, &unique);
	add_time(out, ms);
}

static int add_case(struct writer *w, const struct sp_result_case *c, struct sp_error *err)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	struct sp_buf inner SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	struct counts counts = {.ms = c->duration_ms};

	open_testcase(w, &out, c->id, c->subject, c->duration_ms);
	if (c->file && *c->file) {
		add_attribute(&out, "file", c->file);
		sp_buf_addf(&out, " line=\"%d\"", c->line);
	}
	add_verdict(&inner, c, &counts);
	sp_buf_inherit(&out, &inner);
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
	struct counts counts = {.failures = failure, .errors = !failure};

	open_testcase(w, &out, name, NULL, 0);
	sp_buf_adds(&out, ">\n");
	add_outcome(&out, tag, failure ? "leak" : "error", message, body);
	sp_buf_adds(&out, "  </testcase>\n");
	return add_testcase(w, &out, &counts, err);
}

/* ---- Leaks ---- */

static int no_memory(const struct writer *w, struct sp_error *err)
{
	return sp_error_set(err, SP_INTERNAL, "no memory for the report %s", w->path);
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* All that one case left behind is one testcase. */
static int add_leak(struct writer *w, const struct sp_results *r, const struct sp_result_leak *leak,
		    struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf message SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);

	for (const struct sp_result_leak *l = leak; l < r->leaks + r->n_leaks; l++) {
		if (!same_text(l->id, leak->id))
			continue;
		sp_buf_addf(&body, "\nleft behind: %s: ", l->kind ? l->kind : "leak");
		add_bounded(&body, l->message ? l->message : "", TEXT_MAX);
	}
	sp_buf_addc(&body, '\n');
	sp_buf_addf(&message, "left behind: %s: %s", leak->kind ? leak->kind : "leak",
		    leak->message ? leak->message : "");
	sp_buf_addf(&name, "leak.%s", leak->id && *leak->id ? leak->id : "run");
	if (body.error || message.error || name.error)
		return no_memory(w, err);
	return add_extra(w, sp_buf_str(&name), "failure", sp_buf_str(&message), sp_buf_str(&body),
			 err);
}

/* ---- The report ---- */

static const char *case_suite(const struct sp_result_case *c)
{
	return c->suite && *c->suite ? c->suite : "unnamed";
}

/* Room for one more name, so that a key that is in the index has an owner. */
static bool grow_group_names(struct writer *w)
{
	char **grown = reallocarray(w->group_names, w->n_group_names + 1, sizeof(*grown));

	if (grown)
		w->group_names = grown;
	return grown;
}

/* Number of the group that a suite of a subject is, put in if it is not there; its key is kept by
 * the writer. Without memory the report is lost. */
static size_t group_of(struct writer *w, const char *suite, const char *label)
{
	char *key SP_FREE = NULL;
	bool is_new = false;
	size_t at = SP_INDEX_NONE;

	if (asprintf(&key, "%s\n%s", suite, label ? label : "") < 0)
		key = NULL;
	if (key && grow_group_names(w))
		at = sp_index_put(&w->groups, key, &is_new);
	if (is_new)
		w->group_names[w->n_group_names++] = SP_TAKE(key);
	w->lost |= at == SP_INDEX_NONE;
	return at;
}

/* Where the writer is while it looks for what belongs to one group. */
struct group_pass {
	size_t group;
	/* What the last case was, since neighbours are mostly of one group. */
	const char *suite, *subject;
	size_t last;
};

static size_t case_group(struct writer *w, const struct sp_results *r,
			 const struct sp_result_case *c, struct group_pass *pass)
{
	if (!pass->suite || pass->suite != c->suite || pass->subject != c->subject) {
		pass->suite = c->suite;
		pass->subject = c->subject;
		pass->last = group_of(w, case_suite(c), sp_judged_label(&w->judged, r, c->subject));
	}
	return pass->last;
}

static void open_suite(struct writer *w, const struct sp_results *run, const char *suite,
		       const char *label)
{
	w->suite_name = suite;
	w->label = label;
	w->run = run;
}

/* Cases and leaks of one run that belong to one group. */
static int add_of_run(struct writer *w, const struct sp_results *r, struct group_pass *pass,
		      struct sp_error *err)
{
	struct sp_index seen = SP_INDEX_INIT;
	int rc = 0;

	pass->suite = NULL;
	for (size_t i = 0; !rc && i < r->n_cases; i++) {
		const struct sp_result_case *c = &r->cases[i];

		if (case_group(w, r, c, pass) != pass->group)
			continue;
		if (!w->run)
			open_suite(w, r, case_suite(c), sp_judged_label(&w->judged, r, c->subject));
		rc = add_case(w, c, err);
	}
	for (size_t i = 0; !rc && i < r->n_leaks; i++) {
		const char *subject, *suite = sp_leak_suite(r, &r->leaks[i], &subject);
		const char *label = subject ? sp_judged_label(&w->judged, r, subject) : NULL;
		bool first = false;

		if (group_of(w, suite, label) != pass->group)
			continue;
		if (sp_index_put(&seen, r->leaks[i].id, &first) == SP_INDEX_NONE)
			rc = no_memory(w, err);
		if (!w->run)
			open_suite(w, r, suite, label);
		if (first && !rc)
			rc = add_leak(w, r, &r->leaks[i], err);
	}
	sp_index_done(&seen);
	return rc;
}

static int add_group(struct writer *w, size_t group, struct sp_error *err)
{
	const struct sp_results_set *set = w->judged.set;
	struct group_pass pass = {.group = group};
	int rc = 0;

	w->run = NULL;
	for (size_t i = 0; !rc && i < set->n_runs; i++)
		if (sp_judged_has(&w->judged, &set->runs[i]))
			rc = add_of_run(w, &set->runs[i], &pass, err);
	if (!rc && w->out.fd >= 0)
		close_suite(w);
	return rc;
}

/* A run that is not whole must not look green. */
static int add_troubles(struct writer *w, struct sp_error *err)
{
	const struct sp_results_set *set = w->judged.set;
	int rc = 0;

	for (size_t i = 0; !rc && i < set->n_runs; i++) {
		const char *why = sp_run_trouble(&set->runs[i]);

		if (!why || !sp_judged_has(&w->judged, &set->runs[i]))
			continue;
		open_suite(w, &set->runs[i], "run", NULL);
		rc = add_extra(w, "complete", "error", why, why, err);
	}
	return rc;
}

/* Finds all groups, in the order in which they appear. */
static void find_groups(struct writer *w)
{
	const struct sp_results_set *set = w->judged.set;

	for (size_t i = 0; i < set->n_runs; i++) {
		const struct sp_results *r = &set->runs[i];
		struct group_pass pass = {.group = 0};

		for (size_t c = 0; sp_judged_has(&w->judged, r) && c < r->n_cases; c++)
			(void)case_group(w, r, &r->cases[c], &pass);
	}
	(void)group_of(w, "leaks", NULL);
}

static int write_all(struct writer *w, struct sp_error *err)
{
	int rc = 0;

	find_groups(w);
	for (size_t i = 0; !rc && i < w->groups.len; i++)
		rc = add_group(w, i, err);
	if (!rc)
		rc = add_troubles(w, err);
	if (!rc && w->lost)
		rc = no_memory(w, err);
	return rc ? rc : close_part(w, err);
}

static void writer_done(struct writer *w)
{
	for (size_t i = 0; i < w->n_group_names; i++)
		free(w->group_names[i]);
	free(w->group_names);
	sp_index_done(&w->groups);
	free(w->names.slots);
	sp_buf_done(&w->suite);
	sp_out_done(&w->out);
	free(w->part_path);
	sp_judged_done(&w->judged);
}

int sp_junit_write_split(const struct sp_results_set *set, const char *path,
			 const struct sp_junit_limits *limits, unsigned *ret_files,
			 struct sp_error *err)
{
	struct writer w = {
	    .path = path,
	    .limits = {limits && limits->max_cases ? limits->max_cases : SP_JUNIT_MAX_CASES,
		       limits && limits->max_bytes ? limits->max_bytes : SP_JUNIT_MAX_BYTES},
	    .out = SP_OUT_INIT,
	    .suite = SP_BUF_INIT(FILE_CEILING),
	};
	int rc = sp_judged_make(set, &w.judged, err);

	if (!rc)
		rc = write_all(&w, err);
	if (!rc && strcmp(path, "-"))
		remove_stale_parts(&w);
	if (!rc && ret_files)
		*ret_files = w.part;
	writer_done(&w);
	return rc;
}

int sp_junit_write(const struct sp_results_set *set, const char *path, struct sp_error *err)
{
	return sp_junit_write_split(set, path, NULL, NULL, err);
}
