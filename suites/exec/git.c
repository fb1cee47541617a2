/* SPDX-License-Identifier: MIT */
/* The git helpers: what they do is what git did, and a failure is one. */
#include <string.h>

#include <witness/mark.h>
#include <witness/place.h>

#include "cases.h"
#include "run.h"

/* A bare repository "origin" with one commit, and a work tree "seed" that pushes to it. */
#define MAKE_ORIGIN                                                                                \
	"cd %s && git init -q --bare -b main origin && git clone -q ./origin seed 2>&1 && "        \
	"cd seed && git config user.name A && git config user.email a@b && "                       \
	"git checkout -q -b main 2>/dev/null; echo 1 >one && git add one && "                      \
	"git commit -qm first && echo 2 >one && git commit -qam second && git push -q origin main"

static struct sp_git_options verb(struct sp_case *t, const char *name, const char *dir)
{
	struct sp_git_options options = SP_GIT_OPTIONS_INIT;

	options.verb = name;
	options.dir = dir;
	options.cancel = sp_case_cancel(t);
	return options;
}

/* 1: helpers and the origin are there; 0 after a recorded failure or a skip. */
static int has_git(struct sp_case *t, struct sp_place *place)
{
	struct sp_git_options options = verb(t, "status", "/");
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	if (!sandbox || !sp_place_open(t, sandbox, "git", place))
		return 0;
	if (sp_sandbox_git(sandbox, &options, &result, &err) == SP_UNSUPPORTED) {
		sp_skip(t, "needs git helpers: this provider has none");
		return 0;
	}
	return sp_sh_ok(t, sandbox, MAKE_ORIGIN, place->dir);
}

static bool works(struct sp_case *t, const struct sp_git_options *options, const char *said)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_git(sp_case_sandbox(t), options, &result, &err);
	const char *out = result.stdout_bytes.data ? (char *)result.stdout_bytes.data : "";

	return SP_CHECK_OK(t, rc, &err, "git %s", options->verb) &&
	       (!said || SP_CHECK(t, strstr(out, said) != NULL, "git %s says \"%s\": %s",
				  options->verb, said, out));
}

/* What a command in the sandbox says. */
static bool is(struct sp_case *t, const char *expected, const char *what, const char *command)
{
	const char *said = sp_sh_out(t, sp_case_sandbox(t), "%s", command);

	return said && SP_CHECK_STR(t, expected, said, "%s", what);
}

void exec_git_works(struct sp_case *t)
{
	static const char *const message = "-m it's \"quoted\" $(id)\n\nbody";
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_git_options options;
	const char *work, *in;

	SP_REQUIRE(has_git(t, &place));
	work = sp_case_format(t, "%s/deep er/clone", place.dir);
	in = sp_case_format(t, "cd '%s' && ", work);
	options = verb(t, "clone", work);
	options.url = sp_case_format(t, "file://%s/origin", place.dir);
	SP_REQUIRE(works(t, &options, NULL));
	SP_REQUIRE(is(t, "2\n1", "content and depth of a clone",
		      sp_case_format(t, "%scat one && git rev-list --count HEAD", in)));
	SP_REQUIRE(sp_sh_ok(t, sp_case_sandbox(t),
			    "%sgit config user.name A && git config user.email a@b && echo 3 >two",
			    in));
	options = verb(t, "status", work);
	SP_REQUIRE(works(t, &options, "?? two"));
	options = verb(t, "add", work);
	SP_REQUIRE(works(t, &options, NULL));
	options = verb(t, "commit", work);
	options.message = message;
	SP_REQUIRE(works(t, &options, NULL));
	options = verb(t, "push", work);
	SP_REQUIRE(works(t, &options, NULL));
	SP_REQUIRE(is(t, message, "the pushed message",
		      sp_case_format(t, "cd %s/origin && m=$(git log -1 --format=%%B main) && "
					"printf %%s \"$m\"",
				     place.dir)));
	options = verb(t, "branch", work);
	options.ref = "it's";
	SP_REQUIRE(works(t, &options, NULL));
	SP_REQUIRE(sp_sh_ok(t, sp_case_sandbox(t),
			    "%sgit rev-parse --verify \"refs/heads/it's\" >/dev/null", in));
	SP_REQUIRE(sp_sh_ok(t, sp_case_sandbox(t),
			    "cd %s/seed && git pull -q origin main 2>&1 && echo 4 >three && "
			    "git add three && git commit -qm third && git push -q origin main",
			    place.dir));
	options = verb(t, "pull", work);
	SP_REQUIRE(works(t, &options, NULL));
	is(t, "4", "what was pulled", sp_case_format(t, "%scat three", in));
}

static bool fails(struct sp_case *t, const struct sp_git_options *options, int code,
		  const char *what)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_git(sp_case_sandbox(t), options, &result, &err);

	return code ? SP_CHECK_CODE(t, code, rc, &err, "%s", what)
		    : SP_CHECK(t, rc < 0, "%s is an error", what);
}

void exec_git_fails(struct sp_case *t)
{
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_git_options options;
	const char *seed;

	SP_REQUIRE(has_git(t, &place));
	seed = sp_case_format(t, "%s/seed", place.dir);
	options = verb(t, "clone", sp_case_format(t, "%s/clone", place.dir));
	options.url = sp_case_format(t, "%s/absent", place.dir);
	SP_REQUIRE(fails(t, &options, 0, "a clone of what is not there"));
	options.url = sp_case_format(t, "%s/origin", place.dir);
	options.ref = "absent";
	SP_REQUIRE(fails(t, &options, 0, "a clone of a branch that is not there"));
	SP_REQUIRE(sp_sh_ok(t, sp_case_sandbox(t), "[ ! -e %s/clone/one ]", place.dir));
	options = verb(t, "status", place.dir);
	SP_REQUIRE(fails(t, &options, 0, "status outside of a work tree"));
	options = verb(t, "commit", seed);
	options.message = "nothing";
	SP_REQUIRE(fails(t, &options, 0, "a commit of nothing"));
	SP_REQUIRE(sp_sh_ok(t, sp_case_sandbox(t), "git -C %s remote remove origin", seed));
	options = verb(t, "push", seed);
	SP_REQUIRE(fails(t, &options, 0, "a push to nowhere"));
	options = verb(t, "gc", seed);
	fails(t, &options, SP_INVALID, "a verb that the contract does not have");
}

/* A value is a value: neither an option nor a piece of shell. */
void exec_git_values(struct sp_case *t)
{
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_git_options clone, branch;
	const char *mark;

	SP_REQUIRE(has_git(t, &place));
	mark = sp_case_format(t, "%s/ran", place.dir);
	clone = verb(t, "clone", sp_case_format(t, "%s/clone", place.dir));
	branch = verb(t, "branch", sp_case_format(t, "%s/seed", place.dir));
	clone.url = sp_case_format(t, "--upload-pack=touch %s;false", mark);
	SP_REQUIRE(fails(t, &clone, SP_INVALID, "a URL that would be an option"));
	clone.url = sp_case_format(t, "%s/origin'; touch %s; '", place.dir, mark);
	SP_REQUIRE(fails(t, &clone, 0, "a URL with a quote"));
	clone.url = sp_case_format(t, "%s/$(touch %s)", place.dir, mark);
	SP_REQUIRE(fails(t, &clone, 0, "a URL with a substitution"));
	clone.url = sp_case_format(t, "%s/origin", place.dir);
	clone.dir = "--bare";
	SP_REQUIRE(fails(t, &clone, SP_INVALID, "a folder that would be an option"));
	branch.ref = "--delete";
	SP_REQUIRE(fails(t, &branch, SP_INVALID, "a branch that would be an option"));
	sp_sh_ok(t, sp_case_sandbox(t), "[ ! -e %s ]", mark);
}
