/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/json.h>
#include <ci/browser.h>
#include <results/results.h>

#define MANY 100000
#define CASES 200
#define SUBJECTS 10
/* Best of so many, since the figure is of the program and not of its neighbours. */
#define TRIES 5

#define DIALOGUE                                                                                   \
	"create -> sbx-1\nexec \"setsid sh -c 'while :; do echo x >>/tmp/beat; sleep 1; done' "    \
	"&\" -> code 0\n"                                                                          \
	"kill TERM -> ok\nexec \"flock -n /tmp/lock true\" -> code 1, stdout \"\"\nexec \"cat "    \
	"/tmp/marker\" -> code 0, "                                                                \
	"stdout \"4711\\n\"\nholds: kill answers\nfail at suites/kill/shapes.c:42: the "           \
	"grandchild is dead\ndestroy -> ok\n"

static const char *const suites[] = {"caps",	"env",	    "exec",	 "fs",
				     "journal", "kill",	    "lifecycle", "lock",
				     "network", "platform", "snapshot",	 "store"};

/* Of a hundred cases 88 pass, 6 are skipped, 3 fail, and one each has another verdict. */
static enum sp_verdict verdict_of(size_t i)
{
	static const enum sp_verdict rare[] = {SP_WARN, SP_XFAIL, SP_ERROR};
	size_t n = i * 37 % 100;

	return n < 88 ? SP_PASS : n < 94 ? SP_SKIP : n < 97 ? SP_FAIL : rare[n - 97];
}

static void write_case(struct sp_results_writer *writer, size_t i, size_t n, char *subject)
{
	char id[64], clause[16], rerun[128];
	size_t suite = i * SP_COUNT(suites) / n;
	enum sp_verdict verdict = verdict_of(i);
	struct sp_result_case c = {
	    .id = id,
	    .suite = (char *)suites[suite],
	    .subject = subject,
	    .clause = clause,
	    .level = (char *)"MUST",
	    .verdict = verdict,
	    .message = (char *)"",
	    .duration_ms = (int64_t)(1 + i * i % 97),
	    .start = 1796036400000 + (int64_t)i * 20,
	    .worker = (int)(i % 4),
	    .attempt = 1,
	    .file = (char *)"suites/kill/shapes.c",
	    .line = (int)(40 + i % 400),
	    .tags = (char *)"quick",
	};

	snprintf(id, sizeof(id), "%s.shape.some-name-%zu", suites[suite], i);
	snprintf(clause, sizeof(clause), "%c%zu", suites[suite][0] - 'a' + 'A', 1 + i * 131 % 17);
	snprintf(rerun, sizeof(rerun), "sandproof run --provider %s --case %s", subject, id);
	if (verdict == SP_SKIP)
		c.message = (char *)(i % 3 ? "needs control, and this back end has none"
					   : "the tool flock is missing in the sandbox");
	if (verdict != SP_SKIP && verdict != SP_PASS) {
		c.message =
		    (char *)"the grandchild survived: its marker was written after kill returned";
		c.expected = (char *)"no process of the command is left";
		c.actual = (char *)"1 process: pid 4711 holds the lock";
		c.dialogue = (char *)DIALOGUE;
		c.rerun = rerun;
	}
	(void)sp_results_write_case(writer, &c);
}

static void write_results(const char *path, size_t n, char *subject)
{
	struct sp_result_run run = {
	    .schema_version = SP_RESULTS_SCHEMA_VERSION,
	    .program_version = (char *)"0.1.0",
	    .suite_version = (char *)"1",
	    .subjects = subject,
	    .host = (char *)"host",
	    .requirements_sha256 = (char *)"0123456789abcdef0123456789abcdef0123456789abcdef"
					   "0123456789abcdef",
	    .seed = 1,
	    .start = 1796036400000,
	    .jobs = 4,
	};
	struct sp_result_end end = {.exit_code = 1, .duration_ms = (int64_t)n * 20};
	struct sp_results_writer *writer = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (sp_results_create(path, &writer, &err))
		bench_die("results", &err);
	(void)sp_results_write_run(writer, &run);
	for (size_t i = 0; i < n; i++)
		write_case(writer, i, n, subject);
	(void)sp_results_write_end(writer, &end);
	if (sp_results_close(writer))
		bench_die("results", NULL);
}

/* What one `sandproof report` took. */
struct cost {
	uint64_t wall_ns, cpu_ns;
	/* Largest resident memory. */
	long kib;
};

static uint64_t to_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * SP_SECOND + (uint64_t)time->tv_usec * 1000;
}

static struct cost run_report(char *const *argv)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	uint64_t start = sp_now();
	pid_t pid;
	int status;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ))
		bench_die(argv[0], NULL);
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	posix_spawn_file_actions_destroy(&actions);
	if (status)
		bench_die("report", NULL);
	return (struct cost){sp_now() - start, to_ns(&usage.ru_utime) + to_ns(&usage.ru_stime),
			     usage.ru_maxrss};
}

static void print_format(const struct bench *bench, const char *format, const char *dir,
			 const char *results)
{
	struct cost best = {.wall_ns = UINT64_MAX, .cpu_ns = UINT64_MAX};
	char word[512], what[96];

	snprintf(word, sizeof(word), "%s=%s/report", format, dir);
	for (int i = 0; i < TRIES; i++) {
		char *const argv[] = {(char *)bench->program, (char *)"report", word,
				      (char *)results, NULL};
		struct cost cost = run_report(argv);

		best.wall_ns = cost.wall_ns < best.wall_ns ? cost.wall_ns : best.wall_ns;
		best.cpu_ns = cost.cpu_ns < best.cpu_ns ? cost.cpu_ns : best.cpu_ns;
		best.kib = cost.kib > best.kib ? cost.kib : best.kib;
	}
	snprintf(what, sizeof(what), "100,000 results to %s", format);
	bench_print(what, (double)best.wall_ns / (double)SP_SECOND, "s", 1);
	snprintf(what, sizeof(what), "100,000 results to %s, time on the processor", format);
	bench_print(what, (double)best.cpu_ns / (double)SP_SECOND, "s", 1);
	snprintf(what, sizeof(what), "100,000 results to %s, peak memory", format);
	bench_print(what, (double)best.kib / 1024, "MB", 64);
}

/* Value of one of the browser's own metrics, in milliseconds; 0 where it has none. */
static double metric(struct browser *b, const char *name)
{
	cJSON *answer SP_CLEANUP(sp_json_done) = NULL;
	const cJSON *item;

	if (browser_call(b, "Performance.getMetrics", NULL, &answer, NULL))
		return 0;
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer, "metrics")) if (
	    !strcmp(sp_json_str(item, "name") ? sp_json_str(item, "name") : "",
		    name)) return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(item,
											"value")) *
	    1000;
	return 0;
}

/* From the start of the navigation to the load event, as the browser's own clock says; and to the
 * first paint. */
static void print_opening(const char *page)
{
	static const char script[] =
	    "new Promise(r=>new PerformanceObserver(l=>r(performance.getEntriesByType("
	    "'navigation')[0].loadEventEnd+' '+l.getEntries()[0].startTime))"
	    ".observe({type:'paint',buffered:true}))";
	double load = 1e9, paint = 1e9, cpu = 0;
	struct browser b;
	struct sp_error err = SP_ERROR_INIT;

	if (!browser_is_there()) {
		puts("no chromium here: the opening of the page is not measured");
		return;
	}
	if (browser_open(&b, &err) || browser_look(&b, 1280, 1000, false, false, &err) ||
	    browser_call(&b, "Performance.enable", "{\"timeDomain\":\"threadTicks\"}", NULL, &err))
		bench_die("browser", &err);
	for (int i = 0; i < TRIES; i++) {
		char *answer SP_FREE = NULL;
		double l, p, before = metric(&b, "TaskDuration"), tasks;

		if (browser_load(&b, page, &err))
			bench_die("browser", &err);
		answer = browser_eval(&b, script, &err);
		if (!answer || sscanf(answer, "%lf %lf", &l, &p) != 2)
			bench_die("browser", &err);
		tasks = metric(&b, "TaskDuration");
		/* A navigation into another process begins to count anew. */
		tasks -= tasks >= before ? before : 0;
		cpu = tasks > cpu ? tasks : cpu;
		load = l < load ? l : load;
		paint = p < paint ? p : paint;
	}
	browser_close(&b);
	bench_print("HTML of 200 cases x 10 subjects: main thread's processor", cpu, "ms", 200);
	bench_print("HTML of 200 cases x 10 subjects: loaded", load, "ms", 200);
	bench_print("HTML of 200 cases x 10 subjects: first paint", paint, "ms", 200);
}

static void bench_matrix(const struct bench *bench, const char *dir)
{
	char files[SUBJECTS][512], page[512], word[sizeof(page) + 8];
	char *argv[SUBJECTS + 4] = {(char *)bench->program, (char *)"report", word};
	struct stat st;

	for (size_t i = 0; i < SUBJECTS; i++) {
		char subject[32];

		snprintf(subject, sizeof(subject), "driver:provider-%zu", i);
		snprintf(files[i], sizeof(files[i]), "%s/%zu.ndjson", dir, i);
		write_results(files[i], CASES, subject);
		argv[3 + i] = files[i];
	}
	snprintf(page, sizeof(page), "%s/page.html", dir);
	snprintf(word, sizeof(word), "html=%s", page);
	(void)run_report(argv);
	if (stat(page, &st))
		bench_die(page, NULL);
	bench_print("HTML of 200 cases x 10 subjects", (double)st.st_size / 1e6, "MB", 1.5);
	print_opening(page);
}

void bench_reports(struct bench *bench)
{
	static const char *const formats[] = {"junit", "ctrf",	   "html",
					      "tap",   "markdown", "clauses"};
	struct sp_error err = SP_ERROR_INIT;
	char *dir SP_FREE = NULL, *path SP_FREE = NULL;

	if (sp_tmp_dir("bench-", &dir, &err) < 0)
		bench_die("temporary folder", &err);
	if (asprintf(&path, "%s/many.ndjson", dir) < 0)
		bench_die("no memory", NULL);
	write_results(path, MANY, (char *)"bash");
	for (size_t i = 0; i < SP_COUNT(formats); i++)
		print_format(bench, formats[i], dir, path);
	bench_matrix(bench, dir);
	sp_remove_tree(dir);
}
