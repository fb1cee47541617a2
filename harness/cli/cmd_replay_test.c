/* SPDX-License-Identifier: MIT */
/* Dialogues played again: real ones, and ones that were made up together with their driver. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/testing.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"
#define SERVED "driver:" PROGRAM " serve "

SP_TEST_SUITE_WITH_STATE(replay);

#define RUN(...) sp_test_run((const char *const[]){PROGRAM, __VA_ARGS__, NULL})

/* ---- Real dialogues ---- */

/*
 * A trace of our own provider and store, behind the protocol; malloc'ed path. Of cases that do not
 * look round after round whether something has happened yet: those answers are the machine's.
 */
static char *record(void)
{
	char *results SP_FREE = NULL, *trace = NULL;
	struct sp_run_result result;

	if (asprintf(&results, "%s/r", state) < 0 || asprintf(&trace, "%s/r.trace", state) < 0)
		return NULL;
	result = RUN("run", "--provider", SERVED "--provider local", "--store",
		     SERVED "--store memory", "--case", "exec.code.passes-through", "--case",
		     "exec.code.no-program", "--case", "fs.write.parents", "--case",
		     "store.value.*", "--case", "lock.hold.*", "--trace", "--results", results);
	cr_expect_eq(result.code, 0, "%s", result.out);
	sp_run_result_done(&result);
	return trace;
}

Test(replay, the_same_driver_answers_the_same)
{
	char *trace SP_FREE = record();
	struct sp_run_result result = RUN("replay", trace, "--provider", SERVED "--provider local",
					  "--store", SERVED "--store memory");

	cr_expect_eq(result.code, 0, "%s%s", result.out, result.err);
	cr_expect(strstr(result.out, " 0 differences"), "%s", result.out);
	cr_expect_not(strstr(result.out, " 0 requests"), "%s", result.out);
	cr_expect_not(strstr(result.err, "left out"), "%s", result.err);
	sp_run_result_done(&result);
}

Test(replay, another_driver_is_told_apart_and_a_kind_that_is_not_named_is_left_out)
{
	char *trace SP_FREE = record();
	struct sp_run_result result =
	    RUN("replay", trace, "--json", "--provider",
		"driver:" SP_SOURCE_DIR "/providers/driver/examples/exec.bash");

	cr_expect_eq(result.code, 1, "%s%s", result.out, result.err);
	cr_expect(strstr(result.out,
			 "\"at\":\"result.provider.name\",\"expected\":\"\\\"local\\\"\","
			 "\"actual\":\"\\\"bash-exec\\\"\"}"),
		  "%s", result.out);
	cr_expect(strstr(result.out, "\"method\":\"fs/write\""), "%s", result.out);
	cr_expect(strstr(result.err, "are left out"), "%s", result.err);
	sp_run_result_done(&result);
}

/* ---- Dialogues that were made up; ' stands for " ---- */

#define ROW(how, text) "{'driver':'d','" how "':{'jsonrpc':'2.0'," text "}}\n"
#define SENT(text) ROW("sent", text)
#define RECEIVED(text) ROW("received", text)
#define BEGIN                                                                                      \
	SENT("'id':1,'method':'initialize','params':{'protocol':1}")                               \
	RECEIVED("'id':1,'result':{'protocol':1,'driver':{'name':'a'},'provider':{'name':'p'}}")
#define CREATE                                                                                     \
	SENT("'id':2,'method':'provider/create','params':{'network':'default','env':{}}")          \
	RECEIVED("'id':2,'result':{'sandbox':'s1','id':'traced-77','workspace_root':'/old/root'}")
#define EXEC(params) SENT("'id':3,'method':'sandbox/exec','params':{'sandbox':'s1'," params "}")
#define PLAIN(code) RECEIVED("'id':3,'result':{'stdout':'','stderr':'','exit_code':" code "}")
#define READ(id)                                                                                   \
	SENT("'id':" id                                                                            \
	     ",'method':'process/read','params':{'process':'p','stream':'stdout','max':9}")
#define PIECE(id, data) RECEIVED("'id':" id ",'result':{'data':'" data "'}")
#define END(id) RECEIVED("'id':" id ",'result':{'end':true}")

/* The driver's own ids are others; exec is what a row says. */
static const char driver_text[] =
    "say() { printf '{\"jsonrpc\":\"2.0\",\"id\":%%s,%%s}\\n' \"$id\" \"$1\"; }\n"
    "exited() { say '\"result\":{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":'\"$1\"'}'; }\n"
    "pieces=0\n"
    "while IFS= read -r line; do\n"
    "[[ $line =~ \\\"id\\\":([0-9]+),\\\"method\\\" ]] && id=${BASH_REMATCH[1]}\n"
    "case $line in\n"
    "*initialize*) say '\"result\":{\"protocol\":1,\"provider\":{\"name\":\"p\"}}' ;;\n"
    "*provider/create*) say '\"result\":{\"sandbox\":\"h9\",\"id\":\"made-1\","
    "\"workspace_root\":\"/n\"}' ;;\n"
    "*provider/destroy*made-1*) say '\"result\":{}'; echo destroyed >\"$0.destroyed\" ;;\n"
    "%s\n"
    "*) say '\"error\":{\"code\":-2,\"message\":\"no such method\"}' ;;\n"
    "esac; done\n";

static const struct row {
	const char *name, *trace, *exec;
	int code;
	/* In one of the outputs. */
	const char *says;
} rows[] = {
    {"what the driver makes up takes the traced one's place",
     BEGIN CREATE EXEC("'command':'ls /old/root traced-77'") PLAIN("0"),
     "*'\"sandbox\":\"h9\"'*'ls /n made-1'*) exited 0 ;;", 0, " 0 differences"},
    {"also within base64", BEGIN CREATE EXEC("'command':{'base64':'L29sZC9yb290'}") PLAIN("0"),
     "*'{\"base64\":\"L24=\"}'*) exited 0 ;;", 0, " 0 differences"},
    {"another value is told with its line", BEGIN CREATE EXEC("'command':'x'") PLAIN("0"),
     "*exec*) exited 7 ;;", 1,
     "line 6  sandbox/exec  result.exit_code\n      expected   0\n"
     "      actual     7\n"},
    {"an error instead of a result", BEGIN CREATE EXEC("'command':'x'") PLAIN("0"),
     "*exec*) say '\"error\":{\"code\":-4,\"message\":\"it is gone\"}' ;;", 1, "it is gone"},
    {"another code, and the words do not count",
     BEGIN CREATE EXEC("'command':'x'") RECEIVED("'id':3,'error':{'code':-3,'message':'a'}"),
     "*exec*) say '\"error\":{\"code\":-4,\"message\":\"b\"}' ;;", 1,
     "expected   not-found\n      actual     gone"},
    {"the same code in other words",
     BEGIN CREATE EXEC("'command':'x'") RECEIVED("'id':3,'error':{'code':-3,'message':'a'}"),
     "*exec*) say '\"error\":{\"code\":-3,\"message\":\"b\"}' ;;", 0, " 0 differences"},
    {"a mask is sent as it stands, and told",
     BEGIN CREATE EXEC("'command':'x','env':{'A':'[redacted]','B':'[redacted]'}")
	 RECEIVED("'id':3,'result':{'stdout':'a [redacted]','stderr':'','exit_code':0}"),
     "*'\"A\":\"[redacted]\"'*) exited 0 ;;", 0, "line 5: the trace has [redacted]"},
    {"an integer stays what it is",
     BEGIN CREATE EXEC("'command':'x','n':9007199254740991") PLAIN("0"),
     "*9007199254740991*) exited 0 ;;", 0, " 0 differences"},
    {"a cancel names the call by its id here",
     BEGIN CREATE READ("3") PIECE("3", "a") READ("4") PIECE("4", "b")
	 SENT("'id':5,'method':'sandbox/exec','params':{'sandbox':'s1'}")
	     SENT("'method':'$/cancel','params':{'id':5,'code':'aborted','reason':'away'}")
		 RECEIVED("'id':5,'error':{'code':-9,'message':'away'}"),
     "*process/read*) say '\"result\":{\"data\":\"ab\"}' ;; *exec*) ;;\n"
     "*cancel*'\"id\":4,'*) say '\"error\":{\"code\":-9,\"message\":\"away\"}' ;;",
     0, " 0 differences"},
    {"output in larger pieces",
     BEGIN CREATE READ("3") PIECE("3", "a") READ("4") PIECE("4", "b") READ("5") END("5"),
     "*read*) ((pieces++)) && say '\"result\":{\"end\":true}' ||"
     " say '\"result\":{\"data\":\"ab\"}' ;;",
     0, " 0 differences"},
    {"output in smaller pieces", BEGIN CREATE READ("3") PIECE("3", "aaa") READ("4") END("4"),
     "*read*) ((++pieces > 3)) && say '\"result\":{\"end\":true}' ||"
     " say '\"result\":{\"data\":\"a\"}' ;;",
     0, " 0 differences"},
    {"less output", BEGIN CREATE READ("3") PIECE("3", "aaa") READ("4") END("4"),
     "*read*) ((++pieces > 2)) && say '\"result\":{\"end\":true}' ||"
     " say '\"result\":{\"data\":\"a\"}' ;;",
     1, "expected   1 bytes more\n      actual     the end of the stream"},
    {"other output", BEGIN CREATE READ("3") PIECE("3", "aaa") READ("4") END("4"),
     "*read*) ((++pieces > 3)) && say '\"result\":{\"end\":true}' ||"
     " say '\"result\":{\"data\":\"b\"}' ;;",
     1, "line 6  process/read  result.data"},
    {"a lost lease is waited for",
     BEGIN SENT("'id':2,'method':'lock/acquire','params':{'key':'k'}")
	 RECEIVED("'id':2,'result':{'lease':'l1','fence':1}")
	     RECEIVED("'method':'lock/lost','params':{'lease':'l1'}"),
     "*acquire*) say '\"result\":{\"lease\":\"new\",\"fence\":2}'; echo '{\"jsonrpc\":\"2.0\","
     "\"method\":\"lock/lost\",\"params\":{\"lease\":\"new\"}}' ;;",
     0, " 0 differences"},
    {"a violation that the trace has not", BEGIN CREATE EXEC("'command':'x'") PLAIN("0"),
     "*exec*) echo "
     "'{\"jsonrpc\":\"2.0\",\"method\":\"$/violation\",\"params\":{\"message\":\"v\"}}'"
     "; exited 0 ;;",
     1, "$/violation  how many"},
    {"no answer within the limit", BEGIN CREATE EXEC("'command':'x'") PLAIN("0"), "*exec*) ;;", 1,
     "line 6  sandbox/exec  answer"},
    {"the driver ends", BEGIN CREATE EXEC("'command':'x'") PLAIN("0"),
     "*exec*) echo out of cheese >&2; exit 3 ;;", 3, "ended with exit code 3"},
    {"the driver says what is no message", BEGIN CREATE EXEC("'command':'x'") PLAIN("0"),
     "*exec*) echo hello ;;", 3, "at line 6 of the trace"},
    {"a cut-off last line is the end", BEGIN CREATE "{'driver':'d','sent':{'json", "", 0,
     "line 5 is cut off"},
    {"a line that is no JSON", BEGIN "nonsense\n" CREATE, "", 3, ":3: "},
    {"an answer to nothing", BEGIN PLAIN("0"), "", 3, ":3: an answer to nothing"},
    {"no initialize", CREATE, "", 3, ":1: initialize is not the first request"},
    {"nothing at all", "", "", 3, ":1: there is no dialogue in it"},
};

static void write_text(const char *path, const char *text, bool quotes)
{
	char *copy SP_FREE = strdup(text);

	for (char *at = copy; quotes && (at = strchr(at, '\''));)
		*at = '"';
	cr_expect_eq(sp_write_file(path, copy, strlen(copy), 0600, NULL), 0);
}

static void check_row(const struct row *row, const char *trace, const char *driver)
{
	char *spec SP_FREE = NULL, *text SP_FREE = NULL;
	/* A lock's dialogue is played by who is named for locks. */
	const char *option = strstr(row->trace, "lock/") ? "--lock" : "--provider";
	struct sp_run_result result;

	cr_assert(asprintf(&spec, "driver:bash %s", driver) > 0);
	cr_assert(asprintf(&text, driver_text, row->exec) > 0);
	write_text(trace, row->trace, true);
	write_text(driver, text, false);
	result = RUN("replay", trace, option, spec, "--limit-ms",
		     strstr(row->name, "limit") ? "500" : "60000");
	cr_expect_eq(result.code, row->code, "%s: exit %d, not %d: %s%s", row->name, result.code,
		     row->code, result.out, result.err);
	cr_expect(strstr(result.out, row->says) || strstr(result.err, row->says),
		  "%s: \"%s\" in %s%s", row->name, row->says, result.out, result.err);
	sp_run_result_done(&result);
}

Test(replay, what_differs_is_told_and_nothing_else)
{
	char *trace SP_FREE = NULL, *driver SP_FREE = NULL;

	cr_assert(asprintf(&trace, "%s/t", state) > 0 && asprintf(&driver, "%s/d", state) > 0);
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		check_row(&rows[i], trace, driver);
}

/* The trace ends without it; the sandbox does not stay for that. */
Test(replay, what_the_trace_leaves_is_removed)
{
	char *trace SP_FREE = NULL, *driver SP_FREE = NULL, *mark SP_FREE = NULL;

	cr_assert(asprintf(&trace, "%s/t", state) > 0 && asprintf(&driver, "%s/d", state) > 0 &&
		  asprintf(&mark, "%s.destroyed", driver) > 0);
	check_row(&rows[0], trace, driver);
	cr_expect_eq(access(mark, F_OK), 0, "provider/destroy was called");
}

Test(replay, what_cannot_be_played_is_usage_or_an_error)
{
	static const struct {
		const char *argv[6];
		int code;
		const char *says;
	} calls[] = {
	    {{PROGRAM, "replay", NULL}, 2, "name the trace"},
	    {{PROGRAM, "replay", "/nowhere/t", NULL}, 2, "nobody to play it to"},
	    {{PROGRAM, "replay", "/nowhere/t", "--provider", "local", NULL}, 2, "is no driver"},
	    {{PROGRAM, "replay", "/nowhere/t", "--provider", "driver:true", NULL}, 3, "/nowhere/t"},
	};
	struct sp_run_result result;
	char *trace SP_FREE = NULL;

	for (size_t i = 0; i < SP_COUNT(calls); i++) {
		result = sp_test_run(calls[i].argv);
		cr_expect_eq(result.code, calls[i].code, "%zu: %d: %s", i, result.code, result.err);
		cr_expect(strstr(result.err, calls[i].says), "%s", result.err);
		sp_run_result_done(&result);
	}
	cr_assert(asprintf(&trace, "%s/t", state) > 0);
	write_text(trace, BEGIN CREATE, true);
	result = RUN("replay", trace, "--store", "driver:true");
	cr_expect_eq(result.code, 2, "%s", result.err);
	sp_run_result_done(&result);
	result = RUN("replay", trace, "--provider", "driver:/nowhere/driver");
	cr_expect(result.code == 3 && strstr(result.err, "line 1: the driver cannot be started"),
		  "%d: %s", result.code, result.err);
	sp_run_result_done(&result);
}
