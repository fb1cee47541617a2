/* SPDX-License-Identifier: MIT */
/* Scenarios of snapshots: captured, restored, refused, damaged, hostile. */
#include <fakes/bash/scenario.h>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Where an archive goes: beside the sandboxes, in the engine's private folder. */
static const char *archive_path(const char *name)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/%s.tar", folder, name);
	return path;
}

static int capture_limited(struct fake_sandbox *sandbox, enum fake_kind kind, const char *path,
			   uint64_t limit, struct sp_error *err)
{
	struct outcome taken = { 0 };
	int rc = fake_sandbox_capture(sandbox, kind, path, limit, note, &taken, err);

	if (rc)
		return rc;
	await(&taken);
	*err = taken.err;
	return taken.rc;
}

static void capture(struct fake_sandbox *sandbox, enum fake_kind kind, const char *path)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = capture_limited(sandbox, kind, path, 0, &err);

	CHECK(!rc, "capture: %s", err.message);
}

static struct fake_sandbox *restore(const char *path)
{
	return make_with((struct fake_sandbox_options){ .archive = path });
}

/* A restore that must fail with this code; what is left of it is ended. */
static void refuse_restore(const char *path, uint64_t limit, int code, const char *what)
{
	struct fake_sandbox_options options = { .id = "refused",
						.archive = path,
						.archive_limit = limit };
	struct outcome made = { 0 };
	struct fake_sandbox *sandbox = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (fake_sandbox_create(engine, &options, note, &made, &sandbox, &err)) {
		CHECK(false, "%s: create: %s", what, err.message);
		return;
	}
	await(&made);
	CHECK(made.rc == code, "%s: code %d expected, got %d: %s", what, code, made.rc,
	      made.err.message);
	CHECK(fake_sandbox_state(sandbox) == FAKE_ERRORED, "%s: %s", what,
	      fake_state_name(fake_sandbox_state(sandbox)));
	destroy(sandbox);
}

static void archive_remove(const char *path)
{
	struct outcome removed = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	CHECK(!fake_archive_remove(engine, path, note, &removed, &err), "%s", err.message);
	await(&removed);
	CHECK(!removed.rc && access(path, F_OK), "%s: %s", path, removed.err.message);
}

/* Whether these bytes stand anywhere in a file. */
static bool holds(const char *path, const char *bytes)
{
	struct sp_bytes all = SP_BYTES_INIT;
	bool found;

	if (sp_read_file(path, OUTPUT_CEILING, &all, NULL))
		return false;
	found = memmem(all.data, all.len, bytes, strlen(bytes));
	sp_bytes_done(&all);
	return found;
}

/* What a command says in both is the same, and something. */
static void same(struct fake_sandbox *a, struct fake_sandbox *b, const char *text)
{
	struct run ra = start(a, text);
	struct run rb;

	finish(&ra);
	rb = start(b, text);
	finish(&rb);
	CHECK(ra.text[0].len, "`%s` says nothing: %s", text, sp_buf_str(&ra.text[1]));
	CHECK(ra.code == rb.code && ra.text[0].len == rb.text[0].len &&
		      !memcmp(ra.text[0].data, rb.text[0].data, ra.text[0].len),
	      "`%s`: before\n%.1500s\nafter\n%.1500s%.500s", text, sp_buf_str(&ra.text[0]),
	      sp_buf_str(&rb.text[0]), sp_buf_str(&rb.text[1]));
	run_done(&ra);
	run_done(&rb);
}

/* Where a command finds the memory-backed directory. */
#define MEMORY_SH "M=/dev; [[ -w $HOME/../dev && $HOME = */home ]] && M=$HOME/../dev; "

/*
 * Names, kinds, modes, links, owners, sizes, times of all below a folder, and what the files hold.
 */
#define MANIFEST                                                                                   \
	"find . -mindepth 1 -type d -printf '%P|d|%m|%n|%U|%G|%T@\\n' -o -mindepth 1 "           \
	"-printf '%P|%y|%m|%n|%U|%G|%s|%T@|%l\\n' | LC_ALL=C sort; "                             \
	"find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum"

/* ---- cases ---- */

/* The kinds differ in the memory-backed directory and in what processes were told. */
static void case_kinds(void)
{
	const char *path = archive_path("kinds");
	struct fake_sandbox *source = make(), *copy;
	struct run sleeper;

	EXPECT(source,
	       MEMORY_SH
	       "mkdir $M/keep && echo 'in-memory-7' >$M/keep/secret && chmod 700 $M/keep && "
	       "echo 'on-disk-7' >file && echo tmp >tmpfile",
	       0, "");
	sleeper = start(source, "TOLD='only-told-7' exec sleep 1000");
	EXPECT(source, "until pgrep -f 'sleep 100[0]' >/dev/null; do :; done", 0, "");
	capture(source, FAKE_FILESYSTEM, path);
	CHECK(holds(path, "on-disk-7"), "a filesystem snapshot without its files");
	CHECK(!holds(path, "in-memory-7") && !holds(path, "only-told-7"), "it holds memory");
	copy = restore(path);
	EXPECT(copy, MEMORY_SH "cat file tmpfile; [ ! -e $M/keep ] && echo none", 0,
	       "on-disk-7\ntmp\nnone\n");
	EXPECT(copy, "pgrep -cf 'sleep 100[0]' || echo nobody", 0, NULL);
	destroy(copy);
	archive_remove(path);
	capture(source, FAKE_RUNTIME, path);
	CHECK(holds(path, "on-disk-7") && holds(path, "in-memory-7") && holds(path, "only-told-7"),
	      "a runtime snapshot without something of it");
	copy = restore(path);
	EXPECT(copy, MEMORY_SH "cat file $M/keep/secret; stat -c %a $M/keep", 0,
	       "on-disk-7\nin-memory-7\n700\n");
	EXPECT(copy, "echo gone >/dev/null && head -c 2 /dev/zero | od -An -tx1", 0, " 00 00\n");
	destroy(copy);
	run_done(&sleeper);
	destroy(source);
	archive_remove(path);
}

/* After restore the tree equals the snapshot, and the two go their own ways. */
static void case_tree(void)
{
	const char *path = archive_path("tree");
	struct fake_sandbox *source = make(), *copy;

	EXPECT(source,
	       "mkdir -p d/e/f; echo one >d/one; ln d/one d/e/again; ln d/one third; echo x "
	       ">d/e/f/x; "
	       "ln -s ../nowhere d/dangling; ln -s /etc d/away; mkfifo -m 640 d/pipe; "
	       "chmod 4711 d/one; chmod 0500 d/e; touch -d '2001-02-03 04:05:06.789012345' d/e/f/x "
	       "d/e/f; "
	       "mkdir -m 1777 sticky; mkdir empty; : >nothing; "
	       "truncate -s 20M sparse; printf tail >>sparse; truncate -s 30M sparse; truncate -s "
	       "5M hole; "
	       "head -c 3000000 /dev/urandom >big; head -c 700 /dev/urandom >small; chmod 0 small",
	       0, "");
	if (geteuid() == 0)
		EXPECT(source, "chown 12:34 empty big; chown -h 1:2 d/dangling; true", 0, "");
	capture(source, FAKE_FILESYSTEM, path);
	copy = restore(path);
	same(source, copy, MANIFEST);
	EXPECT(copy, "[ d/one -ef d/e/again -a d/one -ef third ] && stat -c %h third", 0, "3\n");
	EXPECT(copy, "[ $(stat -c %b sparse) -lt 1000 ] && tail -c +20971521 sparse | head -c 4", 0,
	       "tail");
	CHECK(census(source).files == census(copy).files, "files: %zu and %zu",
	      census(source).files, census(copy).files);
	EXPECT(copy, "echo two >d/one && rm third && chmod 700 d/e && rm -r d/e", 0, "");
	EXPECT(source, "cat d/one third d/e/f/x", 0, "one\none\nx\n");
	EXPECT(source, "echo three >d/one", 0, "");
	destroy(source);
	EXPECT(copy, "cat d/one", 0, "two\n");
	destroy(copy);
	copy = restore(path);
	EXPECT(copy, "cat d/one third", 0, "one\none\n");
	destroy(copy);
	archive_remove(path);
}

/* No room: the error says so, nothing is left of the attempt, and the source is as it was. */
static void case_full(void)
{
	const char *path = archive_path("full");
	struct fake_sandbox *source = make();
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	EXPECT(source, "head -c 100000 /dev/zero >file", 0, "");
	rc = capture_limited(source, FAKE_FILESYSTEM, path, 50000, &err);
	CHECK(rc == SP_IO && err.sys_errno == ENOSPC, "%d %d %s", rc, err.sys_errno, err.message);
	CHECK(access(path, F_OK), "a part of an archive was left");
	CHECK(fake_sandbox_state(source) == FAKE_RUNNING && census(source).files == 1,
	      "%s, %zu files", fake_state_name(fake_sandbox_state(source)), census(source).files);
	capture(source, FAKE_FILESYSTEM, path);
	refuse_restore(path, 50000, SP_IO, "a disk that becomes full");
	destroy(restore(path));
	EXPECT(source, "stat -c %s file", 0, "100000\n");
	destroy(source);
	archive_remove(path);
}

/* What a sandbox took away from the host's folders, or put in their place, stays so. */
static void case_whiteouts(void)
{
	const char *path = archive_path("whiteouts");
	struct fake_sandbox *source = make(), *copy;

	/*
	 * An ordinary user owns nothing of the host's; there the folders of the sandbox
	 * itself are what can be taken away.
	 */
	EXPECT(source,
	       "if rm -f /etc/hostname 2>/dev/null && [ ! -e /etc/hostname ]; then rm -rf "
	       "/etc/alternatives "
	       "/etc/default && mkdir -m 711 /etc/alternatives && echo mine "
	       ">/etc/alternatives/mine && "
	       "echo file >/etc/default; mv /etc/profile /etc/moved; echo more >>/etc/passwd; fi; "
	       "rm -rf /run; rmdir /tmp; ln -s root /tmp; mkdir -m 750 /run /made; true",
	       0, "");
	capture(source, FAKE_FILESYSTEM, path);
	copy = restore(path);
	same(source, copy,
	     "ls -lan --time-style=full-iso /etc /etc/alternatives /etc/default /run /made "
	     "/tmp 2>&1 | grep -v '^total'");
	same(source, copy, "ls -la -I proc -I dev / | awk '{print $1, $2, $3, $4, $9, $10, $11}'; "
			   "cat /etc/passwd /etc/moved /etc/profile 2>&1 | sha256sum");
	/* The same once more, from what was restored. */
	archive_remove(path);
	capture(copy, FAKE_RUNTIME, path);
	destroy(copy);
	copy = restore(path);
	same(source, copy,
	     "ls -lan --time-style=full-iso /etc /etc/alternatives /run /tmp 2>&1 | grep -v "
	     "'^total'");
	destroy(copy);
	destroy(source);
	archive_remove(path);
}

/* Names are bytes: all of them, alone, in links and in folders, short and at every limit. */
static void case_names(void)
{
	const char *path = archive_path("names");
	struct fake_sandbox *source = make(), *copy;

	EXPECT(source,
	       "mkdir -p names links; cd names; for ((i=1;i<256;i++)); do ((i==47)) && continue; "
	       "printf -v x '\\x%x' $i; printf -v n \"$x\"; printf -v m \"a$x$x b\"; "
	       "[[ $n = . ]] || printf %s $i >./\"$n\"; mkdir ./\"d$m\"; printf %s $i "
	       ">./\"d$m/$m\"; "
	       "ln -s \"$m\" ../links/\"$m\"; ln ./\"d$m/$m\" ../links/\"h$m\"; done; "
	       "printf -v long '%0255d' 0; echo x >$long; printf -v wide "
	       "'\\xf0\\x9f\\x98\\x80%.0s' {1..63}; "
	       "echo y >$wide; ln -s \"$(printf '%04000d' 7)\" far; "
	       "truncate -s 1M $'sparse \\xff\\n'; printf z >>$'sparse \\xff\\n'",
	       0, "");
	capture(source, FAKE_FILESYSTEM, path);
	copy = restore(path);
	same(source, copy,
	     "find . -mindepth 1 -type d -printf '%P|%m|%n|%T@\\0' -o -mindepth 1 -printf "
	     "'%P|%y|%m|%n|%s|%T@|%l\\0' | "
	     "LC_ALL=C sort -z | sha256sum; find . -type f -print0 | LC_ALL=C sort -z | xargs -0r "
	     "sha256sum | sha256sum; find . | wc -l");
	destroy(copy);
	destroy(source);
	archive_remove(path);
}

/* A tree deeper than any path can say. */
static void case_deep(void)
{
	const char *path = archive_path("deep");
	struct fake_sandbox *source = make(), *copy;
	static const char walk[] =
		"n=0; while cd -P -- */ 2>/dev/null; do ((n++)); done; echo $n; cat deep";

	EXPECT(source,
	       "printf -v name '%0200d' 0; for ((i=0;i<120;i++)); do mkdir $name && cd -P $name || "
	       "exit 9; "
	       "done 2>/dev/null; echo down here >deep",
	       0, "");
	EXPECT(source, walk, 0, "120\ndown here\n");
	capture(source, FAKE_FILESYSTEM, path);
	copy = restore(path);
	EXPECT(copy, walk, 0, "120\ndown here\n");
	destroy(copy);
	destroy(source);
	archive_remove(path);
}

/* FIFOs do not hold a capture up, sockets are sockets again, attributes that matter come along. */
static void case_kinds_of_files(void)
{
	const char *path = archive_path("files");
	struct fake_sandbox *source = make(), *copy;

	EXPECT(source,
	       "mkfifo -m 600 f; mkfifo -m 622 g; python3 -c 'import socket, os\n"
	       "s = socket.socket(socket.AF_UNIX); s.bind(\"s\"); os.chmod(\"s\", 0o711)\n"
	       "open(\"x\", \"w\").write(\"x\")\n"
	       "try: os.setxattr(\"x\", \"user.name\", b\"\\x00value\\xff\")\n"
	       "except OSError: pass'",
	       0, "");
	capture(source, FAKE_FILESYSTEM, path);
	copy = restore(path);
	same(source, copy, "stat -c '%n %F %a %Y' f g s x");
	same(source, copy,
	     "python3 -c 'import os\n"
	     "print([(n, os.getxattr(\"x\", n)) for n in sorted(os.listxattr(\"x\"))])'");
	destroy(copy);
	destroy(source);
	archive_remove(path);
}

/* The sandbox works on while it is captured: what changes under the walk spoils nothing. */
static void case_busy(void)
{
	const char *path = archive_path("busy");
	struct fake_sandbox *source = make(), *copy;
	struct run writer;

	EXPECT(source,
	       "mkdir a b; for i in {1..300}; do echo $i >a/$i; head -c 20000 /dev/zero >b/$i; "
	       "done",
	       0, "");
	writer = start(source, "while :; do for i in {1..300}; do mv a/$i b/x$i; : >b/$i; "
			       "head -c 30000 /dev/zero >>b/$i; mv b/x$i a/$i; done; done");
	for (int i = 0; i < 5; i++) {
		capture(source, FAKE_RUNTIME, path);
		copy = restore(path);
		EXPECT(copy, "ls -d a b", 0, "a\nb\n");
		destroy(copy);
		archive_remove(path);
	}
	destroy(source);
	run_done(&writer);
}

/* A sandbox that ends stops its captures and restores; nothing of them is left. */
static void case_ended(void)
{
	const char *path = archive_path("ended");
	struct fake_sandbox_options options = { .id = "ended", .archive = path };
	struct fake_sandbox *source = make(), *copy = NULL;
	struct outcome taken = { 0 }, ended = { 0 }, made = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	EXPECT(source, "for i in {1..2000}; do echo $i >$i; done; truncate -s 50M hole", 0, "");
	capture(source, FAKE_FILESYSTEM, path);
	CHECK(!fake_sandbox_create(engine, &options, note, &made, &copy, &err), "%s", err.message);
	fake_sandbox_destroy(copy, note, &ended);
	await(&ended);
	CHECK(made.done && made.rc == SP_CONFLICT, "%d %s", made.rc, made.err.message);
	fake_sandbox_free(copy);
	archive_remove(path);
	CHECK(!fake_sandbox_capture(source, FAKE_RUNTIME, path, 0, note, &taken, &err), "%s",
	      err.message);
	ended = (struct outcome){ 0 };
	fake_sandbox_destroy(source, note, &ended);
	await(&ended);
	CHECK(taken.done && taken.rc == SP_CONFLICT, "%d %s", taken.rc, taken.err.message);
	CHECK(access(path, F_OK), "an archive of a sandbox that ended was left");
	CHECK(fake_sandbox_capture(source, FAKE_RUNTIME, path, 0, note, &taken, &err) ==
		      SP_CONFLICT,
	      "an ended one was captured");
	fake_sandbox_free(source);
}

/* Only what runs is captured; one that is held has not begun. */
static void case_refused(void)
{
	const char *path = archive_path("refused");
	struct fake_sandbox *source = make(), *held = NULL;
	struct outcome made = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	CHECK(!fake_sandbox_suspend(source, &err), "%s", err.message);
	rc = capture_limited(source, FAKE_RUNTIME, path, 0, &err);
	CHECK(rc == SP_CONFLICT && strstr(err.message, "suspended"), "%d %s", rc, err.message);
	CHECK(!fake_sandbox_resume(source, &err), "%s", err.message);
	capture(source, FAKE_RUNTIME, path);
	rc = capture_limited(source, FAKE_RUNTIME, path, 0, &err);
	CHECK(rc == SP_IO && err.sys_errno == EEXIST, "over another: %d %s", rc, err.message);
	CHECK(!fake_sandbox_create(engine,
				   &(struct fake_sandbox_options){ .id = "held", .archive = path,
								   .held = true },
				   note, &made, &held, &err),
	      "%s", err.message);
	/* Opened already: the archive may go. */
	archive_remove(path);
	CHECK(!made.done && fake_sandbox_state(held) == FAKE_CREATING, "it began");
	fake_sandbox_begin(held);
	await(&made);
	CHECK(!made.rc, "%s", made.err.message);
	destroy(held);
	CHECK(!fake_sandbox_create(engine,
				   &(struct fake_sandbox_options){ .id = "held", .held = true },
				   note, &made, &held, &err),
	      "%s", err.message);
	made.done = false;
	destroy(held);
	CHECK(!made.done, "it was told of a beginning that never was");
	destroy(source);
}

/* ---- damaged and hostile archives ---- */

/* Cut off anywhere, or spoilt, it is refused: never a sandbox with a part of its files. */
static void case_damaged(void)
{
	const char *path = archive_path("damaged");
	struct fake_sandbox *source = make();
	struct sp_bytes whole = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;

	EXPECT(source, "for i in {1..20}; do echo content >$i; done", 0, "");
	capture(source, FAKE_RUNTIME, path);
	CHECK(!sp_read_file(path, OUTPUT_CEILING, &whole, &err), "%s", err.message);
	/*
	 * The last 1,024 bytes are the end marks of a tar, the 512 or 1,024
	 * before them the entry `end`.
	 */
	for (size_t len = 0; len + 2048 < whole.len; len += len < 8192 ? 512 : 4999) {
		CHECK(!sp_write_file(path, whole.data, len, 0600, &err), "%s", err.message);
		refuse_restore(path, 0, SP_PROTOCOL, "cut off");
	}
	CHECK(!sp_write_file(path, "no archive at all", 17, 0600, &err), "%s", err.message);
	refuse_restore(path, 0, SP_PROTOCOL, "no archive");
	CHECK(!sp_write_file(path, whole.data, whole.len, 0600, &err), "%s", err.message);
	destroy(restore(path));
	destroy(source);
	sp_bytes_done(&whole);
	archive_remove(path);
}

/* One entry that is slipped into a good archive. */
struct evil {
	const char *what;
	/* "%s" is the prefix of a place; `via` is a symlink that comes first, or NULL. */
	const char *via;
	const char *via_target;
	const char *name;
	mode_t type;
	const char *link;
	bool hard;
};

static void add_entry(struct archive *to, const char *name, mode_t type, const char *link,
		      bool hard)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, name);
	archive_entry_set_mode(entry, type | 0644);
	if (hard)
		archive_entry_set_hardlink(entry, link);
	else if (link)
		archive_entry_set_symlink(entry, link);
	if (S_ISCHR(type) || S_ISBLK(type))
		archive_entry_set_rdev(entry, makedev(1, 3));
	archive_entry_set_size(entry, S_ISREG(type) && !hard ? 4 : 0);
	CHECK(archive_write_header(to, entry) == ARCHIVE_OK, "%s: %s", name,
	      archive_error_string(to));
	if (S_ISREG(type) && !hard)
		archive_write_data(to, "evil", 4);
	archive_entry_free(entry);
}

static void add_evil(struct archive *to, const struct evil *evil)
{
	const char *prefix = plain() ? "home" : "l/0";
	char name[256], link[256] = "", via[256];

	snprintf(name, sizeof(name), "%s%s", evil->name[0] == '+' ? prefix : "",
		 evil->name + (evil->name[0] == '+'));
	if (evil->link)
		snprintf(link, sizeof(link), "%s%s", evil->link[0] == '+' ? prefix : "",
			 evil->link + (evil->link[0] == '+'));
	if (evil->via) {
		snprintf(via, sizeof(via), "%s%s", prefix, evil->via);
		add_entry(to, via, S_IFLNK, evil->via_target, false);
	}
	add_entry(to, name, evil->type, evil->link ? link : NULL, evil->hard);
}

/* Copies an archive with the evil entry after `about`. */
static void slip_in(const char *from_path, const char *to_path, const struct evil *evil)
{
	struct archive *from = archive_read_new(), *to = archive_write_new();
	struct archive_entry *entry;
	const void *data;
	la_int64_t offset;
	size_t len;
	bool first = true;

	archive_read_support_format_tar(from);
	archive_write_set_format_pax(to);
	CHECK(archive_read_open_filename(from, from_path, 10240) == ARCHIVE_OK, "%s", from_path);
	CHECK(archive_write_open_filename(to, to_path) == ARCHIVE_OK, "%s", to_path);
	while (archive_read_next_header(from, &entry) == ARCHIVE_OK) {
		archive_write_header(to, entry);
		while (archive_read_data_block(from, &data, &len, &offset) == ARCHIVE_OK)
			archive_write_data(to, data, len);
		if (first)
			add_evil(to, evil);
		first = false;
	}
	archive_read_free(from);
	archive_write_free(to);
}

static void case_hostile(void)
{
	/*
	 * What must stay as it is lies beside the sandboxes: four levels up
	 * from a layer, two from a home.
	 */
	static const struct evil table[] = {
		{ "up and out", NULL, NULL, "+/../../../../victim", S_IFREG, NULL, false },
		{ "up and out of a home", NULL, NULL, "+/../../victim", S_IFREG, NULL, false },
		{ "up inside", NULL, NULL, "+/a/../../../../../victim", S_IFREG, NULL, false },
		{ "a dot", NULL, NULL, "+/./x", S_IFREG, NULL, false },
		{ "nothing between slashes", NULL, NULL, "+//x", S_IFREG, NULL, false },
		{ "absolute", NULL, NULL, "/victim", S_IFREG, NULL, false },
		{ "no place", NULL, NULL, "victim", S_IFREG, NULL, false },
		{ "no such layer", NULL, NULL, "l/77/x", S_IFREG, NULL, false },
		{ "no number", NULL, NULL, "l/x/x", S_IFREG, NULL, false },
		{ "a place that is a file", NULL, NULL, "+", S_IFREG, NULL, false },
		{ "through a link to a folder", "/out", "../../../..", "+/out/victim", S_IFREG,
		  NULL, false },
		{ "through an absolute link", "/out", "/tmp", "+/out/victim", S_IFREG, NULL,
		  false },
		{ "a folder over a link", "/out", "/tmp", "+/out", S_IFDIR, NULL, false },
		{ "below a link to itself", "/out", ".", "+/out/x", S_IFREG, NULL, false },
		{ "a name for what is outside", NULL, NULL, "+/x", S_IFREG, "+/../../../../victim",
		  true },
		{ "a name for a place of nobody", NULL, NULL, "+/x", S_IFREG, "/etc/passwd", true },
		{ "a name through a link", "/out", "../../../..", "+/x", S_IFREG, "+/out/victim",
		  true },
		{ "a device", NULL, NULL, "+/null", S_IFCHR, NULL, false },
		{ "a disk", NULL, NULL, "+/sda", S_IFBLK, NULL, false },
	};
	const char *good = strdup(archive_path("good"));
	char victim[4200], evil_path[4200];
	struct fake_sandbox *source = make();
	struct sp_error err = SP_ERROR_INIT;
	struct sp_bytes bytes = SP_BYTES_INIT;

	snprintf(victim, sizeof(victim), "%s/victim", folder);
	snprintf(evil_path, sizeof(evil_path), "%s/evil.tar", folder);
	CHECK(!sp_write_file(victim, "innocent", 8, 0600, &err), "%s", err.message);
	EXPECT(source, "mkdir a; echo x >a/x", 0, "");
	capture(source, FAKE_FILESYSTEM, good);
	for (size_t i = 0; i < SP_COUNT(table); i++) {
		slip_in(good, evil_path, &table[i]);
		refuse_restore(evil_path, 0, SP_PROTOCOL, table[i].what);
		archive_remove(evil_path);
	}
	CHECK(!sp_read_file(victim, 100, &bytes, &err) && bytes.len == 8 &&
		      !memcmp(bytes.data, "innocent", 8),
	      "the victim was touched: %s", err.message);
	sp_bytes_done(&bytes);
	unlink(victim);
	destroy(restore(good));
	destroy(source);
	archive_remove(good);
	free((char *)good);
}

static const struct helper_case cases[] = {
	{ "kinds", case_kinds, BOTH },
	{ "tree", case_tree, BOTH },
	{ "whiteouts", case_whiteouts, NAMESPACES },
	{ "names", case_names, BOTH },
	{ "deep", case_deep, BOTH },
	{ "kinds-of-files", case_kinds_of_files, BOTH },
	{ "busy", case_busy, BOTH },
	{ "full", case_full, BOTH },
	{ "ended", case_ended, BOTH },
	{ "refused", case_refused, BOTH },
	{ "damaged", case_damaged, BOTH },
	{ "hostile", case_hostile, BOTH },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, cases, SP_COUNT(cases));
}
