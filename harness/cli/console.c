/* SPDX-License-Identifier: MIT */
#include <cli/console.h>

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>

#define FRAME_CEILING (16 * 1024 * 1024)
/* Lines of a dialogue on the console; the results file has all of them. */
#define DIALOGUE_LINES 30
/* Different reasons for skips that are listed. */
#define MAX_REASONS 12
/* Workers whose cases are shown. */
#define MAX_SHOWN 16

/* What one worker runs. */
struct worker {
	const struct sp_case_def *def;
	uint64_t since;
	bool slow;
};

/* A reason for skips, and how many there were. */
struct reason {
	char *text;
	size_t count;
};

struct cli_console {
	struct cli_console_options options;
	const struct sp_selection *selection;
	struct worker *workers;
	size_t n_workers;
	struct cli_totals totals;
	struct reason *reasons;
	size_t n_reasons;
	/* Cases that the budget left out, and what of it the first of them told. */
	size_t n_unpaid;
	char *spent;
	uint64_t start;
	/* Lines of the block that stand on the screen now. */
	size_t block;
	/* First error of writing, as an errno, or 0. */
	int write_error;
};

struct cli_console *cli_console_new(const struct cli_console_options *options)
{
	struct cli_console *console = calloc(1, sizeof(*console));

	if (!console)
		return NULL;
	console->options = *options;
	console->start = sp_now();
	return console;
}

/* ---- Writing: everything goes above the block, which is drawn again ---- */

/* Escape that takes the block off the screen. */
static void add_erase(struct cli_console *console, struct sp_buf *out)
{
	if (console->block)
		sp_buf_addf(out, "\x1b[%zuA\r\x1b[J", console->block);
	console->block = 0;
}

static size_t list_running(const struct cli_console *console, struct cli_running *running)
{
	size_t n = 0;
	uint64_t now = sp_now();

	for (size_t i = 0; i < console->n_workers && n < MAX_SHOWN; i++) {
		const struct worker *worker = &console->workers[i];

		if (worker->def)
			running[n++] = (struct cli_running){
				.id = worker->def->id,
				.elapsed_ms = (int64_t)((now - worker->since) / SP_MS),
				.slow = worker->slow,
			};
	}
	return n;
}

static void add_block(struct cli_console *console, struct sp_buf *out)
{
	struct cli_running running[MAX_SHOWN];
	struct cli_progress progress = {
		.running = running,
		.n_running = list_running(console, running),
		.total = console->selection ? console->selection->len : 0,
		.totals = console->totals,
		.elapsed_ms = (int64_t)((sp_now() - console->start) / SP_MS),
	};

	console->block = cli_format_progress(out, &console->options.style, &progress);
}

/* Writes text above the block, in one piece so that nothing flickers. */
static void show(struct cli_console *console, const struct sp_buf *text, bool block)
{
	struct sp_buf frame SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FRAME_CEILING);

	add_erase(console, &frame);
	sp_buf_add(&frame, sp_buf_str(text), text->len);
	if (block && console->options.style.live)
		add_block(console, &frame);
	errno = 0;
	if (fwrite(sp_buf_str(&frame), 1, frame.len, console->options.stream) == frame.len &&
	    !fflush(console->options.stream))
		return;
	/* A reader that went away, or that never was, has chosen so. */
	if (errno != EPIPE && errno != EBADF && !console->write_error)
		console->write_error = errno;
}

void cli_console_note(struct cli_console *console, const char *format, ...)
{
	struct sp_buf raw SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FRAME_CEILING);
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FRAME_CEILING);
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&raw, format, args);
	va_end(args);
	cli_text_safe(&text, sp_buf_str(&raw));
	sp_buf_addc(&text, '\n');
	show(console, &text, console->block > 0);
}

struct cli_console *cli_console_free(struct cli_console *console)
{
	struct sp_buf nothing = SP_BUF_INIT(1);

	if (!console)
		return NULL;
	show(console, &nothing, false);
	for (size_t i = 0; i < console->n_reasons; i++)
		free(console->reasons[i].text);
	free(console->reasons);
	free(console->spent);
	free(console->workers);
	free(console);
	return NULL;
}

/* ---- What the runner tells ---- */

static void on_started(void *arg, const struct sp_selection *selection, unsigned jobs)
{
	struct cli_console *console = arg;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FRAME_CEILING);
	const struct cli_style *style = &console->options.style;
	struct sp_buf rest SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FRAME_CEILING);

	console->selection = selection;
	console->start = sp_now();
	cli_text_ink(&text, style, CLI_BOLD, "sandproof " SP_VERSION);
	sp_buf_addf(&rest, "  %s  %zu case%s, %u job%s\n", console->options.subjects,
		    selection->len, selection->len == 1 ? "" : "s", jobs, jobs == 1 ? "" : "s");
	cli_text_safe(&text, sp_buf_str(&rest));
	if (console->options.defect) {
		sp_buf_addf(&text, "the fault %s is applied: its cases are meant to fail\n",
			    console->options.defect);
	}
	sp_buf_addc(&text, '\n');
	show(console, &text, true);
}

static struct worker *worker_at(struct cli_console *console, int index)
{
	struct worker *grown;

	if (index < 0 || index > 4096)
		return NULL;
	if ((size_t)index < console->n_workers)
		return &console->workers[index];
	grown = reallocarray(console->workers, (size_t)index + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + console->n_workers, 0,
	       ((size_t)index + 1 - console->n_workers) * sizeof(*grown));
	console->workers = grown;
	console->n_workers = (size_t)index + 1;
	return &grown[index];
}

static void on_case_started(void *arg, const struct sp_case_def *def, int index)
{
	struct worker *worker = worker_at(arg, index);

	if (worker)
		*worker = (struct worker){ .def = def, .since = sp_now() };
}

static void on_case_slow(void *arg, const struct sp_case_def *def, int index, uint64_t elapsed_ms)
{
	struct cli_console *console = arg;
	struct worker *worker = worker_at(console, index);
	struct sp_buf elapsed SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (worker)
		worker->slow = true;
	/* The block shows it; a log has no block. */
	if (console->options.style.live)
		return;
	cli_format_duration(&elapsed, (int64_t)elapsed_ms);
	cli_console_note(console, "slow  %s still runs after %s", def->id, sp_buf_str(&elapsed));
}

static void count_reason(struct cli_console *console, const char *text)
{
	size_t len = strcspn(text, "\n");
	struct reason *grown;

	/* A known failure's own message follows on further lines. */
	for (size_t i = 0; i < console->n_reasons; i++)
		if (!strncmp(console->reasons[i].text, text, len) &&
		    !console->reasons[i].text[len]) {
			console->reasons[i].count++;
			return;
		}
	grown = reallocarray(console->reasons, console->n_reasons + 1, sizeof(*grown));
	if (!grown)
		return;
	console->reasons = grown;
	grown[console->n_reasons].text = strndup(text, len);
	grown[console->n_reasons].count = 1;
	if (grown[console->n_reasons].text)
		console->n_reasons++;
}

/* A budget that is used up is told once, however many cases it leaves out; true for one of them. */
static bool count_unpaid(struct cli_console *console, const struct sp_result_case *result)
{
	const char *text = result->message;

	if (result->verdict != SP_ERROR || !text ||
	    strncmp(text, SP_BUDGET_NOT_RUN, strlen(SP_BUDGET_NOT_RUN)))
		return false;
	text += strlen(SP_BUDGET_NOT_RUN);
	if (!console->n_unpaid++)
		console->spent = strdup(text + strspn(text, ": "));
	return true;
}

/* Counts a verdict; true when it is to be told in full. */
static bool count_case(struct cli_console *console, const struct sp_result_case *result)
{
	switch (result->verdict) {
	case SP_PASS:
		console->totals.passed++;
		return false;
	case SP_WARN:
		console->totals.passed++;
		return true;
	case SP_SKIP:
	case SP_XFAIL:
		console->totals.skipped++;
		count_reason(console, result->message ? result->message : "no reason");
		return false;
	case SP_FAIL:
	case SP_XPASS:
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		console->totals.failed++;
		return !count_unpaid(console, result);
	}
	return true;
}

static const char *requirement_of(const struct cli_console *console, const char *id)
{
	for (size_t i = 0; id && console->selection && i < console->selection->len; i++)
		if (!strcmp(console->selection->cases[i]->id, id))
			return console->selection->cases[i]->requirement;
	return NULL;
}

static void on_case_ended(void *arg, const struct sp_result_case *result)
{
	struct cli_console *console = arg;
	struct worker *worker = worker_at(console, result->worker);
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FRAME_CEILING);

	if (worker)
		*worker = (struct worker){ .def = NULL };
	if (!count_case(console, result))
		return;
	cli_format_result(&text, &console->options.style, result,
			  requirement_of(console, result->id), DIALOGUE_LINES,
			  console->options.results_path);
	sp_buf_addc(&text, '\n');
	show(console, &text, true);
}

static void on_leaked(void *arg, const struct sp_result_leak *leak)
{
	struct cli_console *console = arg;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FRAME_CEILING);

	cli_format_leak(&text, &console->options.style, leak);
	show(console, &text, true);
}

static void on_tick(void *arg)
{
	struct cli_console *console = arg;
	struct sp_buf nothing = SP_BUF_INIT(1);

	if (console->options.style.live)
		show(console, &nothing, true);
}

static void on_ended(void *arg, const struct sp_result_end *end)
{
	struct cli_console *console = arg;
	struct sp_buf nothing = SP_BUF_INIT(1);

	(void)end;
	show(console, &nothing, false);
}

struct sp_run_listener cli_console_listener(struct cli_console *console)
{
	return (struct sp_run_listener){
		.arg = console,
		.started = on_started,
		.case_started = on_case_started,
		.case_slow = on_case_slow,
		.case_ended = on_case_ended,
		.leaked = on_leaked,
		.tick = on_tick,
		.ended = on_ended,
	};
}

/* ---- The end ---- */

static void add_reasons(const struct cli_console *console, struct sp_buf *out)
{
	size_t shown = console->n_reasons < MAX_REASONS ? console->n_reasons : MAX_REASONS;

	if (shown)
		sp_buf_adds(out, "skipped:\n");
	for (size_t i = 0; i < shown; i++) {
		sp_buf_addf(out, "%5zu  ", console->reasons[i].count);
		cli_text_safe(out, console->reasons[i].text);
		sp_buf_addc(out, '\n');
	}
	if (shown < console->n_reasons)
		sp_buf_addf(out, "       and %zu more reasons, see the results\n",
			    console->n_reasons - shown);
}

static void add_unpaid(const struct cli_console *console, struct sp_buf *out)
{
	if (!console->n_unpaid)
		return;
	sp_buf_addf(out, "%zu not run, each an error: the budget is used up: ", console->n_unpaid);
	cli_text_safe(out, console->spent ? console->spent : "");
	sp_buf_addc(out, '\n');
}

static void add_end_line(struct sp_buf *out, const struct sp_result_end *end)
{
	sp_buf_addf(out, "%zu leak%s, %zu warning%s", end->leaks, end->leaks == 1 ? "" : "s",
		    end->warned, end->warned == 1 ? "" : "s");
	if (end->errors)
		sp_buf_addf(out, ", %zu error%s", end->errors, end->errors == 1 ? "" : "s");
	if (end->xfailed || end->xpassed)
		sp_buf_addf(out, ", %zu expected to fail, %zu passed unexpectedly", end->xfailed,
			    end->xpassed);
	if (end->commands)
		sp_buf_addf(out, ", %llu commands", (unsigned long long)end->commands);
	sp_buf_adds(out, ", ");
	cli_format_duration(out, end->duration_ms);
	sp_buf_addc(out, '\n');
}

void cli_console_summary(struct cli_console *console, const struct sp_result_end *end)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FRAME_CEILING);
	struct cli_totals totals = cli_totals_of(end);

	add_reasons(console, &text);
	add_unpaid(console, &text);
	if (end->interrupted)
		sp_buf_adds(&text, "interrupted: not every case has a result\n");
	add_end_line(&text, end);
	cli_format_totals(&text, &console->options.style, &totals);
	sp_buf_addc(&text, '\n');
	show(console, &text, false);
}

int cli_console_error(const struct cli_console *console)
{
	return console->write_error;
}
