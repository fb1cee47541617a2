/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

/* A folder for one test; removed at its end by the function that is tested. */
static char *make_dir(void)
{
	struct sp_error err = SP_ERROR_INIT;
	char *path = NULL;

	cr_assert_eq(sp_tmp_dir("sandproof-test-", &path, &err), 0, "%s", err.message);
	return path;
}

static void drop_dir(char **path)
{
	if (*path)
		sp_remove_tree(*path);
	free(*path);
}
#define DIR_OF_TEST SP_CLEANUP(drop_dir)

static char *in(const char *dir, const char *name)
{
	char *path = NULL;

	cr_assert_geq(asprintf(&path, "%s/%s", dir, name), 0);
	return path;
}

static void put(const char *dir, const char *name, const char *text)
{
	char *path SP_FREE = in(dir, name);
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_write_file(path, text, strlen(text), 0644, &err), 0, "%s", err.message);
}

static bool there(const char *dir, const char *name)
{
	char *path SP_FREE = in(dir, name);
	struct stat st;

	return !lstat(path, &st);
}

static int shell(const char *dir, const char *script)
{
	const char *argv[] = { "sh", "-c", script, "sh", dir, NULL };
	struct sp_run_result result = { 0 };
	int code;

	if (sp_run(argv, NULL, NULL, 0, 4096, NULL, &result, NULL))
		return -1;
	code = result.code;
	if (code)
		cr_log_warn("%s", result.err);
	sp_run_result_done(&result);
	return code;
}

Test(tmp, folder_is_private_and_in_tmpdir)
{
	char *dir DIR_OF_TEST = make_dir();
	char *inner DIR_OF_TEST = NULL;
	struct stat st;

	cr_assert_eq(stat(dir, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	setenv("TMPDIR", dir, 1);
	inner = make_dir();
	cr_assert_eq(strncmp(inner, dir, strlen(dir)), 0);
	setenv("TMPDIR", "relative", 1);
	cr_assert_str_eq(sp_tmp_root(), "/tmp");
	unsetenv("TMPDIR");
	cr_assert_str_eq(sp_tmp_root(), "/tmp");
}

/* Mounts a small or read-only file system at TMPDIR in a mount namespace of this process's own. */
static bool mount_here(const char *dir, unsigned long flags, const char *options)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("sandproof-test", dir, "tmpfs", flags, options);
}

static void expect_named(const struct sp_error *err, int sys_errno, const char *place)
{
	cr_assert_eq(err->code, SP_IO);
	cr_assert_eq(err->sys_errno, sys_errno, "%s", err->message);
	cr_assert(strstr(err->message, place), "%s does not name %s", err->message, place);
}

Test(tmp, a_read_only_place_is_named)
{
	char *dir DIR_OF_TEST = make_dir();
	char *file SP_FREE = in(dir, "f");
	struct sp_error err = SP_ERROR_INIT;
	char *path = NULL;

	if (!mount_here(dir, MS_RDONLY, "size=64k"))
		cr_skip("no right to mount here");
	setenv("TMPDIR", dir, 1);
	cr_expect_eq(sp_tmp_dir("x-", &path, &err), SP_IO);
	expect_named(&err, EROFS, dir);
	cr_expect_null(path);
	cr_expect_eq(sp_write_file(file, "x", 1, 0600, &err), SP_IO);
	expect_named(&err, EROFS, file);
	umount(dir);
}

Test(tmp, a_full_place_is_named_and_left_as_it_was)
{
	char *dir DIR_OF_TEST = make_dir();
	char *file SP_FREE = in(dir, "f");
	struct sp_error err = SP_ERROR_INIT;
	struct sp_bytes bytes = SP_BYTES_INIT;
	size_t len = 1 << 20;
	char *big SP_FREE = calloc(1, len);
	char *path = NULL;

	/* Three inodes: the root, one file, and one to spare for the temporary name. */
	if (!mount_here(dir, 0, "size=64k,nr_inodes=3"))
		cr_skip("no right to mount here");
	put(dir, "f", "old");
	cr_expect_eq(sp_write_file(file, big, len, 0600, &err), SP_IO);
	expect_named(&err, ENOSPC, file);
	cr_expect_eq(sp_read_file(file, 10, &bytes, &err), 0);
	cr_expect_str_eq((char *)bytes.data, "old", "the old content stays");
	sp_bytes_done(&bytes);
	put(dir, "g", "");
	setenv("TMPDIR", dir, 1);
	cr_expect_eq(sp_tmp_dir("x-", &path, &err), SP_IO);
	expect_named(&err, ENOSPC, dir);
	umount(dir);
}

Test(remove, missing_is_fine_and_a_file_is_removed)
{
	char *dir DIR_OF_TEST = make_dir();
	char *file SP_FREE = in(dir, "f");

	cr_assert_eq(sp_remove_tree(file), 0);
	put(dir, "f", "x");
	cr_assert_eq(sp_remove_tree(file), 0);
	cr_assert(!there(dir, "f"));
}

Test(remove, never_follows_a_link)
{
	char *dir DIR_OF_TEST = make_dir();
	char *tree SP_FREE = in(dir, "tree");
	char *link SP_FREE = in(dir, "link");

	cr_assert_eq(shell(dir, "cd \"$1\" && mkdir -p keep tree/a/b && echo x >keep/f && "
				"ln -s ../../keep tree/a/out && ln -s keep link && "
				"ln -s nowhere tree/dangling && ln keep/f tree/hard && "
				"mkfifo tree/fifo && ln -s . tree/a/self"),
		     0);
	cr_assert_eq(sp_remove_tree(tree), 0);
	cr_assert(!there(dir, "tree"));
	cr_assert(there(dir, "keep/f"), "a link was followed");
	cr_assert_eq(sp_remove_tree(link), 0);
	cr_assert(!there(dir, "link") && there(dir, "keep/f"), "a link at the top was followed");
}

Test(remove, deep_and_wide_trees_need_few_descriptors)
{
	char *dir DIR_OF_TEST = make_dir();
	char *tree SP_FREE = in(dir, "tree");
	int fd = open(dir, O_DIRECTORY | O_CLOEXEC);
	int before;

	/* Far deeper than a path can name, with something on each level. */
	cr_assert_eq(mkdirat(fd, "tree", 0700), 0);
	for (int i = 0; i < 1500; i++) {
		int next = openat(fd, i ? "d" : "tree", O_DIRECTORY | O_CLOEXEC);

		cr_assert_geq(next, 0);
		close(fd);
		fd = next;
		cr_assert_eq(mkdirat(fd, "d", 0700), 0);
		cr_assert_eq(mkdirat(fd, "e", 0700), 0);
		close(openat(fd, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	close(fd);
	before = sp_count_fds();
	cr_assert_eq(sp_remove_tree(tree), 0);
	cr_assert(!there(dir, "tree"));
	cr_assert_eq(sp_count_fds(), before);
}

Test(remove, does_not_enter_what_is_mounted)
{
	char *dir DIR_OF_TEST = make_dir();
	char *tree SP_FREE = in(dir, "tree");
	char *point SP_FREE = in(dir, "tree/mnt");
	char *keep SP_FREE = in(dir, "keep");

	cr_assert_eq(shell(dir, "cd \"$1\" && mkdir -p keep tree/mnt tree/x && echo x >keep/f && "
				"echo x >tree/x/g"),
		     0);
	/* A bind mount of the same file system, which no device number tells apart. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(keep, point, NULL, MS_BIND, NULL))
		cr_skip("no right to mount here");
	cr_expect_lt(sp_remove_tree(tree), 0, "what is left is told");
	cr_expect(there(dir, "keep/f"), "a mount was entered");
	cr_expect(!there(dir, "tree/x"), "it goes on after a failure");
	cr_expect_eq(umount(point), 0);
	cr_expect_eq(sp_remove_tree(tree), 0);
	cr_expect(!there(dir, "tree"));
}

Test(remove, locked_folders_as_an_ordinary_user)
{
	char *dir DIR_OF_TEST = make_dir();
	char *tree SP_FREE = in(dir, "tree");
	uid_t user = geteuid() ? geteuid() : 65534;

	cr_assert_eq(shell(dir, "cd \"$1\" && mkdir -p tree/shut tree/readonly && "
				"echo x >tree/shut/f && echo x >tree/readonly/f"),
		     0);
	if (!geteuid())
		cr_assert_eq(shell(dir, "chmod 755 \"$1\" && chown -R 65534 \"$1\""), 0);
	cr_assert_eq(shell(dir, "cd \"$1\" && chmod 0 tree/shut && chmod 500 tree/readonly"), 0);
	cr_assert_eq(seteuid(user), 0);
	int rc = sp_remove_tree(tree);

	cr_assert_eq(seteuid(getuid()), 0);
	cr_assert_eq(rc, 0, "%s", strerror(-rc));
	cr_assert(!there(dir, "tree"));
}

Test(mkdirs, parents)
{
	char *dir DIR_OF_TEST = make_dir();
	char *deep SP_FREE = in(dir, "a//b/c/");
	char *under SP_FREE = in(dir, "a/f/x");

	cr_assert_eq(sp_mkdirs(deep, 0750), 0);
	cr_assert_eq(sp_mkdirs(deep, 0750), 0);
	cr_assert(there(dir, "a/b/c"));
	put(dir, "a/f", "x");
	cr_assert_eq(sp_mkdirs(under, 0700), -ENOTDIR);
	cr_assert_eq(sp_mkdirs("/", 0700), 0);
}

Test(read, sizes_around_the_limit)
{
	char *dir DIR_OF_TEST = make_dir();
	char *file SP_FREE = in(dir, "f");
	struct sp_error err = SP_ERROR_INIT;

	for (size_t len = 0; len < 5; len++) {
		struct sp_bytes bytes = SP_BYTES_INIT;
		int rc;

		cr_assert_eq(sp_write_file(file, "a\0cd", len, 0600, &err), 0);
		rc = sp_read_file(file, 3, &bytes, &err);
		cr_assert_eq(rc, len > 3 ? SP_INVALID : 0, "length %zu: %s", len, err.message);
		cr_assert_eq(bytes.len, rc ? 0 : len);
		cr_assert(rc ? !bytes.data : !memcmp(bytes.data, "a\0cd", len) && !bytes.data[len]);
		sp_bytes_done(&bytes);
	}
	struct sp_bytes bytes = SP_BYTES_INIT;

	cr_assert_eq(sp_read_file(file, SIZE_MAX, &bytes, NULL), 0);
	cr_assert_eq(bytes.len, 4);
	sp_bytes_done(&bytes);
}

Test(read, failures_name_the_file)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_read_file("/no/such/file", 10, &bytes, &err), SP_IO);
	expect_named(&err, ENOENT, "/no/such/file");
	cr_assert_eq(sp_read_file("/etc", 10, &bytes, &err), SP_IO);
	expect_named(&err, EISDIR, "/etc");
}

Test(write, replaces_with_mode_and_leaves_no_temporary_name)
{
	char *dir DIR_OF_TEST = make_dir();
	char *file SP_FREE = in(dir, "f");
	char *none SP_FREE = in(dir, "none/f");
	struct sp_error err = SP_ERROR_INIT;
	struct stat st;

	umask(077);
	put(dir, "f", "old and longer");
	cr_assert_eq(sp_write_file(file, "new", 3, 0644, &err), 0);
	cr_assert_eq(stat(file, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0644, "the mode is as told, whatever the umask");
	cr_assert_eq(st.st_size, 3);
	cr_assert_eq(sp_write_file(none, "x", 1, 0600, &err), SP_IO);
	expect_named(&err, ENOENT, none);
	/* Over a folder: the rename fails, and the temporary file goes. */
	cr_assert_eq(shell(dir, "mkdir \"$1/d\""), 0);
	char *folder SP_FREE = in(dir, "d");

	cr_assert_eq(sp_write_file(folder, "x", 1, 0600, &err), SP_IO);
	cr_assert_eq(shell(dir, "test \"$(ls -A \"$1\" | wc -l)\" = 2"), 0);
}

Test(fd, nonblock_and_write_all)
{
	int ends[2];
	char byte;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	cr_assert_eq(sp_set_nonblock(ends[0], true), 0);
	cr_assert_eq(read(ends[0], &byte, 1), -1);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(sp_set_nonblock(ends[0], false), 0);
	cr_assert_eq(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
	cr_assert_eq(sp_write_all(ends[1], "x", 1), 0);
	cr_assert_eq(read(ends[0], &byte, 1), 1);
	cr_assert_eq(sp_write_all(ends[0], "x", 1), -EBADF);
	cr_assert_eq(sp_set_nonblock(-1, true), -EBADF);
	errno = ERANGE;
	cr_assert_eq(sp_close(ends[0]), -1);
	cr_assert_eq(sp_close(-1), -1);
	cr_assert_eq(errno, ERANGE);
	close(ends[1]);
}

Test(fd, count)
{
	int before = sp_count_fds();
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	cr_assert_gt(before, 0);
	cr_assert_eq(sp_count_fds(), before + 1);
	close(fd);
	cr_assert_eq(sp_count_fds(), before);
}

Test(random, ids)
{
	char a[21], b[21], none[1];

	sp_random_id(a, 20);
	sp_random_id(b, 20);
	sp_random_id(none, 0);
	cr_assert_eq(strlen(a), 20);
	cr_assert_eq(strspn(a, "0123456789abcdefghijklmnopqrstuv"), 20);
	cr_assert_str_neq(a, b);
	cr_assert_str_empty(none);
}

/*
 * A device or a pipe that was named is written to; renaming over it would take it from the machine.
 */
Test(files, a_special_file_is_written_to_and_stays)
{
	char *dir DIR_OF_TEST = make_dir();
	char *fifo SP_FREE = in(dir, "fifo"), *link_path SP_FREE = in(dir, "link");
	char *file SP_FREE = in(dir, "f");
	struct sp_error err = SP_ERROR_INIT;
	struct stat st;
	char got[8] = "";
	int fd SP_CLOSE = -1;

	cr_assert_eq(mkfifo(fifo, 0600), 0);
	fd = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_expect_eq(sp_write_file(fifo, "text", 4, 0600, &err), 0, "%s", err.message);
	cr_expect_eq(read(fd, got, sizeof(got)), 4, "what was written is in the pipe");
	cr_expect_eq(lstat(fifo, &st), 0);
	cr_expect(S_ISFIFO(st.st_mode), "it is still a pipe");
	put(dir, "f", "old");
	cr_assert_eq(symlink("f", link_path), 0);
	cr_expect_eq(sp_write_file(link_path, "new", 3, 0600, &err), 0, "%s", err.message);
	cr_expect_eq(lstat(link_path, &st), 0);
	cr_expect(S_ISLNK(st.st_mode), "a link stays a link");
	struct sp_bytes bytes = SP_BYTES_INIT;

	cr_expect_eq(sp_read_file(file, 10, &bytes, &err), 0);
	cr_expect_str_eq((char *)bytes.data, "new");
	sp_bytes_done(&bytes);
	cr_expect_eq(sp_write_file(dir, "x", 1, 0600, &err), SP_IO);
	expect_named(&err, EISDIR, dir);
}
