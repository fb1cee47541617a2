/* SPDX-License-Identifier: MIT */
/*
 * For the tests of this folder only: a case that remembers what was recorded, a sandbox whose
 * commands are bash on this machine, and a back end that answers as a test scripted it. So each
 * probe is seen to say "no" with nothing between it and the kernel.
 */
#ifndef SP_WITNESS_TESTING_H
#define SP_WITNESS_TESTING_H

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <sandproof/case.h>

/* Only turns a hang into a failure. */
#define TEST_LIMIT_MS 60000
#define TEST_OUTPUT ((size_t)1 << 20)

/* A text that lives as long as the case. */
struct stub_text {
	struct stub_text *next;
	char text[];
};

/* What the scripted back end says and what it was asked. */
struct stub_back_end {
	/* Every call answers this code instead, unless 0. */
	int refuses;
	/* Nothing ever stands at a hold. */
	bool never_held;
	unsigned holds_set, holds_released;
	const struct sp_census_sandbox *sandbox;
	const char *const (*requests)[2];
	size_t n_requests;
};

struct sp_case {
	struct sp_cancel *cancel;
	/* What sp_case_subject() gives out: nothing but its control. */
	struct sp_subject subject;
	unsigned rounds;
	/*
	 * The first thing recorded against the subject (or, with `error`, the harness); "" is none.
	 */
	char message[2048];
	char expected[1024];
	char actual[1024];
	bool error;
	char secret[128];
	/* What sp_case_capabilities() gives out. */
	struct sp_capabilities declared;
	/* What sp_case_control() gives out. */
	struct sp_control control;
	struct stub_back_end back;
	/* The sandbox; `gone` makes each call answer SP_GONE. */
	struct sp_sandbox sandbox;
	/* Its workspace; NULL without one. */
	const char *root;
	atomic_bool gone;
	atomic_uint execs;
	pthread_mutex_t lock;
	struct stub_text *texts;
	unsigned n_unique;
};

/* ---- The case, as the runner's is for the witnesses. ---- */

static void record(struct sp_case *t, bool error, struct sp_where where, const char *format,
		   va_list args)
{
	pthread_mutex_lock(&t->lock);
	if (!*t->message) {
		t->error = error;
		vsnprintf(t->message, sizeof(t->message), format, args);
		if (!where.file)
			snprintf(t->message, sizeof(t->message), "a check without its place");
	}
	pthread_mutex_unlock(&t->lock);
}

bool sp_check(struct sp_case *t, bool condition, struct sp_where where, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	if (!condition)
		record(t, false, where, what, args);
	va_end(args);
	return condition;
}

bool sp_check_str(struct sp_case *t, const char *expected, const char *actual,
		  struct sp_where where, const char *what, ...)
{
	bool same = expected && actual ? !strcmp(expected, actual) : expected == actual;
	va_list args;

	va_start(args, what);
	if (!same) {
		snprintf(t->expected, sizeof(t->expected), "%s", expected ? expected : "(none)");
		snprintf(t->actual, sizeof(t->actual), "%s", actual ? actual : "(none)");
		record(t, false, where, what, args);
	}
	va_end(args);
	return same;
}

bool sp_check_ok(struct sp_case *t, int rc, const struct sp_error *err, struct sp_where where,
		 const char *what, ...)
{
	va_list args;

	va_start(args, what);
	if (rc) {
		snprintf(t->actual, sizeof(t->actual), "%s: %s", sp_code_name(rc), err->message);
		record(t, false, where, what, args);
	}
	va_end(args);
	return !rc;
}

void sp_case_error(struct sp_case *t, struct sp_where where, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	record(t, true, where, what, args);
	va_end(args);
}

void sp_case_note(struct sp_case *t, const char *format, ...)
{
	(void)t, (void)format;
}

const char *sp_case_format(struct sp_case *t, const char *format, ...)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEST_OUTPUT);
	struct stub_text *text;
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&buf, format, args);
	va_end(args);
	text = malloc(sizeof(*text) + buf.len + 1);
	memcpy(text->text, sp_buf_str(&buf), buf.len + 1);
	pthread_mutex_lock(&t->lock);
	text->next = t->texts;
	t->texts = text;
	pthread_mutex_unlock(&t->lock);
	return text->text;
}

const char *sp_case_unique(struct sp_case *t)
{
	return sp_case_format(t, "witness-%d-%u", (int)getpid(), t->n_unique++);
}

struct sp_cancel *sp_case_cancel(struct sp_case *t)
{
	return t->cancel;
}

unsigned sp_case_rounds(struct sp_case *t)
{
	return t->rounds;
}

const struct sp_capabilities *sp_case_capabilities(struct sp_case *t)
{
	return &t->declared;
}

struct sp_control *sp_case_control(struct sp_case *t)
{
	return t->control.ops ? &t->control : NULL;
}

struct sp_subject *sp_case_subject(struct sp_case *t)
{
	t->subject.control = t->control;
	return &t->subject;
}

/* There is one sandbox and one view of it. */
struct sp_subject *sp_case_second(struct sp_case *t)
{
	sp_case_error(t, SP_HERE, "the stub has no second instance");
	return NULL;
}

/* Nothing is missing here. */
void sp_skip(struct sp_case *t, const char *reason, ...)
{
	sp_case_error(t, SP_HERE, "the stub skips nothing: %s", reason);
}

void sp_case_secret(struct sp_case *t, const char *secret)
{
	snprintf(t->secret, sizeof(t->secret), "%s", secret);
}

/* ---- The sandbox: bash on this machine. ---- */

struct stub_process {
	struct sp_child child;
	pthread_mutex_t lock;
};

/* Waits for a descriptor; 0 or the cancel's code. */
static int stub_await(int fd, struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
			       {.fd = sp_cancel_fd(cancel), .events = POLLIN}};

	for (;;) {
		int rc = sp_cancel_check(cancel, err);

		if (rc)
			return rc;
		if (poll(fds, SP_COUNT(fds), -1) > 0 && fds[0].revents)
			return 0;
	}
}

static int stub_read(void *self, enum sp_stream stream, void *buffer, size_t max, size_t *ret_len,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct stub_process *process = self;
	int fd = stream == SP_STDOUT ? process->child.out : process->child.err;
	int rc = stub_await(fd, cancel, err);
	ssize_t n = rc ? 0 : read(fd, buffer, max);

	if (rc || n < 0)
		return rc ? rc : sp_error_set_errno(err, errno, "reading");
	*ret_len = (size_t)n;
	return 0;
}

static int stub_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct stub_process *process = self;
	int rc = stub_await(process->child.pidfd, cancel, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&process->lock);
	rc = sp_child_wait(&process->child, cancel, err);
	pthread_mutex_unlock(&process->lock);
	*ret_exit = (struct sp_exit){SP_EXITED, process->child.code, 0};
	return rc;
}

static int stub_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct stub_process *process = self;

	(void)cancel, (void)err;
	pthread_mutex_lock(&process->lock);
	sp_child_signal(&process->child, signal);
	pthread_mutex_unlock(&process->lock);
	return 0;
}

/* A test's processes end with it: the handle ends what nobody waited for. */
static void stub_release(void *self)
{
	struct stub_process *process = self;

	sp_child_done(&process->child);
	pthread_mutex_destroy(&process->lock);
	free(process);
}

static const struct sp_process_ops stub_process_ops = {
	.version = SP_PROCESS_VERSION,
	.read = stub_read,
	.wait = stub_wait,
	.kill = stub_kill,
	.release = stub_release,
};

static const char *stub_id(void *self)
{
	(void)self;
	return "sbx-stub";
}

static const char *stub_root(void *self)
{
	return ((struct sp_case *)self)->root;
}

static int stub_there(struct sp_case *t, struct sp_error *err)
{
	return t->gone ? sp_error_set(err, SP_GONE, "the stub's sandbox is gone") : 0;
}

static int stub_exec(void *self, const struct sp_exec_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	const char *const argv[] = {"bash", "-c", options->command, NULL};
	struct sp_case *t = self;
	struct sp_run_result run;
	int rc = stub_there(t, err);

	t->execs++;
	if (!rc)
		rc = sp_run(argv, NULL, NULL, 0, TEST_OUTPUT, options->cancel, &run, err);
	if (rc)
		return rc;
	*ret_result = (struct sp_exec_result){{(unsigned char *)run.out, run.out_len},
					      {(unsigned char *)run.err, run.err_len},
					      run.code,
					      false,
					      false};
	return 0;
}

static int stub_spawn(void *self, const struct sp_exec_options *options,
		      struct sp_process *ret_process, struct sp_error *err)
{
	const char *const argv[] = {"bash", "-c", options->command, NULL};
	struct stub_process *process;
	int rc = stub_there(self, err);

	if (!rc)
		rc = sp_cancel_check(options->cancel, err);
	if (rc)
		return rc;
	process = calloc(1, sizeof(*process));
	process->child = (struct sp_child)SP_CHILD_INIT;
	process->child.argv = argv;
	process->child.out = SP_CHILD_PIPE;
	process->child.err = SP_CHILD_PIPE;
	/* It would die with the thread that spawned it, which may be a call's. */
	process->child.outlives = true;
	rc = sp_child_start(&process->child, err);
	if (rc) {
		free(process);
		return rc;
	}
	pthread_mutex_init(&process->lock, NULL);
	*ret_process = (struct sp_process){&stub_process_ops, process};
	return 0;
}

static int stub_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_case *t = self;

	(void)cancel, (void)err;
	t->gone = true;
	return 0;
}

static const struct sp_sandbox_ops stub_sandbox_ops = {
	.version = SP_SANDBOX_VERSION,
	.id = stub_id,
	.workspace_root = stub_root,
	.exec = stub_exec,
	.spawn = stub_spawn,
	.destroy = stub_destroy,
};

/* ---- The back end. ---- */

static int stub_refuses(struct sp_case *t, struct sp_error *err)
{
	return t->back.refuses ? sp_error_set(err, t->back.refuses, "the stub refuses") : 0;
}

static int stub_hold(void *self, enum sp_control_step step, enum sp_control_when when,
		     const char *sandbox_id, uint64_t *ret_hold, struct sp_error *err)
{
	struct sp_case *t = self;
	int rc = stub_refuses(t, err);

	(void)step, (void)when, (void)sandbox_id;
	if (!rc)
		*ret_hold = ++t->back.holds_set;
	return rc;
}

static int stub_await_held(void *self, uint64_t hold, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	struct sp_case *t = self;

	if (t->back.never_held)
		sp_cancel_abort(cancel, "the limit of the case");
	if (hold != t->back.holds_set)
		return sp_error_set(err, SP_NOT_FOUND, "no such hold");
	return sp_cancel_check(cancel, err);
}

static int stub_release_hold(void *self, uint64_t hold, struct sp_error *err)
{
	struct sp_case *t = self;

	if (hold != t->back.holds_set)
		return sp_error_set(err, SP_NOT_FOUND, "no such hold");
	t->back.holds_released++;
	return stub_refuses(t, err);
}

static int stub_requests(void *self, bool take, struct sp_control_requests *ret_requests,
			 struct sp_error *err)
{
	struct sp_case *t = self;
	int rc = stub_refuses(t, err);

	if (rc)
		return rc;
	ret_requests->items = calloc(t->back.n_requests + 1, sizeof(*ret_requests->items));
	ret_requests->len = t->back.n_requests;
	for (size_t i = 0; i < t->back.n_requests; i++) {
		ret_requests->items[i].method = strdup(t->back.requests[i][0]);
		ret_requests->items[i].target = strdup(t->back.requests[i][1]);
	}
	if (take)
		t->back.n_requests = 0;
	return 0;
}

static int stub_census(void *self, struct sp_census *ret_census, struct sp_error *err)
{
	struct sp_case *t = self;
	int rc = stub_refuses(t, err);

	if (rc || !t->back.sandbox)
		return rc;
	ret_census->sandboxes = calloc(1, sizeof(*ret_census->sandboxes));
	ret_census->n_sandboxes = 1;
	*ret_census->sandboxes = *t->back.sandbox;
	ret_census->sandboxes->id = strdup(t->back.sandbox->id);
	ret_census->sandboxes->state = strdup(t->back.sandbox->state);
	return 0;
}

static const struct sp_control_ops stub_control_ops = {
	.version = SP_CONTROL_VERSION,
	.hold = stub_hold,
	.await_held = stub_await_held,
	.release = stub_release_hold,
	.requests = stub_requests,
	.census = stub_census,
};

/* ---- For the tests themselves. ---- */

/* struct sp_case *t CASE = case_new(); */
#define CASE SP_CLEANUP(case_free)

/* A case with its sandbox and back end. */
static struct sp_case *case_new(void)
{
	struct sp_case *t = calloc(1, sizeof(*t));

	pthread_mutex_init(&t->lock, NULL);
	t->rounds = 3;
	t->cancel = sp_cancel_new();
	sp_cancel_set_deadline(t->cancel, sp_deadline_ms(TEST_LIMIT_MS));
	t->control = (struct sp_control){&stub_control_ops, t};
	t->sandbox = (struct sp_sandbox){&stub_sandbox_ops, t};
	return t;
}

static void case_free(struct sp_case **t)
{
	while ((*t)->texts) {
		struct stub_text *text = (*t)->texts;

		(*t)->texts = text->next;
		free(text);
	}
	sp_cancel_unref((*t)->cancel);
	pthread_mutex_destroy(&(*t)->lock);
	free(*t);
}

/* What was recorded, once: the next check starts afresh. "" is nothing. */
static const char *recorded(struct sp_case *t)
{
	const char *message = sp_case_format(t, "%s%s", t->error ? "error: " : "", t->message);

	*t->message = '\0';
	t->error = false;
	return message;
}

/* The probe said yes, and recorded nothing. */
#define SAYS_YES(t, answer)                                                                        \
	do {                                                                                       \
		bool yes_ = (answer);                                                              \
		const char *said_ = recorded(t);                                                   \
		cr_expect(yes_ && !*said_, "yes expected of " #answer ", got %d and \"%s\" (%s)",  \
			  yes_, said_, (t)->actual);                                               \
	} while (0)

/* The probe said no, and recorded a failure that holds `text`. */
#define SAYS_NO(t, answer, text)                                                                   \
	do {                                                                                       \
		bool no_ = !(answer);                                                              \
		const char *said_ = recorded(t);                                                   \
		cr_expect(no_ && *said_ && strstr(said_, text),                                    \
			  "no and `%s` expected of " #answer ", got %s and \"%s\"", text,          \
			  no_ ? "no" : "yes", said_);                                              \
	} while (0)

#endif
