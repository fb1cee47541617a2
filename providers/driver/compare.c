/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <sandproof/error.h>

#include "made.h"
#include "value.h"

struct comparison {
	const char *method;
	drv_differs_fn differs;
	void *arg;
};

static void tell(const struct comparison *c, const char *at, const cJSON *expected,
		 const cJSON *actual)
{
	struct sp_buf left SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	struct sp_buf right SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;

	if (expected)
		drv_put_json(&left, expected);
	if (actual)
		drv_put_json(&right, actual);
	c->differs(c->arg, at, expected ? sp_buf_str(&left) : "nothing",
		   actual ? sp_buf_str(&right) : "nothing");
}

/* What an absent member means: no, and in a declaration also none of it. */
static bool is_default(const struct comparison *c, const cJSON *item)
{
	bool declares = !strcmp(c->method, "initialize");
	const char *text = cJSON_GetStringValue(item);

	if (!item || cJSON_IsFalse(item))
		return true;
	if (!declares)
		return false;
	if (text)
		return !*text || !strcmp(text, "none") || !strcmp(text, "bytes");
	return (cJSON_IsNumber(item) && item->valuedouble == 0) ||
	       (cJSON_IsArray(item) && !item->child);
}

static bool is_bytes(const cJSON *item)
{
	return cJSON_IsString(item) || sp_json_str(item, "base64");
}

static bool same_bytes(const cJSON *expected, const cJSON *actual)
{
	struct sp_buf left SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	struct sp_buf right SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;

	if (!drv_bytes_of(expected, &left) || !drv_bytes_of(actual, &right))
		return cJSON_Compare(expected, actual, true);
	return left.len == right.len && (!left.len || !memcmp(left.data, right.data, left.len));
}

static bool is_masked(const cJSON *item)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	const char *encoded = sp_json_str(item, "base64");

	/* A mask within base64 leaves no base64. */
	if (encoded && strstr(encoded, DRV_MASK))
		return true;
	return drv_bytes_of(item, &text) && strstr(sp_buf_str(&text), DRV_MASK);
}

/* An Int is a number, or a string of its digits. */
static bool same_int(const cJSON *expected, const cJSON *actual)
{
	const cJSON *number = cJSON_IsNumber(expected) ? expected : actual;
	const cJSON *other = number == expected ? actual : expected;
	struct sp_buf digits SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(64);

	if (cJSON_IsNumber(other))
		return number->valuedouble == other->valuedouble;
	drv_put_json(&digits, number);
	return cJSON_IsString(other) && !strcmp(sp_buf_str(&digits), other->valuestring);
}

static void compare(const struct comparison *c, const char *at, const cJSON *expected,
		    const cJSON *actual);

static void compare_member(const struct comparison *c, const char *at, const char *name,
			   const cJSON *expected, const cJSON *actual)
{
	char *path SP_FREE = NULL;

	/* How a driver calls itself, and what it takes, is up to it. */
	if (!strcmp(c->method, "initialize") && drv_made_is(c->method, name))
		return;
	if (asprintf(&path, "%s.%s", at, name) < 0) {
		path = NULL;
		return;
	}
	if (!expected || !actual) {
		if (!is_default(c, expected) || !is_default(c, actual))
			tell(c, path, expected, actual);
	} else if (!drv_made_is(c->method, name)) {
		compare(c, path, expected, actual);
	} else if (is_bytes(expected) != is_bytes(actual)) {
		tell(c, path, expected, actual);
	}
}

static void compare_members(const struct comparison *c, const char *at, const cJSON *expected,
			    const cJSON *actual)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, expected) compare_member(
	    c, at, item->string, item, cJSON_GetObjectItemCaseSensitive(actual, item->string));
	cJSON_ArrayForEach(item, actual)
	{
		if (!cJSON_GetObjectItemCaseSensitive(expected, item->string))
			compare_member(c, at, item->string, NULL, item);
	}
}

static void compare_elements(const struct comparison *c, const char *at, const cJSON *expected,
			     const cJSON *actual)
{
	const cJSON *left = expected->child, *right = actual->child;

	if (cJSON_GetArraySize(expected) != cJSON_GetArraySize(actual)) {
		tell(c, at, expected, actual);
		return;
	}
	for (size_t i = 0; left; i++, left = left->next, right = right->next) {
		char *path SP_FREE = NULL;

		if (asprintf(&path, "%s[%zu]", at, i) < 0)
			path = NULL;
		compare(c, path ? path : at, left, right);
	}
}

static void compare(const struct comparison *c, const char *at, const cJSON *expected,
		    const cJSON *actual)
{
	bool same;

	if (is_bytes(expected) && is_bytes(actual))
		same = is_masked(expected) || same_bytes(expected, actual);
	else if (cJSON_IsNumber(expected) || cJSON_IsNumber(actual))
		same = same_int(expected, actual);
	else if (cJSON_IsObject(expected) && cJSON_IsObject(actual))
		return compare_members(c, at, expected, actual);
	else if (cJSON_IsArray(expected) && cJSON_IsArray(actual))
		return compare_elements(c, at, expected, actual);
	else
		same = cJSON_Compare(expected, actual, true);
	if (!same)
		tell(c, at, expected, actual);
}

static void compare_errors(const struct comparison *c, const cJSON *expected, const cJSON *actual)
{
	struct sp_error left = SP_ERROR_INIT, right = SP_ERROR_INIT;

	(void)drv_get_error(expected, &left);
	(void)drv_get_error(actual, &right);
	if (left.code != right.code)
		c->differs(c->arg, "error", sp_code_name(left.code), sp_code_name(right.code));
	else if (left.code == SP_ABORTED && !strstr(left.message, DRV_MASK) &&
		 strcmp(left.message, right.message))
		c->differs(c->arg, "error.message", left.message, right.message);
}

/* Which sandboxes there are besides ours is not of this dialogue. */
static void compare_ids(const struct comparison *c, const cJSON *expected, const cJSON *actual)
{
	if (!cJSON_IsArray(expected) || !cJSON_IsArray(actual))
		compare(c, "result.ids", expected, actual);
}

void drv_compare(const char *method, const cJSON *expected, const cJSON *actual,
		 drv_differs_fn differs, void *arg)
{
	const struct comparison c = {method, differs, arg};
	const cJSON *left = cJSON_GetObjectItemCaseSensitive(expected, "result");
	const cJSON *right = cJSON_GetObjectItemCaseSensitive(actual, "result");
	const cJSON *left_error = cJSON_GetObjectItemCaseSensitive(expected, "error");
	const cJSON *right_error = cJSON_GetObjectItemCaseSensitive(actual, "error");

	if (left_error && right_error)
		compare_errors(&c, left_error, right_error);
	else if (left_error)
		tell(&c, "error", left_error, right);
	else if (right_error)
		tell(&c, "result", left, right_error);
	else if (!strcmp(method, "provider/list"))
		compare_ids(&c, cJSON_GetObjectItemCaseSensitive(left, "ids"),
			    cJSON_GetObjectItemCaseSensitive(right, "ids"));
	else
		compare(&c, "result", left, right);
}
