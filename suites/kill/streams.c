/* SPDX-License-Identifier: MIT */
/* K10, K11: waiting and reading end when they should, and no kill waits for a reader. */
#include <suites/kill/cases.h>
#include <suites/kill/scene.h>

/* A process outside the group holds the output; the streams end all the same. */
void kill_stream_ends(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_call *out SP_CALL = NULL;
	struct sp_call *err SP_CALL = NULL;
	struct sp_call *calls[2];
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "echo one; echo two >&2; setsid %1$s & %2$s"));
	calls[0] = out = sp_call_read(t, &s.child.process, SP_STDOUT, 4096);
	calls[1] = err = sp_call_read(t, &s.child.process, SP_STDERR, 4096);
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	for (size_t i = 0; i < SP_COUNT(calls); i++) {
		struct sp_call_result *result;
		const char *text = i ? "two\n" : "one\n";

		if (!sp_rounds_done(t, s.sandbox, calls[i])) {
			SP_CHECK(t, false, "%s has ended %u rounds after kill and wait",
				 i ? "stderr" : "stdout", sp_case_rounds(t));
			return;
		}
		result = sp_call_join(calls[i]);
		SP_CHECK_OK(t, result->rc, &result->err, "read to the end after a kill");
		SP_CHECK_BYTES(t, text, 4, result->bytes.data, result->bytes.len,
			       "what was written before the kill");
	}
}

/* The end of a stream is answered again and again. */
void kill_stream_end_again(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char buffer[16];

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGKILL));
	for (int i = 0; i < 6; i++) {
		size_t len = 99;
		int rc = sp_process_read(&s.child.process, i % 2 ? SP_STDERR : SP_STDOUT, buffer,
					 sizeof(buffer), &len, sp_case_cancel(t), &err);

		SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "reading a stream that has ended"));
		SP_REQUIRE(SP_CHECK_INT(t, 0, (long long)len, "the length at the end"));
	}
}

/* ---- The bound of unread output ---- */

/* Bytes that one line of the writer has. */
#define LINE 1024

/* Writes `lines` numbered lines of LINE bytes; says how far it is after every 64 KiB. */
static bool spawn_writer(struct kill_scene *s, unsigned long long lines, const char *mark)
{
	return sp_spawn(s->t, s->sandbox, &s->child,
			"cd %s; %s & (exec sh -c 'echo $$ >writer; exec awk \"$1\"' sh 'BEGIN{"
			"while(length(p)<1016)p=p 0;for(i=0;i<%llu;){printf \"%%07d%%s\\n\",i++,p;"
			"if(i%%64==0){fflush();print i >\"progress\";close(\"progress\")}}}'); %s",
			s->place.dir, s->probe.shell, lines, mark);
}

/*
 * Looks, until as many as the run's patience says were the same and found it asleep; "awake" when
 * that did not come.
 */
#define LOOKS                                                                                      \
	"cd %s; n=0; i=0; last=; while [ $n -lt %u ]; do [ ! -e %s ] || { echo all; exit; }; "     \
	"[ $i -lt 2000 ] || { echo awake; exit; }; i=$((i + 1)); "                                 \
	"read -r s </proc/$(cat writer)/stat; now=$(cat progress); "                               \
	"case ${s##*) } in S*) ;; *) now=awake;; esac; "                                           \
	"[ \"$now\" = \"$last\" ] && [ $now != awake ] && n=$((n + 1)) || n=0; "          \
	"last=$now; done 2>/dev/null; echo \"$last\""

/* Such commands that must agree: what the writer waits for has had its turn between them. */
#define TRIPS 4

/*
 * Waits until the writer stands still: in several commands, one after the other, it has made no
 * step and was found asleep each time. 1 stands still, 0 wrote everything, -1 after a recorded
 * failure. A writer that is merely slow is runnable, and that is not still.
 */
static int await_standstill(struct kill_scene *s, const struct sp_mark *mark)
{
	const char *last = "";
	unsigned same = 0;

	while (same < TRIPS) {
		const char *now = sp_sh_out(s->t, s->sandbox, LOOKS, s->place.dir,
					    sp_case_rounds(s->t), mark->path);

		if (!now)
			return -1;
		if (!strcmp(now, "all"))
			return 0;
		same = !strcmp(now, last) && strcmp(now, "awake") != 0 ? same + 1 : 0;
		last = now;
	}
	sp_case_note(s->t, "stands still after %s lines", last);
	return 1;
}

/* Where net.ipv4.tcp_rmem is generous, it grows to 32 MiB. */
#define ON_THE_WAY (40 << 20)

static unsigned long long more_than_bound(struct sp_case *t)
{
	/* Pipes and servers on the way hold something too, and a socket whatever it may grow to. */
	return (2 * sp_case_capabilities(t)->unread_bound + ON_THE_WAY) / LINE;
}

static bool fill(struct kill_scene *s, struct sp_mark *mark, unsigned long long lines)
{
	int still;

	if (!kill_scene_open(s->t, s) || !sp_mark_make(s->t, s->sandbox, "wrote", mark) ||
	    !spawn_writer(s, lines, mark->shell) || !sp_token_await(&s->probe))
		return false;
	still = await_standstill(s, mark);
	return still >= 0 &&
	       SP_CHECK(s->t, still,
			"nobody reads: the command stands still at the bound of %llu bytes and has "
			"not written %llu",
			(unsigned long long)sp_case_capabilities(s->t)->unread_bound, lines * LINE);
}

void kill_stream_bound_kill(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_mark mark SP_MARK = SP_MARK_INIT;
	struct sp_exit exit;

	s.t = t;
	SP_REQUIRE(fill(&s, &mark, more_than_bound(t)));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_token_check_dead(&s.probe, SP_HERE, "a command that stood at the bound"));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_STR(t, "killed", sp_exit_how_name(exit.how), "why it ended");
	sp_mark_check(&mark, false, SP_HERE, "the end of its output");
}

/* Whether whole lines of the bytes are the writer's, from line `*i` on; counts them. */
static bool check_chunk(struct sp_case *t, const char *chunk, size_t have, unsigned long long *i)
{
	char line[LINE];

	for (size_t at = 0; at + LINE <= have; at += LINE, ++*i) {
		snprintf(line, sizeof(line), "%07llu%01016d", *i, 0);
		line[LINE - 1] = '\n';
		if (memcmp(line, chunk + at, LINE) != 0)
			return SP_CHECK_BYTES(t, line, LINE, chunk + at, LINE,
					      "line %llu of what was written", *i);
	}
	return true;
}

/* Reads to the end; whether the bytes are exactly the writer's lines 0 … n-1. */
static bool check_lines(struct sp_spawned *child, unsigned long long lines)
{
	struct sp_error err = SP_ERROR_INIT;
	char chunk[LINE * 1024];
	unsigned long long i = 0;
	size_t have = 0, len = 0;
	int rc;

	while (!(rc = sp_process_read(&child->process, SP_STDOUT, chunk + have,
				      sizeof(chunk) - have, &len, sp_case_cancel(child->t),
				      &err)) &&
	       len) {
		have += len;
		if (!check_chunk(child->t, chunk, have, &i))
			return false;
		memmove(chunk, chunk + have - have % LINE, have % LINE);
		have %= LINE;
	}
	return SP_CHECK_OK(child->t, rc, &err, "read() answers bytes or the end") &&
	       SP_CHECK_INT(child->t, (long long)(lines * LINE), (long long)(i * LINE + have),
			    "bytes read of what was written");
}

void kill_stream_bound_read(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_mark mark SP_MARK = SP_MARK_INIT;
	unsigned long long lines = more_than_bound(t);
	struct sp_exit exit;

	s.t = t;
	SP_REQUIRE(fill(&s, &mark, lines));
	SP_REQUIRE(check_lines(&s.child, lines) && sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, 0, exit.code, "its code, once everything was read");
	sp_mark_check(&mark, true, SP_HERE, "the end of its output");
}

/* ---- Waiting ---- */

/* More than any pipe holds, less than the bound. */
void kill_wait_unread(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	unsigned long long lines = 512;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	if (lines * LINE > sp_case_capabilities(t)->unread_bound)
		lines = sp_case_capabilities(t)->unread_bound / LINE;
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child,
			    "i=0; p=$(printf '%%01016d' 0); while [ $i -lt %llu ]; do "
			    "printf '%%07d%%s\\n' $i \"$p\"; i=$((i+1)); done; exit 6",
			    lines));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, 6, exit.code, "its code, with nothing read");
	check_lines(&s.child, lines);
}

void kill_wait_late(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_bytes said = SP_BYTES_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "echo done; exit 9"));
	/* Its output has ended and rounds went by: it has exited, and nobody waited. */
	if (sp_spawned_read(&s.child, SP_STDOUT, 64, &said))
		SP_CHECK_BYTES(t, "done\n", 5, said.data, said.len, "its output");
	sp_bytes_done(&said);
	SP_REQUIRE(!sp_case_failed(t) && sp_rounds(t, s.sandbox));
	for (int i = 0; i < 3; i++) {
		SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
		SP_CHECK_INT(t, 9, exit.code, "its code, asked late for the %d. time", i + 1);
	}
}

void kill_wait_many(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_call *a SP_CALL = NULL;
	struct sp_call *b SP_CALL = NULL;
	struct sp_call *c SP_CALL = NULL;
	struct sp_call *calls[3];

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	calls[0] = a = sp_call_wait(t, &s.child.process);
	calls[1] = b = sp_call_wait(t, &s.child.process);
	calls[2] = c = sp_call_wait(t, &s.child.process);
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	for (size_t i = 0; i < SP_COUNT(calls); i++) {
		struct sp_call_result *result = sp_call_join(calls[i]);

		SP_REQUIRE(result != NULL);
		SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "each of three waits at once"));
		SP_CHECK_STR(t, "killed", sp_exit_how_name(result->exit.how),
			     "what each of them is told");
		SP_CHECK(t, result->exit.code != 0, "a killed command has no code 0");
	}
}

/* The cancel of a wait ends the waiting and nothing else. */
void kill_wait_cancelled(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_call *wait SP_CALL = NULL;
	struct sp_answerer answerer;
	struct sp_call_result *result;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "waited", &s.child, &answerer));
	wait = sp_call_wait(t, &s.child.process);
	SP_REQUIRE(wait && SP_CHECK(t, sp_rounds_pending(t, s.sandbox, wait),
				    "wait() is pending while the command runs"));
	sp_call_abort(wait, "waited long enough");
	result = sp_call_join(wait);
	SP_CHECK_CODE(t, SP_ABORTED, result->rc, &result->err, "a wait whose cancel was aborted");
	SP_REQUIRE(sp_answerer_check(&answerer, SP_HERE, "the command that was waited for"));
	SP_REQUIRE(sp_answerer_end(&answerer) && sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, SP_ANSWERER_CODE, exit.code, "its own code");
	SP_CHECK_STR(t, "exited", sp_exit_how_name(exit.how), "why it ended");
}
