/* SPDX-License-Identifier: MIT */
/* `sandproof init` as a user sees it: refusals, and what is written. ci/test-init runs projects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/testing.h>
#include <cli/init_files.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"

static char *dir;

static void open_dir(void)
{
	cr_assert_eq(sp_tmp_dir("init-test-", &dir, NULL), 0);
}

static void close_dir(void)
{
	(void)sp_remove_tree(dir);
	free(dir);
}

TestSuite(init, .init = open_dir, .fini = close_dir);

/* Runs `sandproof init WORDS…`. */
static struct sp_run_result run(const char *const *words)
{
	const char *argv[16] = {PROGRAM, "init"};

	for (size_t n = 2; *words && n < SP_COUNT(argv) - 1; n++)
		argv[n] = *words++;
	return sp_test_run(argv);
}

static void check(const char *const *words, int code, const char *err_part)
{
	struct sp_run_result r = run(words);

	cr_expect(r.code == code && strstr(r.err ? r.err : "", err_part),
		  "code %d, expected %d\nerr: %s\nexpected in it: %s", r.code, code, r.err,
		  err_part);
	sp_run_result_done(&r);
}

Test(init, refusals)
{
	static const struct {
		const char *words[8];
		const char *says;
	} table[] = {
	    {{"x"}, "--lang is needed"},
	    {{"--lang", "node"}, "name one folder"},
	    {{"--lang", "node", "x", "y"}, "name one folder"},
	    {{"--lang", "nod", "x"}, "the nearest: node"},
	    {{"--lang", "node", "--kind", "lok", "x"}, "the nearest: lock"},
	    {{"--lang", "node", "--kind", "suite", "x"},
	     "no project of kind suite in node; there is node (provider, store, lock), python "
	     "(provider, store, lock), c (provider, store, lock, suite) and bash (provider)"},
	    {{"--lang", "bash", "--kind", "store", "x"}, "no project of kind store in bash; there"},
	};

	for (size_t i = 0; i < SP_COUNT(table); i++)
		check(table[i].words, 2, table[i].says);
	cr_expect_neq(access("x", F_OK), 0, "a refused project was written");
}

/* What is there is nobody's to write over. */
Test(init, a_folder_with_something_in_it)
{
	const char *words[] = {"--lang", "node", dir, NULL};
	char *path SP_FREE = NULL;

	cr_assert(asprintf(&path, "%s/mine", dir) > 0);
	cr_assert_eq(sp_write_file(path, "mine", 4, 0644, NULL), 0);
	check(words, 2, "is not empty; nothing was written");
	cr_assert_eq(unlink(path), 0);
	check(words, 0, "next: cd ");
}

/* A folder that cannot be made is the machine's fault, not a wrong word. */
Test(init, no_place)
{
	const char *words[] = {"--lang", "node", "/proc/none/project", NULL};

	check(words, 3, "/proc/none/project cannot be made");
}

static bool of(const struct cli_init_file *file, const char *lang, const char *kind)
{
	return !strcmp(file->lang, lang) && (!strcmp(file->kind, kind) || !strcmp(file->kind, "*"));
}

/* One file of a new project as it is in the manifest, but for the name. */
static void check_file(const char *project, const struct cli_init_file *file)
{
	char *path SP_FREE = NULL;
	struct sp_bytes text = SP_BYTES_INIT;
	struct stat st;

	cr_assert(asprintf(&path, "%s/%s", project, file->target) > 0);
	cr_assert_eq(sp_read_file(path, 1 << 20, &text, NULL), 0, "%s is not there", path);
	cr_expect_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 0111, file->mode & 0111, "%s: mode %o", path, st.st_mode);
	cr_expect_null(strstr((char *)text.data, "@NAME@"), "%s: the name is not filled in", path);
	cr_expect_null(strstr((char *)text.data, "@FIND_"), "%s: a part is not filled in", path);
	if (strstr(file->text, "@FIND_SANDPROOF@"))
		cr_expect(strstr((char *)text.data, "\n}\ncd "), "%s: %s", path, text.data);
	else if (strstr(file->text, "@NAME@"))
		cr_expect(strstr((char *)text.data, "my-new-thing"), "%s: %s", path, text.data);
	else
		cr_expect_str_eq((char *)text.data, file->text);
	sp_bytes_done(&text);
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; text && *text; text++)
		n += *text == '\n';
	return n;
}

/* Every kind of every language: its files and no others, told on standard output. */
Test(init, projects)
{
	static const char *const langs[] = {"node", "python", "c", "bash"};
	static const char *const kinds[] = {"provider", "store", "lock", "suite"};
	size_t n, written = 0;
	const struct cli_init_file *files = cli_init_files(&n);

	for (size_t i = 0; i < SP_COUNT(langs) * SP_COUNT(kinds); i++) {
		const char *lang = langs[i / SP_COUNT(kinds)], *kind = kinds[i % SP_COUNT(kinds)];
		char *project SP_FREE = NULL;
		const char *words[] = {"--lang", lang, "--kind", kind, NULL, NULL};
		struct sp_run_result r;
		size_t told = 0;

		cr_assert(asprintf(&project, "%s/%s/%s/My New_Thing", dir, lang, kind) > 0);
		words[4] = project;
		r = run(words);
		cr_expect(r.code == 0 || r.code == 2, "%s %s: %d, %s", lang, kind, r.code, r.err);
		for (size_t f = 0; r.code == 0 && f < n; f++) {
			if (!of(&files[f], lang, kind))
				continue;
			check_file(project, &files[f]);
			told++;
		}
		cr_expect_eq(lines_of(r.out), told, "%s %s: %s", lang, kind, r.out);
		written += r.code == 0;
		sp_run_result_done(&r);
	}
	cr_expect_eq(written, 11);
}

/*
 * The test script of every project, with a program that tells its words in place of ours: one that
 * is not there is told, and one that is named from where the caller stands is found.
 */
Test(init, test_scripts_find_the_program)
{
	static const char text[] =
		"mkdir bin lib p; "
		"printf '#!/bin/sh\\nexit 0\\n' >bin/make; "
		"printf '#!/bin/sh\\necho started \"$1\"\\n' >lib/sandproof; "
		"chmod +x bin/make lib/sandproof; PATH=$PWD/bin:$PATH; "
		"for pair in node:provider node:store node:lock python:provider python:store "
		"python:lock c:provider c:store c:lock c:suite bash:provider; do "
		"\"$0\" init --lang ${pair%:*} --kind ${pair#*:} p/$pair >said 2>&1 || exit 9; "
		"run=p/$pair/test.sh; unset SANDPROOF; SANDPROOF=lib/sandproof $run || exit 8; "
		"SANDPROOF=lib/none $run 2>said; "
		"[ $? = 3 ] && grep -q \"there is no $PWD/lib/none: put\" said || exit 7; "
		"$run 2>said; [ $? = 3 ] && grep -q 'is no sandproof: put' said || exit 6; "
		"PATH=$PWD/lib:$PATH $run || exit 5; done | sort | uniq -c";
	const char *argv[] = {"env", "-C", dir, "sh", "-c", text, PROGRAM, NULL};
	struct sp_run_result r = sp_test_run(argv);

	cr_expect(r.code == 0 && strstr(r.out, "22 started run"), "%d: %s%s", r.code, r.out, r.err);
	sp_run_result_done(&r);
}

/* A language that is told as "LANG (KIND, KIND)" has these and no others. */
Test(init, help_tells_what_there_is)
{
	const char *words[] = {"--help", NULL};
	struct sp_run_result r = run(words);
	size_t n;
	const struct cli_init_file *files = cli_init_files(&n);

	for (size_t f = 0; f < n; f++) {
		const char *at, *end;
		char *start SP_FREE = NULL;

		if (!strcmp(files[f].lang, "part"))
			continue;
		cr_assert(asprintf(&start, "%s (", files[f].lang) > 0);
		at = strstr(r.out, start);
		end = at ? strchr(at, ')') : NULL;
		cr_expect(end, "%s is not told: %s", files[f].lang, r.out);
		if (end && strcmp(files[f].kind, "*"))
			cr_expect(memmem(at, (size_t)(end - at), files[f].kind,
					 strlen(files[f].kind)),
				  "%s %s is not told: %s", files[f].lang, files[f].kind, r.out);
	}
	sp_run_result_done(&r);
}
