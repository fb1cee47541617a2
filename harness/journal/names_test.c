/* SPDX-License-Identifier: MIT */
/* Vectors A.1 and A.2. */
#include "names.h"

#include <string.h>

#include <criterion/criterion.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <sandproof/error.h>

static const struct {
	const char *id;
	size_t len;
	const char *token;
	const char *nonce;
} vectors[] = {
#define ID(text) text, sizeof(text) - 1
	{ ID("run-123"), "run-123", "85be979a9cde500b9aa7e513cd00a79f" },
	{ ID("_"), "_5f", "3409cc848ae397d05245ec8a53c127b2" },
	{ ID("_40"), "_5f40", "29d5fac38b67fde029b51433437b832b" },
	{ ID("@"), "_40", "7a647f04738812eec8d0a44bda375328" },
	{ ID("/"), "_2f", "c939d1e2f73060bbb23c8742c0731485" },
	{ ID(".."), "..", "7745001e9aa906fb9c51f956f51b77ba" },
	{ ID("."), ".", "a240f6f82efcecc9c8d833c6bdc029d3" },
	{ ID("-"), "-", "1ed93c231924a9869b14360509cca32e" },
	{ ID(".hidden"), ".hidden", "96c619ff78dcf139a7e2d367e0e29752" },
	{ ID("a b"), "a_20b", "b5a2f5f21b81516810a846cafc37a724" },
	{ ID("a_b"), "a_5fb", "e6a3639c50d09dcc3a4df49c83fbe935" },
	{ ID("%41"), "_2541", "f63dd315ce9a3322f2e63ff6a90f3e0c" },
	{ ID("a/b c;d"), "a_2fb_20c_3bd", "314e972efced1b9c32878f2f2df9a146" },
	{ ID("CON"), "_43_4f_4e", "2b7474581b4ff1181c38f33ec0408153" },
	{ ID("con"), "_63_6f_6e", "1a9d5b76faae71d4451f75b4095d8d39" },
	{ ID("NUL"), "_4e_55_4c", "54ea054fedfd8fb5fe184a67abc9f83a" },
	{ ID("COM1"), "_43_4f_4d_31", "41fa52227fb668e3a4f0346ea23696f6" },
	{ ID("lpt9"), "_6c_70_74_39", "9fdb85b5c1af85e3b74ef263326efa2b" },
	{ ID("CONtainer"), "CONtainer", "9b03fbc7ebb8ec2de75fe05f008f2c0f" },
	{ ID("COM10"), "COM10", "a3ae2cd92ff030ee879867d2afa7b4c3" },
	{ ID("AUX.txt"), "AUX.txt", "c28470e7e2646119c00f1b0fb00c14c1" },
	{ ID("日本語"), "_e6_97_a5_e6_9c_ac_e8_aa_9e", "8b750da9594436adb8205865ebd5d5fa" },
	{ ID("é"), "_c3_a9", "ce81447eb9b5a8b26fd0081a3d70764d" },
	{ ID("😀"), "_f0_9f_98_80", "c9f9ce88cac213bb6bfcfda89ef4a152" },
	{ ID("A"), "A", "352c5c991db988c7097410b5646fcdd9" },
	{ ID("a"), "a", "075183cf533b16809be62b727624c38c" },
	{ ID("r1"), "r1", "be9a86998f6b232f1ef284cebb44fb5a" },
	{ ID("nonce-a"), "nonce-a", "0e6781d779b40c2ecc9b3480561124ca" },
	{ ID("pje-1"), "pje-1", "bf64ba85d977a1ed3d7341d95f6267fe" },
	{ ID("\0"), "_00", "4dc31de5db6a7ba6b39d87efc4a5798d" },
	{ ID("\n"), "_0a", "946fcc8a65af86f40bb90746ee20957c" },
	{ ID("a'; rm -rf /; echo $(whoami) \"b"),
	  "a_27_3b_20rm_20-rf_20_2f_3b_20echo_20_24_28whoami_29_20_22b",
	  "3a540e377272b6dc952e31c6c1e5583d" },
};

static void check_encoding(const char *id, size_t len, const char *token, const char *nonce)
{
	char found[33] = "";
	char *encoded SP_FREE = sp_journal_encode(id, len);
	int rc = sp_journal_nonce(id, len, found);

	cr_expect_str_eq(encoded ? encoded : "NULL", token, "%.40s: token \"%s\", expected \"%s\"",
			 id, encoded, token);
	cr_expect(!rc && !strcmp(found, nonce), "%.40s: nonce %s, expected %s", id, found, nonce);
}

/* Every name that is made comes back; with the other ending too. */
static void check_round_trip(const char *id, size_t len)
{
	static const char *const endings[] = { SP_JOURNAL_ENDING, SP_JOURNAL_STDERR_ENDING };

	for (size_t i = 0; i < SP_COUNT(endings); i++) {
		struct sp_bytes back SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		char *token SP_FREE = sp_journal_encode(id, len), *file SP_FREE = NULL;
		int rc;

		cr_assert(token && asprintf(&file, "%s%s", token, endings[i]) > 0);
		rc = sp_journal_decode(file, &back);
		cr_expect(!rc && back.len == len && !memcmp(back.data, id, len),
			  "%s does not come back (code %d)", file, rc);
	}
}

Test(journal_names, vectors)
{
	for (size_t i = 0; i < SP_COUNT(vectors); i++) {
		check_encoding(vectors[i].id, vectors[i].len, vectors[i].token, vectors[i].nonce);
		check_round_trip(vectors[i].id, vectors[i].len);
	}
	cr_expect_null(sp_journal_encode("", 0));
}

/* A unit, how often, what follows; the token is a unit's form, how often, and an end. */
static const struct {
	const char *unit;
	size_t n;
	const char *more;
	const char *form;
	size_t n_form;
	const char *end;
	const char *nonce;
	bool comes_back;
} long_vectors[] = {
	{ "x", 200, "", "x", 200, "", "816d7c195a10b0efaa2cc597becd582d", true },
	{ "x", 201, "", "x", 183, "-84a0678c90937f5d", "b3126fa0a781d133eb4331ae24c1c63f", false },
	{ "x", 5000, "", "x", 183, "-c59d3c0480cc2d71", "07a4fb1691cacc89f5413bd58c4ecd97", false },
	{ "日", 22, "aa", "_e6_97_a5", 22, "aa", "a9eacc428c4881448362678364a4c919", true },
	{ "日", 23, "", "_e6_97_a5", 20, "_e6-2c64954df8c94184", "0875b93b36c669b1e25cccfff1e76e1f",
	  false },
};

static char *repeated(const char *unit, size_t n, const char *end)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (size_t i = 0; i < n; i++)
		sp_buf_adds(&text, unit);
	sp_buf_adds(&text, end);
	return sp_buf_take(&text, NULL);
}

Test(journal_names, long_ids)
{
	for (size_t i = 0; i < SP_COUNT(long_vectors); i++) {
		char *id SP_FREE = repeated(long_vectors[i].unit, long_vectors[i].n,
					    long_vectors[i].more);
		char *token SP_FREE = repeated(long_vectors[i].form, long_vectors[i].n_form,
					       long_vectors[i].end);
		char *file SP_FREE = NULL;
		struct sp_bytes back SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

		check_encoding(id, strlen(id), token, long_vectors[i].nonce);
		cr_assert(asprintf(&file, "%s.ndjson", token) > 0);
		cr_expect_eq(!sp_journal_decode(file, &back), long_vectors[i].comes_back, "%s",
			     file);
	}
}

Test(journal_names, what_is_no_canonical_name)
{
	static const char *const names[] = {
		/* Decodable, and yet not the name that their run would have. */
		"x_2Fy.err", "_61.ndjson", "CON.ndjson",
		/* Malformed. */
		"_ff.ndjson", "_4.ndjson", "_zz.ndjson", "_ed_a0_80.ndjson", "_c0_af.ndjson",
		"a b.ndjson", "a.txt", ".ndjson", ".err", "a/b.ndjson", "", "ndjson", "_.ndjson",
		"a_.ndjson", "x.ndjson ",
	};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		struct sp_bytes back SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		int rc = sp_journal_decode(names[i], &back);

		cr_expect_eq(rc, SP_INVALID, "\"%s\" decodes to \"%s\"", names[i],
			     back.data ? (char *)back.data : "");
	}
}

Test(journal_names, cut_names_have_no_run)
{
	char *cut SP_FREE = repeated("a", 183, "-0123456789abcdef.ndjson");
	char *longer SP_FREE = repeated("a", 201, ".ndjson");
	char *other SP_FREE = repeated("a", 183, "-0123456789abcdeF.ndjson");
	struct sp_bytes back SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

	cr_expect_eq(sp_journal_decode(cut, &back), SP_INVALID);
	cr_expect_eq(sp_journal_decode(longer, &back), SP_INVALID);
	cr_expect_eq(sp_journal_decode(other, &back), 0, "upper case is no hash");
}

Test(journal_names, one_ending_is_removed)
{
	static const struct {
		const char *file, *id;
	} rows[] = { { "..ndjson", "." }, { "...err", ".." }, { "x.ndjson.ndjson", "x.ndjson" } };

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_bytes back SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		int rc = sp_journal_decode(rows[i].file, &back);

		cr_expect(!rc && !strcmp((char *)back.data, rows[i].id),
			  "%s: \"%s\", expected \"%s\"", rows[i].file,
			  rc ? "none" : (char *)back.data, rows[i].id);
	}
}
