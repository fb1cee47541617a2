/* SPDX-License-Identifier: MIT */
/*
 * Runs of this program side by side, each with its own fake, state and process group. A run is a
 * process of its own because a fault may break anything in it, the supervisor included.
 */
#include <cli/prove.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <cli/cli.h>
#include <runner/runner.h>

#define MAX_LOG (16 * 1024 * 1024)
/*
 * A run of some cases that goes on for this long waits for a hang to end, and leaves its place to
 * another; beyond so many times the jobs nothing is begun.
 */
#define IDLE_NS (1 * SP_SECOND)
#define MAX_FACTOR 6
/* What a run may say in one line that is quoted. */
#define MAX_TROUBLE 300

/* One run: of a defect on one of its stacks, or of a healthy reference. */
struct job {
	struct prove_defect *defect;
	struct prove_healthy *healthy;
	struct sp_child child;
	struct cli_list argv;
	char *results, *log;
	/* Processor time counts when it has ended. */
	uint64_t begun, cpu_ns;
};

/* Everything that waits or runs. */
struct pool {
	struct prove *prove;
	struct job *running;
	size_t n_running;
	/* Defects in the order in which they begin. */
	struct prove_defect **order;
	size_t next_healthy, next_defect;
	/* Defects that go on on another stack. */
	struct prove_defect **again;
	size_t n_again;
	unsigned serial;
	int signals;
};

/* ---- Starting ---- */

static int add_words(struct pool *pool, struct job *job)
{
	const struct prove_args *args = pool->prove->args;
	unsigned stack = job->defect ? job->defect->stacks[job->defect->turn] : job->healthy->stack;
	const char *const *words = pool->prove->stacks[stack].words;
	int rc = cli_list_add(&job->argv, cli_program());

	rc |= cli_list_add(&job->argv, "run");
	for (; *words; words++)
		rc |= cli_list_add(&job->argv, *words);
	rc |= cli_list_add(&job->argv, "--jobs") | cli_list_add(&job->argv, "1");
	rc |= cli_list_add(&job->argv, "--results") | cli_list_add(&job->argv, job->results);
	if (args->no_control && !strcmp(pool->prove->stacks[stack].words[0], "--provider"))
		rc |= cli_list_add(&job->argv, "--control") | cli_list_add(&job->argv, "off");
	return rc;
}

static int add_case(struct job *job, const char *id)
{
	return cli_list_add(&job->argv, "--case") | cli_list_add(&job->argv, id);
}

/* The cases of a defect that have not run yet. */
static int add_defect_words(struct pool *pool, struct job *job)
{
	const struct prove_defect *defect = job->defect;
	int rc = cli_list_add(&job->argv, "--defect");

	rc |= cli_list_add(&job->argv, defect->fault->id);
	for (size_t i = 0; !pool->prove->args->full && i < defect->n_cases; i++)
		if (!defect->cases[i].ran)
			rc |= add_case(job, defect->cases[i].id);
	return rc;
}

static int add_healthy_words(struct job *job)
{
	int rc = 0;

	if (job->healthy->suite)
		rc |= cli_list_add(&job->argv, "--suite") |
		      cli_list_add(&job->argv, job->healthy->suite);
	for (size_t i = 0; i < job->healthy->cases.len; i++)
		rc |= add_case(job, job->healthy->cases.items[i]);
	return rc;
}

static int prepare(struct pool *pool, struct job *job, struct sp_error *err)
{
	unsigned serial = pool->serial++;
	int rc;

	if (asprintf(&job->results, "%s/%u.ndjson", pool->prove->dir, serial) < 0)
		job->results = NULL;
	if (asprintf(&job->log, "%s/%u.log", pool->prove->dir, serial) < 0)
		job->log = NULL;
	if (!job->results || !job->log)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = add_words(pool, job);
	rc |= job->defect ? add_defect_words(pool, job) : add_healthy_words(job);
	rc |= cli_list_add(&job->argv, NULL);
	return rc ? sp_error_set(err, SP_INTERNAL, "out of memory") : 0;
}

static int start(struct pool *pool, struct job *job, struct sp_error *err)
{
	int rc = prepare(pool, job, err);
	int log;

	if (rc)
		return rc;
	log = open(job->log, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	if (log < 0)
		return sp_error_set_errno(err, errno, "cannot write to %s", pool->prove->dir);
	job->child = (struct sp_child)SP_CHILD_INIT;
	job->child.argv = job->argv.items;
	job->child.env = pool->prove->env;
	job->child.exec_fd = pool->prove->self_fd;
	job->child.out = log;
	job->child.err = fcntl(log, F_DUPFD_CLOEXEC, 0);
	job->begun = sp_now();
	return sp_child_start(&job->child, err);
}

static void job_done(struct job *job)
{
	sp_child_done(&job->child);
	cli_list_done(&job->argv);
	free(job->results);
	free(job->log);
}

/* The next healthy run that may begin, or NULL. */
static struct prove_healthy *next_healthy(struct pool *pool)
{
	struct prove *prove = pool->prove;

	while (pool->next_healthy < prove->n_healthy) {
		struct prove_healthy *healthy = &prove->healthy[pool->next_healthy];

		if (healthy->late && prove->told < prove->n_defects)
			return NULL;
		pool->next_healthy++;
		if (!healthy->late || healthy->cases.len)
			return healthy;
	}
	return NULL;
}

/* Takes what is next; false when nothing waits. */
static bool take_next(struct pool *pool, struct job *job)
{
	struct prove *prove = pool->prove;

	*job = (struct job){ .child = SP_CHILD_INIT };
	if (pool->n_again)
		job->defect = pool->again[--pool->n_again];
	else if (pool->next_defect < prove->n_defects &&
		 prove_may_wait(pool->order[pool->next_defect]))
		job->defect = pool->order[pool->next_defect++];
	else if ((job->healthy = next_healthy(pool)))
		return true;
	else if (pool->next_defect < prove->n_defects)
		job->defect = pool->order[pool->next_defect++];
	return job->defect || job->healthy;
}

/* Those that may wait go first, so that no core waits for them at the end. */
static int order_defects(struct pool *pool)
{
	struct prove *prove = pool->prove;
	size_t at = 0;

	pool->order = calloc(prove->n_defects + 1, sizeof(struct prove_defect *));
	if (!pool->order)
		return SP_INTERNAL;
	for (int waits = 1; waits >= 0; waits--)
		for (size_t i = 0; i < prove->n_defects; i++)
			if (prove_may_wait(&prove->defects[i]) == waits)
				pool->order[at++] = &prove->defects[i];
	return 0;
}

/* Runs that are taken to compute. */
static size_t busy(const struct pool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->n_running; i++)
		n += pool->running[i].healthy || sp_now() - pool->running[i].begun < IDLE_NS;
	return n;
}

static int fill(struct pool *pool, struct sp_error *err)
{
	while (busy(pool) < pool->prove->jobs &&
	       pool->n_running < MAX_FACTOR * (size_t)pool->prove->jobs &&
	       !pool->prove->interrupted) {
		struct job *job = &pool->running[pool->n_running];
		int rc;

		if (!take_next(pool, job))
			return 0;
		rc = start(pool, job, err);
		if (rc) {
			job_done(job);
			return rc;
		}
		pool->n_running++;
	}
	return 0;
}

/* ---- Ending ---- */

/* The line in which a run said what was wrong, else its last one. */
static char *last_words(const char *log)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	char *said = NULL, *rest;

	if (sp_read_file(log, MAX_LOG, &bytes, NULL) || !bytes.len)
		return NULL;
	rest = strndup((const char *)bytes.data, bytes.len);
	sp_bytes_done(&bytes);
	for (char *at = rest, *line; at && (line = strsep(&at, "\n"));) {
		if (!*line)
			continue;
		said = line;
		if (strstr(line, "error:"))
			break;
	}
	said = said ? strndup(said, MAX_TROUBLE) : NULL;
	free(rest);
	return said;
}

/* Why a run did not work, or NULL: 0, 1 and 4 (all skipped) are told by the verdicts. */
static char *trouble_of(const struct job *job, const struct prove *prove)
{
	int code = job->child.code;
	unsigned stack = job->defect ? job->defect->stacks[job->defect->turn] : job->healthy->stack;
	char *said SP_FREE = NULL, *text;

	if (code == SP_EXIT_OK || code == SP_EXIT_FAILED || code == SP_EXIT_NOTHING_RAN)
		return NULL;
	said = last_words(job->log);
	if (asprintf(&text, "exit %d on %s: %s", code, prove->stacks[stack].name,
		     said ? said : "it said nothing") < 0)
		return NULL;
	return text;
}

static void ended(struct pool *pool, struct job *job)
{
	struct sp_results results = { .cases = NULL };
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_results_read(job->results, &results, &err);
	char *trouble = prove_is_platform_change(&results) ? NULL : trouble_of(job, pool->prove);

	if (rc && !trouble)
		trouble = strdup(err.message);
	if (job->healthy) {
		prove_take_healthy(job->healthy, &results, trouble);
	} else {
		job->defect->ns += sp_now() - job->begun;
		job->defect->cpu_ns += job->cpu_ns;
		prove_take(pool->prove, job->defect, &results, trouble);
		if (prove_goes_on(job->defect))
			pool->again[pool->n_again++] = job->defect;
		else
			prove_judge(pool->prove, job->defect);
	}
	sp_results_done(&results);
	(void)sp_remove_tree(job->results);
	(void)sp_remove_tree(job->log);
}

/* Processor time of all children that were waited for, and of theirs. */
static uint64_t children_ns(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_CHILDREN, &used))
		return 0;
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * SP_SECOND +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

/* Waits for a run that has ended; false when that did not work. */
static bool wait_for(struct pool *pool, struct job *job)
{
	uint64_t before = children_ns();

	if (sp_child_wait(&job->child, NULL, NULL))
		return false;
	job->cpu_ns = children_ns() - before;
	pool->prove->cpu_ns += job->cpu_ns;
	return true;
}

static void reap(struct pool *pool, const struct pollfd *fds)
{
	/* From the end: the last one takes the place of one that goes. */
	for (size_t i = pool->n_running; i-- > 0;) {
		struct job *job = &pool->running[i];

		if (!fds[i].revents || !wait_for(pool, job))
			continue;
		if (!pool->prove->interrupted)
			ended(pool, job);
		job_done(job);
		pool->running[i] = pool->running[--pool->n_running];
	}
	if (!pool->prove->interrupted)
		prove_tell(pool->prove);
}

/* Runs clean up after themselves, so they are told and waited for. */
static void interrupt(struct pool *pool)
{
	struct signalfd_siginfo info;

	if (read(pool->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	for (size_t i = 0; i < pool->n_running; i++)
		(void)sp_child_signal(&pool->running[i].child, SIGTERM);
	pool->prove->interrupted = true;
}

static int loop(struct pool *pool, struct sp_error *err)
{
	struct pollfd *fds SP_FREE = calloc(MAX_FACTOR * pool->prove->jobs + 1, sizeof(*fds));
	int rc;

	if (!fds)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	for (;;) {
		size_t n = 0;

		rc = fill(pool, err);
		if (rc || !pool->n_running)
			return rc;
		for (; n < pool->n_running; n++)
			fds[n] = (struct pollfd){ pool->running[n].child.pidfd, POLLIN, 0 };
		fds[n] = (struct pollfd){ pool->signals, POLLIN, 0 };
		/* Looks again who is idle. */
		if (poll(fds, n + 1, 1000) < 0 && errno != EINTR)
			return sp_error_set_errno(err, errno, "cannot wait for runs");
		if (fds[n].revents)
			interrupt(pool);
		reap(pool, fds);
	}
}

int prove_pool(struct prove *prove, struct sp_error *err)
{
	struct pool pool = { .prove = prove, .signals = -1 };
	sigset_t set, old;
	int rc = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	pool.signals = signalfd(-1, &set, SFD_CLOEXEC);
	pool.running = calloc(MAX_FACTOR * (size_t)prove->jobs, sizeof(*pool.running));
	pool.again = calloc(prove->n_defects + 1, sizeof(*pool.again));
	if (pool.signals < 0 || !pool.running || !pool.again || order_defects(&pool))
		rc = sp_error_set(err, SP_INTERNAL, "out of memory or descriptors");
	if (!rc)
		rc = loop(&pool, err);
	for (size_t i = 0; i < pool.n_running; i++)
		job_done(&pool.running[i]);
	free(pool.running);
	free(pool.again);
	free(pool.order);
	(void)sp_close(pool.signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return rc;
}
