/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <base/nearest.h>
#include <cli/init_files.h>

/* INIT_PAIRS: the languages and their kinds in words, from init/manifest. */
#include "init_pairs.h"

#define FILE_CEILING ((size_t)4 << 20)
/* What a project may be called, so that it can stand in any file without quotes. */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define DEFAULT_KIND "provider"

struct init_args {
	const char *lang;
	const char *kind;
};

static const struct cli_option options[] = {
	CLI_OPTION(struct init_args, lang, "lang", "LANG", CLI_TEXT, "node, python, c or bash"),
	CLI_OPTION(struct init_args, kind, "kind", "KIND", CLI_TEXT,
		   "what it is to be: provider (the default), store, lock or suite"),
};

static const char *const langs[] = { "node", "python", "c", "bash" };
static const char *const kinds[] = { "provider", "store", "lock", "suite" };

/* SP_INVALID with the nearest names. */
static int check_word(const char *what, const char *word, const char *const *names, size_t n,
		      struct sp_error *err)
{
	char *near SP_FREE = NULL;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, names[i]))
			return 0;
	near = sp_nearest(word, names, n);
	return sp_error_set(err, SP_INVALID, "--%s: there is no \"%s\"%s%s", what, word,
			    near && *near ? "; the nearest: " : "; see `sandproof init --help`",
			    near ? near : "");
}

static bool belongs(const struct cli_init_file *file, const struct init_args *args)
{
	return !strcmp(file->lang, args->lang) &&
	       (!strcmp(file->kind, "*") || !strcmp(file->kind, args->kind));
}

/* Whether there is anything for this kind alone in the language. */
static bool offered(const char *lang, const char *kind)
{
	size_t n;
	const struct cli_init_file *files = cli_init_files(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(files[i].lang, lang) && !strcmp(files[i].kind, kind))
			return true;
	return false;
}

static int check_pair(const struct init_args *args, struct sp_error *err)
{
	if (offered(args->lang, args->kind))
		return 0;
	return sp_error_set(err, SP_INVALID,
			    "there is no project of kind %s in %s; there is " INIT_PAIRS,
			    args->kind, args->lang);
}

static int check(const struct init_args *args, const struct cli_list *words, struct sp_error *err)
{
	int rc;

	if (!args->lang)
		return sp_error_set(err, SP_INVALID, "--lang is needed: node, python, c or bash");
	if (words->len != 1)
		return sp_error_set(err, SP_INVALID, "name one folder for the new project");
	rc = check_word("lang", args->lang, langs, SP_COUNT(langs), err);
	if (!rc)
		rc = check_word("kind", args->kind, kinds, SP_COUNT(kinds), err);
	return rc ? rc : check_pair(args, err);
}

/* The folder's own name, of characters that need no quotes anywhere; malloc'ed. */
static char *project_name(const char *dir)
{
	char *whole SP_FREE = realpath(dir, NULL);
	const char *last = whole ? strrchr(whole, '/') + 1 : "";
	struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(NAME_MAX + 1);

	for (; *last; last++) {
		char c = *last >= 'A' && *last <= 'Z' ? (char)(*last - 'A' + 'a') : *last;

		if (strchr(NAME_CHARACTERS, c))
			sp_buf_addc(&name, c);
		else if (name.len && name.data[name.len - 1] != '-')
			sp_buf_addc(&name, '-');
	}
	return strdup(name.len ? sp_buf_str(&name) : "project");
}

/* A new folder, or one with nothing in it. */
static int take_folder(const char *dir, struct sp_error *err)
{
	int rc = sp_mkdirs(dir, 0777), found = 0;
	DIR *open;

	if (rc)
		return sp_error_set_errno(err, -rc, "%s cannot be made", dir);
	open = opendir(dir);
	if (!open)
		return sp_error_set_errno(err, errno, "%s cannot be looked into", dir);
	for (const struct dirent *entry = readdir(open); entry; entry = readdir(open))
		found += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	(void)closedir(open);
	if (found)
		return sp_error_set(err, SP_INVALID,
				    "%s is not empty; nothing was written. Name a new folder", dir);
	return 0;
}

static bool is_mark(const char *at, const char *name, size_t len)
{
	return !strncmp(at + 1, name, len) && at[1 + len] == '@';
}

/* What the mark at the head of a text stands for, and its length; NULL: it is none. */
static const char *mark_text(const char *at, const char *name, size_t *ret_len)
{
	static const char own[] = "NAME";
	size_t n;
	const struct cli_init_file *files = cli_init_files(&n);

	*ret_len = strlen(own) + 2;
	if (is_mark(at, own, strlen(own)))
		return name;
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(files[i].target);

		*ret_len = len + 2;
		if (!strcmp(files[i].lang, "part") && is_mark(at, files[i].target, len))
			return files[i].text;
	}
	return NULL;
}

/* A part is whole lines, and so is its mark: one of the two ends of line goes. */
static void fill_in(const char *text, const char *name, struct sp_buf *out)
{
	while (*text) {
		size_t plain = strcspn(text, "@"), len;
		const char *stands_for;

		sp_buf_add(out, text, plain);
		text += plain;
		if (!*text)
			return;
		stands_for = mark_text(text, name, &len);
		if (!stands_for) {
			sp_buf_addc(out, *text++);
			continue;
		}
		sp_buf_adds(out, stands_for);
		text += len;
		if (out->len && sp_buf_str(out)[out->len - 1] == '\n' && *text == '\n')
			text++;
	}
}

static int write_one(const char *dir, const char *name, const struct cli_init_file *file,
		     struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FILE_CEILING);
	char *path SP_FREE = NULL;
	int rc;

	fill_in(file->text, name, &text);
	if (text.error || asprintf(&path, "%s/%s", dir, file->target) < 0) {
		path = NULL;
		return sp_error_set(err, SP_INTERNAL, "no memory for %s", file->target);
	}
	*strrchr(path, '/') = '\0';
	rc = sp_mkdirs(path, 0777);
	if (rc)
		return sp_error_set_errno(err, -rc, "%s cannot be made", path);
	path[strlen(path)] = '/';
	return sp_write_file(path, sp_buf_str(&text), text.len, file->mode, err);
}

static int write_project(const char *dir, const struct init_args *args, struct sp_error *err)
{
	size_t n;
	const struct cli_init_file *files = cli_init_files(&n);
	char *name SP_FREE = NULL;
	int rc = take_folder(dir, err);

	if (rc)
		return rc;
	name = project_name(dir);
	if (!name)
		return sp_error_set(err, SP_INTERNAL, "no memory for a name");
	for (size_t i = 0; !rc && i < n; i++) {
		if (!belongs(&files[i], args))
			continue;
		rc = write_one(dir, name, &files[i], err);
		if (!rc)
			printf("%s/%s\n", dir, files[i].target);
	}
	return rc;
}

/* The script runs in its own folder: a program that was named by a relative path is not there. */
static void say_next(const char *dir)
{
	char *whole SP_FREE = strchr(cli_program(), '/') ? realpath(cli_program(), NULL) : NULL;

	if (whole)
		fprintf(stderr, "\nnext: cd %s && SANDPROOF=%s ./test.sh\n", dir, whole);
	else
		fprintf(stderr, "\nnext: cd %s && ./test.sh\n", dir);
}

static int run_init(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct init_args args = { .kind = NULL };
	struct sp_error err = SP_ERROR_INIT;
	int code = 0, rc;

	if (!cli_begin(self, argc, argv, &args, &words, &code))
		return code;
	if (!args.kind)
		args.kind = DEFAULT_KIND;
	rc = check(&args, &words, &err);
	if (!rc)
		rc = write_project(words.items[0], &args, &err);
	if (rc)
		return cli_fail(self, &err);
	say_next(words.items[0]);
	return SP_EXIT_OK;
}

const struct cli_command cli_init_command = {
	.name = "init",
	.synopsis = "--lang LANG [--kind KIND] DIR",
	.summary = "write a project that is judged by sandproof",
	.details = "Writes a working project into a new or empty folder: a small subject that "
		   "keeps its promises, what speaks for it, a test script and a file for "
		   "continuous integration. The script passes as it is written; replace the "
		   "subject by yours and it tells what is missing. There is " INIT_PAIRS
		   ". A suite is of cases of your own, for `run --suite-plugin`. The files are "
		   "listed on standard output.",
	.options = options,
	.n_options = SP_COUNT(options),
	.examples = "  sandproof init --lang node my-provider\n"
		    "  sandproof init --lang python --kind store my-store\n"
		    "  sandproof init --lang c --kind suite my-suite\n",
	.run = run_init,
};
