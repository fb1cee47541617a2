/* SPDX-License-Identifier: MIT */
/* Plugins as a user meets them: whole runs of the program, and plugins built by hand. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/testing.h>

SP_TEST_SUITE_WITH_STATE(plugin, .timeout = 280);

/* A shell text: $0 is the program, $1 a private folder, $2 where the plugins are, $3 the sources.
 */
static struct sp_run_result run_text(const char *text)
{
	const char *argv[] = {"sh",	     "-c",
			      text,	     SP_TEST_BIN_DIR "/sandproof",
			      state,	     SP_TEST_BIN_DIR "/plugins",
			      SP_SOURCE_DIR, NULL};

	return sp_test_run(argv);
}

static bool says(const struct sp_run_result *r, const char *text)
{
	return !text || (r->out && strstr(r->out, text)) || (r->err && strstr(r->err, text));
}

struct row {
	const char *text;
	int code;
	/* In the output or the error output; NULL: nothing asked. */
	const char *says, *also;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sp_run_result r = run_text(rows[i].text);

		cr_expect_eq(r.code, rows[i].code, "%s: exit %d, expected %d\n%s%s", rows[i].text,
			     r.code, rows[i].code, r.out, r.err);
		cr_expect(says(&r, rows[i].says), "%s: \"%s\" is not in:\n%s%s", rows[i].text,
			  rows[i].says, r.out, r.err);
		cr_expect(says(&r, rows[i].also), "%s: \"%s\" is not in:\n%s%s", rows[i].text,
			  rows[i].also, r.out, r.err);
		sp_run_result_done(&r);
	}
}

/* Before anything runs: one clear line and exit 3. */
static const struct row unloadable[] = {
    {"\"$0\" run --provider plugin:\"$1/no.so\"", 3,
     "no.so cannot be loaded: No such file or directory", "0 passed, 0 failed, 0 skipped"},
    {"echo text >\"$1/text.so\"; \"$0\" run --provider plugin:\"$1/text.so\"", 3,
     "text.so cannot be loaded", "0 passed, 0 failed, 0 skipped"},
    {"\"$0\" run --provider plugin:\"$2/plugin_none.so\"", 3,
     "exports no function sandproof_plugin_v1", "0 passed, 0 failed, 0 skipped"},
    {"\"$0\" run --provider plugin:\"$2/plugin_newer.so\"", 3,
     "has version 2 of the plugin interface, and this program knows version 1", NULL},
    {"\"$0\" run --provider plugin:\"$2/plugin_clock.so\"", 3, "plugin_clock.so offers no provider",
     NULL},
    {"\"$0\" run --store plugin:\"$2/plugin_box.so\"", 3, "plugin_box.so offers no store", NULL},
    {"\"$0\" run --lock plugin:\"$2/plugin_box.so\"", 3, "plugin_box.so offers no lock", NULL},
    {"\"$0\" run --provider local --journal plugin:\"$2/plugin_box.so\"", 3,
     "plugin_box.so offers no journal", NULL},
    {"\"$0\" run --provider local --store memory --ensure plugin:\"$2/plugin_box.so\"", 3,
     "plugin_box.so offers no ensure", NULL},
    {"\"$0\" list --suite-plugin \"$2/plugin_box.so\"", 3, "plugin_box.so offers no suite", NULL},
    {"\"$0\" run --suite-plugin \"$1/no.so\"", 3, "no.so cannot be loaded", NULL},
    {"\"$0\" show clock --suite-plugin \"$2/plugin_none.so\"", 3, "exports no function", NULL},
    {"\"$0\" baseline update x --suite-plugin \"$2/plugin_none.so\"", 3, "exports no function",
     NULL},
    {"FAULTY_PLUGIN=refuses-the-host \"$0\" run --provider plugin:\"$2/plugin_faulty.so\"", 3,
     "does not work with version 1 of the plugin interface", NULL},
    {"FAULTY_PLUGIN=crash-in-constructor \"$0\" run --provider plugin:\"$2/plugin_faulty.so\"", 3,
     "it crashed by SIGSEGV in a constructor", "0 passed, 0 failed, 0 skipped"},
    {"FAULTY_PLUGIN=crash-in-entry \"$0\" list --suite-plugin \"$2/plugin_faulty.so\"", 3,
     "it crashed by SIGSEGV in a constructor or in its sandproof_plugin_v1", NULL},
    {"FAULTY_PLUGIN=exit-in-constructor \"$0\" list --suite-plugin \"$2/plugin_faulty.so\"", 3,
     "it ended the process with exit code 7", NULL},
    /* What it needs and neither brings along nor finds here. */
    {"printf 'int absent(void); int sandproof_plugin_v1(void) { return absent(); }' "
     ">\"$1/u.c\"; cc -shared -fPIC -o \"$1/u.so\" \"$1/u.c\"; "
     "\"$0\" run --provider plugin:\"$1/u.so\"",
     3, "undefined symbol: absent", NULL},
    {"FAULTY_PLUGIN=suite-newer \"$0\" list --suite-plugin \"$2/plugin_faulty.so\"", 3,
     "a suite has version 2 and this program knows version 1", NULL},
    {"FAULTY_PLUGIN=suite-of-ours \"$0\" list --suite-plugin \"$2/plugin_faulty.so\"", 3,
     "has to begin with \"kill.\"", NULL},
    {"FAULTY_PLUGIN=suite-twice \"$0\" list --suite-plugin \"$2/plugin_faulty.so\"", 3,
     "the case id faulty.own.fine is there twice", NULL},
    {"FAULTY_PLUGIN=suite-alien-id \"$0\" list --suite-plugin \"$2/plugin_faulty.so\"", 3,
     "has to begin with \"faulty.\"", NULL},
    {"FAULTY_PLUGIN=suite-no-function \"$0\" list --suite-plugin \"$2/plugin_faulty.so\"", 3,
     "requirement, clause and function are required", NULL},
    {"FAULTY_PLUGIN=suite-no-subject \"$0\" list --suite-plugin \"$2/plugin_faulty.so\"", 3,
     "there is no kind of subject", NULL},
    {"\"$0\" list --suite-plugin \"$2/plugin_clock.so\" --suite-plugin "
     "\"$2/plugin_clock.so\"",
     3, "clock.now.is-ours is there twice", NULL},
};

Test(plugin, what_cannot_be_loaded)
{
	check_rows(unloadable, SP_COUNT(unloadable));
}

#define TWO " --case exec.code.passes-through --case exec.output.instant"
#define FAULTY(config) "\"$0\" run --provider plugin:\"$2/plugin_faulty.so:" config "\"" TWO

/* Opened and unusable is an error; broken inside a call a failure of that case alone. */
static const struct row broken[] = {
    {FAULTY("healthy"), 0, "2 passed, 0 failed, 0 skipped", NULL},
    {FAULTY("refused"), 3, "cannot be opened: denied: no right to open it",
     "0 passed, 1 failed, 1 skipped"},
    {FAULTY("refused-silently"), 3, "could not open and did not say why", NULL},
    {FAULTY("no-code"), 3, "answered 7 to opening, which is neither 0 nor a negative sp_code",
     NULL},
    {FAULTY("no-table"), 3, "it answered 0 and left no table", NULL},
    {FAULTY("newer-table"), 3, "a provider whose table has version 2", NULL},
    {FAULTY("null-close"), 3, "its table lacks name, capabilities or close", NULL},
    {FAULTY("null-capabilities"), 3, "its capabilities are NULL", NULL},
    {FAULTY("newer-capabilities"), 3,
     "its capabilities have a version that this program does not know", NULL},
    {FAULTY("crash-in-open"), 3, "the worker ended by SIGSEGV while its subject was being opened",
     "0 passed, 2 failed, 0 skipped"},
    {FAULTY("exit-in-open"), 3,
     "the worker ended by exit code 8 while its subject was being opened", NULL},
    {FAULTY("no-sandbox"), 3, "the provider answered 0 and left no sandbox", NULL},
    {FAULTY("null-id"), 3, "the provider made a sandbox without an id", NULL},
    {FAULTY("null-create"), 1, "provider create is not offered", "0 passed, 2 failed, 0 skipped"},
    {FAULTY("newer-sandbox"), 1, "the table has version 2 and this program knows version 1", NULL},
    {FAULTY("crash-in-create"), 1, "the worker ended by SIGSEGV inside provider.create",
     "0 passed, 2 failed, 0 skipped"},
    {FAULTY("crash-in-id"), 1, "the worker ended by SIGSEGV inside sandbox.id", NULL},
    {FAULTY("null-exec"), 1, "sandbox exec is not offered", "0 passed, 2 failed, 0 skipped"},
    {FAULTY("null-close-of-sandbox"), 0, "2 passed, 0 failed, 0 skipped", NULL},
    {FAULTY("crash-in-exec"), 1, "the worker ended by SIGSEGV inside sandbox.exec",
     "1 passed, 1 failed, 0 skipped"},
    {FAULTY("crash-in-exec"), 1, "about to crash", NULL},
    {FAULTY("exit-in-exec"), 1, "the worker ended by exit code 9 inside sandbox.exec",
     "1 passed, 1 failed, 0 skipped"},
    {FAULTY("hang-in-exec") " --option case_deadline_ms=500 --option grace_ms=100", 1,
     "passed inside sandbox.exec", "1 passed, 1 failed, 0 skipped"},
    /* At the end of the worker no case is running, so it is nobody's failure. */
    {FAULTY("crash-in-close"), 3, "the worker did not end well: SIGSEGV", "2 passed"},
    {FAULTY("crash-in-destroy"), 3, "the worker did not end well: SIGSEGV",
     "sandbox the-only-one could not be removed"},
    /* A crash of the suite's own code is laid to no subject, plugin or not. */
    {"\"$0\" run --provider local --suite-plugin \"$2/plugin_faulty.so\" --suite faulty", 3,
     "the worker ended by SIGSEGV in the case's own code", "1 passed, 2 failed, 0 skipped"},
    {"\"$0\" run --provider plugin:\"$2/plugin_faulty.so\" --suite-plugin "
     "\"$2/plugin_faulty.so\" --suite faulty",
     3, "the worker ended by SIGSEGV in the case's own code", "1 passed, 2 failed, 0 skipped"},
};

Test(plugin, what_breaks)
{
	check_rows(broken, SP_COUNT(broken));
}

#define CLOCK " --suite-plugin \"$2/plugin_clock.so\""

#define BROKEN " --provider plugin:\"$2/plugin_faulty.so:null-exec\" --tag quick" CLOCK

/* Foreign suites are treated like ours everywhere. */
static const struct row suites[] = {
    {"\"$0\" list --suite clock" CLOCK, 0, "clock.now.is-ours", "what a team asks of the clock"},
    {"\"$0\" list --suite clock", 2, "unknown suite \"clock\"", NULL},
    {"\"$0\" list --json --tag quick" CLOCK " | jq -r '.[].id'", 0,
     "clock.now.is-ours\nclock.zone.utc\n", NULL},
    {"\"$0\" show clock:C2" CLOCK, 0, "Its time zone is UTC.", "--suite-plugin"},
    {"\"$0\" show clock" CLOCK, 0, "loaded from", "clock:C3  MUST"},
    {"\"$0\" run --provider local --suite clock" CLOCK " --report junit=\"$1/j.xml\" "
     "--results \"$1/r\" && grep -c 'testcase name=' \"$1/j.xml\"",
     0, "3 passed, 0 failed, 0 skipped", NULL},
    {"\"$0\" report clauses \"$1/r\"", 0, "clock:C2", NULL},
    {"\"$0\" run --provider local --case 'clock.z*'" CLOCK, 0, "1 passed, 0 failed, 0 skipped",
     NULL},
    /* The line that runs one case again names the file, and can be run. */
    {"\"$0\" run" BROKEN " --results \"$1/w\" >/dev/null; line=$(jq -r "
     "'select(.id == \"clock.now.is-ours\").rerun' \"$1/w\"); echo \"$line\"; eval \"$line\"",
     1, "--suite-plugin", "0 passed, 1 failed, 0 skipped"},
    /* A list of known failures may name its cases, and is stale where they are not known. */
    {"echo 'clock.*.* | exec answers | ours' >\"$1/b\"; \"$0\" run" BROKEN " --baseline \"$1/b\"",
     0, "0 passed, 0 failed, 2 skipped", NULL},
    {"\"$0\" baseline update \"$1/w\" --baseline \"$1/b2\"" CLOCK, 0,
     "1 added, 0 changed, 0 removed", NULL},
    {"\"$0\" baseline update \"$1/w\" --baseline \"$1/b2\"", 0, "0 changed, 1 removed", NULL},
    {"\"$0\" run --provider local --case exec.code.no-program --baseline \"$1/b\"", 1,
     "lists \"clock.*.*\", and no case of any suite is of that name", NULL},
    /* Another requirement set: not merged silently. */
    {"\"$0\" run --provider local --case exec.code.no-program --results \"$1/o\" >/dev/null; "
     "\"$0\" report clauses \"$1/r\" \"$1/o\"",
     3, "two requirement sets", NULL},
};

Test(plugin, suites)
{
	check_rows(suites, SP_COUNT(suites));
}

/* The command lines that the headers of the examples give, on a machine with a compiler. */
static const struct row built_by_hand[] = {
    {"cd \"$1\" && cc -shared -fPIC -Wall -Wextra -Werror -I \"$3/harness/include\" -o box.so "
     "\"$3/providers/plugin/examples/box.c\" && "
     "\"$0\" run --provider plugin:./box.so --suite exec",
     0, " 0 failed, ", NULL},
    {"cd \"$1\" && cc -shared -fPIC -Wall -Wextra -Werror -I \"$3/harness/include\" -o "
     "clock.so \"$3/providers/plugin/examples/clock.c\" && "
     "\"$0\" run --suite-plugin clock.so --suite clock --provider local",
     0, "3 passed, 0 failed, 0 skipped", NULL},
    /* CONFIG reaches the plugin; what it made there is gone. */
    {"\"$0\" run --provider plugin:\"$2/plugin_box.so:$1/boxes\" --case "
     "exec.code.no-program && ls -A \"$1/boxes\" | wc -l",
     0, "\n0\n", NULL},
    {"\"$0\" run --provider plugin:\"$2/plugin_box.so:/nowhere/boxes\" --case "
     "exec.code.no-program",
     3, "the folder /nowhere/boxes cannot be made", NULL},
    /* The same sources as `local`, and the same result. */
    {"\"$0\" run --provider plugin:\"$2/plugin_local.so\" --suite kill --suite exec", 0,
     " 0 failed, ", NULL},
    {"\"$0\" run --provider plugin:\"$2/plugin_local.so:poll\" --suite journal", 0, " 0 failed, ",
     NULL},
};

Test(plugin, examples)
{
	check_rows(built_by_hand, SP_COUNT(built_by_hand));
}

/*
 * A plugin that was built with coverage, in a worker that ends in each way: the line that it ended
 * in is counted. gcov says "     1:   84:" of a line that was, "#####" of one that was not.
 */
#define COVERED(config, options, line)                                                             \
	"cd \"$1\" && rm -rf c && cc --coverage -shared -fPIC -I \"$3/harness/include\" -o "       \
	"cov.so "                                                                                  \
	"\"$3/providers/plugin/test/faulty.c\" && \"$0\" run --provider plugin:./cov.so:" config   \
	" --case exec.code.passes-through --coverage c" options                                    \
	"; cd \"c$1\" && gcov -t *.gcda | grep -cE '^ +[1-9][0-9]*[*]?:.*" line "'"

static const struct row covered[] = {
    {COVERED("healthy", "", "pclose"), 0, "1 passed, 0 failed, 0 skipped", "\n1\n"},
    /* By TERM at its deadline. */
    {COVERED("hang-in-exec", " --option case_deadline_ms=500 --option grace_ms=60000", "pause"), 0,
     "passed inside sandbox.exec", "\n1\n"},
    {COVERED("abort-in-exec", "", "abort..;"), 0, "the worker ended by SIGABRT", "\n1\n"},
    {COVERED("exit-in-exec", "", "exit.9"), 0, "the worker ended by exit code 9", "\n1\n"},
    /* A suite's cases are in a plugin as well. */
    {"cd \"$1\" && cc --coverage -shared -fPIC -I \"$3/harness/include\" -o clock.so "
     "\"$3/providers/plugin/examples/clock.c\" && \"$0\" run --suite-plugin clock.so --suite "
     "clock --provider local --coverage s && cd \"s$1\" && gcov -t *.gcda | grep -c "
     "'#####.*output_of'",
     1, "3 passed, 0 failed, 0 skipped", "\n0\n"},
    {"\"$0\" run --provider plugin:\"$2/plugin_faulty.so\" --case exec.code.passes-through "
     "--coverage \"$1/none\"",
     0, "build the plugin with --coverage", NULL},
    {"\"$0\" run --provider local --coverage \"$1/none\"", 2, "this run has none", NULL},
    {"\"$0\" run --provider plugin:\"$2/plugin_faulty.so\" --coverage /proc/none", 3,
     "--coverage: /proc/none cannot be made", NULL},
};

/* Present only where this program's own coverage is counted. */
void __gcov_dump(void) __attribute__((weak));

Test(plugin, coverage)
{
	if (__gcov_dump)
		cr_skip_test("the program counts itself, beside its plugins");
	check_rows(covered, SP_COUNT(covered));
}

/* What a plugin can see of the program is the contract, whole, and nothing else. */
Test(plugin, exports)
{
	struct sp_run_result r = run_text(
	    "sed -n 's/^\\t\\(sp_.*\\);$/\\1/p' \"$2/../generated/exports.list\" | sort -u "
	    ">\"$1/list\"; nm -D --defined-only \"$0\" | awk '$2 == \"T\" { print $3 }' | "
	    "grep -v '^_' | sort -u >\"$1/there\"; wc -l <\"$1/list\" >&2; "
	    "diff \"$1/list\" \"$1/there\"");

	cr_expect_eq(r.code, 0, "only listed (<), only there (>):\n%s", r.out);
	cr_expect_geq(strtol(r.err, NULL, 10), 100, "the list has %s", r.err);
	sp_run_result_done(&r);
}
