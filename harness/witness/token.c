/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <witness/token.h>

/*
 * One round is a try of `flock -n` inside the sandbox, which is much shorter than
 * a round trip: five of them count as one round of the run's patience.
 */
#define TRIES_A_ROUND 5

bool sp_token_make(const struct sp_place *place, const char *name, struct sp_token *token)
{
	struct sp_case *t = place->t;

	token->place = place;
	token->name = name;
	token->shell = sp_case_format(t, "sh %s/token %s", place->dir, name);
	return sp_place_fifos(place, sp_case_format(t, "%s.token %s.ready ", name, name));
}

bool sp_token_await(const struct sp_token *token)
{
	const struct sp_place *place = token->place;
	const char *said;

	said = sp_sh_out(place->t, place->sandbox, "read -r said <%s/%s.ready && echo \"$said\"",
			 place->dir, token->name);
	return said && SP_CHECK_STR(place->t, "ready", said, "the probe %s runs", token->name);
}

long sp_token_pid(const struct sp_token *token)
{
	const char *text = sp_sh_out(token->place->t, token->place->sandbox, "cat %s/%s.pid",
				     token->place->dir, token->name);

	return text ? strtol(text, NULL, 10) : 0;
}

bool sp_token_signal(const struct sp_token *token, const char *signal)
{
	const struct sp_place *place = token->place;

	if (strcmp(signal, "STOP") != 0)
		return sp_sh_ok(place->t, place->sandbox, "kill -%s $(cat %s/%s.pid)", signal,
				place->dir, token->name);
	/* The third field of stat follows the parenthesis that closes the name. */
	return sp_sh_ok(place->t, place->sandbox,
			"p=$(cat %s/%s.pid); kill -STOP $p; while read -r s </proc/$p/stat; do "
			"case ${s##*) } in T*) break;; esac; done",
			place->dir, token->name);
}

enum sp_token_verdict sp_token_judge_through(const struct sp_token *token,
					     struct sp_sandbox *sandbox)
{
	struct sp_case *t = token->place->t;
	const char *verdict;

	/*
	 * The lock is tried first: a free one needs no token, and nobody is
	 * sent CONT whose lock does not show that it is still the same process.
	 */
	verdict = sp_sh_out(
		t, sandbox,
		"cd %s || exit; n=%s; exec 8<>$n.token; echo go >&8; i=0; "
		"until flock -n $n.lock true; do "
		"i=$((i+1)); [ $i -le %u ] || { echo locked; exit; }; "
		"[ $i != 1 ] || kill -CONT $(cat $n.pid); done; "
		"if [ -e $n.marker ]; then echo marker; else echo dead; fi; rm -f $n.pid",
		token->place->dir, token->name, sp_case_rounds(t) * TRIES_A_ROUND);
	if (!verdict)
		return SP_TOKEN_UNKNOWN;
	sp_case_note(t, "token %s: %s", token->name, verdict);
	if (strcmp(verdict, "dead") == 0)
		return SP_TOKEN_DEAD;
	if (strcmp(verdict, "marker") == 0 || strcmp(verdict, "locked") == 0)
		return SP_TOKEN_SURVIVOR;
	SP_CHECK_STR(t, "dead", verdict, "the sandbox runs the judge of probe %s", token->name);
	return SP_TOKEN_UNKNOWN;
}

enum sp_token_verdict sp_token_judge(const struct sp_token *token)
{
	return sp_token_judge_through(token, token->place->sandbox);
}

static const char *verdict_text(enum sp_token_verdict verdict)
{
	switch (verdict) {
	case SP_TOKEN_DEAD:
		return "dead";
	case SP_TOKEN_SURVIVOR:
		return "alive";
	case SP_TOKEN_UNKNOWN:
		return "unknown";
	}
	return "?";
}

static bool check(const struct sp_token *token, enum sp_token_verdict expected,
		  struct sp_where where, const char *what)
{
	enum sp_token_verdict verdict = sp_token_judge(token);

	if (verdict == SP_TOKEN_UNKNOWN)
		return false;
	return sp_check_str(token->place->t, verdict_text(expected), verdict_text(verdict), where,
			    "%s is %s", what, verdict_text(expected));
}

bool sp_token_check_dead(const struct sp_token *token, struct sp_where where, const char *what)
{
	return check(token, SP_TOKEN_DEAD, where, what);
}

bool sp_token_check_alive(const struct sp_token *token, struct sp_where where, const char *what)
{
	return check(token, SP_TOKEN_SURVIVOR, where, what);
}
