/* SPDX-License-Identifier: MIT */
/* J10, J11: a read that fails is an error or nothing, never wrong bytes and never silence. */
#include "cases.h"
#include "scene.h"

/* ---- Commands that fail ---- */

static int exec_unavailable(struct relay *relay, const struct sp_exec_options *options,
			    struct sp_exec_result *ret_result, struct sp_error *err)
{
	(void)relay, (void)options, (void)ret_result;
	return sp_error_set(err, SP_UNAVAILABLE, "the case answers 503 for ever");
}

/* As a shell without one of the tools. */
static int exec_not_found(struct relay *relay, const struct sp_exec_options *options,
			  struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options other = *options;

	other.command = "echo 'sh: 1: base64: not found' >&2; exit 127";
	return sp_sandbox_exec(relay->inner, &other, ret_result, err);
}

static void failing(struct sp_case *t, const struct relay_hooks *hooks, const char *what)
{
	struct scene s SCENE = SCENE_INIT;
	struct relay relay RELAY = RELAY_INIT;
	struct reader r READER = READER_INIT;
	struct sp_journal_options options;
	struct sp_error err = SP_ERROR_INIT;
	enum sp_journal_state state = SP_JOURNAL_UNKNOWN;
	int code = -1, rc;

	SP_REQUIRE(scene_open(t, &s) && scene_write(&s, "one\n%s\n", journal_mark(t, s.run, 0)));
	relay_open(t, s.sandbox, hooks, &relay);
	options = s.options;
	options.strategy = SP_JOURNAL_POLL;
	rc = reader_first_refused(&s, &r, &relay.sandbox, 0, &options, &err);
	SP_REQUIRE(r.cancel && relay_used(&relay) &&
		   reader_check_refused(&r, rc, &err, SP_HERE, what));
	rc = s.journal->ops->probe(s.journal->self, &relay.sandbox, s.run, &s.options, &state,
				   &code, &err);
	SP_CHECK(t, rc || state == SP_JOURNAL_UNKNOWN,
		 "%s: the probe says an error or unknown, not %s", what, scene_state_name(state));
}

void journal_trouble_unavailable(struct sp_case *t)
{
	static const struct relay_hooks hooks = { .exec = exec_unavailable };

	failing(t, &hooks, "commands that cannot be sent");
}

void journal_trouble_code(struct sp_case *t)
{
	static const struct relay_hooks hooks = { .exec = exec_not_found };

	failing(t, &hooks, "commands that fail in the sandbox");
}

/* ---- Answers that are cut ---- */

/* Longest answer that passes: 990 characters and 13 line ends, so that it cuts a frame within a
 * group of four. */
#define CAP 1003

static int exec_capped(struct relay *relay, const struct sp_exec_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	int rc = sp_sandbox_exec(relay->inner, options, &result, err);

	if (rc)
		return rc;
	if (result.stdout_bytes.len > CAP) {
		result.stdout_bytes.len = CAP;
		result.stdout_bytes.data[CAP] = '\0';
		result.stdout_cut = true;
		atomic_fetch_add(&relay->count, 1);
	}
	*ret_result = result;
	return 0;
}

void journal_trouble_cap(struct sp_case *t)
{
	static const struct relay_hooks hooks = { .exec = exec_capped };
	struct scene s SCENE = SCENE_INIT;
	struct relay relay RELAY = RELAY_INIT;
	struct reader r READER = READER_INIT;
	struct sp_buf content SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_journal_options options;

	SP_REQUIRE(scene_open(t, &s));
	for (int i = 0; i < 60; i++)
		sp_buf_addf(
			&content, "{\"n\":%d,\"text\":\"%.*s\xf0\x9f\x98\x80\"}\n", i, i,
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	SP_REQUIRE(scene_append(&s, s.file, content.data, content.len) &&
		   scene_write(&s, "%s\n", journal_mark(t, s.run, 0)));
	relay_open(t, s.sandbox, &hooks, &relay);
	options = s.options;
	options.strategy = SP_JOURNAL_POLL;
	SP_REQUIRE(reader_open_with(&s, &r, &relay.sandbox, 0, &options));
	SP_REQUIRE(reader_take_all(&r, content.data, content.len, 0, 0, SP_HERE,
				   "through answers that are cut and say so"));
	SP_REQUIRE(relay_used(&relay));
	sp_case_note(t, "%d answers were cut", atomic_load(&relay.count));
	SP_CHECK(t, true, "all lines, each once");
}

/* The last characters of every frame are lost, and nothing says so. */
static int exec_chopped(struct relay *relay, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = sp_sandbox_exec(relay->inner, options, ret_result, err);
	size_t chop = (size_t)atomic_load(&relay->count);

	if (rc == 0 && strstr(options->command, "base64") && ret_result->stdout_bytes.len > chop) {
		ret_result->stdout_bytes.len -= chop;
		ret_result->stdout_bytes.data[ret_result->stdout_bytes.len] = '\0';
	}
	return rc;
}

void journal_trouble_cut_frame(struct sp_case *t)
{
	static const struct relay_hooks hooks = { .exec = exec_chopped };
	static const char content[] = "{\"n\":1}\n{\"n\":22}\n{\"n\":333}\n";
	static const char *const lines[] = { "{\"n\":1}", "{\"n\":22}", "{\"n\":333}" };

	/* The newline and one, two and three characters of the last group of four. */
	for (int chop = 2; chop <= 4; chop++) {
		struct scene s SCENE = SCENE_INIT;
		struct relay relay RELAY = RELAY_INIT;
		struct reader r READER = READER_INIT;
		struct sp_journal_options options;
		struct sp_call_result *result = NULL;
		size_t n = 0;

		SP_REQUIRE(scene_open(t, &s) &&
			   scene_append(&s, s.file, content, sizeof(content) - 1));
		relay_open(t, s.sandbox, &hooks, &relay);
		atomic_store(&relay.count, chop);
		options = s.options;
		options.strategy = SP_JOURNAL_POLL;
		SP_REQUIRE(reader_open_with(&s, &r, &relay.sandbox, 0, &options));
		relay_bound(&relay, r.cancel);
		while (n < SP_COUNT(lines) && (result = reader_next(&r)) && result->rc == 0 &&
		       !r.end) {
			SP_REQUIRE(SP_CHECK_BYTES(t, lines[n], strlen(lines[n]), r.line.text.data,
						  r.line.text.len, "a line out of a cut frame"));
			n++;
		}
		SP_REQUIRE(!sp_case_failed(t) && relay_used(&relay));
		if (n < SP_COUNT(lines))
			SP_REQUIRE(result && reader_check_refused(&r, result->rc, &result->err,
								  SP_HERE, "a frame that was cut"));
	}
}

/* ---- Diagnostics ---- */

/* A platform that folds stderr into stdout. */
static const char *folded(struct relay *relay, const char *command)
{
	return sp_case_format(relay->t, "exec 2>&1; %s", command);
}

static int exec_folded(struct relay *relay, const struct sp_exec_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options other = *options;

	other.command = folded(relay, options->command);
	return sp_sandbox_exec(relay->inner, &other, ret_result, err);
}

static int spawn_folded(struct relay *relay, const struct sp_exec_options *options,
			struct sp_process *ret_process, struct sp_error *err)
{
	struct sp_exec_options other = *options;

	other.command = folded(relay, options->command);
	return sp_sandbox_spawn(relay->inner, &other, ret_process, err);
}

static const struct relay_hooks folding = { .exec = exec_folded, .spawn = spawn_folded };

static void diagnostics(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct relay relay RELAY = RELAY_INIT;
	struct reader r READER = READER_INIT;
	struct sp_bytes tail SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_journal_options options;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(scene_open_live(t, &s));
	relay_open(t, s.sandbox, &folding, &relay);
	/* Nothing is there: every tool complains. */
	rc = s.journal->ops->list(s.journal->self, &relay.sandbox, &s.options, &list, &err);
	SP_REQUIRE(rc ||
		   SP_CHECK_INT(t, 0, (long long)list.len, "names in a folder that is not there"));
	rc = s.journal->ops->stderr_tail(s.journal->self, &relay.sandbox, s.run, 64, &s.options,
					 &tail, &err);
	SP_REQUIRE(rc ||
		   SP_CHECK_INT(t, 0, (long long)tail.len, "bytes of a stderr that is not there"));
	options = s.options;
	options.strategy = strategy;
	SP_REQUIRE(reader_open_with(&s, &r, &relay.sandbox, 0, &options) && reader_ask(&r));
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, s.sandbox, r.pending),
			    "a complaint about a missing file is no line"));
	SP_REQUIRE(!sp_case_failed(t) && relay_used(&relay) && scene_write(&s, "one\n"));
	SP_REQUIRE(
		reader_check_line(&r, reader_answer(&r), "one", 3, 4, SP_HERE, "the first bytes"));
	SP_REQUIRE(scene_write(&s, "two\n"));
	reader_take(&r, "two", 3, 8, SP_HERE, "the next bytes");
}

void journal_trouble_diagnostics(struct sp_case *t)
{
	diagnostics(t, SP_JOURNAL_POLL);
}

void journal_follow_diagnostics(struct sp_case *t)
{
	diagnostics(t, SP_JOURNAL_FOLLOW);
}

/* ---- What is no journal ---- */

/* Readers and the probe say so, through the scene's sandbox. */
static void check_no_journal(struct scene *s, const char *what)
{
	enum sp_journal_strategy strategies[] = { SP_JOURNAL_POLL, SP_JOURNAL_FOLLOW };
	size_t n = sp_case_capabilities(s->t)->follow ? 2 : 1;
	enum sp_journal_state state = SP_JOURNAL_UNKNOWN;
	struct sp_error err = SP_ERROR_INIT;
	int code = -1, rc;

	for (size_t i = 0; i < n; i++)
		SP_REQUIRE(scene_check_refused(s, 0, strategies[i], SP_HERE, what));
	rc = s->journal->ops->probe(s->journal->self, s->sandbox, s->run, &s->options, &state,
				    &code, &err);
	/* Nor does it hang until somebody ends it. */
	SP_CHECK(s->t,
		 rc != SP_ABORTED && rc != SP_TIMED_OUT && (rc || state == SP_JOURNAL_UNKNOWN),
		 "%s: the probe says what is wrong, or unknown, not %s", what,
		 rc ? sp_code_name(rc) : scene_state_name(state));
}

void journal_place_directory(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s) && sp_sh_ok(t, s.sandbox, "mkdir -p %s", s.file));
	check_no_journal(&s, "a folder at the journal's name");
}

void journal_place_fifo(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s) &&
		   sp_sh_ok(t, s.sandbox, "mkdir %s && mkfifo %s", s.dir, s.file));
	check_no_journal(&s, "a FIFO at the journal's name");
}

/* Whether the journal's commands come by the relay; otherwise the case is a skip. */
static bool comes_by(struct scene *s, struct relay *relay)
{
	enum sp_journal_state state;
	struct sp_error err = SP_ERROR_INIT;
	int code;

	(void)s->journal->ops->probe(s->journal->self, &relay->sandbox, s->run, &s->options, &state,
				     &code, &err);
	return relay_used(relay);
}

/* Permissions do not bind root: there the journal's commands run as somebody else. */
void journal_place_unreadable(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct relay relay RELAY = RELAY_INIT;
	const char *user;
	bool is_root;

	SP_REQUIRE(scene_open(t, &s) && scene_write(&s, "one\n%s\n", journal_mark(t, s.run, 0)));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "chmod 711 %s %s && chmod 000 %s", s.place.dir, s.dir,
			    s.file));
	user = sp_sh_out(t, s.sandbox, "id -u");
	SP_REQUIRE(user != NULL);
	relay_open(t, s.sandbox, &relay_in_shell, &relay);
	is_root = !strcmp(user, "0");
	relay.arg = is_root ? "setpriv --reuid=65534 --regid=65534 --clear-groups sh" : "sh";
	SP_REQUIRE(!is_root || comes_by(&s, &relay));
	s.sandbox = &relay.sandbox;
	check_no_journal(&s, "a journal that may not be read");
	s.sandbox = relay.inner;
}

/* ---- A journal that changes under its reader ---- */

static void changed(struct sp_case *t, enum sp_journal_strategy strategy, const char *change,
		    const char *what)
{
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;

	SP_REQUIRE(scene_open_live(t, &s) && scene_write(&s, "one\ntwo\n") &&
		   reader_open(&s, &r, 0, strategy));
	SP_REQUIRE(reader_take(&r, "one", 3, 4, SP_HERE, "before the change") &&
		   reader_take(&r, "two", 3, 8, SP_HERE, "before the change"));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "cd %s && J=%s && %s", s.dir, s.file, change));
	SP_REQUIRE(reader_check_error(&r, SP_HERE, what));
	reader_done(&r);
	SP_REQUIRE(reader_open(&s, &r, 0, strategy));
	reader_take(&r, "new", 3, 4, SP_HERE, "a reader that begins again");
}

#define TRUNCATE "echo new > $J"
#define REPLACE "echo new > next && mv next $J"
#define REPLACE_LONGER "printf 'new\\nlonger than the old one\\n' > next && mv next $J"

void journal_change_truncated(struct sp_case *t)
{
	changed(t, SP_JOURNAL_POLL, TRUNCATE, "a journal that was truncated");
}

void journal_change_replaced(struct sp_case *t)
{
	changed(t, SP_JOURNAL_POLL, REPLACE, "a journal that was replaced by a shorter one");
}

void journal_change_replaced_longer(struct sp_case *t)
{
	changed(t, SP_JOURNAL_POLL, REPLACE_LONGER, "a journal that was replaced by a longer one");
}

void journal_follow_truncated(struct sp_case *t)
{
	changed(t, SP_JOURNAL_FOLLOW, TRUNCATE, "a journal that was truncated");
}

void journal_follow_replaced(struct sp_case *t)
{
	changed(t, SP_JOURNAL_FOLLOW, REPLACE, "a journal that was replaced by a shorter one");
}

void journal_follow_replaced_longer(struct sp_case *t)
{
	changed(t, SP_JOURNAL_FOLLOW, REPLACE_LONGER,
		"a journal that was replaced by a longer one");
}
