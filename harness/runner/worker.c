/* SPDX-License-Identifier: MIT */
/* The worker: opens subjects, runs one case after another, leaves nothing, and says what happened. */
#include "procs.h"
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

/* What removing things after a case may take. */
#define CLEANUP_MS 10000

static void unref_cancel(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

static struct sp_cancel *cleanup_cancel(void)
{
	struct sp_cancel *cancel = sp_cancel_new();

	sp_cancel_set_deadline(cancel, sp_deadline_ms(CLEANUP_MS));
	return cancel;
}

/* ---- telling the supervisor ---- */

static void tell(struct sp_worker *w)
{
	/* A supervisor that cannot be told is gone, and the worker with it. */
	if (sp_wire_send(&w->wire, w->options->sock))
		_exit(SP_EXIT_HARNESS);
}

static void tell_text(struct sp_worker *w, enum sp_wire_type type, const char *text)
{
	sp_wire_start(&w->wire, type);
	sp_wire_put_text(&w->wire, text);
	tell(w);
}

void sp_worker_secret(struct sp_worker *w, const char *secret)
{
	tell_text(w, SP_WIRE_SECRET, secret);
}

void sp_worker_leak(struct sp_worker *w, const char *case_id, const char *kind, const char *format,
		    ...)
{
	char message[SP_MESSAGE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	sp_wire_start(&w->wire, SP_WIRE_LEAK);
	sp_wire_put_text(&w->wire, case_id ? case_id : "");
	sp_wire_put_text(&w->wire, kind);
	sp_wire_put_text(&w->wire, message);
	tell(w);
}

/* The guard calls these from any thread that makes a sandbox. */
static pthread_mutex_t tell_lock = PTHREAD_MUTEX_INITIALIZER;

static void tell_id(struct sp_worker *w, enum sp_wire_type type, const char *id)
{
	struct sp_wire *wire = malloc(sizeof(*wire));

	if (!wire)
		return;
	sp_wire_start(wire, type);
	sp_wire_put_text(wire, id);
	pthread_mutex_lock(&tell_lock);
	(void)sp_wire_send(wire, w->options->sock);
	pthread_mutex_unlock(&tell_lock);
	free(wire);
}

static void on_made(void *arg, const char *id)
{
	tell_id(arg, SP_WIRE_MADE, id);
}

static void on_gone(void *arg, const char *id)
{
	tell_id(arg, SP_WIRE_GONE, id);
}

void sp_worker_unique(struct sp_worker *w, char *buffer, size_t size)
{
	snprintf(buffer, size, "%sw%dn%u", w->options->run_id, w->options->slot, ++w->unique);
}

/* ---- subjects ---- */

int sp_worker_open(struct sp_worker *w, struct sp_opened *opened, struct sp_subject *ret_subject,
		   struct sp_error *err)
{
	const struct sp_run_options *run = w->options->run;
	struct sp_subject subject = SP_SUBJECT_INIT;
	int rc = run->open(run->opener, opened->kind, opened->spec, w->options->workspace, &subject,
			   err);

	if (rc)
		return rc;
	rc = sp_guard_subject(w->guard, &subject, err);
	if (rc) {
		sp_subject_done(&subject);
		return rc;
	}
	*ret_subject = subject;
	return 0;
}

static char *capabilities_json(struct sp_subject *subject)
{
	const struct sp_capabilities *c =
		subject->provider.ops ? sp_provider_capabilities(&subject->provider) : NULL;
	char *text = NULL;

	if (!c)
		return NULL;
	if (asprintf(&text,
		     "{\"fs\":%d,\"exec\":%d,\"env\":%d,\"ports\":%d,\"background_processes\":%d,"
		     "\"writable_stdin\":%d,\"killable_processes\":%d,\"snapshots\":%d,"
		     "\"network_policy\":%d,\"durable_filesystem\":%d,\"fork\":%d,\"kill_reach\":%d,"
		     "\"kill_grace_ms\":%u,\"exit_reaps_group\":%d,\"output\":\"%s\","
		     "\"output_cap\":%llu,\"unread_bound\":%llu,\"follow\":%d}",
		     c->fs, c->exec, c->env, c->ports, c->background_processes, c->writable_stdin,
		     c->killable_processes, c->snapshots, c->network_policy, c->durable_filesystem,
		     c->fork, (int)c->kill_reach, c->kill_grace_ms, c->exit_reaps_group,
		     c->output == SP_OUTPUT_UTF8 ? "utf8" : "bytes",
		     (unsigned long long)c->output_cap, (unsigned long long)c->unread_bound,
		     c->follow) < 0)
		return NULL;
	return text;
}

/* Opens the subject of a case; what it keeps open from then on is no leak. */
static int open_subject(struct sp_worker *w, struct sp_opened *opened, struct sp_error *err)
{
	char *json SP_FREE = NULL;
	int rc;

	if (opened->open)
		return 0;
	sp_leaks_absorb_begin(w->leaks);
	rc = sp_worker_open(w, opened, &opened->subject, err);
	sp_leaks_absorb_end(w->leaks);
	if (rc) {
		sp_wire_start(&w->wire, SP_WIRE_NOT_OPENED);
		sp_wire_put(&w->wire, opened->kind);
		sp_wire_put(&w->wire, !opened->was_open);
		sp_wire_put_text(&w->wire, err->message);
		tell(w);
		return rc;
	}
	opened->open = true;
	if (!opened->was_open) {
		json = capabilities_json(&opened->subject);
		sp_wire_start(&w->wire, SP_WIRE_OPENED);
		sp_wire_put(&w->wire, opened->kind);
		sp_wire_put_text(&w->wire, json);
		tell(w);
	}
	opened->was_open = true;
	return 0;
}

void sp_worker_close_subject(struct sp_worker *w, struct sp_opened *opened)
{
	if (!opened->open)
		return;
	sp_worker_drop_shared(w, opened);
	sp_subject_done(&opened->subject);
	opened->subject = (struct sp_subject)SP_SUBJECT_INIT;
	opened->open = false;
}

int sp_worker_make_sandbox(struct sp_worker *w, struct sp_opened *opened, struct sp_cancel *cancel,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	char id[64];

	sp_worker_unique(w, id, sizeof(id));
	options.id = id;
	options.cancel = cancel;
	return sp_provider_create(&opened->subject.provider, &options, ret_sandbox, err);
}

int sp_worker_shared_sandbox(struct sp_worker *w, struct sp_opened *opened,
			     struct sp_cancel *cancel, struct sp_sandbox *ret_sandbox,
			     struct sp_error *err)
{
	int rc = 0;

	if (!opened->shared.ops) {
		sp_leaks_absorb_begin(w->leaks);
		rc = sp_worker_make_sandbox(w, opened, cancel, &opened->shared, err);
		if (!rc) {
			sp_guard_keep(w->guard, &opened->shared);
			opened->shared_id = strdup(sp_sandbox_id(&opened->shared));
		}
		sp_leaks_absorb_end(w->leaks);
		if (!rc)
			sp_leaks_shared_base(w->leaks, opened);
	}
	if (!rc)
		*ret_sandbox = opened->shared;
	return rc;
}

void sp_worker_drop_shared(struct sp_worker *w, struct sp_opened *opened)
{
	struct sp_cancel *cancel SP_CLEANUP(unref_cancel) = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (!opened->shared.ops)
		return;
	cancel = cleanup_cancel();
	if (sp_sandbox_destroy(&opened->shared, cancel, &err))
		sp_worker_leak(w, w->case_id, "sandbox", "%s could not be destroyed: %s",
			       opened->shared_id ? opened->shared_id : "the shared sandbox",
			       err.message);
	sp_sandbox_done(&opened->shared);
	free(SP_TAKE(opened->shared_id));
}

void sp_worker_reset(struct sp_worker *w, struct sp_opened *opened)
{
	struct sp_control *control = &opened->subject.control;
	struct sp_error err = SP_ERROR_INIT;

	sp_worker_drop_shared(w, opened);
	if (control->ops && control->ops->reset(control->self, &err))
		sp_worker_leak(w, w->case_id, "sandbox", "the back end could not be reset: %s",
			       err.message);
}

/* ---- tools ---- */

/* The tools that any selected case lists, each once, as words of a shell. */
static void list_tools(const struct sp_run_options *run, struct sp_buf *out)
{
	for (size_t i = 0; i < run->selection.len; i++)
		for (const char *const *tool = run->selection.cases[i]->tools; tool && *tool; tool++) {
			char word[64];

			snprintf(word, sizeof(word), " %s ", *tool);
			if (!strstr(sp_buf_str(out), word))
				sp_buf_addf(out, "%s ", word);
		}
}

/* Asks once which tools are there; a sandbox that cannot be asked has none. */
static void probe_tools(struct sp_worker *w, struct sp_opened *opened, struct sp_cancel *cancel)
{
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf tools SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_sandbox sandbox;

	opened->probed = true;
	list_tools(w->options->run, &tools);
	sp_buf_addf(&command,
		    "for t in %s; do command -v $t >/dev/null && printf ' %%s' $t; done; printf ' '",
		    sp_buf_str(&tools));
	options.command = sp_buf_str(&command);
	options.cancel = cancel;
	if (sp_worker_shared_sandbox(w, opened, cancel, &sandbox, NULL) ||
	    sp_sandbox_exec(&sandbox, &options, &result, NULL))
		return;
	opened->tools = strdup((const char *)result.stdout_bytes.data);
	sp_exec_result_done(&result);
}

/* The first tool of the case that the sandbox lacks, or NULL. */
static const char *missing_tool(struct sp_case *t)
{
	struct sp_opened *opened = t->opened;

	if (!t->def->tools || !opened->subject.provider.ops)
		return NULL;
	if (!opened->probed)
		probe_tools(t->worker, opened, sp_case_cancel(t));
	for (const char *const *tool = t->def->tools; *tool; tool++) {
		char word[64];

		snprintf(word, sizeof(word), " %s ", *tool);
		if (!opened->tools || !strstr(opened->tools, word))
			return *tool;
	}
	return NULL;
}

/* ---- one case ---- */

static void phase(struct sp_worker *w, enum sp_phase now)
{
	sp_wire_start(&w->wire, SP_WIRE_PHASE);
	sp_wire_put(&w->wire, now);
	tell(w);
}

static void run_body(struct sp_case *t)
{
	struct sp_buf reason SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const struct sp_where here = { t->def->file, t->def->line };
	struct sp_error err = SP_ERROR_INIT;
	const char *tool;

	if (open_subject(t->worker, t->opened, &err)) {
		sp_case_error(t, here, "the subject %s cannot be opened: %s", t->opened->shown,
			      err.message);
		return;
	}
	if (!sp_needs_met(t->def, &t->opened->subject, &reason)) {
		sp_skip(t, "%s", sp_buf_str(&reason));
		return;
	}
	tool = missing_tool(t);
	if (tool) {
		sp_skip(t, "needs %s: the sandbox lacks this tool", tool);
		return;
	}
	t->def->run(t);
	if (!t->decided && !t->checks)
		sp_case_error(t, here, "the case reached no check, so it proves nothing");
}

/* Removes what the case made; by the provider, since the handles are gone. */
static void remove_made(struct sp_case *t)
{
	struct sp_worker *w = t->worker;
	struct sp_cancel *cancel SP_CLEANUP(unref_cancel) = cleanup_cancel();
	struct sp_provider *provider = &t->opened->subject.provider;
	char *id;

	while (provider->ops && (id = sp_guard_take_sandbox(w->guard, t->opened->shared_id))) {
		struct sp_error err = SP_ERROR_INIT;

		if (sp_provider_destroy(provider, id, cancel, &err))
			sp_worker_leak(w, t->def->id, "sandbox", "%s could not be destroyed: %s", id,
				       err.message);
		else
			on_gone(w, id);
		free(id);
	}
	while (provider->ops && (id = sp_guard_take_snapshot(w->guard))) {
		struct sp_error err = SP_ERROR_INIT;

		if (sp_provider_snapshot_delete(provider, id, cancel, &err))
			sp_worker_leak(w, t->def->id, "snapshot", "%s could not be deleted: %s", id,
				       err.message);
		free(id);
	}
}

static void tear_down(struct sp_case *t)
{
	const char *pending = sp_guard_pending(t->guard);

	if (pending) {
		/* A thread of the case still is in the subject: nothing of it can be trusted any more. */
		sp_case_error(t, (struct sp_where){ t->def->file, t->def->line },
			      "the case returned while its call of %s had not", pending);
		t->worker->retire = true;
		return;
	}
	sp_guard_drop_handles(t->guard);
	sp_case_release(t);
	remove_made(t);
	if (t->verdict == SP_FAIL || t->verdict == SP_ERROR)
		sp_worker_drop_shared(t->worker, t->opened);
	sp_leaks_check(t->worker->leaks, t->opened);
}

static void send_result(struct sp_case *t, uint64_t index, int attempt, int64_t start,
			uint64_t took_ns)
{
	struct sp_wire *wire = &t->worker->wire;

	sp_wire_start(wire, SP_WIRE_RESULT);
	sp_wire_put(wire, index);
	sp_wire_put(wire, (uint64_t)attempt);
	sp_wire_put(wire, t->verdict);
	sp_wire_put(wire, (uint64_t)start);
	sp_wire_put(wire, took_ns / SP_MS);
	sp_wire_put(wire, (uint64_t)t->where.line);
	sp_wire_put_text(wire, t->where.file);
	sp_wire_put_text(wire, t->message);
	sp_wire_put_text(wire, t->expected);
	sp_wire_put_text(wire, t->actual);
	tell(t->worker);
}

static void run_case(struct sp_worker *w)
{
	const struct sp_run_options *run = w->options->run;
	uint64_t index = sp_wire_get(&w->wire);
	int attempt = (int)sp_wire_get(&w->wire);
	uint64_t deadline_ms = sp_wire_get(&w->wire);
	uint64_t begun = sp_now();
	int64_t start = sp_wall_ms();
	const struct sp_suite *suite;
	struct sp_case t = { 0 };

	if (w->wire.bad || index >= run->selection.len)
		_exit(SP_EXIT_HARNESS);
	suite = run->selection.suites[index];
	t.def = run->selection.cases[index];
	t.worker = w;
	t.opened = &w->opened[suite->subject];
	t.guard = w->guard;
	t.redact = w->redact;
	t.rounds = run->rounds ? run->rounds : 20;
	/* A little before the supervisor's own, so that a hang ends as a check that says what hung. */
	t.cancel_at = begun + deadline_ms * SP_MS / 10 * 8;
	w->case_id = t.def->id;
	sp_shared_reset(w->options->shared);
	sp_case_init(&t);
	phase(w, SP_PHASE_BODY);
	run_body(&t);
	phase(w, SP_PHASE_TEARDOWN);
	tear_down(&t);
	send_result(&t, index, attempt, start, sp_now() - begun);
	sp_case_done(&t);
}

/* ---- the process ---- */

static void become_worker(const struct sp_worker_options *options)
{
	int log = open(options->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != options->supervisor)
		_exit(SP_EXIT_HARNESS);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sp_mark_self(options->mark);
	setenv("TMPDIR", options->tmp_dir, 1);
	if (log >= 0) {
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		close(log);
	}
}

/* What earlier workers of this slot left, by id. */
static void clean(struct sp_worker *w)
{
	struct sp_opened *opened = &w->opened[SP_SUBJECT_PROVIDER];
	struct sp_cancel *cancel SP_CLEANUP(unref_cancel) = cleanup_cancel();
	uint64_t n = sp_wire_get(&w->wire);
	char **ids SP_FREE = calloc(n + 1, sizeof(*ids));
	struct sp_error err = SP_ERROR_INIT;

	for (uint64_t i = 0; ids && i < n; i++)
		ids[i] = sp_wire_get_text(&w->wire);
	if (opened->spec && !open_subject(w, opened, &err))
		for (uint64_t i = 0; ids && i < n; i++) {
			if (!ids[i])
				continue;
			if (sp_provider_destroy(&opened->subject.provider, ids[i], cancel, &err))
				sp_worker_leak(w, "", "sandbox", "%s could not be destroyed: %s",
					       ids[i], err.message);
			else
				on_gone(w, ids[i]);
			free(ids[i]);
		}
	if (opened->open && opened->subject.control.ops)
		sp_worker_reset(w, opened);
}

static void finish(struct sp_worker *w)
{
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++) {
		sp_worker_close_subject(w, &w->opened[kind]);
		free(w->opened[kind].tools);
	}
	sp_leaks_final(w->leaks);
	sp_wire_start(&w->wire, SP_WIRE_BYE);
	tell(w);
	sp_leaks_free(w->leaks);
	sp_guard_free(w->guard);
	sp_redact_free(w->redact);
}

static bool start(struct sp_worker *w)
{
	const struct sp_worker_options *o = w->options;
	struct sp_guard_options guard = { .shared = o->shared,
					  .ledger = o->ledger,
					  .live = o->run->live,
					  .made = on_made,
					  .gone = on_gone,
					  .arg = w };

	for (size_t i = 0; i < o->run->n_subjects; i++) {
		struct sp_opened *opened = &w->opened[o->run->subjects[i].kind];

		opened->kind = o->run->subjects[i].kind;
		opened->spec = o->run->subjects[i].spec;
		opened->shown = o->run->subjects[i].shown;
		guard.shown = guard.shown ? guard.shown : opened->shown;
	}
	w->redact = sp_redact_new();
	for (const char *const *at = o->run->secrets; w->redact && at && *at; at++)
		(void)sp_redact_add(w->redact, *at);
	guard.redact = w->redact;
	w->guard = w->redact ? sp_guard_new(&guard) : NULL;
	w->leaks = w->guard ? sp_leaks_new(w) : NULL;
	return w->leaks;
}

int sp_worker_main(const struct sp_worker_options *options)
{
	struct sp_worker *w = calloc(1, sizeof(*w));

	become_worker(options);
	if (!w)
		return SP_EXIT_HARNESS;
	w->options = options;
	if (!start(w))
		return SP_EXIT_HARNESS;
	for (;;) {
		switch (sp_wire_recv(&w->wire, options->sock, 0)) {
		case SP_WIRE_RUN:
			run_case(w);
			break;
		case SP_WIRE_CLEAN:
			clean(w);
			break;
		case SP_WIRE_QUIT:
			finish(w);
			free(w);
			return 0;
		default:
			return SP_EXIT_HARNESS;
		}
		if (w->retire) {
			tell_text(w, SP_WIRE_RETIRE, "a call of the subject is still pending");
			_exit(0);
		}
	}
}
