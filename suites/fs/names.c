/* SPDX-License-Identifier: MIT */
/* Names of any bytes, and where a path leads. */
#include <string.h>

#include <base/buf.h>

#include "cases.h"
#include "run.h"

/*
 * Each makes something else of a shell's word, an option, a pattern or a path. What is odd wherever
 * it stands shares a name; what is odd only first, last or alone has one of its own.
 */
static const char *const odd[] = {
	"--help",
	" lead, trail\n",
	"\nlead, trail ",
	"*?",
	"#x",
	"~",
	"\"q\"",
	"...",
	"a b'$HOME`id`$(id)!!back\\",
	"a\nb\tc;d|e&amp;%s%n",
	"\xc3\xa9 e\xcc\x81 \xf0\x9f\x98\x80",
};

/* Most paths that a case has at once. */
#define PATHS_MAX 16
_Static_assert(SP_COUNT(odd) <= PATHS_MAX, "all odd names fit");

/*
 * Paths that are treated together: each call is made for all of them before the next, so that one
 * command can look at them all. Every file holds its own first path.
 */
struct paths {
	const struct yard *y;
	const char *at[PATHS_MAX];
	size_t n;
};

static struct paths odd_paths(const struct yard *y)
{
	struct paths paths = { .y = y, .n = SP_COUNT(odd) };

	for (size_t i = 0; i < paths.n; i++) {
		paths.at[i] = yard_path(y, odd[i]);
		sp_case_note(y->t, "path %zu: %s", i, quoted(y->t, paths.at[i]));
	}
	return paths;
}

static const char *moved(struct sp_case *t, const char *path)
{
	return sp_case_format(t, "%s.moved", path);
}

/* One command; it prints the numbers of those paths for which `test` of them is false. */
static bool command_agrees(const struct paths *paths, const char *ending,
			   void (*test)(struct sp_buf *command, const char *word, const char *path),
			   const char *what)
{
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_case *t = paths->y->t;

	for (size_t i = 0; i < paths->n; i++) {
		test(&command, quoted(t, sp_case_format(t, "./%s%s", paths->at[i], ending)),
		     paths->at[i]);
		sp_buf_addf(&command, " || echo %zu;", i);
	}
	return says(paths->y, "", what, "%s true", sp_buf_str(&command));
}

/* A dot keeps the newlines at the end of what was read. */
static void test_holds(struct sp_buf *command, const char *word, const char *path)
{
	sp_buf_addf(command, "[ -f %s ] && [ \"$(cat %s; echo .)\" = ", word, word);
	sp_buf_add_shell(command, path);
	sp_buf_adds(command, ". ]");
}

static void test_folder(struct sp_buf *command, const char *word, const char *path)
{
	(void)path;
	sp_buf_addf(command, "[ -d %s ]", word);
}

static void test_absent(struct sp_buf *command, const char *word, const char *path)
{
	(void)path;
	sp_buf_addf(command, "[ ! -e %s ]", word);
}

static bool look_at(const struct paths *paths, size_t i)
{
	struct sp_case *t = paths->y->t;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_stat stat = { 0 };
	int rc;

	if (!gives_text(paths->y, paths->at[i], paths->at[i]) ||
	    !is_there(paths->y, paths->at[i], true))
		return false;
	rc = sp_sandbox_lstat(paths->y->sandbox, paths->at[i], &stat, sp_case_cancel(t), &err);
	return SP_CHECK_OK(t, rc, &err, "lstat of path %zu", i) &&
	       SP_CHECK_INT(t, (long long)strlen(paths->at[i]), (long long)stat.size,
			    "size of path %zu", i);
}

static bool move(const struct paths *paths, size_t i)
{
	struct sp_case *t = paths->y->t;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_rename(paths->y->sandbox, paths->at[i], moved(t, paths->at[i]),
				   sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "rename of path %zu", i);
}

static bool remove_moved(const struct paths *paths, size_t i)
{
	struct sp_case *t = paths->y->t;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_remove(paths->y->sandbox, moved(t, paths->at[i]), sp_case_cancel(t),
				   &err);

	return SP_CHECK_OK(t, rc, &err, "remove of path %zu", i);
}

static bool put_itself(const struct paths *paths, size_t i)
{
	return put_text(paths->y, paths->at[i], paths->at[i]);
}

static bool is_absent(const struct paths *paths, size_t i)
{
	return is_there(paths->y, paths->at[i], false);
}

static bool each(const struct paths *paths, bool (*call)(const struct paths *paths, size_t i))
{
	for (size_t i = 0; i < paths->n; i++) {
		if (!call(paths, i))
			return false;
	}
	return true;
}

/* Every call on files at these paths, which are relative. */
static bool all_calls(const struct paths *paths)
{
	return each(paths, put_itself) &&
	       command_agrees(paths, "", test_holds, "files without their bytes, by a command") &&
	       each(paths, look_at) && each(paths, move) &&
	       command_agrees(paths, ".moved", test_holds, "files that were not moved") &&
	       each(paths, is_absent) && each(paths, remove_moved) &&
	       command_agrees(paths, ".moved", test_absent, "files that were not removed");
}

/* What no call named is left; a pattern that was not quoted would have met it. */
static void only_the_bystander(const struct yard *y)
{
	says(y, "bystander", "entries left", "ls -A %s", y->dir);
}

void fs_names_odd(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct paths paths;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "bystander"), "x"));
	paths = odd_paths(&y);
	SP_REQUIRE(all_calls(&paths));
	only_the_bystander(&y);
}

/* The name is the whole path: nothing stands before it that would keep it from being an option. */
void fs_names_whole(struct sp_case *t)
{
	static const char *const starts[] = { "-n", "-rf", "--help", "-H", "-delete", "--",
					      "-",  " ",   "~",	     "!",  "#",	      "=" };
	struct yard y YARD = YARD_INIT;
	struct paths paths = { .y = &y, .n = SP_COUNT(starts) };

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < SP_COUNT(starts); i++)
		paths.at[i] = sp_case_format(t, "%s%s", starts[i], y.dir);
	all_calls(&paths);
}

static bool make_folder(const struct paths *paths, size_t i)
{
	struct sp_case *t = paths->y->t;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_mkdir(paths->y->sandbox, paths->at[i], sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "mkdir of path %zu", i);
}

static bool fill_folder(const struct paths *paths, size_t i)
{
	return put_text(paths->y, sp_case_format(paths->y->t, "%s/file", paths->at[i]),
			paths->at[i]);
}

static bool list_folder(const struct paths *paths, size_t i)
{
	struct sp_case *t = paths->y->t;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_list(paths->y->sandbox, paths->at[i], &list, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "list of path %zu", i) &&
	       SP_CHECK_INT(t, 1, (long long)list.len, "entries of path %zu", i) &&
	       SP_CHECK_STR(t, "file", list.entries[0].name, "the entry's name");
}

/* Folders of these names: made, filled, listed, moved, removed. */
void fs_names_folders(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct paths paths;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "bystander"), "x"));
	paths = odd_paths(&y);
	SP_REQUIRE(each(&paths, make_folder) &&
		   command_agrees(&paths, "", test_folder, "folders that were not made"));
	SP_REQUIRE(each(&paths, fill_folder) && each(&paths, list_folder) && each(&paths, move));
	SP_REQUIRE(command_agrees(&paths, ".moved/file", test_holds,
				  "folders that were not moved with what is in them"));
	SP_REQUIRE(each(&paths, remove_moved));
	only_the_bystander(&y);
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
	struct sp_buf make SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < SP_COUNT(odd); i++) {
		sp_buf_adds(&make, ": >./");
		sp_buf_add_shell(&make, yard_path(&y, odd[i]));
		sp_buf_adds(&make, " && ");
	}
	SP_REQUIRE(sp_sh_ok(t, y.sandbox, "%s:", sp_buf_str(&make)));
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

/* One of the three spellings of a relative path. */
static const char *spelled(struct sp_case *t, const char *root, const char *path, size_t n)
{
	static const char *const starts[] = { "/workspace/", "", NULL };
	const char *start = starts[n % SP_COUNT(starts)];

	return start ? sp_case_format(t, "%s%s", start, path) :
		       sp_case_format(t, "%s/%s", root, path);
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
	/* Whatever stands at its end: written in one spelling, read and seen in the two others. */
	for (size_t i = 0; i < SP_COUNT(odd); i++) {
		const char *name = yard_path(&y, odd[i]);

		SP_REQUIRE(put_text(&y, spelled(t, root, name, i), odd[i]) &&
			   gives_text(&y, spelled(t, root, name, i + 1), odd[i]) &&
			   is_there(&y, spelled(t, root, name, i + 2), true));
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
