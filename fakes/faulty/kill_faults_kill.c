/* SPDX-License-Identifier: MIT */
/* Faults of kill() on any provider. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tables.h"
#include "wrap.h"

/* ---- It does not kill ---- */

static int noop_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	(void)process;
	(void)signal;
	(void)cancel;
	(void)err;
	return 0;
}

static const struct fault_hooks noop = { .kill = noop_kill };
FAULT_WRAP(wrap_noop, noop)

/* The handle settles and the process never hears of it. */
static int view_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	(void)signal;
	(void)cancel;
	(void)err;
	atomic_store(&process->kill_asked, true);
	return 0;
}

static int view_wait(struct fault_process *process, struct sp_exit *ret_exit,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	if (!atomic_load(&process->kill_asked))
		return fault_inner_wait(process, ret_exit, cancel, err);
	*ret_exit = (struct sp_exit){ SP_KILLED, 137, SIGKILL };
	return 0;
}

static int view_read(struct fault_process *process, enum sp_stream stream, void *buffer, size_t max,
		     size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	if (!atomic_load(&process->kill_asked))
		return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
	*ret_len = 0;
	return 0;
}

static const struct fault_hooks view = { .kill = view_kill, .wait = view_wait, .read = view_read };
FAULT_WRAP(wrap_view, view)

static int settles_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			struct sp_error *err)
{
	atomic_store(&process->kill_asked, true);
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks settles = { .kill = settles_kill, .wait = view_wait };
FAULT_WRAP(wrap_settles, settles)

/* One polite signal and nothing after it. */
static int polite_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	if (signal == SIGKILL)
		return fault_inner_kill(process, signal, cancel, err);
	return sp_process_signal(&process->inner, signal ? signal : SIGTERM, cancel, err);
}

static const struct fault_hooks polite = { .kill = polite_kill };
FAULT_WRAP(wrap_polite, polite)

static int stdin_close(struct fault_process *process, struct sp_error *err)
{
	atomic_store(&process->count, 1);
	return sp_process_close_stdin(&process->inner, err);
}

static int stdin_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	if (atomic_load(&process->count))
		return 0;
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks closed_stdin = { .close_stdin = stdin_close, .kill = stdin_kill };
FAULT_WRAP(wrap_closed_stdin, closed_stdin)

/* ---- Again ---- */

static int once_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	if (atomic_fetch_add(&process->count, 1) > 0)
		return sp_error_set(err, SP_NOT_FOUND, "no such process: it was killed before");
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks once = { .kill = once_kill };
FAULT_WRAP(wrap_once, once)

/* The thread that spawned it is remembered in `data`; any other one is refused. */
static int thread_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct fault_process *process, struct sp_error *err)
{
	pthread_t *owner = malloc(sizeof(*owner));

	if (!owner)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	*owner = pthread_self();
	process->data = owner;
	return sp_sandbox_spawn(&sandbox->inner, options, &process->inner, err);
}

static int thread_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	if (!pthread_equal(*(pthread_t *)process->data, pthread_self()))
		return sp_error_set(err, SP_CONFLICT, "this process belongs to another thread");
	return fault_inner_kill(process, signal, cancel, err);
}

static void free_data(struct fault_process *process)
{
	free(process->data);
}

static const struct fault_hooks one_thread = { .spawn = thread_spawn,
					       .kill = thread_kill,
					       .release = free_data };
FAULT_WRAP(wrap_one_thread, one_thread)

/* The second kill waits for the first one's answer and takes it for its own. */
struct memo {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool begun;
	bool answered;
	int rc;
};

static int memo_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		      struct fault_process *process, struct sp_error *err)
{
	struct memo *memo = calloc(1, sizeof(*memo));

	if (!memo)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	pthread_mutex_init(&memo->lock, NULL);
	pthread_cond_init(&memo->done, NULL);
	process->data = memo;
	return sp_sandbox_spawn(&sandbox->inner, options, &process->inner, err);
}

static int memo_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct memo *memo = process->data;
	bool first;
	int rc;

	pthread_mutex_lock(&memo->lock);
	first = !memo->begun;
	memo->begun = true;
	while (!first && !memo->answered)
		pthread_cond_wait(&memo->done, &memo->lock);
	rc = memo->rc;
	pthread_mutex_unlock(&memo->lock);
	if (!first)
		return rc;
	rc = fault_inner_kill(process, signal, cancel, err);
	pthread_mutex_lock(&memo->lock);
	memo->rc = rc;
	memo->answered = true;
	pthread_cond_broadcast(&memo->done);
	pthread_mutex_unlock(&memo->lock);
	return rc;
}

static void memo_release(struct fault_process *process)
{
	struct memo *memo = process->data;

	pthread_cond_destroy(&memo->done);
	pthread_mutex_destroy(&memo->lock);
	free(memo);
}

static const struct fault_hooks memoised = { .spawn = memo_spawn,
					     .kill = memo_kill,
					     .release = memo_release };
FAULT_WRAP(wrap_memoised, memoised)

/* ---- Another signal ---- */

static int always_kill_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	(void)signal;
	return fault_inner_kill(process, SIGKILL, cancel, err);
}

static const struct fault_hooks always_kill = { .kill = always_kill_kill };
FAULT_WRAP(wrap_always_kill, always_kill)

static int always_term_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	(void)signal;
	return fault_inner_kill(process, SIGTERM, cancel, err);
}

static const struct fault_hooks always_term = { .kill = always_term_kill };
FAULT_WRAP(wrap_always_term, always_term)

static int zero_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	return fault_inner_kill(process, signal ? signal : SIGKILL, cancel, err);
}

static const struct fault_hooks zero = { .kill = zero_kill };
FAULT_WRAP(wrap_zero, zero)

static int any_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct sp_exit exit;
	bool passes = signal == 0 || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
		      signal == SIGQUIT || signal == SIGKILL;

	/* The command is given the time to hear it: a fault must be a fault each time. */
	if (!passes && sp_process_signal(&process->inner, signal, cancel, err) == 0)
		(void)fault_inner_wait(process, &exit, cancel, err);
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks any = { .kill = any_kill };
FAULT_WRAP(wrap_any, any)

/* ---- Others ---- */

static int siblings_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	fault_kill_all(process->sandbox, process, cancel);
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks siblings = { .kill = siblings_kill };
FAULT_WRAP(wrap_siblings, siblings)

static int destroys_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	int rc = fault_inner_kill(process, signal, cancel, err);

	return rc < 0 ? rc : sp_sandbox_destroy(&process->sandbox->inner, cancel, err);
}

static const struct fault_hooks destroys = { .kill = destroys_kill };
FAULT_WRAP(wrap_destroys, destroys)

/* The one shell that everything ran in is gone: the next command finds nobody. */
static int breaks_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	if (!atomic_load(&process->exited))
		atomic_store(&process->sandbox->count, 1);
	return fault_inner_kill(process, signal, cancel, err);
}

static int breaks_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	int one = 1;

	if (!atomic_compare_exchange_strong(&sandbox->count, &one, 0))
		return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
	*ret_result = (struct sp_exec_result){ .exit_code = 1 };
	return 0;
}

static const struct fault_hooks breaks = { .kill = breaks_kill, .exec = breaks_exec };
FAULT_WRAP(wrap_breaks, breaks)

/* wait() tells that nothing is left to be killed; this kill then takes "no number" for -1. */
static int everybody_wait(struct fault_process *process, struct sp_exit *ret_exit,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc != SP_ABORTED && rc != SP_TIMED_OUT)
		atomic_store(&process->count, 1);
	return rc;
}

static int everybody_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	char ours[64] = "", text[256];
	ssize_t n = readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1);

	if (!atomic_load(&process->count) || n <= 0)
		return fault_inner_kill(process, signal, cancel, err);
	/* A second lock on the door: never where the sandbox shares our own processes. */
	snprintf(text, sizeof(text),
		 "[ \"$(readlink /proc/self/ns/pid)\" = '%s' ] || kill -KILL -- -1", ours);
	(void)fault_inner_shell(process->sandbox, text, cancel);
	return 0;
}

static const struct fault_hooks everybody = { .wait = everybody_wait, .kill = everybody_kill };
FAULT_WRAP(wrap_everybody, everybody)

static int failed_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct fault_process *process, struct sp_error *err)
{
	int rc = sp_sandbox_spawn(&sandbox->inner, options, &process->inner, err);

	if (rc < 0)
		fault_kill_all(sandbox, NULL, options->cancel);
	return rc;
}

static int failed_wait(struct fault_process *process, struct sp_exit *ret_exit,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc < 0)
		fault_kill_all(process->sandbox, process, cancel);
	return rc;
}

static const struct fault_hooks failed = { .spawn = failed_spawn, .wait = failed_wait };
FAULT_WRAP(wrap_failed, failed)

/* ---- After the exit ---- */

static int late_refused_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			     struct sp_error *err)
{
	if (atomic_load(&process->exited))
		return sp_error_set(err, SP_NOT_FOUND, "no such process");
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks late_refused = { .kill = late_refused_kill };
FAULT_WRAP(wrap_late_refused, late_refused)

static int late_killed_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	if (atomic_load(&process->exited))
		atomic_store(&process->kill_asked, true);
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks late_killed = { .kill = late_killed_kill, .wait = view_wait };
FAULT_WRAP(wrap_late_killed, late_killed)

static int late_runs_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	if (atomic_load(&process->exited))
		(void)fault_inner_shell(process->sandbox, ":", cancel);
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks late_runs = { .kill = late_runs_kill };
FAULT_WRAP(wrap_late_runs, late_runs)

/* ---- Readers, zombies ---- */

static int reader_read(struct fault_process *process, enum sp_stream stream, void *buffer,
		       size_t max, size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	atomic_store(&process->count, 1);
	return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
}

/* Drains politely before it kills: without a reader that is never over. */
static int reader_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	if (!atomic_load(&process->count) && signal != SIGKILL)
		return fault_hang(cancel, err);
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks reader = { .read = reader_read, .kill = reader_kill };
FAULT_WRAP(wrap_reader, reader)

/* The command's own number goes to a file, for the walk below. */
static int zombie_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct fault_process *process, struct sp_error *err)
{
	struct sp_exec_options changed = *options;
	char *text = NULL, *path = NULL;
	int rc = -1;

	if (asprintf(&path, "/tmp/fault-%d-%p", (int)getpid(), (void *)process) >= 0 &&
	    asprintf(&text, "echo $$ >%s; %s", path, options->command) >= 0) {
		changed.command = text;
		rc = sp_sandbox_spawn(&sandbox->inner, &changed, &process->inner, err);
	}
	process->data = path;
	free(text);
	return rc;
}

/*
 * Kills each child and asks kill -0 whether it is gone; a zombie never is,
 * for its parent does not reap.
 */
static int zombie_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "read -r p <%s || exit 0; rm -f %s; for s in /proc/[0-9]*/stat; do "
		 "read -r l <$s || continue; set -- ${l##*) }; [ \"$2\" = $p ] || continue; "
		 "c=${s#/proc/}; c=${c%%/stat}; kill -KILL $c; i=0; "
		 "while kill -0 $c; do i=$((i+1)); [ $i -lt 50 ] || exit 9; true | true; done; "
		 "done 2>/dev/null",
		 (char *)process->data, (char *)process->data);
	if (!atomic_load(&process->exited) &&
	    fault_inner_shell(process->sandbox, text, cancel) == 9) {
		(void)fault_inner_kill(process, SIGKILL, cancel, NULL);
		return sp_error_set(err, SP_TIMED_OUT, "the command is immune to KILL");
	}
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks zombie = { .spawn = zombie_spawn,
					   .kill = zombie_kill,
					   .release = free_data };
FAULT_WRAP(wrap_zombie, zombie)

static const struct sp_fault faults[] = {
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-noop",
		.summary = "kill() answers 0 and does nothing.",
		.sources = FAULT_LIST("field:K04"),
		.clause = "kill K1",
		.cases = FAULT_LIST("kill.shape.foreground",
				    "kill.shape.compound",
				    "kill.shape.double-fork",
				    "kill.shape.closed-descriptors",
				    "kill.shape.stopped-leader",
				    "kill.shape.breeder",
				    "kill.shape.setsid",
				    "kill.shape.setsid-orphan",
				    "kill.shape.job-control",
				    "kill.again.twice",
				    "kill.again.stdin-closed",
				    "kill.zombie.orphan"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_noop,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-view-only",
		.summary = "kill() settles the handle, its wait and its streams, and sends "
			   "nothing.",
		.sources = FAULT_LIST("field:K03"),
		.clause = "kill K1",
		.cases = FAULT_LIST("kill.shape.foreground",
				    "kill.shape.compound",
				    "kill.shape.background",
				    "kill.shape.grandchild"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_view,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-settles-early",
		.summary = "wait() answers 137 as soon as a kill was asked for, before it is "
			   "carried out.",
		.sources = FAULT_LIST("field:K05"),
		.clause = "kill K12",
		.cases = FAULT_LIST("kill.wait.gate"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_settles,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-never-escalates",
		.summary = "kill() sends the one signal asked for and never KILL after it.",
		.sources = FAULT_LIST("field:K06", "contract:C15"),
		.clause = "kill K4",
		.cases = FAULT_LIST("kill.shape.term-ignored",
				    "kill.shape.stopped-child",
				    "kill.signal.then-kill"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_polite,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-not-after-stdin",
		.summary = "kill() does nothing once stdin was closed.",
		.sources = FAULT_LIST("field:K04"),
		.clause = "kill K2",
		.cases = FAULT_LIST("kill.again.stdin-closed"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_closed_stdin,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-twice-refused",
		.summary = "A second kill() answers \"not found\".",
		.sources = FAULT_LIST("contract:C32"),
		.clause = "kill K2",
		.cases = FAULT_LIST("kill.again.twice"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_once,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-other-threads-refused",
		.summary = "kill() is refused on any thread but the one that spawned.",
		.sources = FAULT_LIST("contract:C32"),
		.clause = "kill K2",
		.cases = FAULT_LIST("kill.again.together"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_one_thread,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-first-memoised",
		.summary = "A second kill() waits for the first one and takes its answer.",
		.sources = FAULT_LIST("contract:C32"),
		.clause = "kill K2",
		.cases = FAULT_LIST("kill.again.stronger"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_memoised,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-always-kill",
		.summary = "kill() sends KILL whatever was asked for.",
		.sources = FAULT_LIST("field:K08"),
		.clause = "kill K4",
		.cases = FAULT_LIST("kill.signal.term",
				    "kill.signal.int",
				    "kill.signal.hup",
				    "kill.signal.quit",
				    "kill.signal.then-kill"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_always_kill,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-always-term",
		.summary = "kill() sends TERM whatever was asked for.",
		.sources = FAULT_LIST("contract:C28", "field:K08", "render:5"),
		.clause = "kill K4",
		.cases = FAULT_LIST("kill.signal.int",
				    "kill.signal.hup",
				    "kill.signal.quit",
				    "kill.signal.kill",
				    "kill.signal.then-kill"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_always_term,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-zero-is-kill",
		.summary = "kill(0) sends KILL.",
		.sources = FAULT_LIST("field:K08"),
		.clause = "kill K4",
		.cases = FAULT_LIST("kill.signal.zero"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_zero,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-passes-any",
		.summary = "kill() sends any signal as it is, and KILL only afterwards.",
		.sources = FAULT_LIST("field:K07"),
		.clause = "kill K4",
		.cases = FAULT_LIST("kill.signal.others"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_any,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-takes-siblings",
		.summary = "kill() ends every command of the sandbox.",
		.sources = FAULT_LIST("field:K14"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.sibling"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_siblings,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-destroys-sandbox",
		.summary = "kill() destroys the sandbox.",
		.sources = FAULT_LIST("field:K14"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.sibling"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_destroys,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-breaks-sandbox",
		.summary = "The command after a kill gives code 1 and no output.",
		.sources = FAULT_LIST("field:K15"),
		.clause = "kill K11",
		.cases = FAULT_LIST("kill.usable.after-kill"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_breaks,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-unknown-is-everybody",
		.summary = "kill() of what has no process any more signals process -1.",
		.sources = FAULT_LIST("field:K12", "field:K13"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.failed-start", "kill.limit.after-exit"),
		.seam = SP_FAULT_PROVIDER,
		.reaches_outside = true,
		.wrap_provider = wrap_everybody,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "failed-start-kills-everybody",
		.summary = "A start that fails ends every command of the sandbox.",
		.sources = FAULT_LIST("field:K12"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.failed-start", "kill.limit.refused-start"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_failed,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-after-exit-refused",
		.summary = "kill() after the exit answers \"not found\".",
		.sources = FAULT_LIST("contract:C32"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.after-exit"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_late_refused,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-after-exit-is-killed",
		.summary = "A kill after the exit turns it into \"killed\", 137.",
		.sources = FAULT_LIST("field:K24"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.after-exit"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_late_killed,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-after-exit-runs",
		.summary = "A kill after the exit still runs a command in the sandbox.",
		.sources = FAULT_LIST("field:K13"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.after-exit-silent"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_late_runs,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-waits-for-reader",
		.summary = "kill() waits until somebody reads the output.",
		.sources = FAULT_LIST("field:K23"),
		.clause = "kill K13",
		.cases = FAULT_LIST("kill.stream.bound-kill"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_reader,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "zombie-counts-as-alive",
		.summary = "kill() asks kill -0 whether the children are gone, and holds a "
			   "zombie for immune.",
		.sources = FAULT_LIST("field:K22"),
		.clause = "kill K17",
		.cases = FAULT_LIST("kill.zombie.unreaped"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_zombie,
	},
};
FAULT_TABLE(fault_kill_kill, faults);
