/* SPDX-License-Identifier: MIT */
/*
 * JSON that comes from outside passes a scanner before cJSON sees it: valid
 * UTF-8, no NUL escape, no lone surrogate, no trailing bytes, no duplicate
 * keys at one level, integers within 2^53, depth and size bounded. cJSON
 * loses data silently on all of these.
 */
#ifndef SP_BASE_JSON_H
#define SP_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include <sandproof/error.h>

/* Deepest nesting that is accepted. */
#define SP_JSON_DEPTH 64

/* 0, or SP_PROTOCOL with the offset and the reason (never the text itself). */
int sp_json_scan(const char *text, size_t len, size_t max_len, struct sp_error *err);
/* Scans, then parses; the caller frees with cJSON_Delete(). `text` needs no NUL. */
int sp_json_parse(const char *text, size_t len, size_t max_len, cJSON **ret_json,
		  struct sp_error *err);

/* Reading of members: each gives the value only if it is there with that type. */

/* Text of a member, or NULL. Borrowed from the tree. */
const char *sp_json_str(const cJSON *object, const char *name);
/* True when the member is an integer; `*ret` is set then. */
bool sp_json_int(const cJSON *object, const char *name, int64_t *ret);
/* True when the member is a boolean; `*ret` is set then. */
bool sp_json_bool(const cJSON *object, const char *name, bool *ret);

/* cJSON** cleanup. */
void sp_json_done(cJSON **json);

#endif
