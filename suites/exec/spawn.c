/* SPDX-License-Identifier: MIT */
/* Spawned commands: output while they run, streams apart, several at once. */
#include <string.h>

#include <witness/fifo.h>
#include <witness/made.h>
#include <witness/rounds.h>

#include "cases.h"
#include "run.h"

/* The first line of a process, as far as it came. */
struct first_line {
	struct sp_process *process;
	char text[16];
	size_t len;
};

static int read_first_line(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct first_line *line = arg;
	size_t n;
	int rc;

	do {
		n = 0;
		rc = sp_process_read(line->process, SP_STDOUT, line->text + line->len,
				     sizeof(line->text) - line->len, &n, cancel, &result->err);
		line->len += n;
	} while (rc == 0 && n && line->len < sizeof(line->text) &&
		 !memchr(line->text, '\n', line->len));
	return rc;
}

void exec_spawn_delivers(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes rest SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct first_line line = { .process = &child.process };
	struct sp_call *reading SP_CALL = NULL;
	struct sp_call_result *result;
	struct sp_exit ended;
	struct sp_fifo go;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "live", &place) &&
		   sp_fifo_make(&place, "go", &go));
	SP_REQUIRE(sp_spawn(t, sandbox, &child, "echo one; read -r line <%s; echo two; exit 4",
			    go.path));
	reading = sp_call_start(t, read_first_line, &line);
	SP_REQUIRE(reading);
	/* The command stands at its FIFO: what is read now was delivered while it runs. */
	SP_REQUIRE(SP_CHECK(t, !sp_rounds_pending(t, sandbox, reading),
			    "the first line arrives while the command runs"));
	SP_REQUIRE(!sp_case_failed(t));
	result = sp_call_join(reading);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "reading while the command runs"));
	SP_REQUIRE(SP_CHECK_BYTES(t, "one\n", 4, line.text, line.len,
				  "the line that was written first"));
	SP_REQUIRE(sp_fifo_put(&go, "go") && sp_spawned_read(&child, SP_STDOUT, 64, &rest));
	SP_CHECK_BYTES(t, "two\n", 4, rest.data, rest.len,
		       "the line that was written after the first was read");
	SP_REQUIRE(sp_spawned_wait(&child, &ended));
	SP_CHECK_INT(t, 4, ended.code, "the command's own code");
}

void exec_spawn_streams_apart(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_bytes err SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

	SP_REQUIRE(sandbox &&
		   sp_spawn(t, sandbox, &child, "echo O; echo E >&2; echo P; echo F >&2"));
	SP_REQUIRE(sp_spawned_read(&child, SP_STDERR, 64, &err) &&
		   sp_spawned_read(&child, SP_STDOUT, 64, &out));
	SP_CHECK_BYTES(t, "O\nP\n", 4, out.data, out.len, "stdout of a spawned command");
	SP_CHECK_BYTES(t, "E\nF\n", 4, err.data, err.len, "stderr of a spawned command");
}

void exec_spawn_own_code(struct sp_case *t)
{
	static const int codes[] = { 0, 1, 37, 127, 255 };
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	SP_REQUIRE(sandbox);
	for (size_t i = 0; i < SP_COUNT(codes); i++) {
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_exit ended;

		SP_REQUIRE(sp_spawn(t, sandbox, &child, "exit %d", codes[i]) &&
			   sp_spawned_wait(&child, &ended));
		SP_REQUIRE(SP_CHECK_INT(t, codes[i], ended.code, "code of a spawned \"exit %d\"",
					codes[i]));
		SP_REQUIRE(SP_CHECK_STR(t, "exited", sp_exit_how_name(ended.how),
					"why \"exit %d\" ended", codes[i]));
	}
}

void exec_spawn_small_reads(struct sp_case *t)
{
	static const char want[] = "a\xc3\xa9z\xe2\x82\xac!\xf0\x9f\x98\x80\n";
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	char got[64];
	size_t have = 0;

	SP_REQUIRE(sandbox && sp_spawn(t, sandbox, &child, "printf '%s'",
				       "a\\303\\251z\\342\\202\\254!\\360\\237\\230\\200\\n"));
	for (;;) {
		struct sp_error err = SP_ERROR_INIT;
		size_t n = 0;
		int rc = sp_process_read(&child.process, SP_STDOUT, got + have, 4, &n,
					 sp_case_cancel(t), &err);

		SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "reading four bytes at a time"));
		if (n == 0)
			break;
		SP_REQUIRE(SP_CHECK(t, n <= 4 && have + n + 4 <= sizeof(got),
				    "a read gives no more than was asked for"));
		have += n;
	}
	SP_CHECK_BYTES(t, want, sizeof(want) - 1, got, have, "the pieces joined");
}

void exec_spawn_folder_and_redirection(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_exec_options options;
	const char *dir;
	const char *seen;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "cwd", &place));
	dir = sp_place_path(&place, "a b");
	SP_REQUIRE(sp_sh_ok(t, sandbox, "mkdir '%s'", dir));
	options = exec_options(t, "pwd >out; echo after >>out");
	options.cwd = dir;
	SP_REQUIRE(sp_spawn_with(t, sandbox, &child, &options));
	SP_REQUIRE(sp_spawned_read(&child, SP_STDOUT, 4096, &out));
	SP_CHECK_BYTES(t, "", 0, out.data, out.len,
		       "nothing strays onto the stream of a redirected command");
	seen = sp_sh_out(t, sandbox, "cat '%s/out' 2>/dev/null || echo nothing", dir);
	SP_REQUIRE(seen);
	SP_CHECK_STR(t, sp_case_format(t, "%s\nafter", dir), seen,
		     "what the command wrote in its folder");
}

/*
 * A way for the rounds that no queue of this instance stops: the sandbox by another instance
 * (`found`) or, where none is found again (lifecycle.resume.same tells of it), another (`made`).
 */
static struct sp_sandbox *open_aside(struct sp_case *t, struct sp_sandbox *sandbox,
				     struct sp_sandbox *found, struct sp_sandbox *made)
{
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_subject *other = sp_case_second(t);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	if (!other)
		return NULL;
	rc = sp_provider_resume(&other->provider, sp_sandbox_id(sandbox), found, sp_case_cancel(t),
				&err);
	if (rc != SP_UNSUPPORTED)
		return SP_CHECK_OK(t, rc, &err, "another instance finds the sandbox") &&
				       SP_CHECK(t, found->ops, "it finds the sandbox alive")
			       ? found
			       : NULL;
	create.cancel = sp_case_cancel(t);
	rc = sp_provider_create(&other->provider, &create, made, &err);
	return SP_CHECK_OK(t, rc, &err, "another instance makes a sandbox") ? made : NULL;
}

void exec_parallel_both_run(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_fifo left, right;
	struct sp_sandbox found SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox *aside;
	struct sp_exec_options a, b;
	struct sp_call *first SP_CALL = NULL;
	struct sp_call *second SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "pair", &place));
	SP_REQUIRE(sp_fifo_make(&place, "left", &left) && sp_fifo_make(&place, "right", &right));
	/* Each ends only by the other: one after the other they would stand for ever. */
	a = exec_options(t, sp_case_format(t, "echo a >%s; read -r x <%s; echo \"A$x\"", left.path,
					   right.path));
	b = exec_options(t, sp_case_format(t, "read -r x <%s; echo b >%s; echo \"B$x\"", left.path,
					   right.path));
	aside = open_aside(t, sandbox, &found, &made);
	SP_REQUIRE(aside);
	first = sp_call_exec(t, sandbox, &a);
	second = sp_call_exec(t, sandbox, &b);
	SP_REQUIRE(first && second);
	SP_REQUIRE(SP_CHECK(t, !sp_rounds_pending(t, aside, first),
			    "two commands that need each other are through after as many round "
			    "trips"));
	SP_REQUIRE(!sp_case_failed(t));
	result = sp_call_join(first);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err,
			       "the first of two commands that need each other"));
	SP_CHECK_BYTES(t, "Ab\n", 3, result->exec.stdout_bytes.data, result->exec.stdout_bytes.len,
		       "output of the first");
	result = sp_call_join(second);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err,
			       "the second of two commands that need each other"));
	SP_CHECK_BYTES(t, "Ba\n", 3, result->exec.stdout_bytes.data, result->exec.stdout_bytes.len,
		       "output of the second");
}

void exec_return_background_child(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_exec_options options;
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "back", &place));
	options = exec_options(t, sp_case_format(t, "( %s ) & printf done", place.hold));
	call = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(call);
	SP_REQUIRE(SP_CHECK(t, !sp_rounds_pending(t, sandbox, call),
			    "exec answers when its own process has ended, although a background "
			    "child holds its output"));
	SP_REQUIRE(!sp_case_failed(t));
	result = sp_call_join(call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "exec with a child in the background"));
	SP_CHECK_BYTES(t, "done", 4, result->exec.stdout_bytes.data, result->exec.stdout_bytes.len,
		       "output of the command itself");
	SP_CHECK_INT(t, 0, result->exec.exit_code, "code of the command itself");
}
