/* SPDX-License-Identifier: MIT */
/* K12 to K15: the exit, destroy, what is declared, zombies. */
#include <suites/kill/cases.h>
#include <suites/kill/scene.h>

void kill_exit_reaps(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "%s & %s; exit 0", s.probe.shell,
			    s.place.hold));
	SP_REQUIRE(sp_token_await(&s.probe));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "echo on >%s/hold", s.place.dir));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, 0, exit.code, "the code");
	sp_token_check_dead(&s.probe, SP_HERE, "the background child after its command's exit");
}

void kill_exit_leaves(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	if (sp_case_capabilities(t)->exit_reaps_group) {
		sp_skip(t, "needs exit_reaps_group false");
		return;
	}
	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "%s </dev/null >/dev/null 2>&1 & %s",
			    s.probe.shell, s.place.hold));
	SP_REQUIRE(sp_token_await(&s.probe));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "echo on >%s/hold", s.place.dir));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	sp_token_check_alive(&s.probe, SP_HERE, "the background child after its command's exit");
}

/* ---- Destroy ---- */

/*
 * Judges after a destroy, through whatever still shows: the old handle, if it
 * still runs commands; a new sandbox, if it shares the folder (a provider
 * without isolation); the back end's census.
 */
static void check_destroyed(struct kill_scene *s, const char *what)
{
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox other KILL_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_case *t = s->t;
	const char *seen;
	int rc;

	options.command = ":";
	options.cancel = create.cancel = sp_case_cancel(t);
	rc = sp_sandbox_exec(s->sandbox, &options, &result, &err);
	if (rc == 0) {
		sp_token_check_dead(&s->probe, SP_HERE, what);
		SP_CHECK(t, false, "a destroyed sandbox runs no commands");
		return;
	}
	SP_CHECK_CODE(t, SP_GONE, rc, &err, "exec in a sandbox that was destroyed");
	sp_place_forget(&s->place);
	sp_case_own_sandbox(t, NULL);
	rc = sp_provider_create(sp_case_provider(t), &create, &other, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "a second sandbox to look from"));
	sp_case_own_sandbox(t, sp_sandbox_id(&other));
	seen = sp_sh_out(t, &other, "[ -e %s ] && echo shared || echo apart", s->place.dir);
	if (seen && strcmp(seen, "shared") == 0) {
		s->place.sandbox = &other;
		sp_token_check_dead(&s->probe, SP_HERE, what);
		sp_place_close(&s->place);
	}
	rc = sp_sandbox_destroy(&other, sp_case_cancel(t), &err);
	SP_CHECK_OK(t, rc, &err, "destroy of the second sandbox");
}

static void destroyed(struct sp_case *t, const char *what, const char *shape)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, shape));
	rc = sp_sandbox_destroy(s.sandbox, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "destroy"));
	check_destroyed(&s, what);
	if (sp_case_failed(t))
		return;
	rc = sp_sandbox_destroy(s.sandbox, sp_case_cancel(t), &err);
	SP_CHECK_OK(t, rc, &err, "destroy of what is gone");
}

void kill_destroy_tree(struct sp_case *t)
{
	destroyed(t, "a command of a destroyed sandbox", "%1$s & wait");
}

void kill_destroy_trapped(struct sp_case *t)
{
	destroyed(t, "a command of a destroyed sandbox that ignores TERM",
		  "trap '' TERM INT HUP QUIT; %1$s & until wait; do :; done; %2$s");
}

/* Its command has exited and only the child in another session is left. */
void kill_destroy_orphan(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;
	int rc;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "( setsid %1$s </dev/null >/dev/null 2>&1 & ); %2$s"));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "echo on >%s/hold", s.place.dir));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	rc = sp_sandbox_destroy(s.sandbox, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "destroy"));
	check_destroyed(&s, "an orphan of a destroyed sandbox");
}

/* Calls that are pending when the sandbox goes away come back. */
void kill_destroy_pending(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_call *wait SP_CALL = NULL;
	struct sp_call *read SP_CALL = NULL;
	struct sp_call *exec SP_CALL = NULL;
	struct sp_call_result *result;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	options.command = s.place.hold;
	wait = sp_call_wait(t, &s.child.process);
	read = sp_call_read(t, &s.child.process, SP_STDOUT, 64);
	exec = sp_call_exec(t, s.sandbox, &options);
	SP_REQUIRE(exec && SP_CHECK(t, sp_rounds_pending(t, s.sandbox, exec), "exec is pending"));
	rc = sp_sandbox_destroy(s.sandbox, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "destroy beside three pending calls"));
	check_destroyed(&s, "a command of a destroyed sandbox");
	if (sp_case_failed(t))
		return;
	result = sp_call_join(wait);
	SP_CHECK(t, result && (result->rc != 0 || result->exit.code != 0),
		 "the pending wait() tells no success");
	result = sp_call_join(read);
	SP_CHECK_INT(t, 0, (long long)result->bytes.len, "bytes of a silent command");
	result = sp_call_join(exec);
	SP_CHECK(t, result->rc != 0 || result->exec.exit_code != 0,
		 "the pending exec() tells no success");
}

/* ---- What is declared ---- */

void kill_declared_refuses(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_answerer answerer;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;
	int rc;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "spared", &s.child, &answerer));
	rc = sp_process_kill(&s.child.process, SIGKILL, sp_case_cancel(t), &err);
	if (SP_CHECK_CODE(t, SP_UNSUPPORTED, rc, &err, "kill() where nothing can be killed")) {
		SP_CHECK(t, err.message[0] != 0, "the refusal says what is missing");
		SP_REQUIRE(sp_answerer_check(&answerer, SP_HERE,
					     "a command that cannot be killed"));
	}
	SP_REQUIRE(sp_answerer_end(&answerer) && sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, SP_ANSWERER_CODE, exit.code, "its own code");
}

void kill_declared_whole(struct sp_case *t)
{
	const struct sp_capabilities *caps = sp_case_capabilities(t);

	SP_CHECK(t, (caps->kill_reach != SP_REACH_NONE) == caps->killable_processes,
		 "kill_reach is none exactly when killable_processes is false");
	SP_CHECK(t, caps->kill_reach >= SP_REACH_NONE && caps->kill_reach <= SP_REACH_TREE,
		 "kill_reach is one of the four values, not %d", (int)caps->kill_reach);
	SP_CHECK(t, !(caps->signals & SP_SIGNAL_BIT(0)), "signal 0 is not declared");
	SP_CHECK(t, caps->follow == (caps->background_processes && caps->killable_processes),
		 "follow is background_processes and killable_processes");
}

/* ---- Zombies ---- */

/* A child has exited and its parent, which is the command, never reaps it. */
void kill_zombie_unreaped(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_fifo born, became;
	struct sp_exit exit;
	const char *pid;

	SP_REQUIRE(kill_scene_open(t, &s) && sp_fifo_make(&s.place, "born", &born) &&
		   sp_fifo_make(&s.place, "became", &became));
	/*
	 * A shell may reap at any time whatever it finds, also what it did not start. The child
	 * ends when its shell has become a program that reaps nothing, which its words show.
	 */
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child,
			    "cd %s; echo cat >words; %s & "
			    "sh -c 'echo $$ >%s; read -r go <%s' & exec cat words hold >%s",
			    s.place.dir, s.probe.shell, born.path, born.path, became.path));
	pid = sp_fifo_take(&born);
	SP_REQUIRE(pid && sp_token_await(&s.probe) && sp_fifo_take(&became) &&
		   sp_fifo_put(&born, "go"));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox,
			    "while read -r s </proc/%s/stat; do case ${s##*) } in Z*) exit 0;; "
			    "esac; "
			    "done; exit 3",
			    pid));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK(t, exit.code != 0, "a killed command has no code 0");
	sp_token_check_dead(&s.probe, SP_HERE, "the command with a zombie child");
}

/* An orphan of the command exits under whatever is process 1 there. */
void kill_zombie_orphan(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "( : & ); ( ( exit 3 ) & ); ( sh -c 'kill -KILL $$' & ); "
					"%1$s & wait"));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_token_check_dead(&s.probe, SP_HERE, "the command whose orphans had exited"));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_STR(t, "killed", sp_exit_how_name(exit.how), "why it ended");
}
