/* SPDX-License-Identifier: MIT */
/* E5: what a provider says on this program's own outputs, while it has every kind of value. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/files.h>
#include <suites/env/cases.h>
#include <witness/vars.h>

/* Longest that is looked at. */
#define SAID_MAX ((size_t)16 << 20)

/* Both outputs of this process go to a file in memory as long as the scope lasts. */
struct overheard {
	int memory;
	int kept[2];
};

#define OVERHEARD SP_CLEANUP(overhear_end)

static void overhear_end(struct overheard *o)
{
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		if (o->kept[i] >= 0)
			dup2(o->kept[i], STDOUT_FILENO + i);
		o->kept[i] = sp_close(o->kept[i]);
	}
	o->memory = sp_close(o->memory);
}

static bool overhear(struct sp_case *t, struct overheard *o)
{
	fflush(NULL);
	o->memory = memfd_create("said", MFD_CLOEXEC);
	for (int i = 0; o->memory >= 0 && i < 2; i++) {
		o->kept[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 0);
		if (o->kept[i] < 0 || dup2(o->memory, STDOUT_FILENO + i) < 0)
			break;
	}
	if (o->memory >= 0 && o->kept[1] >= 0)
		return true;
	sp_case_error(t, SP_HERE, "the outputs of this process cannot be turned aside");
	return false;
}

/* What was said; each output's planted text must be in it. */
static bool check_said(struct sp_case *t, struct overheard *o, const struct sp_canary planted[2],
		       const struct sp_secret *secret, const char *whose)
{
	struct sp_buf said SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SAID_MAX);
	off_t len = lseek(o->memory, 0, SEEK_END);
	char *room = len > 0 ? sp_buf_reserve(&said, (size_t)len) : NULL;
	ssize_t n = room ? pread(o->memory, room, (size_t)len, 0) : -1;

	if (n < 0 || !sp_canary_find(&planted[0], room, (size_t)n) ||
	    !sp_canary_find(&planted[1], room, (size_t)n)) {
		sp_case_error(t, SP_HERE, "what this process says cannot be overheard");
		return false;
	}
	return sp_canary_check_absent(t, &secret->canary, room, (size_t)n, SP_HERE,
				      sp_case_format(t, "standard output or error, for %s", whose));
}

/* One value of each kind, in calls that succeed and in calls that fail. */
static bool use_all(struct sp_case *t, struct sp_secret *lasting, struct sp_secret *call,
		    struct sp_secret *refused)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_env vars[2] = {{"SP_LASTING", lasting->value}, {"SP_CALL", call->value}};
	struct sp_env bad = {"MY-KEY", refused->value};
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;

	options.command = "true";
	options.env = &bad;
	options.n_env = 1;
	options.cancel = sp_case_cancel(t);
	(void)sp_sandbox_env_set(sandbox, &bad, 1, sp_case_cancel(t), NULL);
	(void)sp_sandbox_exec(sandbox, &options, &result, NULL);
	if (!sp_vars_set(t, sandbox, vars, 1, SP_HERE, "env_set of a secret") ||
	    !sp_vars_arrive(t, sandbox, &vars[1], 1, vars, 2, SP_HERE,
			    "exec with a secret of its own"))
		return false;
	return !sp_case_capabilities(t)->background_processes ||
	       sp_vars_arrive_spawned(t, sandbox, &vars[1], 1, vars, 2, SP_HERE,
				      "spawn with a secret of its own");
}

void env_secret_logs(struct sp_case *t)
{
	struct overheard overheard OVERHEARD = {-1, {-1, -1}};
	struct sp_canary planted[2];
	struct sp_secret lasting, call, refused;

	SP_REQUIRE(sp_case_sandbox(t));
	sp_secret_make(t, &lasting);
	sp_secret_make(t, &call);
	sp_secret_make(t, &refused);
	sp_canary_make(t, &planted[0]);
	sp_canary_make(t, &planted[1]);
	SP_REQUIRE(overhear(t, &overheard));
	printf("%s\n", planted[0].text);
	fprintf(stderr, "%s\n", planted[1].text);
	SP_REQUIRE(use_all(t, &lasting, &call, &refused));
	fflush(NULL);
	SP_REQUIRE(check_said(t, &overheard, planted, &lasting, "the sandbox's secret"));
	SP_REQUIRE(check_said(t, &overheard, planted, &call, "a command's own secret"));
	check_said(t, &overheard, planted, &refused, "a refused one");
}
