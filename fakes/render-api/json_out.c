/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/json_out.h>

#include <inttypes.h>
#include <string.h>

#include <base/clock.h>

static void begin(struct sp_buf *buf, const char *name)
{
	char last = buf->len ? buf->data[buf->len - 1] : '[';

	if (last != '{' && last != '[' && last != '\n')
		sp_buf_addc(buf, ',');
	if (name) {
		sp_buf_add_json(buf, name, strlen(name));
		sp_buf_addc(buf, ':');
	}
}

void json_open(struct sp_buf *buf, const char *name, char bracket)
{
	begin(buf, name);
	sp_buf_addc(buf, bracket);
}

void json_close(struct sp_buf *buf, char bracket)
{
	sp_buf_addc(buf, bracket);
}

void json_strn(struct sp_buf *buf, const char *name, const char *text, size_t len)
{
	begin(buf, name);
	sp_buf_add_json(buf, text, len);
}

void json_str(struct sp_buf *buf, const char *name, const char *text)
{
	if (text) {
		json_strn(buf, name, text, strlen(text));
		return;
	}
	begin(buf, name);
	sp_buf_adds(buf, "null");
}

void json_int(struct sp_buf *buf, const char *name, int64_t value)
{
	begin(buf, name);
	sp_buf_addf(buf, "%" PRId64, value);
}

void json_bool(struct sp_buf *buf, const char *name, bool value)
{
	begin(buf, name);
	sp_buf_adds(buf, value ? "true" : "false");
}

void json_time(struct sp_buf *buf, const char *name, int64_t wall_ms)
{
	char text[32];

	sp_wall_format(wall_ms, text, sizeof(text));
	json_str(buf, name, text);
}
