/* SPDX-License-Identifier: MIT */
/* Drivers from outside: the whole program against good and bad ones, and against itself. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/testing.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"
#define BAD "driver:" SP_SOURCE_DIR "/providers/driver/bad-driver "
#define SERVED "driver:" PROGRAM " serve "

SP_TEST_SUITE_WITH_STATE(serve);

#define RUN(...) sp_test_run((const char *const[]){PROGRAM, "run", __VA_ARGS__, NULL})

/* How it goes wrong, and what the run says of it. */
static const struct {
	const char *fault, *before, *after;
} bad[] = {
    {"banner", "Welcome to my driver", "Welcome to my driver"},
    {"wrong-id", "which nobody asked", "which nobody asked"},
    {"half", "in the middle of a line", "in the middle of a line"},
    {"utf8", "not valid UTF-8", "not valid UTF-8"},
    {"nul", "an escaped NUL", "an escaped NUL"},
    {"close-stdin", "closed its standard input", "closed its standard input"},
    {"flood-banner", "its last words: ", "its last words: "},
    {"exit-0", "ended with exit code 0", "ended with exit code 0"},
    {"exit-3", "its last words: out of cheese", "its last words: out of cheese"},
    {"violation", "lacks the member", "an own key is undefined"},
};

Test(serve, a_bad_driver_is_an_error_before_initialize_and_a_failure_after_it)
{
	for (size_t i = 0; i < SP_COUNT(bad) * 2; i++) {
		const char *fault = bad[i / 2].fault;
		bool after = i % 2;
		const char *says = after ? bad[i / 2].after : bad[i / 2].before;
		struct sp_run_result result;
		char spec[512];

		snprintf(spec, sizeof(spec), BAD "%s %s", fault, after ? "after" : "before");
		/* Two cases on one worker: the second one has a driver of its own again. */
		result = RUN("--provider", spec, "--case", "exec.code.passes-through", "--case",
			     "exec.code.no-program", "--jobs", "1");
		cr_expect_eq(result.code, after ? 1 : 3, "%s: exit %d: %s", spec, result.code,
			     result.out);
		cr_expect(result.out && strstr(result.out, says), "%s: no \"%s\" in %s", spec, says,
			  result.out);
		/* What cannot be opened is told once. */
		says = after ? "0 passed, 2 failed" : "0 passed, 1 failed, 1 skipped";
		cr_expect(result.out && strstr(result.out, says), "%s: %s", spec, result.out);
		sp_run_result_done(&result);
	}
}

Test(serve, a_driver_that_is_silent_in_a_case_fails_it)
{
	struct sp_run_result result =
	    RUN("--provider", BAD "silent after", "--case", "exec.code.no-program", "--option",
		"case_deadline_ms=500");

	cr_expect_eq(result.code, 1, "%s", result.out);
	cr_expect(strstr(result.out, "passed inside sandbox.exec: the driver has read and not "
				     "answered call"),
		  "%s", result.out);
	sp_run_result_done(&result);
}

/* A driver made of the example by a replacement, in the folder of the test. */
static char *changed_example(const char *how)
{
	static const char copy[] = "sed \"$1\" \"$2\" >\"$3\" && chmod +x \"$3\"";
	static const char *const example = SP_SOURCE_DIR "/providers/driver/examples/exec.bash";
	char *driver SP_FREE = NULL, *spec = NULL;
	struct sp_run_result result;

	cr_assert(asprintf(&driver, "%s/changed", state) > 0 &&
		  asprintf(&spec, "driver:%s", driver) > 0);
	result = sp_test_run(
	    (const char *const[]){"bash", "-c", copy, "bash", how, example, driver, NULL});
	cr_expect_eq(result.code, 0, "%s", result.err);
	sp_run_result_done(&result);
	return spec;
}

/* Each command stands in the way of the next request. */
Test(serve, a_driver_that_takes_one_call_after_another_is_told_so)
{
	char *spec SP_FREE = changed_example("s/run & ;;/run ;;/");
	struct sp_run_result result = RUN("--provider", spec, "--case", "exec.spawn.parallel",
					  "--option", "case_deadline_ms=4000");

	cr_expect_eq(result.code, 1, "%s", result.out);
	cr_expect(strstr(result.out, "the driver has not read call") &&
		      strstr(result.out, "it takes one call after another"),
		  "%s", result.out);
	sp_run_result_done(&result);
}

/* What every provider owes is no matter of the set-up. */
Test(serve, a_driver_without_create_fails)
{
	char *spec SP_FREE = changed_example("s/provider.create)/provider-never)/");
	struct sp_run_result result = RUN("--provider", spec, "--case", "exec.code.no-program");

	cr_expect_eq(result.code, 1, "%s", result.out);
	cr_expect(strstr(result.out, "every provider creates sandboxes, and this one does not: "
				     "bash-exec has no provider/create"),
		  "%s", result.out);
	sp_run_result_done(&result);
}

Test(serve, a_snapshot_that_nobody_can_delete_is_a_leak)
{
	struct sp_run_result result = RUN("--provider", BAD "none after", "--case",
					  "snapshot.label.*", "--case", "snapshot.take.round-trip");

	cr_expect(strstr(result.out, "snap-1 cannot be removed: unsupported"), "%s", result.out);
	sp_run_result_done(&result);
}

/* What the smallest driver has, works; what it lacks is told by its name. */
Test(serve, sixty_lines_of_bash_are_a_driver)
{
	static const char spec[] = "driver:" SP_SOURCE_DIR "/providers/driver/examples/exec.bash";
	struct sp_run_result result;

	/* It starts jq for each message, so that a busy machine needs its time. */
	setenv("SANDPROOF_TIME_SCALE", "4", 1);
	result = RUN("--provider", spec, "--case", "exec.code.no-program", "--case",
		     "exec.code.is-final", "--case", "exec.code.syntax-error", "--case",
		     "exec.cwd.missing", "--case", "exec.env.refused-names", "--case",
		     "exec.spawn.parallel");
	cr_expect(result.code == 0 && strstr(result.out, "6 passed"), "%s", result.out);
	sp_run_result_done(&result);
	result = RUN("--provider", spec, "--case", "fs.write.parents", "--case", "exec.spawn.*",
		     "--case", "lifecycle.resume.same");
	cr_expect_eq(result.code, 1);
	cr_expect(strstr(result.out, "bash-exec has no fs/write"), "%s", result.out);
	cr_expect(strstr(result.out, "bash-exec has no provider/resume"), "%s", result.out);
	cr_expect(strstr(result.out, " 2 failed"), "each by its own case: %s", result.out);
	sp_run_result_done(&result);
}

/* The same cases pass through the protocol as without it. */
Test(serve, what_is_served_passes_as_it_does_in_place)
{
	static const struct {
		const char *kind, *served, *direct, *cases[2];
	} rows[] = {
	    {"--provider", SERVED "--provider local", "local", {"lifecycle.*", "fs.*"}},
	    {"--provider", SERVED "--provider local:poll", "local:poll", {"exec.*", "lifecycle.*"}},
	    {"--provider",
	     SERVED "--provider bash",
	     "bash",
	     {"snapshot.take.*", "lifecycle.resume.*"}},
	    {"--store", SERVED "--store memory", "memory", {"store.*", "lock.*"}},
	    {"--store", SERVED "--store sqlite", "sqlite", {"store.reopen.*", "lock.*"}},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_run_result result = RUN(rows[i].kind, rows[i].served, "--case",
						  rows[i].cases[0], "--case", rows[i].cases[1]);

		cr_expect_eq(result.code, 0, "%s: %s", rows[i].served, result.out);
		cr_expect_not(strstr(result.out, "\n0 passed"), "%s", result.out);
		sp_run_result_done(&result);
	}
}

/* One thing goes wrong between a good driver and the client: which case sees it. */
Test(serve, what_goes_wrong_on_the_way_is_seen_by_its_case)
{
	static const struct {
		const char *fault, *seen_by, *says;
	} rows[] = {
	    {"answers-twice", "exec.code.passes-through", "twice"},
	    {"code-lost", "exec.code.passes-through", "exit code"},
	    {"chunk-short", "exec.spawn.small-reads", "the pieces joined"},
	    {"kind-lost", "fs.read.missing", "read of a missing file"},
	    {"cancel-lost", "kill.abort.before", "whose cancel has fired before"},
	};

	for (size_t i = 0; i < SP_COUNT(rows) * 2; i++) {
		const char *fault = i % 2 ? "none" : rows[i / 2].fault;
		struct sp_run_result result;
		char spec[512];

		snprintf(spec, sizeof(spec),
			 "driver:" SP_SOURCE_DIR "/providers/driver/bad-relay %s " PROGRAM
			 " serve --provider local",
			 fault);
		result = RUN("--provider", spec, "--case", rows[i / 2].seen_by);
		cr_expect_eq(result.code, i % 2 ? 0 : 1, "%s, %s: %s", fault, rows[i / 2].seen_by,
			     result.out);
		cr_expect(i % 2 || strstr(result.out, rows[i / 2].says), "%s: %s", fault,
			  result.out);
		sp_run_result_done(&result);
	}
}

/* A journal of the same driver, down to the questions that it has for the owner's records. */
Test(serve, a_journal_is_served_with_its_provider)
{
	static const char spec[] = SERVED "--provider local";
	struct sp_run_result result =
	    RUN("--provider", spec, "--journal", spec, "--case", "journal.sweep.*", "--case",
		"journal.attach.*", "--case", "journal.place.*");

	cr_expect_eq(result.code, 0, "%s", result.out);
	cr_expect_not(strstr(result.out, "\n0 passed"), "%s", result.out);
	/* What is done to a sandbox on our side does not reach it. */
	cr_expect(strstr(result.out, "this one finds the sandbox by itself"), "%s", result.out);
	sp_run_result_done(&result);
}

/* Writes requests into a served driver at once and ends its input; what it answered. */
static struct sp_run_result pipe_in(const char *served, const char *requests)
{
	static const char script[] = "printf '%s\\n' \"$2\" | exec $1";
	char *command SP_FREE = NULL;

	cr_assert(asprintf(&command, PROGRAM " serve %s", served) > 0);
	return sp_test_run(
	    (const char *const[]){"bash", "-c", script, "bash", command, requests, NULL});
}

#define HELLO                                                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocol\":1}}\n"

/* Nothing that was asked is lost because nothing more is asked. */
Test(serve, requests_before_the_end_of_the_input_are_carried_out)
{
	struct sp_run_result result =
	    pipe_in("--provider bash", HELLO
		    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"provider/create\","
		    "\"params\":{\"network\":\"default\",\"env\":{}}}\n"
		    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"provider/list\",\"params\":{}}");

	cr_expect_eq(result.code, 0, "%s", result.err);
	cr_expect(strstr(result.out, "\"id\":2,\"result\":{\"sandbox\":"), "%s", result.out);
	cr_expect(strstr(result.out, "\"id\":3,\"result\":{\"ids\":"), "%s", result.out);
	sp_run_result_done(&result);
}

/* A lock that nobody can release any more holds nobody up. */
Test(serve, a_request_that_waits_is_given_up_at_the_end_of_the_input)
{
	struct sp_run_result result =
	    pipe_in("--store memory", HELLO "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"lock/"
					    "acquire\",\"params\":{\"key\":\"k\"}}\n"
					    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"lock/"
					    "acquire\",\"params\":{\"key\":\"k\"}}");

	cr_expect_eq(result.code, 0, "%s", result.err);
	cr_expect(strstr(result.out, "\"message\":\"the input has ended\""), "%s", result.out);
	cr_expect(strstr(result.out, "\"id\":2,") && strstr(result.out, "\"id\":3,"), "%s",
		  result.out);
	sp_run_result_done(&result);
}

/* Attached: one worker, no deadline; each instance is a connection. */
Test(serve, a_socket_is_as_good_as_a_pipe)
{
	struct sp_child server = SP_CHILD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_run_result result;
	char *at SP_FREE = NULL, *spec SP_FREE = NULL;
	char line[256] = "";

	cr_assert(asprintf(&at, "unix:%s/s", state) > 0 &&
		  asprintf(&spec, "driver+unix:%s/s", state) > 0);
	server.argv =
	    (const char *const[]){PROGRAM, "serve", "--provider", "local", "--listen", at, NULL};
	server.out = SP_CHILD_PIPE;
	cr_assert_eq(sp_child_start(&server, &err), 0, "%s", err.message);
	/* It says where it listens once it does. */
	cr_expect(read(server.out, line, sizeof(line) - 1) > 0 && strstr(line, spec), "%s", line);
	result = RUN("--provider", spec, "--suite", "lifecycle");
	cr_expect(result.code == 0 && strstr(result.out, "1 job"), "%s", result.out);
	sp_run_result_done(&result);
	/* It ends by the signal, and the socket with it. */
	sp_child_signal(&server, SIGTERM);
	cr_expect_eq(sp_child_wait(&server, NULL, &err), 0, "%s", err.message);
	cr_expect_eq(server.code, 128 + SIGTERM, "it ended with %d", server.code);
	cr_expect(access(at + strlen("unix:"), F_OK), "%s is still there", at);
	sp_child_done(&server);
}

/* A trace keeps to the schema and holds no secret. */
Test(serve, a_real_dialogue_keeps_to_the_schema)
{
	struct sp_run_result result;
	struct sp_bytes text = SP_BYTES_INIT;
	char *results SP_FREE = NULL, *trace SP_FREE = NULL;

	cr_assert(asprintf(&results, "%s/r", state) > 0 &&
		  asprintf(&trace, "%s/r.trace", state) > 0);
	result =
	    RUN("--provider", SERVED "--provider local", "--store", SERVED "--store memory",
		"--case", "env.set.*", "--case", "fs.list.*", "--case", "store.value.*", "--case",
		"lock.hold.*", "--case", "kill.exit.*", "--trace", "--results", results);
	cr_expect_eq(result.code, 0, "%s", result.out);
	cr_expect(strstr(result.out, trace), "the trace is named: %s", result.out);
	sp_run_result_done(&result);
	cr_expect_eq(sp_read_file(trace, 64 * 1024 * 1024, &text, NULL), 0);
	cr_expect(text.len && memmem(text.data, text.len, "[redacted]", 10), "secrets are masked");
	sp_bytes_done(&text);
	result = sp_test_run(
	    (const char *const[]){SP_SOURCE_DIR "/providers/driver/check-dialogue", trace,
				  SP_SOURCE_DIR "/providers/driver/PROTOCOL.md", NULL});
	cr_expect(result.code == 0 && strstr(result.out, " 0 broken"), "%s%s", result.out,
		  result.err);
	sp_run_result_done(&result);
}
