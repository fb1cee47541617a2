/* SPDX-License-Identifier: MIT */
/* The worker as a process: what it becomes, what it is told, how it ends. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>

#include "coverage.h"
#include "making.h"
#include "nursery.h"
#include "procs.h"

/* What removing things after a case may take. */
#define CLEANUP_MS 8000

/* Present only in a build with leak checking. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

void sp_worker_unref_cancel(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

struct sp_cancel *sp_worker_cleanup_cancel(void)
{
	struct sp_cancel *cancel = sp_cancel_new();

	if (cancel)
		sp_cancel_set_deadline(cancel, sp_deadline_ms(CLEANUP_MS));
	return cancel;
}

/* ---- telling the supervisor ---- */

static _Noreturn void end_process(const struct sp_worker_options *options, int code)
{
	sp_coverage_dump(options->run);
	_exit(code);
}

static _Noreturn void end_worker(const struct sp_worker *w, int code)
{
	end_process(w->options, code);
}

void sp_worker_tell(struct sp_worker *w)
{
	/* A supervisor that cannot be told is gone, and the worker with it. */
	if (sp_wire_send(&w->wire, w->options->sock))
		end_worker(w, SP_EXIT_HARNESS);
}

/* One text, from any thread: the socket keeps messages apart. */
static void tell_text(struct sp_worker *w, enum sp_wire_type type, const char *text)
{
	struct sp_wire *wire = malloc(sizeof(*wire));

	if (!wire)
		return;
	sp_wire_start(wire, type);
	sp_wire_put_text(wire, text);
	(void)sp_wire_send(wire, w->options->sock);
	free(wire);
}

void sp_worker_secret(struct sp_worker *w, const char *secret)
{
	tell_text(w, SP_WIRE_SECRET, secret);
}

/* The guard calls these from whatever thread makes a sandbox. */
static void on_made(void *arg, const char *id)
{
	tell_text(arg, SP_WIRE_MADE, id);
}

static void on_gone(void *arg, const char *id)
{
	tell_text(arg, SP_WIRE_GONE, id);
}

static void on_wrote(void *arg, const char *key)
{
	tell_text(arg, SP_WIRE_WROTE, key);
}

static void on_forgot(void *arg, const char *key)
{
	tell_text(arg, SP_WIRE_FORGOT, key);
}

static void tell_leak(struct sp_worker *w, const char *case_id, const char *kind, const char *thing,
		      const char *format, va_list args)
{
	char message[SP_MESSAGE_MAX];

	vsnprintf(message, sizeof(message), format, args);
	sp_wire_start(&w->wire, SP_WIRE_LEAK);
	sp_wire_put_text(&w->wire, case_id);
	sp_wire_put_text(&w->wire, kind);
	sp_wire_put_text(&w->wire, thing);
	sp_wire_put_text(&w->wire, message);
	sp_worker_tell(w);
}

void sp_worker_leak(struct sp_worker *w, const char *case_id, const char *kind, const char *format,
		    ...)
{
	va_list args;

	va_start(args, format);
	tell_leak(w, case_id, kind, NULL, format, args);
	va_end(args);
}

void sp_worker_leak_thing(struct sp_worker *w, const char *kind, const char *thing,
			  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell_leak(w, w->case_id, kind, thing, format, args);
	va_end(args);
}

void sp_worker_unique(struct sp_worker *w, char *buffer, size_t size)
{
	/* The pid keeps the workers of one slot apart; the last letter, it from a longer one. */
	snprintf(buffer, size, "r%sp%dn%ue", w->options->run_id, (int)getpid(), ++w->unique);
}

const char *sp_worker_run_id(const struct sp_worker *w)
{
	return w ? w->options->run_id : NULL;
}

/* ---- becoming ---- */

static void redirect(const char *log_path)
{
	int log SP_CLOSE = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int null SP_CLOSE = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* What libraries print is evidence of a crash and must not tear the console. */
	dup2(null, STDIN_FILENO);
	dup2(log >= 0 ? log : null, STDOUT_FILENO);
	dup2(log >= 0 ? log : null, STDERR_FILENO);
}

static void become_worker(const struct sp_worker_options *options)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* It may have died before. */
	if (getppid() != options->supervisor)
		_exit(SP_EXIT_HARNESS);
	/* A session of its own: the terminal's interrupt is the supervisor's to handle. */
	setsid();
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sp_mark_self(options->mark);
	setenv("TMPDIR", options->tmp_dir, 1);
	redirect(options->log_path);
}

/* The processes of cases come from one that has nothing open yet. */
static bool start_nursery(struct sp_worker *w)
{
	const struct sp_selection *selection = &w->options->run->selection;

	w->nursery = -1;
	for (size_t i = 0; i < selection->len; i++)
		if (selection->cases[i]->needs & SP_NEED_PEER)
			return !sp_nursery_start(w->options, &w->nursery);
	return true;
}

/* Kinds of subject that are plugins; a lock that is not named is the store's own. */
static unsigned plugin_kinds(const struct sp_run_options *run)
{
	bool lock = false;
	unsigned kinds = 0;

	for (size_t i = 0; i < run->n_subjects; i++) {
		lock = lock || run->subjects[i].kind == SP_SUBJECT_LOCK;
		if (!strncmp(run->subjects[i].spec, "plugin:", 7))
			kinds |= 1u << run->subjects[i].kind;
	}
	if (!lock && kinds & 1u << SP_SUBJECT_STORE)
		kinds |= 1u << SP_SUBJECT_LOCK;
	return kinds;
}

static bool set_up(struct sp_worker *w)
{
	const struct sp_worker_options *o = w->options;
	struct sp_guard_options guard = {
	    .shared = o->shared,
	    .ledger = o->ledger,
	    .foreign = plugin_kinds(o->run),
	    .outlives = o->run->outlives,
	    .made = on_made,
	    .gone = on_gone,
	    .wrote = on_wrote,
	    .forgot = on_forgot,
	    .arg = w,
	};

	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		w->opened[kind].kind = (enum sp_subject_kind)kind;
	for (size_t i = 0; i < o->run->n_subjects; i++) {
		struct sp_opened *opened = &w->opened[o->run->subjects[i].kind];

		opened->spec = o->run->subjects[i].spec;
		opened->shown = o->run->subjects[i].shown;
	}
	w->case_id = "";
	sp_shared_reset(o->shared);
	w->redact = sp_redact_new();
	for (const char *const *at = o->run->secrets; w->redact && at && *at; at++)
		sp_redact_add(w->redact, *at);
	guard.redact = w->redact;
	w->guard = w->redact ? sp_guard_new(&guard) : NULL;
	w->leaks = w->guard ? sp_leaks_new(w) : NULL;
	return w->leaks != NULL;
}

/* ---- ending ---- */

static void tear_down(struct sp_worker *w)
{
	sp_guard_drop_handles(w->guard);
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++) {
		sp_worker_close_subject(w, &w->opened[kind]);
		free(w->opened[kind].tools);
	}
	sp_leaks_final(w->leaks);
	sp_wire_start(&w->wire, SP_WIRE_BYE);
	sp_worker_tell(w);
	sp_leaks_free(w->leaks);
	sp_guard_free(w->guard);
	sp_redact_free(w->redact);
	while (w->n_stuck)
		free(w->stuck[--w->n_stuck]);
	free(w->stuck);
	sp_close(w->nursery);
}

static _Noreturn void quit(struct sp_worker *w)
{
	const struct sp_worker_options *options = w->options;

	tear_down(w);
	free(w);
	if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check())
		end_process(options, SP_EXIT_HARNESS);
	end_process(options, 0);
}

/* ---- cleaning after others ---- */

static void remove_left(struct sp_worker *w, struct sp_opened *opened, const char *id,
			struct sp_cancel *cancel)
{
	/* What cannot be removed stays with the supervisor, which says so at the end. */
	if (!sp_provider_destroy(&opened->subject.provider, id, cancel, NULL))
		sp_guard_removed(w->guard, id);
}

static void clean_with(struct sp_worker *w, struct sp_opened *opened, char *const *ids, size_t n)
{
	/* One limit for all: what hangs must not be waited for as often as there are sandboxes. */
	struct sp_cancel *cancel SP_CLEANUP(sp_worker_unref_cancel) = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (!opened->spec || sp_worker_open_subject(w, opened, &err))
		return;
	cancel = sp_worker_cleanup_cancel();
	for (size_t i = 0; opened->subject.provider.ops && i < n; i++)
		if (ids[i] && !sp_cancel_check(cancel, NULL))
			remove_left(w, opened, ids[i], cancel);
	if (!sp_worker_reset(w, opened))
		return;
	for (size_t i = 0; i < n; i++)
		if (ids[i])
			sp_guard_removed(w->guard, ids[i]);
}

/* Records that other workers wrote; one limit for all. What stays is told by the supervisor. */
static void delete_records(struct sp_worker *w, char *const *keys, size_t n)
{
	struct sp_cancel *cancel SP_CLEANUP(sp_worker_unref_cancel) = NULL;
	struct sp_opened *opened = &w->opened[SP_SUBJECT_STORE];
	struct sp_error err = SP_ERROR_INIT;

	if (!n || !opened->spec || sp_worker_open_subject(w, opened, &err))
		return;
	cancel = sp_worker_cleanup_cancel();
	for (size_t i = 0; i < n; i++)
		if (keys[i])
			(void)sp_store_del(&opened->subject.store, keys[i], cancel, NULL);
}

/* A list of texts of a message; free both levels. */
static char **get_list(struct sp_wire *wire, uint64_t *ret_n)
{
	uint64_t n = sp_wire_get(wire);
	char **list = n <= SP_WIRE_MAX ? calloc(n + 1, sizeof(*list)) : NULL;

	*ret_n = list ? n : 0;
	for (uint64_t i = 0; i < *ret_n; i++)
		list[i] = sp_wire_get_text(wire);
	return list;
}

static void free_list(char **list, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

static void clean(struct sp_worker *w)
{
	uint64_t n = 0, n_keys = 0;
	char **ids = get_list(&w->wire, &n);
	char **keys = get_list(&w->wire, &n_keys);

	for (int kind = 0; ids && kind < SP_SUBJECT_KIND_MAX_; kind++)
		clean_with(w, &w->opened[kind], ids, n);
	delete_records(w, keys, n_keys);
	free_list(ids, n);
	free_list(keys, n_keys);
	sp_wire_start(&w->wire, SP_WIRE_CLEANED);
	sp_worker_tell(w);
}

/* ---- the loop ---- */

static void run_case(struct sp_worker *w)
{
	uint64_t index = sp_wire_get(&w->wire);
	uint64_t limit_ms = sp_wire_get(&w->wire);

	if (w->wire.bad || index >= w->options->run->selection.len)
		end_worker(w, SP_EXIT_HARNESS);
	sp_worker_run_case(w, index, limit_ms);
	/* A thread still is in the subject; memory and handles go with the process. */
	if (w->retire)
		end_worker(w, 0);
}

int sp_worker_main(const struct sp_worker_options *options)
{
	struct sp_worker *w;

	become_worker(options);
	w = calloc(1, sizeof(*w));
	if (!w)
		return SP_EXIT_HARNESS;
	w->options = options;
	if (!start_nursery(w))
		return SP_EXIT_HARNESS;
	/* After the nursery, whose processes end in their own way; before leaks are looked for. */
	sp_coverage_watch(options->run);
	sp_making_watch(options->shared);
	if (!set_up(w))
		return SP_EXIT_HARNESS;
	for (;;) {
		int type = sp_wire_recv(&w->wire, options->sock, 0);

		if (type == SP_WIRE_RUN)
			run_case(w);
		else if (type == SP_WIRE_CLEAN)
			clean(w);
		else if (type == SP_WIRE_QUIT)
			quit(w);
		else
			return SP_EXIT_HARNESS;
	}
}
