/* SPDX-License-Identifier: MIT */
/*
 * SEARCH: everything that can be observed, searched for a canary in every
 * form. What looks inside the sandbox is a command, whose own text holds no
 * form of the canary, so no search finds itself. Every search shows first that it can find:
 * it plants a second canary in the same pass and must meet it.
 *
 * What a search cannot see: a form that nobody named (compressed, encrypted).
 */
#ifndef SP_WITNESS_SEARCH_H
#define SP_WITNESS_SEARCH_H

#include <witness/canary.h>
#include <witness/shell.h>

/* Tools that a case with searches inside the sandbox lists: SP_SEARCH_TOOLS, NULL. */
#define SP_SEARCH_TOOLS "find", "grep"

/* 1: files of the sandbox are its own; 0: they are the host's; -1 after a recorded failure. */
int sp_search_isolated(struct sp_case *t, struct sp_sandbox *sandbox);

/*
 * Paths of the regular files that hold it, one a line: of all writable places where the sandbox has
 * files of its own, else of its home and workspace. Lives as long as the case; NULL after a
 * recorded failure.
 */
const char *sp_search_files(struct sp_case *t, struct sp_sandbox *sandbox,
			    const struct sp_canary *canary);
/*
 * "environ PID" and "cmdline PID", one a line, of the processes that hold it and that a command can
 * see (with a host's processes in sight: all of those). NULL after a recorded failure.
 */
const char *sp_search_processes(struct sp_case *t, struct sp_sandbox *sandbox,
				const struct sp_canary *canary);

/*
 * Fails the case when a process of this machine has it on its command line, or, with `own_environ`,
 * one in our own pid namespace has it in its environment.
 */
bool sp_search_check_host(struct sp_case *t, const struct sp_canary *canary, bool own_environ,
			  struct sp_where where);
/*
 * Fails the case when a recorded command text holds it. Skips nothing: `unsupported` is
 * set where there is no timeline.
 */
bool sp_search_check_timeline(struct sp_case *t, struct sp_sandbox *sandbox,
			      const struct sp_canary *canary, bool *unsupported,
			      struct sp_where where);
/*
 * Needs control. Fails the case when a request since the last sp_count_forget_requests() holds it
 * anywhere but in the content of an uploaded file.
 */
bool sp_search_check_requests(struct sp_case *t, const struct sp_canary *canary,
			      struct sp_where where);
/*
 * Needs control. Fails the case when any snapshot of the workspace holds it, or none holds `decoy`,
 * which the case has planted before. `running`: the environments of running processes, which a
 * runtime snapshot keeps by its nature, count as well.
 */
bool sp_search_check_archives(struct sp_case *t, const struct sp_canary *canary,
			      const struct sp_canary *decoy, bool running, struct sp_where where,
			      const char *what);
/* Fails the case when an error's texts hold it. */
bool sp_search_check_error(struct sp_case *t, const struct sp_canary *canary,
			   const struct sp_error *err, struct sp_where where, const char *what);

#endif
