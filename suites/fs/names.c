/* SPDX-License-Identifier: MIT */
/* Names of any bytes, and where a path leads. */
#include <string.h>

#include "cases.h"
#include "run.h"

static const char *const odd[] = {
	"-n",	  "--help",  "a b",    " lead",	   "trail ", "it's",	  "\"q\"",     "$HOME",
	"`id`",	  "$(id)",   "a\nb",   "\nlead",  "trail\n", "back\\slash", "*",       "?",
	"#x",	  "~",	     "\xc3\xa9", "e\xcc\x81", "\xf0\x9f\x98\x80", "a\tb", ".hidden", "...",
	"%s%n",	  "&amp;",   "a;b",    "a|b",	   "!!",
};

/* Every call on one name; a neighbour of a like name stays as it is. */
static bool all_calls(const struct yard *y, const char *name)
{
	struct sp_case *t = y->t;
	const char *path = yard_path(y, name), *moved = sp_case_format(t, "%s.moved", path);
	struct sp_error err = SP_ERROR_INIT;
	struct sp_stat stat = { 0 };
	int rc;

	sp_case_note(t, "a file named %s", quoted(t, name));
	if (!put_text(y, path, name) ||
	    !says(y, "1", "files of that name, by a command", "[ -f ./%s ] && echo 1",
		  quoted(t, path)) ||
	    !gives_text(y, path, name) || !is_there(y, path, true))
		return false;
	rc = sp_sandbox_lstat(y->sandbox, path, &stat, sp_case_cancel(t), &err);
	if (!SP_CHECK_OK(t, rc, &err, "lstat") ||
	    !SP_CHECK_INT(t, (long long)strlen(name), (long long)stat.size, "its size"))
		return false;
	rc = sp_sandbox_rename(y->sandbox, path, moved, sp_case_cancel(t), &err);
	if (!SP_CHECK_OK(t, rc, &err, "rename") || !is_there(y, path, false) ||
	    !gives_text(y, moved, name))
		return false;
	rc = sp_sandbox_remove(y->sandbox, moved, sp_case_cancel(t), &err);
	return SP_CHECK_OK(t, rc, &err, "remove") && is_there(y, moved, false);
}

void fs_names_odd(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < SP_COUNT(odd); i++)
		SP_REQUIRE(all_calls(&y, odd[i]));
	says(&y, "0", "entries left", "ls -A %s | wc -l | tr -d ' '", y.dir);
}

void fs_names_listed(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < SP_COUNT(odd); i++)
		SP_REQUIRE(sp_sh_ok(t, y.sandbox, ": >./%s", quoted(t, yard_path(&y, odd[i]))));
	/* A relative folder and its virtual path are one: the paths of the entries are absolute. */
	rc = sp_sandbox_list(y.sandbox, y.dir, &list, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "list"));
	SP_REQUIRE(SP_CHECK_INT(t, (long long)SP_COUNT(odd), (long long)list.len, "names listed"));
	for (size_t i = 0; i < SP_COUNT(odd); i++) {
		size_t found = 0;

		for (size_t j = 0; j < list.len; j++)
			found += !strcmp(list.entries[j].name, odd[i]) &&
				 !strcmp(list.entries[j].path,
					 sp_case_format(t, "/workspace/%s", yard_path(&y, odd[i])));
		SP_REQUIRE(SP_CHECK_INT(t, 1, (long long)found,
					"entries with the name %s and its path",
					quoted(t, odd[i])));
	}
	for (size_t j = 1; j < list.len; j++)
		SP_REQUIRE(SP_CHECK(t, strcmp(list.entries[j - 1].name, list.entries[j].name) < 0,
				    "entries are in the order of their bytes: %s before %s",
				    quoted(t, list.entries[j - 1].name),
				    quoted(t, list.entries[j].name)));
}

void fs_paths_workspace(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	const char *root;

	SP_REQUIRE(yard_open(t, &y));
	root = sp_sandbox_workspace_root(y.sandbox);
	SP_REQUIRE(put_text(&y, sp_case_format(t, "/workspace/%s/f", y.dir), "virtual"));
	SP_REQUIRE(says(&y, "virtual", "a file written below /workspace", "cat %s/%s/f",
			quoted(t, root), y.dir));
	SP_REQUIRE(gives_text(&y, yard_path(&y, "f"), "virtual"));
	SP_REQUIRE(gives_text(&y, sp_case_format(t, "%s/%s/f", root, y.dir), "virtual"));
	gives_text(&y, sp_case_format(t, "/workspace/./%s/../%s//f", y.dir, y.dir), "virtual");
}
