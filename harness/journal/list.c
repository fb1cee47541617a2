/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "names.h"

#define LIST_CEILING (64 * 1024 * 1024)

/* ---- Names ---- */

static int add_name(const struct journal *journal, struct sp_journal_list *list, size_t *size,
		    char *name)
{
	struct sp_bytes id SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_journal_entry *entry;

	if (list->len == *size) {
		size_t grown = *size ? 2 * *size : 64;
		void *entries = reallocarray(list->entries, grown, sizeof(*list->entries));

		if (!entries)
			return -ENOMEM;
		list->entries = entries;
		*size = grown;
	}
	entry = &list->entries[list->len];
	*entry = (struct sp_journal_entry){ .file = strdup(name), .mtime = -1 };
	if (!entry->file)
		return -ENOMEM;
	list->len++;
	/*
	 * An id with a NUL in it cannot be a run's here; its files are
	 * left alone like a stranger's.
	 */
	if (!journal->steps.decode_name(name, &id) && !memchr(id.data, '\0', id.len))
		entry->run_id = (char *)SP_TAKE(id.data);
	return 0;
}

static int read_names(const struct journal *journal, char *text, struct sp_journal_list *list,
		      struct sp_error *err)
{
	char *rest = text, *name;
	size_t size = 0;

	while ((name = strsep(&rest, "\n")))
		if (*name && add_name(journal, list, &size, name))
			return sp_error_set(err, SP_INTERNAL, "out of memory");
	return 0;
}

/* ---- Names of several lines ---- */

/* Takes out what the listing made of one name: a piece a line, each once. */
static void take_pieces(struct sp_journal_list *list, const char *name)
{
	char *copy SP_FREE = strdup(name), *rest = copy, *piece;

	while (copy && (piece = strsep(&rest, "\n")))
		for (size_t i = 0; i < list->len; i++) {
			struct sp_journal_entry gone = list->entries[i];

			if (strcmp(gone.file, piece))
				continue;
			list->len--;
			memmove(&list->entries[i], &list->entries[i + 1],
				(list->len - i) * sizeof(*list->entries));
			free(gone.file);
			free(gone.run_id);
			break;
		}
}

static int add_strange(const struct journal *journal, char *text, struct sp_journal_list *list,
		       struct sp_error *err)
{
	char *rest = text, *encoded;
	size_t size = list->len;
	int rc = 0;

	while (!rc && (encoded = strsep(&rest, "."))) {
		struct sp_bytes name SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

		rc = journal->steps.decode_read(encoded, strlen(encoded), false, &name, err);
		if (rc || !name.len)
			continue;
		take_pieces(list, (char *)name.data);
		size = size < list->len ? list->len : size;
		if (add_name(journal, list, &size, (char *)name.data))
			rc = sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	return rc;
}

/* A listing has a name a line, so one that holds a newline would read like files that are none. */
static int list_strange(const struct journal *journal, struct sp_sandbox *sandbox,
			const struct sp_journal_words *words, struct sp_cancel *cancel,
			struct sp_journal_list *list, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = journal_exec(sandbox, sp_journal_compose_strange(words), cancel, &result, err);

	if (!rc && result.exit_code)
		rc = journal_bad_code("looking for strange names", &result, err);
	return rc || !result.stdout_bytes.len
		       ? rc
		       : add_strange(journal, (char *)result.stdout_bytes.data, list, err);
}

/* ---- Times ---- */

static bool read_seconds(const char *text, size_t len, int64_t *ret)
{
	int64_t value = 0;

	if (!len || len > 18 || strspn(text, "0123456789") < len)
		return false;
	for (size_t i = 0; i < len; i++)
		value = value * 10 + (text[i] - '0');
	*ret = value;
	return true;
}

static void set_time(struct sp_journal_list *list, const char *file, int64_t seconds)
{
	for (size_t i = 0; i < list->len; i++)
		/* The newer one, should a name of two lines look like this one. */
		if (!strcmp(list->entries[i].file, file) && list->entries[i].mtime < seconds)
			list->entries[i].mtime = seconds;
}

static char *trimmed(char *line)
{
	size_t len;

	line += strspn(line, " \t\r");
	len = strlen(line);
	while (len && strchr(" \t\r", line[len - 1]))
		line[--len] = '\0';
	return line;
}

/* The folder's own line is the witness that the command could tell times at all. */
static void read_times(const char *dir, char *text, struct sp_journal_list *list)
{
	char *rest = text, *line;
	size_t n = strlen(dir);

	while ((line = strsep(&rest, "\n"))) {
		int64_t seconds;
		char *path = strchr(line = trimmed(line), ' ');

		if (!path || !read_seconds(line, (size_t)(path - line), &seconds))
			continue;
		path++;
		if (!strcmp(path, dir))
			list->mtimes_known = true;
		else if (!strncmp(path, dir, n) && path[n] == '/' && !strchr(path + n + 1, '/'))
			set_time(list, path + n + 1, seconds);
	}
}

static void forget_times(struct sp_journal_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		list->entries[i].mtime = -1;
}

/* ---- Both ---- */

/* Without a name the folder may be missing, or it could not be listed; these are two answers. */
static int check_empty(struct sp_sandbox *sandbox, const char *dir_word, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	char *command = NULL;
	int rc;

	if (asprintf(&command, "test ! -e %s || ls -1 %s >/dev/null", dir_word, dir_word) < 0)
		command = NULL;
	rc = journal_exec(sandbox, command, cancel, &result, err);
	return !rc && result.exit_code
		       ? journal_bad_code("listing the journal folder", &result, err)
		       : rc;
}

static int list_names(const struct journal *journal, struct sp_sandbox *sandbox,
		      const struct sp_journal_words *words, struct sp_cancel *cancel,
		      struct sp_journal_list *list, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = journal_exec(sandbox, journal->steps.compose_list(words), cancel, &result, err);

	if (rc)
		return rc;
	if (result.stdout_cut)
		return sp_error_set(err, SP_PROTOCOL,
				    "the listing of the journal folder was cut after %zu bytes",
				    result.stdout_bytes.len);
	if (result.exit_code)
		return check_empty(sandbox, words->dir, cancel, err);
	/* `ls` of a file answers with the path that it was given. */
	if (result.stdout_bytes.len && result.stdout_bytes.data[0] == '/')
		return sp_error_set(err, SP_CONFLICT,
				    "%.300s, where the journals should be, is no folder",
				    words->dir);
	return read_names(journal, (char *)result.stdout_bytes.data, list, err);
}

static int list_times(const struct journal *journal, struct sp_sandbox *sandbox, const char *dir,
		      const struct sp_journal_words *words, struct sp_cancel *cancel,
		      struct sp_journal_list *list, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = journal_exec(sandbox, journal->steps.compose_mtimes(words), cancel, &result, err);

	if (rc)
		return rc;
	if (result.stdout_bytes.data)
		read_times(dir, (char *)result.stdout_bytes.data, list);
	if (!journal->steps.need_witness)
		list->mtimes_known = true;
	if (!list->mtimes_known)
		forget_times(list);
	return 0;
}

int journal_list(void *self, struct sp_sandbox *sandbox, const struct sp_journal_options *given,
		 struct sp_journal_list *ret_list, struct sp_error *err)
{
	const struct journal *journal = self;
	struct journal_options options SP_CLEANUP(journal_options_done) = { .dir = NULL };
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_journal_words words = { .dir = NULL };
	char *dir SP_FREE = NULL;
	int rc = journal_options_make(given, &options, err);

	if (rc)
		return rc;
	words.dir = dir = journal->steps.quote(options.dir);
	if (!dir)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = list_names(journal, sandbox, &words, options.cancel, &list, err);
	if (!rc && list.len)
		rc = list_strange(journal, sandbox, &words, options.cancel, &list, err);
	if (!rc)
		rc = list_times(journal, sandbox, options.dir, &words, options.cancel, &list, err);
	if (rc)
		return rc;
	*ret_list = list;
	list = (struct sp_journal_list)SP_JOURNAL_LIST_INIT;
	return 0;
}

int journal_remove(void *self, struct sp_sandbox *sandbox, const char *run_id,
		   const struct sp_journal_options *given, struct sp_error *err)
{
	const struct journal *journal = self;
	struct journal_options options SP_CLEANUP(journal_options_done) = { .dir = NULL };
	struct journal_run run SP_CLEANUP(journal_run_done) = { .run_id = NULL };
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_journal_words words;
	int rc = journal_options_make(given, &options, err);

	if (!rc)
		rc = journal_run_make(journal, &options, run_id, &run, err);
	if (rc)
		return rc;
	words = journal_run_words(&run);
	rc = journal_exec(sandbox, journal->steps.compose_remove(&words), options.cancel, &result,
			  err);
	return !rc && result.exit_code ? journal_bad_code("removing the journal", &result, err)
				       : rc;
}
