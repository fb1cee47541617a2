/* SPDX-License-Identifier: MIT */
/*
 * K1: one case a shape. All of them are the same act; only where the probe
 * sits in the command differs. %1$s is the probe, %2$s holds the leader.
 */
#include <suites/kill/cases.h>
#include <suites/kill/scene.h>

static void act(struct kill_scene *s, const char *what)
{
	struct sp_exit exit;

	SP_REQUIRE(sp_spawned_kill(&s->child, SIGTERM));
	/* At once: kill() may not answer before everything within reach is dead. */
	SP_REQUIRE(sp_token_check_dead(&s->probe, SP_HERE, what));
	SP_REQUIRE(sp_spawned_wait(&s->child, &exit));
	SP_CHECK(s->t, exit.code != 0, "a killed command does not end with code 0");
}

static void shape(struct sp_case *t, const char *what, const char *text)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, text));
	act(&s, what);
}

void kill_shape_foreground(struct sp_case *t)
{
	shape(t, "the foreground command", "%1$s");
}

void kill_shape_compound(struct sp_case *t)
{
	shape(t, "the middle of a compound command", "true; %1$s; true");
}

void kill_shape_background(struct sp_case *t)
{
	shape(t, "the background child", "%1$s & wait");
}

void kill_shape_grandchild(struct sp_case *t)
{
	shape(t, "the background grandchild", "( ( %1$s & wait ) & wait ) & wait");
}

void kill_shape_double_fork(struct sp_case *t)
{
	shape(t, "the orphan of a double fork", "( %1$s & ); %2$s");
}

void kill_shape_closed(struct sp_case *t)
{
	shape(t, "the child that closed its descriptors",
	      "%1$s <&- >&- 2>&- 3>&- 4>&- 5>&- 6>&- & wait");
}

void kill_shape_trapped(struct sp_case *t)
{
	shape(t, "the child that ignores TERM",
	      "trap '' TERM INT HUP QUIT; %1$s & until wait; do :; done; %2$s");
}

void kill_shape_setsid(struct sp_case *t)
{
	shape(t, "the child in a session of its own", "setsid %1$s & wait");
}

void kill_shape_setsid_fork(struct sp_case *t)
{
	shape(t, "the orphan in a session of its own", "( setsid %1$s & ); %2$s");
}

void kill_shape_jobs(struct sp_case *t)
{
	shape(t, "the job of a shell with job control", "bash -c 'set -m; %1$s & wait'");
}

void kill_shape_empty_env(struct sp_case *t)
{
	shape(t, "the orphan with an empty environment", "( env -i setsid %1$s & ); %2$s");
}

static void stopped(struct sp_case *t, const char *what, const char *text)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, text));
	SP_REQUIRE(sp_token_signal(&s.probe, "STOP"));
	act(&s, what);
}

void kill_shape_stopped_child(struct sp_case *t)
{
	/*
	 * It ignores TERM as well: a pending TERM would end a survivor as soon as it is continued.
	 */
	stopped(t, "the stopped child",
		"trap '' TERM INT HUP QUIT; %1$s & until wait; do :; done; %2$s");
}

void kill_shape_stopped_leader(struct sp_case *t)
{
	stopped(t, "the stopped command", "exec %1$s");
}

/*
 * A chain: each generation forks the next one and ends, so whoever looks and
 * then signals one by one is always late. All of them share one lock; a chain
 * that survives finds the token file, leaves its marker and ends.
 */
static const char *chain(const struct kill_scene *s, const char *next)
{
	const char *dir = s->place.dir;

	return sp_case_format(s->t,
			      "if [ -e %s/chain.token ]; then : >%s/chain.marker; exit; fi; %s",
			      dir, dir, next);
}

/* The first of the chain says that it runs: it is in its own session by then, where it has one. */
static void breeder(struct sp_case *t, const char *what, const char *shape, const char *next)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_fifo ready;
	const char *verdict, *dir;

	SP_REQUIRE(kill_scene_open(t, &s));
	dir = s.place.dir;
	SP_REQUIRE(sp_fifo_make(&s.place, "bred", &ready));
	next = sp_case_format(t, next, dir);
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "printf '%%s\\n' '%s' >%s/chain", chain(&s, next), dir));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child,
			    "exec 9>>%s/chain.lock; flock 9; %s %s", dir,
			    sp_case_format(t, shape, dir, ready.path), s.place.hold));
	SP_REQUIRE(sp_fifo_take(&ready));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	verdict = sp_sh_out(t, s.sandbox,
			    "cd %s; : >chain.token; i=0; until flock -n chain.lock true; do "
			    "i=$((i+1)); [ $i -le %u ] || break; done; "
			    "if [ -e chain.marker ]; then echo alive; "
			    "elif [ $i -le %u ]; then echo dead; else echo locked; fi",
			    dir, 5 * sp_case_rounds(t), 5 * sp_case_rounds(t));
	SP_REQUIRE(verdict != NULL);
	SP_CHECK_STR(t, "dead", verdict, "%s is dead", what);
}

void kill_shape_breeder(struct sp_case *t)
{
	breeder(t, "the chain of forks in the group",
		"sh -c \"echo ready >%2$s; exec sh %1$s/chain\" &", "sh %1$s/chain & exit");
}

void kill_shape_breeder_sessions(struct sp_case *t)
{
	breeder(t, "the chain of forks, each in a session of its own",
		"setsid sh -c \"echo ready >%2$s; exec sh %1$s/chain\" &",
		"setsid sh %1$s/chain & exit");
}
