/* SPDX-License-Identifier: MIT */
/* Folders and links: made, listed, described, renamed, removed. */
#include <string.h>
#include <sys/stat.h>

#include <base/buf.h>

#include "cases.h"
#include "run.h"

static const char *const type_names[] = { "file", "dir", "symlink", "other" };

static bool listed(const struct yard *y, const struct sp_dir_list *list, const char *name,
		   enum sp_file_type type)
{
	for (size_t i = 0; i < list->len; i++)
		if (!strcmp(list->entries[i].name, name))
			return SP_CHECK_STR(y->t, type_names[type],
					    type_names[list->entries[i].type], "the type of %s",
					    name);
	return SP_CHECK(y->t, false, "%s is listed", name);
}

#define MAKE_ALL                                                                                   \
	"cd %s && echo x >file && mkdir dir && ln -s dir link && ln -s nowhere dangling && "       \
	"mkfifo fifo"

void fs_list_types(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(yard_open(t, &y) && sp_sh_ok(t, y.sandbox, MAKE_ALL, y.dir));
	rc = sp_sandbox_list(y.sandbox, y.dir, &list, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "list") &&
		   SP_CHECK_INT(t, 5, (long long)list.len, "entries"));
	SP_REQUIRE(listed(&y, &list, "file", SP_FILE) && listed(&y, &list, "dir", SP_DIR) &&
		   listed(&y, &list, "link", SP_SYMLINK) &&
		   listed(&y, &list, "dangling", SP_SYMLINK));
	listed(&y, &list, "fifo", SP_OTHER);
}

void fs_list_refuses(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(yard_open(t, &y) &&
		   sp_sh_ok(t, y.sandbox, "echo x >%s/file; mkdir %s/empty", y.dir, y.dir));
	rc = sp_sandbox_list(y.sandbox, yard_path(&y, "no"), &list, sp_case_cancel(t), &err);
	SP_CHECK_CODE(t, SP_NOT_FOUND, rc, &err, "list of a missing folder");
	rc = sp_sandbox_list(y.sandbox, yard_path(&y, "file"), &list, sp_case_cancel(t), &err);
	SP_CHECK_CODE(t, SP_CONFLICT, rc, &err, "list of a file");
	rc = sp_sandbox_list(y.sandbox, yard_path(&y, "empty"), &list, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "list of an empty folder"));
	SP_CHECK_INT(t, 0, (long long)list.len, "entries of an empty folder");
}

void fs_lstat_types(struct sp_case *t)
{
	static const struct {
		const char *name;
		enum sp_file_type type;
		uint32_t mode;
		uint64_t size;
	} rows[] = {
		{ "file", SP_FILE, S_IFREG | 0640, 2 },
		{ "dir", SP_DIR, S_IFDIR | 0750, 0 },
		{ "link", SP_SYMLINK, S_IFLNK | 0777, 0 },
		{ "dangling", SP_SYMLINK, S_IFLNK | 0777, 0 },
		{ "fifo", SP_OTHER, S_IFIFO | 0600, 0 },
	};
	struct yard y YARD = YARD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_stat stat = { 0 };

	SP_REQUIRE(yard_open(t, &y) && sp_sh_ok(t, y.sandbox,
						MAKE_ALL " && chmod 640 file && chmod 750 dir && "
							 "chmod 600 fifo",
						y.dir));
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		int rc = sp_sandbox_lstat(y.sandbox, yard_path(&y, rows[i].name), &stat,
					  sp_case_cancel(t), &err);

		SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "lstat of %s", rows[i].name));
		SP_REQUIRE(SP_CHECK_STR(t, type_names[rows[i].type], type_names[stat.type],
					"type of %s", rows[i].name));
		SP_REQUIRE(SP_CHECK_STR(t, sp_case_format(t, "%o", rows[i].mode),
					sp_case_format(t, "%o", stat.mode), "mode of %s",
					rows[i].name));
		SP_REQUIRE(SP_CHECK_INT(t, (long long)rows[i].size, (long long)stat.size,
					"size of %s", rows[i].name));
	}
	SP_CHECK_CODE(t, SP_NOT_FOUND,
		      sp_sandbox_lstat(y.sandbox, yard_path(&y, "no"), &stat, sp_case_cancel(t),
				       &err),
		      &err, "lstat of a missing entry");
}

void fs_exists_answers(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) && sp_sh_ok(t, y.sandbox, MAKE_ALL, y.dir));
	SP_REQUIRE(is_there(&y, yard_path(&y, "file"), true) &&
		   is_there(&y, yard_path(&y, "dir"), true) &&
		   is_there(&y, yard_path(&y, "link"), true) &&
		   is_there(&y, yard_path(&y, "dangling"), true));
	SP_REQUIRE(is_there(&y, yard_path(&y, "no"), false) &&
		   is_there(&y, yard_path(&y, "no/no"), false));
}

void fs_mkdir_makes(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(yard_open(t, &y));
	for (int i = 0; i < 2; i++) {
		rc = sp_sandbox_mkdir(y.sandbox, yard_path(&y, "a/b/c"), sp_case_cancel(t), &err);
		SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "mkdir for the %d. time", i + 1));
	}
	SP_REQUIRE(says(&y, "dir", "what is there, by a command", "[ -d %s/a/b/c ] && echo dir",
			y.dir));
	SP_REQUIRE(put_text(&y, yard_path(&y, "file"), "x"));
	rc = sp_sandbox_mkdir(y.sandbox, yard_path(&y, "file"), sp_case_cancel(t), &err);
	SP_CHECK_CODE(t, SP_CONFLICT, rc, &err, "mkdir where a file is");
	rc = sp_sandbox_mkdir(y.sandbox, yard_path(&y, "file/below"), sp_case_cancel(t), &err);
	SP_CHECK_CODE(t, SP_CONFLICT, rc, &err, "mkdir below a file");
	gives_text(&y, yard_path(&y, "file"), "x");
}

void fs_remove_tree(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	static const char *const gone[] = { "tree", "tree", "link", "dangling", "file" };

	SP_REQUIRE(yard_open(t, &y));
	SP_REQUIRE(sp_sh_ok(t, y.sandbox,
			    "cd %s && mkdir -p tree/.hidden/deep outside && echo keep "
			    ">outside/keep && echo x >file && "
			    "echo x >tree/.hidden/deep/x && ln -s ../outside tree/out && ln -s "
			    "outside link && "
			    "ln -s nowhere dangling",
			    y.dir));
	for (size_t i = 0; i < SP_COUNT(gone); i++) {
		int rc = sp_sandbox_remove(y.sandbox, yard_path(&y, gone[i]), sp_case_cancel(t),
					   &err);

		SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "remove of %s", gone[i]));
	}
	says(&y, "outside\nkeep", "what is left, by a command",
	     "cd %s && ls -A && cat outside/keep", y.dir);
}

void fs_rename_as_posix(struct sp_case *t)
{
	static const struct {
		const char *from, *to;
		int code;
		const char *left;
	} rows[] = {
		{ "f1", "new", 0, "d1 d2 f2 full new" },
		{ "f1", "f2", 0, "d1 d2 f2 full" },
		{ "d1", "d3", 0, "d2 d3 f1 f2 full" },
		{ "d1", "d2", 0, "d2 f1 f2 full" },
		{ "f1", "f1", 0, "d1 d2 f1 f2 full" },
		{ "d1", "full", SP_CONFLICT, "d1 d2 f1 f2 full" },
		{ "f1", "d1", SP_CONFLICT, "d1 d2 f1 f2 full" },
		{ "d1", "f1", SP_CONFLICT, "d1 d2 f1 f2 full" },
		{ "no", "f1", SP_NOT_FOUND, "d1 d2 f1 f2 full" },
		{ "f1", "no/f1", SP_NOT_FOUND, "d1 d2 f1 f2 full" },
	};
	struct sp_buf left SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y));
	/* A folder for each row; one command makes all, and one looks at all. */
	SP_REQUIRE(sp_sh_ok(t, y.sandbox,
			    "cd %s && for i in 0 1 2 3 4 5 6 7 8 9; do "
			    "mkdir $i && cd $i && mkdir d1 d2 full && echo x >full/x && "
			    "echo 1 >f1 && echo 2 >f2 && cd .. || exit; done",
			    y.dir));
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const char *from = sp_case_format(t, "%s/%zu/%s", y.dir, i, rows[i].from);
		const char *to = sp_case_format(t, "%s/%zu/%s", y.dir, i, rows[i].to);
		struct sp_error err = SP_ERROR_INIT;
		int rc = sp_sandbox_rename(y.sandbox, from, to, sp_case_cancel(t), &err);

		SP_REQUIRE(SP_CHECK_CODE(t, rows[i].code, rc, &err, "rename of %s to %s",
					 rows[i].from, rows[i].to));
		sp_buf_addf(&left, "%s%zu: %s", i ? "\n" : "", i, rows[i].left);
	}
	says(&y, sp_buf_str(&left), "what is there after each rename, by a command",
	     "cd %s && for i in *; do cd $i && echo $i: * && cd ..; done", y.dir);
}

/* "Not found" is a claim, and these are no proof of it. */
void fs_lstat_refuses(struct sp_case *t)
{
	static const char *const rows[] = { "file/below", "file/below/that", "loop/below" };
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "file"), "x") &&
		   sp_sh_ok(t, y.sandbox, "ln -s loop %s/loop", y.dir));
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_error err = SP_ERROR_INIT;
		struct sp_stat stat = { 0 };
		bool exists = false;
		int rc = sp_sandbox_lstat(y.sandbox, yard_path(&y, rows[i]), &stat,
					  sp_case_cancel(t), &err);

		SP_CHECK(t, rc < 0 && rc != SP_NOT_FOUND && rc != SP_GONE,
			 "lstat of %s is an error that does not say \"missing\", but %s", rows[i],
			 rc ? sp_code_name(rc) : "success");
		rc = sp_sandbox_exists(y.sandbox, yard_path(&y, rows[i]), &exists,
				       sp_case_cancel(t), &err);
		SP_CHECK(t, rc < 0 || !exists, "exists does not say that %s is there", rows[i]);
	}
}

/* The kernel keeps it, whoever asks. */
void fs_remove_refused(struct sp_case *t)
{
	static const char *const kept = "/proc/1/status";
	struct yard y YARD = YARD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(yard_open(t, &y) && sp_sh_ok(t, y.sandbox, "[ -e %s ]", kept));
	rc = sp_sandbox_remove(y.sandbox, kept, sp_case_cancel(t), &err);
	SP_CHECK(t, rc < 0 && rc != SP_NOT_FOUND && rc != SP_GONE,
		 "removing %s is an error that does not say \"missing\", but %s", kept,
		 rc ? sp_code_name(rc) : "success");
	sp_sh_ok(t, y.sandbox, "[ -e %s ]", kept);
}
