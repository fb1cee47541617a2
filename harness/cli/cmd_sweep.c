/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <cli/registry.h>
#include <cli/text.h>
#include <runner/ledger.h>
#include <runner/sweep.h>

/* One that is empty may be about to get its first row. */
#define EMPTY_S 60
#define LIMIT_MS 120000

struct sweep_args {
	bool yes;
};

static const struct cli_option options[] = {
    CLI_OPTION(struct sweep_args, yes, "yes", NULL, CLI_FLAG,
	       "end it; without this only tell what would be ended"),
};

/* All ledgers of one call. */
struct sweep {
	const struct sweep_args *args;
	struct sp_sweep_counts sum;
	size_t ledgers, running;
};

static void say_line(void *arg, const char *line)
{
	(void)arg;
	printf("  %s\n", line);
}

static void add(struct sp_sweep_counts *sum, const struct sp_sweep_counts *counts)
{
	sum->ended += counts->ended;
	sum->gone += counts->gone;
	sum->left += counts->left;
	sum->failed += counts->failed;
}

static size_t rows_of(const struct sp_book *book)
{
	return book->n_sandboxes + book->n_snapshots;
}

/* Opens what the ledger names and sweeps. False: it could not be opened; said. */
static bool sweep_book(struct sweep *sweep, const struct sp_book *book,
		       struct sp_sweep_counts *ret_counts)
{
	struct cli_registry_options where = {.provider = book->provider};
	struct cli_registry *registry = cli_registry_new(&where);
	struct sp_subject subject SP_CLEANUP(sp_subject_done) = SP_SUBJECT_INIT;
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_error err = SP_ERROR_INIT;
	struct sp_sweep_options o = {
	    .book = book,
	    .provider = &subject.provider,
	    .platform = &subject.platform,
	    .end = sweep->args->yes,
	    .now_ms = sp_wall_ms(),
	    .say = say_line,
	    .cancel = cancel,
	};
	int rc = registry && cancel ? cli_registry_credentials(registry, &err)
				    : sp_error_set(&err, SP_INTERNAL, "out of memory");

	if (!rc)
		rc = cli_registry_open(registry, SP_SUBJECT_PROVIDER, book->provider, NULL,
				       &subject, &err);
	if (rc) {
		printf("  cannot open %s: %s; it is left for a sweep that can\n", book->provider,
		       err.message);
	} else {
		sp_cancel_set_deadline(cancel, sp_deadline_ms(LIMIT_MS));
		sp_sweep_book(&o, ret_counts);
	}
	sp_subject_done(&subject);
	sp_cancel_unref(cancel);
	cli_registry_free(registry);
	return !rc;
}

/* Rows of records that may be in a store which is there still. */
static size_t records_of(const struct sp_book *book)
{
	return book->store && cli_store_outlives(book->store) ? book->n_records : 0;
}

/*
 * Deletes the records in the store of the run, whose SPEC may hold a path that starts where the run
 * did.
 */
static bool sweep_records(struct sweep *sweep, const struct sp_book *book,
			  struct sp_sweep_counts *ret_counts)
{
	struct cli_registry_options where = {.store = book->store};
	struct cli_registry *registry = cli_registry_new(&where);
	struct sp_subject subject SP_CLEANUP(sp_subject_done) = SP_SUBJECT_INIT;
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_error err = SP_ERROR_INIT;
	struct sp_sweep_options o = {.book = book,
				     .end = sweep->args->yes,
				     .now_ms = sp_wall_ms(),
				     .say = say_line,
				     .cancel = cancel};
	int here SP_CLOSE = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = registry && cancel ? 0 : sp_error_set(&err, SP_INTERNAL, "out of memory");

	if (!rc && (here < 0 || !book->cwd || chdir(book->cwd)))
		rc = sp_error_set(&err, SP_IO, "its folder %s cannot be entered",
				  book->cwd ? book->cwd : "");
	if (!rc)
		rc = cli_registry_open(registry, SP_SUBJECT_STORE, book->store, NULL, &subject,
				       &err);
	sp_cancel_set_deadline(cancel, sp_deadline_ms(LIMIT_MS));
	if (rc)
		printf("  cannot open %s: %s; it is left for a sweep that can\n", book->store,
		       err.message);
	else
		sp_sweep_records(&o, &subject.store, ret_counts);
	sp_subject_done(&subject);
	sp_cancel_unref(cancel);
	cli_registry_free(registry);
	if (here >= 0 && fchdir(here))
		printf("  this command cannot go back to where it was started\n");
	return !rc;
}

/* A ledger that nobody holds any more. */
static void sweep_ledger(struct sweep *sweep, const char *path, const struct sp_book *book)
{
	struct sp_sweep_counts counts = {0, 0, 0, 0}, records = {0, 0, 0, 0};
	bool outlives;
	char start[32];

	sp_wall_format(book->start_ms, start, sizeof(start));
	printf("run of %s, process %lld, provider %s\n", start, (long long)book->pid,
	       book->provider ? book->provider : "(none)");
	outlives = book->provider && cli_spec_outlives(book->provider);
	if (records_of(book) && !sweep_records(sweep, book, &records))
		records.failed = records_of(book);
	add(&sweep->sum, &records);
	if (outlives && rows_of(book) && !sweep_book(sweep, book, &counts))
		counts.failed = rows_of(book);
	add(&sweep->sum, &counts);
	if (!outlives && !records_of(book))
		printf("  what it made ended with it\n");
	else if (!rows_of(book) && !records_of(book))
		printf("  nothing is left of it\n");
	if (!counts.left && !counts.failed && !records.failed && sweep->args->yes)
		(void)unlink(path);
}

/* Whether a file is old enough that nobody is about to write its first row. */
static bool is_abandoned(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_size || st.st_mtime + EMPTY_S < sp_wall_ms() / 1000);
}

static void sweep_file(struct sweep *sweep, const char *path)
{
	struct sp_book book SP_CLEANUP(sp_book_done) = SP_BOOK_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int fd SP_CLOSE = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* Held until it is dealt with, so that no other sweep takes it as well. */
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		sweep->running++;
		return;
	}
	if (!is_abandoned(fd))
		return;
	sweep->ledgers++;
	if (sp_book_read(path, &book, &err)) {
		printf("%s\n  cannot be read: %s\n", path, err.message);
		sweep->sum.failed++;
		return;
	}
	sweep_ledger(sweep, path, &book);
}

static bool is_ledger(const char *name)
{
	size_t len = strlen(name);

	return !strncmp(name, "run-", 4) && len > 11 && !strcmp(name + len - 7, ".ndjson");
}

static void sweep_folder(struct sweep *sweep, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	/* No folder: no run has left anything. */
	while (dir && (entry = readdir(dir))) {
		char *path = NULL;

		if (is_ledger(entry->d_name) &&
		    asprintf(&path, "%s/%s", folder, entry->d_name) >= 0)
			sweep_file(sweep, path);
		free(path);
	}
	if (dir)
		closedir(dir);
}

static void print_sum(const struct sweep *sweep)
{
	const struct sp_sweep_counts *sum = &sweep->sum;

	if (sweep->running)
		printf("%zu run%s still running: not touched\n", sweep->running,
		       sweep->running == 1 ? " is" : "s are");
	if (!sweep->args->yes && sum->ended)
		printf("nothing was ended: `%s sweep --yes` does it\n", cli_program());
	printf("%zu ledger%s: %zu %s, %zu gone already, %zu left, %zu failed\n", sweep->ledgers,
	       sweep->ledgers == 1 ? "" : "s", sum->ended,
	       sweep->args->yes ? "ended" : "to be ended", sum->gone, sum->left, sum->failed);
}

static int run_sweep(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = {NULL, 0};
	struct sweep_args args = {.yes = false};
	struct sweep sweep = {.args = &args};
	char *folder SP_FREE = sp_ledger_folder();
	int code = 0;

	if (!cli_begin(self, argc, argv, &args, &words, &code))
		return code;
	if (cli_too_many_words(self, &words, 0))
		return SP_EXIT_USAGE;
	if (!folder) {
		cli_say("error: set XDG_STATE_HOME or HOME: ledgers are kept below it");
		return SP_EXIT_HARNESS;
	}
	sweep_folder(&sweep, folder);
	print_sum(&sweep);
	return sweep.sum.failed ? SP_EXIT_HARNESS : SP_EXIT_OK;
}

const struct cli_command cli_sweep_command = {
    .name = "sweep",
    .synopsis = "[--yes]",
    .summary = "remove what crashed runs left behind",
    .details =
	"Reads the ledgers of runs that were killed (a running one holds a lock on its own) and "
	"ends the sandboxes and snapshots and deletes the records that they name, nothing else. A "
	"create whose answer "
	"was lost is looked for: a sandbox is ended only if it carries the random lifetime "
	"of that create, was not there before the run, is younger than the create and is the "
	"only such one; otherwise its short lifetime ends it. Needs the credentials of the run "
	"(RENDER_API_KEY, RENDER_WORKSPACE_ID). Without --yes it only tells.",
    .options = options,
    .n_options = SP_COUNT(options),
    .examples = "  sandproof sweep\n  sandproof sweep --yes\n",
    .run = run_sweep,
};
