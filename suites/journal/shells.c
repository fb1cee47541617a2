/* SPDX-License-Identifier: MIT */
/* J18: everything works in any POSIX shell with its own tools, not only in the sandbox's. */
#include "cases.h"
#include "scene.h"

/* One run from its start to its removal, with a word on each stream and a quote in its name. */
static void whole_life(struct scene *s, struct relay *relay)
{
	static const char content[] = "one\n\303\251 two\n";
	struct scene through = *s;
	struct sp_case *t = s->t;
	struct sp_bytes tail SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	through.sandbox = &relay->sandbox;
	SP_REQUIRE(scene_set_run(&through, sp_case_format(t, "it's %s", sp_case_unique(t))));
	SP_REQUIRE(
		scene_run(&through, "echo one; echo boom >&2; printf '\\303\\251 two\\n'; exit 3"));
	SP_REQUIRE(relay_used(relay));
	SP_REQUIRE(scene_check_state(&through, SP_JOURNAL_FINISHED, 3, SP_HERE, "the run"));
	SP_REQUIRE(scene_reads(&through, SP_JOURNAL_POLL, content, sizeof(content) - 1, 3, SP_HERE,
			       "polled"));
	if (sp_case_capabilities(t)->follow)
		SP_REQUIRE(scene_reads(&through, SP_JOURNAL_FOLLOW, content, sizeof(content) - 1, 3,
				       SP_HERE, "followed"));
	rc = through.journal->ops->stderr_tail(through.journal->self, through.sandbox, through.run,
					       100, &through.options, &tail, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "stderr_tail answers") &&
		   SP_CHECK_BYTES(t, "boom\n", 5, tail.data, tail.len, "its stderr"));
	rc = through.journal->ops->list(through.journal->self, through.sandbox, &through.options,
					&list, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "list answers") &&
		   SP_CHECK_INT(t, 2, (long long)list.len, "files listed") &&
		   SP_CHECK(t, list.mtimes_known, "times are told"));
	rc = through.journal->ops->remove(through.journal->self, through.sandbox, through.run,
					  &through.options, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "remove answers"));
	scene_check_state(&through, SP_JOURNAL_UNKNOWN, 0, SP_HERE, "the run that was removed");
	sp_case_note(t, "%d commands ran in %s", atomic_load(&relay->count),
		     (const char *)relay->arg);
}

static void in(struct sp_case *t, const char *shell)
{
	struct scene s SCENE = SCENE_INIT;
	struct relay relay RELAY = RELAY_INIT;

	SP_REQUIRE(scene_open(t, &s));
	relay_open(t, s.sandbox, &relay_in_shell, &relay);
	relay.arg = shell;
	whole_life(&s, &relay);
}

void journal_shell_dash(struct sp_case *t)
{
	in(t, "dash");
}

void journal_shell_bash(struct sp_case *t)
{
	in(t, "bash");
}

/* Its shell and its tools: tail, head, base64, stat and the rest come from it as well. */
void journal_shell_busybox(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct relay relay RELAY = RELAY_INIT;
	const char *tools;

	SP_REQUIRE(scene_open(t, &s));
	tools = sp_place_path(&s.place, "tools");
	SP_REQUIRE(sp_sh_ok(t, s.sandbox,
			    "mkdir %s && b=$(command -v busybox) && for t in $(busybox --list); do "
			    "ln -s \"$b\" %s/$t; done",
			    tools, tools));
	relay_open(t, s.sandbox, &relay_in_shell, &relay);
	relay.arg = sp_case_format(t, "env PATH=%s %s/sh", tools, tools);
	whole_life(&s, &relay);
}
