/* SPDX-License-Identifier: MIT */
#include <reports/html_parts.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

/* ---- Timeline: what each worker did when ---- */

/* Width of a lane in units; nothing is drawn finer. */
#define UNITS 1000
/* A case of at least this width has a shape of its own, with its name. */
#define NAMED 14
/* Lanes of one run; whoever has more workers sees the first ones. */
#define LANES_MAX 64
/* Runs that are drawn. */
#define RUNS_MAX 40

/* Units of one lane: 0, or 1 + the weight of the worst that was going on. */
struct lane {
	signed char worst[UNITS];
	size_t n;
};

/* Where one run lies on the page. */
struct span {
	int64_t start, length;
	size_t lanes;
};

static struct span span_of(const struct sp_results *run)
{
	struct span span = {.start = run->run.start, .length = run->end.duration_ms};

	for (size_t i = 0; i < run->n_cases; i++) {
		const struct sp_result_case *c = &run->cases[i];
		int64_t until = c->start + c->duration_ms - span.start;

		if (c->worker < 0 || c->worker >= LANES_MAX)
			continue;
		if (until > span.length)
			span.length = until;
		if ((size_t)c->worker >= span.lanes)
			span.lanes = (size_t)c->worker + 1;
	}
	if (span.length < 1)
		span.length = 1;
	return span;
}

static int64_t to_units(const struct span *span, int64_t ms)
{
	int64_t at = (int64_t)((double)(ms - span->start) * UNITS / (double)span->length);

	return at < 0 ? 0 : at > UNITS ? UNITS : at;
}

/* First and last unit of a case; it has one at least. */
static void place(const struct span *span, const struct sp_result_case *c, int64_t *ret_from,
		  int64_t *ret_to)
{
	*ret_from = to_units(span, c->start);
	*ret_to = to_units(span, c->start + c->duration_ms);
	if (*ret_from == UNITS)
		*ret_from = UNITS - 1;
	if (*ret_to <= *ret_from)
		*ret_to = *ret_from + 1;
}

static bool is_named(const struct sp_result_case *c, int64_t width)
{
	return width >= NAMED || (sp_html_is_finding(c->verdict) && c->verdict != SP_WARN);
}

static void paint(struct lane *lane, const struct span *span, const struct sp_result_case *c)
{
	signed char shade = (signed char)(1 + c->verdict);
	int64_t from, to;

	place(span, c, &from, &to);
	for (; from < to; from++) {
		int before = lane->worst[from] - 1;

		if (before < 0 ||
		    sp_verdict_weight(c->verdict) > sp_verdict_weight((enum sp_verdict)before))
			lane->worst[from] = shade;
	}
	lane->n++;
}

/* Neighbouring units of one verdict are one rectangle, and all rectangles of a verdict one shape.
 */
static void add_paths(struct sp_buf *buf, const struct lane *lane)
{
	for (int v = 0; v < SP_VERDICT_MAX_; v++) {
		bool open = false;

		for (int i = 0; i < UNITS; i++) {
			int from = i;

			if (lane->worst[i] != 1 + v)
				continue;
			while (i + 1 < UNITS && lane->worst[i + 1] == 1 + v)
				i++;
			if (!open)
				sp_buf_addf(buf, "<path class=%s d=\"",
					    sp_html_class((enum sp_verdict)v));
			open = true;
			sp_buf_addf(buf, "M%d 0h%dv9H%dz", from, i + 1 - from, from);
		}
		sp_buf_adds(buf, open ? "\"/>" : "");
	}
}

static void add_named(struct sp_buf *buf, const struct span *span, const struct sp_result_case *c)
{
	int64_t from, to;

	place(span, c, &from, &to);
	if (!is_named(c, to - from))
		return;
	sp_buf_addf(buf, "<rect class=%s x=%lld width=%lld.6 height=9><title>",
		    sp_html_class(c->verdict), (long long)from, (long long)(to - from - 1));
	sp_html_text(buf, c->id);
	sp_buf_addf(buf, ": %s, ", sp_html_verdict(c->verdict));
	sp_html_duration(buf, c->duration_ms);
	sp_buf_adds(buf, "</title></rect>");
}

static void add_lane(struct sp_html *h, const struct sp_results *run, const struct span *span,
		     int worker)
{
	struct lane *lane SP_FREE = calloc(1, sizeof(*lane));
	struct sp_buf *buf = &h->out.buf;

	if (!lane) {
		sp_out_fail(&h->out, ENOMEM);
		return;
	}
	for (size_t i = 0; i < run->n_cases; i++) {
		const struct sp_result_case *c = &run->cases[i];
		int64_t from, to;

		if (c->worker != worker)
			continue;
		place(span, c, &from, &to);
		if (is_named(c, to - from))
			lane->n++;
		else
			paint(lane, span, c);
	}
	if (!lane->n)
		return;
	sp_buf_addf(buf,
		    "<div class=lane><span>worker %d</span><svg viewBox=\"0 0 1000 9\" "
		    "preserveAspectRatio=none role=img aria-label=\"worker %d: %zu cases\">",
		    worker, worker, lane->n);
	add_paths(buf, lane);
	for (size_t i = 0; i < run->n_cases; i++)
		if (run->cases[i].worker == worker)
			add_named(buf, span, &run->cases[i]);
	sp_buf_adds(buf, "</svg></div>\n");
	sp_out_pass(&h->out);
}

static void add_axis(struct sp_buf *buf, int64_t length)
{
	sp_buf_adds(buf, "<div class=axis aria-hidden=true>");
	for (int i = 0; i <= 4; i++) {
		sp_buf_adds(buf, "<span>");
		sp_html_duration(buf, length * i / 4);
		sp_buf_adds(buf, "</span>");
	}
	sp_buf_adds(buf, "</div>");
}

static void add_run(struct sp_html *h, const struct sp_results *run)
{
	struct span span = span_of(run);
	struct sp_buf *buf = &h->out.buf;

	sp_buf_adds(buf, "<div class=run>");
	if (h->model.judged.set->n_runs > 1) {
		sp_buf_adds(buf, "<h3><code>");
		sp_html_line(buf, run->run.subjects, 120);
		sp_buf_adds(buf, "</code></h3>");
	}
	for (size_t lane = 0; lane < span.lanes; lane++)
		add_lane(h, run, &span, (int)lane);
	add_axis(buf, span.length);
	sp_buf_adds(buf, "</div>");
}

void sp_html_timeline(struct sp_html *h)
{
	const struct sp_results_set *set = h->model.judged.set;
	size_t n = 0;

	if (!h->n_results)
		return;
	sp_html_open(h, "timeline", "Timeline of workers", SIZE_MAX);
	sp_buf_adds(&h->out.buf, "<div class=\"panel pad\">");
	/* A proof has no case, and nothing to show here. */
	for (size_t i = 0; i < set->n_runs; i++)
		if (sp_judged_has(&h->model.judged, &set->runs[i]) && set->runs[i].n_cases &&
		    ++n <= RUNS_MAX)
			add_run(h, &set->runs[i]);
	if (n > RUNS_MAX)
		sp_buf_addf(&h->out.buf, "<p class=soft>and %zu more runs</p>", n - RUNS_MAX);
	sp_buf_adds(&h->out.buf, "</div>");
	sp_html_close(h);
}

/* ---- Durations ---- */

#define SLOWEST 15

static const struct {
	int64_t below;
	const char *name;
} classes[] = {
    {3, "under 3 ms"},	    {10, "3 to 10 ms"},	      {30, "10 to 30 ms"}, {100, "30 to 100 ms"},
    {300, "100 to 300 ms"}, {1000, "300 ms to 1 s"},  {3000, "1 to 3 s"},  {10000, "3 to 10 s"},
    {60000, "10 to 60 s"},  {INT64_MAX, "over 60 s"},
};

static size_t class_of(int64_t ms)
{
	size_t i = 0;

	while (i + 1 < SP_COUNT(classes) && ms >= classes[i].below)
		i++;
	return i;
}

static void add_histogram(struct sp_html *h)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;
	size_t counts[SP_COUNT(classes)] = {0}, most = 1, last = 0;

	for (size_t i = 0; i < m->n_rows * m->n_subjects; i++)
		if (m->cells[i] && m->cells[i]->verdict != SP_SKIP)
			counts[class_of(m->cells[i]->duration_ms)]++;
	for (size_t i = 0; i < SP_COUNT(classes); i++) {
		most = counts[i] > most ? counts[i] : most;
		last = counts[i] ? i : last;
	}
	sp_buf_adds(buf, "<div class=\"panel pad\"><h3>Distribution</h3><p class=soft>Cases that "
			 "ran, by how long they took."
			 "</p><div class=hist>");
	for (size_t i = 0; i <= last; i++)
		sp_buf_addf(buf,
			    "<span>%s</span><i style=width:%zu%%></i><span class=num>%zu</span>",
			    classes[i].name, counts[i] * 100 / most, counts[i]);
	sp_buf_adds(buf, "</div></div>");
}

/* Keeps the cells with the longest durations, longest first. */
static size_t find_slowest(const struct sp_model *m, size_t slowest[SLOWEST])
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_rows * m->n_subjects; i++) {
		const struct sp_result_case *c = m->cells[i];
		size_t at = n;

		if (!c || c->verdict == SP_SKIP ||
		    (n == SLOWEST && m->cells[slowest[n - 1]]->duration_ms >= c->duration_ms))
			continue;
		at = n < SLOWEST ? n++ : n - 1;
		for (; at && m->cells[slowest[at - 1]]->duration_ms < c->duration_ms; at--)
			slowest[at] = slowest[at - 1];
		slowest[at] = i;
	}
	return n;
}

static void add_slowest(struct sp_html *h)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;
	size_t slowest[SLOWEST], n = find_slowest(m, slowest);
	int64_t most =
	    n && m->cells[slowest[0]]->duration_ms > 0 ? m->cells[slowest[0]]->duration_ms : 1;

	sp_buf_adds(
	    buf,
	    "<div class=panel><div class=scroll tabindex=0><table class=cs><thead><tr><th "
	    "scope=col>slowest case</th>"
	    "<th scope=col class=num>time</th><th scope=col class=meter></th></tr></thead><tbody>");
	for (size_t i = 0; i < n; i++) {
		const struct sp_result_case *c = m->cells[slowest[i]];

		sp_buf_addf(buf, "<tr><td><span class=\"v %s\" title=%s>%s</span> <code>",
			    sp_html_class(c->verdict), sp_html_verdict(c->verdict),
			    sp_html_sign(c->verdict));
		sp_html_text(buf, c->id);
		sp_buf_adds(buf, "</code>");
		if (m->n_subjects > 1) {
			sp_buf_adds(buf, " <span class=soft>");
			sp_html_line(buf, m->subjects[slowest[i] % m->n_subjects].label, 40);
			sp_buf_adds(buf, "</span>");
		}
		sp_buf_adds(buf, "<td class=num>");
		sp_html_duration(buf, c->duration_ms);
		sp_buf_addf(buf, "<td class=meter><i style=width:%lld%%></i>\n",
			    (long long)(c->duration_ms * 100 / most));
	}
	sp_buf_adds(buf, "</tbody></table></div></div>");
}

void sp_html_durations(struct sp_html *h)
{
	if (!h->n_results)
		return;
	sp_html_open(h, "durations", "Durations", SIZE_MAX);
	sp_buf_adds(&h->out.buf, "<div class=halves>");
	add_histogram(h);
	add_slowest(h);
	sp_buf_adds(&h->out.buf, "</div>");
	sp_html_close(h);
}
