/* SPDX-License-Identifier: MIT */
/* Names of any bytes, and where a path leads. */
#include <string.h>

#include "cases.h"
#include "run.h"

static const char *const odd[] = {
	"-n",	  "--help",  "a b",    " lead",	   "trail ", "it's",	  "\"q\"",     "$HOME",
	"`id`",	  "$(id)",   "a\nb",   "\nlead",  "trail\n", "back\\slash", "*",       "?",
	"#x",	  "~",	     "\xc3\xa9", "e\xcc\x81", "\xf0\x9f\x98\x80", "a\tb", ".hidden", "...",
	"%s%n",	  "&amp;",   "a;b",    "a|b",	   "!!"
};

/* Every call on a file at `path`, which is relative. */
static bool all_calls(const struct yard *y, const char *path)
{
	struct sp_case *t = y->t;
	const char *moved = sp_case_format(t, "%s.moved", path);
	struct sp_error err = SP_ERROR_INIT;
	struct sp_stat stat = { 0 };
	int rc;

	sp_case_note(t, "a file at %s", quoted(t, path));
	if (!put_text(y, path, path) ||
	    !says(y, "1", "files of that name, by a command", "[ -f ./%s ] && echo 1",
		  quoted(t, path)) ||
	    !gives_text(y, path, path) || !is_there(y, path, true))
		return false;
	rc = sp_sandbox_lstat(y->sandbox, path, &stat, sp_case_cancel(t), &err);
	if (!SP_CHECK_OK(t, rc, &err, "lstat") ||
	    !SP_CHECK_INT(t, (long long)strlen(path), (long long)stat.size, "its size"))
		return false;
	rc = sp_sandbox_rename(y->sandbox, path, moved, sp_case_cancel(t), &err);
	if (!SP_CHECK_OK(t, rc, &err, "rename") || !is_there(y, path, false) ||
	    !gives_text(y, moved, path))
		return false;
	rc = sp_sandbox_remove(y->sandbox, moved, sp_case_cancel(t), &err);
	return SP_CHECK_OK(t, rc, &err, "remove") && is_there(y, moved, false);
}

void fs_names_odd(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < SP_COUNT(odd); i++)
		SP_REQUIRE(all_calls(&y, yard_path(&y, odd[i])));
	says(&y, "0", "entries left", "ls -A %s | wc -l | tr -d ' '", y.dir);
}

/* The name is the whole path: nothing stands before it that would keep it from being an option. */
void fs_names_whole(struct sp_case *t)
{
	static const char *const starts[] = { "-n", "-rf", "--help", "-H", "-delete", "--",
					      "-",  " ",   "~",	     "!",  "#",	      "=" };
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < SP_COUNT(starts); i++)
		SP_REQUIRE(all_calls(&y, sp_case_format(t, "%s%s", starts[i], y.dir)));
}

/* A folder of that name: made, filled, listed, moved, removed. */
static bool folder_calls(const struct yard *y, const char *path)
{
	struct sp_case *t = y->t;
	const char *moved = sp_case_format(t, "%s.moved", path);
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_mkdir(y->sandbox, path, sp_case_cancel(t), &err);

	sp_case_note(t, "a folder at %s", quoted(t, path));
	if (!SP_CHECK_OK(t, rc, &err, "mkdir") ||
	    !says(y, "1", "folders of that name, by a command", "[ -d ./%s ] && echo 1",
		  quoted(t, path)) ||
	    !put_text(y, sp_case_format(t, "%s/file", path), path))
		return false;
	rc = sp_sandbox_list(y->sandbox, path, &list, sp_case_cancel(t), &err);
	if (!SP_CHECK_OK(t, rc, &err, "list") ||
	    !SP_CHECK_INT(t, 1, (long long)list.len, "entries of it") ||
	    !SP_CHECK_STR(t, "file", list.entries[0].name, "the entry's name"))
		return false;
	rc = sp_sandbox_rename(y->sandbox, path, moved, sp_case_cancel(t), &err);
	if (!SP_CHECK_OK(t, rc, &err, "rename") ||
	    !gives_text(y, sp_case_format(t, "%s/file", moved), path))
		return false;
	rc = sp_sandbox_remove(y->sandbox, moved, sp_case_cancel(t), &err);
	return SP_CHECK_OK(t, rc, &err, "remove") && is_there(y, moved, false);
}

void fs_names_folders(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < SP_COUNT(odd); i++)
		SP_REQUIRE(folder_calls(&y, yard_path(&y, odd[i])));
	says(&y, "0", "entries left", "ls -A %s | wc -l | tr -d ' '", y.dir);
}

/* No text at all, and beside it what a careless conversion would make of it. */
#define BYTES "\xff\xfe x"
#define LOSSY "\xef\xbf\xbd\xef\xbf\xbd x"

/* Transfers may refuse such a name: a service takes paths as text. Nothing else may happen. */
static bool transfer_or_refusal(const struct yard *y, const char *path)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_write(y->sandbox, path, "new", 3, sp_case_cancel(y->t), &err);

	if (!(rc ? SP_CHECK_CODE(y->t, SP_INVALID, rc, &err, "write")
		 : says(y, "new", "what was written, by a command", "cat ./%s",
			quoted(y->t, path))))
		return false;
	rc = sp_sandbox_read(y->sandbox, path, &bytes, sp_case_cancel(y->t), &err);
	return rc ? SP_CHECK_CODE(y->t, SP_INVALID, rc, &err, "read")
		  : SP_CHECK(y->t, bytes.len == 3, "what is read has 3 bytes, not %zu", bytes.len);
}

void fs_names_bytes(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_stat stat = { 0 };
	const char *path;
	int rc;

	SP_REQUIRE(yard_open(t, &y));
	path = yard_path(&y, BYTES);
	SP_REQUIRE(sp_sh_ok(t, y.sandbox, "cd %s && echo 12 >%s && echo lossy >%s", y.dir,
			    quoted(t, BYTES), quoted(t, LOSSY)));
	rc = sp_sandbox_list(y.sandbox, y.dir, &list, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "list") &&
		   SP_CHECK_INT(t, 2, (long long)list.len, "names listed"));
	SP_REQUIRE(SP_CHECK_STR(t, LOSSY, list.entries[0].name, "the first name") &&
		   SP_CHECK_STR(t, BYTES, list.entries[1].name, "the second name"));
	rc = sp_sandbox_lstat(y.sandbox, path, &stat, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "lstat") &&
		   SP_CHECK_INT(t, 3, (long long)stat.size, "its size"));
	SP_REQUIRE(is_there(&y, path, true) && transfer_or_refusal(&y, path));
	rc = sp_sandbox_rename(y.sandbox, path, yard_path(&y, BYTES BYTES), sp_case_cancel(t),
			       &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "rename") && is_there(&y, path, false) &&
		   says(&y, "1", "files of the new name, by a command", "[ -f %s/%s ] && echo 1",
			y.dir, quoted(t, BYTES BYTES)));
	rc = sp_sandbox_remove(y.sandbox, yard_path(&y, BYTES BYTES), sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "remove"));
	says(&y, "lossy", "what is left, by a command", "cat ./%s/*", y.dir);
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
	SP_REQUIRE(gives_text(&y, sp_case_format(t, "/workspace/./%s/../%s//f", y.dir, y.dir),
			      "virtual"));
	/* Three spellings of one path, whatever stands at its end. */
	for (size_t i = 0; i < SP_COUNT(odd); i++) {
		SP_REQUIRE(put_text(&y, sp_case_format(t, "/workspace/%s", yard_path(&y, odd[i])),
				    odd[i]));
		SP_REQUIRE(gives_text(&y, yard_path(&y, odd[i]), odd[i]) &&
			   gives_text(&y,
				      sp_case_format(t, "%s/%s", root, yard_path(&y, odd[i])),
				      odd[i]) &&
			   is_there(&y, sp_case_format(t, "/workspace/%s", yard_path(&y, odd[i])),
				    true));
	}
}

/* "/workspace" is a component, not a beginning. */
void fs_paths_look_alike(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *root, *path, *tail;
	int rc;

	SP_REQUIRE(yard_open(t, &y));
	root = sp_sandbox_workspace_root(y.sandbox);
	tail = sp_case_format(t, "-%s", y.dir);
	path = sp_case_format(t, "/workspace%s", tail);
	rc = sp_sandbox_write(y.sandbox, path, "apart", 5, sp_case_cancel(t), &err);
	/* A sandbox whose calls reach its own folder only refuses it. */
	if (rc)
		SP_REQUIRE(SP_CHECK(t, rc == SP_DENIED || rc == SP_INVALID,
				    "what cannot be written there is refused, not %s",
				    sp_code_name(rc)));
	else
		SP_REQUIRE(says(&y, "apart", "a file beside /workspace", "cat %s && rm %s", path,
				path));
	says(&y, "", "what lies where a beginning would lead",
	     "ls -d -- '%s%s' '%s/%s' 2>/dev/null; true", root, tail, root, tail);
}
