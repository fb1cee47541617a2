/* SPDX-License-Identifier: MIT */
/*
 * The data of one event. Output is text that may hold U+0000, which cJSON
 * cannot keep and the project's scanner refuses; so this is a small reader of
 * its own for one flat object, decoding straight into the caller's buffer.
 */
#include "internal.h"

#include <ctype.h>
#include <string.h>

#include <base/utf8.h>

struct reader {
	const char *at;
	const char *end;
};

static void skip_space(struct reader *r)
{
	while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
		r->at++;
}

static bool take(struct reader *r, char c)
{
	skip_space(r);
	if (r->at >= r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static int hex4(struct reader *r)
{
	int value = 0;

	if (r->end - r->at < 4)
		return -1;
	for (int i = 0; i < 4; i++, r->at++) {
		char c = *r->at;

		if (!isxdigit((unsigned char)c))
			return -1;
		value = value * 16 + (isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
	}
	return value;
}

static void add_utf8(struct sp_buf *out, unsigned c)
{
	char bytes[4];
	size_t n = 0;

	if (c < 0x80) {
		bytes[n++] = (char)c;
	} else if (c < 0x800) {
		bytes[n++] = (char)(0xc0 | c >> 6);
		bytes[n++] = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		bytes[n++] = (char)(0xe0 | c >> 12);
		bytes[n++] = (char)(0x80 | (c >> 6 & 63));
		bytes[n++] = (char)(0x80 | (c & 63));
	} else {
		bytes[n++] = (char)(0xf0 | c >> 18);
		bytes[n++] = (char)(0x80 | (c >> 12 & 63));
		bytes[n++] = (char)(0x80 | (c >> 6 & 63));
		bytes[n++] = (char)(0x80 | (c & 63));
	}
	sp_buf_add(out, bytes, n);
}

/* After "\u". A lone surrogate is no character. */
static bool add_escape_u(struct reader *r, struct sp_buf *out)
{
	int high = hex4(r), low;

	if (high < 0)
		return false;
	if (high >= 0xd800 && high < 0xdc00) {
		if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
			return false;
		r->at += 2;
		low = hex4(r);
		if (low < 0xdc00 || low > 0xdfff)
			return false;
		add_utf8(out, 0x10000 + (((unsigned)high & 0x3ff) << 10) + ((unsigned)low & 0x3ff));
		return true;
	}
	if (high >= 0xdc00 && high < 0xe000)
		return false;
	add_utf8(out, (unsigned)high);
	return true;
}

static bool add_escape(struct reader *r, struct sp_buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (r->at >= r->end)
		return false;
	c = *r->at++;
	if (c == 'u')
		return add_escape_u(r, out);
	found = c ? strchr(from, c) : NULL;
	if (found)
		sp_buf_addc(out, to[found - from]);
	return found != NULL;
}

static bool take_string(struct reader *r, struct sp_buf *out)
{
	if (!take(r, '"'))
		return false;
	while (r->at < r->end) {
		const char *run = r->at;

		r->at += sp_json_plain(run, (size_t)(r->end - run));
		while (r->at < r->end && *r->at != '"' && *r->at != '\\' &&
		       (unsigned char)*r->at >= ' ')
			r->at++;
		sp_buf_add(out, run, (size_t)(r->at - run));
		if (r->at >= r->end || (unsigned char)*r->at < ' ')
			return false;
		if (*r->at++ == '"')
			return true;
		if (!add_escape(r, out))
			return false;
	}
	return false;
}

/* An integer from 0 to 99,999; more is none of ours. */
static bool take_small(struct reader *r, int *ret)
{
	const char *start;
	int value = 0;

	skip_space(r);
	start = r->at;
	while (r->at < r->end && isdigit((unsigned char)*r->at) && r->at - start < 6)
		value = value * 10 + (*r->at++ - '0');
	if (r->at == start || r->at - start > 5 || (*start == '0' && r->at - start > 1))
		return false;
	if (r->at < r->end && (strchr(".eE", *r->at) || isdigit((unsigned char)*r->at)))
		return false;
	*ret = value;
	return true;
}

/* A member that is not ours: passed by, its brackets balanced. */
static bool skip_value(struct reader *r)
{
	struct sp_buf scratch SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	int depth = 0;

	do {
		skip_space(r);
		if (r->at >= r->end)
			return false;
		if (*r->at == '"') {
			sp_buf_clear(&scratch);
			if (!take_string(r, &scratch))
				return false;
		} else if (strchr("[{", *r->at) && *r->at) {
			depth++;
			r->at++;
			if (depth > SP_JSON_DEPTH)
				return false;
			continue;
		} else if (strchr("]}", *r->at) && *r->at) {
			if (!depth)
				return false;
			depth--;
			r->at++;
		} else if (depth && (*r->at == ',' || *r->at == ':')) {
			r->at++;
			continue;
		} else {
			const char *start = r->at;

			while (r->at < r->end &&
			       (isalnum((unsigned char)*r->at) || strchr("+-.", *r->at)) && *r->at)
				r->at++;
			if (r->at == start)
				return false;
		}
		skip_space(r);
	} while (depth);
	return true;
}

/* What the members of the three events are. */
struct members {
	bool has_stream, has_text, has_code;
	char stream[8];
	int code;
};

static bool take_member(struct reader *r, const char *key, const char *text_key,
			const char *code_key, struct members *m, struct sp_buf *text)
{
	if (text_key && !strcmp(key, text_key)) {
		if (m->has_text)
			return false;
		m->has_text = true;
		return take_string(r, text);
	}
	if (code_key && !strcmp(key, code_key)) {
		if (m->has_code)
			return false;
		m->has_code = true;
		return take_small(r, &m->code);
	}
	if (!strcmp(key, "stream")) {
		struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		if (m->has_stream || !take_string(r, &name) || name.error ||
		    name.len >= sizeof(m->stream))
			return false;
		m->has_stream = true;
		memcpy(m->stream, sp_buf_str(&name), name.len + 1);
		return true;
	}
	return skip_value(r);
}

static bool take_object(struct reader *r, const char *text_key, const char *code_key,
			struct members *m, struct sp_buf *text)
{
	bool first = true;

	if (!take(r, '{'))
		return false;
	while (!take(r, '}')) {
		struct sp_buf key SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		if (!first && !take(r, ','))
			return false;
		first = false;
		skip_space(r);
		if (!take_string(r, &key) || key.error || !take(r, ':'))
			return false;
		if (!take_member(r, sp_buf_str(&key), text_key, code_key, m, text))
			return false;
	}
	skip_space(r);
	return r->at == r->end && !text->error;
}

static int output_event(const struct members *m, const struct sp_buf *text,
			struct render_event *ret_event, struct sp_error *err)
{
	if (!m->has_text || !m->has_stream)
		return sp_error_set(err, SP_PROTOCOL, "an output event without stream or data");
	if (!strcmp(m->stream, "stdout"))
		ret_event->stream = SP_STDOUT;
	else if (!strcmp(m->stream, "stderr"))
		ret_event->stream = SP_STDERR;
	else
		return sp_error_set(err, SP_PROTOCOL, "an output event of the stream \"%s\"",
				    m->stream);
	ret_event->type = RENDER_OUTPUT;
	ret_event->data = (const unsigned char *)sp_buf_str(text);
	ret_event->len = text->len;
	return 0;
}

int render_decode_event(const char *type, const char *data, size_t len, struct sp_buf *text,
			struct render_event *ret_event, struct sp_error *err)
{
	bool output = !strcmp(type, "output"), exits = !strcmp(type, "exit");
	bool error = !strcmp(type, "error");
	struct reader r = {data, data + len};
	struct members m = {0};

	if (!output && !exits && !error)
		return sp_error_set(err, SP_PROTOCOL,
				    "an event \"%s\" that the protocol does not know", type);
	sp_buf_clear(text);
	*ret_event = (struct render_event){0};
	if (!sp_utf8_valid(data, len) || !take_object(&r,
						      output  ? "data"
						      : error ? "message"
							      : NULL,
						      exits   ? "exit_code"
						      : error ? "status"
							      : NULL,
						      &m, text))
		return sp_error_set(err, SP_PROTOCOL, "the data of an event \"%s\" cannot be read",
				    type);
	if (output)
		return output_event(&m, text, ret_event, err);
	if (exits && (!m.has_code || m.code > 255))
		return sp_error_set(err, SP_PROTOCOL, "an exit event without a code from 0 to 255");
	ret_event->type = exits ? RENDER_EXIT : RENDER_ERROR;
	ret_event->code = exits ? m.code : 0;
	ret_event->status = exits ? 0 : m.code;
	ret_event->message = exits ? NULL : sp_buf_str(text);
	return 0;
}
