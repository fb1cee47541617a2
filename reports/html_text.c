/* SPDX-License-Identifier: MIT */
#include <reports/html_parts.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>
#include <reports/xml.h>

#define TEXT_CEILING ((size_t)128 << 20)

const enum sp_verdict sp_html_order[SP_VERDICT_MAX_] = {
    SP_FAIL, SP_ERROR, SP_XPASS, SP_WARN, SP_XFAIL, SP_SKIP, SP_PASS,
};

static const struct {
	const char *letter, *sign, *name;
} verdicts[SP_VERDICT_MAX_] = {
    [SP_PASS] = {"p", "✓", "pass"},   [SP_FAIL] = {"f", "✗", "fail"},
    [SP_WARN] = {"w", "▲", "warn"},   [SP_SKIP] = {"s", "○", "skip"},
    [SP_XFAIL] = {"x", "◐", "xfail"}, [SP_XPASS] = {"u", "◆", "xpass"},
    [SP_ERROR] = {"e", "■", "error"},
};

const char *sp_html_class(enum sp_verdict verdict)
{
	return (unsigned)verdict < SP_VERDICT_MAX_ ? verdicts[verdict].letter : "e";
}

const char *sp_html_sign(enum sp_verdict verdict)
{
	return (unsigned)verdict < SP_VERDICT_MAX_ ? verdicts[verdict].sign : "?";
}

const char *sp_html_verdict(enum sp_verdict verdict)
{
	return (unsigned)verdict < SP_VERDICT_MAX_ ? verdicts[verdict].name : "unknown";
}

void sp_html_text(struct sp_buf *buf, const char *text)
{
	sp_xml_text(buf, text);
}

void sp_html_line(struct sp_buf *buf, const char *text, size_t max)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	size_t len;

	text = text ? text : "";
	text += strspn(text, "\r\n");
	sp_xml_clean(&clean, text, strcspn(text, "\r\n"));
	len = sp_utf8_cut(sp_buf_str(&clean), clean.len, max);
	if (len < clean.len) {
		clean.data[len] = '\0';
		clean.len = len;
		sp_buf_adds(&clean, "…");
	}
	sp_xml_text(buf, sp_buf_str(&clean));
	sp_buf_inherit(buf, &clean);
}

/* Appends bytes of clean text that need not end with a NUL. */
static void add_part(struct sp_buf *buf, const char *text, size_t len)
{
	struct sp_buf part SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);

	sp_buf_add(&part, text, len);
	sp_xml_text(buf, sp_buf_str(&part));
	sp_buf_inherit(buf, &part);
}

size_t sp_html_pre(struct sp_buf *buf, const char *text, size_t max)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	const char *all;
	size_t head, tail;

	sp_xml_clean(&clean, text, strlen(text));
	sp_buf_inherit(buf, &clean);
	all = sp_buf_str(&clean);
	/* A newline that comes first would be swallowed. */
	sp_buf_adds(buf, *all == '\n' ? "<pre>\n" : "<pre>");
	if (clean.len <= max) {
		add_part(buf, all, clean.len);
		sp_buf_adds(buf, "</pre>");
		return clean.len;
	}
	head = sp_utf8_cut(all, clean.len, max / 4);
	for (tail = clean.len - (max - max / 4); ((unsigned char)all[tail] & 0xc0) == 0x80;)
		tail++;
	add_part(buf, all, head);
	sp_buf_addf(buf, "\n[… %zu bytes are only in the results file …]\n", tail - head);
	add_part(buf, all + tail, clean.len - tail);
	sp_buf_adds(buf, "</pre>");
	return max;
}

void sp_html_duration(struct sp_buf *buf, int64_t ms)
{
	long long n = ms < 0 ? 0 : ms;

	if (n < 1000)
		sp_buf_addf(buf, "%lld ms", n);
	else if (n < 60000)
		sp_buf_addf(buf, "%lld.%lld s", n / 1000, n % 1000 / 100);
	else
		sp_buf_addf(buf, "%lld min %lld s", n / 60000, n % 60000 / 1000);
}

void sp_html_badge(struct sp_buf *buf, enum sp_verdict verdict)
{
	sp_buf_addf(buf, "<span class=\"v %s\"><i>%s</i>%s</span>", sp_html_class(verdict),
		    sp_html_sign(verdict), sp_html_verdict(verdict));
}

void sp_html_bar(struct sp_buf *buf, const size_t counts[SP_VERDICT_MAX_])
{
	sp_buf_adds(buf, "<div class=bar aria-hidden=true>");
	for (size_t i = 0; i < SP_VERDICT_MAX_; i++)
		if (counts[sp_html_order[i]])
			sp_buf_addf(buf, "<i class=%s style=flex:%zu></i>",
				    sp_html_class(sp_html_order[i]), counts[sp_html_order[i]]);
	sp_buf_adds(buf, "</div>");
}

void sp_html_legend(struct sp_buf *buf, const size_t counts[SP_VERDICT_MAX_], size_t leaks)
{
	sp_buf_adds(buf, "<ul class=legend>");
	for (size_t i = 0; i < SP_VERDICT_MAX_; i++) {
		enum sp_verdict verdict = sp_html_order[i];

		if (counts[verdict])
			sp_buf_addf(buf, "<li class=\"v %s\"><i>%s</i><b>%zu</b> %s</li>",
				    sp_html_class(verdict), sp_html_sign(verdict), counts[verdict],
				    sp_html_verdict(verdict));
	}
	if (leaks)
		sp_buf_addf(buf, "<li class=\"v k\"><i>◇</i><b>%zu</b> leak%s</li>", leaks,
			    leaks == 1 ? "" : "s");
	sp_buf_adds(buf, "</ul>");
}

bool sp_html_is_proof(const struct sp_html *h)
{
	return !h->n_results && h->model.n_defects;
}

void sp_html_open(struct sp_html *h, const char *id, const char *title, size_t count)
{
	struct sp_buf *buf = &h->out.buf;

	sp_buf_addf(buf, "<section id=%s><h2>%s", id, title);
	if (count != SIZE_MAX)
		sp_buf_addf(buf, " <span class=n>%zu</span>", count);
	sp_buf_adds(buf, "</h2>\n");
}

void sp_html_close(struct sp_html *h)
{
	sp_buf_adds(&h->out.buf, "</section>\n");
	sp_out_pass(&h->out);
}
