/* SPDX-License-Identifier: MIT */
/* K7: a kill hits its own command and nothing else. */
#include <string.h>

#include <suites/kill/cases.h>
#include <suites/kill/scene.h>

void kill_limit_sibling(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_spawned older SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_spawned younger SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_answerer before, after;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "older", &older, &before));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	SP_REQUIRE(kill_bystander(&s, "younger", &younger, &after));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGKILL));
	SP_REQUIRE(sp_answerer_check(&before, SP_HERE, "a sibling that started before"));
	SP_REQUIRE(sp_answerer_check(&after, SP_HERE, "a sibling that started after"));
	/* And the siblings end in their own way. */
	SP_REQUIRE(sp_answerer_end(&before) && sp_spawned_wait(&older, &exit));
	SP_CHECK_INT(t, SP_ANSWERER_CODE, exit.code, "the sibling's own code");
	SP_CHECK_STR(t, "exited", sp_exit_how_name(exit.how), "why the sibling ended");
	kill_check_usable(&s);
}

void kill_limit_usable(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_REQUIRE(kill_check_usable(&s));
	sp_spawned_done(&s.child);
	s.child = (struct sp_spawned)SP_SPAWNED_INIT;
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "exit 5"));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, 5, exit.code, "the code of a command spawned afterwards");
}

/* Ends whatever a failed start gave, twice, and looks at the neighbour. */
static void kill_the_unstarted(struct kill_scene *s, int rc, const struct sp_error *err,
			       const struct sp_answerer *neighbour)
{
	struct sp_error again = SP_ERROR_INIT;
	struct sp_exit exit;

	if (rc == 0) {
		rc = sp_process_wait(&s->child.process, &exit, sp_case_cancel(s->t), &again);
		if (rc == 0)
			SP_CHECK(s->t, exit.code != 0,
				 "a command that never started has no code 0");
		SP_REQUIRE(sp_spawned_kill(&s->child, SIGTERM));
		SP_REQUIRE(sp_spawned_kill(&s->child, SIGKILL));
	} else {
		sp_case_note(s->t, "spawn itself fails: %s", err->message);
	}
	SP_REQUIRE(sp_answerer_check(neighbour, SP_HERE, "the neighbour of a failed start"));
	kill_check_usable(s);
}

void kill_limit_failed_start(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_spawned neighbour SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_answerer answerer;
	int rc;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "neighbour", &neighbour, &answerer));
	options.command = s.place.hold;
	options.cwd = sp_place_path(&s.place, "no-such-folder");
	s.child.t = t;
	rc = sp_sandbox_spawn(s.sandbox, &options, &s.child.process, &err);
	kill_the_unstarted(&s, rc, &err, &answerer);
}

void kill_limit_refused_start(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_spawned neighbour SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;
	struct sp_answerer answerer;
	int rc;

	SP_REQUIRE(control && kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "neighbour", &neighbour, &answerer));
	rc = control->ops->fail(control->self, SP_STEP_RUN, 1, SP_FAIL_STATUS, 403, &err);
	if (rc < 0) {
		sp_case_error(t, SP_HERE, "control cannot fail a step: %s", err.message);
		return;
	}
	options.command = s.place.hold;
	s.child.t = t;
	rc = sp_sandbox_spawn(s.sandbox, &options, &s.child.process, &err);
	kill_the_unstarted(&s, rc, &err, &answerer);
}

/*
 * A command that overwrites what it finds may run only where the finding ends at the sandbox. Only
 * the back end itself can say that, so the cases need control: a declared reach says nothing about
 * files.
 */
static bool may_rewrite(struct sp_case *t)
{
	if (!sp_case_control(t)) {
		sp_case_error(t, SP_HERE, "a case that overwrites files was begun without control");
		return false;
	}
	return sp_count_holds(t, "hostile-files");
}

/*
 * The command looks for files with its own process id in the places where a
 * provider could keep notes, and writes into all of them what the shell command `write` prints.
 */
static const char *rewriter(const struct kill_scene *s, const char *write)
{
	/* Nobody's old notes are touched; devices have no size, and no end either. */
	return sp_case_format(s->t,
			      "for f in $(find /dev/ /tmp/ /run/ /var/tmp/ \"$HOME\"/ -xdev -type "
			      "f "
			      "-size +0 -mmin -5 ! -path '%s/*' -exec grep -lwF -- $$ {} + "
			      "2>/dev/null); do "
			      "%s >\"$f\"; done; exec %s",
			      s->place.dir, write, s->probe.shell);
}

/* A stop word in the record must not save the command. */
void kill_limit_rewritten(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;

	SP_REQUIRE(may_rewrite(t) && kill_scene_open(t, &s));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "%s", rewriter(&s, "echo end")));
	SP_REQUIRE(sp_token_await(&s.probe));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	sp_token_check_dead(&s.probe, SP_HERE, "the command that rewrote its own record");
}

static void aim_at_neighbour(struct sp_case *t, const char *write)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_spawned neighbour SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_answerer answerer;

	SP_REQUIRE(may_rewrite(t) && kill_scene_open(t, &s));
	SP_REQUIRE(sp_answerer_make(&s.place, "neighbour", &answerer));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &neighbour, "echo $$ >%s/aim; exec %s", s.place.dir,
			    answerer.shell));
	SP_REQUIRE(sp_answerer_await(&answerer));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "aim=$(cat %s/aim); %s", s.place.dir,
			    rewriter(&s, write)));
	SP_REQUIRE(sp_token_await(&s.probe));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	sp_answerer_check(&answerer, SP_HERE, "the neighbour that the command aimed at");
}

/* The neighbour's process in the record must not turn the kill on the neighbour. */
void kill_limit_aimed(struct sp_case *t)
{
	aim_at_neighbour(t, "echo \"$aim\"");
}

/* Nor may the beginning of a line be taken for a number. */
void kill_limit_half_written(struct sp_case *t)
{
	aim_at_neighbour(t, "printf %s \"$aim\"");
}
