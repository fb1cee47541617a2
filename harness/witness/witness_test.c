/* SPDX-License-Identifier: MIT */
/* Witnesses that look into a sandbox: each says yes, and each can say no. */
#include <witness/testing.h>

#include <witness/canary.h>
#include <witness/fifo.h>
#include <witness/mark.h>
#include <witness/token.h>
#include <witness/twopath.h>

/* ---- shell.h ---- */

Test(shell, runs_a_command_whatever_its_code)
{
	struct sp_case *t CASE = case_new();
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;

	SAYS_YES(t, sp_sh(t, &t->sandbox, &result, "echo out; echo %s >&2; exit %d", "err", 7));
	cr_expect(result.exit_code == 7, "code 7 expected, got %d", result.exit_code);
	cr_expect_str_eq((char *)result.stdout_bytes.data, "out\n");
	cr_expect_str_eq((char *)result.stderr_bytes.data, "err\n");
	t->gone = true;
	SAYS_NO(t, sp_sh(t, &t->sandbox, &result, "true"), "exec of a plain command answers");
	/* Its creation was recorded when it failed. */
	cr_expect(!sp_sh(t, NULL, &result, "true"), "a command without a sandbox ran");
}

Test(shell, insists_on_code_0_where_it_says_so)
{
	struct sp_case *t CASE = case_new();
	const char *out;

	SAYS_YES(t, sp_sh_ok(t, &t->sandbox, "exit 0"));
	SAYS_NO(t, sp_sh_ok(t, &t->sandbox, "echo 'the reason' >&2; exit 3"), "the reason");
	out = sp_sh_out(t, &t->sandbox, "printf 'a\\nb\\n\\n'");
	cr_expect_str_eq(out, "a\nb\n");
	out = sp_sh_out(t, &t->sandbox, "printf 'a\\0b'");
	cr_expect_str_eq(out, "a");
	SAYS_NO(t, sp_sh_out(t, &t->sandbox, "echo text; exit 1"), "not 1");
}

Test(shell, a_spawned_command_is_waited_for_and_read)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_exit end = {SP_KILLED, -1, -1};

	SAYS_YES(t, sp_spawn(t, &t->sandbox, &child, "echo one; echo two >&2; exit %d", 5));
	SAYS_YES(t, sp_spawned_read(&child, SP_STDOUT, 4, &out));
	cr_expect_str_eq((char *)out.data, "one\n");
	SAYS_NO(t, sp_spawned_read(&child, SP_STDERR, 3, &out), "at most 3 bytes");
	SAYS_YES(t, sp_spawned_wait(&child, &end));
	cr_expect(child.over && end.how == SP_EXITED && end.code == 5, "%s %d",
		  sp_exit_how_name(end.how), end.code);
	t->gone = true;
	SAYS_NO(t, sp_spawn(t, &t->sandbox, &child, "true"), "spawn is accepted");
}

Test(shell, a_spawned_command_is_killed_by_hand_or_by_its_scope)
{
	struct sp_case *t CASE = case_new();
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_token token;
	struct sp_exit end;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	SAYS_YES(t, sp_token_make(&place, "t", &token));
	{
		struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
		struct sp_spawned by_hand SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_spawned spawned SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_spawned taken SP_SPAWNED = SP_SPAWNED_INIT;

		SAYS_YES(t, sp_spawn(t, &t->sandbox, &by_hand, "%s", place.hold));
		SAYS_YES(t, sp_spawned_kill(&by_hand, SIGKILL));
		SAYS_YES(t, sp_spawned_wait(&by_hand, &end));
		cr_expect(end.code == 128 + SIGKILL, "137 expected, got %d", end.code);
		options.command = token.shell;
		SAYS_YES(t, sp_spawn_with(t, &t->sandbox, &spawned, &options));
		SAYS_YES(t, sp_token_await(&token));
		sp_spawned_take(t, &taken, &spawned.process);
		cr_expect(!spawned.process.ops && taken.process.ops && !taken.over);
	}
	SAYS_YES(t, sp_token_check_dead(&token, SP_HERE, "what the scope held"));
}

Test(shell, names_of_how_an_exit_came)
{
	static const struct {
		enum sp_exit_how how;
		const char *name;
	} rows[] = {
		{SP_EXITED, "exited"},
		{SP_SIGNALLED, "signalled"},
		{SP_KILLED, "killed"},
		{SP_EXIT_ABORTED, "aborted"},
		{SP_EXIT_TIMED_OUT, "timed out"},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		cr_expect_str_eq(sp_exit_how_name(rows[i].how), rows[i].name);
}

/* ---- place.h ---- */

/* 1 when something is at the path on this machine. */
static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

Test(place, lets_go_and_goes_away)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned holder SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_exit end;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	cr_expect(is_there(place.dir) && is_there(sp_place_path(&place, "hold")));
	SAYS_YES(t, sp_spawn(t, &t->sandbox, &holder, "%s && exit 9", place.hold));
	sp_place_close(&place);
	/* A holder that came later than the close would meet no FIFO and not end with 9. */
	SAYS_YES(t, sp_spawned_wait(&holder, &end));
	cr_expect(end.code == 9 || end.code == 1, "let go expected, got code %d", end.code);
	cr_expect(!is_there(place.dir), "%s is still there", place.dir);
	sp_place_close(&place);
}

Test(place, ends_a_probe_that_survived)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_token token;
	struct sp_exit end;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	SAYS_YES(t, sp_token_make(&place, "t", &token));
	SAYS_YES(t, sp_spawn(t, &t->sandbox, &child, "exec %s", token.shell));
	SAYS_YES(t, sp_token_await(&token));
	sp_place_close(&place);
	SAYS_YES(t, sp_spawned_wait(&child, &end));
	cr_expect(end.code == 128 + SIGKILL, "137 expected, got %d", end.code);
}

Test(place, through_another_sandbox_or_none)
{
	struct sp_case *t CASE = case_new();
	struct sp_case *other CASE = case_new();
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_place failed SP_PLACE = SP_PLACE_INIT;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	struct sp_place seen = sp_place_through(&place, &other->sandbox);

	cr_expect(seen.sandbox == &other->sandbox && seen.dir == place.dir && seen.t == t);
	/* Forgotten: the sandbox is gone, nobody asks it any more. */
	unsigned before = t->execs;

	sp_place_forget(&seen);
	sp_place_close(&seen);
	cr_expect(other->execs == 0 && t->execs == before && is_there(place.dir));
	t->gone = true;
	SAYS_NO(t, sp_place_open(t, &t->sandbox, "q", &failed), "exec of a plain command");
	cr_expect(!failed.sandbox, "a place that was not made would be closed");
	t->gone = false;
}

/* ---- token.h ---- */

/* How a probe is run, what is done to it, and what it is then. */
static const struct {
	const char *title;
	/* Around the probe; %s. */
	const char *shape;
	const char *signal;
	enum sp_token_verdict verdict;
} token_rows[] = {
	{"left alone", "%s", NULL, SP_TOKEN_SURVIVOR},
	{"killed", "%s", "KILL", SP_TOKEN_DEAD},
	{"ended by TERM", "%s", "TERM", SP_TOKEN_DEAD},
	{"TERM trapped", "trap '' TERM; %s", "TERM", SP_TOKEN_SURVIVOR},
	{"stopped", "%s", "STOP", SP_TOKEN_SURVIVOR},
	{"a grandchild left alone", "( ( %s & ) & ); read -r x <%s/hold", NULL, SP_TOKEN_SURVIVOR},
	{"a grandchild killed", "( ( %s & ) & ); read -r x <%s/hold", "KILL", SP_TOKEN_DEAD},
	/* Its parent became a program that waits for nobody: it stays a zombie. */
	{"a zombie", "%s & exec sleep 1000", "KILL", SP_TOKEN_DEAD},
};

/* Opens a place with one probe and runs it in its shape, up to "ready". */
static void run_probe(struct sp_case *t, const char *shape, struct sp_place *place,
		      struct sp_token *token, struct sp_spawned *child)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", place));
	SAYS_YES(t, sp_token_make(place, "t", token));
	for (const char *s = shape, *args[] = {token->shell, place->dir}, **arg = args; *s; s++) {
		if (s[0] == '%' && s[1] == 's') {
			sp_buf_adds(&text, *arg++);
			s++;
		} else {
			sp_buf_addc(&text, *s);
		}
	}
	options.command = sp_buf_str(&text);
	SAYS_YES(t, sp_spawn_with(t, &t->sandbox, child, &options));
	SAYS_YES(t, sp_token_await(token));
}

Test(token, tells_the_dead_from_the_living)
{
	for (size_t i = 0; i < SP_COUNT(token_rows); i++) {
		struct sp_case *t CASE = case_new();
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_place place SP_PLACE = SP_PLACE_INIT;
		struct sp_token token;

		run_probe(t, token_rows[i].shape, &place, &token, &child);
		cr_expect(sp_token_pid(&token) > 0, "%s: no pid", token_rows[i].title);
		if (token_rows[i].signal)
			SAYS_YES(t, sp_token_signal(&token, token_rows[i].signal));
		enum sp_token_verdict verdict = sp_token_judge(&token);

		cr_expect(verdict == token_rows[i].verdict, "%s: verdict %d expected, got %d",
			  token_rows[i].title, token_rows[i].verdict, verdict);
		cr_expect_str_eq(recorded(t), "");
	}
}

Test(token, checks_name_what_was_found)
{
	static const struct {
		const char *signal;
		bool dead_is_right;
		const char *actual;
	} rows[] = {{"KILL", true, "dead"}, {"CONT", false, "alive"}};

	for (size_t i = 0; i < SP_COUNT(rows) * 2; i++) {
		struct sp_case *t CASE = case_new();
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_place place SP_PLACE = SP_PLACE_INIT;
		bool expect_dead = i % 2;
		struct sp_token token;

		run_probe(t, "%s", &place, &token, &child);
		SAYS_YES(t, sp_token_signal(&token, rows[i / 2].signal));
		bool answer = expect_dead ? sp_token_check_dead(&token, SP_HERE, "the probe") :
					    sp_token_check_alive(&token, SP_HERE, "the probe");

		if (expect_dead == rows[i / 2].dead_is_right) {
			SAYS_YES(t, answer);
		} else {
			SAYS_NO(t, answer,
				expect_dead ? "the probe is dead" : "the probe is alive");
			cr_expect_str_eq(t->actual, rows[i / 2].actual);
		}
	}
}

/* Somebody holds the lock and never acts: after all rounds that is a survivor too. */
Test(token, patience_ends)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_token token;

	run_probe(t,
		  ": %s; cd %s; exec 9>>t.lock; flock 9; echo $$ >t.pid; echo ready >t.ready; "
		  "exec sleep 1000",
		  &place, &token, &child);
	cr_expect(sp_token_judge(&token) == SP_TOKEN_SURVIVOR);
	cr_expect_str_eq(recorded(t), "");
}

Test(token, an_unanswered_question_is_no_verdict)
{
	struct sp_case *t CASE = case_new();
	struct sp_case *other CASE = case_new();
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_token token, missing = {&place, "missing", "false"};

	run_probe(t, "%s", &place, &token, &child);
	other->gone = true;
	SAYS_NO(t, sp_token_judge_through(&token, &other->sandbox) != SP_TOKEN_UNKNOWN, "answers");
	t->gone = true;
	SAYS_NO(t, sp_token_check_dead(&token, SP_HERE, "x"), "answers");
	SAYS_NO(t, sp_token_check_alive(&token, SP_HERE, "x"), "answers");
	SAYS_NO(t, sp_token_make(&place, "u", &missing), "answers");
	SAYS_NO(t, sp_token_await(&token), "answers");
	t->gone = false;
	missing.name = "missing";
	SAYS_NO(t, sp_token_pid(&missing), "code 0");
	SAYS_NO(t, sp_token_signal(&missing, "CONT"), "code 0");
	cr_expect(sp_token_judge_through(&token, &t->sandbox) == SP_TOKEN_SURVIVOR);
}

Test(token, who_is_not_ready_is_not_awaited_as_ready)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_token token;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	SAYS_YES(t, sp_token_make(&place, "t", &token));
	SAYS_YES(t, sp_spawn(t, &t->sandbox, &child, "echo else >%s/t.ready", place.dir));
	SAYS_NO(t, sp_token_await(&token), "the probe t runs");
}

/* ---- place.h ---- */

Test(place, what_is_in_stock_needs_no_command)
{
	static const struct sp_place_options options = {
		.stock = SP_STOCK_FIFO("go") SP_STOCK_TOKEN("t") SP_STOCK_ANSWERER("a"),
		.in_memory = true,
	};
	struct sp_case *t CASE = case_new();
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_answerer answerer;
	struct sp_token token;
	struct sp_fifo fifo;

	SAYS_YES(t, sp_place_open_with(t, &t->sandbox, "p", &options, &place));
	cr_expect(!strncmp(place.dir, "/dev/shm/", 9) || access("/dev/shm", W_OK), "%s", place.dir);
	cr_expect_eq(t->execs, 1, "%u commands for the place", t->execs);
	SAYS_YES(t, sp_fifo_make(&place, "go", &fifo));
	SAYS_YES(t, sp_token_make(&place, "t", &token));
	SAYS_YES(t, sp_answerer_make(&place, "a", &answerer));
	cr_expect_eq(t->execs, 1, "%u commands, and all of it was in stock", t->execs);
	SAYS_YES(t, sp_sh_ok(t, &t->sandbox,
			     "cd %s && [ -p go ] && [ -p t.token ] && [ -p t.ready ] && "
			     "[ -p a.ask ] && [ -p a.tell ]",
			     place.dir));
	/* Names that only end like one in stock are made. */
	SAYS_YES(t, sp_fifo_make(&place, "o", &fifo));
	SAYS_YES(t, sp_sh_ok(t, &t->sandbox, "[ -p %s/o ]", place.dir));
}

/* ---- fifo.h ---- */

Test(fifo, lines_go_both_ways)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_fifo there, back;
	struct sp_exit end;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	SAYS_YES(t, sp_fifo_make(&place, "there", &there));
	SAYS_YES(t, sp_fifo_make(&place, "back", &back));
	SAYS_YES(t, sp_spawn(t, &t->sandbox, &child, "read -r l <%s; echo \"got $l\" >%s",
			     there.path, back.path));
	SAYS_YES(t, sp_fifo_put(&there, "a line"));
	cr_expect_str_eq(sp_fifo_take(&back), "got a line");
	SAYS_YES(t, sp_spawned_wait(&child, &end));
	SAYS_NO(t, sp_fifo_make(&place, "there", &there), "code 0");
	t->gone = true;
	SAYS_NO(t, sp_fifo_put(&there, "a line"), "answers");
	SAYS_NO(t, sp_fifo_take(&back), "answers");
	SAYS_NO(t, sp_fifo_take_held(&back), "answers");
	t->gone = false;
}

/* The holder lives and speaks, or dies and says nothing: either ends the waiting. */
Test(fifo, a_dead_holder_is_an_answer)
{
	static const char *const rows[][2] = {{"echo spoken >&9", "spoken"}, {"exit", "dead"}};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_case *t CASE = case_new();
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_place place SP_PLACE = SP_PLACE_INIT;
		struct sp_fifo fifo, held;

		SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
		SAYS_YES(t, sp_fifo_make(&place, "f", &fifo));
		SAYS_YES(t, sp_fifo_make(&place, "held", &held));
		SAYS_YES(t, sp_spawn(t, &t->sandbox, &child,
				     "exec 9<>%s; echo held >%s; read -r x <%s; %s; %s", fifo.path,
				     held.path, held.path, rows[i][0], place.hold));
		cr_expect_str_eq(sp_fifo_take(&held), "held");
		SAYS_YES(t, sp_fifo_put(&held, "go"));
		cr_expect_str_eq(sp_fifo_take_held(&fifo), rows[i][1]);
	}
}

Test(answerer, answers_until_it_is_dead)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned living SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_spawned dead SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_answerer a, b;
	struct sp_exit end;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	SAYS_YES(t, sp_answerer_make(&place, "a", &a));
	SAYS_YES(t, sp_answerer_make(&place, "b", &b));
	SAYS_YES(t, sp_spawn(t, &t->sandbox, &living, "exec %s", a.shell));
	SAYS_YES(t, sp_spawn(t, &t->sandbox, &dead, "exec %s", b.shell));
	SAYS_YES(t, sp_answerer_await(&a));
	SAYS_YES(t, sp_answerer_await(&b));
	SAYS_YES(t, sp_spawned_kill(&dead, SIGKILL));
	SAYS_YES(t, sp_answerer_check(&a, SP_HERE, "the living one"));
	SAYS_NO(t, sp_answerer_check(&b, SP_HERE, "the dead one"), "the dead one answers");
	cr_expect_str_eq(t->actual, "dead");
	SAYS_YES(t, sp_answerer_end(&a));
	SAYS_YES(t, sp_spawned_wait(&living, &end));
	cr_expect(end.code == SP_ANSWERER_CODE, "%d expected, got %d", SP_ANSWERER_CODE, end.code);
	SAYS_NO(t, sp_answerer_end(&a), "asked to end");
	SAYS_NO(t, sp_answerer_make(&place, "a", &a), "code 0");
}

Test(answerer, who_says_something_else_is_not_ready)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_answerer a;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	SAYS_YES(t, sp_answerer_make(&place, "a", &a));
	SAYS_YES(t, sp_spawn(t, &t->sandbox, &child, "echo else >%s/a.tell", place.dir));
	SAYS_NO(t, sp_answerer_await(&a), "the answerer a runs");
}

/* ---- mark.h ---- */

Test(mark, tells_whether_it_ran)
{
	struct sp_case *t CASE = case_new();
	const char *path;

	{
		struct sp_mark mark SP_MARK = SP_MARK_INIT;

		SAYS_YES(t, sp_mark_make(t, &t->sandbox, "m", &mark));
		path = mark.path;
		cr_expect(sp_mark_there(&mark) == 0);
		SAYS_YES(t, sp_mark_check(&mark, false, SP_HERE, "before"));
		SAYS_NO(t, sp_mark_check(&mark, true, SP_HERE, "before"), "before");
		SAYS_YES(t, sp_sh_ok(t, &t->sandbox, "%s", mark.shell));
		cr_expect(sp_mark_there(&mark) == 1);
		SAYS_YES(t, sp_mark_check(&mark, true, SP_HERE, "after"));
		SAYS_NO(t, sp_mark_check(&mark, false, SP_HERE, "after"), "after");
		t->gone = true;
		SAYS_NO(t, sp_mark_there(&mark) >= 0, "answers");
		SAYS_NO(t, sp_mark_check(&mark, true, SP_HERE, "gone"), "answers");
		t->gone = false;
	}
	cr_expect(!is_there(path), "the scope left %s", path);
}

/* What was there before proves nothing, and making the mark says so. */
Test(mark, of_yesterday_is_refused)
{
	struct sp_case *t CASE = case_new();
	struct sp_mark first SP_MARK = SP_MARK_INIT, again SP_MARK = SP_MARK_INIT;

	SAYS_YES(t, sp_mark_make(t, &t->sandbox, "m", &first));
	SAYS_YES(t, sp_sh_ok(t, &t->sandbox, "%s", first.shell));
	/* The same unique text once more. */
	t->n_unique = 0;
	SAYS_NO(t, sp_mark_make(t, &t->sandbox, "m", &again), "the mark before the act");
}

/* ---- twopath.h ---- */

/* Published: what cksum(1) of POSIX says of nothing and of these nine digits. */
Test(twopath, cksum_is_that_of_posix)
{
	cr_expect_eq(sp_cksum("", 0), 4294967295u);
	cr_expect_eq(sp_cksum("123456789", 9), 930766865u);
}

Test(twopath, one_byte_makes_the_difference)
{
	static const char bytes[] = "a\0b\xff\n";
	static const struct {
		const char *shell;
		bool same;
	} rows[] = {
		{"printf 'a\\0b\\377\\n'", true},   {"printf 'a\\0b\\376\\n'", false},
		{"printf 'a\\0b\\377'", false},	{"printf 'a\\0b\\377\\n\\0'", false},
		{"printf 'ab\\377\\n'", false},	{":", false},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_case *t CASE = case_new();
		struct sp_place place SP_PLACE = SP_PLACE_INIT;
		const char *path;
		bool file, output;

		SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
		path = sp_place_path(&place, "f");
		SAYS_YES(t, sp_sh_ok(t, &t->sandbox, "%s >%s", rows[i].shell, path));
		file = sp_twopath_check_file(t, &t->sandbox, path, bytes, 5, SP_HERE, "a file");
		if (rows[i].same)
			SAYS_YES(t, file);
		else
			SAYS_NO(t, file, "a file");
		output = sp_twopath_check_output(t, &t->sandbox, rows[i].shell, bytes, 5, SP_HERE,
						 "an output");
		if (rows[i].same)
			SAYS_YES(t, output);
		else
			SAYS_NO(t, output, "an output");
		SAYS_NO(t, sp_twopath_check_file(t, &t->sandbox, "/no/such/file", bytes, 5, SP_HERE,
						 "nothing"),
			"nothing");
		t->gone = true;
		SAYS_NO(t, sp_twopath_check_output(t, &t->sandbox, ":", bytes, 5, SP_HERE, "x"),
			"answers");
		t->gone = false;
	}
}

/* ---- canary.h ---- */

Test(canary, is_random_and_told_to_the_runner)
{
	struct sp_case *t CASE = case_new();
	struct sp_canary one, two;

	sp_canary_make(t, &one);
	cr_expect_str_eq(t->secret, one.text);
	cr_expect(strlen(one.text) == SP_CANARY_LEN, "%s", one.text);
	sp_canary_make(t, &two);
	cr_expect_str_neq(one.text, two.text);
}

/*
 * Writes the canary (or its first `len` characters) after `before` in a form;
 * hex in two cases of letters.
 */
static void write_form(struct sp_buf *buf, const char *form, const char *before,
		       const struct sp_canary *canary, size_t len)
{
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&whole, "%s%.*s and what follows", before, (int)len, canary->text);
	if (!strcmp(form, "base64"))
		sp_buf_add_base64(buf, whole.data, whole.len);
	else if (strcmp(form, "raw"))
		for (size_t i = 0; i < whole.len; i++)
			sp_buf_addf(buf, *form == 'h' ? "%02x" : "%02X",
				    (unsigned char)whole.data[i]);
	else
		sp_buf_add(buf, whole.data, whole.len);
}

Test(canary, is_found_in_every_form_and_nowhere_else)
{
	static const char *const forms[] = {"raw", "base64", "hex", "HEX"};
	static const char *const before[] = {"", "x", "xy", "xyz", "K=\""};
	struct sp_case *t CASE = case_new();
	struct sp_canary canary, other;

	sp_canary_make(t, &canary);
	sp_canary_make(t, &other);
	for (size_t i = 0; i < SP_COUNT(forms) * SP_COUNT(before); i++) {
		struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_buf cut SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		const char *form = forms[i % SP_COUNT(forms)];
		const char *name = strcmp(form, "HEX") ? form : "hex";
		const char *found;

		write_form(&buf, form, before[i / SP_COUNT(forms)], &canary, SP_CANARY_LEN);
		write_form(&cut, form, before[i / SP_COUNT(forms)], &canary, SP_CANARY_LEN / 2);
		found = sp_canary_find(&canary, buf.data, buf.len);
		cr_expect(found && !strcmp(found, name), "%s expected in %s, got %s", name,
			  sp_buf_str(&buf), found ? found : "nothing");
		cr_expect(!sp_canary_find(&other, buf.data, buf.len), "another one in %s", form);
		cr_expect(!sp_canary_find(&canary, cut.data, cut.len), "half of it, as %s", form);
		SAYS_NO(t, sp_canary_check_absent(t, &canary, buf.data, buf.len, SP_HERE, "a log"),
			name);
		SAYS_YES(t, sp_canary_check_absent(t, &other, buf.data, buf.len, SP_HERE, "a log"));
	}
	cr_expect(!sp_canary_find(&canary, NULL, 0) && !sp_canary_find(&canary, "x", 0));
}

Test(canary, is_never_in_the_evidence)
{
	struct sp_case *t CASE = case_new();
	struct sp_canary canary;
	const char *said;

	sp_canary_make(t, &canary);
	sp_canary_check_absent(t, &canary, canary.text, SP_CANARY_LEN, SP_HERE, "argv");
	said = recorded(t);
	cr_expect(strstr(said, "argv") && !strstr(said, canary.text), "%s", said);
}
