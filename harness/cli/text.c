/* SPDX-License-Identifier: MIT */
#include <cli/text.h>

#include <langinfo.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/utf8.h>

#define TEXT_CEILING (16 * 1024 * 1024)

static bool set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static unsigned columns_of(FILE *stream)
{
	struct winsize size;

	if (ioctl(fileno(stream), TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

struct cli_style cli_style_of(FILE *stream)
{
	const char *term = getenv("TERM");
	bool terminal = isatty(fileno(stream)), dumb = !term || !*term || !strcmp(term, "dumb");

	return (struct cli_style){
		.colour = terminal && !dumb && !set("NO_COLOR"),
		.live = terminal && !dumb && !set("CI"),
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.width = terminal ? columns_of(stream) : 0,
	};
}

unsigned cli_prose_width(FILE *stream)
{
	unsigned width = isatty(fileno(stream)) ? columns_of(stream) : 100;

	return width < 60 ? 60 : width > 100 ? 100 : width;
}

void cli_text_ink(struct sp_buf *out, const struct cli_style *style, enum cli_ink ink,
		  const char *text)
{
	static const char *const codes[] = {
		[CLI_PLAIN] = "",    [CLI_BOLD] = "\x1b[1m",	[CLI_DIM] = "\x1b[2m",
		[CLI_GREEN] = "\x1b[32m", [CLI_RED] = "\x1b[31m", [CLI_YELLOW] = "\x1b[33m",
		[CLI_CYAN] = "\x1b[36m",
	};
	bool inked = style->colour && ink != CLI_PLAIN;

	if (inked)
		sp_buf_adds(out, codes[ink]);
	sp_buf_adds(out, text);
	if (inked)
		sp_buf_adds(out, "\x1b[0m");
}

/* Bytes of the character at text[0] when it may be shown as it is, else 0. */
static size_t safe_length(const char *text)
{
	unsigned char first = (unsigned char)text[0];
	size_t n = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

	if (n == 1)
		return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t';
	if (strnlen(text, n) < n || !sp_utf8_valid(text, n))
		return 0;
	/* U+0080 to U+009F command terminals as well. */
	return first == 0xc2 && (unsigned char)text[1] < 0xa0 ? 0 : n;
}

void cli_text_safe(struct sp_buf *out, const char *text)
{
	while (*text) {
		size_t n = safe_length(text);

		if (n)
			sp_buf_add(out, text, n);
		else
			sp_buf_addf(out, "\\x%02x", (unsigned char)*text);
		text += n ? n : 1;
	}
}

/* Code points; colours count nothing. */
static size_t count_columns(const char *text, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\x1b') {
			while (i < len && text[i] != 'm')
				i++;
			continue;
		}
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	}
	return columns;
}

size_t cli_text_columns(const struct sp_buf *out, size_t start)
{
	return out->data ? count_columns(out->data + start, out->len - start) : 0;
}

void cli_text_pad(struct sp_buf *out, size_t start, size_t columns)
{
	size_t have = cli_text_columns(out, start);

	sp_buf_addf(out, "%*s", have < columns ? (int)(columns - have) : 1, "");
}

void cli_text_wrap(struct sp_buf *out, const char *text, size_t column, size_t indent,
		   unsigned width)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " \n"), columns = count_columns(text, len);

		if (!first && width && column + 1 + columns > width) {
			sp_buf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
			first = true;
		}
		if (!first && len)
			sp_buf_addc(out, ' ');
		sp_buf_add(out, text, len);
		column += columns + (!first && len);
		first = first && !len;
		text += len;
		if (*text == '\n') {
			sp_buf_addf(out, "\n%*s", text[1] && text[1] != '\n' ? (int)indent : 0, "");
			column = indent;
			first = true;
		}
		if (*text)
			text++;
	}
}

void cli_text_cut(struct sp_buf *out, const struct cli_style *style, const char *text,
		  size_t columns)
{
	const char *dots = style->utf8 ? "…" : "...";
	size_t n_dots = style->utf8 ? 1 : 3, seen = 0, len = strlen(text), at = 0;

	if (sp_utf8_count(text, len) <= columns) {
		sp_buf_adds(out, text);
		return;
	}
	if (columns < n_dots)
		return;
	while (at < len && seen < columns - n_dots) {
		at++;
		while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
		seen++;
	}
	sp_buf_add(out, text, at);
	sp_buf_adds(out, dots);
}

void cli_text_word(struct sp_buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:=,+@%";

	if (*word && !word[strspn(word, plain)])
		sp_buf_adds(out, word);
	else
		sp_buf_add_shell(out, word);
}

void cli_say(const char *format, ...)
{
	struct sp_buf raw SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&raw, format, args);
	va_end(args);
	sp_buf_adds(&out, "sandproof: ");
	cli_text_safe(&out, sp_buf_str(&raw));
	sp_buf_addc(&out, '\n');
	fputs(sp_buf_str(&out), stderr);
}
