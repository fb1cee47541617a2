/* SPDX-License-Identifier: MIT */
/*
 * Runs the scenarios of the helper programs, each in a process of its own, in both
 * modes, as root and as an ordinary user. What cannot run here is a skip with
 * its reason.
 */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

#define HELPER SP_TEST_BIN_DIR "/fake_bash_engine_helper"
#define SNAPSHOT_HELPER SP_TEST_BIN_DIR "/fake_bash_snapshot_helper"
#define SKIPPED 77
#define OUTPUT_MAX 65536
#define ORDINARY 65534
/* Turns a survivor into a failure; nothing is measured by it. */
#define PATIENCE_MS 30000

/* ---- starting the helper ---- */

static const char *const environment[] = { "SERVER_SECRET=canary",
					   "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/"
					   "bin:/sbin:/bin",
					   NULL };

/* Runs a helper (through setpriv as an ordinary user); its code, its words in `said`. */
static int run_helper(const char *program, const char *mode, const char *name, const char *folder,
		      bool ordinary, const char *const *env, char *said, size_t size)
{
	const char *const as_user[] = { "setpriv", "--reuid=65534",  "--regid=65534",
					"--clear-groups", program, mode, name, folder, NULL };
	const char *const as_is[] = { program, mode, name, folder, NULL };
	struct sp_run_result result = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	int code;

	if (sp_run(ordinary ? as_user : as_is, env, NULL, 0, OUTPUT_MAX, NULL, &result, &err)) {
		snprintf(said, size, "%s", err.message);
		return -1;
	}
	snprintf(said, size, "%s%s", result.out, result.err);
	code = result.code;
	sp_run_result_done(&result);
	return code;
}

static int helper(const char *mode, const char *name, const char *folder, bool ordinary,
		  const char *const *env, char *said, size_t size)
{
	return run_helper(HELPER, mode, name, folder, ordinary, env, said, size);
}

static char *make_folder(bool ordinary)
{
	struct sp_error err = SP_ERROR_INIT;
	char *path = NULL;

	cr_assert(!sp_tmp_dir("engine-test-", &path, &err), "%s", err.message);
	if (ordinary)
		cr_assert(!chown(path, ORDINARY, ORDINARY), "chown: %s", strerror(errno));
	return path;
}

static size_t entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	return n;
}

static size_t count_mounts(void)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	size_t n = 0;
	int c;

	while (file && (c = fgetc(file)) != EOF)
		n += c == '\n';
	if (file)
		fclose(file);
	return n;
}

/* Our children now: descriptors to poll, at most `max`. */
static nfds_t children(struct pollfd *fds, nfds_t max)
{
	char path[64], text[8192] = "", *save = NULL;
	FILE *file;
	nfds_t n = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	for (char *word = strtok_r(text, " ", &save); word && n < max;
	     word = strtok_r(NULL, " ", &save)) {
		int fd = sp_pidfd_open((pid_t)strtol(word, NULL, 10));

		if (fd >= 0)
			fds[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	return n;
}

/*
 * What the helper left behind comes to us, its subreaper: waits for it to end,
 * in whatever order (a sandbox's process 1 ends only after its commands were reaped). Returns how
 * many had to be killed.
 */
static size_t survivors(void)
{
	struct pollfd fds[256];
	size_t killed = 0;
	nfds_t n;

	while ((n = children(fds, SP_COUNT(fds)))) {
		bool late = poll(fds, n, PATIENCE_MS) == 0;

		for (nfds_t i = 0; i < n; i++) {
			if (late)
				killed += !sp_pidfd_signal(fds[i].fd, SIGKILL);
			close(fds[i].fd);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	return killed;
}

/* ---- all scenarios of a mode ---- */

/* One scenario: passes, fails with its words, or says why it was skipped. */
static void one(const char *program, const char *mode, const char *name, bool ordinary)
{
	char *folder SP_FREE = make_folder(ordinary);
	char said[OUTPUT_MAX];
	bool killed = !strcmp(name, "killed");
	int expected = killed ? 128 + SIGKILL : 0;
	int code = run_helper(program, mode, name, folder, ordinary, environment, said,
			      sizeof(said));
	size_t left = survivors();
	size_t files = entries(folder);

	sp_remove_tree(folder);
	cr_expect_eq(left, 0, "%s %s: %zu processes were left", mode, name, left);
	if (code == SKIPPED) {
		cr_log_warn("%s %s: skipped: %s", mode, name, said);
		return;
	}
	cr_expect_eq(code, expected, "%s %s: code %d, expected %d: %s", mode, name, code, expected,
		     said);
	/* A server that is killed cannot clean up; the folder's owner does. */
	if (!killed)
		cr_expect_eq(files, 0, "%s %s: %zu files were left", mode, name, files);
}

/* All scenarios that a program's `--list` has for the mode. */
static void all_of(const char *program, const char *mode, int bit, bool ordinary)
{
	const char *const list[] = { program, "--list", NULL };
	struct sp_run_result result = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	size_t mounts = count_mounts(), n = 0;
	char *save = NULL;

	cr_assert(!sp_subreaper(), "subreaper");
	cr_assert(!sp_run(list, NULL, NULL, 0, OUTPUT_MAX, NULL, &result, &err), "%s", err.message);
	for (char *line = strtok_r(result.out, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char name[64];
		int modes;

		if (sscanf(line, "%63s %d", name, &modes) != 2 || !(modes & bit))
			continue;
		one(program, mode, name, ordinary);
		n++;
	}
	sp_run_result_done(&result);
	cr_expect_gt(n, 1, "%zu scenarios of %s", n, program);
	cr_expect_eq(count_mounts(), mounts, "%zu mounts before, %zu after", mounts,
		     count_mounts());
}

static void all(const char *mode, int bit, bool ordinary)
{
	all_of(HELPER, mode, bit, ordinary);
	all_of(SNAPSHOT_HELPER, mode, bit, ordinary);
}

/* Why no ordinary user can be had, or NULL. */
static const char *no_ordinary_user(void)
{
	const char *const argv[] = { "setpriv", "--reuid=65534",    "--regid=65534",
				     "--clear-groups", HELPER, "--list", NULL };
	struct sp_run_result result = { 0 };
	int rc;

	if (geteuid())
		return "not root: the other tests run as an ordinary user already";
	rc = sp_run(argv, NULL, NULL, 0, OUTPUT_MAX, NULL, &result, NULL);
	if (!rc && result.code)
		rc = SP_DENIED;
	sp_run_result_done(&result);
	return rc ? "setpriv is missing, or another user cannot reach the build folder" : NULL;
}

Test(engine, namespaces)
{
	all("namespaces", 2, false);
}

Test(engine, plain)
{
	all("plain", 1, false);
}

Test(engine, namespaces_as_ordinary_user)
{
	const char *reason = no_ordinary_user();

	if (reason)
		cr_skip("%s", reason);
	all("namespaces", 2, true);
}

Test(engine, plain_as_ordinary_user)
{
	const char *reason = no_ordinary_user();

	if (reason)
		cr_skip("%s", reason);
	all("plain", 1, true);
}

/* ---- choosing a mode ---- */

Test(engine, mode_by_environment)
{
	static const struct {
		const char *variable;
		const char *asked;
		int code;
		const char *says;
	} table[] = {
		{ "SANDPROOF_FAKE=plain", "auto", 0, "plain\nisolation\n" },
		{ "SANDPROOF_FAKE=plain", "plain", 0, "plain\n" },
		{ "SANDPROOF_FAKE=", "plain", 0, "plain\n" },
		{ "SANDPROOF_FAKE=nonsense", "auto", 1, "SANDPROOF_FAKE is neither" },
	};

	for (size_t i = 0; i < SP_COUNT(table); i++) {
		const char *const env[] = { table[i].variable, NULL };
		char *folder SP_FREE = make_folder(false);
		char said[OUTPUT_MAX];
		int code = helper(table[i].asked, "mode", folder, false, env, said, sizeof(said));

		sp_remove_tree(folder);
		cr_expect_eq(code, table[i].code, "%s, %s: code %d: %s", table[i].variable,
			     table[i].asked, code, said);
		cr_expect(strstr(said, table[i].says), "%s, %s: says \"%s\", expected \"%s\"",
			  table[i].variable, table[i].asked, said, table[i].says);
	}
}

Test(engine, state_folder_is_named)
{
	static const char *const folders[] = { "/nonexistent/folder", "/proc/self" };

	for (size_t i = 0; i < SP_COUNT(folders); i++) {
		char said[OUTPUT_MAX];
		int code =
			helper("auto", "mode", folders[i], false, environment, said, sizeof(said));

		cr_expect_eq(code, 1, "%s: code %d", folders[i], code);
		cr_expect(strstr(said, folders[i]), "%s is not named: %s", folders[i], said);
	}
}

/* A kernel that refuses: nested namespaces are forbidden by their own limit. */
static int refused(const char *mode, char *said, size_t size)
{
	static const char script[] = "echo 0 >/proc/sys/user/max_mnt_namespaces && echo 0 "
				     ">/proc/sys/user/max_user_namespaces "
				     "|| exit 99; exec " HELPER " \"$0\" mode \"$1\"";
	char *folder SP_FREE = make_folder(false);
	const char *const argv[] = { "unshare", "--user", "--map-root-user", "sh",
				     "-c",	script,	  mode,		     folder, NULL };
	struct sp_run_result result = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	int code = 99;

	if (!sp_run(argv, environment, NULL, 0, OUTPUT_MAX, NULL, &result, &err)) {
		code = result.code;
		snprintf(said, size, "%s%s", result.out, result.err);
		sp_run_result_done(&result);
	}
	sp_remove_tree(folder);
	return code;
}

Test(engine, refused_namespaces)
{
	char said[OUTPUT_MAX] = "";
	int code = refused("namespaces", said, sizeof(said));

	if (code == 99 || (code == 1 && strstr(said, "unshare:")))
		cr_skip("no user namespace to try it in");
	cr_expect_eq(code, SKIPPED, "forced: code %d: %s", code, said);
	cr_expect(strstr(said, "in a user namespace: "), "forced: %s", said);
	code = refused("auto", said, sizeof(said));
	cr_expect_eq(code, 0, "auto: code %d: %s", code, said);
	cr_expect(!strncmp(said, "plain\n", 6), "auto: %s", said);
}
