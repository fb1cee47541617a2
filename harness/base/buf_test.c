/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>

#define BUF(name, ceiling) struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ceiling)

Test(buf, empty_is_an_empty_text)
{
	BUF(b, 4);

	cr_assert_str_eq(sp_buf_str(&b), "");
	cr_assert_eq(sp_buf_add(&b, NULL, 0), 0);
	cr_assert_str_eq(sp_buf_str(&b), "");
}

Test(buf, ceiling_is_the_largest_length)
{
	for (size_t ceiling = 0; ceiling < 200; ceiling++) {
		BUF(b, ceiling);

		for (size_t i = 0; i < ceiling; i++)
			cr_assert_eq(sp_buf_addc(&b, 'x'), 0, "ceiling %zu, byte %zu", ceiling, i);
		cr_assert_eq(b.error, 0);
		cr_assert_eq(sp_buf_addc(&b, 'x'), -ENOBUFS, "ceiling %zu", ceiling);
		cr_assert_eq(b.len, ceiling);
		cr_assert_eq(strlen(sp_buf_str(&b)), ceiling);
	}
}

static int add_plain(struct sp_buf *b)
{
	return sp_buf_adds(b, "123456789");
}
static int add_format(struct sp_buf *b)
{
	return sp_buf_addf(b, "%d%s", 1234, "56789");
}
static int add_shell(struct sp_buf *b)
{
	return sp_buf_add_shell(b, "123456789");
}
static int add_json(struct sp_buf *b)
{
	return sp_buf_add_json(b, "123456789", 9);
}
static int add_base64(struct sp_buf *b)
{
	return sp_buf_add_base64(b, "123456789", 9);
}
static int add_unbase64(struct sp_buf *b)
{
	return sp_buf_add_unbase64(b, "MTIzNDU2Nzg5", 12);
}
static int add_url(struct sp_buf *b)
{
	return sp_buf_add_url(b, "1%2%3%4%5");
}
static int add_reserved(struct sp_buf *b)
{
	return sp_buf_reserve(b, 9) ? 0 : b->error;
}

Test(buf, every_addition_latches_and_later_ones_do_nothing)
{
	int (*const additions[])(struct sp_buf *) = { add_plain, add_format, add_shell, add_json,
						      add_base64, add_unbase64, add_url,
						      add_reserved };

	for (size_t i = 0; i < SP_COUNT(additions); i++) {
		BUF(b, 8);
		size_t held, len = 99;

		cr_assert_eq(sp_buf_adds(&b, "ab"), 0);
		cr_assert_eq(additions[i](&b), -ENOBUFS, "addition %zu", i);
		held = b.len;
		cr_assert_eq(strlen(sp_buf_str(&b)), held, "addition %zu", i);
		cr_assert_eq(memcmp(sp_buf_str(&b), "ab", 2), 0);
		cr_assert_eq(sp_buf_addc(&b, 'z'), -ENOBUFS, "addition %zu", i);
		cr_assert_eq(sp_buf_addf(&b, "z"), -ENOBUFS);
		cr_assert_null(sp_buf_reserve(&b, 0));
		cr_assert_eq(b.len, held);
		cr_assert_null(sp_buf_take(&b, &len));
		cr_assert_eq(len, 99, "an output was touched on failure");
		cr_assert_eq(b.error, -ENOBUFS, "taking hides the error");
		sp_buf_clear(&b);
		cr_assert_eq(sp_buf_adds(&b, "12345678"), 0, "clearing forgets the error");
	}
}

Test(buf, no_size_overflows)
{
	BUF(b, SIZE_MAX);
	BUF(c, SIZE_MAX - 1);

	cr_assert_eq(sp_buf_addc(&b, 'x'), -ENOBUFS);
	cr_assert_eq(sp_buf_addc(&c, 'x'), 0);
	cr_assert_null(sp_buf_reserve(&c, SIZE_MAX));
	cr_assert_eq(c.error, -ENOBUFS);
#ifndef __SANITIZE_ADDRESS__
	/* AddressSanitizer ends the program instead. */
	sp_buf_clear(&c);
	cr_assert_null(sp_buf_reserve(&c, SIZE_MAX / 4));
	cr_assert_eq(c.error, -ENOMEM);
	cr_assert_str_eq(sp_buf_str(&c), "", "what was there is kept");
#endif
}

Test(buf, formats_of_every_length_around_the_room)
{
	for (int len = 0; len < 300; len++) {
		BUF(b, 4096);

		sp_buf_adds(&b, "head");
		cr_assert_eq(sp_buf_addf(&b, "%*s|", len, ""), 0);
		cr_assert_eq(b.len, (size_t)len + 5);
		cr_assert_eq(b.data[b.len - 1], '|');
		cr_assert_eq(b.data[b.len], '\0');
	}
}

Test(buf, consume_and_take)
{
	BUF(b, 64);
	struct sp_bytes bytes = SP_BYTES_INIT;
	size_t len;
	char *text;

	sp_buf_add(&b, "a\0bc", 4);
	sp_buf_consume(&b, 2);
	cr_assert_str_eq(sp_buf_str(&b), "bc");
	sp_buf_consume(&b, 99);
	cr_assert_str_eq(sp_buf_str(&b), "");
	text = sp_buf_take(&b, &len);
	cr_assert_not_null(text, "an empty buffer is taken as an empty text");
	cr_assert_eq(len, 0);
	free(text);
	sp_buf_add(&b, "x\0y", 3);
	cr_assert_eq(sp_buf_take_bytes(&b, &bytes), 0);
	cr_assert_eq(bytes.len, 3);
	cr_assert_eq(memcmp(bytes.data, "x\0y", 4), 0);
	cr_assert_eq(b.len, 0);
	sp_bytes_done(&bytes);
	cr_assert_null(bytes.data);
}

static const char *const shell_texts[] = {
	"", "plain", "it's", "'", "''", "'\\''", "$HOME `id` \"x\" \\ ! * ? [a] ~ #", "-n",
	"line\nline\n", "\ttab", "\x01\x7F\xFF\xC3", "\xC3\xA9", "a'b\"c'd", "%s%n",
};

Test(buf, shell_words_come_back_from_a_real_shell)
{
	BUF(command, 65536);
	BUF(expected, 65536);
	const char *argv[] = { "sh", "-c", NULL, NULL };
	struct sp_run_result result = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	sp_buf_adds(&command, "printf '<%s>'");
	for (size_t i = 0; i < SP_COUNT(shell_texts); i++) {
		sp_buf_addc(&command, ' ');
		sp_buf_add_shell(&command, shell_texts[i]);
		sp_buf_addf(&expected, "<%s>", shell_texts[i]);
	}
	cr_assert_eq(command.error, 0);
	argv[2] = sp_buf_str(&command);
	cr_assert_eq(sp_run(argv, NULL, NULL, 0, 65536, NULL, &result, &err), 0, "%s", err.message);
	cr_assert_str_eq(result.out, sp_buf_str(&expected));
	cr_assert_str_eq(result.err, "");
	sp_run_result_done(&result);
}

static const struct {
	const char *plain;
	const char *encoded;
} base64_vectors[] = {
	/* RFC 4648, section 10, and all digits. */
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xFB\xEF\xBE", "++++" },
	{ "\xFF\xFF\xFF", "////" },
	{ "\x14\xFB\x9C\x03\xD9\x7E", "FPucA9l+" },
};

Test(buf, base64_vectors_both_ways)
{
	for (size_t i = 0; i < SP_COUNT(base64_vectors); i++) {
		BUF(encoded, 64);
		BUF(decoded, 64);

		sp_buf_add_base64(&encoded, base64_vectors[i].plain,
				  strlen(base64_vectors[i].plain));
		cr_assert_str_eq(sp_buf_str(&encoded), base64_vectors[i].encoded);
		cr_assert_eq(sp_buf_add_unbase64(&decoded, encoded.data ? encoded.data : "",
						 encoded.len),
			     0);
		cr_assert_str_eq(sp_buf_str(&decoded), base64_vectors[i].plain);
	}
}

Test(buf, base64_of_every_byte_and_length)
{
	unsigned char bytes[256];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		BUF(encoded, 1024);
		BUF(decoded, 1024);

		cr_assert_eq(sp_buf_add_base64(&encoded, bytes, len), 0);
		cr_assert_eq(sp_buf_add_unbase64(&decoded, sp_buf_str(&encoded), encoded.len), 0);
		cr_assert_eq(decoded.len, len);
		cr_assert(!len || !memcmp(decoded.data, bytes, len));
	}
}

Test(buf, what_is_no_base64_adds_nothing)
{
	static const char *const wrong[] = { "Z",    "Zg",	 "Zg=",	      "Zg=g",	  "=g==",
					     "====", "Zg==Zg==", "Zm9v Zm9",  "Zm9v\nZm", "Zm-_",
					     "Zh==", "Zm9=",	 "Z\xC3\xA9g" };

	for (size_t i = 0; i < SP_COUNT(wrong); i++) {
		BUF(b, 64);

		sp_buf_adds(&b, "kept");
		cr_assert_eq(sp_buf_add_unbase64(&b, wrong[i], strlen(wrong[i])), -EINVAL, "%s",
			     wrong[i]);
		cr_assert_str_eq(sp_buf_str(&b), "kept");
		cr_assert_eq(b.error, 0);
	}
}

static const struct {
	const char *text;
	const char *json;
} json_texts[] = {
	{ "", "\"\"" },
	{ "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
	{ "\n\r\t\b\f\x01\x1F\x7F", "\"\\n\\r\\t\\b\\f\\u0001\\u001f\x7F\"" },
	{ "\xC3\xA9\xF0\x9F\x98\x80", "\"\xC3\xA9\xF0\x9F\x98\x80\"" },
	{ "a\xFFz", "\"a\xEF\xBF\xBDz\"" },
	{ "a\xE2\x82", "\"a\xEF\xBF\xBD\"" },
	{ "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" },
};

/* Every byte at every place of a text that is plain otherwise. */
Test(buf, plain_runs)
{
	char text[24];

	for (unsigned byte = 0; byte < 256; byte++) {
		bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';

		for (size_t at = 0; at < sizeof(text); at++) {
			size_t expected = plain ? sizeof(text) : at, found;

			memset(text, 'x', sizeof(text));
			text[at] = (char)byte;
			found = sp_json_plain(text, sizeof(text));
			cr_assert_eq(found, expected, "byte %u at %zu: %zu, expected %zu", byte, at,
				     found, expected);
		}
	}
}

Test(buf, json_strings)
{
	for (size_t i = 0; i < SP_COUNT(json_texts); i++) {
		BUF(b, 256);

		cr_assert_eq(sp_buf_add_json(&b, json_texts[i].text, strlen(json_texts[i].text)),
			     0);
		cr_assert_str_eq(sp_buf_str(&b), json_texts[i].json);
	}
	BUF(b, 64);
	sp_buf_add_json(&b, "a\0b", 3);
	cr_assert_str_eq(sp_buf_str(&b), "\"a\\u0000b\"");
}

Test(buf, url_encoding)
{
	BUF(b, 256);

	sp_buf_add_url(&b, "AZaz09-._~ /?%+&=\xC3\xA9\x01");
	cr_assert_str_eq(sp_buf_str(&b), "AZaz09-._~%20%2F%3F%25%2B%26%3D%C3%A9%01");
}
