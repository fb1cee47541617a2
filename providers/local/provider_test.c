/* SPDX-License-Identifier: MIT */
#include <providers/local/test_fixture.h>

#include <signal.h>

Test(provider, declares_what_it_does)
{
	struct fixture f;

	fixture_open(&f, false, 50);
	const struct sp_capabilities *caps = sp_provider_capabilities(&f.provider);
	cr_expect(caps->writable_stdin && caps->ports && caps->fork && caps->follow);
	cr_expect(!caps->snapshots && !caps->network_policy);
	cr_expect_eq(caps->kill_reach, SP_REACH_SESSION);
	cr_expect_eq(caps->output, SP_OUTPUT_BYTES);
	cr_expect_eq(caps->signals & 1, 0);
	fixture_close(&f);
}

Test(provider, poll_only_refuses_spawn)
{
	struct fixture f;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	fixture_open(&f, true, 50);
	const struct sp_capabilities *caps = sp_provider_capabilities(&f.provider);
	cr_expect(!caps->background_processes && !caps->follow && !caps->writable_stdin &&
		  caps->signals == 0);
	options.command = "true";
	cr_expect_eq(sp_sandbox_spawn(&f.sandbox, &options, &process, &err), SP_UNSUPPORTED);
	cr_expect(strstr(err.message, "local") && strstr(err.message, "background_processes"), "%s",
		  err.message);
	expect_output(&f, "echo x", "x\n");
	fixture_close(&f);
}

Test(provider, refuses_what_it_cannot_hold)
{
	struct fixture f;
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_env bad = {"PPID", "1"};

	fixture_open(&f, false, 50);
	create.network = SP_NETWORK_DENY;
	cr_expect_eq(sp_provider_create(&f.provider, &create, &sandbox, NULL), SP_UNSUPPORTED);
	create.network = SP_NETWORK_DEFAULT;
	create.env = &bad;
	create.n_env = 1;
	cr_expect_eq(sp_provider_create(&f.provider, &create, &sandbox, NULL), SP_INVALID);
	create.n_env = 0;
	create.cancel = cancel;
	sp_cancel_abort(cancel, "no");
	cr_expect_eq(sp_provider_create(&f.provider, &create, &sandbox, NULL), SP_ABORTED);
	cr_expect_null(sandbox.ops);
	cr_expect_eq(sp_provider_list(&f.provider, &list, NULL, NULL), 0);
	cr_expect_eq(list.len, 1, "only the fixture's own is there, not %zu", list.len);
	sp_cancel_unref(cancel);
	fixture_close(&f);
}

Test(provider, resume_and_destroy_by_id)
{
	struct fixture f;
	struct sp_sandbox second = SP_SANDBOX_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	char id[128], path[512];

	fixture_open(&f, false, 50);
	snprintf(id, sizeof(id), "%s", sp_sandbox_id(&f.sandbox));
	expect_output(&f, "echo kept >kept", "");
	cr_assert_eq(sp_provider_resume(&f.provider, id, &second, NULL, NULL), 0);
	cr_assert_not_null(second.ops);
	cr_expect_eq(sp_provider_destroy(&f.provider, id, NULL, NULL), 0);
	cr_expect_eq(sp_provider_destroy(&f.provider, id, NULL, NULL), 0);
	cr_expect_eq(run_command(&f, "true", &result, NULL), SP_GONE);
	cr_expect_eq(sp_sandbox_write(&second, "x", "", 0, NULL, NULL), SP_GONE);
	sp_sandbox_done(&second);
	cr_expect_eq(sp_provider_resume(&f.provider, id, &second, NULL, NULL), 0);
	cr_expect_null(second.ops, "gone is no handle");
	/* An id never names another folder; a folder of our shape without our file is not ours. */
	snprintf(path, sizeof(path), "%s/victim", f.base);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_expect_eq(sp_provider_destroy(&f.provider, "victim", NULL, NULL), 0);
	cr_expect_eq(sp_provider_destroy(&f.provider, path, NULL, NULL), 0);
	cr_expect_eq(sp_provider_destroy(&f.provider, "../victim", NULL, NULL), 0);
	cr_expect_eq(rmdir(path), 0, "a folder that is not ours was removed");
	snprintf(path, sizeof(path), "%s/sandproof-local-0123456789abcdef", f.base);
	cr_assert_eq(mkdir(path, 0700), 0);
	cr_expect_eq(
	    sp_provider_destroy(&f.provider, "sandproof-local-0123456789abcdef", NULL, NULL),
	    SP_DENIED);
	cr_expect_eq(rmdir(path), 0);
	fixture_close(&f);
}

Test(provider, destroy_ends_everything)
{
	struct fixture f;
	struct sp_local_options options = SP_LOCAL_OPTIONS_INIT;
	struct sp_provider other = SP_PROVIDER_INIT;
	struct sp_exit exit = {SP_EXITED, 0, 0};
	char path[512];

	fixture_open(&f, false, 50);
	int witness = open_witness(&f, "fifo");
	/* A session whose leader's command has long exited, and a command that runs and ignores
	 * TERM. */
	expect_output(&f,
		      "exec 9>fifo; mkfifo up; setsid bash -c 'trap \"\" TERM; echo up >up; while "
		      ":; do sleep 1000; done' & cat up",
		      "up\n");
	struct sp_process process = spawn_command(
	    &f, "exec 9>fifo; trap '' TERM; echo ready; while :; do sleep 1000; done");
	expect_line(&f, &process, "ready");
	cr_expect(!witness_ended(witness));
	/* Another instance, as another process would be: it has no handle and no list of commands.
	 */
	options.base_dir = f.base;
	options.kill_grace_ms = 50;
	cr_assert_eq(sp_local_open(&options, &other, NULL), 0);
	snprintf(path, sizeof(path), "%s/%s", f.base, sp_sandbox_id(&f.sandbox));
	cr_expect_eq(sp_provider_destroy(&other, sp_sandbox_id(&f.sandbox), NULL, NULL), 0);
	cr_expect(witness_ended(witness), "something lives after destroy");
	cr_expect_neq(access(path, F_OK), 0);
	cr_expect_eq(sp_process_wait(&process, &exit, f.cancel, NULL), 0);
	cr_expect(exit.how == SP_SIGNALLED && exit.code == 137, "how %d, code %d", exit.how,
		  exit.code);
	sp_process_done(&process);
	sp_provider_done(&other);
	close(witness);
	fixture_close(&f);
}

static void *destroy_when_marked(void *arg)
{
	struct fixture *f = arg;
	bool there = false;

	while (!there && sp_sandbox_exists(&f->sandbox, "marked", &there, f->cancel, NULL) == 0)
		;
	sp_sandbox_destroy(&f->sandbox, NULL, NULL);
	return NULL;
}

Test(provider, destroy_ends_an_exec_with_gone)
{
	struct fixture f;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	pthread_t thread;

	fixture_open(&f, false, 50);
	cr_assert_eq(pthread_create(&thread, NULL, destroy_when_marked, &f), 0);
	int rc = run_command(&f, ": >marked; sleep 1000", &result, NULL);
	pthread_join(thread, NULL);
	cr_expect_eq(rc, SP_GONE, "%s", sp_code_name(rc));
	fixture_close(&f);
}

Test(provider, fork_and_ports)
{
	struct fixture f;
	struct fixture copy = {0};
	struct sp_port port SP_CLEANUP(sp_port_done) = SP_PORT_INIT;

	fixture_open(&f, false, 50);
	expect_output(&f, "echo one >a; ln -s a l; mkfifo p", "");
	cr_assert_eq(sp_sandbox_fork(&f.sandbox, &copy.sandbox, NULL, NULL), 0);
	expect_output(&f, "echo two >a", "");
	expect_output(&copy, "cat l; printf %s \"$FROM_CREATE\"; echo three >a; ls -A",
		      "one\nca\nl\np\n");
	expect_output(&f, "cat a", "two\n");
	cr_expect_str_neq(sp_sandbox_id(&f.sandbox), sp_sandbox_id(&copy.sandbox));
	cr_expect_eq(sp_sandbox_port_connect(&f.sandbox, 8080, &port, NULL, NULL), 0);
	cr_expect_str_eq(port.url, "http://127.0.0.1:8080");
	cr_expect_eq(sp_sandbox_port_connect(&f.sandbox, 0, &port, NULL, NULL), SP_INVALID);
	cr_expect_eq(sp_sandbox_port_connect(&f.sandbox, 65536, &port, NULL, NULL), SP_INVALID);
	cr_expect_eq(sp_sandbox_destroy(&copy.sandbox, NULL, NULL), 0);
	sp_sandbox_done(&copy.sandbox);
	fixture_close(&f);
}

Test(provider, opening)
{
	struct sp_local_options options = SP_LOCAL_OPTIONS_INIT;
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.base_dir = "relative";
	cr_expect_eq(sp_local_open(&options, &provider, &err), SP_INVALID);
	options.base_dir = "/proc/nowhere";
	cr_expect_eq(sp_local_open(&options, &provider, &err), SP_IO);
	cr_expect_not_null(strstr(err.message, "/proc/nowhere"), "%s", err.message);
	options.base_dir = "/dev/null";
	cr_expect_eq(sp_local_open(&options, &provider, &err), SP_IO);
	cr_expect_null(provider.ops);
}
