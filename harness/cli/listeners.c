/* SPDX-License-Identifier: MIT */
#include <cli/listeners.h>

#include <assert.h>

/* Tells each listener that has an ear for it. */
#define TELL(all_, what_, ...)                                                                     \
	do {                                                                                       \
		struct cli_listeners *listeners_ = (all_);                                         \
		for (size_t i_ = 0; i_ < listeners_->len; i_++)                                    \
			if (listeners_->list[i_].what_)                                            \
				listeners_->list[i_].what_(listeners_->list[i_].arg,               \
							   ##__VA_ARGS__);                         \
	} while (0)

static void on_started(void *arg, const struct sp_selection *selection, unsigned jobs)
{
	TELL(arg, started, selection, jobs);
}

static void on_case_started(void *arg, const struct sp_case_def *def, int worker)
{
	TELL(arg, case_started, def, worker);
}

static void on_case_slow(void *arg, const struct sp_case_def *def, int worker, uint64_t elapsed_ms)
{
	TELL(arg, case_slow, def, worker, elapsed_ms);
}

static void on_case_ended(void *arg, const struct sp_result_case *result)
{
	TELL(arg, case_ended, result);
}

static void on_leaked(void *arg, const struct sp_result_leak *leak)
{
	TELL(arg, leaked, leak);
}

static void on_tick(void *arg)
{
	TELL(arg, tick);
}

static void on_ended(void *arg, const struct sp_result_end *end)
{
	TELL(arg, ended, end);
}

void cli_listeners_add(struct cli_listeners *all, struct sp_run_listener listener)
{
	assert(all->len < CLI_LISTENERS_MAX);
	if (all->len < CLI_LISTENERS_MAX)
		all->list[all->len++] = listener;
}

struct sp_run_listener cli_listeners_as_one(struct cli_listeners *all)
{
	return (struct sp_run_listener){
	    .arg = all,
	    .started = on_started,
	    .case_started = on_case_started,
	    .case_slow = on_case_slow,
	    .case_ended = on_case_ended,
	    .leaked = on_leaked,
	    .tick = on_tick,
	    .ended = on_ended,
	};
}
