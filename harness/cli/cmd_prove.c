/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <cli/prove.h>
#include <cli/suggest.h>

#define O(field_, name_, value_, kind_, ...)                                                       \
	CLI_OPTION(struct prove_args, field_, name_, value_, kind_, __VA_ARGS__)

static const struct cli_option options[] = {
	O(defects, "defect", "ID", CLI_LIST,
	  "only this fault; given any number of times (default: all)"),
	O(full, "full", NULL, CLI_FLAG,
	  "each fault against every case of its stack: takes hours, for release notes"),
	O(no_control, "no-control", NULL, CLI_FLAG,
	  "say which faults are caught without control, as with a foreign provider"),
	O(stores, "store", "SPEC", CLI_LIST,
	  "one more store for faults of stores and locks, e.g. postgres:@FILE"),
	O(fail_on_skip, "fail-on-skip", NULL, CLI_FLAG, "exit 1 when a fault could not be tried"),
	O(jobs, "jobs", "N", CLI_NUMBER, "runs at once (default: twice the cores)", .min = 1,
	  .max = 256),
	O(json, "json", NULL, CLI_FLAG, "one JSON document instead of lines"),
	O(results, "results", "PATH", CLI_TEXT,
	  "write one row a fault, for `report`: \"Defects proven\" of the HTML page"),
};

#undef O

/* Runs wait for their sandboxes and for each other's locks more than they compute. */
static unsigned default_jobs(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 2 : 2 * (unsigned)CPU_COUNT(&set);
}

#define DIR_PREFIX "sandproof-prove-"
#define MEMORY_ROOT "/dev/shm"
/* More than all runs that go on at once have ever filled. */
#define MEMORY_ROOM (UINT64_C(2) * 1024 * 1024 * 1024)

/*
 * Sandboxes of a second's life cost less in memory than on a disk. An ordinary user's need
 * extended attributes there, which not every kernel has.
 */
static bool memory_will_do(void)
{
	struct statfs fs;

	return !geteuid() && !getenv("TMPDIR") && !statfs(MEMORY_ROOT, &fs) &&
	       fs.f_type == TMPFS_MAGIC && !(fs.f_flags & (ST_RDONLY | ST_NOEXEC)) &&
	       (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= MEMORY_ROOM;
}

static int open_dir(struct prove *prove, struct sp_error *err)
{
	char *path SP_FREE = NULL;

	if (!memory_will_do())
		return sp_tmp_dir(DIR_PREFIX, &prove->dir, err);
	path = strdup(MEMORY_ROOT "/" DIR_PREFIX "XXXXXX");
	if (!path || !mkdtemp(path))
		return sp_tmp_dir(DIR_PREFIX, &prove->dir, err);
	prove->dir = SP_TAKE(path);
	return 0;
}

/* Runs keep their last results and ledgers to themselves, so that ours stay what they were. */
static int own_env(struct prove *prove, struct sp_error *err)
{
	size_t n = 0, at = 0;

	while (environ[n])
		n++;
	prove->env = calloc(n + 3, sizeof(*prove->env));
	if (asprintf(&prove->state, "XDG_STATE_HOME=%s/state", prove->dir) < 0)
		prove->state = NULL;
	if (asprintf(&prove->tmp, "TMPDIR=%s", prove->dir) < 0)
		prove->tmp = NULL;
	if (!prove->env || !prove->state || !prove->tmp)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "XDG_STATE_HOME=", 15) && strncmp(environ[i], "TMPDIR=", 7))
			prove->env[at++] = environ[i];
	prove->env[at++] = prove->state;
	prove->env[at] = prove->tmp;
	return 0;
}

static int open_prove(struct prove *prove, struct sp_error *err)
{
	int rc = open_dir(prove, err);

	if (!rc)
		rc = own_env(prove, err);
	if (rc)
		return rc;
	prove->self_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	prove->jobs = prove->args->jobs.set ? (unsigned)prove->args->jobs.value : default_jobs();
	prove->begun = sp_now();
	return prove->self_fd < 0 ? sp_error_set(err, SP_IO, "cannot open this program") : 0;
}

static void free_defect(struct prove_defect *defect)
{
	for (size_t i = 0; i < defect->n_cases; i++) {
		free(defect->cases[i].message);
		free(defect->cases[i].actual);
	}
	free(defect->cases);
	free(defect->others);
	free(defect->trouble);
}

static void close_prove(struct prove *prove)
{
	for (size_t i = 0; i < prove->n_stacks; i++)
		free(prove->stacks[i].name);
	for (size_t i = 0; i < prove->n_defects; i++)
		free_defect(&prove->defects[i]);
	for (size_t i = 0; i < prove->n_healthy; i++) {
		cli_list_done(&prove->healthy[i].cases);
		free(prove->healthy[i].failures);
		free(prove->healthy[i].trouble);
	}
	free(prove->stacks);
	free(prove->defects);
	free(prove->healthy);
	free(prove->env);
	free(prove->state);
	free(prove->tmp);
	(void)sp_close(prove->self_fd);
	if (prove->dir)
		(void)sp_remove_tree(prove->dir);
	free(prove->dir);
}

static int prove_all(const struct cli_command *self, const struct prove_args *args)
{
	struct prove prove = { .args = args, .self_fd = -1 };
	struct sp_error err = SP_ERROR_INIT;
	int code, rc = prove_plan(&prove, &err);

	if (!rc)
		rc = open_prove(&prove, &err);
	if (!rc)
		rc = prove_pool(&prove, &err);
	if (!rc && args->results && !prove.interrupted)
		rc = prove_write_results(&prove, &err);
	if (rc)
		code = cli_fail(self, &err);
	else
		code = args->json ? prove_json(&prove) : prove_summary(&prove);
	close_prove(&prove);
	return code;
}

static int run_prove(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct prove_args args = { .json = false };
	int code = 0;

	/* A reader that goes away must not take this process from its runs. */
	signal(SIGPIPE, SIG_IGN);
	if (cli_begin(self, argc, argv, &args, &words, &code))
		code = cli_loose_word(self, &words) ? SP_EXIT_USAGE : prove_all(self, &args);
	cli_list_done(&args.defects);
	cli_list_done(&args.stores);
	return code;
}

const struct cli_command cli_prove_command = {
	.name = "prove",
	.synopsis = "[--defect ID]… [--full] [--no-control] [--json] [OPTION]…",
	.summary = "show that every case can fail: which case catches which fault",
	.details =
		"Puts each known fault into our own stack, one at a time, and runs the cases that "
		"were made for it beside one control case that must stay green. Tells for each "
		"fault the cases that caught it, what the first of them saw, and how long that "
		"took. Fails when a fault is missed, when one of its cases stays green, when only "
		"another case or only a deadline shows it, when a case has no fault that it "
		"catches, or when the healthy stacks fail anything. A fault that can reach outside "
		"its sandbox runs where sandboxes have namespaces of their own, else it is "
		"skipped.",
	.options = options,
	.n_options = SP_COUNT(options),
	.examples = "  sandproof prove\n"
		    "  sandproof prove --defect kill-leader-only --defect store-merges\n"
		    "  sandproof prove --no-control\n"
		    "  sandproof prove --json | jq '.defects[] | select(.status != \"caught\")'\n"
		    "  sandproof prove --results proof.ndjson && sandproof report html=proof.html "
		    "proof.ndjson\n",
	.run = run_prove,
};
