/* SPDX-License-Identifier: MIT */
#include "supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#include "case_impl.h"
#include "evidence.h"
#include "procs.h"
#include "slot.h"

#define DEADLINE_LOCAL_MS 10000
#define DEADLINE_LIVE_MS 180000
#define GRACE_MS 2000
/* A service may need that long to answer a create that an interrupt found under way. */
#define MAKE_LIMIT_MS 30000
/* To remove everything and end; the same when somebody waits for the end, and nothing bills. */
#define QUIT_MS 20000
#define INTERRUPTED_MS 8000
/* A killed process that is still there is asked for again after this. */
#define KILLED_MS 1000
#define TICK_MS 100
#define SLOW_SHARE 2
#define MESSAGE_CEILING 4096
#define EVENTS 32

/* What an event is about: these, or a slot's number times two, plus one for its process. */
enum event_source {
	EVENT_SIGNAL = 0,
	EVENT_TIMER,
	EVENT_BACKEND,
	EVENT_SLOTS,
};

struct sp_supervisor {
	struct sp_supervisor_options options;
	struct sp_slot_options slot_options;
	struct sp_slot *slots;
	unsigned n_slots;
	/* Indices of the selection in the order of running, and the next one. */
	size_t *queue;
	size_t n_queue, next;
	/* Kinds of which a worker has opened a subject. */
	bool was_opened[SP_SUBJECT_KIND_MAX_];
	/* Why no subject of a kind can be opened, or NULL; and that a case has said so. */
	char *broken[SP_SUBJECT_KIND_MAX_];
	bool told[SP_SUBJECT_KIND_MAX_];
	int epoll, signals, timer;
	sigset_t signals_before;
	uint64_t tick_at;
	/* The back end of this run and its pidfd, or -1. */
	pid_t backend_pid;
	int backend;
	/* Children that were there before. */
	struct sp_pid_list kept;
	/* Descriptors that a worker closes: four, and two a slot. */
	int *private_fds;
	/* No case is begun any more. */
	bool stop;
	bool interrupted;
	/* It ended under us, or hangs: nothing can run, and nothing is left to be removed. */
	bool backend_lost;
	/* Interrupted twice: nothing is removed any more. */
	bool abandoned;
	struct sp_wire wire;
};

/* ---- order ---- */

/* splitmix64: the same order for the same seed on every machine. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void shuffle(size_t *queue, size_t n, uint64_t *state)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)(next_random(state) % i);
		size_t swap = queue[i - 1];

		queue[i - 1] = queue[k];
		queue[k] = swap;
	}
}

/* Facts on which everything else stands come first, in whatever order. */
static size_t count_platform(const struct sp_selection *selection)
{
	size_t n = 0;

	while (n < selection->len && selection->suites[n]->subject == SP_SUBJECT_PLATFORM)
		n++;
	return n;
}

static int make_queue(struct sp_supervisor *s, struct sp_error *err)
{
	const struct sp_run_options *run = s->options.run;
	size_t first = count_platform(&run->selection);
	uint64_t state = run->seed;

	s->n_queue = run->selection.len;
	s->queue = calloc(s->n_queue + 1, sizeof(*s->queue));
	if (!s->queue)
		return sp_error_set(err, SP_INTERNAL, "no memory for the plan");
	for (size_t i = 0; i < s->n_queue; i++)
		s->queue[i] = i;
	if (run->seed) {
		shuffle(s->queue, first, &state);
		shuffle(s->queue + first, s->n_queue - first, &state);
	}
	return 0;
}

/* ---- opening and closing ---- */

static int watch(struct sp_supervisor *s, int fd, uint32_t source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_events(struct sp_supervisor *s, struct sp_error *err)
{
	sigset_t mine;

	sigemptyset(&mine);
	sigaddset(&mine, SIGINT);
	sigaddset(&mine, SIGTERM);
	sigaddset(&mine, SIGHUP);
	sigaddset(&mine, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mine, &s->signals_before);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->epoll < 0 || s->signals < 0 || s->timer < 0 || watch(s, s->signals, EVENT_SIGNAL) ||
	    watch(s, s->timer, EVENT_TIMER))
		return sp_error_set_errno(err, errno, "no descriptors for the supervisor");
	return 0;
}

static int watch_backend(struct sp_supervisor *s, struct sp_error *err)
{
	const struct sp_run_options *run = s->options.run;

	s->backend_pid = run->backend_pid ? run->backend_pid(run->opener) : -1;
	if (s->backend_pid <= 0)
		return 0;
	s->backend = sp_pidfd_open(s->backend_pid);
	if (s->backend < 0 || watch(s, s->backend, EVENT_BACKEND))
		return sp_error_set_errno(err, errno, "the back end cannot be watched");
	return 0;
}

static int open_slots(struct sp_supervisor *s, struct sp_error *err)
{
	unsigned n = s->options.jobs;
	int rc = 0;

	s->slots = calloc(n, sizeof(*s->slots));
	s->private_fds = calloc(4 + 2 * (size_t)n, sizeof(*s->private_fds));
	if (!s->slots || !s->private_fds)
		return sp_error_set(err, SP_INTERNAL, "no memory for the workers");
	s->slot_options = (struct sp_slot_options){
		.run = s->options.run,
		.run_id = s->options.run_id,
		.ledger = s->options.ledger,
		.dir = s->options.dir,
		.private_fds = s->private_fds,
		.n_private_fds = 4 + 2 * (size_t)n,
	};
	for (; !rc && s->n_slots < n; s->n_slots++)
		rc = sp_slot_open(&s->slots[s->n_slots], &s->slot_options, (int)s->n_slots, err);
	return rc;
}

int sp_supervisor_open(const struct sp_supervisor_options *options,
		       struct sp_supervisor **ret_supervisor, struct sp_error *err)
{
	struct sp_supervisor *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return sp_error_set(err, SP_INTERNAL, "no memory for the supervisor");
	s->options = *options;
	s->epoll = s->signals = s->timer = s->backend = -1;
	rc = open_events(s, err);
	if (!rc)
		rc = watch_backend(s, err);
	if (!rc && sp_subreaper())
		rc = sp_error_set_errno(err, errno, "cannot adopt orphans");
	if (!rc && sp_children_of(getpid(), &s->kept))
		rc = sp_error_set(err, SP_IO, "/proc cannot be read; the runner needs it");
	if (!rc)
		rc = make_queue(s, err);
	if (!rc)
		rc = open_slots(s, err);
	if (rc)
		sp_supervisor_close(s);
	else
		*ret_supervisor = s;
	return rc;
}

void sp_supervisor_close(struct sp_supervisor *s)
{
	struct timespec none = { 0, 0 };
	sigset_t mine;

	if (!s)
		return;
	for (unsigned i = 0; i < s->n_slots; i++)
		sp_slot_close(&s->slots[i]);
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		free(s->broken[kind]);
	/*
	 * One that came after the last look would end the program before it has removed its files.
	 */
	sigemptyset(&mine);
	sigaddset(&mine, SIGINT);
	sigaddset(&mine, SIGTERM);
	sigaddset(&mine, SIGHUP);
	while (s->interrupted && sigtimedwait(&mine, NULL, &none) > 0)
		;
	sigprocmask(SIG_SETMASK, &s->signals_before, NULL);
	sp_close(s->epoll);
	sp_close(s->signals);
	sp_close(s->timer);
	sp_close(s->backend);
	sp_pid_list_done(&s->kept);
	free(s->private_fds);
	free(s->slots);
	free(s->queue);
	free(s);
}

bool sp_supervisor_interrupted(const struct sp_supervisor *s)
{
	return s->interrupted;
}

size_t sp_supervisor_records(const struct sp_supervisor *s)
{
	size_t n = 0;

	for (unsigned i = 0; i < s->n_slots; i++)
		n += s->slots[i].n_wrote;
	return n;
}

size_t sp_supervisor_left(const struct sp_supervisor *s)
{
	size_t left = sp_supervisor_records(s);

	for (unsigned i = 0; i < s->n_slots; i++)
		left += s->slots[i].n_made;
	return left;
}

/* ---- limits ---- */

static uint64_t case_limit_ms(const struct sp_supervisor *s)
{
	const struct sp_run_options *run = s->options.run;
	uint64_t plain = run->case_deadline_ms ? run->case_deadline_ms :
			 run->live	       ? DEADLINE_LIVE_MS :
						 DEADLINE_LOCAL_MS;
	uint64_t now = sp_now();

	/* The clock's multiplier is applied once, here; the worker is told the outcome. */
	return (sp_deadline_ms(plain) - now) / SP_MS;
}

static void arm_slot(struct sp_supervisor *s, struct sp_slot *slot)
{
	slot->deadline = sp_now() + case_limit_ms(s) * SP_MS;
}

/* ---- starting workers and cases ---- */

static void collect_private_fds(struct sp_supervisor *s)
{
	int *fd = s->private_fds;

	*fd++ = s->epoll;
	*fd++ = s->signals;
	*fd++ = s->timer;
	*fd++ = s->backend;
	for (unsigned i = 0; i < s->options.jobs; i++) {
		*fd++ = i < s->n_slots ? s->slots[i].sock : -1;
		*fd++ = i < s->n_slots ? s->slots[i].pidfd : -1;
	}
}

static int start_worker(struct sp_supervisor *s, struct sp_slot *slot, struct sp_error *err)
{
	uint32_t source = EVENT_SLOTS + 2 * (uint32_t)slot->number;
	int rc;

	collect_private_fds(s);
	rc = sp_slot_start(slot, err);
	if (rc)
		return rc;
	if (watch(s, slot->sock, source) || watch(s, slot->pidfd, source + 1))
		return sp_error_set_errno(err, errno, "a worker cannot be watched");
	return 0;
}

static void run_case(struct sp_supervisor *s, struct sp_slot *slot, size_t index)
{
	const struct sp_run_options *run = s->options.run;
	uint64_t limit = case_limit_ms(s);

	sp_slot_send_run(slot, &s->wire, index, limit);
	slot->deadline = slot->begun + limit * SP_MS;
	slot->slow_at = slot->begun + limit * SP_MS / SLOW_SHARE;
	if (run->listener.case_started)
		run->listener.case_started(run->listener.arg, run->selection.cases[index],
					   slot->number);
}

static const char *spec_of(const struct sp_supervisor *s, enum sp_subject_kind kind)
{
	const struct sp_run_options *run = s->options.run;

	for (size_t i = 0; i < run->n_subjects; i++)
		if (run->subjects[i].kind == kind)
			return run->subjects[i].spec;
	return NULL;
}

/* A store and its own lock are one place: what is wrong with it is one thing to be told. */
static bool was_told(const struct sp_supervisor *s, enum sp_subject_kind kind)
{
	const char *store = spec_of(s, SP_SUBJECT_STORE), *lock = spec_of(s, SP_SUBJECT_LOCK);
	bool one = store && lock && !strcmp(store, lock);

	if (one && (kind == SP_SUBJECT_STORE || kind == SP_SUBJECT_LOCK))
		return s->told[SP_SUBJECT_STORE] || s->told[SP_SUBJECT_LOCK];
	return s->told[kind];
}

/*
 * What becomes of a case whose subject cannot be opened: the first one is the error, the others
 * were not run.
 */
static void not_opened(struct sp_supervisor *s, enum sp_subject_kind kind,
		       struct sp_result_case *result, struct sp_buf *message)
{
	bool again = was_told(s, kind);

	s->told[kind] = true;
	result->verdict = again ? SP_SKIP : SP_ERROR;
	sp_buf_addf(message, "%s%s", again ? "not run: " : "", s->broken[kind]);
	result->message = (char *)sp_buf_str(message);
}

/* Why the budget lets no further case run; malloc'ed, or NULL. */
static char *spent(struct sp_supervisor *s)
{
	const struct sp_run_options *run = s->options.run;
	struct sp_error err = SP_ERROR_INIT;
	bool refused;
	char *why = NULL;

	if (!run->budget || !run->budget(run->budget_arg, &refused, &err))
		return NULL;
	if (asprintf(&why, SP_BUDGET_NOT_RUN ": %s", err.message) < 0)
		return strdup(SP_BUDGET_NOT_RUN);
	return why;
}

/* Skips over cases that cannot be run; false when nothing is left to run. */
static bool next_case(struct sp_supervisor *s, size_t *ret_index)
{
	while (!s->stop && s->next < s->n_queue) {
		struct sp_buf message SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_CEILING);
		size_t index = s->queue[s->next];
		enum sp_subject_kind kind =
			s->options.run->selection.suites[index]->subject;
		struct sp_result_case result = { .verdict = SP_ERROR, .worker = -1 };
		char *why SP_FREE = s->broken[kind] ? NULL : spent(s);

		result.message = why;
		if (!s->broken[kind] && !why) {
			*ret_index = index;
			return true;
		}
		s->next++;
		result.start = sp_wall_ms();
		if (s->broken[kind])
			not_opened(s, kind, &result, &message);
		sp_tally_attempt(s->options.tally, index, &result, true);
	}
	return false;
}

static uint64_t quit_limit(const struct sp_supervisor *s)
{
	return s->interrupted && !s->options.run->live ? INTERRUPTED_MS : QUIT_MS;
}

/* Gives an idle worker, or an empty slot, the next thing to do. */
static int advance(struct sp_supervisor *s, struct sp_slot *slot, struct sp_error *err)
{
	size_t index = 0;
	bool work = next_case(s, &index);
	bool clean = slot->dirty && !s->abandoned;

	if (slot->state == SP_SLOT_EMPTY) {
		int rc = 0;

		slot->over = !work && !clean;
		if (!slot->over)
			rc = start_worker(s, slot, err);
		if (slot->over || rc)
			return rc;
	}
	if (slot->state != SP_SLOT_IDLE)
		return 0;
	if (clean) {
		/* Once: what cannot be removed at the first try is left to `sweep`. */
		slot->dirty = false;
		slot->cleaned = true;
		sp_slot_send_clean(slot, &s->wire);
		slot->deadline = sp_deadline_ms(quit_limit(s));
	} else if (work) {
		s->next++;
		run_case(s, slot, index);
	} else {
		sp_slot_send_quit(slot, &s->wire);
		slot->deadline = sp_deadline_ms(quit_limit(s));
	}
	return 0;
}

/* ---- the back end ---- */

static void kill_worker(struct sp_slot *slot)
{
	if (slot->state != SP_SLOT_TERMED && slot->state != SP_SLOT_KILLED)
		slot->stopped_in = slot->state;
	slot->state = SP_SLOT_KILLED;
	slot->deadline = sp_deadline_ms(KILLED_MS);
	sp_slot_signal(slot, SIGKILL);
	sp_kill_marked(slot->mark, 0);
}

/* Whatever is told from now on is told by what has lost its back end, so nobody is asked. */
static void lose_backend(struct sp_supervisor *s, const struct sp_error *why)
{
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->backend, NULL);
	sp_tally_fault(s->options.tally, why->message);
	if (s->interrupted)
		fprintf(stderr, "sandproof: %s\n", why->message);
	s->stop = s->backend_lost = true;
	for (unsigned i = 0; i < s->n_slots; i++) {
		s->slots[i].retired = true;
		s->slots[i].dirty = false;
		if (s->slots[i].state != SP_SLOT_EMPTY)
			kill_worker(&s->slots[i]);
	}
}

static void take_backend_end(struct sp_supervisor *s)
{
	const struct sp_run_options *run = s->options.run;
	struct sp_error why = SP_ERROR_INIT;

	if (s->backend_lost)
		return;
	run->backend_ended(run->opener, &why);
	lose_backend(s, &why);
}

/*
 * Asked wherever somebody may be waiting for it: who hangs in a back end that hangs is not to
 * blame, and nobody else will be served either.
 */
static bool backend_answers(struct sp_supervisor *s)
{
	const struct sp_run_options *run = s->options.run;
	struct sp_error why = SP_ERROR_INIT;

	if (s->backend_lost)
		return false;
	if (s->backend < 0 || !run->backend_answers || !run->backend_answers(run->opener, &why))
		return true;
	if (sp_is_exiting(s->backend_pid))
		take_backend_end(s);
	else
		lose_backend(s, &why);
	return false;
}

/* A failure beside a lost back end proves nothing. */
static void excuse(struct sp_result_case *result, struct sp_buf *message)
{
	sp_buf_addf(message, "the back end was lost while it ran; what failed: %s",
		    result->message ? result->message : "");
	result->verdict = SP_ERROR;
	result->message = (char *)sp_buf_str(message);
}

/* ---- messages ---- */

/* Records an attempt; the same worker makes the next one at once. */
static void attempt_ended(struct sp_supervisor *s, struct sp_slot *slot,
			  const struct sp_result_case *attempt, bool last)
{
	bool again = sp_tally_attempt(s->options.tally, slot->index, attempt, last || s->stop);

	if (s->options.run->fail_fast && sp_tally_failed(s->options.tally))
		s->stop = true;
	if (again)
		run_case(s, slot, slot->index);
}

/* What was refused for want of budget is nobody's failure. */
static bool blame_budget(struct sp_supervisor *s, struct sp_result_case *attempt)
{
	const struct sp_run_options *run = s->options.run;
	bool refused = false;

	if (attempt->verdict == SP_PASS || attempt->verdict == SP_SKIP || !run->budget ||
	    !run->budget(run->budget_arg, &refused, NULL) || !refused)
		return false;
	attempt->verdict = SP_ERROR;
	return true;
}

static void take_result(struct sp_supervisor *s, struct sp_slot *slot)
{
	struct sp_buf dialogue SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * SP_DIALOGUE_MAX);
	struct sp_buf said SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_CEILING);
	uint64_t index = sp_wire_get(&s->wire);
	uint64_t verdict = sp_wire_get(&s->wire);
	int line = (int)sp_wire_get(&s->wire);
	char *file SP_FREE = sp_wire_get_text(&s->wire);
	char *message SP_FREE = sp_wire_get_text(&s->wire);
	char *expected SP_FREE = sp_wire_get_text(&s->wire);
	char *actual SP_FREE = sp_wire_get_text(&s->wire);
	enum sp_subject_kind kind = s->options.run->selection.suites[slot->index]->subject;
	struct sp_result_case attempt = { .worker = slot->number, .line = line };

	if (s->wire.bad || index != slot->index || verdict >= SP_VERDICT_MAX_)
		return;
	sp_shared_dialogue(slot->shared, &dialogue);
	attempt.verdict = (enum sp_verdict)verdict;
	attempt.start = slot->start;
	attempt.duration_ms = (int64_t)((sp_now() - slot->begun) / SP_MS);
	attempt.file = file;
	attempt.message = message;
	attempt.expected = expected;
	attempt.actual = actual;
	attempt.dialogue = (char *)sp_buf_str(&dialogue);
	/* One that retires is on its way out and gets nothing more. */
	slot->state = slot->retired ? SP_SLOT_QUITTING : SP_SLOT_IDLE;
	slot->deadline = slot->retired ? sp_deadline_ms(quit_limit(s)) : 0;
	slot->slow_at = 0;
	if (slot->not_opened && s->broken[kind])
		not_opened(s, kind, &attempt, &said);
	else if (blame_budget(s, &attempt))
		attempt.message = (char *)"budget: it was used up while the case ran";
	else if (attempt.verdict == SP_FAIL && !backend_answers(s))
		excuse(&attempt, &said);
	attempt_ended(s, slot, &attempt, slot->retired || slot->not_opened);
}

static void take_leak(struct sp_supervisor *s, struct sp_slot *slot)
{
	char *id SP_FREE = sp_wire_get_text(&s->wire);
	char *kind SP_FREE = sp_wire_get_text(&s->wire);
	char *thing SP_FREE = sp_wire_get_text(&s->wire);
	char *message SP_FREE = sp_wire_get_text(&s->wire);

	if (thing)
		sp_slot_reported(slot, thing);
	if (kind && message)
		sp_tally_leak(s->options.tally, id && *id ? id : slot->last_id, kind, message);
}

static void take_not_opened(struct sp_supervisor *s, struct sp_slot *slot)
{
	uint64_t kind = sp_wire_get(&s->wire);
	char *why SP_FREE = sp_wire_get_text(&s->wire);

	if (!why || kind >= SP_SUBJECT_KIND_MAX_)
		return;
	/* One that could be opened before gets another chance with the next case. */
	if (s->was_opened[kind])
		return;
	slot->not_opened = true;
	if (!s->broken[kind])
		s->broken[kind] = SP_TAKE(why);
}

static void take_phase(struct sp_supervisor *s, struct sp_slot *slot)
{
	enum sp_phase phase = (enum sp_phase)sp_wire_get(&s->wire);

	if (slot->state != SP_SLOT_OPENING && slot->state != SP_SLOT_BODY)
		return;
	slot->state = phase == SP_PHASE_BODY ? SP_SLOT_BODY : SP_SLOT_TEARDOWN;
	arm_slot(s, slot);
}

/* A message that carries one text. */
static void take_text(struct sp_supervisor *s, struct sp_slot *slot, enum sp_wire_type type)
{
	char *text SP_FREE = sp_wire_get_text(&s->wire);

	if (!text)
		return;
	if (type == SP_WIRE_SECRET)
		sp_tally_secret(s->options.tally, text);
	else if (type == SP_WIRE_MADE)
		sp_slot_made(slot, text);
	else if (type == SP_WIRE_GONE)
		sp_slot_gone(slot, text);
	else if (type == SP_WIRE_WROTE)
		sp_slot_wrote(slot, text);
	else
		sp_slot_forgot(slot, text);
}

static void take_opened(struct sp_supervisor *s, struct sp_slot *slot)
{
	uint64_t kind = sp_wire_get(&s->wire);
	unsigned pairing = (unsigned)sp_wire_get(&s->wire);
	char *json SP_FREE = sp_wire_get_text(&s->wire);

	if (kind < SP_SUBJECT_KIND_MAX_)
		s->was_opened[kind] = true;
	sp_tally_pairing(s->options.tally, pairing);
	slot->opened = true;
	sp_tally_capabilities(s->options.tally, json);
}

/* Takes one message; false when there is none, or the worker will send no more. */
static bool take_message(struct sp_supervisor *s, struct sp_slot *slot)
{
	int type = sp_wire_recv(&s->wire, slot->sock, MSG_DONTWAIT);

	switch (type) {
	case SP_WIRE_RESULT:
		take_result(s, slot);
		return true;
	case SP_WIRE_LEAK:
		take_leak(s, slot);
		return true;
	case SP_WIRE_OPENED:
		take_opened(s, slot);
		return true;
	case SP_WIRE_NOT_OPENED:
		take_not_opened(s, slot);
		return true;
	case SP_WIRE_PHASE:
		take_phase(s, slot);
		return true;
	case SP_WIRE_SECRET:
	case SP_WIRE_MADE:
	case SP_WIRE_GONE:
	case SP_WIRE_WROTE:
	case SP_WIRE_FORGOT:
		take_text(s, slot, type);
		return true;
	case SP_WIRE_RETIRE:
		slot->retired = true;
		return true;
	case SP_WIRE_CLEANED:
		slot->state = SP_SLOT_IDLE;
		slot->deadline = 0;
		return true;
	case SP_WIRE_BYE:
		slot->said_bye = true;
		return true;
	default:
		/* Nothing there, its end, or nonsense: the process's end tells the rest. */
		return false;
	}
}

/* ---- ends of workers ---- */

static const char *phase_text(enum sp_slot_state state)
{
	switch (state) {
	case SP_SLOT_OPENING:
		return "while its subject was being opened";
	case SP_SLOT_TEARDOWN:
		return "while what it made was being removed";
	case SP_SLOT_BODY:
	case SP_SLOT_EMPTY:
	case SP_SLOT_IDLE:
	case SP_SLOT_CLEANING:
	case SP_SLOT_QUITTING:
	case SP_SLOT_TERMED:
	case SP_SLOT_KILLED:
		return "in the case's own code";
	}
	return "";
}

static void describe_end(int status, struct sp_buf *out)
{
	if (WIFSIGNALED(status))
		sp_buf_addf(out, "SIG%s", sp_signal_name(WTERMSIG(status)));
	else
		sp_buf_addf(out, "exit code %d", WEXITSTATUS(status));
}

/* Decides what became of a case whose worker is no more. */
static void judge(const struct sp_supervisor *s, const struct sp_slot *slot,
		  enum sp_slot_state state, int status, struct sp_result_case *result,
		  struct sp_buf *message)
{
	bool in_call = atomic_load(&slot->shared->in_call) > 0;
	const char *call = atomic_load(&slot->shared->call);

	result->verdict = SP_ERROR;
	if (s->backend_lost) {
		sp_buf_adds(message, "the back end was lost while it ran");
	} else if (slot->interrupted) {
		sp_buf_adds(message, "interrupted while it ran");
	} else if (slot->late && in_call) {
		/* Whoever hangs inside the subject hangs by its fault. */
		result->verdict = SP_FAIL;
		sp_buf_addf(message, SP_MESSAGE_DEADLINE "%llu ms passed inside %s",
			    (unsigned long long)case_limit_ms(s), call ? call : "a call");
		if (slot->shared->stuck[0])
			sp_buf_addf(message, ": %.*s", (int)sizeof(slot->shared->stuck) - 1,
				    slot->shared->stuck);
		result->expected = (char *)"the call returns";
		result->actual = (char *)"it did not return before the deadline";
	} else if (slot->late) {
		sp_buf_addf(message, SP_MESSAGE_DEADLINE "%llu ms passed %s",
			    (unsigned long long)case_limit_ms(s), phase_text(state));
	} else {
		/* A plugin lives in the worker, so a crash inside one is the subject's own. */
		if (atomic_load(&slot->shared->in_plugin) > 0)
			result->verdict = SP_FAIL;
		sp_buf_adds(message, "the worker ended by ");
		describe_end(status, message);
		if (in_call)
			sp_buf_addf(message, " inside %s", call ? call : "a call");
		else
			sp_buf_addf(message, " %s", phase_text(state));
	}
}

/* A subject whose first opening ended the worker would end the next one as well. */
static void never_opened(struct sp_supervisor *s, const struct sp_slot *slot,
			 enum sp_slot_state state, const char *message)
{
	enum sp_subject_kind kind = s->options.run->selection.suites[slot->index]->subject;

	if (state == SP_SLOT_OPENING && !s->was_opened[kind] && !s->broken[kind])
		s->broken[kind] = strdup(message);
}

static void case_lost(struct sp_supervisor *s, struct sp_slot *slot, enum sp_slot_state state,
		      int status)
{
	struct sp_buf dialogue SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4 * SP_DIALOGUE_MAX);
	struct sp_buf message SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_CEILING);
	struct sp_result_case attempt = {
		.worker = slot->number,
		.start = slot->start,
		.duration_ms = (int64_t)((sp_now() - slot->begun) / SP_MS),
	};

	sp_shared_dialogue(slot->shared, &dialogue);
	sp_slot_last_words(slot, &dialogue);
	judge(s, slot, state, status, &attempt, &message);
	attempt.message = (char *)sp_buf_str(&message);
	attempt.dialogue = (char *)sp_buf_str(&dialogue);
	if (!slot->late && !slot->interrupted && !s->backend_lost)
		never_opened(s, slot, state, sp_buf_str(&message));
	sp_tally_attempt(s->options.tally, slot->index, &attempt, true);
	if (s->options.run->fail_fast)
		s->stop = true;
}

/*
 * A worker that fails at its own end is a fault of ours or of a library: a sanitizer's report, say.
 */
static void end_failed(struct sp_supervisor *s, struct sp_slot *slot, int status)
{
	struct sp_buf message SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4 * MESSAGE_CEILING);

	sp_buf_adds(&message, "the worker did not end well: ");
	describe_end(status, &message);
	sp_buf_adds(&message, "\n");
	sp_slot_last_words(slot, &message);
	sp_tally_fault(s->options.tally, sp_buf_str(&message));
}

static bool has_case(enum sp_slot_state state)
{
	return state == SP_SLOT_OPENING || state == SP_SLOT_BODY || state == SP_SLOT_TEARDOWN;
}

static void worker_ended(struct sp_supervisor *s, struct sp_slot *slot)
{
	bool stopped = slot->state == SP_SLOT_TERMED || slot->state == SP_SLOT_KILLED;
	enum sp_slot_state state;
	int status = 0;

	/* What it said before it ended comes first. */
	if (stopped)
		slot->state = slot->stopped_in;
	while (!s->backend_lost && take_message(s, slot))
		;
	state = slot->state;
	while (waitpid(slot->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (has_case(state))
		case_lost(s, slot, state, status);
	else if (!slot->interrupted && (!slot->said_bye || status) && !slot->retired)
		end_failed(s, slot, status);
	/*
	 * Only the worker's own good-bye says that everything was removed; a cleaner has one try.
	 */
	if (!slot->said_bye && !slot->cleaned && (slot->opened || slot->n_made))
		slot->dirty = !s->backend_lost;
	/*
	 * Closing alone does not end the watch while a worker that was just forked still has
	 * copies, and the old end would be taken for that of the slot's next worker.
	 */
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, slot->sock, NULL);
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, slot->pidfd, NULL);
	sp_slot_ended(slot);
}

/* Orphans of workers that ended; never a child that somebody else waits for. */
static void reap_orphans(struct sp_supervisor *s)
{
	struct sp_pid_list children SP_CLEANUP(sp_pid_list_done) = { 0 };

	sp_children_of(getpid(), &children);
	for (size_t i = 0; i < children.len; i++) {
		pid_t pid = children.pids[i];
		bool ours = sp_pid_list_has(&s->kept, pid);

		for (unsigned k = 0; k < s->n_slots; k++)
			ours = ours || s->slots[k].pid == pid;
		if (!ours)
			waitpid(pid, NULL, WNOHANG);
	}
}

/* ---- deadlines ---- */

static void stop_worker(struct sp_supervisor *s, struct sp_slot *slot)
{
	const struct sp_run_options *run = s->options.run;
	uint64_t patience = run->grace_ms ? run->grace_ms : GRACE_MS;

	/* It ends by itself after that, and whoever does not want to wait interrupts again. */
	if (slot->interrupted && atomic_load(&slot->shared->making) && patience < MAKE_LIMIT_MS)
		patience = MAKE_LIMIT_MS;
	slot->stopped_in = slot->state;
	slot->state = SP_SLOT_TERMED;
	slot->slow_at = 0;
	slot->deadline = sp_deadline_ms(patience);
	sp_slot_signal(slot, SIGTERM);
}

static void check_slot(struct sp_supervisor *s, struct sp_slot *slot, uint64_t now)
{
	const struct sp_run_options *run = s->options.run;

	if (slot->slow_at && slot->slow_at <= now) {
		slot->slow_at = 0;
		if (run->listener.case_slow)
			run->listener.case_slow(run->listener.arg,
						run->selection.cases[slot->index], slot->number,
						(now - slot->begun) / SP_MS);
		(void)backend_answers(s);
	}
	if (!slot->deadline || slot->deadline > now)
		return;
	if (slot->state == SP_SLOT_TERMED || slot->state == SP_SLOT_KILLED) {
		kill_worker(slot);
	} else if (backend_answers(s)) {
		slot->late = true;
		stop_worker(s, slot);
	}
}

static void check_time(struct sp_supervisor *s)
{
	const struct sp_run_listener *listener = &s->options.run->listener;
	uint64_t now = sp_now();

	for (unsigned i = 0; i < s->n_slots; i++)
		check_slot(s, &s->slots[i], now);
	if (listener->tick && s->tick_at <= now) {
		s->tick_at = now + TICK_MS * SP_MS;
		listener->tick(listener->arg);
	}
}

static void sooner(uint64_t *when, uint64_t other)
{
	if (other && (!*when || other < *when))
		*when = other;
}

/* Arms the one timer for whatever comes first. */
static void arm_timer(struct sp_supervisor *s)
{
	struct itimerspec spec = { { 0, 0 }, { 0, 0 } };
	uint64_t when = s->options.run->listener.tick ? s->tick_at : 0;

	for (unsigned i = 0; i < s->n_slots; i++) {
		sooner(&when, s->slots[i].deadline);
		sooner(&when, s->slots[i].slow_at);
	}
	spec.it_value.tv_sec = (time_t)(when / SP_SECOND);
	spec.it_value.tv_nsec = (long)(when % SP_SECOND);
	timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* ---- interrupts ---- */

static void interrupt(struct sp_supervisor *s)
{
	s->stop = true;
	s->interrupted = true;
	fprintf(stderr, "sandproof: interrupted: stopping what runs and removing sandboxes; "
			"interrupt again to leave them\n");
	if (!backend_answers(s))
		return;
	for (unsigned i = 0; i < s->n_slots; i++) {
		struct sp_slot *slot = &s->slots[i];

		if (!has_case(slot->state))
			continue;
		slot->interrupted = true;
		stop_worker(s, slot);
	}
}

static void abandon(struct sp_supervisor *s)
{
	const char *ledger = sp_ledger_path(s->options.ledger);

	if (s->abandoned)
		return;
	s->abandoned = true;
	fprintf(stderr,
		"sandproof: interrupted again: clean-up is skipped, sandboxes may be left%s%s\n",
		ledger ? "; they are listed in " : "", ledger ? ledger : "");
	for (unsigned i = 0; i < s->n_slots; i++) {
		s->slots[i].interrupted = true;
		if (s->slots[i].state != SP_SLOT_EMPTY)
			kill_worker(&s->slots[i]);
	}
}

static void take_signals(struct sp_supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap_orphans(s);
		else if (s->interrupted)
			abandon(s);
		else
			interrupt(s);
	}
}

/* ---- the loop ---- */

static void take_slot_event(struct sp_supervisor *s, uint32_t source)
{
	struct sp_slot *slot = &s->slots[(source - EVENT_SLOTS) / 2];

	if (slot->state == SP_SLOT_EMPTY)
		return;
	if ((source - EVENT_SLOTS) % 2) {
		worker_ended(s, slot);
		return;
	}
	/*
	 * The end of the connection would be told for ever; the process's end follows it. What a
	 * worker says that was told to end is heard then, too.
	 */
	if (slot->state == SP_SLOT_TERMED || slot->state == SP_SLOT_KILLED ||
	    !take_message(s, slot))
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, slot->sock, NULL);
}

static int wait_for_events(struct sp_supervisor *s, struct sp_error *err)
{
	struct epoll_event events[EVENTS];
	uint64_t expirations;
	int n;

	arm_timer(s);
	n = epoll_wait(s->epoll, events, EVENTS, -1);
	if (n < 0)
		return errno == EINTR ? 0 : sp_error_set_errno(err, errno, "epoll_wait failed");
	/*
	 * First, since it explains what the workers say. Its connections break while it exits, so
	 * whoever tells of that tells it after the exit has begun.
	 */
	if (s->backend >= 0 && sp_is_exiting(s->backend_pid))
		take_backend_end(s);
	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == EVENT_BACKEND)
			continue;
		if (events[i].data.u32 == EVENT_SIGNAL)
			take_signals(s);
		else if (events[i].data.u32 == EVENT_TIMER)
			(void)!read(s->timer, &expirations, sizeof(expirations));
		else
			take_slot_event(s, events[i].data.u32);
	}
	check_time(s);
	return 0;
}

/* Gives everybody something to do; the number of slots that are not over, or a code. */
static int advance_all(struct sp_supervisor *s, struct sp_error *err)
{
	int busy = 0;

	for (unsigned i = 0; i < s->n_slots; i++) {
		int rc = advance(s, &s->slots[i], err);

		if (rc)
			return rc;
		busy += !s->slots[i].over || s->slots[i].state != SP_SLOT_EMPTY;
	}
	return busy;
}

/* After a fault of the supervisor itself: nobody may stay. */
static void kill_all(struct sp_supervisor *s)
{
	for (unsigned i = 0; i < s->n_slots; i++) {
		if (s->slots[i].pid <= 0)
			continue;
		sp_slot_signal(&s->slots[i], SIGKILL);
		waitpid(s->slots[i].pid, NULL, 0);
		sp_slot_ended(&s->slots[i]);
	}
}

/* Records that no worker could delete; they outlive any back end of ours. */
static void report_records(struct sp_supervisor *s, struct sp_slot *slot)
{
	for (size_t k = 0; k < slot->n_wrote; k++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_CEILING);

		if (slot->wrote[k].reported)
			continue;
		sp_buf_addf(&text, "the record %.200s may be left in the store", slot->wrote[k].id);
		sp_tally_leak(s->options.tally, slot->last_id, "record", sp_buf_str(&text));
	}
}

/* Sandboxes that no worker could remove. */
static void report_left(struct sp_supervisor *s)
{
	for (unsigned i = 0; i < s->n_slots; i++) {
		struct sp_slot *slot = &s->slots[i];

		for (size_t k = 0; !s->backend_lost && k < slot->n_made; k++) {
			struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_CEILING);

			if (slot->made[k].reported)
				continue;
			sp_buf_addf(&text, "sandbox %s could not be removed",
				    slot->made[k].id);
			sp_tally_leak(s->options.tally, slot->last_id, "sandbox",
				       sp_buf_str(&text));
		}
		report_records(s, slot);
	}
}

int sp_supervisor_run(struct sp_supervisor *s, struct sp_error *err)
{
	int rc;

	s->tick_at = sp_now();
	while ((rc = advance_all(s, err)) > 0) {
		rc = wait_for_events(s, err);
		if (rc)
			break;
	}
	if (rc)
		kill_all(s);
	reap_orphans(s);
	report_left(s);
	return rc;
}
