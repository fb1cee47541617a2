/* SPDX-License-Identifier: MIT */
/* `sandproof journal` from outside, over local: its journals are files of this machine. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/testing.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"
#define LIMIT_MS 60000
#define NONCE "be9a86998f6b232f1ef284cebb44fb5a" /* of r1 */
#define EXIT "{\"__exit\":7,\"__nonce\":\"" NONCE "\"}\n"

static char *dir;

static void open_dir(void)
{
	cr_assert_eq(sp_tmp_dir("cli-journal-", &dir, NULL), 0);
}

static void close_dir(void)
{
	sp_remove_tree(dir);
	free(dir);
}

TestSuite(journal, .init = open_dir, .fini = close_dir);

static void put(const char *name, const char *text)
{
	char *path SP_FREE = NULL;

	cr_assert(asprintf(&path, "%s/%s", dir, name) > 0);
	cr_assert_eq(sp_write_file(path, text, strlen(text), 0644, NULL), 0);
}

/* A folder that is not empty in a file's place. */
static void fixture_folder(const char *name)
{
	char *path SP_FREE = NULL;

	cr_assert(asprintf(&path, "%s/%s/full", dir, name) > 0);
	cr_assert_eq(sp_mkdirs(path, 0700), 0);
}

/* Runs `sandproof journal WORDS… --provider local --dir DIR`, up to eight words. */
static struct sp_run_result run(const char *const *words)
{
	const char *argv[16] = { PROGRAM, "journal" };
	size_t n = 2;

	while (*words && n < 10)
		argv[n++] = *words++;
	argv[n++] = "--provider";
	argv[n++] = "local";
	argv[n++] = "--dir";
	argv[n++] = dir;
	return sp_test_run(argv);
}

static void check(const char *const *words, int code, const char *out, const char *err_part)
{
	struct sp_run_result r = run(words);
	bool good = r.code == code && !strcmp(r.out ? r.out : "", out) &&
		    strstr(r.err ? r.err : "", err_part);

	cr_expect(good,
		  "%s: code %d, expected %d\nout: %s\nexpected: %s\nerr: %s\nexpected in it: %s",
		  words[0], r.code, code, r.out, out, r.err, err_part);
	sp_run_result_done(&r);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

Test(journal, cat)
{
	put("r1.ndjson", "one\ntwo\nrest" EXIT);
	put("r1.err", "trouble\n");
	put("open.ndjson", "one\nhal");
	check(WORDS("cat", "r1"), 0, "one\ntwo\nrest", "exited with code 7");
	check(WORDS("cat", "r1", "--from", "4"), 0, "two\nrest", "exited with code 7");
	check(WORDS("cat", "r1", "--positions"), 0, "4 one\n8 two\n12 rest\n", "exited");
	check(WORDS("cat", "r1", "--stderr"), 0, "trouble\n", "");
	check(WORDS("cat", "open"), 0, "one\nhal", "has not finished; read up to byte 7");
	check(WORDS("cat", "none"), 3, "", "no journal of run \"none\"");
	check(WORDS("cat", "r1", "--from", "1000"), 3, "", "ends before byte 1000");
}

Test(journal, list_and_sweep)
{
	put("r1.ndjson", EXIT);
	put("r1.err", "");
	put("a_20b.ndjson", "x\n");
	put("a\033b.ndjson", "x\n");
	struct sp_run_result r = run(WORDS("list"));
	cr_expect(r.code == 0 && strstr(r.out, "exit 7") && strstr(r.out, "producing"), "%s%s",
		  r.out, r.err);
	cr_expect(strstr(r.out, "'a b'") && strstr(r.out, "not a run") && !strchr(r.out, '\033'),
		  "%s", r.out);
	sp_run_result_done(&r);
	r = run(WORDS("sweep"));
	cr_expect(r.code == 0 && strstr(r.out, "deleted         r1\n") &&
			  strstr(r.out, "not-finished    'a b'\n") && strstr(r.out, "undecodable"),
		  "%s%s", r.out, r.err);
	cr_expect(strstr(r.err, "1 deleted, 2 kept"), "%s", r.err);
	sp_run_result_done(&r);
	check(WORDS("cat", "r1"), 3, "", "no journal");
	check(WORDS("cat", "a b"), 0, "x\n", "not finished");
}

/* A name with a newline is one name, and none of a run. */
Test(journal, names_of_more_than_one_line)
{
	struct sp_run_result r;

	put("r1.ndjson", "one\n");
	put("x\nr1.ndjson", "x\n");
	put("r9.ndjson\nr8.ndjson", EXIT);
	r = run(WORDS("list"));
	cr_expect(r.code == 0 && strstr(r.out, "'x\\nr1.ndjson'\n") &&
			  strstr(r.out, "'r9.ndjson\\nr8.ndjson'\n"),
		  "%s%s", r.out, r.err);
	cr_expect(strstr(r.out, " r1\n") && !strstr(r.out, " r9\n") && !strstr(r.out, " r8\n"),
		  "%s", r.out);
	sp_run_result_done(&r);
	r = run(WORDS("sweep"));
	cr_expect(r.code == 0 && strstr(r.err, "0 deleted, 3 kept"), "%s%s", r.out, r.err);
	sp_run_result_done(&r);
}

/* What the sandbox said is the reason. */
Test(journal, a_file_that_cannot_be_removed)
{
	struct sp_run_result r;

	put("r1.ndjson", EXIT);
	fixture_folder("r1.err");
	r = run(WORDS("sweep"));
	cr_expect(r.code == 0 && strstr(r.out, "delete-failed") && strstr(r.out, "r1: ") &&
			  strstr(r.out, "r1.err"),
		  "%s%s", r.out, r.err);
	sp_run_result_done(&r);
}

/* So is what stands in the place of a journal. */
Test(journal, a_journal_that_cannot_be_read_is_kept_with_the_reason)
{
	struct sp_run_result r;

	fixture_folder("r1.ndjson");
	r = run(WORDS("sweep"));
	cr_expect(r.code == 0 && strstr(r.out, "record-error    r1: ") &&
			  strstr(r.out, "is no regular file"),
		  "%s%s", r.out, r.err);
	sp_run_result_done(&r);
}

/* Whoever opens a FIFO stands there. */
Test(journal, stderr_that_is_no_file)
{
	char *path SP_FREE = NULL;

	put("r1.ndjson", EXIT);
	cr_assert(asprintf(&path, "%s/r1.err", dir) > 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	check(WORDS("cat", "r1", "--stderr"), 3, "", "r1.err', is no regular file");
}

/* Follows what is written meanwhile, and an interrupt ends it, follower included. */
Test(journal, tail)
{
	const char *argv[] = { PROGRAM, "journal", "tail", "r1", "--provider",
			       "local", "--dir",   dir,	   NULL };
	struct sp_child child = SP_CHILD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char line[64] = "";
	ssize_t n;

	put("r1.ndjson", "one\ntwo\n" EXIT);
	check(WORDS("tail", "r1"), 0, "one\ntwo\n", "exited with code 7");
	check(WORDS("tail", "r1", "--strategy", "poll"), 0, "one\ntwo\n", "exited with code 7");
	put("r1.ndjson", "one\n");
	child.argv = argv;
	child.out = SP_CHILD_PIPE;
	cr_assert_eq(sp_child_start(&child, &err), 0, "%s", err.message);
	n = read(child.out, line, sizeof(line) - 1);
	kill(child.pid, SIGINT);
	sp_child_wait(&child, NULL, &err);
	cr_expect(n == 4 && !strcmp(line, "one\n"), "\"%s\"", line);
	cr_expect_eq(child.code, 130, "code %d", child.code);
	sp_child_done(&child);
}

/* A closed terminal and a reader of ours that has gone end it as cleanly: no sandbox is left. */
Test(journal, nothing_is_left)
{
	const char *script = "export TMPDIR=\"$1\"; mkfifo \"$1/fifo\"; "
			     "\"$0\" journal tail r1 --provider local --dir \"$1\" > \"$1/fifo\" & "
			     "exec 3< \"$1/fifo\"; read -r line <&3; "
			     "if [ \"$2\" = hup ]; then kill -HUP $!; "
			     "else exec 3<&-; echo two >> \"$1/r1.ndjson\"; fi; "
			     "wait $!; code=$?; rm \"$1/fifo\"; "
			     "echo \"$line $code\"; ls \"$1\"";
	static const char *const rows[][2] = { { "hup", "one 130\nr1.ndjson\n" },
					       { "pipe", "one 3\nr1.ndjson\n" } };

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const char *argv[] = { "bash", "-c", script, PROGRAM, dir, rows[i][0], NULL };
		struct sp_run_result r = { 0 };

		put("r1.ndjson", "one\n");
		cr_assert_eq(sp_run(argv, NULL, NULL, 0, 65536, NULL, &r, NULL), 0);
		cr_expect_str_eq(r.out, rows[i][1], "%s: %s%s", rows[i][0], r.out, r.err);
		sp_run_result_done(&r);
	}
}

/* A follower would make the file, and a mistyped id would stand in the list for ever. */
Test(journal, tail_waits_and_says_so)
{
	const char *script = "mkfifo \"$1/fifo\"; "
			     "\"$0\" journal tail r1 --provider local --dir \"$1/j\" "
			     "2> \"$1/fifo\" & "
			     "exec 3< \"$1/fifo\"; read -r line <&3; echo \"$line\"; "
			     "mkdir -p \"$1/j\"; ls \"$1/j\"; "
			     "cp \"$1/r1.ndjson\" \"$1/j\"; wait $!; echo $?";
	const char *argv[] = { "bash", "-c", script, PROGRAM, dir, NULL };
	struct sp_cancel *limit = sp_cancel_new();
	struct sp_run_result r = { 0 };

	put("r1.ndjson", "one\n" EXIT);
	sp_cancel_set_deadline(limit, sp_deadline_ms(LIMIT_MS));
	cr_assert_eq(sp_run(argv, NULL, NULL, 0, 65536, limit, &r, NULL), 0);
	cr_expect_str_eq(r.out,
			 "sandproof: there is no journal of run \"r1\" yet; waiting for it\n"
			 "one\n0\n",
			 "%s%s", r.out, r.err);
	sp_run_result_done(&r);
	sp_cancel_unref(limit);
}

Test(journal, what_cannot_be_told_is_an_error)
{
	const char *argv[] = { "bash", "-c",
			       "\"$0\" journal cat r1 --stderr --provider local --dir \"$1\" "
			       "> /dev/full",
			       PROGRAM, dir, NULL };
	struct sp_run_result r = { 0 };

	put("r1.ndjson", "one\n");
	put("r1.err", "trouble\n");
	cr_assert_eq(sp_run(argv, NULL, NULL, 0, 65536, NULL, &r, NULL), 0);
	cr_expect(r.code == 3 && strstr(r.err, "cannot write"), "code %d, %s", r.code, r.err);
	sp_run_result_done(&r);
	check(WORDS("cat", "none", "--stderr"), 3, "", "no journal of run \"none\"");
}

Test(journal, usage)
{
	static const struct {
		const char *words[8];
		const char *message;
	} rows[] = {
		{ { NULL }, "there are cat, tail, list and sweep" },
		{ { "dog", "r1" }, "\"dog\" is nothing to do with a journal" },
		{ { "cat" }, "needs the id of a run" },
		{ { "list", "r1" }, "one argument too many" },
		{ { "cat", "r1" }, "--provider is missing" },
		{ { "cat", "r1", "--provider", "bash" }, "fake of one run" },
		{ { "cat", "r1", "--provider", "render" }, "--sandbox is missing" },
		{ { "cat", "r1", "--provider", "nonsense" }, "nonsense" },
		{ { "cat", "r1", "--provider", "local", "--sandbox", "x" }, "leave --sandbox out" },
		{ { "cat", "r1", "--provider", "local", "--dir", "x" }, "absolute" },
		{ { "tail", "r1", "--provider", "local", "--strategy", "guess" },
		  "follow or poll" },
		{ { "cat", "r1", "--from", "-1" }, "--from" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const char *argv[12] = { PROGRAM, "journal" };
		struct sp_run_result r = { 0 };

		for (size_t n = 0; rows[i].words[n]; n++)
			argv[2 + n] = rows[i].words[n];
		cr_assert_eq(sp_run(argv, NULL, NULL, 0, 65536, NULL, &r, NULL), 0);
		cr_expect(r.code == 2 && strstr(r.err, rows[i].message) && !r.out_len,
			  "%s: code %d, \"%s\" is not in %s",
			  rows[i].words[0] ? rows[i].words[0] : "", r.code, rows[i].message, r.err);
		sp_run_result_done(&r);
	}
}
