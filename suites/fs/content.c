/* SPDX-License-Identifier: MIT */
/* What is written is what is read, by the call and by a command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/sha256.h>

#include "cases.h"
#include "run.h"

void fs_bytes_exact(struct sp_case *t)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t len;
	} rows[] = {
		/* In the order of their names, as the command tells them. */
		{ "blanks", " a ", 3 },
		{ "bom", "\xef\xbb\xbfx", 4 },
		{ "crlf", "\r\n", 2 },
		{ "empty", "", 0 },
		{ "newline", "\n", 1 },
		{ "no newline", "a", 1 },
		{ "not utf-8", "\xff\xfe\xc3(\xed\xa0\x80", 7 },
		{ "nul", "a\0b\0", 4 },
		{ "one line", "a\n", 2 },
		{ "two newlines", "a\n\n", 3 },
	};
	struct sp_buf sizes SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct yard y YARD = YARD_INIT;
	unsigned char all[256];

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const char *path = yard_path(&y, rows[i].name);

		SP_REQUIRE(put(&y, path, rows[i].bytes, rows[i].len) &&
			   gives(&y, path, rows[i].bytes, rows[i].len));
		sp_buf_addf(&sizes, "%s%zu %s", i ? "\n" : "", rows[i].len, rows[i].name);
	}
	SP_REQUIRE(says(&y, sp_buf_str(&sizes), "their sizes, by a command",
			"cd %s && LC_ALL=C && for f in *; do echo $(wc -c <\"$f\") \"$f\"; done",
			y.dir));
	SP_REQUIRE(put(&y, yard_path(&y, "all"), all, sizeof(all)) &&
		   gives(&y, yard_path(&y, "all"), all, sizeof(all)));
}

/* Written by the call and summed by a command; written by a command and read by the call. */
void fs_bytes_two_paths(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	size_t len = 5 * 1024 * 1024 + 7;
	unsigned char *data SP_FREE = malloc(len);
	char hex[SP_SHA256_HEX];

	if (!data) {
		sp_case_error(t, SP_HERE, "no memory");
		return;
	}
	for (size_t i = 0; i < len; i++)
		data[i] = (unsigned char)(i * 2654435761u >> 13);
	sp_sha256_hex(data, len, hex);
	SP_REQUIRE(yard_open(t, &y) && put(&y, yard_path(&y, "big"), data, len));
	SP_REQUIRE(says(&y, hex, "the digest of 5 MiB, by a command", "sha256sum <%s | cut -c1-64",
			yard_path(&y, "big")));
	SP_REQUIRE(sp_sh_ok(t, y.sandbox, "cp %s %s", yard_path(&y, "big"), yard_path(&y, "copy")));
	gives(&y, yard_path(&y, "copy"), data, len);
}

/* Around every border at which somebody has cut: an argument, a pipe, a piece, a page. */
void fs_bytes_sizes(struct sp_case *t)
{
	static const size_t sizes[] = { 1,	4095,	4096,	4097,	16384,	16385,	 18432,
					32767,	32768,	32769,	65535,	65536,	65537,	 131071,
					131072, 131073, 262144, 524289, 1048576, 1048577, 2097153 };
	size_t most = sizes[SP_COUNT(sizes) - 1];
	struct sp_buf digests SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct yard y YARD = YARD_INIT;
	char *data SP_FREE = malloc(most);

	if (!data) {
		sp_case_error(t, SP_HERE, "no memory");
		return;
	}
	/* Characters of three bytes: a cut leaves a piece of one. */
	for (size_t i = 0; i < most; i++)
		data[i] = "\xe2\x82\xac"[i % 3];
	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < SP_COUNT(sizes); i++) {
		/* In the order of their numbers, as the command tells them. */
		const char *path = yard_path(&y, sp_case_format(t, "%02zu", i));
		char hex[SP_SHA256_HEX];

		sp_sha256_hex(data, sizes[i], hex);
		sp_buf_addf(&digests, "%s%s", i ? "\n" : "", hex);
		SP_REQUIRE(put(&y, path, data, sizes[i]) && gives(&y, path, data, sizes[i]));
	}
	says(&y, sp_buf_str(&digests), "the digests of all sizes, by a command",
	     "cd %s && sha256sum * | cut -c1-64", y.dir);
}

void fs_write_replaces(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "f"), "a long first content\n") &&
		   put_text(&y, yard_path(&y, "f"), "short"));
	SP_REQUIRE(says(&y, "short", "the second content", "cat %s", yard_path(&y, "f")));
	SP_REQUIRE(put(&y, yard_path(&y, "f"), "", 0));
	says(&y, "0", "the size of an emptied file", "wc -c <%s | tr -d ' '", yard_path(&y, "f"));
}

void fs_write_parents(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "a/b c/d"), "deep"));
	says(&y, "deep", "a file below new folders", "cat %s'/a/b c/d'", y.dir);
}

/* Where a folder is, and below what is none. */
void fs_write_refuses(struct sp_case *t)
{
	static const char *const rows[] = { "dir", "file/below", "file/below/that" };
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "file"), "old") &&
		   sp_sh_ok(t, y.sandbox, "mkdir %s/dir", y.dir));
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc = sp_sandbox_write(y.sandbox, yard_path(&y, rows[i]), "new", 3,
					  sp_case_cancel(t), &err);

		SP_CHECK(t, rc < 0, "write to %s is an error", rows[i]);
	}
	says(&y, "dir file\nold", "what is there after refused writes",
	     "cd %s && echo $(find . -mindepth 1 | cut -c3- | sort) && cat file", y.dir);
}

void fs_read_missing(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(yard_open(t, &y));
	SP_CHECK_CODE(t, SP_NOT_FOUND,
		      fs_calls[0].call(y.sandbox, yard_path(&y, "no"), sp_case_cancel(t), &err),
		      &err, "read of a missing file");
	SP_CHECK_CODE(t, SP_NOT_FOUND,
		      fs_calls[0].call(y.sandbox, yard_path(&y, "no/no"), sp_case_cancel(t), &err),
		      &err, "read below a missing folder");
}

void fs_read_folder(struct sp_case *t)
{
	static const char *const rows[] = { ".", "empty", "a.tar", "link" };
	struct yard y YARD = YARD_INIT;
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(yard_open(t, &y) &&
		   sp_sh_ok(t, y.sandbox,
			    "cd %s && mkdir empty a.tar && echo x >x && echo x >a.tar/x && "
			    "ln -s a.tar link",
			    y.dir));
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		rc = sp_sandbox_read(y.sandbox, yard_path(&y, rows[i]), &bytes, sp_case_cancel(t),
				     &err);
		SP_CHECK_CODE(t, SP_CONFLICT, rc, &err, "read of the folder %s", rows[i]);
	}
}

/* Archives are files like any other, whatever their names and first bytes promise. */
void fs_read_tar(struct sp_case *t)
{
	static const char *const rows[] = { "a.tar", "a.tar.gz", "a.tgz", "tar", "short.tar" };
	struct sp_buf digests SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) &&
		   sp_sh_ok(t, y.sandbox,
			    "cd %s && echo x >x && tar cf a.tar x && gzip -c <a.tar >a.tar.gz && "
			    "cp a.tar.gz a.tgz && cp a.tar tar && head -c 700 <a.tar >short.tar",
			    y.dir));
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		struct sp_error err = SP_ERROR_INIT;
		char hex[SP_SHA256_HEX];
		int rc = sp_sandbox_read(y.sandbox, yard_path(&y, rows[i]), &bytes,
					 sp_case_cancel(t), &err);

		SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "read of %s", rows[i]));
		sp_sha256_hex(bytes.data, bytes.len, hex);
		sp_buf_addf(&digests, "%s%s", i ? "\n" : "", hex);
	}
	says(&y, sp_buf_str(&digests), "their digests, by a command",
	     "cd %s && sha256sum a.tar a.tar.gz a.tgz tar short.tar | cut -c1-64", y.dir);
}
