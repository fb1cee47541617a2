/* SPDX-License-Identifier: MIT */
#include "sse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void sse_init(struct sse *sse, size_t ceiling)
{
	memset(sse, 0, sizeof(*sse));
	sse->line.ceiling = ceiling;
	sse->data.ceiling = ceiling;
}

void sse_done(struct sse *sse)
{
	sp_buf_done(&sse->line);
	sp_buf_done(&sse->data);
}

static int check(const struct sse *sse, struct sp_error *err)
{
	int error = sse->line.error ? sse->line.error : sse->data.error;

	if (!error)
		return 0;
	if (error == -ENOBUFS)
		return sp_error_set(err, SP_PROTOCOL, "an event of the stream is over %zu bytes",
				    sse->data.ceiling);
	return sp_error_set(err, SP_INTERNAL, "no memory for an event");
}

static void begin(struct sse *sse)
{
	sp_buf_clear(&sse->data);
	sse->type[0] = '\0';
	sse->has_type = false;
	sse->has_data = false;
	sse->given = false;
}

static void add_field(struct sse *sse, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	size_t name = colon ? (size_t)(colon - line) : len;
	const char *value = colon ? colon + 1 : line + len;
	size_t left = (size_t)(line + len - value);

	if (left && *value == ' ') {
		value++;
		left--;
	}
	if (name == 4 && !memcmp(line, "data", 4)) {
		if (sse->has_data)
			sp_buf_addc(&sse->data, '\n');
		sse->has_data = true;
		sp_buf_add(&sse->data, value, left);
	} else if (name == 5 && !memcmp(line, "event", 5)) {
		sse->has_type = true;
		snprintf(sse->type, sizeof(sse->type), "%.*s",
			 left < SSE_TYPE_MAX ? (int)left : SSE_TYPE_MAX, value);
	}
	/* Comments begin with the colon; other fields are none of ours. */
}

/* One line without its LF. Returns true when it ended an event. */
static bool add_line(struct sse *sse, const char *line, size_t len)
{
	if (len && line[len - 1] == '\r')
		len--;
	if (len) {
		add_field(sse, line, len);
		return false;
	}
	return sse->has_data || sse->has_type;
}

int sse_push(struct sse *sse, const void *bytes, size_t len, size_t *ret_used, bool *ret_event,
	     struct sp_error *err)
{
	const char *at = bytes, *end = at + len;
	bool event = false;

	if (sse->given)
		begin(sse);
	while (at < end && !event) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		const char *stop = lf ? lf : end;

		if (!lf || sse->line.len) {
			sp_buf_add(&sse->line, at, (size_t)(stop - at));
			if (lf) {
				event = add_line(sse, sp_buf_str(&sse->line), sse->line.len);
				sse->line.len = 0;
			}
		} else {
			event = add_line(sse, at, (size_t)(lf - at));
		}
		at = lf ? lf + 1 : end;
		if (sse->line.error || sse->data.error)
			break;
	}
	sse->given = event;
	*ret_used = (size_t)(at - (const char *)bytes);
	*ret_event = event;
	return check(sse, err);
}

int sse_finish(struct sse *sse, bool *ret_event, struct sp_error *err)
{
	if (sse->given)
		begin(sse);
	if (sse->line.len) {
		add_line(sse, sp_buf_str(&sse->line), sse->line.len);
		sse->line.len = 0;
	}
	*ret_event = sse->has_data || sse->has_type;
	sse->given = *ret_event;
	return check(sse, err);
}
