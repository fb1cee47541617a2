/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/json.h>

#define JSON SP_CLEANUP(sp_json_done)

static const char *const accepted[] = {
	"{}",
	"[]",
	" \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
	"null",
	"true",
	"false",
	"\"\"",
	"0",
	"-0",
	"-0.0",
	"1e5",
	"1E+5",
	"1.5e-300",
	"0e999999999999999999999",
	"0.000000000000000000000000000000000001e40",
	"9007199254740992",
	"-9007199254740992",
	"9007199254740991.4e0",
	"900719925474099.1e1",
	"90071992547409919e-1",
	"123456789012345678e-10",
	"{\"a\":1,\"b\":1,\"A\":1,\"\":2}",
	"{\"a\":{\"a\":{\"a\":1}}}",
	"[{\"a\":1},{\"a\":1}]",
	"{\"a\":{\"x\":1},\"b\":{\"x\":1},\"x\":1}",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\uFfFf\"",
	"\"\\ud83d\\ude00\"",
	"\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\"",
	"{\"a\\u0062\":1,\"a\\\\u0062\":2}",
};

static const struct {
	const char *text;
	/* A word of the reason, and the offset that it names. */
	const char *reason;
	size_t offset;
} refused[] = {
	{ "", "ends too early", 0 },
	{ " ", "ends too early", 1 },
	{ "\xEF\xBB\xBF{}", "not a value", 0 },
	{ "{} x", "follows", 3 },
	{ "{}{}", "follows", 2 },
	{ "1 2", "follows", 2 },
	{ "[", "too early", 1 },
	{ "[1", "too early", 2 },
	{ "[1,", "too early", 3 },
	{ "[1,]", "not a value", 3 },
	{ "[,1]", "not a value", 1 },
	{ "[1 2]", "closing bracket", 3 },
	{ "[1}", "closing bracket", 2 },
	{ "{]", "key", 1 },
	{ "{\"a\"}", "':'", 4 },
	{ "{\"a\" 1}", "':'", 5 },
	{ "{\"a\":}", "not a value", 5 },
	{ "{\"a\":1,}", "key", 7 },
	{ "{a:1}", "key", 1 },
	{ "{'a':1}", "key", 1 },
	{ "{1:1}", "key", 1 },
	{ "nul", "not a value", 0 },
	{ "True", "not a value", 0 },
	{ "NaN", "not a value", 0 },
	{ "Infinity", "not a value", 0 },
	{ "-Infinity", "not a value", 0 },
	{ "/* c */ 1", "not a value", 0 },
	/* numbers */
	{ "01", "follows", 1 },
	{ "-", "not a value", 0 },
	{ "+1", "not a value", 0 },
	{ ".5", "not a value", 0 },
	{ "1.", "point", 0 },
	{ "1.e5", "point", 0 },
	{ "1e", "exponent", 0 },
	{ "1e+", "exponent", 0 },
	{ "0x10", "follows", 1 },
	{ "9007199254740993", "2^53", 0 },
	{ "-9007199254740993", "2^53", 0 },
	{ "[9007199254740993]", "2^53", 1 },
	{ "10000000000000000", "2^53", 0 },
	{ "18446744073709551617", "2^53", 0 },
	{ "9007199254740992.5", "2^53", 0 },
	{ "9007199254740993e0", "2^53", 0 },
	{ "1e16", "2^53", 0 },
	{ "0.0001e21", "2^53", 0 },
	{ "1e999", "2^53", 0 },
	{ "1e99999999999999999999", "2^53", 0 },
	{ "0.1234567890123456789012345678901234567890123456789012345678901234", "63", 0 },
	/* strings */
	{ "\"a", "without its end", 0 },
	{ "\"a\nb\"", "control", 2 },
	{ "\"a\tb\"", "control", 2 },
	{ "\"\x1F\"", "control", 1 },
	{ "\"\\x\"", "unknown escape", 1 },
	{ "\"\\", "within an escape", 1 },
	{ "\"\\u12\"", "hex", 1 },
	{ "\"\\u12g4\"", "hex", 1 },
	{ "\"\\u0000\"", "NUL", 1 },
	{ "{\"\\u0000\":1}", "NUL", 2 },
	{ "\"\\ud800\"", "surrogate", 1 },
	{ "\"\\ud800x\"", "surrogate", 1 },
	{ "\"\\ud800\\n\"", "surrogate", 1 },
	{ "\"\\ud800\\u0041\"", "surrogate", 1 },
	{ "\"\\ud800\\ud800\"", "surrogate", 1 },
	{ "\"\\udc00\"", "surrogate", 1 },
	{ "\"\\udc00\\ud800\"", "surrogate", 1 },
	{ "\"a\xFF\"", "UTF-8", 2 },
	{ "\"\xC0\xAF\"", "UTF-8", 1 },
	{ "\"\xED\xA0\x80\"", "UTF-8", 1 },
	{ "\"\xE2\x82\"", "UTF-8", 1 },
	{ "\"\xE2\x82", "UTF-8", 1 },
	/* keys */
	{ "{\"a\":1,\"a\":2}", "already", 8 },
	{ "{\"a\":1,\"b\":2,\"a\":3}", "already", 14 },
	{ "{\"\":1,\"\":2}", "already", 7 },
	{ "{\"a\":1,\"\\u0061\":2}", "already", 8 },
	{ "{\"\\n\":1,\"\\u000A\":2}", "already", 9 },
	{ "{\"\xC3\xA9\":1,\"\\u00e9\":2}", "already", 9 },
	{ "{\"\xF0\x9F\x98\x80\":1,\"\\ud83d\\ude00\":2}", "already", 11 },
	{ "[{\"x\":{\"k\":1,\"k\":1}}]", "already", 14 },
	{ "{\"a\":{\"b\":1},\"a\":{}}", "already", 14 },
};

Test(json, accepted)
{
	for (size_t i = 0; i < SP_COUNT(accepted); i++) {
		struct sp_error err = SP_ERROR_INIT;
		cJSON *json JSON = NULL;

		cr_assert_eq(sp_json_parse(accepted[i], strlen(accepted[i]), 1024, &json, &err), 0,
			     "%s: %s", accepted[i], err.message);
		cr_assert_not_null(json);
	}
}

Test(json, refused)
{
	for (size_t i = 0; i < SP_COUNT(refused); i++) {
		struct sp_error err = SP_ERROR_INIT;
		cJSON *json JSON = NULL;
		char at[32];

		cr_expect_eq(sp_json_parse(refused[i].text, strlen(refused[i].text), 1024, &json,
					   &err),
			     SP_PROTOCOL, "accepted: %s", refused[i].text);
		cr_expect_null(json);
		snprintf(at, sizeof(at), "byte %zu:", refused[i].offset);
		cr_expect(strstr(err.message, refused[i].reason) && strstr(err.message, at),
			  "%s: expected \"%s\" at %s got \"%s\"", refused[i].text,
			  refused[i].reason, at, err.message);
	}
}

Test(json, raw_nul_and_size)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_json_scan("\"a\0b\"", 5, 99, &err), SP_PROTOCOL);
	cr_assert_eq(sp_json_scan("1\0", 2, 99, &err), SP_PROTOCOL);
	cr_assert_eq(sp_json_scan("[1]", 3, 3, &err), 0);
	cr_assert_eq(sp_json_scan("[1]", 3, 2, &err), SP_PROTOCOL);
	cr_assert(strstr(err.message, "3 bytes"), "%s", err.message);
	cr_assert_eq(sp_json_scan("[1]", 3, 2, NULL), SP_PROTOCOL);
}

Test(json, every_prefix_of_a_text_is_refused)
{
	static const char text[] = "{\"a\":[1.5e3,true,null,\"\\ud83d\\ude00\xC3\xA9\"],\"b\":{}}";

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		/* A copy of exactly this size, so that a sanitizer sees what is read beyond it. */
		char *copy SP_FREE = malloc(len + 1);

		memcpy(copy + 1, text, len);
		cr_assert_eq(sp_json_scan(copy + 1, len, 1024, NULL), SP_PROTOCOL, "prefix of %zu",
			     len);
	}
	cr_assert_eq(sp_json_scan(text, sizeof(text) - 1, 1024, NULL), 0);
}

Test(json, depth)
{
	for (int kind = 0; kind < 2; kind++) {
		for (int depth = SP_JSON_DEPTH; depth <= SP_JSON_DEPTH + 1; depth++) {
			struct sp_buf b SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);

			for (int i = 0; i < depth; i++)
				sp_buf_adds(&b, kind ? "{\"a\":" : "[");
			sp_buf_adds(&b, "1");
			for (int i = 0; i < depth; i++)
				sp_buf_adds(&b, kind ? "}" : "]");
			cr_assert_eq(sp_json_scan(b.data, b.len, 4096, NULL),
				     depth > SP_JSON_DEPTH ? SP_PROTOCOL : 0, "depth %d", depth);
		}
	}
	/* Siblings do not add up. */
	struct sp_buf b SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);

	sp_buf_adds(&b, "[0");
	for (int i = 0; i < 2 * SP_JSON_DEPTH; i++)
		sp_buf_adds(&b, ",[{}]");
	sp_buf_adds(&b, "]");
	cr_assert_eq(sp_json_scan(b.data, b.len, 4096, NULL), 0);
}

Test(json, many_keys)
{
	struct sp_buf b SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(1 << 20);

	sp_buf_adds(&b, "{");
	for (int i = 0; i < 20000; i++)
		sp_buf_addf(&b, "\"key-%d\":[{\"key-1\":0}],", i);
	sp_buf_adds(&b, "\"z\":0}");
	cr_assert_eq(sp_json_scan(b.data, b.len, 1 << 20, NULL), 0);
	b.len--;
	sp_buf_adds(&b, ",\"key-7777\":0}");
	cr_assert_eq(sp_json_scan(b.data, b.len, 1 << 20, NULL), SP_PROTOCOL);
}

Test(json, a_refusal_never_quotes_the_text)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_json_scan("hunter2", 7, 99, &err), SP_PROTOCOL);
	cr_assert_null(strstr(err.message, "hunter2"));
	cr_assert_str_empty(err.detail);
}

Test(json, members_only_with_their_type)
{
	static const char text[] = "{\"s\":\"x\",\"i\":-42,\"big\":9007199254740992,\"f\":1.5,"
				   "\"b\":true,\"no\":false,\"n\":null,\"S\":\"upper\"}";
	cJSON *json JSON = NULL;
	int64_t i = 7;
	bool b = true;

	cr_assert_eq(sp_json_parse(text, strlen(text), 1024, &json, NULL), 0);
	cr_assert_str_eq(sp_json_str(json, "s"), "x");
	cr_assert_str_eq(sp_json_str(json, "S"), "upper");
	cr_assert_null(sp_json_str(json, "i"));
	cr_assert_null(sp_json_str(json, "missing"));
	cr_assert_null(sp_json_str(NULL, "s"));
	cr_assert(!sp_json_int(json, "f", &i) && !sp_json_int(json, "s", &i) &&
		  !sp_json_int(json, "n", &i) && !sp_json_int(json, "I", &i));
	cr_assert_eq(i, 7);
	cr_assert(sp_json_int(json, "i", &i) && i == -42);
	cr_assert(sp_json_int(json, "big", &i) && i == INT64_C(9007199254740992));
	cr_assert(!sp_json_bool(json, "n", &b) && !sp_json_bool(json, "i", &b) && b);
	cr_assert(sp_json_bool(json, "no", &b) && !b);
	cr_assert(sp_json_bool(json, "b", &b) && b);
}
