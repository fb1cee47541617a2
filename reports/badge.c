/* SPDX-License-Identifier: MIT */
#include <reports/badge.h>

#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <reports/judged.h>
#include <reports/out.h>
#include <reports/xml.h>

#define LEFT "sandproof"
#define PADDING 6

/* Fills that white text can be read on (contrast at least 4.5 to 1). */
#define GREEN "#1a7f37"
#define RED "#cf222e"
#define GREY "#57606a"
#define AMBER "#9a6700"

/* Widths of printable ASCII in Verdana at 11 pixels, in tenths of a pixel, so that text fits
 * whatever draws it. */
static unsigned text_width(const char *text)
{
	static const unsigned char widths[96] = {
	    39, 43, 50, 90, 70, 118, 80, 30, 50, 50, 70, 90, 40,  50, 40, 50,  70, 70,	70, 70,
	    70, 70, 70, 70, 70, 70,  50, 50, 90, 90, 90, 60, 110, 75, 75, 77,  85, 70,	63, 85,
	    83, 46, 50, 76, 61, 93,  82, 87, 66, 87, 76, 75, 68,  81, 75, 109, 75, 68,	75, 50,
	    50, 50, 90, 70, 70, 66,  69, 57, 69, 66, 39, 69, 70,  30, 38, 65,  30, 107, 70, 67,
	    69, 69, 47, 57, 43, 70,  65, 90, 65, 65, 58, 70, 50,  70, 90, 70,
	};
	unsigned width = 0;

	for (; *text; text++)
		width += *text >= ' ' && *text < 0x7f ? widths[*text - ' '] : 70;
	return (width + 9) / 10;
}

static const char *message_of(const struct sp_result_end *total, char *text, size_t size)
{
	size_t failed = total->failed + total->errors + total->xpassed;
	size_t passed = total->passed + total->warned;

	if (failed)
		snprintf(text, size, "%zu failed, %zu passed", failed, passed);
	else if (total->interrupted)
		snprintf(text, size, "incomplete, %zu passed", passed);
	else if (total->leaks)
		snprintf(text, size, "%zu passed, %zu leaked", passed, total->leaks);
	else if (!passed)
		snprintf(text, size, "nothing ran");
	else
		snprintf(text, size, "%zu passed", passed);
	return failed ? RED : total->interrupted || total->leaks ? AMBER : passed ? GREEN : GREY;
}

static void add_label(struct sp_buf *buf, unsigned x, unsigned width, const char *text)
{
	sp_buf_addf(buf, "<text x=\"%u\" y=\"14\" textLength=\"%u\">", x, width);
	sp_xml_text(buf, text);
	sp_buf_adds(buf, "</text>");
}

int sp_badge_write(const struct sp_results_set *set, const char *path, struct sp_error *err)
{
	struct sp_out out SP_CLEANUP(sp_out_done) = SP_OUT_INIT;
	struct sp_judged judged SP_CLEANUP(sp_judged_done) = {.set = NULL};
	struct sp_result_end total;
	char text[96];
	const char *colour;
	unsigned left = text_width(LEFT), right;
	int rc = sp_judged_make(set, &judged, err);

	if (!rc)
		rc = sp_out_open(&out, path, err);
	if (rc)
		return rc;
	sp_judged_total(&judged, &total);
	colour = message_of(&total, text, sizeof(text));
	right = text_width(text);
	sp_buf_addf(
	    &out.buf,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"20\" role=\"img\" "
	    "aria-label=\"" LEFT ": %s\"><title>" LEFT ": %s</title>"
	    "<clipPath id=\"r\"><rect width=\"%u\" height=\"20\" rx=\"3\"/></clipPath>"
	    "<g clip-path=\"url(#r)\"><rect width=\"%u\" height=\"20\" fill=\"#24292f\"/>"
	    "<rect x=\"%u\" width=\"%u\" height=\"20\" fill=\"%s\"/></g>"
	    "<g fill=\"#fff\" font-family=\"Verdana,Geneva,DejaVu Sans,sans-serif\" "
	    "font-size=\"11\">",
	    left + right + 4 * PADDING, text, text, left + right + 4 * PADDING, left + 2 * PADDING,
	    left + 2 * PADDING, right + 2 * PADDING, colour);
	add_label(&out.buf, PADDING, left, LEFT);
	add_label(&out.buf, left + 3 * PADDING, right, text);
	sp_buf_adds(&out.buf, "</g></svg>\n");
	return sp_out_close(&out, err);
}
