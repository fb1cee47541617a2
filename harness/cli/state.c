/* SPDX-License-Identifier: MIT */
#include <cli/state.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <results/results.h>

#define LAST_RUN "last.ndjson"
#define LAST_SPECS "last-run.specs"
/* Larger results are not copied. */
#define REMEMBER_MAX (256 * 1024 * 1024)

char *cli_state_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int n;

	/* The base directory specification: a relative path there is to be ignored. */
	if (state && *state == '/')
		n = asprintf(&path, "%s/sandproof", state);
	else if (home && *home == '/')
		n = asprintf(&path, "%s/.local/state/sandproof", home);
	else
		n = asprintf(&path, "%s/sandproof-%u", sp_tmp_root(), (unsigned)getuid());
	return n < 0 ? NULL : path;
}

/* Its name in a shared temporary folder can be guessed, so another user's is not taken. */
static bool can_write(const char *dir)
{
	struct stat st;

	/* The link, if it is one, and what it leads to. */
	return !sp_mkdirs(dir, 0700) && !lstat(dir, &st) && st.st_uid == geteuid() &&
	       !stat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !access(dir, W_OK | X_OK);
}

/* Process number in "results-N.ndjson", or 0 for any other name. */
static pid_t owner_of(const char *name)
{
	static const char before[] = "results-", after[] = ".ndjson";
	size_t len = strlen(name), fixed = strlen(before) + strlen(after);
	char *number SP_FREE = NULL;
	uint64_t pid;

	if (len <= fixed || strncmp(name, before, strlen(before)) ||
	    strcmp(name + len - strlen(after), after))
		return 0;
	number = strndup(name + strlen(before), len - fixed);
	return number && !cli_parse_number("", number, 1, INT32_MAX, &pid, NULL) ? (pid_t)pid : 0;
}

/* A run that was killed left its results, for whoever wants them; the next run removes them. */
static void remove_stale(const char *place)
{
	DIR *dir = opendir(place);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		pid_t pid = owner_of(entry->d_name);

		if (pid && kill(pid, 0) && errno == ESRCH)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
}

int cli_state_results_path(char **ret_path, struct sp_error *err)
{
	char *dir SP_FREE = cli_state_dir();
	const char *place = dir;

	if (!dir)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	if (!can_write(dir))
		place = sp_tmp_root();
	if (access(place, W_OK | X_OK))
		return sp_error_set(err, SP_IO,
				    "cannot keep results in %s nor in %s; name a place with "
				    "--results PATH",
				    dir, place);
	if (place == dir)
		remove_stale(place);
	if (asprintf(ret_path, "%s/results-%d.ndjson", place, (int)getpid()) < 0)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	return 0;
}

static char *state_path(const char *name)
{
	char *dir SP_FREE = cli_state_dir(), *path = NULL;

	return dir && asprintf(&path, "%s/%s", dir, name) >= 0 ? path : NULL;
}

static char *last_run_path(void)
{
	return state_path(LAST_RUN);
}

/* One "kind SPEC" a line. */
static void remember_specs(const struct sp_run_subject *subjects, size_t n)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(REMEMBER_MAX);
	char *path SP_FREE = state_path(LAST_SPECS);

	for (size_t i = 0; i < n; i++)
		if (!strchr(subjects[i].spec, '\n'))
			sp_buf_addf(&text, "%s %s\n", sp_subject_kind_name(subjects[i].kind),
				    subjects[i].spec);
	if (path && !text.error)
		(void)sp_write_file(path, sp_buf_str(&text), text.len, 0600, NULL);
}

void cli_specs_done(struct cli_specs *specs)
{
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		free(specs->by_kind[kind]);
	*specs = (struct cli_specs){ { NULL } };
}

/* Takes one line, if it is "kind SPEC". */
static int take_spec(struct cli_specs *specs, const char *line, size_t len)
{
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++) {
		const char *name = sp_subject_kind_name((enum sp_subject_kind)kind);
		size_t n = strlen(name);

		if (len <= n + 1 || strncmp(line, name, n) || line[n] != ' ' ||
		    specs->by_kind[kind])
			continue;
		specs->by_kind[kind] = strndup(line + n + 1, len - n - 1);
		return specs->by_kind[kind] ? 0 : SP_INTERNAL;
	}
	return 0;
}

int cli_state_last_specs(struct cli_specs *ret_specs, struct sp_error *err)
{
	char *path SP_FREE = state_path(LAST_SPECS);
	struct cli_specs specs = { { NULL } };
	struct sp_bytes bytes = SP_BYTES_INIT;
	int rc = 0;

	if (path && !sp_read_file(path, REMEMBER_MAX, &bytes, NULL))
		for (const char *at = (char *)bytes.data; !rc && *at; at += *at == '\n') {
			size_t len = strcspn(at, "\n");

			rc = take_spec(&specs, at, len);
			at += len;
		}
	sp_bytes_done(&bytes);
	if (rc) {
		cli_specs_done(&specs);
		return sp_error_set(err, rc, "out of memory");
	}
	*ret_specs = specs;
	return 0;
}

void cli_state_remember(const char *results_path, const struct sp_run_subject *subjects,
			size_t n_subjects)
{
	char *dir SP_FREE = cli_state_dir(), *path SP_FREE = last_run_path();
	struct sp_bytes bytes = SP_BYTES_INIT;

	if (!dir || !path || !can_write(dir) ||
	    sp_read_file(results_path, REMEMBER_MAX, &bytes, NULL))
		return;
	(void)sp_write_file(path, bytes.data, bytes.len, 0600, NULL);
	remember_specs(subjects, n_subjects);
	sp_bytes_done(&bytes);
}

void cli_ids_done(struct cli_ids *ids)
{
	for (size_t i = 0; i < ids->len; i++)
		free(ids->items[i]);
	free(ids->items);
	*ids = (struct cli_ids){ NULL, 0 };
}

static int add_id(struct cli_ids *ids, const char *id)
{
	char **grown = reallocarray(ids->items, ids->len + 1, sizeof(*grown));

	if (!grown)
		return SP_INTERNAL;
	ids->items = grown;
	grown[ids->len] = strdup(id);
	if (!grown[ids->len])
		return SP_INTERNAL;
	ids->len++;
	return 0;
}

static bool has_failed(enum sp_verdict verdict)
{
	return verdict == SP_FAIL || verdict == SP_ERROR || verdict == SP_XPASS;
}

int cli_state_last_failed(struct cli_ids *ret_ids, struct sp_error *err)
{
	char *path SP_FREE = last_run_path();
	struct cli_ids ids = { NULL, 0 };
	struct sp_results results;
	int rc = 0;

	if (!path || access(path, R_OK))
		return sp_error_set(err, SP_INVALID, "--last-failed: no run is remembered in %s",
				    path ? path : "the state directory");
	rc = sp_results_read(path, &results, err);
	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < results.n_cases; i++)
		/* What is wrong with a baseline is no case that could run again. */
		if (has_failed(results.cases[i].verdict) && strcmp(results.cases[i].suite, "baselin"
											   "e"))
			rc = add_id(&ids, results.cases[i].id);
	sp_results_done(&results);
	if (rc) {
		cli_ids_done(&ids);
		return sp_error_set(err, rc, "out of memory");
	}
	*ret_ids = ids;
	return 0;
}
