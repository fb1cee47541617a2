/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/hold.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fakes/render-api/model.h>

struct hold {
	TAILQ_ENTRY(hold) entry;
	uint64_t id;
	enum sp_control_step step;
	enum sp_control_when when;
	/* "" is any. */
	char sandbox_id[SANDBOX_ID_SIZE];
	/* Something came; it may have gone away since (go is NULL then). */
	bool held;
	void (*go)(void *arg);
	void *arg;
	struct hold_waiter_list waiters;
};

struct failure {
	TAILQ_ENTRY(failure) entry;
	enum sp_control_step step;
	unsigned nth;
	struct failure_plan plan;
};

uint64_t hold_arm(struct workspace *workspace, enum sp_control_step step,
		  enum sp_control_when when, const char *sandbox_id)
{
	struct hold *hold = calloc(1, sizeof(*hold));

	if (!hold)
		return 0;
	hold->id = ++workspace->api->last_hold;
	hold->step = step;
	hold->when = when;
	if (sandbox_id)
		strncpy(hold->sandbox_id, sandbox_id, sizeof(hold->sandbox_id) - 1);
	TAILQ_INIT(&hold->waiters);
	TAILQ_INSERT_TAIL(&workspace->holds, hold, entry);
	return hold->id;
}

struct hold *hold_find(struct workspace *workspace, uint64_t id)
{
	struct hold *hold;

	TAILQ_FOREACH (hold, &workspace->holds, entry)
		if (hold->id == id)
			return hold;
	return NULL;
}

size_t hold_count(const struct workspace *workspace)
{
	struct hold *hold;
	size_t n = 0;

	TAILQ_FOREACH (hold, &workspace->holds, entry)
		n++;
	return n;
}

static void tell(struct hold *hold, bool held)
{
	struct hold_waiter *waiter;

	while ((waiter = TAILQ_FIRST(&hold->waiters))) {
		TAILQ_REMOVE(&hold->waiters, waiter, entry);
		waiter->hold = NULL;
		waiter->tell(waiter->arg, held);
	}
}

void hold_await(struct hold *hold, struct hold_waiter *waiter)
{
	if (hold->held) {
		waiter->tell(waiter->arg, true);
		return;
	}
	waiter->hold = hold;
	TAILQ_INSERT_TAIL(&hold->waiters, waiter, entry);
}

void hold_waiter_cancel(struct hold_waiter *waiter)
{
	if (!waiter->hold)
		return;
	TAILQ_REMOVE(&waiter->hold->waiters, waiter, entry);
	waiter->hold = NULL;
}

void hold_release(struct workspace *workspace, struct hold *hold)
{
	void (*go)(void *arg) = hold->go;
	void *arg = hold->arg;

	TAILQ_REMOVE(&workspace->holds, hold, entry);
	tell(hold, false);
	free(hold);
	if (go)
		go(arg);
}

void hold_release_all(struct workspace *workspace)
{
	struct hold *hold;

	while ((hold = TAILQ_FIRST(&workspace->holds)))
		hold_release(workspace, hold);
}

static struct hold *find_armed(const struct workspace *workspace, enum sp_control_step step,
			       enum sp_control_when when, const char *sandbox_id)
{
	struct hold *hold;

	TAILQ_FOREACH (hold, &workspace->holds, entry) {
		if (hold->held || hold->step != step || hold->when != when)
			continue;
		if (!*hold->sandbox_id || (sandbox_id && !strcmp(hold->sandbox_id, sandbox_id)))
			return hold;
	}
	return NULL;
}

bool hold_is_armed(const struct workspace *workspace, enum sp_control_step step,
		   enum sp_control_when when, const char *sandbox_id)
{
	return find_armed(workspace, step, when, sandbox_id);
}

struct hold *hold_reach(struct workspace *workspace, enum sp_control_step step,
			enum sp_control_when when, const char *sandbox_id, void (*go)(void *arg),
			void *arg)
{
	struct hold *hold = find_armed(workspace, step, when, sandbox_id);

	if (!hold)
		return NULL;
	hold->held = true;
	hold->go = go;
	hold->arg = arg;
	tell(hold, true);
	return hold;
}

void hold_leave(struct hold *hold)
{
	if (hold)
		hold->go = NULL;
}

int failure_add(struct workspace *workspace, enum sp_control_step step, unsigned nth,
		struct failure_plan plan)
{
	struct failure *failure = calloc(1, sizeof(*failure));

	if (!failure)
		return -ENOMEM;
	failure->step = step;
	failure->nth = nth;
	failure->plan = plan;
	TAILQ_INSERT_TAIL(&workspace->failures, failure, entry);
	return 0;
}

static void failure_remove(struct workspace *workspace, struct failure *failure)
{
	TAILQ_REMOVE(&workspace->failures, failure, entry);
	free(failure);
}

static struct failure *failure_first(struct workspace *workspace, enum sp_control_step step)
{
	struct failure *failure;

	TAILQ_FOREACH (failure, &workspace->failures, entry)
		if (failure->step == step)
			return failure;
	return NULL;
}

void failure_clear(struct workspace *workspace, enum sp_control_step step)
{
	struct failure *failure;

	while ((failure = failure_first(workspace, step)))
		failure_remove(workspace, failure);
}

void failure_clear_all(struct workspace *workspace)
{
	struct failure *failure;

	while ((failure = TAILQ_FIRST(&workspace->failures)))
		failure_remove(workspace, failure);
}

static struct failure_plan by_switch(api_faults faults, enum sp_control_step step)
{
	static const struct {
		enum api_fault fault;
		enum sp_control_step step;
		enum sp_control_how how;
	} switches[] = {
		{ API_FAULT_LOST_CREATE, SP_STEP_CREATE, SP_FAIL_LOST_ANSWER },
		{ API_FAULT_CUT_STREAM, SP_STEP_EXIT, SP_FAIL_CUT },
		{ API_FAULT_DISK_FULL, SP_STEP_UPLOAD, SP_FAIL_DISK_FULL },
		{ API_FAULT_SUSPENDED_AT_CAPACITY, SP_STEP_RESUME, SP_FAIL_STATUS },
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (switches[i].step == step && api_fault_on(faults, switches[i].fault))
			return (struct failure_plan){ .how = (int)switches[i].how, .status = 429 };
	return (struct failure_plan)FAILURE_NONE;
}

struct failure_plan failure_take(struct workspace *workspace, enum sp_control_step step)
{
	struct failure_plan plan = FAILURE_NONE;
	struct failure *failure = TAILQ_FIRST(&workspace->failures);

	/* All of them count this occurrence; the one set first decides. */
	while (failure) {
		struct failure *next = TAILQ_NEXT(failure, entry);

		if (failure->step == step && failure->nth <= 1) {
			if (plan.how < 0)
				plan = failure->plan;
			if (failure->nth == 1)
				failure_remove(workspace, failure);
		} else if (failure->step == step) {
			failure->nth--;
		}
		failure = next;
	}
	return plan.how < 0 ? by_switch(workspace->faults, step) : plan;
}
