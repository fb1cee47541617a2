/* SPDX-License-Identifier: MIT */
/*
 * The supervisor: hands cases to workers, one at a time each, and turns
 * crashes, hangs and interrupts into verdicts. States and absolute
 * deadlines; the only place that waits for any child.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#include "procs.h"
#include "worker.h"

#define DEADLINE_LOCAL_MS 10000
#define DEADLINE_LIVE_MS 180000
#define GRACE_MS 2000
#define MAX_JOBS 64
#define TICK_MS 100
/* A worker that was told to quit. */
#define QUIT_MS 20000

enum slot_state {
	SLOT_EMPTY = 0,
	SLOT_IDLE,
	SLOT_RUNNING,
	/* Past its deadline: TERM was sent. */
	SLOT_TERMED,
	SLOT_QUITTING,
};

struct slot {
	enum slot_state state;
	pid_t pid;
	int sock;
	uint64_t mark;
	uint64_t deadline;
	uint64_t slow_at;
	uint64_t begun;
	int64_t start;
	/* Job that it runs. */
	size_t job;
	bool late;
	bool retired;
	/* No more work for it. */
	bool over;
	struct sp_shared *shared;
	char *workspace;
	char *tmp_dir;
	/* Sandboxes made and not known to be gone. */
	char **made;
	size_t n_made;
};

/* One case, with its attempts. */
struct job {
	size_t index;
	unsigned attempts;
};

struct supervisor {
	const struct sp_run_options *options;
	struct sp_results_writer *writer;
	struct sp_ledger *ledger;
	struct sp_redact *redact;
	struct slot slots[MAX_JOBS];
	unsigned n_slots;
	struct job *jobs;
	size_t n_jobs, next_job;
	struct sp_result_end end;
	char *dir;
	char *log_path;
	char run_id[9];
	int signal_fd;
	uint64_t begun;
	char *capabilities;
	bool run_written;
	bool not_opened;
	char not_opened_why[SP_ERROR_TEXT];
	bool stop;
	bool interrupted;
	struct sp_wire wire;
};

/* ---- results ---- */

static void write_run(struct supervisor *s)
{
	const struct sp_run_options *o = s->options;
	struct sp_buf subjects SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_result_run run = { .schema_version = SP_RESULTS_SCHEMA_VERSION };
	char digest[65], host[65] = "";

	if (s->run_written)
		return;
	s->run_written = true;
	for (size_t i = 0; i < o->n_subjects; i++)
		sp_buf_addf(&subjects, "%s%s=%s", i ? " " : "",
			    sp_subject_kind_name(o->subjects[i].kind), o->subjects[i].shown);
	sp_requirements_digest(o->selection.suites, o->selection.len, digest);
	gethostname(host, sizeof(host) - 1);
	run.program_version = (char *)SP_VERSION;
	run.suite_version = (char *)"1";
	run.requirements_sha256 = digest;
	run.subjects = (char *)sp_buf_str(&subjects);
	run.capabilities_json = s->capabilities ? s->capabilities : (char *)"{}";
	run.host = host;
	run.seed = o->seed;
	run.start = sp_wall_ms();
	run.jobs = s->n_slots;
	run.defect = (char *)o->defect;
	(void)sp_results_write_run(s->writer, &run);
}

static const char *shown_of(const struct supervisor *s, enum sp_subject_kind kind)
{
	for (size_t i = 0; i < s->options->n_subjects; i++)
		if (s->options->subjects[i].kind == kind)
			return s->options->subjects[i].shown;
	return "";
}

static void count(struct sp_result_end *end, enum sp_verdict verdict)
{
	switch (verdict) {
	case SP_PASS:
		end->passed++;
		break;
	case SP_WARN:
		end->passed++;
		end->warned++;
		break;
	case SP_FAIL:
		end->failed++;
		break;
	case SP_SKIP:
		end->skipped++;
		break;
	case SP_XFAIL:
		end->xfailed++;
		break;
	case SP_XPASS:
		end->xpassed++;
		break;
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		end->errors++;
		break;
	}
}

static void join_tags(const struct sp_case_def *def, struct sp_buf *out)
{
	for (const char *const *tag = def->tags; tag && *tag; tag++)
		sp_buf_addf(out, "%s%s", out->len ? " " : "", *tag);
}

/* Writes a result and tells the listener. Evidence goes with everything but passes and skips. */
static void emit(struct supervisor *s, struct slot *slot, struct sp_result_case *result,
		 size_t index)
{
	const struct sp_case_def *def = s->options->selection.cases[index];
	struct sp_buf dialogue SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_DIALOGUE_MAX * 2);
	struct sp_buf rerun SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf tags SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	bool evidence = result->verdict != SP_PASS && result->verdict != SP_SKIP;

	join_tags(def, &tags);
	result->id = (char *)def->id;
	result->suite = (char *)s->options->selection.suites[index]->name;
	result->subject = (char *)shown_of(s, s->options->selection.suites[index]->subject);
	result->clause = (char *)def->clause;
	result->level = (char *)(def->level == SP_MUST ? "MUST" : "SHOULD");
	result->worker = (int)(slot - s->slots);
	result->tags = (char *)sp_buf_str(&tags);
	if (!result->message)
		result->message = (char *)"";
	if (evidence) {
		sp_shared_dialogue(slot->shared, &dialogue);
		sp_buf_addf(&rerun, "%s --case %s",
			    s->options->rerun_prefix ? s->options->rerun_prefix : "sandproof run",
			    def->id);
		result->dialogue = (char *)sp_buf_str(&dialogue);
		result->rerun = (char *)sp_buf_str(&rerun);
	}
	count(&s->end, result->verdict);
	write_run(s);
	(void)sp_results_write_case(s->writer, result);
	if (s->options->listener.case_ended)
		s->options->listener.case_ended(s->options->listener.arg, result);
	if (s->options->fail_fast && (result->verdict == SP_FAIL || result->verdict == SP_ERROR))
		s->stop = true;
}

static void leak(struct supervisor *s, const char *id, const char *kind, const char *message)
{
	struct sp_result_leak result = { (char *)id, (char *)kind, (char *)message };

	s->end.leaks++;
	write_run(s);
	(void)sp_results_write_leak(s->writer, &result);
	if (s->options->listener.leaked)
		s->options->listener.leaked(s->options->listener.arg, &result);
}

/* ---- workers ---- */

static void made_add(struct slot *slot, char *id)
{
	char **longer = reallocarray(slot->made, slot->n_made + 1, sizeof(*longer));

	if (!id || !longer) {
		free(id);
		return;
	}
	slot->made = longer;
	slot->made[slot->n_made++] = id;
}

static void made_remove(struct slot *slot, const char *id)
{
	for (size_t i = 0; id && i < slot->n_made; i++)
		if (!strcmp(slot->made[i], id)) {
			free(slot->made[i]);
			slot->made[i] = slot->made[--slot->n_made];
			return;
		}
}

static void send_clean(struct supervisor *s, struct slot *slot)
{
	if (!slot->n_made)
		return;
	sp_wire_start(&s->wire, SP_WIRE_CLEAN);
	sp_wire_put(&s->wire, slot->n_made);
	for (size_t i = 0; i < slot->n_made; i++)
		sp_wire_put_text(&s->wire, slot->made[i]);
	(void)sp_wire_send(&s->wire, slot->sock);
}

static bool spawn_worker(struct supervisor *s, struct slot *slot)
{
	struct sp_worker_options options = { .run = s->options,
					     .slot = (int)(slot - s->slots),
					     .run_id = s->run_id,
					     .shared = slot->shared,
					     .ledger = s->ledger,
					     .workspace = slot->workspace,
					     .tmp_dir = slot->tmp_dir,
					     .log_path = s->log_path,
					     .supervisor = getpid() };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	sp_random(&slot->mark, sizeof(slot->mark));
	slot->mark = slot->mark >> 3 | UINT64_C(1) << 60;
	options.mark = slot->mark;
	options.sock = pair[1];
	slot->pid = fork();
	if (slot->pid == 0) {
		close(pair[0]);
		close(s->signal_fd);
		for (unsigned i = 0; i < s->n_slots; i++)
			if (s->slots[i].state != SLOT_EMPTY)
				close(s->slots[i].sock);
		_exit(sp_worker_main(&options));
	}
	close(pair[1]);
	if (slot->pid < 0) {
		close(pair[0]);
		return false;
	}
	slot->sock = pair[0];
	slot->state = SLOT_IDLE;
	slot->retired = false;
	send_clean(s, slot);
	return true;
}

static bool open_slot(struct supervisor *s, struct slot *slot, struct sp_error *err)
{
	int number = (int)(slot - s->slots);

	slot->sock = -1;
	slot->shared = sp_shared_new();
	if (!slot->shared || asprintf(&slot->tmp_dir, "%s/w%d", s->dir, number) < 0 ||
	    sp_mkdirs(slot->tmp_dir, 0700)) {
		sp_error_set(err, SP_IO, "cannot make a worker's folder in %s", s->dir);
		return false;
	}
	if (s->options->workspace &&
	    s->options->workspace(s->options->opener, number, &slot->workspace, err))
		return false;
	if (spawn_worker(s, slot))
		return true;
	sp_error_set_errno(err, errno, "cannot start a worker");
	return false;
}

static uint64_t case_deadline_ms(const struct supervisor *s)
{
	if (s->options->case_deadline_ms)
		return s->options->case_deadline_ms;
	return s->options->live ? DEADLINE_LIVE_MS : DEADLINE_LOCAL_MS;
}

static void give_job(struct supervisor *s, struct slot *slot)
{
	uint64_t limit = sp_deadline_ms(case_deadline_ms(s)) - sp_now();

	slot->job = s->next_job++;
	slot->begun = sp_now();
	slot->start = sp_wall_ms();
	slot->deadline = slot->begun + limit;
	slot->slow_at = slot->begun + limit / 2;
	slot->late = false;
	slot->state = SLOT_RUNNING;
	sp_wire_start(&s->wire, SP_WIRE_RUN);
	sp_wire_put(&s->wire, s->jobs[slot->job].index);
	sp_wire_put(&s->wire, s->jobs[slot->job].attempts);
	sp_wire_put(&s->wire, limit / SP_MS);
	(void)sp_wire_send(&s->wire, slot->sock);
	if (s->options->listener.case_started)
		s->options->listener.case_started(
			s->options->listener.arg,
			s->options->selection.cases[s->jobs[slot->job].index],
			(int)(slot - s->slots));
}

static void tell_quit(struct supervisor *s, struct slot *slot)
{
	sp_wire_start(&s->wire, SP_WIRE_QUIT);
	(void)sp_wire_send(&s->wire, slot->sock);
	slot->state = SLOT_QUITTING;
	slot->deadline = sp_deadline_ms(QUIT_MS);
}

/* ---- messages ---- */

static void take_result(struct supervisor *s, struct slot *slot)
{
	struct sp_result_case result = { 0 };
	struct job *job = &s->jobs[slot->job];
	size_t index = sp_wire_get(&s->wire);

	result.attempt = (int)sp_wire_get(&s->wire);
	result.verdict = (enum sp_verdict)sp_wire_get(&s->wire);
	result.start = (int64_t)sp_wire_get(&s->wire);
	result.duration_ms = (int64_t)sp_wire_get(&s->wire);
	result.line = (int)sp_wire_get(&s->wire);

	char *file SP_FREE = sp_wire_get_text(&s->wire);
	char *message SP_FREE = sp_wire_get_text(&s->wire);
	char *expected SP_FREE = sp_wire_get_text(&s->wire);
	char *actual SP_FREE = sp_wire_get_text(&s->wire);

	if (s->wire.bad || index != job->index || result.verdict >= SP_VERDICT_MAX_)
		return;
	result.file = file;
	result.message = message;
	result.expected = expected;
	result.actual = actual;
	slot->state = SLOT_IDLE;
	/* One result a case: the first attempt that is no pass, or the last one. */
	if (result.verdict == SP_PASS && ++job->attempts <= s->options->repeat) {
		s->next_job = s->next_job > slot->job ? s->next_job : slot->job;
		sp_wire_start(&s->wire, SP_WIRE_RUN);
		sp_wire_put(&s->wire, job->index);
		sp_wire_put(&s->wire, job->attempts);
		sp_wire_put(&s->wire, (sp_deadline_ms(case_deadline_ms(s)) - sp_now()) / SP_MS);
		(void)sp_wire_send(&s->wire, slot->sock);
		slot->deadline = sp_deadline_ms(case_deadline_ms(s));
		slot->state = SLOT_RUNNING;
		return;
	}
	emit(s, slot, &result, index);
}

static void take_leak(struct supervisor *s)
{
	char *id SP_FREE = sp_wire_get_text(&s->wire);
	char *kind SP_FREE = sp_wire_get_text(&s->wire);
	char *message SP_FREE = sp_wire_get_text(&s->wire);

	if (id && kind && message)
		leak(s, id, kind, message);
}

static void take_opened(struct supervisor *s)
{
	(void)sp_wire_get(&s->wire);
	char *json = sp_wire_get_text(&s->wire);

	if (!s->capabilities)
		s->capabilities = json;
	else
		free(json);
}

static void take_not_opened(struct supervisor *s)
{
	(void)sp_wire_get(&s->wire);
	(void)sp_wire_get(&s->wire);
	char *why SP_FREE = sp_wire_get_text(&s->wire);

	s->not_opened = true;
	snprintf(s->not_opened_why, sizeof(s->not_opened_why), "%s", why ? why : "no reason");
}

static void take_secret(struct supervisor *s)
{
	char *secret SP_FREE = sp_wire_get_text(&s->wire);

	if (secret)
		(void)sp_redact_add(s->redact, secret);
}

/* One message of a worker; false at the end of the connection. */
static bool take_message(struct supervisor *s, struct slot *slot)
{
	char *text;

	switch (sp_wire_recv(&s->wire, slot->sock, MSG_DONTWAIT)) {
	case SP_WIRE_RESULT:
		take_result(s, slot);
		return true;
	case SP_WIRE_LEAK:
		take_leak(s);
		return true;
	case SP_WIRE_OPENED:
		take_opened(s);
		return true;
	case SP_WIRE_NOT_OPENED:
		take_not_opened(s);
		return true;
	case SP_WIRE_SECRET:
		take_secret(s);
		return true;
	case SP_WIRE_MADE:
		made_add(slot, sp_wire_get_text(&s->wire));
		return true;
	case SP_WIRE_GONE:
		text = sp_wire_get_text(&s->wire);
		made_remove(slot, text);
		free(text);
		return true;
	case SP_WIRE_RETIRE:
		slot->retired = true;
		return true;
	case SP_WIRE_PHASE:
	case SP_WIRE_BYE:
	case -EAGAIN:
	case -EINTR:
		return true;
	default:
		return false;
	}
}

/* ---- ends of workers ---- */

/* Says what became of the case that its worker did not survive. */
static void blame(struct supervisor *s, struct slot *slot, int status)
{
	struct sp_result_case result = { .attempt = 1, .start = slot->start };
	int in_call = atomic_load(&slot->shared->in_call);
	const char *call = atomic_load(&slot->shared->call);
	char message[SP_MESSAGE_MAX];

	result.duration_ms = (int64_t)((sp_now() - slot->begun) / SP_MS);
	if (slot->late && in_call > 0) {
		result.verdict = SP_FAIL;
		snprintf(message, sizeof(message), "hung: %s did not answer before the deadline of the case",
			 call ? call : "a call of the subject");
	} else if (slot->late) {
		result.verdict = SP_ERROR;
		snprintf(message, sizeof(message), "hung outside any call of the subject until its deadline");
	} else if (s->interrupted) {
		result.verdict = SP_ERROR;
		snprintf(message, sizeof(message), "interrupted");
	} else {
		result.verdict = SP_ERROR;
		snprintf(message, sizeof(message), "the worker died: %s %d",
			 WIFSIGNALED(status) ? "signal" : "exit code",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	result.message = message;
	emit(s, slot, &result, s->jobs[slot->job].index);
}

static void worker_ended(struct supervisor *s, struct slot *slot, int status)
{
	bool was_running = slot->state == SLOT_RUNNING || slot->state == SLOT_TERMED;

	/* What it said before it ended comes first. */
	while (slot->sock >= 0) {
		struct pollfd fd = { .fd = slot->sock, .events = POLLIN };

		if (poll(&fd, 1, 0) <= 0 || !(fd.revents & POLLIN) || !take_message(s, slot))
			break;
	}
	was_running = was_running && slot->state != SLOT_IDLE;
	if (was_running)
		blame(s, slot, status);
	slot->sock = sp_close(slot->sock);
	sp_kill_marked(slot->mark, 0);
	slot->over = slot->state == SLOT_QUITTING;
	slot->state = SLOT_EMPTY;
	slot->pid = 0;
	sp_remove_tree(slot->tmp_dir);
	sp_mkdirs(slot->tmp_dir, 0700);
}

static void reap(struct supervisor *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned i = 0; i < s->n_slots; i++)
			if (s->slots[i].pid == pid)
				worker_ended(s, &s->slots[i], status);
}

static void check_deadline(struct supervisor *s, struct slot *slot, uint64_t now)
{
	if (slot->state == SLOT_RUNNING && slot->slow_at && now >= slot->slow_at) {
		slot->slow_at = 0;
		if (s->options->listener.case_slow)
			s->options->listener.case_slow(
				s->options->listener.arg,
				s->options->selection.cases[s->jobs[slot->job].index],
				(int)(slot - s->slots), (now - slot->begun) / SP_MS);
	}
	if (slot->state == SLOT_EMPTY || slot->state == SLOT_IDLE || now < slot->deadline)
		return;
	if (slot->state == SLOT_RUNNING) {
		slot->late = true;
		slot->state = SLOT_TERMED;
		slot->deadline = sp_deadline_ms(s->options->grace_ms ? s->options->grace_ms : GRACE_MS);
		kill(-slot->pid, SIGTERM);
	} else {
		kill(-slot->pid, SIGKILL);
		slot->deadline = now + SP_SECOND;
	}
}

/* ---- the loop ---- */

static void interrupt(struct supervisor *s)
{
	if (s->interrupted) {
		fprintf(stderr, "sandproof: interrupted again: nothing more is cleaned up; see the ledger %s\n",
			sp_ledger_path(s->ledger) ? sp_ledger_path(s->ledger) : "(none)");
		for (unsigned i = 0; i < s->n_slots; i++)
			if (s->slots[i].pid)
				kill(-s->slots[i].pid, SIGKILL);
		_exit(SP_EXIT_INTERRUPTED);
	}
	s->interrupted = true;
	s->stop = true;
	/* The cases stop here; who replaces their workers removes what they made. */
	for (unsigned i = 0; i < s->n_slots; i++)
		if (s->slots[i].state == SLOT_RUNNING) {
			kill(-s->slots[i].pid, SIGKILL);
			s->slots[i].late = false;
		}
}

static void take_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM)
			interrupt(s);
	reap(s);
}

static bool has_work(const struct supervisor *s)
{
	return !s->stop && s->next_job < s->n_jobs;
}

/* Moves one slot on; true while it is not over. */
static bool advance(struct supervisor *s, struct slot *slot)
{
	if (slot->over)
		return false;
	if (slot->state == SLOT_EMPTY) {
		/* A worker is needed for cases, or to remove what its forerunner made. */
		if (!has_work(s) && !slot->n_made) {
			slot->over = true;
			return false;
		}
		if (!spawn_worker(s, slot)) {
			slot->over = true;
			return false;
		}
	}
	if (slot->state == SLOT_IDLE) {
		if (has_work(s))
			give_job(s, slot);
		else
			tell_quit(s, slot);
	}
	return true;
}

static void wait_for_events(struct supervisor *s)
{
	struct pollfd fds[MAX_JOBS + 1];
	unsigned who[MAX_JOBS + 1];
	nfds_t n = 1;

	fds[0] = (struct pollfd){ .fd = s->signal_fd, .events = POLLIN };
	for (unsigned i = 0; i < s->n_slots; i++)
		if (s->slots[i].sock >= 0) {
			who[n] = i;
			fds[n++] = (struct pollfd){ .fd = s->slots[i].sock, .events = POLLIN };
		}
	poll(fds, n, TICK_MS);
	for (nfds_t i = 1; i < n; i++) {
		struct slot *slot = &s->slots[who[i]];

		if (fds[i].revents & POLLIN)
			take_message(s, slot);
		else if (fds[i].revents)
			slot->sock = sp_close(slot->sock);
	}
	if (fds[0].revents)
		take_signals(s);
}

static void loop(struct supervisor *s)
{
	bool busy = true;

	while (busy) {
		uint64_t now = sp_now();

		busy = false;
		for (unsigned i = 0; i < s->n_slots; i++) {
			check_deadline(s, &s->slots[i], now);
			busy = advance(s, &s->slots[i]) || busy;
		}
		if (busy)
			wait_for_events(s);
		if (s->options->listener.tick)
			s->options->listener.tick(s->options->listener.arg);
	}
}

/* ---- the run ---- */

/* A fixed order for a seed, and the order of the suites without one. */
static void shuffle(struct supervisor *s)
{
	uint64_t x = s->options->seed;

	for (size_t i = s->n_jobs; x && i > 1; i--) {
		struct job swap = s->jobs[i - 1];
		size_t k;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		k = x % i;
		s->jobs[i - 1] = s->jobs[k];
		s->jobs[k] = swap;
	}
}

static int plan(struct supervisor *s, struct sp_error *err)
{
	s->n_jobs = s->options->selection.len;
	s->jobs = calloc(s->n_jobs + 1, sizeof(*s->jobs));
	if (!s->jobs)
		return sp_error_set(err, SP_INTERNAL, "no memory for the plan");
	for (size_t i = 0; i < s->n_jobs; i++)
		s->jobs[i] = (struct job){ i, 1 };
	shuffle(s);
	return 0;
}

static int open_signals(struct supervisor *s, sigset_t *ret_before, struct sp_error *err)
{
	sigset_t mine;

	sigemptyset(&mine);
	sigaddset(&mine, SIGINT);
	sigaddset(&mine, SIGTERM);
	sigaddset(&mine, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mine, ret_before);
	s->signal_fd = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? sp_error_set_errno(err, errno, "cannot take signals") : 0;
}

static int open_all(struct supervisor *s, struct sp_error *err)
{
	const struct sp_run_options *o = s->options;
	int rc = sp_tmp_dir("sandproof-run-", &s->dir, err);

	if (!rc && asprintf(&s->log_path, "%s/log", s->dir) < 0)
		rc = sp_error_set(err, SP_INTERNAL, "no memory for a run");
	if (!rc)
		rc = sp_results_create(o->results_path, &s->writer, err);
	if (!rc)
		rc = sp_ledger_open(o->n_subjects ? o->subjects[0].shown : "", o->live, &s->ledger, err);
	if (!rc && o->prepare)
		rc = o->prepare(o->opener, err);
	if (!rc)
		rc = plan(s, err);
	s->n_slots = o->live ? 1 : o->jobs ? o->jobs : 1;
	if (s->n_slots > MAX_JOBS)
		s->n_slots = MAX_JOBS;
	if (s->n_slots > s->n_jobs)
		s->n_slots = s->n_jobs ? (unsigned)s->n_jobs : 1;
	if (!rc && o->listener.started)
		o->listener.started(o->listener.arg, &o->selection, s->n_slots);
	for (unsigned i = 0; i < s->n_slots; i++)
		s->slots[i].sock = -1;
	for (unsigned i = 0; !rc && i < s->n_slots; i++)
		if (s->n_jobs && !open_slot(s, &s->slots[i], err))
			rc = SP_IO;
	return rc;
}

/* One named skip a suite: nothing was opened. */
static void skip_gated(struct supervisor *s)
{
	const struct sp_run_options *o = s->options;
	const struct sp_suite *last = NULL;

	for (size_t i = 0; i < o->selection.len; i++) {
		struct sp_result_case result = { .verdict = SP_SKIP, .attempt = 1 };

		if (o->selection.suites[i] == last)
			continue;
		last = o->selection.suites[i];
		result.message = (char *)o->gated_skip;
		result.start = sp_wall_ms();
		emit(s, &s->slots[0], &result, i);
	}
}

static int exit_code(const struct supervisor *s)
{
	const struct sp_result_end *end = &s->end;
	const struct sp_run_options *o = s->options;
	size_t executed = end->passed + end->failed + end->errors + end->xfailed + end->xpassed;

	if (s->interrupted)
		return SP_EXIT_INTERRUPTED;
	if (end->errors)
		return SP_EXIT_HARNESS;
	if (end->failed || end->xpassed || (o->fail_on_skip && end->skipped) ||
	    executed < o->min_executed)
		return SP_EXIT_FAILED;
	if (end->leaks)
		return SP_EXIT_LEAKED;
	if (!executed && end->skipped && !o->gated_skip)
		return SP_EXIT_NOTHING_RAN;
	return SP_EXIT_OK;
}

static void close_slot(struct slot *slot)
{
	sp_shared_free(slot->shared);
	free(slot->workspace);
	free(slot->tmp_dir);
	for (size_t i = 0; i < slot->n_made; i++)
		free(slot->made[i]);
	free(slot->made);
}

static int finish(struct supervisor *s, int rc, const struct sp_error *why, struct sp_error *err)
{
	const struct sp_run_options *o = s->options;
	bool clean = true;
	int code;

	s->end.commands = !rc && o->commands ? o->commands(o->opener) : 0;
	s->end.duration_ms = (int64_t)((sp_now() - s->begun) / SP_MS);
	s->end.interrupted = s->interrupted;
	for (unsigned i = 0; i < s->n_slots; i++) {
		clean = clean && !s->slots[i].n_made;
		close_slot(&s->slots[i]);
	}
	code = rc ? SP_EXIT_HARNESS : exit_code(s);
	if (!rc && s->not_opened)
		sp_error_set(err, SP_UNAVAILABLE, "%s", s->not_opened_why);
	if (rc && err)
		*err = *why;
	s->end.exit_code = code;
	if (s->writer) {
		write_run(s);
		(void)sp_results_write_end(s->writer, &s->end);
	}
	if (s->writer && sp_results_close(s->writer) && code != SP_EXIT_INTERRUPTED) {
		sp_error_set(err, SP_IO, "the results could not be written to %s: is the disk full?",
			     o->results_path);
		code = SP_EXIT_HARNESS;
	}
	sp_ledger_close(s->ledger, clean);
	if (o->listener.ended)
		o->listener.ended(o->listener.arg, &s->end);
	if (o->finish)
		o->finish(o->opener);
	return code;
}

int sp_run_cases(const struct sp_run_options *options, struct sp_result_end *ret_end,
		 struct sp_error *err)
{
	struct supervisor *s = calloc(1, sizeof(*s));
	struct sp_error why = SP_ERROR_INIT;
	sigset_t before;
	int code, rc;

	if (!s)
		return sp_error_set(err, SP_INTERNAL, "no memory for a run"), SP_EXIT_HARNESS;
	s->options = options;
	s->begun = sp_now();
	s->redact = sp_redact_new();
	for (const char *const *at = options->secrets; s->redact && at && *at; at++)
		(void)sp_redact_add(s->redact, *at);
	sp_random_id(s->run_id, sizeof(s->run_id) - 1);
	sp_subreaper();
	rc = open_signals(s, &before, &why);
	if (!rc && options->gated_skip) {
		s->slots[0].sock = -1;
		rc = sp_results_create(options->results_path, &s->writer, &why);
		if (!rc)
			skip_gated(s);
	} else if (!rc) {
		rc = open_all(s, &why);
		if (!rc)
			loop(s);
	}
	code = finish(s, rc, &why, err);
	*ret_end = s->end;
	if (s->dir)
		sp_remove_tree(s->dir);
	sp_close(s->signal_fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sp_redact_free(s->redact);
	free(s->capabilities);
	free(s->jobs);
	free(s->log_path);
	free(s->dir);
	free(s);
	return code;
}
