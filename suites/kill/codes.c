/* SPDX-License-Identifier: MIT */
/* K5: what the codes say. No kill() is needed here, so there is no race. */
#include <suites/kill/cases.h>
#include <suites/kill/scene.h>

static int code_of(struct sp_case *t, const char *text)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;

	return sp_sh(t, sp_case_sandbox(t), &result, "%s", text) ? result.exit_code : -1;
}

static void by_signal(struct sp_case *t, const char *shape)
{
	static const struct {
		const char *name;
		int code;
	} deaths[] = { { "TERM", 143 }, { "KILL", 137 }, { "ABRT", 134 }, { "USR1", 138 } };

	for (size_t i = 0; i < SP_COUNT(deaths); i++) {
		int code = code_of(t, sp_case_format(t, shape, deaths[i].name));

		SP_REQUIRE(code >= 0);
		SP_CHECK_INT(t, deaths[i].code, code, "the code of a death by %s", deaths[i].name);
	}
}

void kill_code_by_signal(struct sp_case *t)
{
	by_signal(t, "ulimit -c 0; kill -%s $$");
}

/* The shell around it turns the death into a code; the provider must not change that either. */
void kill_code_in_shell(struct sp_case *t)
{
	by_signal(t, "ulimit -c 0; sh -c 'kill -%s $$'; exit $?");
}

void kill_code_segv(struct sp_case *t)
{
	int crash = code_of(t, "ulimit -c 0; kill -SEGV $$"), plain = code_of(t, "exit 1");

	SP_REQUIRE(crash >= 0 && plain >= 0);
	SP_CHECK_INT(t, 1, plain, "the code of a plain failure");
	SP_CHECK_INT(t, 139, crash, "the code of a crash");
}

/* KILL is the one signal that takes a supervisor along which shares the command's process. */
void kill_code_self(struct sp_case *t)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes said = SP_BYTES_INIT;
	struct sp_exit exit;

	SP_REQUIRE(sp_sh(t, sandbox, &result, "printf before; printf aside >&2; kill -KILL $$"));
	SP_CHECK_INT(t, 137, result.exit_code, "the code of exec");
	SP_CHECK_BYTES(t, "before", 6, result.stdout_bytes.data, result.stdout_bytes.len,
		       "what it printed before");
	SP_CHECK_BYTES(t, "aside", 5, result.stderr_bytes.data, result.stderr_bytes.len,
		       "its stderr, and nothing of a wrapper's");
	SP_REQUIRE(sp_spawn(t, sandbox, &child, "printf before; kill -KILL $$"));
	SP_REQUIRE(sp_spawned_wait(&child, &exit));
	SP_CHECK_INT(t, 137, exit.code, "the code of spawn");
	SP_CHECK(t, exit.how == SP_EXITED || exit.how == SP_SIGNALLED,
		 "its reason is \"exited\" or \"signalled\", not \"%s\": no handle killed it",
		 sp_exit_how_name(exit.how));
	if (sp_spawned_read(&child, SP_STDOUT, 64, &said))
		SP_CHECK_BYTES(t, "before", 6, said.data, said.len, "what it printed before");
	sp_bytes_done(&said);
}

/*
 * Who reports 137 must be alive: it still does the rest of its work, which
 * is to end what the dead command left in its group.
 */
void kill_code_supervisor(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "%s & %s; kill -KILL $$", s.probe.shell,
			    s.place.hold));
	SP_REQUIRE(sp_token_await(&s.probe));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "echo on >%s/hold", s.place.dir));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, 137, exit.code, "the code");
	sp_token_check_dead(&s.probe, SP_HERE,
			    "the background child of a command that KILLed itself");
}

static void killed_code(struct sp_case *t, int signal, int code)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "exec %1$s"));
	SP_REQUIRE(sp_spawned_kill(&s.child, signal));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, code, exit.code, "the code after kill(%d)", signal);
	SP_CHECK_STR(t, "killed", sp_exit_how_name(exit.how), "why it ended");
}

void kill_code_killed(struct sp_case *t)
{
	killed_code(t, SIGTERM, 143);
	if (!sp_case_failed(t))
		killed_code(t, SIGKILL, 137);
	if (!sp_case_failed(t))
		killed_code(t, SIGINT, 130);
}

void kill_how_exited(struct sp_case *t)
{
	static const int codes[] = { 0, 1, 7, 126, 127, 143, 255 };

	for (size_t i = 0; i < SP_COUNT(codes); i++) {
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_exit exit;

		SP_REQUIRE(sp_spawn(t, sp_case_sandbox(t), &child, "exit %d", codes[i]));
		SP_REQUIRE(sp_spawned_wait(&child, &exit));
		SP_CHECK_INT(t, codes[i], exit.code, "its own code");
		SP_CHECK_STR(t, "exited", sp_exit_how_name(exit.how), "why it ended");
	}
}
