/* SPDX-License-Identifier: MIT */
/* J1 to J4: what a run leaves in its files. */
#include "cases.h"
#include "scene.h"

/* Content of a journal that has ended. */
static const char *ended(struct scene *s, const char *content, int code)
{
	return sp_case_format(s->t, "%s%s\n", content, journal_mark(s->t, s->run, code));
}

void journal_write_exact(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s));
	SP_REQUIRE(scene_run(&s, "printf '%s\\n' '{\"a\":1}' '{\"b\":2}'"));
	scene_check_file(&s, s.file, ended(&s, "{\"a\":1}\n{\"b\":2}\n", 0), SP_HERE,
			 "the journal, at the run's own name");
	scene_check_file(&s, s.err_file, "", SP_HERE, "the stderr file of a run that wrote none");
}

void journal_write_code(struct sp_case *t)
{
	/* What a command can end with: its own word, a missing program, a signal. */
	static const struct {
		const char *command;
		int code;
	} runs[] = {
		{ "exit 7", 7 },
		{ "exit 255", 255 },
		{ "false", 1 },
		{ "exec true", 0 },
		{ "/nonexistent/program 2>/dev/null", 127 },
		{ "sh -c 'kill -KILL $$'", 137 },
	};
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s));
	for (size_t i = 0; i < SP_COUNT(runs); i++) {
		SP_REQUIRE(scene_set_run(&s, NULL) && scene_run(&s, runs[i].command));
		SP_REQUIRE(scene_check_file(&s, s.file, ended(&s, "", runs[i].code), SP_HERE,
					    runs[i].command));
	}
	SP_REQUIRE(scene_check_state(&s, SP_JOURNAL_FINISHED, 137, SP_HERE,
				     "the run that was killed"));
	scene_reads(&s, SP_JOURNAL_POLL, "", 0, 137, SP_HERE,
		    "a reader of the run that was killed");
}

void journal_write_stderr(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_bytes tail SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(scene_open(t, &s));
	/* The record is written in two halves, with a diagnostic between them. */
	SP_REQUIRE(scene_run(
		&s, "printf '{\"half\":'; echo diagnostic >&2; echo '1}'; echo last >&2; exit 3"));
	SP_REQUIRE(scene_check_file(&s, s.file, ended(&s, "{\"half\":1}\n", 3), SP_HERE,
				    "the journal of a run that wrote to stderr"));
	SP_REQUIRE(
		scene_check_file(&s, s.err_file, "diagnostic\nlast\n", SP_HERE, "the stderr file"));
	rc = s.journal->ops->stderr_tail(s.journal->self, s.sandbox, s.run, 4096, &s.options, &tail,
					 &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "stderr_tail answers"));
	SP_REQUIRE(SP_CHECK_BYTES(t, "diagnostic\nlast\n", 16, tail.data, tail.len,
				  "the tail, when all of it fits"));
	sp_bytes_done(&tail);
	rc = s.journal->ops->stderr_tail(s.journal->self, s.sandbox, s.run, 6, &s.options, &tail,
					 &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "stderr_tail of six bytes answers"));
	SP_CHECK_BYTES(t, "\nlast\n", 6, tail.data, tail.len, "the last six bytes");
}

void journal_write_append(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;
	int rc;

	SP_REQUIRE(scene_open(t, &s) && scene_write(&s, "earlier\n"));
	rc = s.journal->ops->start(s.journal->self, s.sandbox, s.run, "echo later", &s.options,
				   &process, &err);
	if (rc == SP_CONFLICT) {
		scene_check_file(&s, s.file, "earlier\n", SP_HERE,
				 "what was there before a refused start");
		return;
	}
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err,
			       "start behind an earlier part answers, or refuses with conflict"));
	sp_spawned_take(t, &child, &process);
	SP_REQUIRE(sp_spawned_wait(&child, &exit));
	scene_check_file(&s, s.file, ended(&s, "earlier\nlater\n", 0), SP_HERE,
			 "the earlier part, and then the run's");
}

void journal_write_again(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;
	int rc;

	SP_REQUIRE(scene_open(t, &s) && scene_run(&s, "echo first"));
	rc = s.journal->ops->start(s.journal->self, s.sandbox, s.run, "echo second; exit 7",
				   &s.options, &process, &err);
	if (rc) {
		SP_REQUIRE(SP_CHECK_CODE(t, SP_CONFLICT, rc, &err,
					 "a second run under one id is refused"));
		scene_check_file(&s, s.file, ended(&s, "first\n", 0), SP_HERE,
				 "the first run's journal");
		return;
	}
	sp_spawned_take(t, &child, &process);
	SP_REQUIRE(sp_spawned_wait(&child, &exit));
	SP_REQUIRE(scene_check_state(&s, SP_JOURNAL_FINISHED, 7, SP_HERE, "the second run"));
	scene_reads(&s, SP_JOURNAL_POLL, "second\n", 7, 7, SP_HERE,
		    "a reader of the second run does not stop at the first one's end");
}

void journal_write_syntax(struct sp_case *t)
{
	static const char *const texts[] = { "echo hi # note", "echo 'open", "cat <<E\nhi",
					     "echo hi )" };
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s));
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_process process = SP_PROCESS_INIT;
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_error err = SP_ERROR_INIT;
		struct sp_exit exit = { .code = 0 };
		const char *there;
		int rc;

		SP_REQUIRE(scene_set_run(&s, NULL));
		rc = s.journal->ops->start(s.journal->self, s.sandbox, s.run, texts[i], &s.options,
					   &process, &err);
		if (rc) {
			SP_REQUIRE(SP_CHECK(t, err.message[0], "the refusal of \"%s\" has words",
					    texts[i]));
			continue;
		}
		sp_spawned_take(t, &child, &process);
		SP_REQUIRE(sp_spawned_wait(&child, &exit));
		there = sp_sh_out(t, s.sandbox, "grep -c __exit %s || :", s.file);
		SP_REQUIRE(there && SP_CHECK(t, exit.code != 0 || !strcmp(there, "1"),
					     "\"%s\" leaves a sentinel, or its run tells a failure "
					     "(code %d, %s)",
					     texts[i], exit.code, there));
	}
}

void journal_write_blocked(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_exit exit;
	enum sp_journal_state state = SP_JOURNAL_UNKNOWN;
	int code = -1, rc;

	SP_REQUIRE(scene_open(t, &s));
	/* A file stands where the folder has to be. */
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, ": > %s", s.dir));
	rc = s.journal->ops->start(s.journal->self, s.sandbox, s.run, "echo lost", &s.options,
				   &process, &err);
	if (!rc) {
		sp_spawned_take(t, &p.child, &process);
		SP_REQUIRE(sp_spawned_wait(&p.child, &exit));
		SP_REQUIRE(SP_CHECK(t, exit.code != 0,
				    "a run without a folder tells a failure, not code 0"));
	} else {
		SP_REQUIRE(SP_CHECK(t, err.message[0], "the refusal has words"));
	}
	rc = s.journal->ops->probe(s.journal->self, s.sandbox, s.run, &s.options, &state, &code,
				   &err);
	SP_REQUIRE(SP_CHECK(t, rc || state != SP_JOURNAL_FINISHED,
			    "the probe of a run without a journal does not say finished (code %d)",
			    code));
	if (sp_case_capabilities(t)->follow)
		scene_check_refused(&s, 0, SP_JOURNAL_FOLLOW, SP_HERE,
				    "a follower where no journal can ever be");
}

void journal_write_request_ends(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct sp_cancel *request SP_CLEANUP(scene_cancel_done) = scene_cancel(t);
	struct sp_answerer run;

	SP_REQUIRE(request && scene_open(t, &s) && sp_answerer_make(&s.place, "run", &run));
	s.options.cancel = request;
	SP_REQUIRE(producer_start(&s, &p, sp_case_format(t, "echo one; %s; echo two", run.shell)));
	SP_REQUIRE(sp_answerer_await(&run));
	sp_cancel_abort(request, "the client went away");
	s.options.cancel = sp_case_cancel(t);
	/* Had the abort reached the run, the rounds would give it every chance to die. */
	SP_REQUIRE(sp_rounds(t, s.sandbox));
	SP_REQUIRE(sp_answerer_check(&run, SP_HERE,
				     "a run whose request was aborted after its start"));
	SP_REQUIRE(sp_answerer_end(&run) && producer_await(&p));
	scene_check_file(&s, s.file, ended(&s, "one\ntwo\n", 0), SP_HERE, "its journal");
}
