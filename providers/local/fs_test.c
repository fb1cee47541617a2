/* SPDX-License-Identifier: MIT */
#include <providers/local/test_fixture.h>

static int write_text(struct fixture *f, const char *path, const char *text)
{
	return sp_sandbox_write(&f->sandbox, path, text, strlen(text), NULL, NULL);
}

static void expect_text(struct fixture *f, const char *path, const char *expected)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_read(&f->sandbox, path, &bytes, NULL, &err);

	cr_expect_eq(rc, 0, "read %s: %s", path, err.message);
	cr_expect(rc || !strcmp((char *)bytes.data, expected), "%s: expected [%s], got [%s]", path,
		  expected, (char *)bytes.data);
}

Test(fs, write_and_read)
{
	struct fixture f;
	char in_root[512];

	fixture_open(&f, false, 50);
	cr_expect_eq(write_text(&f, "a", "one"), 0);
	expect_text(&f, "/workspace/a", "one");
	cr_expect_eq(write_text(&f, "/workspace/x/y/z", "two"), 0);
	expect_output(&f, "cat x/y/z; ls -A", "twoa\nx\n");
	snprintf(in_root, sizeof(in_root), "%s/a", sp_sandbox_workspace_root(&f.sandbox));
	expect_text(&f, in_root, "one");
	/* What was there keeps its mode and is replaced whole; a link's target is what is written.
	 */
	expect_output(&f, "chmod 755 a; ln -s a rel; ln -s \"$PWD/a\" abs", "");
	cr_expect_eq(write_text(&f, "rel", "three"), 0);
	expect_output(&f, "stat -c '%a %F' a rel; cat a",
		      "755 regular file\n777 symbolic link\nthree");
	expect_text(&f, "abs", "three");
	cr_expect_eq(write_text(&f, "abs", "four"), 0);
	expect_text(&f, "a", "four");
	cr_expect_eq(write_text(&f, "-rf 'q' \n", "odd"), 0);
	expect_text(&f, "-rf 'q' \n", "odd");
	fixture_close(&f);
}

/* One call by its name; the codes are the contract's. */
static int call(struct fixture *f, const char *what, const char *path)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_stat st;
	bool there = false;
	struct sp_sandbox *s = &f->sandbox;

	if (!strcmp(what, "read"))
		return sp_sandbox_read(s, path, &bytes, NULL, NULL);
	if (!strcmp(what, "write"))
		return sp_sandbox_write(s, path, "", 0, NULL, NULL);
	if (!strcmp(what, "list"))
		return sp_sandbox_list(s, path, &list, NULL, NULL);
	if (!strcmp(what, "mkdir"))
		return sp_sandbox_mkdir(s, path, NULL, NULL);
	if (!strcmp(what, "remove"))
		return sp_sandbox_remove(s, path, NULL, NULL);
	if (!strcmp(what, "lstat"))
		return sp_sandbox_lstat(s, path, &st, NULL, NULL);
	if (!strcmp(what, "rename"))
		return sp_sandbox_rename(s, path, "renamed", NULL, NULL);
	/* "exists" and "absent" are both answers. */
	int rc = sp_sandbox_exists(s, path, &there, NULL, NULL);
	return rc < 0 ? rc : there == !strcmp(what, "exists") ? 0 : SP_INTERNAL;
}

Test(fs, answers)
{
	static const struct {
		const char *what, *path;
		int rc;
	} rows[] = {
	    {"read", "missing", SP_NOT_FOUND},
	    {"read", "dir", SP_CONFLICT},
	    {"read", "fifo", SP_CONFLICT},
	    {"read", "file/x", SP_CONFLICT},
	    {"read", "/etc/passwd", SP_DENIED},
	    {"read", "out", SP_DENIED},
	    {"read", "../../../etc/passwd", SP_DENIED},
	    {"read", "loop", SP_CONFLICT},
	    {"read", "", SP_INVALID},
	    {"write", "/etc/sandproof-must-not", SP_DENIED},
	    {"write", "outdir/x", SP_DENIED},
	    {"write", "out", SP_DENIED},
	    {"write", "dir", SP_CONFLICT},
	    {"write", "file/x", SP_CONFLICT},
	    {"list", "missing", SP_NOT_FOUND},
	    {"list", "file", SP_CONFLICT},
	    {"list", "/", SP_DENIED},
	    {"list", "outdir", SP_DENIED},
	    {"list", "", SP_INVALID},
	    {"mkdir", "dir", 0},
	    {"mkdir", "m/n/o", 0},
	    {"mkdir", "file", SP_CONFLICT},
	    {"mkdir", "file/x", SP_CONFLICT},
	    {"mkdir", "outdir/x", SP_DENIED},
	    {"exists", "file", 0},
	    {"exists", "/workspace", 0},
	    {"exists", "dangling", 0},
	    {"absent", "missing", 0},
	    {"absent", "missing/x", 0},
	    {"exists", "file/x", SP_CONFLICT},
	    {"exists", "/etc/passwd", SP_DENIED},
	    {"lstat", "missing", SP_NOT_FOUND},
	    {"lstat", "file/x", SP_CONFLICT},
	    {"lstat", ".", 0},
	    {"remove", "missing", 0},
	    {"remove", "missing/x", 0},
	    {"remove", "file/x", SP_CONFLICT},
	    {"remove", "/workspace", SP_INVALID},
	    {"remove", "outdir/passwd", SP_DENIED},
	    {"remove", "outdir", 0},
	    {"remove", "full", 0},
	    {"rename", "missing", SP_NOT_FOUND},
	    {"rename", "/workspace", SP_INVALID},
	    {"rename", "file", 0},
	    {"exists", "renamed", 0},
	    {"rename", "dir", SP_CONFLICT},
	};
	struct fixture f;

	fixture_open(&f, false, 50);
	expect_output(
	    &f,
	    "mkdir -p dir full/er; : >file; : >full/er/x; mkfifo fifo; ln -s /etc/passwd out; "
	    "ln -s /etc outdir; ln -s loop loop; ln -s nowhere dangling",
	    "");
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		int rc = call(&f, rows[i].what, rows[i].path);
		cr_expect_eq(rc, rows[i].rc, "%s %s: expected %s, got %s", rows[i].what,
			     rows[i].path, sp_code_name(rows[i].rc), sp_code_name(rc));
	}
	cr_expect_eq(access("/etc/passwd", F_OK), 0);
	fixture_close(&f);
}

Test(fs, list_and_lstat)
{
	struct fixture f;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_stat st;
	static const struct {
		const char *name, *path;
		enum sp_file_type type;
	} expected[] = {
	    {"a", "/workspace/d/a", SP_FILE},
	    {"b", "/workspace/d/b", SP_DIR},
	    {"c", "/workspace/d/c", SP_SYMLINK},
	    {"d", "/workspace/d/d", SP_OTHER},
	};

	fixture_open(&f, false, 50);
	expect_output(&f, "mkdir d d/b; printf 12345 >d/a; chmod 640 d/a; ln -s b d/c; mkfifo d/d",
		      "");
	cr_assert_eq(sp_sandbox_list(&f.sandbox, "d", &list, NULL, NULL), 0);
	cr_assert_eq(list.len, SP_COUNT(expected));
	for (size_t i = 0; i < list.len; i++) {
		cr_expect_str_eq(list.entries[i].name, expected[i].name);
		cr_expect_str_eq(list.entries[i].path, expected[i].path);
		cr_expect_eq(list.entries[i].type, expected[i].type);
	}
	cr_expect_eq(sp_sandbox_lstat(&f.sandbox, "d/a", &st, NULL, NULL), 0);
	cr_expect(st.type == SP_FILE && st.size == 5 && st.mode == 0100640, "%o %lu", st.mode,
		  st.size);
	cr_expect_eq(sp_sandbox_lstat(&f.sandbox, "d/c", &st, NULL, NULL), 0);
	cr_expect(st.type == SP_SYMLINK && st.size == 0);
	fixture_close(&f);
}
