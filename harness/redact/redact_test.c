/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <redact/redact.h>

/* Each row: a secret, a text that holds it in one form, and how that form is called. */
struct form_row {
	const char *remark;
	const char *secret;
	const char *text;
	const char *form;
	const char *redacted;
};

static const struct form_row form_rows[] = {
	{ "as is", "s3cret-value", "key=s3cret-value;", "raw", "key=[redacted];" },
	{ "at the very start and end", "s3cret-value", "s3cret-value", "raw", "[redacted]" },
	{ "twice in a row", "s3cret", "s3crets3cret", "raw", "[redacted][redacted]" },
	{ "single quote in a shell word", "it's secret", "X='it'\\''s secret'", "shell",
	  "X='[redacted]'" },
	{ "single quote between double ones", "it's secret", "'it'\"'\"'s secret'", "shell",
	  "'[redacted]'" },
	{ "printf %q", "a b$c;d", "a\\ b\\$c\\;d", "shell", "[redacted]" },
	{ "URL, upper-case hex", "p@ss/w\xc3\xb6rd", "?k=p%40ss%2Fw%C3%B6rd&x", "url",
	  "?k=[redacted]&x" },
	{ "URL, lower-case hex", "p@ss/w\xc3\xb6rd", "?k=p%40ss%2fw%c3%b6rd&x", "url",
	  "?k=[redacted]&x" },
	{ "URL, everything encoded", "abcdef", "%61%62%63%64%65%66", "url", "[redacted]" },
	{ "form with a plus for a blank", "open sesame", "open+sesame", "url", "[redacted]" },
	{ "hex, lower", "secret", "0x736563726574!", "hex", "0x[redacted]!" },
	{ "hex, upper", "kl\xff\xfemn", "6B6CFFFE6D6E", "hex", "[redacted]" },
	{ "hex of a dump", "secret", " 73 65 63 72 65 74\n", "hex", " [redacted]\n" },
	{ "JSON, quote and newline", "a\"b\nc\\d", "{\"k\":\"a\\\"b\\nc\\\\d\"}", "json",
	  "{\"k\":\"[redacted]\"}" },
	{ "JSON, escaped slash", "a/b/c/d", "\"a\\/b\\/c\\/d\"", "shell", "\"[redacted]\"" },
	{ "JSON, all ASCII, lower hex", "\xc3\xa9t\xc3\xa9 2026", "\\u00e9t\\u00e9 2026", "json",
	  "[redacted]" },
	{ "JSON, all ASCII, upper hex", "\xc3\xa9t\xc3\xa9 2026", "\\u00E9t\\u00E9 2026", "json",
	  "[redacted]" },
	{ "JSON, surrogate pair", "key\xf0\x9f\x94\x91key", "key\\ud83d\\udd11key", "json",
	  "[redacted]" },
	/*
	 * base64 of "secret!" after 0, 1 and 2 bytes; the outer characters hold neighbours' bits.
	 */
	{ "base64, aligned", "secret!", "c2VjcmV0IQ==", "base64", "[redacted]==" },
	{ "base64, one byte before", "secret!", "eHNlY3JldCE=", "base64", "e[redacted]=" },
	{ "base64, two bytes before", "secret!", "eHlzZWNyZXQh", "base64", "eH[redacted]" },
	{ "base64, inside a longer text", "secret!", "bG9uZ3NlY3JldCF0YWls", "base64",
	  "bG9uZ[redacted]0YWls" },
	{ "base64, URL-safe", "\xfb\xef\xbe\xff\xff\xff", "----____", "base64", "[redacted]" },
	{ "base64, standard", "\xfb\xef\xbe\xff\xff\xff", "++++////", "base64", "[redacted]" },
	/* What begins with an escape, since texts are searched by pairs of bytes. */
	{ "a quote first, in a shell word", "'quoted'", "x'\\''quoted'\\''", "shell",
	  "x[redacted]" },
	{ "a quote first, between double ones", "'quoted", "x'\"'\"'quoted", "shell",
	  "x[redacted]" },
	{ "a blank first, as a plus", " open it", "k=+open+it", "url", "k=[redacted]" },
	{ "a newline first, in JSON", "\nabcdef", "\"\\nabcdef\"", "json", "\"[redacted]\"" },
	{ "an escape second", "a'bcdef", "a'\\''bcdef", "shell", "[redacted]" },
	{ "a blank second, as a plus", "a bcdef", "a+bcdef", "url", "[redacted]" },
	{ "base64, broken after its first", "secret!", "c\n2VjcmV0IQ==", "base64", "[redacted]==" },
	{ "base64, broken into lines", "secret!", "c2Vj\ncmV0\r\nIQ==", "base64", "[redacted]==" },
};

static char *redact(const char *secret, const char *text)
{
	struct sp_redact *set = sp_redact_new();
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);
	char *taken;

	cr_assert_eq(sp_redact_add(set, secret), 0);
	cr_assert_eq(sp_redact_text(set, text, strlen(text), &out), 0);
	sp_redact_free(set);
	taken = strdup(sp_buf_str(&out));
	return taken;
}

Test(redact, forms)
{
	for (size_t i = 0; i < SP_COUNT(form_rows); i++) {
		const struct form_row *row = &form_rows[i];
		const char *form = sp_redact_find(row->secret, row->text, strlen(row->text));
		char *redacted SP_FREE = redact(row->secret, row->text);

		cr_expect_str_eq(form ? form : "(not found)", row->form, "%s: found as %s, not %s",
				 row->remark, form ? form : "nothing", row->form);
		cr_expect_str_eq(redacted, row->redacted, "%s: \"%s\", expected \"%s\"",
				 row->remark, redacted, row->redacted);
	}
}

static const char *const innocent[][2] = {
	{ "secret!", "" },
	{ "secret!", "secret" },
	{ "secret!", "c2VjcmV0" },
	{ "secret!", "7365637265742" },
	{ "secret!", "\\u007" },
	{ "secret!", "%73%65%63%72%65%74%2" },
	{ "secret!", "%%%%%%%%%%%%%%%%%%%" },
	{ "secret!", "\\\\\\\\\\\\\\\\\\\\\\" },
	{ "key\xf0\x9f\x94\x91key", "key\\ud83dkey" },
	{ "key\xf0\x9f\x94\x91key", "key\\ud83d\\ud83dkey" },
	{ "", "anything" },
};

Test(redact, what_is_no_secret_stays)
{
	for (size_t i = 0; i < SP_COUNT(innocent); i++) {
		const char *secret = innocent[i][0], *text = innocent[i][1];
		const char *form = sp_redact_find(secret, text, strlen(text));
		char *redacted SP_FREE = redact(secret, text);

		cr_expect_null(form, "\"%s\" found in \"%s\" as %s", secret, text,
			       form ? form : "");
		cr_expect_str_eq(redacted, text, "\"%s\" became \"%s\"", text, redacted);
	}
}

Test(redact, short_secrets_erase_nothing)
{
	char *redacted SP_FREE = redact("abcde", "abcde fghij");

	cr_assert_str_eq(redacted, "abcde fghij");
}

Test(redact, longest_secret_wins)
{
	struct sp_redact *set = sp_redact_new();
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);

	sp_redact_add(set, "token-1");
	sp_redact_add(set, "token-1-and-more");
	sp_redact_add(set, "token-1");
	sp_redact_text(set, "<token-1-and-more> <token-1>", 28, &out);
	sp_redact_free(set);
	cr_assert_str_eq(sp_buf_str(&out), "<[redacted]> <[redacted]>", "got %s",
			 sp_buf_str(&out));
}

/* A head is the whole's beginning, wherever it ends: no secret is cut into something else. */
Test(redact, a_head_is_the_beginning_of_the_whole)
{
	static const char text[] = "one hunter2! two aHVudGVyMiE= three hunter2!hunter2! four";
	struct sp_redact *redact = sp_redact_new();
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);

	cr_assert_eq(sp_redact_add(redact, "hunter2!"), 0);
	cr_assert_eq(sp_redact_text(redact, text, strlen(text), &whole), 0);
	for (size_t most = 0; most < whole.len + 2; most++) {
		struct sp_buf head SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);
		size_t seen = 99;

		cr_assert_eq(sp_redact_head(redact, text, strlen(text), most, &head, &seen), 0);
		cr_expect(head.len >= (most < whole.len ? most : whole.len) && seen <= strlen(text),
			  "%zu: %zu bytes, %zu seen", most, head.len, seen);
		cr_expect_eq(strncmp(sp_buf_str(&head), sp_buf_str(&whole), head.len), 0,
			     "%zu: %s is not how this begins: %s", most, sp_buf_str(&head),
			     sp_buf_str(&whole));
	}
	sp_redact_free(redact);
}

Test(redact, nul_bytes_do_not_hide)
{
	static const char text[] = "a\0b\0s3cret-value\0c";

	cr_assert_str_eq(sp_redact_find("s3cret-value", text, sizeof(text) - 1), "raw");
}

Test(redact, buffer_ceiling_is_reported)
{
	struct sp_redact *set = sp_redact_new();
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4);
	int rc = sp_redact_text(set, "0123456789", 10, &out);

	sp_redact_free(set);
	cr_assert_lt(rc, 0, "a full buffer was not reported: %d", rc);
}

static const struct {
	const char *spec;
	const char *shown;
	bool secret;
} spec_rows[] = {
	{ "", "", false },
	{ "bash", "bash", false },
	{ "render:https://api.render.com/v1", "render:https://api.render.com/v1", false },
	{ "render:https://me:pw@api.render.com/v1", "render:https://[redacted]@api.render.com/v1",
	  true },
	{ "render:https://me@host/v1", "render:https://[redacted]@host/v1", true },
	{ "render:https://me:p@w@host/v1", "render:https://[redacted]@host/v1", true },
	{ "render:https://host/a@b", "render:https://host/a@b", false },
	{ "postgres:postgresql://u:p@h/db?x=1", "postgres:postgresql://[redacted]@h/db?x=1", true },
	{ "postgres:postgresql://u:p/w@h/db", "postgres:postgresql://[redacted]@h/db", true },
	{ "postgres:postgres://u:12/3?4#5@h/db", "postgres:postgres://[redacted]@h/db", true },
	{ "postgres:postgresql://h:5432/db", "postgres:postgresql://h:5432/db", false },
	{ "render:https://me:p/w@host/v1", "render:https://[redacted]@host/v1", true },
	{ "render:https://[::1]:80/a@b", "render:https://[::1]:80/a@b", false },
	{ "driver:npx x https://host/@scope/name", "driver:npx x https://host/@scope/name", false },
	{ "postgres:host=h password=pw dbname=d", "postgres:host=h password=[redacted] dbname=d",
	  true },
	{ "postgres:host=h PASSWORD = 'p w' dbname=d",
	  "postgres:host=h PASSWORD = '[redacted]' dbname=d", true },
	{ "postgres:password='it\\'s' x=1", "postgres:password='[redacted]' x=1", true },
	{ "postgres:postgresql://h/d?sslpassword=x&a=b",
	  "postgres:postgresql://h/d?sslpassword=[redacted]&a=b", true },
	{ "driver:node d.js --api-key=abc --verbose",
	  "driver:node d.js --api-key=[redacted] --verbose", true },
	{ "driver:env TOKEN=abc node d.js", "driver:env TOKEN=[redacted] node d.js", true },
	{ "postgres:password= dbname=d", "postgres:password= [redacted]", true },
	{ "postgres:@/etc/conninfo", "postgres:@/etc/conninfo", false },
	{ "driver:node tokenizer.js", "driver:node tokenizer.js", false },
};

Test(redact, specs)
{
	for (size_t i = 0; i < SP_COUNT(spec_rows); i++) {
		const char *spec = spec_rows[i].spec;
		char *shown SP_FREE = sp_redact_spec(spec);

		cr_assert_not_null(shown);
		cr_expect_str_eq(shown, spec_rows[i].shown, "%s: shown as \"%s\", expected \"%s\"",
				 spec, shown, spec_rows[i].shown);
		cr_expect_eq(sp_redact_spec_has_secret(spec), spec_rows[i].secret,
			     "%s: has_secret is not %d", spec, spec_rows[i].secret);
	}
}
