/* SPDX-License-Identifier: MIT */
/* Faults of starting: the wrapper around a run, its files, and who the run belongs to. */
#include "journal_faults.h"

/* The healthy steps, as they were before this file's fault. */
static struct sp_journal_steps healthy;

typedef struct sp_journal_words words_t;

/* Changes one step to NAME_fn. */
#define CHANGE(name, step)                                                                         \
	static void change_##name(struct sp_journal_steps *steps)                                  \
	{                                                                                          \
		healthy = *steps;                                                                  \
		steps->step = name;                                                                \
	}

/* ---- The wrapper ---- */

static char *spaced(const words_t *w, const char *command, const char *nonce)
{
	return journal_text(
		"mkdir -p %s && { ( %s ); printf '{\"__exit\": %%d, \"__nonce\": \"%s\"}\\n' "
		"\"$?\"; } >> %s 2>> %s",
		w->dir, command, nonce, w->journal, w->stderr_file);
}
CHANGE(spaced, compose_start)

/* dash understands these escapes, other shells print them. */
static char *echoed(const words_t *w, const char *command, const char *nonce)
{
	return journal_text("mkdir -p %s && { ( %s ); echo "
			    "\"{\\\"__exit\\\":$?,\\\"__nonce\\\":\\\"%s\\\"}\\n\\c\"; } "
			    ">> %s 2>> %s",
			    w->dir, command, nonce, w->journal, w->stderr_file);
}
CHANGE(echoed, compose_start)

static char *piped(const words_t *w, const char *command, const char *nonce)
{
	return journal_text("mkdir -p %s && { ( %s ); printf "
			    "'{\"__exit\":%%d,\"__nonce\":\"%s\"}\\n' \"$?\"; } "
			    "2>> %s | cat >> %s",
			    w->dir, command, nonce, w->stderr_file, w->journal);
}
CHANGE(piped, compose_start)

static char *no_subshell(const words_t *w, const char *command, const char *nonce)
{
	return journal_text(
		"mkdir -p %s && { %s\nprintf '{\"__exit\":%%d,\"__nonce\":\"%s\"}\\n' \"$?\"; } "
		">> %s 2>> %s",
		w->dir, command, nonce, w->journal, w->stderr_file);
}
CHANGE(no_subshell, compose_start)

static char *code_lost(const words_t *w, const char *command, const char *nonce)
{
	return journal_text("mkdir -p %s && { ( %s ); printf "
			    "'{\"__exit\":0,\"__nonce\":\"%s\"}\\n'; } >> %s 2>> %s",
			    w->dir, command, nonce, w->journal, w->stderr_file);
}
CHANGE(code_lost, compose_start)

static char *spliced(const words_t *w, const char *command, const char *nonce)
{
	return journal_text("mkdir -p %s && { ( %s ); printf "
			    "'{\"__exit\":%%d,\"__nonce\":\"%s\"}\\n' \"$?\"; } "
			    ">> %s 2>&1",
			    w->dir, command, nonce, w->journal);
}
CHANGE(spliced, compose_start)

static char *stderr_head(const words_t *w, uint64_t max)
{
	return journal_text("head -c %llu %s 2>/dev/null | base64", (unsigned long long)max,
			    w->stderr_file);
}
CHANGE(stderr_head, compose_stderr)

/* What the shell says of a syntax error, and its code, are thrown away. */
static char *syntax_silent(const words_t *w, const char *command, const char *nonce)
{
	char *form SP_FREE = healthy.compose_start(w, command, nonce);
	char *word = form ? healthy.quote(form) : NULL;

	return journal_around(word, "sh -c ", " 2>/dev/null; true");
}
CHANGE(syntax_silent, compose_start)

static char *bashism(const words_t *w, const char *command, const char *nonce)
{
	return journal_around(healthy.compose_start(w, command, nonce), "set -o pipefail; ", "");
}
CHANGE(bashism, compose_start)

static char *long_options(const words_t *w, uint64_t max)
{
	return journal_text("tail --bytes=%llu %s 2>/dev/null | base64", (unsigned long long)max,
			    w->stderr_file);
}
CHANGE(long_options, compose_stderr)

/* ---- The place ---- */

static char *truncating(const words_t *w, const char *command, const char *nonce)
{
	return journal_text("mkdir -p %s && { ( %s ); printf "
			    "'{\"__exit\":%%d,\"__nonce\":\"%s\"}\\n' \"$?\"; } "
			    "> %s 2> %s",
			    w->dir, command, nonce, w->journal, w->stderr_file);
}

static void change_truncating(struct sp_journal_steps *steps)
{
	steps->compose_start = truncating;
	steps->refuse_reuse = false;
}

static void change_reuse(struct sp_journal_steps *steps)
{
	steps->refuse_reuse = false;
}

static char *prepare_nothing(const words_t *w)
{
	(void)w;
	return journal_text(":");
}

static char *folder_ignored(const words_t *w, const char *command, const char *nonce)
{
	return journal_around(healthy.compose_start(w, command, nonce), "{ ",
			      "; } 2>/dev/null; true");
}

static void change_folder_ignored(struct sp_journal_steps *steps)
{
	healthy = *steps;
	steps->compose_prepare = prepare_nothing;
	steps->compose_start = folder_ignored;
}

static void change_request(struct sp_journal_steps *steps)
{
	steps->start_detached = false;
}

/* ---- Whom the run belongs to ---- */

/* Whoever lets go of a process ends it. */
static void release_kills(struct fault_process *process)
{
	if (!atomic_load(&process->exited))
		(void)fault_inner_kill(process, 9, NULL, NULL);
}

static const struct fault_hooks dies_with_handle = { .release = release_kills };
FAULT_WRAP(wrap_dies_with_handle, dies_with_handle)

static const struct sp_fault faults[] = {
	JOURNAL_STEP_FAULT("journal-mark-spaced", spaced, "J1",
			   "The wrapper's mark has blanks in it.", FAULT_LIST("contract:3.2"),
			   FAULT_LIST("journal.write.exact")),
	JOURNAL_STEP_FAULT(
		"journal-echo-mark", echoed, "J18",
		"The wrapper prints its mark by `echo` with escapes, which not every shell knows.",
		FAULT_LIST("contract:C279"),
		FAULT_LIST("journal.write.exact", "journal.shell.bash")),
	JOURNAL_STEP_FAULT("journal-piped", piped, "J1",
			   "The run's stdout is a pipe to a process that writes the journal.",
			   FAULT_LIST("contract:C36", "field:J16"),
			   FAULT_LIST("journal.write.direct")),
	JOURNAL_STEP_FAULT("journal-no-subshell", no_subshell, "J2",
			   "An `exit` of the command skips the mark.", FAULT_LIST("contract:C35"),
			   FAULT_LIST("journal.write.code")),
	JOURNAL_STEP_FAULT("journal-code-lost", code_lost, "J2", "Every mark says 0.",
			   FAULT_LIST("field:J13"), FAULT_LIST("journal.write.code")),
	JOURNAL_STEP_FAULT("journal-stderr-spliced", spliced, "J3", "stderr goes into the journal.",
			   FAULT_LIST("field:J15"), FAULT_LIST("journal.write.stderr")),
	JOURNAL_STEP_FAULT("journal-stderr-head", stderr_head, "J3",
			   "The first bytes of stderr are given for its last.",
			   FAULT_LIST("contract:3.3"), FAULT_LIST("journal.write.stderr")),
	JOURNAL_STEP_FAULT(
		"journal-syntax-silent", syntax_silent, "J2",
		"A run whose command swallows the wrapper ends with code 0 and without a mark.",
		FAULT_LIST("contract:C49"), FAULT_LIST("journal.write.syntax")),
	JOURNAL_STEP_FAULT("journal-bashism", bashism, "J18",
			   "The wrapper needs a shell that knows pipefail.",
			   FAULT_LIST("contract:C279"), FAULT_LIST("journal.shell.dash")),
	JOURNAL_STEP_FAULT("journal-long-options", long_options, "J18",
			   "stderr is read with an option of GNU tail.",
			   FAULT_LIST("contract:C279"), FAULT_LIST("journal.shell.busybox")),
	JOURNAL_STEP_FAULT("journal-truncates", truncating, "J4",
			   "A start truncates the journal that is there.",
			   FAULT_LIST("contract:C37"), FAULT_LIST("journal.write.append")),
	JOURNAL_STEP_FAULT("journal-reuse-appends", reuse, "J4",
			   "A second run under one id writes behind the first one's mark.",
			   FAULT_LIST("contract:C44", "field:J14"),
			   FAULT_LIST("journal.write.again")),
	JOURNAL_STEP_FAULT("journal-folder-ignored", folder_ignored, "J2",
			   "A folder that cannot be made is not noticed: the run ends with code 0.",
			   FAULT_LIST("contract:C51"), FAULT_LIST("journal.write.blocked")),
	JOURNAL_STEP_FAULT("journal-request-kills-run", request, "J4",
			   "The request's cancel is given to the run.", FAULT_LIST("contract:C45"),
			   FAULT_LIST("journal.write.request-ends")),
	JOURNAL_PROVIDER_FAULT("journal-run-dies-with-handle", dies_with_handle, "J12",
			       "Letting go of a process ends it.",
			       FAULT_LIST("field:J16", "contract:C36"),
			       FAULT_LIST("journal.ends.reader", "journal.ends.host")),
};
FAULT_TABLE(fault_journal_write, faults);
