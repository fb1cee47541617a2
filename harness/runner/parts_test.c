/* SPDX-License-Identifier: MIT */
/* The small parts of the runner, each alone. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

#include "evidence.h"
#include "labels.h"
#include "ledger.h"
#include "procs.h"
#include "shared.h"
#include "wire.h"

/* ---- evidence ---- */

static const struct {
	const char *data;
	size_t len;
	size_t max;
	const char *expected;
} shows[] = {
	{ "abc", 3, 100, "\"abc\"" },
	{ "", 0, 100, "\"\"" },
	{ "a\0b\n\t\"\\", 7, 100, "\"a\\x00b\\n\\t\\\"\\\\\"" },
	{ "\xC3\xA9\xFF", 3, 100, "\"\xC3\xA9\\xff\"" },
	{ "abcdef", 6, 3, "\"abc\"... (6 bytes in all)" },
	{ "key hunter2! end", 16, 100, "\"key [redacted] end\"" },
	/* Cut only after it was redacted: half a secret is never shown. */
	{ "key hunter2! end", 16, 6, "\"key [r\"... (18 bytes in all)" },
};

Test(evidence, values_are_quoted_redacted_and_cut)
{
	struct sp_redact *redact = sp_redact_new();

	sp_redact_add(redact, "hunter2!");
	for (size_t i = 0; i < SP_COUNT(shows); i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);

		sp_show(&out, redact, shows[i].data, shows[i].len, shows[i].max);
		cr_expect_str_eq(sp_buf_str(&out), shows[i].expected, "row %zu", i);
	}
	sp_redact_free(redact);
}

Test(evidence, null_is_shown_as_null)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);

	sp_show(&out, NULL, NULL, 0, 10);
	cr_expect_str_eq(sp_buf_str(&out), "NULL");
}

Test(evidence, first_difference_is_found_in_what_is_shown)
{
	struct sp_redact *redact = sp_redact_new();

	sp_redact_add(redact, "secret-one");
	sp_redact_add(redact, "secret-two");
	cr_expect_eq(sp_first_difference(redact, "abcd", 4, "abxd", 4), 2);
	cr_expect_eq(sp_first_difference(redact, "ab", 2, "abc", 3), 2);
	cr_expect_eq(sp_first_difference(redact, "a secret-one", 12, "a secret-two", 12), 12,
		     "two secrets look the same");
	sp_redact_free(redact);
}

/* ---- dialogue ---- */

Test(shared, old_lines_make_room)
{
	struct sp_shared *shared = sp_shared_new();
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * SP_DIALOGUE_MAX);
	char line[32];

	for (int i = 0; i < 5000; i++) {
		snprintf(line, sizeof(line), "line %d", i);
		sp_shared_note(shared, line, strlen(line));
	}
	sp_shared_dialogue(shared, &out);
	cr_expect(!strncmp(sp_buf_str(&out), "(earlier lines dropped)\nline ", 29), "%.60s",
		  sp_buf_str(&out));
	cr_expect(strstr(sp_buf_str(&out), "line 4999\n"));
	cr_expect_leq(out.len, SP_DIALOGUE_MAX + 100);
	sp_shared_reset(shared);
	sp_buf_clear(&out);
	sp_shared_dialogue(shared, &out);
	cr_expect_eq(out.len, 0);
	sp_shared_free(shared);
}

Test(shared, nonsense_of_a_dying_worker_is_harmless)
{
	struct sp_shared *shared = sp_shared_new();
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * SP_DIALOGUE_MAX);

	shared->dialogue_len = SIZE_MAX / 2;
	sp_shared_dialogue(shared, &out);
	cr_expect_eq(out.len, 0);
	sp_shared_free(shared);
}

/* ---- messages ---- */

static void open_pair(int pair[2])
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

Test(wire, numbers_and_texts_arrive)
{
	struct sp_wire *wire = malloc(sizeof(*wire));
	int pair[2];
	char *text;

	open_pair(pair);
	sp_wire_start(wire, SP_WIRE_LEAK);
	sp_wire_put(wire, UINT64_MAX);
	sp_wire_put_text(wire, "text");
	sp_wire_put_text(wire, NULL);
	sp_wire_put_text(wire, "");
	cr_assert_eq(sp_wire_send(wire, pair[0]), 0);
	cr_expect_eq(sp_wire_recv(wire, pair[1], 0), SP_WIRE_LEAK);
	cr_expect_eq(sp_wire_get(wire), UINT64_MAX);
	text = sp_wire_get_text(wire);
	cr_expect_str_eq(text, "text");
	free(text);
	cr_expect_null(sp_wire_get_text(wire));
	text = sp_wire_get_text(wire);
	cr_expect_str_eq(text, "");
	free(text);
	cr_expect(!wire->bad);
	cr_expect_eq(sp_wire_get(wire), 0, "nothing more");
	cr_expect(wire->bad);
	cr_expect_eq(sp_wire_recv(wire, pair[1], MSG_DONTWAIT), -EAGAIN);
	close(pair[0]);
	cr_expect_eq(sp_wire_recv(wire, pair[1], 0), 0, "the end");
	close(pair[1]);
	free(wire);
}

Test(wire, lengths_that_lie_are_noticed)
{
	struct sp_wire *wire = malloc(sizeof(*wire));
	uint64_t lie[3] = { SP_WIRE_RESULT, 1000, 0 };
	int pair[2];

	open_pair(pair);
	cr_assert_eq(send(pair[0], lie, sizeof(lie), 0), (ssize_t)sizeof(lie));
	cr_expect_eq(sp_wire_recv(wire, pair[1], 0), SP_WIRE_RESULT);
	cr_expect_null(sp_wire_get_text(wire));
	cr_expect(wire->bad);
	cr_assert_eq(send(pair[0], lie, 3, 0), 3);
	cr_expect_eq(sp_wire_recv(wire, pair[1], 0), 0, "too short for a type");
	close(pair[0]);
	close(pair[1]);
	free(wire);
}

Test(wire, what_does_not_fit_is_refused)
{
	struct sp_wire *wire = malloc(sizeof(*wire));
	char *big = calloc(1, SP_WIRE_MAX + 1);

	memset(big, 'x', SP_WIRE_MAX);
	sp_wire_start(wire, SP_WIRE_SECRET);
	sp_wire_put_text(wire, big);
	cr_expect_eq(sp_wire_send(wire, -1), -EMSGSIZE);
	free(big);
	free(wire);
}

/* ---- labels ---- */

Test(labels, new_things_get_the_label_and_keep_it)
{
	struct sp_labels labels = { 0 };

	sp_labels_begin(&labels);
	sp_labels_see(&labels, "base", NULL);
	sp_labels_end(&labels);
	sp_labels_begin(&labels);
	sp_labels_see(&labels, "base", "one");
	sp_labels_see(&labels, "new", "one");
	sp_labels_end(&labels);
	sp_labels_begin(&labels);
	sp_labels_see(&labels, "new", "two");
	sp_labels_see(&labels, "newer", "two");
	sp_labels_end(&labels);
	cr_assert_eq(labels.len, 2, "what is gone is forgotten");
	cr_expect_str_eq(labels.items[0].label, "one");
	cr_expect_str_eq(labels.items[1].label, "two");
	cr_expect_eq(sp_labels_count(&labels), 2);
	sp_labels_done(&labels);
}

/* ---- processes ---- */

/* A child that waits until its pipe is closed, started with a mark. */
static pid_t start_marked(uint64_t mark, int *ret_pipe)
{
	int ready[2], hold[2];
	pid_t pid;
	char byte;

	cr_assert_eq(pipe2(ready, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(hold, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		/* Asserts must not be reached in here. */
		dup2(hold[0], STDIN_FILENO);
		sp_mark_self(mark);
		setsid();
		execl("/bin/cat", "cat", (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	close(hold[0]);
	(void)!read(ready[0], &byte, 1);
	close(ready[0]);
	*ret_pipe = hold[1];
	return pid;
}

Test(procs, a_mark_is_inherited_and_finds_its_processes)
{
	uint64_t mark = UINT64_C(1) << 58 | (uint64_t)getpid();
	struct sp_pid_list children SP_CLEANUP(sp_pid_list_done) = { 0 };
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);
	int hold = -1, status = 0;
	pid_t pid = start_marked(mark, &hold);
	bool marked = sp_has_mark(pid, mark), other = sp_has_mark(pid, mark + 1);
	bool exiting = sp_is_exiting(pid), exited;
	size_t found;

	sp_children_of(getpid(), &children);
	sp_describe_pid(pid, &text);
	found = sp_kill_marked(mark, 0);
	waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	exited = sp_is_exiting(pid);
	waitpid(pid, &status, 0);
	close(hold);
	cr_expect(marked);
	cr_expect(!other);
	cr_expect(!exiting);
	cr_expect(exited, "a zombie has begun to exit");
	cr_expect(sp_is_exiting(pid), "so has one that is gone");
	cr_expect(!sp_has_mark(getpid(), mark), "we have none");
	cr_expect(sp_pid_list_has(&children, pid));
	cr_expect(strstr(sp_buf_str(&text), "(cat)"), "%s", sp_buf_str(&text));
	cr_expect_eq(found, 1);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cr_expect(!sp_is_alive(pid));
	cr_expect_eq(sp_kill_marked(mark, 0), 0);
	cr_expect_eq(sp_kill_marked(0, 0), 0, "no mark is nobody's mark");
}

/* ---- ledger ---- */

static char *ledger_home(void)
{
	char *dir = NULL;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_tmp_dir("ledger-test-", &dir, &err), 0, "%s", err.message);
	setenv("XDG_STATE_HOME", dir, 1);
	return dir;
}

Test(ledger, rows_tell_what_was_made_and_what_is_gone)
{
	char *home = ledger_home();
	struct sp_ledger *ledger = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_bytes bytes = SP_BYTES_INIT;
	char row[17], other[17];
	int second;

	cr_assert_eq(sp_ledger_open("provider=bash", "bash", true, &ledger, &err), 0, "%s",
		     err.message);
	cr_expect(!sp_ledger_open_rows(ledger));
	cr_expect_eq(sp_ledger_intent(ledger, "tea-1", 3601, row), 0);
	cr_expect(sp_ledger_open_rows(ledger), "announced, and not told how it ended");
	cr_expect_eq(sp_ledger_made(ledger, row, "tea-1", "sbx-\"1\""), 0);
	cr_expect(sp_ledger_open_rows(ledger), "made, and not told to be gone");
	cr_expect_eq(sp_ledger_intent(ledger, "tea-1", 3602, other), 0);
	cr_expect_eq(sp_ledger_made(ledger, other, "tea-1", NULL), 0);
	cr_expect_eq(sp_ledger_gone(ledger, "sbx-\"1\""), 0);
	cr_expect(!sp_ledger_open_rows(ledger));
	cr_expect_str_neq(row, other);
	cr_assert_eq(sp_read_file(sp_ledger_path(ledger), 1 << 16, &bytes, &err), 0);
	cr_expect(strstr((char *)bytes.data, "\"lifetime_s\":3601"), "%s", bytes.data);
	cr_expect(strstr((char *)bytes.data, "\"id\":\"sbx-\\\"1\\\"\""), "%s", bytes.data);
	second = open(sp_ledger_path(ledger), O_RDONLY | O_CLOEXEC);
	cr_expect_eq(flock(second, LOCK_EX | LOCK_NB), -1, "it is locked while the run lives");
	sp_ledger_close(ledger, false);
	cr_expect_eq(flock(second, LOCK_EX | LOCK_NB), 0, "and not afterwards");
	close(second);
	sp_bytes_done(&bytes);
	sp_remove_tree(home);
	free(home);
}

/* What a killed run leaves, told apart: known, unknown, gone, and a line that was being written. */
Test(ledger, a_book_holds_what_is_left)
{
	static const char *const there[] = { "sbx-a", "sbx-b" };
	char *home = ledger_home();
	struct sp_ledger *ledger = NULL;
	struct sp_book book = SP_BOOK_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char known[SP_LEDGER_ROW], unknown[SP_LEDGER_ROW], gone[SP_LEDGER_ROW];
	char taken[SP_LEDGER_ROW], lost[SP_LEDGER_ROW], deleted[SP_LEDGER_ROW];
	char path[512];
	int fd;

	cr_assert_eq(sp_ledger_open("provider=x", "render:http://127.0.0.1:1/v1", true, &ledger,
				    &err), 0);
	snprintf(path, sizeof(path), "%s", sp_ledger_path(ledger));
	sp_ledger_before(ledger, "tea-1", there, 2);
	sp_ledger_intent(ledger, "tea-1", 3601, known);
	sp_ledger_made(ledger, known, "tea-1", "sbx-1");
	sp_ledger_intent(ledger, "tea-1", 3602, unknown);
	sp_ledger_intent(ledger, "tea-1", 3603, gone);
	sp_ledger_made(ledger, gone, "tea-1", "sbx-2");
	sp_ledger_gone(ledger, "sbx-2");
	sp_ledger_made(ledger, NULL, "tea-1", "sbx-3");
	sp_ledger_snapshot(ledger, "tea-1", "sbx-1", "sbg-1", "r1-label", taken);
	sp_ledger_taken(ledger, taken, "sbg-1/snp-1");
	sp_ledger_snapshot(ledger, "tea-1", "sbx-1", NULL, NULL, lost);
	sp_ledger_snapshot(ledger, "tea-1", "sbx-1", "sbg-1", "r1-label", deleted);
	sp_ledger_taken(ledger, deleted, "sbg-1/snp-2");
	sp_ledger_deleted(ledger, "sbg-1/snp-2");
	sp_ledger_close(ledger, false);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	cr_assert_gt(write(fd, "{\"row\":\"gone\",\"id\":\"sbx-1\"", 26), 0);
	close(fd);

	cr_assert_eq(sp_book_read(path, &book, &err), 0, "%s", err.message);
	cr_expect_str_eq(book.provider, "render:http://127.0.0.1:1/v1");
	cr_assert_eq(book.n_sandboxes, 3u, "%zu sandboxes", book.n_sandboxes);
	cr_expect_str_eq(book.sandboxes[0].id, "sbx-1");
	cr_expect_eq(book.sandboxes[0].lifetime_s, 3601u);
	cr_expect_null(book.sandboxes[1].id);
	cr_expect_str_eq(book.sandboxes[1].row, unknown);
	cr_expect_str_eq(book.sandboxes[2].id, "sbx-3");
	cr_assert_eq(book.n_snapshots, 2u, "%zu snapshots", book.n_snapshots);
	cr_expect_str_eq(book.snapshots[0].reference, "sbg-1/snp-1");
	cr_expect_str_eq(book.snapshots[0].group, "sbg-1");
	cr_expect_null(book.snapshots[1].reference);
	cr_expect_null(book.snapshots[1].group);
	cr_expect_eq(book.n_made, 3u, "%zu made", book.n_made);
	cr_expect_eq(book.n_before, 3u, "the list was taken, and two were there");
	sp_book_done(&book);
	sp_remove_tree(home);
	free(home);
}

Test(ledger, a_clean_end_removes_the_file)
{
	char *home = ledger_home();
	struct sp_ledger *ledger = NULL;
	char path[512];

	cr_assert_eq(sp_ledger_open("", NULL, false, &ledger, NULL), 0);
	snprintf(path, sizeof(path), "%s", sp_ledger_path(ledger));
	cr_expect_eq(access(path, F_OK), 0);
	sp_ledger_close(ledger, true);
	cr_expect_neq(access(path, F_OK), 0);
	sp_ledger_close(NULL, true);
	sp_remove_tree(home);
	free(home);
}

Test(ledger, no_place_is_told)
{
	struct sp_ledger *ledger = NULL;
	struct sp_error err = SP_ERROR_INIT;
	char row[17];

	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	cr_expect_eq(sp_ledger_open("", NULL, true, &ledger, &err), SP_IO);
	cr_expect(strstr(err.message, "XDG_STATE_HOME"), "%s", err.message);
	cr_expect_eq(sp_ledger_intent(NULL, NULL, 1, row), 0, "without one nothing is written");
}
