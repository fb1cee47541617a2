/* SPDX-License-Identifier: MIT */
/* K4: kill sends what was asked for; K6: signal() tells exactly what it is told. */
#include <stdlib.h>

#include <base/child.h>
#include <suites/kill/cases.h>
#include <suites/kill/scene.h>

/*
 * A command that writes the name of each signal that it hears to a file, and
 * then goes on ("stay") or ends ("go"). Its shell turns instead of waiting: a
 * signal that comes just before a shell waits is heard after the wait only.
 */
struct listener {
	struct kill_scene s;
	struct sp_fifo ready;
	const char *words;
};

#define LISTENER_INIT { .s = KILL_SCENE_INIT }
#define LISTENER SP_CLEANUP(listener_done)

static void listener_done(struct listener *l)
{
	kill_scene_done(&l->s);
}

static bool listen_to(struct sp_case *t, struct listener *l, const char *signals, bool go)
{
	const char *ignored, *dir;

	if (!kill_scene_open(t, &l->s) || !sp_fifo_make(&l->s.place, "listening", &l->ready))
		return false;
	dir = l->s.place.dir;
	l->words = sp_place_path(&l->s.place, "words");
	if (!sp_spawn(t, l->s.sandbox, &l->s.child,
		      ": >%s; for n in %s; do trap \"echo $n >>%s%s\" $n; done; "
		      "while read -r k v; do [ \"$k\" != SigIgn: ] || echo $v >%s; "
		      "done </proc/self/status; "
		      "until [ -e %s/leave ]; do :; done",
		      l->words, signals, l->words, go ? "; exit 9" : "", l->ready.path, dir))
		return false;
	ignored = sp_fifo_take(&l->ready);
	if (!ignored)
		return false;
	sp_case_note(t, "signals ignored from the start: %s", ignored);
	/* INT, HUP, QUIT and TERM are bits 1, 0, 2 and 14 of the mask. */
	return SP_CHECK(t, !(strtoull(ignored, NULL, 16) & 0x4007),
			"a command starts with HUP, INT, QUIT and TERM at their default (SigIgn "
			"%s)",
			ignored);
}

static const char *heard(struct listener *l)
{
	return sp_sh_out(l->s.t, l->s.sandbox, "cat %s", l->words);
}

#define EVERY "HUP INT QUIT USR1 USR2 ALRM TERM CONT WINCH"

/*
 * How often a command that heard nothing is asked again: on a busy machine a short grace may pass
 * before it gets the processor, and the KILL that follows tells nothing.
 */
#define ASK_TRIES 4

/* kill(signal) of a listener; what it heard, or NULL after a recorded failure. */
static const char *words_of_one(struct sp_case *t, int signal, struct sp_exit *exit)
{
	struct listener l LISTENER = LISTENER_INIT;

	if (!listen_to(t, &l, EVERY, true) || !sp_spawned_kill(&l.s.child, signal) ||
	    !sp_spawned_wait(&l.s.child, exit))
		return NULL;
	return heard(&l);
}

/* kill(signal): the command hears exactly `word`, and it ends. */
static void asked(struct sp_case *t, int signal, const char *word)
{
	struct sp_exit exit = { 0 };
	const char *words = "";

	for (int i = 0; i < ASK_TRIES && words && !*words; i++) {
		words = words_of_one(t, signal, &exit);
		if (!*word || exit.code != 128 + SIGKILL)
			break;
	}
	SP_REQUIRE(words != NULL);
	SP_CHECK_STR(t, word, words, "the signals that the command heard");
}

void kill_signal_term(struct sp_case *t)
{
	asked(t, SIGTERM, "TERM");
}

void kill_signal_int(struct sp_case *t)
{
	asked(t, SIGINT, "INT");
}

void kill_signal_hup(struct sp_case *t)
{
	asked(t, SIGHUP, "HUP");
}

void kill_signal_quit(struct sp_case *t)
{
	asked(t, SIGQUIT, "QUIT");
}

void kill_signal_zero(struct sp_case *t)
{
	asked(t, 0, "TERM");
}

void kill_signal_kill(struct sp_case *t)
{
	asked(t, SIGKILL, "");
}

void kill_signal_others(struct sp_case *t)
{
	static const int signals[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT };

	for (size_t i = 0; i < SP_COUNT(signals) && !sp_case_failed(t); i++) {
		sp_case_note(t, "signal %s", sp_signal_name(signals[i]));
		asked(t, signals[i], "");
	}
}

/* Kills a listener that stays; what it heard, or NULL after a recorded failure. */
static const char *words_of_stubborn(struct sp_case *t, struct sp_exit *exit)
{
	struct listener l LISTENER = LISTENER_INIT;
	const char *words;

	if (!listen_to(t, &l, EVERY, false) || !sp_spawned_kill(&l.s.child, SIGINT))
		return NULL;
	words = heard(&l);
	/* A survivor still turns: with this file it ends by itself, and nothing hangs. */
	if (!words || !sp_sh_ok(t, l.s.sandbox, ": >%s/leave", l.s.place.dir) ||
	    !sp_spawned_wait(&l.s.child, exit))
		return NULL;
	return words;
}

/* The signal asked for comes first, also when KILL follows because it was ignored. */
void kill_signal_then_kill(struct sp_case *t)
{
	struct sp_exit exit = { 0 };
	const char *words = "";

	for (int i = 0; i < ASK_TRIES && words && !*words; i++)
		words = words_of_stubborn(t, &exit);
	SP_REQUIRE(words != NULL);
	SP_REQUIRE(SP_CHECK_STR(t, "INT", words, "the signals that a stubborn command heard"));
	SP_CHECK_STR(t, "killed", sp_exit_how_name(exit.how), "why it ended");
	SP_CHECK_INT(t, 137, exit.code, "the code of a command that only KILL could end");
}

/* ---- signal() ---- */

/* First of these that the subject declares, or 0. */
static int first_declared(struct sp_case *t, const int *signals, size_t n, size_t *from)
{
	uint64_t declared = sp_case_capabilities(t)->signals;

	for (; *from < n; ++*from) {
		if (declared & SP_SIGNAL_BIT(signals[*from]))
			return signals[(*from)++];
	}
	return 0;
}

static bool tell(struct sp_case *t, struct sp_process *process, int signal)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_process_signal(process, signal, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "signal(%s)", sp_signal_name(signal));
}

/* An answerer that also writes the name of each signal that it hears to `heard`. */
static bool spawn_listener(struct kill_scene *s, const struct sp_fifo *heard)
{
	return sp_spawn(s->t, s->sandbox, &s->child,
			"cd %s; exec 5<>%s 8<>listener.ask 7<>listener.tell; "
			"for n in USR1 USR2 HUP WINCH TERM; do trap \"echo $n >&5\" $n; done; "
			"echo ready >&7; while :; do until read -r line <&8; do :; done; "
			"echo \"$line\" >&7; if [ \"$line\" = end ]; then exit %d; fi; done",
			s->place.dir, heard->path, SP_ANSWERER_CODE);
}

/* Each declared signal is heard as itself, and the command goes on answering. */
void kill_tell_each(struct sp_case *t)
{
	static const int signals[] = { SIGUSR1, SIGUSR2, SIGHUP, SIGTERM };
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_answerer answerer;
	struct sp_fifo heard;
	struct sp_exit exit;
	size_t at = 0, told = 0;
	int signal;

	SP_REQUIRE(kill_scene_open(t, &s) && sp_fifo_make(&s.place, "heard", &heard) &&
		   sp_answerer_make(&s.place, "listener", &answerer));
	SP_REQUIRE(spawn_listener(&s, &heard));
	SP_REQUIRE(sp_answerer_await(&answerer));
	while ((signal = first_declared(t, signals, SP_COUNT(signals), &at))) {
		const char *word;

		SP_REQUIRE(tell(t, &s.child.process, signal));
		/* A shell that was about to read runs its trap after the next line only. */
		SP_REQUIRE(sp_answerer_check(&answerer, SP_HERE, "a command that was told"));
		word = sp_fifo_take_held(&heard);
		SP_REQUIRE(word && SP_CHECK_STR(t, sp_signal_name(signal), word,
						"the signal that was heard"));
		told++;
	}
	SP_CHECK(t, told > 0, "at least one of USR1, USR2, HUP and TERM is declared");
	SP_REQUIRE(sp_answerer_end(&answerer) && sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, SP_ANSWERER_CODE, exit.code, "its own code");
	SP_CHECK_STR(t, "exited", sp_exit_how_name(exit.how), "the reason");
}

/* The whole group is told, not only the shell that leads it. */
void kill_tell_group(struct sp_case *t)
{
	static const int signals[] = { SIGUSR1, SIGUSR2, SIGHUP, SIGTERM };
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_fifo heard;
	size_t at = 0;
	int signal = first_declared(t, signals, SP_COUNT(signals), &at);
	const char *name, *word;

	SP_REQUIRE(SP_CHECK(t, signal, "at least one of USR1, USR2, HUP and TERM is declared"));
	name = sp_signal_name(signal);
	SP_REQUIRE(kill_scene_open(t, &s) && sp_fifo_make(&s.place, "heard", &heard));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox,
			    "printf '%%s\\n' 'trap \"echo child-%s >&5\" %s; echo ready >&5; "
			    "until read -r token <&8; do :; done' >%s/child",
			    name, name, s.place.dir));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child,
			    "exec 5<>%s 8<>%s/probe.token; trap : %s; sh %s/child & "
			    "until wait; do :; done",
			    heard.path, s.place.dir, name, s.place.dir));
	word = sp_fifo_take(&heard);
	SP_REQUIRE(word && SP_CHECK_STR(t, "ready", word, "the child listens"));
	SP_REQUIRE(tell(t, &s.child.process, signal));
	word = sp_fifo_take_held(&heard);
	SP_REQUIRE(word != NULL);
	SP_CHECK_STR(t, sp_case_format(t, "child-%s", name), word,
		     "what the background child heard");
}

void kill_tell_undeclared(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_answerer answerer;
	uint64_t declared = sp_case_capabilities(t)->signals;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "listener", &s.child, &answerer));
	/* 64 and 0 are never declared; of the others, all that are not. */
	for (int signal = 0; signal <= 64; signal++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		if (signal > 0 && signal < 64 && declared & SP_SIGNAL_BIT(signal))
			continue;
		rc = sp_process_signal(&s.child.process, signal, sp_case_cancel(t), &err);
		SP_REQUIRE(SP_CHECK_CODE(t, SP_UNSUPPORTED, rc, &err,
					 "signal(%d), which is not declared", signal));
	}
	sp_answerer_check(&answerer, SP_HERE, "a command that was told nothing");
}

void kill_tell_none(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_answerer answerer;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;
	int rc;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "listener", &s.child, &answerer));
	rc = sp_process_signal(&s.child.process, SIGTERM, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_UNSUPPORTED, rc, &err, "signal() where none is declared"));
	SP_CHECK(t, err.message[0] != 0, "the refusal says what is missing");
	SP_REQUIRE(sp_answerer_check(&answerer, SP_HERE, "a command that was told nothing"));
	/* By itself: nobody may be able to kill it. */
	SP_REQUIRE(sp_answerer_end(&answerer) && sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, SP_ANSWERER_CODE, exit.code, "its own code");
}

void kill_tell_after_exit(struct sp_case *t)
{
	static const int signals[] = { SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGINT, SIGKILL };
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_spawned neighbour SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_answerer answerer;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;
	size_t at = 0;
	int signal = first_declared(t, signals, SP_COUNT(signals), &at), rc;

	SP_REQUIRE(SP_CHECK(t, signal, "at least one common signal is declared"));
	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "neighbour", &neighbour, &answerer));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, ":"));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	rc = sp_process_signal(&s.child.process, signal, sp_case_cancel(t), &err);
	SP_CHECK_CODE(t, SP_GONE, rc, &err, "signal(%s) to what has exited",
		      sp_signal_name(signal));
	sp_answerer_check(&answerer, SP_HERE, "the neighbour of a command that had exited");
}
