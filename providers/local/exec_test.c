/* SPDX-License-Identifier: MIT */
#include <providers/local/test_fixture.h>

static const struct {
	const char *command;
	int code;
	const char *out, *err;
} commands[] = {
    {"true", 0, "", ""},
    {"", 0, "", ""},
    {"exit 7", 7, "", ""},
    {"echo out; echo err >&2", 0, "out\n", "err\n"},
    {"kill -KILL $$", 137, "", ""},
    {"kill -TERM $$", 143, "", ""},
    {"exit 143", 143, "", ""},
    {"cat; echo end", 0, "end\n", ""},
    {"printf '%s' \"$0\"", 0, "bash", ""},
    {"printf %s \"${PWD##*/} ${HOME##*/}\"", 0, "workspace root", ""},
    {"trap 'echo T' TERM; kill $$; :", 0, "T\n", ""},
    /* The leader leads its own group. */
    {"read -r _ _ _ _ g _ </proc/$$/stat; [[ $g = $$ ]]", 0, "", ""},
    /* Nothing beyond the three standard descriptors. */
    {"for n in {3..20} 255; do [[ ! -e /proc/$$/fd/$n ]] || echo $n; done", 0, "", ""},
    /* A background child holds the output and does not hold the answer. */
    {"sleep 1000 & echo now", 0, "now\n", ""},
    {"definitely-not-a-command", 127, "",
     "bash: line 1: definitely-not-a-command: command not found\n"},
};

Test(exec, commands)
{
	struct fixture f;

	fixture_open(&f, false, 50);
	for (size_t i = 0; i < SP_COUNT(commands); i++) {
		struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = run_command(&f, commands[i].command, &result, &err);
		cr_expect_eq(rc, 0, "%s: %s", commands[i].command, err.message);
		if (rc < 0)
			continue;
		cr_expect_eq(result.exit_code, commands[i].code, "%s: expected %d, got %d",
			     commands[i].command, commands[i].code, result.exit_code);
		cr_expect_str_eq((char *)result.stdout_bytes.data, commands[i].out, "%s: [%s]",
				 commands[i].command, (char *)result.stdout_bytes.data);
		cr_expect_str_eq((char *)result.stderr_bytes.data, commands[i].err, "%s: [%s]",
				 commands[i].command, (char *)result.stderr_bytes.data);
	}
	fixture_close(&f);
}

Test(exec, output_is_a_prefix_in_bytes)
{
	struct fixture f;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;

	fixture_open(&f, false, 50);
	cr_assert_eq(
	    run_command(
		&f,
		"for((i=0;i<50000;i++)); do printf 'line %d\\n' $i; done; printf '\\377\\0x' >&2",
		&result, NULL),
	    0);
	cr_expect_eq(result.stdout_bytes.len, 1000);
	cr_expect(result.stdout_cut);
	cr_expect_eq(strncmp((char *)result.stdout_bytes.data, "line 0\nline 1\n", 14), 0);
	cr_expect(!result.stderr_cut);
	cr_expect_eq(result.stderr_bytes.len, 3);
	cr_expect_eq(memcmp(result.stderr_bytes.data, "\377\0x", 3), 0);
	fixture_close(&f);
}

Test(exec, a_long_command_arrives_whole)
{
	struct fixture f;
	const size_t size = 300 * 1024;
	char *command SP_FREE = malloc(size + 256);

	fixture_open(&f, false, 50);
	/* A comment fills it; the line number shows that nothing was put before the text. */
	command[0] = '#';
	memset(command + 1, 'x', size);
	static const char tail[] = "\necho $LINENO $0 $#; for n in {3..20} 255; do [[ ! -e "
				   "/proc/$$/fd/$n ]] || echo $n; done";
	memcpy(command + size, tail, sizeof(tail));
	expect_output(&f, command, "2 bash 0\n");
	fixture_close(&f);
}

Test(exec, cwd)
{
	static const struct {
		const char *cwd;
		int rc;
		const char *out;
	} folders[] = {
	    {NULL, 0, "workspace"},
	    {"/workspace", 0, "workspace"},
	    {"/workspace/sub", 0, "sub"},
	    {"sub", 0, "sub"},
	    {"/usr", 0, "usr"},
	    {"missing", SP_NOT_FOUND, ""},
	    {"/workspace/missing", SP_NOT_FOUND, ""},
	    {"file", SP_NOT_FOUND, ""},
	};
	struct fixture f;

	fixture_open(&f, false, 50);
	expect_output(&f, "mkdir sub; : >file", "");
	for (size_t i = 0; i < SP_COUNT(folders); i++) {
		struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
		struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
		options.command = "printf %s \"${PWD##*/}\"; echo ran >>/dev/stderr";
		options.cwd = folders[i].cwd;
		int rc = sp_sandbox_exec(&f.sandbox, &options, &result, NULL);
		cr_expect_eq(rc, folders[i].rc, "%s: %s", folders[i].cwd, sp_code_name(rc));
		cr_expect_eq(strcmp(rc ? "" : (char *)result.stdout_bytes.data, folders[i].out), 0,
			     "%s", folders[i].cwd);
	}
	fixture_close(&f);
}

Test(exec, a_fired_cancel_starts_nothing)
{
	struct fixture f;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_cancel *cancel = sp_cancel_new();
	bool there = true;

	fixture_open(&f, false, 50);
	sp_cancel_abort(cancel, "because");
	options.command = ": >ran";
	options.cancel = cancel;
	cr_expect_eq(sp_sandbox_exec(&f.sandbox, &options, &result, &err), SP_ABORTED);
	cr_expect_str_eq(err.message, "because");
	cr_expect_eq(sp_sandbox_spawn(&f.sandbox, &options, &process, NULL), SP_ABORTED);
	cr_expect_eq(sp_sandbox_exists(&f.sandbox, "ran", &there, NULL, NULL), 0);
	cr_expect(!there);
	cr_expect_eq(sp_cancel_refs(cancel), 1);
	sp_cancel_unref(cancel);
	fixture_close(&f);
}

static void *abort_when_marked(void *arg)
{
	struct fixture *f = arg;
	bool there = false;

	while (!there && sp_sandbox_exists(&f->sandbox, "marked", &there, f->cancel, NULL) == 0)
		;
	sp_cancel_abort(f->cancel, "enough");
	return NULL;
}

Test(exec, an_abort_ends_the_command_first)
{
	struct fixture f;
	pthread_t thread;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	fixture_open(&f, false, 50);
	int witness = open_witness(&f, "fifo");
	cr_assert_eq(pthread_create(&thread, NULL, abort_when_marked, &f), 0);
	int rc = run_command(&f, "exec 9>fifo; trap '' TERM; setsid sleep 1000 & : >marked; wait",
			     &result, &err);
	pthread_join(thread, NULL);
	cr_expect_eq(rc, SP_ABORTED, "%s", sp_code_name(rc));
	cr_expect_str_eq(err.message, "enough");
	cr_expect(witness_ended(witness), "something of the command lives after the answer");
	cr_expect_eq(sp_cancel_watchers(f.cancel), 0);
	cr_expect_eq(sp_cancel_refs(f.cancel), 1);
	close(witness);
	fixture_close(&f);
}

Test(exec, the_rest_of_the_group_is_dead_before_the_answer)
{
	struct fixture f;

	fixture_open(&f, false, 50);
	int witness = open_witness(&f, "fifo");
	expect_output(
	    &f, "exec 9>fifo; (trap '' TERM HUP; sleep 1000; sleep 1000) & sleep 1000 & :", "");
	cr_expect(witness_ended(witness));
	close(witness);
	fixture_close(&f);
}

Test(exec, a_background_session_keeps_writing_after_the_answer)
{
	struct fixture f;
	int before = sp_count_fds();

	fixture_open(&f, false, 50);
	int witness = open_witness(&f, "fifo");
	/* Far more than a pipe holds: it can finish only if somebody still reads. */
	expect_output(&f,
		      "mkfifo go up; setsid bash -c 'exec 9>fifo; echo up >up; read x <go; "
		      "head -c 1000000 /dev/zero; : >wrote' & read y <up; echo told",
		      "told\n");
	expect_output(&f,
		      "echo go >go; until [[ -e wrote ]]; do read -t 0.01 <> <(:); done; echo all",
		      "all\n");
	close(witness);
	fixture_close(&f);
	cr_expect_eq(sp_count_fds(), before, "descriptors: %d before, %d after", before,
		     sp_count_fds());
}
