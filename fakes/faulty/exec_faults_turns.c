/* SPDX-License-Identifier: MIT */
/* Faults of commands that run side by side: a queue of one, and a patience of its own. */
#include "exec_faults.h"

#include <poll.h>
#include <sys/eventfd.h>

/* Guards the `count` of every sandbox of these faults and the list of running commands. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* ---- One at a time ---- */

static void wake_all(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Waits for the sandbox's one turn, or for the cancel's abort. */
static int take_turn(struct fault_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	uint64_t id = 0;
	int rc = cancel ? sp_cancel_watch(cancel, wake_all, NULL, &id) : 0;

	if (rc < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a turn");
	pthread_mutex_lock(&lock);
	while (!(rc = sp_cancel_check(cancel, err)) && atomic_load(&sandbox->count))
		pthread_cond_wait(&changed, &lock);
	if (!rc)
		atomic_store(&sandbox->count, 1);
	pthread_mutex_unlock(&lock);
	if (cancel)
		sp_cancel_unwatch(cancel, id);
	return rc;
}

static int one_at_a_time_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			      struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = take_turn(sandbox, options->cancel, err);

	if (rc < 0)
		return rc;
	rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
	atomic_store(&sandbox->count, 0);
	wake_all(NULL);
	return rc;
}

static const struct fault_hooks one_at_a_time = { .exec = one_at_a_time_exec };
FAULT_WRAP(wrap_one_at_a_time, one_at_a_time)

/* ---- A deadline of its own ---- */

/*
 * The deadline has no clock: it has passed when so many other commands of the sandbox were through.
 */
#define PATIENCE 10

/* A command that runs on a thread of its own. */
struct impatient {
	struct fault_sandbox *sandbox;
	struct sp_exec_options options;
	struct sp_exec_result result;
	struct sp_error err;
	int rc;
	/* Readable: the command is through; the patience is over. */
	int through;
	int over;
	/* Under `lock`. */
	unsigned others;
	struct impatient *next;
};

static struct impatient *running;

static void join_running(struct impatient *self)
{
	pthread_mutex_lock(&lock);
	self->next = running;
	running = self;
	pthread_mutex_unlock(&lock);
}

/* Everybody else in the sandbox has waited for one command more. */
static void leave_running(struct impatient *self)
{
	pthread_mutex_lock(&lock);
	for (struct impatient **at = &running; *at;) {
		if (*at == self) {
			*at = self->next;
			continue;
		}
		if ((*at)->sandbox == self->sandbox && ++(*at)->others == PATIENCE)
			eventfd_write((*at)->over, 1);
		at = &(*at)->next;
	}
	pthread_mutex_unlock(&lock);
}

static void *impatient_main(void *arg)
{
	struct impatient *self = arg;

	self->rc =
		sp_sandbox_exec(&self->sandbox->inner, &self->options, &self->result, &self->err);
	eventfd_write(self->through, 1);
	return NULL;
}

/* Waits for the command, for the caller's cancel, or for the end of the patience (true). */
static bool lose_patience(struct impatient *self, struct sp_cancel *callers)
{
	struct pollfd fds[] = {
		{ .fd = self->through, .events = POLLIN },
		{ .fd = self->over, .events = POLLIN },
		{ .fd = sp_cancel_fd(callers), .events = POLLIN },
	};
	bool over;

	poll(fds, SP_COUNT(fds), -1);
	if (fds[0].revents)
		return false;
	over = fds[1].revents;
	sp_cancel_abort(self->options.cancel, "given up");
	return over;
}

static int impatient_run(struct impatient *self, struct sp_cancel *callers,
			 struct sp_exec_result *ret_result, struct sp_error *err)
{
	pthread_t thread;
	bool over;
	int rc;

	if (self->through < 0 || self->over < 0 || !self->options.cancel ||
	    pthread_create(&thread, NULL, impatient_main, self))
		return sp_error_set(err, SP_INTERNAL,
				    "no memory, descriptor or thread for a command");
	join_running(self);
	over = lose_patience(self, callers);
	pthread_join(thread, NULL);
	leave_running(self);
	/* What the faulty provider says of a command that it gave up: done, and nothing to show. */
	if (over)
		exec_forget(&self->result, 0);
	else if (self->rc == SP_ABORTED && (rc = sp_cancel_check(callers, err)) < 0)
		return rc;
	else if (self->rc < 0 && err)
		*err = self->err;
	if (over || self->rc == 0)
		*ret_result = self->result;
	return over ? 0 : self->rc;
}

static int impatient_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			  struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct impatient self = { .sandbox = sandbox, .options = *options };
	int rc;

	/* A command that may not start goes the healthy way. */
	if (sp_cancel_check(options->cancel, NULL))
		return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
	self.options.cancel = sp_cancel_new();
	self.through = eventfd(0, EFD_CLOEXEC);
	self.over = eventfd(0, EFD_CLOEXEC);
	rc = impatient_run(&self, options->cancel, ret_result, err);
	sp_close(self.through);
	sp_close(self.over);
	sp_cancel_unref(self.options.cancel);
	return rc;
}

static const struct fault_hooks impatient = { .exec = impatient_exec };
FAULT_WRAP(wrap_impatient, impatient)

static const struct sp_fault faults[] = {
	EXEC_FAULT("exec-one-at-a-time", one_at_a_time, "X5",
		   "A command is held back until the one before it has ended.",
		   FAULT_LIST("contract:1.4"), FAULT_LIST("exec.spawn.parallel")),
	EXEC_FAULT("exec-private-deadline", impatient, "X3",
		   "exec has a deadline of its own, and then answers code 0 (it passes with ten "
		   "other "
		   "commands, so that no clock decides).",
		   FAULT_LIST("field:X08", "field:X11"), FAULT_LIST("exec.output.withheld-end")),
};
FAULT_TABLE(fault_exec_turns, faults);
