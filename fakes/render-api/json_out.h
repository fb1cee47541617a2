/* SPDX-License-Identifier: MIT */
/*
 * Writing JSON by hand into a buffer: commas are placed by what stands
 * before, so members are simply said one after the other. A NULL `name` is an element of an
 * array. Errors are latched in the buffer.
 */
#ifndef FAKE_RENDER_API_JSON_OUT_H
#define FAKE_RENDER_API_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/buf.h>

/* Begins an object ('{') or an array ('['); ended by json_close() with '}' or ']'. */
void json_open(struct sp_buf *buf, const char *name, char bracket);
void json_close(struct sp_buf *buf, char bracket);
/* NULL text is null. */
void json_str(struct sp_buf *buf, const char *name, const char *text);
void json_strn(struct sp_buf *buf, const char *name, const char *text, size_t len);
void json_int(struct sp_buf *buf, const char *name, int64_t value);
void json_bool(struct sp_buf *buf, const char *name, bool value);
/* RFC 3339 from milliseconds since 1970. */
void json_time(struct sp_buf *buf, const char *name, int64_t wall_ms);

#endif
