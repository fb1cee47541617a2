/* SPDX-License-Identifier: MIT */
/* Journals by hand: authors debug them so, and with the same reader as the suite. */
#include <cli/cli.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <cli/registry.h>
#include <cli/spec.h>
#include <cli/text.h>

/* Bytes of the run's stderr that --stderr shows. */
#define STDERR_MAX 65536

struct journal_args {
	const char *provider, *sandbox, *dir, *strategy;
	struct cli_number from, max_deletes;
	bool positions, show_stderr;
};

static const struct cli_option options[] = {
	CLI_OPTION(struct journal_args, provider, "provider", "SPEC", CLI_TEXT,
		   "where the sandbox lives; see `sandproof help providers`"),
	CLI_OPTION(struct journal_args, sandbox, "sandbox", "ID", CLI_TEXT,
		   "the sandbox; not needed for local, whose journals are files of this machine"),
	CLI_OPTION(struct journal_args, dir, "dir", "DIR", CLI_TEXT,
		   "folder of the journals, absolute (default /tmp/tanstack-runs)"),
	CLI_OPTION(struct journal_args, from, "from", "BYTE", CLI_NUMBER,
		   "cat, tail: begin at this byte (default 0)",
		   .max = (UINT64_C(1) << 53) - 1),
	CLI_OPTION(struct journal_args, positions, "positions", NULL, CLI_FLAG,
		   "cat, tail: put before each line the byte where the next one begins"),
	CLI_OPTION(struct journal_args, strategy, "strategy", "follow|poll", CLI_TEXT,
		   "tail: how to read (default: what the provider can)"),
	CLI_OPTION(struct journal_args, show_stderr, "stderr", NULL, CLI_FLAG,
		   "cat: show the end of the run's stderr instead"),
	CLI_OPTION(struct journal_args, max_deletes, "max-deletes", "N", CLI_NUMBER,
		   "sweep: remove at most this many runs (default 200)", .min = 1,
		   .max = 1000000),
};

/* What a subcommand works with. */
struct job {
	const struct cli_command *self;
	const struct journal_args *args;
	const char *run_id;
	struct cli_registry *registry;
	struct sp_subject subject;
	struct sp_sandbox sandbox;
	/* Made for this call alone, and removed at its end. */
	bool own_sandbox;
	struct sp_journal_options options;
	/* Where lines go; of tests it may be something else than standard output. */
	FILE *out;
};

/* ---- Interruption: the follower in the sandbox must not be left behind ---- */

static void *await_signal(void *arg)
{
	sigset_t *set = ((void **)arg)[0];
	int signal;

	if (!sigwait(set, &signal) && signal != SIGUSR1)
		sp_cancel_abort(((void **)arg)[1], "interrupted");
	return NULL;
}

/* ---- cat and tail ---- */

static int write_line(struct job *job, const struct sp_journal_line *line, struct sp_error *err)
{
	if (job->args->positions)
		fprintf(job->out, "%llu ", (unsigned long long)line->end_position);
	fwrite(line->text.data, 1, line->text.len, job->out);
	if (!line->unterminated || job->args->positions)
		fputc('\n', job->out);
	return ferror(job->out) ? sp_error_set_errno(err, errno, "cannot write to standard output")
				: 0;
}

/* Talk about the end goes to standard error: standard output is the run's own. */
static void say_end(const struct job *job, const struct sp_journal_line *exit, uint64_t position)
{
	if (exit->is_exit)
		cli_say("run %s exited with code %d; %llu bytes", job->run_id, exit->exit_code,
			(unsigned long long)exit->end_position);
	else
		cli_say("run %s has not finished; read up to byte %llu", job->run_id,
			(unsigned long long)position);
}

static int copy_lines(struct job *job, struct sp_journal_reader *reader, struct sp_error *err)
{
	uint64_t position = job->args->from.value;

	for (;;) {
		struct sp_journal_line line SP_CLEANUP(sp_journal_line_done) = SP_JOURNAL_LINE_INIT;
		bool end = false;
		int rc = reader->ops->next(reader->self, &line, &end, err);

		if (!rc && !end && !line.is_exit)
			rc = write_line(job, &line, err);
		if (rc)
			return rc;
		if (line.end_position)
			position = line.end_position;
		if (!end && !line.is_exit && job->options.until_end)
			continue;
		if (fflush(job->out))
			return sp_error_set_errno(err, errno, "cannot write to standard output");
		if (!end && !line.is_exit)
			continue;
		say_end(job, &line, position);
		return 0;
	}
}

static int read_journal(struct job *job, struct sp_error *err)
{
	struct sp_journal *journal = &job->subject.journal;
	struct sp_journal_reader reader = SP_JOURNAL_READER_INIT;
	int rc = journal->ops->read(journal->self, &job->sandbox, job->run_id,
				    job->args->from.value, &job->options, &reader, err);

	if (rc)
		return rc;
	rc = copy_lines(job, &reader, err);
	reader.ops->close(reader.self);
	return rc;
}

static int probe(struct job *job, bool *ret_there, struct sp_error *err)
{
	struct sp_journal *journal = &job->subject.journal;
	enum sp_journal_state state = SP_JOURNAL_UNKNOWN;
	int code, rc = journal->ops->probe(journal->self, &job->sandbox, job->run_id,
					   &job->options, &state, &code, err);

	*ret_there = state != SP_JOURNAL_UNKNOWN;
	return rc;
}

/* A run without journal is an error here: an empty answer would look like an empty run. */
static int check_there(struct job *job, struct sp_error *err)
{
	bool there;
	int rc = probe(job, &there, err);

	if (rc || there)
		return rc;
	return sp_error_set(err, SP_NOT_FOUND,
			    "there is no journal of run \"%.200s\" in %.150s; `sandproof journal "
			    "list` shows what there is",
			    job->run_id, job->args->dir ? job->args->dir : "the default folder");
}

static int show_stderr(struct job *job, struct sp_error *err)
{
	struct sp_journal *journal = &job->subject.journal;
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	int rc = journal->ops->stderr_tail(journal->self, &job->sandbox, job->run_id, STDERR_MAX,
					   &job->options, &bytes, err);

	if (rc)
		return rc;
	if (!bytes.len)
		return check_there(job, err);
	if (fwrite(bytes.data, 1, bytes.len, job->out) < bytes.len || fflush(job->out))
		return sp_error_set_errno(err, errno, "cannot write to standard output");
	return 0;
}

static int do_cat(struct job *job, struct sp_error *err)
{
	int rc;

	if (job->args->show_stderr)
		return show_stderr(job, err);
	rc = check_there(job, err);
	job->options.until_end = true;
	return rc ? rc : read_journal(job, err);
}

/*
 * A journal that is not there yet is polled for: a follower would make the file, and the list would
 * show a mistyped run for ever.
 */
static int do_tail(struct job *job, struct sp_error *err)
{
	bool there;
	int rc = probe(job, &there, err);

	if (rc)
		return rc;
	if (!there)
		cli_say("there is no journal of run \"%.200s\" yet; waiting for it", job->run_id);
	if (!there && job->options.strategy == SP_JOURNAL_AUTO)
		job->options.strategy = SP_JOURNAL_POLL;
	/* Whoever looks by hand waits as long as he likes. */
	job->options.first_byte_ms = UINT32_MAX;
	return read_journal(job, err);
}

/* ---- list and sweep ---- */

static const char *state_text(struct job *job, const char *run_id, char *buffer, size_t size)
{
	struct sp_journal *journal = &job->subject.journal;
	enum sp_journal_state state = SP_JOURNAL_UNKNOWN;
	int code = 0;

	if (journal->ops->probe(journal->self, &job->sandbox, run_id, &job->options, &state, &code,
				NULL))
		return "unreadable";
	switch (state) {
	case SP_JOURNAL_PRODUCING:
		return "producing";
	case SP_JOURNAL_FINISHED:
		snprintf(buffer, size, "exit %d", code);
		return buffer;
	case SP_JOURNAL_UNKNOWN:
		return "no journal";
	}
	return "unknown";
}

/* True when the entry before is the run's other file: a run is one line. */
static bool is_second_file(const struct sp_journal_list *list, size_t i)
{
	const char *id = list->entries[i].run_id;

	for (size_t j = 0; id && j < i; j++)
		if (list->entries[j].run_id && !strcmp(list->entries[j].run_id, id))
			return true;
	return false;
}

/* Text comes from the sandbox and is never printed raw; a line stays one line. */
static void add_safe(struct sp_buf *out, const char *text)
{
	struct sp_buf safe SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cli_text_safe(&safe, text);
	for (const char *c = sp_buf_str(&safe); *c; c++)
		if (*c == '\n')
			sp_buf_adds(out, "\\n");
		else
			sp_buf_addc(out, *c);
}

static void add_name(struct sp_buf *out, const char *name)
{
	struct sp_buf word SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cli_text_word(&word, name);
	add_safe(out, sp_buf_str(&word));
}

static void add_columns(struct sp_buf *out, const char *state, int64_t mtime, const char *name)
{
	size_t start = out->len;
	char when[32] = "-";

	if (mtime >= 0)
		sp_wall_format(mtime * 1000, when, sizeof(when));
	sp_buf_adds(out, state);
	cli_text_pad(out, start, 16);
	sp_buf_addf(out, "%-22s", when);
	add_name(out, name);
	sp_buf_addc(out, '\n');
}

static int do_list(struct job *job, struct sp_error *err)
{
	struct sp_journal *journal = &job->subject.journal;
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	char buffer[32];
	int rc = journal->ops->list(journal->self, &job->sandbox, &job->options, &list, err);

	for (size_t i = 0; !rc && i < list.len; i++) {
		const struct sp_journal_entry *entry = &list.entries[i];

		if (!is_second_file(&list, i))
			add_columns(&out,
				    entry->run_id ? state_text(job, entry->run_id, buffer,
							       sizeof(buffer)) :
						    "not a run",
				    entry->mtime, entry->run_id ? entry->run_id : entry->file);
		/* What an interrupt ended would look unreadable. */
		rc = sp_cancel_check(job->options.cancel, err);
	}
	if (rc)
		return rc;
	if (!list.len)
		cli_say("no journals");
	return cli_print(&out) ? sp_error_set(err, SP_IO, "cannot write the list") : 0;
}

static int do_sweep(struct job *job, struct sp_error *err)
{
	struct sp_journal *journal = &job->subject.journal;
	struct sp_journal_sweep_options how = SP_JOURNAL_SWEEP_OPTIONS_INIT;
	struct sp_journal_sweep sweep SP_CLEANUP(sp_journal_sweep_done) = SP_JOURNAL_SWEEP_INIT;
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	size_t deleted = 0;
	int rc;

	how.max_deletes = (size_t)job->args->max_deletes.value;
	rc = journal->ops->sweep(journal->self, &job->sandbox, &how, &job->options, &sweep, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < sweep.len; i++) {
		const struct sp_journal_swept *swept = &sweep.runs[i];
		size_t start = out.len;

		deleted += swept->fate == SP_SWEPT_DELETED;
		sp_buf_adds(&out, sp_journal_fate_name(swept->fate));
		cli_text_pad(&out, start, 16);
		add_name(&out, swept->run_id ? swept->run_id : swept->file);
		if (swept->reason) {
			sp_buf_adds(&out, ": ");
			add_safe(&out, swept->reason);
		}
		sp_buf_addc(&out, '\n');
	}
	cli_say("%zu deleted, %zu kept", deleted, sweep.len - deleted);
	return cli_print(&out) ? sp_error_set(err, SP_IO, "cannot write what was done") : 0;
}

/* ---- Subcommands ---- */

static const struct verb {
	const char *name;
	bool needs_run;
	int (*work)(struct job *job, struct sp_error *err);
} verbs[] = {
	{ "cat", true, do_cat },
	{ "tail", true, do_tail },
	{ "list", false, do_list },
	{ "sweep", false, do_sweep },
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* ---- Checks before anything starts ---- */

static int check_strategy(const char *text, enum sp_journal_strategy *ret, struct sp_error *err)
{
	*ret = !text			  ? SP_JOURNAL_AUTO :
	       !strcmp(text, "follow") ? SP_JOURNAL_FOLLOW :
					    SP_JOURNAL_POLL;
	return !text || !strcmp(text, "follow") || !strcmp(text, "poll")
		       ? 0
		       : sp_error_set(err, SP_INVALID,
				      "--strategy takes follow or poll, not \"%.80s\"", text);
}

static int check_words(const struct cli_list *words, const struct verb **ret, struct sp_error *err)
{
	const struct verb *verb = words->len ? find_verb(words->items[0]) : NULL;

	if (!verb)
		return sp_error_set(err, SP_INVALID,
				    "%s%.80s%s; there are cat, tail, list and sweep",
				    words->len ? "\"" : "what to do is missing",
				    words->len ? words->items[0] : "",
				    words->len ? "\" is nothing to do with a journal" : "");
	if (verb->needs_run && (words->len < 2 || !*words->items[1]))
		return sp_error_set(err, SP_INVALID, "journal %s needs the id of a run",
				    verb->name);
	if (words->len > (verb->needs_run ? 2u : 1u))
		return sp_error_set(err, SP_INVALID, "\"%.80s\" is one argument too many",
				    words->items[words->len - 1]);
	*ret = verb;
	return 0;
}

/* local: its sandboxes live with one process, and its journals are this machine's files. */
static int check_place(const struct journal_args *args, bool *ret_own, struct sp_error *err)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	int rc;

	if (!args->provider)
		return sp_error_set(err, SP_INVALID,
				    "--provider is missing: it says where the sandbox lives");
	rc = cli_spec_parse(SP_SUBJECT_PROVIDER, args->provider, &spec, err);
	if (!rc)
		rc = cli_spec_check(SP_SUBJECT_PROVIDER, args->provider, err);
	if (rc)
		return rc;
	if (spec.scheme == CLI_BASH)
		return sp_error_set(err, SP_INVALID,
				    "bash is a fake of one run and has gone with it; for one that "
				    "stays "
				    "use `sandproof fake-api` and --provider render:URL");
	*ret_own = spec.scheme == CLI_LOCAL || spec.scheme == CLI_LOCAL_POLL;
	if (*ret_own && args->sandbox)
		return sp_error_set(err, SP_INVALID,
				    "local has no sandboxes that outlive a process; leave "
				    "--sandbox out");
	if (!*ret_own && (!args->sandbox || !*args->sandbox))
		return sp_error_set(err, SP_INVALID, "--sandbox is missing: the id of the sandbox");
	if (args->dir && *args->dir != '/')
		return sp_error_set(err, SP_INVALID, "--dir takes an absolute path, not \"%.200s\"",
				    args->dir);
	return 0;
}

/* ---- Opening ---- */

static int open_sandbox(struct job *job, struct sp_error *err)
{
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_provider *provider = &job->subject.provider;
	int rc;

	if (job->own_sandbox)
		return sp_provider_create(provider, &create, &job->sandbox, err);
	rc = sp_provider_resume(provider, job->args->sandbox, &job->sandbox, NULL, err);
	if (!rc && !job->sandbox.ops)
		rc = sp_error_set(err, SP_GONE, "the sandbox %.200s is gone", job->args->sandbox);
	return rc;
}

static int open_job(struct job *job, struct sp_error *err)
{
	struct cli_registry_options registry = { .provider = job->args->provider };
	int rc;

	job->registry = cli_registry_new(&registry);
	if (!job->registry)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = cli_registry_credentials(job->registry, err);
	if (!rc)
		rc = cli_registry_prepare(job->registry, err);
	if (!rc)
		rc = cli_registry_open(job->registry, SP_SUBJECT_JOURNAL,
				       cli_spec_default(SP_SUBJECT_JOURNAL), NULL, &job->subject,
				       err);
	return rc ? rc : open_sandbox(job, err);
}

static void close_job(struct job *job)
{
	if (job->own_sandbox && job->sandbox.ops)
		(void)sp_sandbox_destroy(&job->sandbox, NULL, NULL);
	sp_sandbox_done(&job->sandbox);
	sp_subject_done(&job->subject);
	cli_registry_free(job->registry);
}

/*
 * Opens and works with INT, TERM and HUP turned into an abort; no thread of a provider may take
 * them. A closed pipe is an error of the write, for the same reason: what was opened is closed.
 */
static int interruptible(struct job *job, const struct verb *verb, struct sp_error *err)
{
	sigset_t set, old;
	void *arg[] = { &set, job->options.cancel };
	pthread_t thread;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	signal(SIGPIPE, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	rc = pthread_create(&thread, NULL, await_signal, arg);
	if (rc)
		return sp_error_set_errno(err, rc, "cannot start a thread");
	rc = open_job(job, err);
	if (!rc)
		rc = verb->work(job, err);
	close_job(job);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static int do_verb(struct job *job, const struct verb *verb)
{
	struct sp_error err = SP_ERROR_INIT;
	int code = 0, rc = check_strategy(job->args->strategy, &job->options.strategy, &err);

	if (!rc)
		rc = check_place(job->args, &job->own_sandbox, &err);
	if (rc)
		return cli_fail(job->self, &err);
	job->options.dir = job->args->dir;
	job->options.cancel = sp_cancel_new();
	rc = job->options.cancel ? interruptible(job, verb, &err) :
				   sp_error_set(&err, SP_INTERNAL, "out of memory");
	if (sp_cancel_check(job->options.cancel, NULL))
		code = SP_EXIT_INTERRUPTED;
	else if (rc)
		code = cli_fail(job->self, &err);
	sp_cancel_unref(job->options.cancel);
	return code;
}

static int run_journal(const struct cli_command *self, int argc, char **argv)
{
	struct journal_args args = { .provider = NULL };
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct sp_error err = SP_ERROR_INIT;
	struct job job = { .self = self, .args = &args, .subject = SP_SUBJECT_INIT, .out = stdout,
			   .options = SP_JOURNAL_OPTIONS_INIT };
	const struct verb *verb = NULL;
	int code = 0;

	if (!cli_begin(self, argc, argv, &args, &words, &code))
		return code;
	if (check_words(&words, &verb, &err))
		return cli_fail(self, &err);
	job.run_id = words.len > 1 ? words.items[1] : NULL;
	return do_verb(&job, verb);
}

const struct cli_command cli_journal_command = {
	.name = "journal",
	.synopsis = "cat|tail RUN | list | sweep --provider SPEC --sandbox ID [OPTION]…",
	.summary = "read and sweep journals of a sandbox",
	.details =
		"cat prints what a run has written up to now, tail goes on until the run has "
		"exited or is interrupted, list shows the runs of a folder and how each stands, "
		"sweep removes the files of finished runs and says what it kept and why. Lines "
		"go to standard output byte for byte, the exit to standard error.",
	.options = options,
	.n_options = SP_COUNT(options),
	.examples = "  sandproof journal list --provider render --sandbox sbx-…\n"
		    "  sandproof journal tail run-123 --provider render --sandbox sbx-…\n"
		    "  sandproof journal cat run-123 --from 4096 --positions --provider local\n"
		    "  sandproof journal sweep --provider local --dir /tmp/runs\n",
	.run = run_journal,
};
