/* SPDX-License-Identifier: MIT */
/* J14: a run id is a name and nothing else, whatever stands in it. */
#include "cases.h"
#include "scene.h"

/* ---- Golden vectors ---- */

struct vector {
	const char *run_id;
	const char *token;
	const char *nonce;
};

static const struct vector vectors[] = {
	{ "run-123", "run-123", "85be979a9cde500b9aa7e513cd00a79f" },
	{ "_", "_5f", "3409cc848ae397d05245ec8a53c127b2" },
	{ "_40", "_5f40", "29d5fac38b67fde029b51433437b832b" },
	{ "@", "_40", "7a647f04738812eec8d0a44bda375328" },
	{ "/", "_2f", "c939d1e2f73060bbb23c8742c0731485" },
	{ "..", "..", "7745001e9aa906fb9c51f956f51b77ba" },
	{ ".", ".", "a240f6f82efcecc9c8d833c6bdc029d3" },
	{ "-", "-", "1ed93c231924a9869b14360509cca32e" },
	{ ".hidden", ".hidden", "96c619ff78dcf139a7e2d367e0e29752" },
	{ "a b", "a_20b", "b5a2f5f21b81516810a846cafc37a724" },
	{ "%41", "_2541", "f63dd315ce9a3322f2e63ff6a90f3e0c" },
	{ "a/b c;d", "a_2fb_20c_3bd", "314e972efced1b9c32878f2f2df9a146" },
	{ "CON", "_43_4f_4e", "2b7474581b4ff1181c38f33ec0408153" },
	{ "con", "_63_6f_6e", "1a9d5b76faae71d4451f75b4095d8d39" },
	{ "COM1", "_43_4f_4d_31", "41fa52227fb668e3a4f0346ea23696f6" },
	{ "CONtainer", "CONtainer", "9b03fbc7ebb8ec2de75fe05f008f2c0f" },
	{ "AUX.txt", "AUX.txt", "c28470e7e2646119c00f1b0fb00c14c1" },
	{ "日本語", "_e6_97_a5_e6_9c_ac_e8_aa_9e", "8b750da9594436adb8205865ebd5d5fa" },
	{ "😀", "_f0_9f_98_80", "c9f9ce88cac213bb6bfcfda89ef4a152" },
	{ "A", "A", "352c5c991db988c7097410b5646fcdd9" },
	{ "a", "a", "075183cf533b16809be62b727624c38c" },
	{ "\n", "_0a", "946fcc8a65af86f40bb90746ee20957c" },
};

/* Long ids, told by the character that is repeated. */
static const struct {
	const char *part;
	int times;
	const char *rest;
	const char *hash;
	const char *nonce;
} long_vectors[] = {
	{ "x", 200, "", NULL, "816d7c195a10b0efaa2cc597becd582d" },
	{ "x", 201, "", "84a0678c90937f5d", "b3126fa0a781d133eb4331ae24c1c63f" },
	{ "x", 5000, "", "c59d3c0480cc2d71", "07a4fb1691cacc89f5413bd58c4ecd97" },
	{ "日", 22, "aa", NULL, "a9eacc428c4881448362678364a4c919" },
	{ "日", 23, "", "2c64954df8c94184", "0875b93b36c669b1e25cccfff1e76e1f" },
};

#define ALL_VECTORS (SP_COUNT(vectors) + SP_COUNT(long_vectors))

/* A finished journal at the vector's name, to be made by the command. */
static void add_journal(const char *token, const char *nonce, size_t code, struct sp_buf *command)
{
	sp_buf_adds(command, " && printf '%s\\n' ");
	sp_buf_addf(command, "'{\"__exit\":%zu,\"__nonce\":\"%s\"}' > ./", code, nonce);
	sp_buf_add_shell(command, token);
	sp_buf_adds(command, ".ndjson");
}

/* The id of a long vector; its name is compared with ours before it judges anybody. */
static const char *long_id(struct sp_case *t, size_t i)
{
	struct sp_buf id SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (int n = 0; n < long_vectors[i].times; n++)
		sp_buf_adds(&id, long_vectors[i].part);
	sp_buf_adds(&id, long_vectors[i].rest);
	return sp_case_format(t, "%s", sp_buf_str(&id));
}

void journal_names_vectors(struct sp_case *t)
{
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct scene s SCENE = SCENE_INIT;
	const char *ids[ALL_VECTORS];

	SP_REQUIRE(scene_open(t, &s));
	sp_buf_addf(&command, "mkdir %s && cd %s", s.dir, s.dir);
	for (size_t i = 0; i < SP_COUNT(vectors); i++) {
		ids[i] = vectors[i].run_id;
		add_journal(vectors[i].token, vectors[i].nonce, i, &command);
	}
	for (size_t i = 0; i < SP_COUNT(long_vectors); i++) {
		const char *id = ids[SP_COUNT(vectors) + i] = long_id(t, i);
		const char *token = journal_token(t, id);

		SP_REQUIRE(SP_CHECK(t,
				    strlen(token) == 200 && (!long_vectors[i].hash ||
							     strstr(token, long_vectors[i].hash)),
				    "the long name %s is the vector's", token));
		add_journal(token, long_vectors[i].nonce, SP_COUNT(vectors) + i, &command);
	}
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "%s", sp_buf_str(&command)));
	for (size_t i = 0; i < ALL_VECTORS; i++) {
		s.run = ids[i];
		SP_REQUIRE(scene_check_state(&s, SP_JOURNAL_FINISHED, (int)i, SP_HERE,
					     sp_case_format(t, "the run \"%.40s\"", ids[i])));
	}
}

void journal_names_look_alikes(struct sp_case *t)
{
	static const char *const pairs[][2] = {
		{ "_40", "@" },		{ "a b", "a_20b" },  { "a/b", "a_2fb" },
		{ "CON", "_43_4f_4e" }, { "x", "x.ndjson" }, { "r", "r.err" },
	};
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s));
	for (size_t i = 0; i < SP_COUNT(pairs); i++)
		for (int side = 0; side < 2; side++) {
			SP_REQUIRE(scene_set_run(&s, pairs[i][side]));
			SP_REQUIRE(scene_run(&s, sp_case_format(t, "echo %zu.%d; exit %zu", i, side,
								2 * i + side)));
		}
	for (size_t i = 0; i < SP_COUNT(pairs); i++)
		for (int side = 0; side < 2; side++) {
			const char *content = sp_case_format(t, "%zu.%d\n", i, side);

			SP_REQUIRE(scene_set_run(&s, pairs[i][side]));
			SP_REQUIRE(scene_reads(
				&s, SP_JOURNAL_POLL, content, strlen(content), (int)(2 * i) + side,
				SP_HERE, sp_case_format(t, "the run \"%s\"", pairs[i][side])));
		}
}

void journal_names_refused(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_journal_reader reader = SP_JOURNAL_READER_INIT;
	enum sp_journal_state state = SP_JOURNAL_PRODUCING;
	struct sp_error err = SP_ERROR_INIT;
	int code = 0;

	SP_REQUIRE(scene_open(t, &s));
	SP_CHECK_CODE(t, SP_INVALID,
		      s.journal->ops->start(s.journal->self, s.sandbox, "", "echo x", &s.options,
					    &process, &err),
		      &err, "starting a run without a name");
	SP_CHECK_CODE(
		t, SP_INVALID,
		s.journal->ops->read(s.journal->self, s.sandbox, "", 0, &s.options, &reader, &err),
		&err, "reading a run without a name");
	SP_CHECK_CODE(t, SP_INVALID,
		      s.journal->ops->probe(s.journal->self, s.sandbox, "", &s.options, &state,
					    &code, &err),
		      &err, "probing a run without a name");
	SP_CHECK_CODE(t, SP_INVALID,
		      s.journal->ops->remove(s.journal->self, s.sandbox, "", &s.options, &err),
		      &err, "removing a run without a name");
	SP_CHECK_STR(t, "no", sp_sh_out(t, s.sandbox, "[ -e %s ] && echo yes || echo no", s.dir),
		     "whether anything was made for them");
	sp_process_done(&process);
	if (reader.ops)
		reader.ops->close(reader.self);
}

/* ---- Hostile ids and folders ---- */

/* Every operation once, on a run that has a word on both streams. */
static bool every_operation(struct scene *s)
{
	struct sp_bytes tail SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_case *t = s->t;
	bool found = false;
	int rc;

	if (!scene_run(s, "echo out; echo boom >&2; exit 4") ||
	    !scene_check_state(s, SP_JOURNAL_FINISHED, 4, SP_HERE, "a hostile run") ||
	    !scene_reads(s, SP_JOURNAL_POLL, "out\n", 4, 4, SP_HERE, "a hostile run, polled"))
		return false;
	if (sp_case_capabilities(t)->follow &&
	    !scene_reads(s, SP_JOURNAL_FOLLOW, "out\n", 4, 4, SP_HERE, "a hostile run, followed"))
		return false;
	rc = s->journal->ops->stderr_tail(s->journal->self, s->sandbox, s->run, 100, &s->options,
					  &tail, &err);
	if (!SP_CHECK_OK(t, rc, &err, "stderr_tail of a hostile run") ||
	    !SP_CHECK_BYTES(t, "boom\n", 5, tail.data, tail.len, "stderr of a hostile run"))
		return false;
	rc = s->journal->ops->list(s->journal->self, s->sandbox, &s->options, &list, &err);
	if (!SP_CHECK_OK(t, rc, &err, "list beside a hostile run") ||
	    !SP_CHECK_INT(t, 2, (long long)list.len, "files of a hostile run"))
		return false;
	for (size_t i = 0; i < list.len; i++) {
		found = list.entries[i].run_id && !strcmp(list.entries[i].run_id, s->run);
		if (!SP_CHECK(t, found, "the file %s is decoded to the run's id, not %s",
			      list.entries[i].file,
			      list.entries[i].run_id ? list.entries[i].run_id : "to nothing"))
			return false;
	}
	rc = s->journal->ops->remove(s->journal->self, s->sandbox, s->run, &s->options, &err);
	return SP_CHECK_OK(t, rc, &err, "remove of a hostile run") &&
	       scene_check_state(s, SP_JOURNAL_UNKNOWN, 0, SP_HERE,
				 "a hostile run that was removed");
}

/* The detector first: the same text without protection must make the canary sing. */
static bool canary_sings(struct scene *s, const char *canary, const char *text)
{
	/* Quotes are put around the one that is made to leave them. */
	const char *q = strchr(text, '\'') ? "'" : "";
	struct sp_buf bare SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *seen;

	sp_buf_add_shell(&bare, sp_case_format(s->t, "cd %s; : >> %s%s/%s.ndjson%s", s->place.dir,
					       q, s->place.dir, text, q));
	seen = sp_sh_out(s->t, s->sandbox,
			 "sh -c %s >/dev/null 2>&1; "
			 "if rm %s 2>/dev/null; then echo sang; else echo silent; fi",
			 sp_buf_str(&bare), canary);
	return seen &&
	       SP_CHECK_STR(s->t, "sang", seen,
			    "the detector: the canary sings when \"%s\" is not protected", text);
}

/* `remains` is a text for the shell that removes what the operations leave. */
static bool canary_silent(struct scene *s, const char *canary, const char *text,
			  const char *remains)
{
	const char *seen = sp_sh_out(
		s->t, s->sandbox,
		"s=silent; for c in %s; do [ ! -e $c ] || s=sang; done; echo $s; %s",
		canary, remains);

	return seen && SP_CHECK_STR(s->t, "silent", seen,
				    "the canary, after every operation on \"%s\"", text);
}

/*
 * The first sings without quotes and between double ones, the second between single ones and,
 * by its line's end, where words are kept but lines are not.
 */
static const char *const hostile[] = {
	"a;touch %s;b c/d$(touch %s)",
	"a'$(touch %s)'b\ntouch %s\nc",
};

static const char *hostile_text(struct sp_case *t, size_t i, const char *canary)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	return sp_case_format(t, hostile[i], canary, canary);
#pragma GCC diagnostic pop
}

void journal_names_hostile(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	const char *canary;

	SP_REQUIRE(scene_open(t, &s));
	canary = sp_place_path(&s.place, "canary");
	for (size_t i = 0; i < SP_COUNT(hostile); i++) {
		const char *id = hostile_text(t, i, canary);

		SP_REQUIRE(canary_sings(&s, canary, id));
		SP_REQUIRE(scene_set_run(&s, id) && every_operation(&s) &&
			   canary_silent(&s, canary, id, ":"));
	}
}

/* The encoder protects a run id even where quotes were lost; a folder has the quotes alone. */
void journal_names_hostile_folder(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	const char *canary, *dir;

	SP_REQUIRE(scene_open(t, &s));
	canary = "canary";
	dir = s.place.dir;
	for (size_t i = 0; i < SP_COUNT(hostile); i++) {
		struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		const char *at = sp_case_format(t, "%s/canary", dir);
		const char *text = hostile_text(t, i, canary);

		/* Relative, so that the folder's name has no slash of ours in it; the home is the
		 * commands' folder. */
		if (strchr(text, '/'))
			text = "a;touch canary;b c$(touch canary)";
		s.dir = sp_case_format(t, "%s/%s", dir, text);
		s.options.dir = s.dir;
		SP_REQUIRE(canary_sings(&s, at, text));
		SP_REQUIRE(scene_set_run(&s, NULL) && every_operation(&s));
		sp_buf_adds(&clean, "rm -rf ");
		sp_buf_add_shell(&clean, s.dir);
		SP_REQUIRE(canary_silent(&s, sp_case_format(t, "canary %s", at), text,
					 sp_buf_str(&clean)));
	}
}
