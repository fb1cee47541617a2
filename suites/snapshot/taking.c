/* SPDX-License-Identifier: MIT */
/* S1, S4, S5: taking one, under any label, of any sandbox that lives. */
#include <stdlib.h>
#include <string.h>

#include <base/utf8.h>
#include <suites/snapshot/cases.h>
#include <suites/snapshot/scene.h>

/* One line of everything below "tree": kinds, modes, links, sizes, names, and the content of files.
 */
#define MANIFEST                                                                                   \
	"cd tree && { find . -printf '%%P %%y %%m %%l\\0' | LC_ALL=C sort -z; "                    \
	"find . -type f -printf '%%P %%n\\0' | LC_ALL=C sort -z; "                                 \
	"find . -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum; } | cksum"

void snap_take_round_trip(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_holder holder SP_HOLDER = SP_HOLDER_INIT;
	struct sp_sandbox restored SP_HANDLE = SP_SANDBOX_INIT;
	const char *before, *after, *ref;

	SP_REQUIRE(snap_scene_open(t, &s));
	if (sp_case_capabilities(t)->background_processes)
		SP_REQUIRE(sp_holder_start(t, s.sandbox, &holder));
	SP_REQUIRE(sp_sh_ok(
	    t, s.sandbox,
	    "mkdir -p tree/empty tree/deep/er && cd tree && printf 'a\\000b' >bytes && : >none && "
	    "chmod 640 bytes && chmod 755 none && chmod 1777 empty && ln -s bytes link && "
	    "ln -s /absent dangling && : >'a b\n-c' && : >.hidden && "
	    "head -c 300000 /dev/zero >deep/er/zeros && ln bytes deep/twin && "
	    ": >\"$(printf '\\377\\376')\" && : >$(printf '%%0255d' 0) && mkfifo deep/fifo"));
	before = sp_sh_out(t, s.sandbox, MANIFEST);
	ref = before ? snap_take(&s, "round trip") : NULL;
	SP_REQUIRE(ref);
	restored = snap_restore_ok(t, ref, NULL, 0);
	SP_REQUIRE(restored.ops);
	after = sp_sh_out(t, &restored, MANIFEST);
	SP_REQUIRE(after && SP_CHECK_STR(t, before, after, "the tree in the restored sandbox"));
	after = sp_sh_out(t, s.sandbox, MANIFEST);
	SP_REQUIRE(after && SP_CHECK_STR(t, before, after, "the tree in the source"));
	if (holder.pid)
		SP_REQUIRE(
		    sp_sh_ok(t, s.sandbox, "echo on >%s", sp_place_path(&holder.place, "hold")) &&
		    sp_spawned_wait(&holder.child, &(struct sp_exit){0}));
	snap_destroy(t, &restored);
}

/* What changes from one cycle to the next: an addition, a change, and four kinds of removal. */
#define CYCLE                                                                                      \
	"mkdir -p tree/keep tree/go-%1$d && cd tree && echo %1$d >new-%1$d && "                    \
	"echo %1$d >changed && mkdir -p full-%1$d/of && : >full-%1$d/of/it && "                    \
	"ln -s changed link-%1$d && "                                                              \
	"if [ -e new-%2$d ]; then rm -r new-%2$d go-%2$d link-%2$d full-%2$d/of && "               \
	"echo a file >go-%2$d && mkdir link-%2$d; fi"

/* Each restored sandbox is the source of the next snapshot. */
static bool cycle(struct snap_scene *s, int n, struct sp_sandbox *source,
		  struct sp_sandbox *ret_restored)
{
	struct sp_case *t = s->t;
	const char *before, *after, *ref;

	if (!sp_sh_ok(t, source, CYCLE, n, n - 1))
		return false;
	before = sp_sh_out(t, source, MANIFEST);
	ref = before ? snap_take(s, "cycle") : NULL;
	if (!ref)
		return false;
	*ret_restored = snap_restore_ok(t, ref, NULL, 0);
	after = ret_restored->ops ? sp_sh_out(t, ret_restored, MANIFEST) : NULL;
	return after && SP_CHECK_STR(t, before, after, "the tree after %d cycles", n);
}

void snap_take_cycles(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox restored[3] = {SP_SANDBOX_INIT, SP_SANDBOX_INIT, SP_SANDBOX_INIT};
	struct sp_sandbox *source;
	bool whole;

	SP_REQUIRE(snap_scene_open(t, &s));
	source = s.sandbox;
	whole = true;
	for (int n = 0; whole && n < 3; n++) {
		whole = cycle(&s, n + 1, source, &restored[n]);
		/* The scene's next snapshot is of the restored one. */
		s.sandbox = source = &restored[n];
	}
	s.sandbox = sp_case_sandbox(t);
	for (int n = 0; n < 3; n++) {
		if (restored[n].ops)
			(void)snap_destroy(t, &restored[n]);
		sp_sandbox_done(&restored[n]);
	}
}

/* What the image brought and the sandbox removed stays away. */
void snap_take_removed(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox restored SP_HANDLE = SP_SANDBOX_INIT;
	const char *ref, *file, *dir, *may;

	SP_REQUIRE(sp_case_sandbox(t) && snap_is_isolated(t) && snap_scene_open(t, &s));
	file = sp_sh_out(t, s.sandbox, "find /etc -maxdepth 1 -type f -name '[a-d]*' | sort | "
				       "head -n 1");
	dir = sp_sh_out(t, s.sandbox, "find /etc -mindepth 1 -maxdepth 1 -type d -name 'a*' | "
				      "sort | head -n 1");
	SP_REQUIRE(file && dir);
	may = sp_sh_out(t, s.sandbox, "[ -f '%s' ] && [ -w /etc ] && [ -w '%s' ] && echo may; true",
			file, dir);
	SP_REQUIRE(may);
	if (strcmp(may, "may") != 0) {
		sp_skip(t, "needs an image with files and folders in /etc that may be removed");
		return;
	}
	/* A folder that is removed and made again is another one, without the image's files. */
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "rm %s && rm -r %s && mkdir %s && : >%s/own", file, dir,
			    dir, dir));
	ref = snap_take(&s, "removed");
	SP_REQUIRE(ref);
	restored = snap_restore_ok(t, ref, NULL, 0);
	SP_REQUIRE(restored.ops);
	SP_REQUIRE(sp_sh_ok(t, &restored, "[ ! -e %s ] && [ \"$(ls -A %s)\" = own ]", file, dir));
	snap_destroy(t, &restored);
}

void snap_take_wakes(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox restored SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;
	const char *ref;
	int rc;

	SP_REQUIRE(snap_scene_open(t, &s));
	rc = control->ops->set_state(control->self, sp_sandbox_id(s.sandbox), "suspended", &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "control suspends the sandbox"));
	ref = snap_take(&s, "asleep");
	SP_REQUIRE(ref);
	restored = snap_restore_ok(t, ref, NULL, 0);
	SP_REQUIRE(restored.ops && sp_sh_ok(t, &restored, "grep -q %s decoy", s.decoy.text));
	SP_REQUIRE(sp_vars_arrive(t, s.sandbox, NULL, 0, &s.var, 1, SP_HERE, "after the snapshot"));
	snap_destroy(t, &restored);
}

/* ---- Labels ---- */

/* Takes one, compares the label of its reference, deletes it. */
static bool label_kept(struct sp_case *t, struct sp_sandbox *sandbox, const char *label)
{
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_snapshot(sandbox, label, &ref, sp_case_cancel(t), &err);
	bool kept = SP_CHECK_OK(t, rc, &err, "snapshot with a label of %zu bytes, \"%.80s\"",
				label ? strlen(label) : 0, label ? label : "(none)") &&
		    SP_CHECK_STR(t, label, ref.label, "the label of the reference");

	if (ref.id) {
		rc = sp_provider_snapshot_delete(sp_case_provider(t), ref.id, sp_case_cancel(t),
						 &err);
		kept = SP_CHECK_OK(t, rc, &err, "its deletion") && kept;
	}
	return kept;
}

/* `n` times `character`, after `lead` times 'a'; lives as long as the case. */
static const char *label_of(struct sp_case *t, size_t lead, const char *character, size_t n)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (size_t i = 0; i < lead; i++)
		sp_buf_addc(&buf, 'a');
	for (size_t i = 0; i < n; i++)
		sp_buf_adds(&buf, character);
	return sp_case_format(t, "%s", sp_buf_str(&buf));
}

void snap_label_lengths(struct sp_case *t)
{
	/* Nothing, one, and each side of where the name that is stored is full. */
	static const size_t lengths[] = {0, 1, 59, 60, 65, 300};
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	SP_REQUIRE(sandbox);
	for (size_t i = 0; i < SP_COUNT(lengths); i++)
		SP_REQUIRE(label_kept(t, sandbox, label_of(t, lengths[i], "", 0)));
	label_kept(t, sandbox, NULL);
}

/* No text: refused, and nothing is taken; the scene's snapshots are counted by the runner. */
static bool no_text_refused(struct sp_case *t, struct sp_sandbox *sandbox, const char *label)
{
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_snapshot(sandbox, label, &ref, sp_case_cancel(t), &err);

	return SP_CHECK_CODE(t, SP_INVALID, rc, &err, "snapshot with a label that is not UTF-8") &&
	       SP_CHECK(t, !ref.id, "and without a reference");
}

void snap_label_characters(struct sp_case *t)
{
	static const char *const wide[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	/* What is odd wherever it stands shares a label. */
	static const char *const odd[] = {
	    "..",
	    "snp-1",
	    "after-run-0193/x UPPER lower",
	    "\"quoted\" 'too' back\\slash a\tb\nc",
	    "?&=#%20 <b> e\xcc\x81",
	};
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	SP_REQUIRE(sandbox);
	/*
	 * A character of 2, 3 and 4 bytes across where labels are cut, and from there on: the first
	 * is split by whoever counts bytes.
	 */
	for (size_t i = 0; i < SP_COUNT(wide); i++)
		for (size_t lead = 58; lead <= 59; lead++)
			SP_REQUIRE(label_kept(t, sandbox, label_of(t, lead, wide[i], 8)));
	SP_REQUIRE(label_kept(t, sandbox, label_of(t, 0, wide[2], 300)));
	for (size_t i = 0; i < SP_COUNT(odd); i++)
		SP_REQUIRE(label_kept(t, sandbox, odd[i]));
	no_text_refused(t, sandbox, "a\xff\xfe");
}

/* Two snapshots under one label, and under labels that are cut to the same: two, each with its own
 * content. */
static void two_of(struct sp_case *t, const char *first, const char *second)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox one SP_HANDLE = SP_SANDBOX_INIT, two SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *refs[2];

	SP_REQUIRE(snap_scene_open(t, &s));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "echo first >state"));
	refs[0] = snap_take(&s, first);
	SP_REQUIRE(refs[0] && sp_sh_ok(t, s.sandbox, "echo second >state"));
	refs[1] = snap_take(&s, second);
	SP_REQUIRE(refs[1]);
	one = snap_restore_ok(t, refs[0], NULL, 0);
	SP_REQUIRE(one.ops && sp_sh_ok(t, &one, "[ \"$(cat state)\" = first ]"));
	SP_REQUIRE(SP_CHECK_OK(
	    t, sp_provider_snapshot_delete(sp_case_provider(t), refs[0], sp_case_cancel(t), &err),
	    &err, "the first is deleted"));
	two = snap_restore_ok(t, refs[1], NULL, 0);
	SP_REQUIRE(two.ops && sp_sh_ok(t, &two, "[ \"$(cat state)\" = second ]"));
	SP_REQUIRE(snap_destroy(t, &one));
	snap_destroy(t, &two);
}

void snap_label_same(struct sp_case *t)
{
	two_of(t, "nightly", "nightly");
}

void snap_label_same_start(struct sp_case *t)
{
	two_of(t, label_of(t, 70, "1", 1), label_of(t, 70, "2", 1));
}
