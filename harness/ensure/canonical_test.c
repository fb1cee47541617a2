/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include <base/cleanup.h>
#include <ensure/canonical.h>

/* What JavaScript prints for the same value (node: JSON.stringify of sorted members). */
static const struct {
	const char *text, *canonical, *without_undefined;
} rows[] = {
	{ "{}", "{}", "{}" },
	{ "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}", NULL },
	{ "{\"b\":{\"z\":[],\"y\":{}},\"a\":[ 3 , 1 ,2 ]}",
	  "{\"a\":[3,1,2],\"b\":{\"y\":{},\"z\":[]}}", NULL },
	{ "{\"aa\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"aa\":1}", NULL },
	{ "{\"a\":undefined , \"b\" : undefined}", "{\"a\":undefined,\"b\":undefined}", "{}" },
	{ "{\"a\":\"undefined\",\"b\":\":undefined\"}",
	  "{\"a\":\"undefined\",\"b\":\":undefined\"}", NULL },
	{ "{\"k\":{\"u\":undefined,\"v\":true},\"n\":null,\"f\":false}",
	  "{\"f\":false,\"k\":{\"u\":undefined,\"v\":true},\"n\":null}",
	  "{\"f\":false,\"k\":{\"v\":true},\"n\":null}" },
	/* Texts. */
	{ "{\"a\":\"\\u0041\\/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f\"}",
	  "{\"a\":\"A/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7F\"}", NULL },
	{ "{\"a\":\"\\ud83d\\ude00\\u00e9\\u20ac\"}", "{\"a\":\"😀é€\"}", NULL },
	{ "{\"\\u0061\":1}", "{\"a\":1}", NULL },
	/* By UTF-16 units a character of two units comes before U+E000 and up. */
	{ "{\"\xEF\xBF\xBD\":1,\"😀\":2,\"\xEE\x80\x80\":3,\"\xED\x9F\xBF\":4}",
	  "{\"\xED\x9F\xBF\":4,\"😀\":2,\"\xEE\x80\x80\":3,\"\xEF\xBF\xBD\":1}", NULL },
	/* Numbers. */
	{ "{\"a\":[1.0,-0,1e2,0.1,1E-7,0.000001,123.456,-1.5e3,1e-10,9007199254740991,5e-324,0."
	  "30000000000000004]}",
	  "{\"a\":[1,0,100,0.1,1e-7,0.000001,123.456,-1500,1e-10,9007199254740991,5e-324,0."
	  "30000000000000004]}",
	  NULL },
};

Test(canonical, rows)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf kept SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_buf dropped SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_error err = SP_ERROR_INIT;
		const char *clean = rows[i].without_undefined ? rows[i].without_undefined :
								rows[i].canonical;

		cr_assert_eq(sp_canonical_object("text", rows[i].text, SP_UNDEFINED_KEPT, &kept,
						 &err),
			     0, "%s: %s", rows[i].text, err.message);
		cr_expect_str_eq(sp_buf_str(&kept), rows[i].canonical, "%s: %s instead of %s",
				 rows[i].text, sp_buf_str(&kept), rows[i].canonical);
		cr_assert_eq(sp_canonical_object("text", rows[i].text, SP_UNDEFINED_DROPPED,
						 &dropped, &err),
			     0);
		cr_expect_str_eq(sp_buf_str(&dropped), clean, "%s: %s instead of %s", rows[i].text,
				 sp_buf_str(&dropped), clean);
	}
}

/* What is canonical stays as it is. */
Test(canonical, is_its_own_form)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf again SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_error err = SP_ERROR_INIT;

		cr_assert_eq(sp_canonical_object("text", rows[i].canonical, SP_UNDEFINED_KEPT,
						 &again, &err),
			     0, "%s: %s", rows[i].canonical, err.message);
		cr_expect_str_eq(sp_buf_str(&again), rows[i].canonical);
	}
}

Test(canonical, refusals_tell_no_text)
{
	static const char *const texts[] = {
		"hunter2", "{\"a\":hunter2}", "{\"a\":1,}", "{\"hunter2\":1",
		"{\"a\":undefinedhunter2}", "{undefined:1}", "undefined",
		"{\"a\":\"\\u0000hunter2\"}", "{\"a\":\"\xC0\"}", "{\"a\":9007199254740993}",
	};

	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_error err = SP_ERROR_INIT;

		cr_expect_eq(sp_canonical_object("tenant", texts[i], SP_UNDEFINED_KEPT, &out, &err),
			     SP_INVALID, "%s: taken as %s", texts[i], sp_buf_str(&out));
		cr_expect(strstr(err.message, "tenant"), "%s: %s", texts[i], err.message);
		cr_expect(!strstr(err.message, "hunter2"), "the message repeats the text: %s",
			  err.message);
	}
}

Test(canonical, deep_nesting_is_refused)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_CANONICAL_MAX);
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_CANONICAL_MAX);
	struct sp_error err = SP_ERROR_INIT;

	for (int i = 0; i < 100000; i++)
		sp_buf_adds(&text, "{\"a\":");
	cr_expect_eq(sp_canonical_object("text", sp_buf_str(&text), SP_UNDEFINED_KEPT, &out, &err),
		     SP_INVALID);
}

Test(canonical, top_level_members)
{
	cr_expect(sp_canonical_has("{\"a\":1,\"secrets\":undefined}", "secrets"));
	cr_expect(sp_canonical_has("{ \"\\u0073ecrets\" : {} }", "secrets"));
	cr_expect(!sp_canonical_has("{\"a\":{\"secrets\":1}}", "secrets"));
	cr_expect(!sp_canonical_has("{}", "secrets"));
}
