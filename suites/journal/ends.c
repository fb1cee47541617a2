/* SPDX-License-Identifier: MIT */
/* J12, J13: readers come and go, hosts come and go, the run stays; who goes on misses nothing. */
#include "cases.h"
#include "scene.h"

/* The journal as another host sees it: another instance of the subject, another handle on the
 * sandbox. */
struct host {
	struct sp_subject *subject;
	struct sp_sandbox sandbox;
};

#define HOST_INIT                                                                                  \
	{                                                                                          \
		NULL, SP_SANDBOX_INIT                                                              \
	}
#define HOST SP_CLEANUP(host_done)

static void host_done(struct host *host)
{
	sp_sandbox_done(&host->sandbox);
}

static bool host_open(struct scene *s, struct host *host)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	host->subject = sp_case_second(s->t);
	if (!host->subject)
		return false;
	rc = sp_provider_resume(&host->subject->provider, sp_sandbox_id(s->sandbox), &host->sandbox,
				sp_case_cancel(s->t), &err);
	return SP_CHECK_OK(s->t, rc, &err, "another host finds the sandbox") &&
	       SP_CHECK(s->t, host->sandbox.ops, "another host finds the sandbox alive");
}

/* The scene as that host has it; borrows the place of `s`. */
static struct scene host_scene(const struct scene *s, struct host *host)
{
	struct scene other = *s;

	other.journal = &host->subject->journal;
	other.sandbox = &host->sandbox;
	return other;
}

/* Everything of that host goes: handles first, then the instance. */
static void host_drop(struct host *host)
{
	sp_sandbox_done(&host->sandbox);
	sp_subject_done(host->subject);
}

/* ---- The run outlives whoever reads it ---- */

void journal_write_direct(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s));
	SP_REQUIRE(scene_run(&s, "if [ -f /proc/self/fd/1 ]; then echo file; else echo pipe; fi"));
	scene_check_file(&s, s.file, sp_case_format(t, "file\n%s\n", journal_mark(t, s.run, 0)),
			 SP_HERE, "what the run's stdout is: the file itself");
}

/* A run of three lines that waits after its first; its reader and its handle go there. */
static bool start_waiting(struct scene *s, struct producer *p, struct sp_answerer *run)
{
	return sp_answerer_make(&s->place, "run", run) &&
	       producer_start(
		       s, p,
		       sp_case_format(s->t, "echo one; %s; echo two; echo three", run->shell)) &&
	       sp_answerer_await(run);
}

static bool reads_rest(struct scene *s, const char *what)
{
	static const char content[] = "one\ntwo\nthree\n";

	return scene_reads(s, SP_JOURNAL_AUTO, content, sizeof(content) - 1, 0, SP_HERE, what);
}

void journal_ends_reader(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct sp_answerer run;

	SP_REQUIRE(scene_open_live(t, &s) && start_waiting(&s, &p, &run));
	{
		struct reader r READER = READER_INIT;

		SP_REQUIRE(reader_open(&s, &r, 0, SP_JOURNAL_AUTO));
		SP_REQUIRE(reader_take(&r, "one", 3, 4, SP_HERE, "the reader that goes away"));
	}
	/* Nobody holds the run any more; where it is a call of ours there is no handle to let go.
	 */
	sp_process_done(&p.child.process);
	SP_REQUIRE(sp_answerer_check(&run, SP_HERE, "the run without reader and handle"));
	SP_REQUIRE(sp_answerer_end(&run));
	reads_rest(&s, "a later reader");
}

/* A host starts the run, reads, and is gone with all that it had; this one goes on. */
void journal_ends_host(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct host host HOST = HOST_INIT;
	struct scene theirs;
	struct sp_answerer run;

	SP_REQUIRE(scene_open_live(t, &s) && host_open(&s, &host));
	theirs = host_scene(&s, &host);
	{
		struct producer p PRODUCER = PRODUCER_INIT;
		struct reader r READER = READER_INIT;

		SP_REQUIRE(start_waiting(&theirs, &p, &run) &&
			   reader_open(&theirs, &r, 0, SP_JOURNAL_AUTO));
		SP_REQUIRE(reader_take(&r, "one", 3, 4, SP_HERE, "the host that goes away"));
		sp_process_done(&p.child.process);
	}
	host_drop(&host);
	SP_REQUIRE(sp_answerer_check(&run, SP_HERE, "the run without the host that started it"));
	SP_REQUIRE(sp_answerer_end(&run));
	reads_rest(&s, "another host");
}

/* ---- A host that is KILLed: another process, with an instance of its own ---- */

/* What it is told. */
struct errand {
	char sandbox[256];
	char dir[256];
	char run[128];
	/* Empty: the run is there already. */
	char command[1024];
	uint64_t from;
};

static bool fill(struct sp_case *t, char *buffer, size_t size, const char *text)
{
	if (strlen(text) < size) {
		memcpy(buffer, text, strlen(text) + 1);
		return true;
	}
	sp_case_error(t, SP_HERE, "a text of %zu bytes is too long for another host", strlen(text));
	return false;
}

static bool errand_make(struct scene *s, const char *command, uint64_t from, struct errand *errand)
{
	memset(errand, 0, sizeof(*errand));
	errand->from = from;
	return fill(s->t, errand->sandbox, sizeof(errand->sandbox), sp_sandbox_id(s->sandbox)) &&
	       fill(s->t, errand->dir, sizeof(errand->dir), s->dir) &&
	       fill(s->t, errand->run, sizeof(errand->run), s->run) &&
	       fill(s->t, errand->command, sizeof(errand->command), command);
}

static void side_failed(struct sp_peer_side *side, const char *what, const struct sp_error *err)
{
	(void)sp_side_say(side, "%s: %s: %s", what, sp_code_name(err->code), err->message);
}

/* Reads lines and tells each with its place, until somebody ends it. */
static void side_read(struct sp_peer_side *side, struct sp_sandbox *sandbox,
		      const struct errand *errand, const struct sp_journal_options *options)
{
	struct sp_journal *journal = &side->subject->journal;
	struct sp_journal_reader reader = SP_JOURNAL_READER_INIT;
	struct sp_journal_line line = SP_JOURNAL_LINE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool end = false;
	int rc = journal->ops->read(journal->self, sandbox, errand->run, errand->from, options,
				    &reader, &err);

	while (!rc && !end) {
		rc = reader.ops->next(reader.self, &line, &end, &err);
		if (!rc && !end &&
		    !sp_side_say(side, "%llu %s", (unsigned long long)line.end_position,
				 (char *)line.text.data))
			end = true;
		sp_journal_line_done(&line);
	}
	if (rc)
		side_failed(side, "reading", &err);
	if (reader.ops)
		reader.ops->close(reader.self);
}

static void side_main(struct sp_peer_side *side)
{
	/* The copy that came over has no alignment of its own. */
	struct errand own, *errand = &own;
	struct sp_journal *journal = &side->subject->journal;
	struct sp_journal_options options = SP_JOURNAL_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	memcpy(&own, side->arg, sizeof(own));
	rc = sp_provider_resume(&side->subject->provider, errand->sandbox, &sandbox, side->cancel,
				&err);

	if (rc || !sandbox.ops) {
		side_failed(side, "finding the sandbox", &err);
		return;
	}
	options.dir = errand->dir;
	options.poll_ms = 0;
	options.first_byte_ms = UINT32_MAX;
	options.cancel = side->cancel;
	if (errand->command[0])
		rc = journal->ops->start(journal->self, &sandbox, errand->run, errand->command,
					 &options, &process, &err);
	if (rc)
		side_failed(side, "starting the run", &err);
	else
		side_read(side, &sandbox, errand, &options);
	sp_process_done(&process);
	sp_sandbox_done(&sandbox);
}

/* The other host must tell exactly this line. */
static bool hears(struct sp_case *t, struct sp_peer *peer, const char *expected,
		  struct sp_where where, const char *what)
{
	return sp_check_str(t, expected, sp_peer_hear(peer), where, "%s", what);
}

void journal_ends_host_killed(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_answerer run;
	struct errand errand;
	struct sp_peer *peer;

	SP_REQUIRE(scene_open_live(t, &s) && sp_answerer_make(&s.place, "run", &run));
	SP_REQUIRE(errand_make(&s,
			       sp_case_format(t, "echo one; %s; echo two; echo three", run.shell),
			       0, &errand));
	peer = sp_case_peer(t, SP_PEER_PLAIN, side_main, &errand, sizeof(errand));
	SP_REQUIRE(peer &&
		   hears(t, peer, "4 one", SP_HERE, "the host that started the run reads it"));
	SP_REQUIRE(sp_answerer_await(&run));
	sp_peer_kill(peer);
	SP_REQUIRE(sp_answerer_check(&run, SP_HERE, "the run whose host was KILLed"));
	SP_REQUIRE(sp_answerer_end(&run));
	reads_rest(&s, "a host that comes after the one that was KILLed");
}

void journal_ends_killed(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct reader r READER = READER_INIT;
	struct sp_call_result *result;
	struct sp_answerer run;
	struct sp_exit exit;

	SP_REQUIRE(scene_open_live(t, &s) && start_waiting(&s, &p, &run));
	SP_REQUIRE(sp_spawned_kill(&p.child, 9) && sp_spawned_wait(&p.child, &exit));
	SP_REQUIRE(scene_check_state(&s, SP_JOURNAL_PRODUCING, 0, SP_HERE,
				     "a run that was killed with its wrapper"));
	SP_REQUIRE(reader_open(&s, &r, 0, SP_JOURNAL_AUTO) &&
		   reader_take(&r, "one", 3, 4, SP_HERE, "what the killed run wrote") &&
		   reader_ask(&r));
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, s.sandbox, r.pending),
			    "no end is made up for a killed run"));
	SP_REQUIRE(!sp_case_failed(t));
	sp_cancel_abort(r.cancel, "enough");
	result = reader_answer(&r);
	SP_REQUIRE(result &&
		   SP_CHECK(t, r.end || result->rc, "no line is made up for a killed run"));
	scene_check_file(&s, s.file, "one\n", SP_HERE, "the killed run's journal");
}

/* ---- Two readers ---- */

void journal_readers_two(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct host host HOST = HOST_INIT;
	struct scene theirs;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct reader a READER = READER_INIT;
	struct reader b READER = READER_INIT;
	struct sp_fifo go;
	uint64_t at = 0;

	SP_REQUIRE(scene_open_live(t, &s) && sp_fifo_make(&s.place, "go", &go) &&
		   host_open(&s, &host));
	theirs = host_scene(&s, &host);
	SP_REQUIRE(
		producer_start(&s, &p,
			       sp_case_format(t,
					      "exec 3<>%s; for i in 1 2 3 4; do echo \"line $i\"; "
					      "read -r x <&3; done; exit 2",
					      go.path)));
	SP_REQUIRE(reader_open(&s, &a, 0, SP_JOURNAL_AUTO) &&
		   reader_open(&theirs, &b, 0, SP_JOURNAL_POLL));
	for (int i = 1; i <= 4; i++) {
		const char *line = sp_case_format(t, "line %d", i);

		at += 7;
		SP_REQUIRE(reader_take(&a, line, 6, at, SP_HERE, "one of two readers"));
		SP_REQUIRE(reader_take(&b, line, 6, at, SP_HERE, "the other reader"));
		SP_REQUIRE(sp_fifo_put(&go, "go"));
	}
	at += strlen(journal_mark(t, s.run, 2)) + 1;
	SP_REQUIRE(reader_take_exit(&a, 2, at, SP_HERE, "one of two readers"));
	reader_take_exit(&b, 2, at, SP_HERE, "the other reader");
}

/* ---- Takeover ---- */

/* Hosts are KILLed after each second line; whoever comes next goes on at the last place that was
 * told. */
void journal_takeover_killed(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct reader r READER = READER_INIT;
	struct sp_fifo go;
	uint64_t at = 0;
	int line = 0;

	SP_REQUIRE(scene_open_live(t, &s) && sp_fifo_make(&s.place, "go", &go));
	SP_REQUIRE(producer_start(
		&s, &p,
		sp_case_format(t,
			       "exec 3<>%s; for i in 1 2 3 4 5; do echo \"\303\251 $i\"; "
			       "read -r x <&3; done; exit 8",
			       go.path)));
	for (int host = 0; host < 2; host++) {
		struct errand errand;
		struct sp_peer *peer;

		SP_REQUIRE(errand_make(&s, "", at, &errand));
		peer = sp_case_peer(t, SP_PEER_PLAIN, side_main, &errand, sizeof(errand));
		SP_REQUIRE(peer != NULL);
		for (int i = 0; i < 2; i++) {
			at += 5;
			line++;
			SP_REQUIRE(hears(
				t, peer,
				sp_case_format(t, "%llu \303\251 %d", (unsigned long long)at, line),
				SP_HERE, "the line that this host was given, and its end"));
			/* The last one is not let go: the next host finds the journal at its end.
			 */
			if (i == 0)
				SP_REQUIRE(sp_fifo_put(&go, "go"));
		}
		sp_peer_kill(peer);
		SP_REQUIRE(sp_fifo_put(&go, "go"));
	}
	SP_REQUIRE(reader_open(&s, &r, at, SP_JOURNAL_AUTO));
	SP_REQUIRE(reader_take(&r, "\303\251 5", 4, at + 5, SP_HERE, "the last host's line") &&
		   sp_fifo_put(&go, "go"));
	reader_take_exit(&r, 8, at + 5 + strlen(journal_mark(t, s.run, 8)) + 1, SP_HERE,
			 "the run's end");
}

/* At each line of a live run a reader of another host goes on where the last one stopped. */
void journal_takeover_live(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct host host HOST = HOST_INIT;
	struct scene theirs;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct sp_fifo go;
	uint64_t at = 0;

	SP_REQUIRE(scene_open_live(t, &s) && sp_fifo_make(&s.place, "go", &go) &&
		   host_open(&s, &host));
	theirs = host_scene(&s, &host);
	SP_REQUIRE(producer_start(
		&s, &p,
		sp_case_format(t,
			       "exec 3<>%s; for i in 1 2 3 4 5; do echo \"\303\251 $i\"; "
			       "read -r x <&3; done",
			       go.path)));
	for (int i = 1; i <= 5; i++) {
		struct reader r READER = READER_INIT;
		const char *line = sp_case_format(t, "\303\251 %d", i);

		SP_REQUIRE(reader_open(i % 2 ? &s : &theirs, &r, at, SP_JOURNAL_AUTO));
		SP_REQUIRE(reader_take(&r, line, 4, at + 5, SP_HERE, "the reader that took over"));
		at = r.line.end_position;
		/* The one before goes before the next line is written, and the next comes after it.
		 */
		reader_done(&r);
		SP_REQUIRE(sp_fifo_put(&go, "go"));
	}
	{
		struct reader r READER = READER_INIT;

		SP_REQUIRE(reader_open(&theirs, &r, at, SP_JOURNAL_AUTO));
		reader_take_exit(&r, 0, at + strlen(journal_mark(t, s.run, 0)) + 1, SP_HERE,
				 "the last reader");
	}
}
