/* SPDX-License-Identifier: MIT */
#include <reports/xml.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <base/cleanup.h>

/* Length of the ANSI escape at text[0], 0 when there is none that is whole. */
static size_t ansi_length(const char *text, size_t len)
{
	size_t i = 2;

	if (len < 2 || text[0] != '\x1b')
		return 0;
	if (text[1] == '[') { /* CSI: parameters and intermediates, then one final byte. */
		while (i < len && text[i] >= 0x20 && text[i] <= 0x3f)
			i++;
		return i < len && text[i] >= 0x40 && text[i] <= 0x7e ? i + 1 : 0;
	}
	if (text[1] == ']') { /* OSC: up to BEL or ESC \. */
		for (; i < len && text[i] != '\n'; i++) {
			if (text[i] == '\a')
				return i + 1;
			if (text[i] == '\x1b' && i + 1 < len && text[i + 1] == '\\')
				return i + 2;
		}
		return 0;
	}
	if (strchr("()#%", text[1])) /* Character sets. */
		return len >= 3 ? 3 : 0;
	return text[1] >= 0x30 && text[1] <= 0x7e ? 2 : 0;
}

/* Length of the well-formed character at text[0] and its code point; 0 when it is ill-formed. */
static size_t utf8_length(const unsigned char *text, size_t len, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = text[0] < 0x80	? 1
		   : text[0] >> 5 == 6	? 2
		   : text[0] >> 4 == 14 ? 3
		   : text[0] >> 3 == 30 ? 4
					: 0;
	uint32_t code;

	if (!n || n > len)
		return 0;
	code = n == 1 ? text[0] : text[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return n;
}

/* The Char production of XML 1.0, without what is ill-formed anyway. */
static bool allowed(uint32_t code)
{
	return code == '\t' || code == '\n' || code == '\r' ||
	       (code >= 0x20 && code != 0xfffe && code != 0xffff);
}

/* Characters that stand for themselves everywhere: most text is made of them, and goes in one
 * piece. */
static const bool plain[256] = {
    [' ' ... '~'] = true,
    ['\n'] = true,
    ['\t'] = true,
};
/* Of those, the ones that need escaping in content or in an attribute. */
static const bool special[256] = {
    ['&'] = true,  ['<'] = true,  ['>'] = true,	 ['"'] = true,
    ['\r'] = true, ['\n'] = true, ['\t'] = true,
};

static size_t plain_run(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && plain[(unsigned char)text[n]])
		n++;
	return n;
}

int sp_xml_clean(struct sp_buf *buf, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t run = plain_run(text + i, len - i), ansi, n;
		uint32_t code = 0;

		sp_buf_add(buf, text + i, run);
		i += run;
		if (i == len)
			break;
		ansi = ansi_length(text + i, len - i);
		if (ansi) {
			i += ansi;
			continue;
		}
		n = utf8_length((const unsigned char *)text + i, len - i, &code);
		if (n && allowed(code))
			sp_buf_add(buf, text + i, n);
		else if (n > 1)
			sp_buf_addf(buf, "\\u%04x", (unsigned)code);
		else
			sp_buf_addf(buf, "\\x%02x", (unsigned char)text[i]);
		i += n ? n : 1;
	}
	return buf->error;
}

static void escape_one(struct sp_buf *buf, char c, bool attribute)
{
	if (c == '&')
		sp_buf_adds(buf, "&amp;");
	else if (c == '<')
		sp_buf_adds(buf, "&lt;");
	else if (c == '>') /* Always: "]]>" is forbidden in content. */
		sp_buf_adds(buf, "&gt;");
	else if (c == '"' && attribute)
		sp_buf_adds(buf, "&quot;");
	else if (c == '\r' || (attribute && (c == '\n' || c == '\t')))
		sp_buf_addf(buf, "&#%d;", c);
	else
		sp_buf_addc(buf, c);
}

static void escape(struct sp_buf *buf, const char *text, size_t len, bool attribute)
{
	for (size_t i = 0; i < len;) {
		size_t from = i;

		while (i < len && !special[(unsigned char)text[i]])
			i++;
		sp_buf_add(buf, text + from, i - from);
		if (i < len)
			escape_one(buf, text[i++], attribute);
	}
}

static int add(struct sp_buf *buf, const char *text, bool attribute)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(buf->ceiling);
	size_t len = text ? strlen(text) : 0;

	if (plain_run(text, len) == len) {
		escape(buf, text, len, attribute);
		return buf->error;
	}
	sp_xml_clean(&clean, text, len);
	if (clean.error && !buf->error)
		buf->error = clean.error;
	escape(buf, sp_buf_str(&clean), clean.len, attribute);
	return buf->error;
}

int sp_xml_text(struct sp_buf *buf, const char *text)
{
	return add(buf, text, false);
}

int sp_xml_attribute(struct sp_buf *buf, const char *text)
{
	return add(buf, text, true);
}
