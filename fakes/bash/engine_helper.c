/* SPDX-License-Identifier: MIT */
/* Scenarios of sandboxes and commands. */
#include <fakes/bash/scenario.h>

#include <sys/prctl.h>
#include <sys/stat.h>

/* ---- cases ---- */

static void case_codes(void)
{
	static const struct {
		const char *text;
		int code;
		const char *out;
	} table[] = {
		{ "true", 0, "" },
		{ "exit 7", 7, "" },
		{ "exit 255", 255, "" },
		{ "echo a; echo b >&2", 0, "a\n" },
		{ "kill -KILL $$", 137, "" },
		{ "kill -TERM $$", 143, "" },
		{ "nonexistent-program", 127, "" },
		{ "(exit 3) | true; echo ${PIPESTATUS[0]}", 0, "3\n" },
		{ "echo $0 $#", 0, "bash 0\n" },
		{ "", 0, "" },
	};
	struct fake_sandbox *sandbox = make();

	for (size_t i = 0; i < SP_COUNT(table); i++)
		EXPECT(sandbox, table[i].text, table[i].code, table[i].out);
	CHECK(fake_timeline_len(sandbox) == SP_COUNT(table), "%zu", fake_timeline_len(sandbox));
	CHECK(!strcmp(fake_timeline_get(sandbox, 1).text, "exit 7"), "%s",
	      fake_timeline_get(sandbox, 1).text);
	CHECK(fake_engine_commands(engine) == SP_COUNT(table), "%llu",
	      (unsigned long long)fake_engine_commands(engine));
	destroy(sandbox);
}

static void case_leader(void)
{
	struct fake_sandbox *sandbox = make();
	struct sp_buf home SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&home, "%s\n", fake_sandbox_home(sandbox));
	EXPECT(sandbox, "read -r _ _ _ _ g _ </proc/$$/stat; [ $g = $$ ] && echo leads", 0,
	       "leads\n");
	EXPECT(sandbox, "pwd", 0, sp_buf_str(&home));
	EXPECT(sandbox, "echo $HOME", 0, sp_buf_str(&home));
	/* Standard input is at its end at once. */
	EXPECT(sandbox, "cat; read x; echo $?", 0, "1\n");
	EXPECT(sandbox, "umask; shopt -q login_shell || echo no login", 0, "0022\nno login\n");
	EXPECT(sandbox, "ls /proc/self/fd | wc -l", 0, "4\n");
	/* Nothing ignored, nothing blocked. */
	EXPECT(sandbox, "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\t'", 0,
	       "SigBlk:0000000000000000\nSigIgn:0000000000000000\n");
	destroy(sandbox);
}

static void case_env(void)
{
	static const struct sp_env env[] = {
		{ "LANG", "tr_TR" },
		{ "SECRET", "a 'b' \"c\" $d\ne" },
		{ "EMPTY", "" },
	};
	static const struct sp_env bad[] = { { "A=B", "c" } };
	struct fake_sandbox_options options = { .env = env, .n_env = SP_COUNT(env) };
	struct sp_error err = SP_ERROR_INIT;
	struct fake_sandbox *sandbox, *none = NULL;
	int rc;

	sandbox = make_with(options);
	EXPECT(sandbox, "printf '%s|' \"$SECRET\" \"${EMPTY-unset}\" $LANG", 0,
	       "a 'b' \"c\" $d\ne||tr_TR|");
	EXPECT(sandbox, "env | grep -o '^[A-Z_]*=' | sort | tr -d '\\n'", 0,
	       "EMPTY=HOME=LANG=LOGNAME=PATH=PWD=SECRET=SHELL=SHLVL=USER=_=");
	EXPECT(sandbox, "env | grep SERVER_SECRET; cat /proc/self/environ | grep -c SERVER_SECRET",
	       1, "0\n");
	options = (struct fake_sandbox_options){ .id = "bad", .env = bad, .n_env = 1 };
	rc = fake_sandbox_create(engine, &options, note, NULL, &none, &err);
	CHECK(rc == SP_INVALID && !none, "%d %s", rc, err.message);
	destroy(sandbox);
}

static void case_init(void)
{
	struct fake_sandbox *sandbox = make();

	EXPECT(sandbox, "wc -c </proc/1/environ; tr '\\0' ' ' </proc/1/cmdline; ls /proc/1/fd", 0,
	       "0\ninit ");
	/* Process 1 hears no signal from inside, and orphans are reaped. */
	EXPECT(sandbox, "kill -TERM 1; kill -KILL 1; (setsid true &) ; echo lives", 0, "lives\n");
	EXPECT(sandbox,
	       "for i in 1 2 3; do (sh -c 'exec true' & ) ; done; n=0; while grep -sq 'State:.Z' "
	       "/proc/[0-9]*/status; do n=$((n+1)); [ $n = 1000 ] && exit 1; done; exit 0",
	       0, "");
	destroy(sandbox);
}

static void case_characters(void)
{
	struct fake_sandbox *sandbox = make();
	struct run run;

	/* One character in two writes, with a scheduling point between them. */
	EXPECT(sandbox, "printf '\\342\\202'; command true; /bin/true; printf '\\254'", 0, "€");
	EXPECT(sandbox, "printf 'a\\377b\\342\\202c'", 0,
	       "a\xef\xbf\xbd"
	       "b\xef\xbf\xbd"
	       "c");
	EXPECT(sandbox, "printf '\\342\\202'", 0, "\xef\xbf\xbd");
	/* Small takes get whole characters. */
	run = start(sandbox,
		    "for ((i=0;i<1000;i++)); do printf '\xf0\x9f\x98\x80\xe2\x82\xac'; done");
	while (!run.ended)
		if (!take(&run, 5))
			turn();
	CHECK(run.text[0].len == 7000, "%zu bytes", run.text[0].len);
	run_done(&run);
	destroy(sandbox);
}

static void case_burst(void)
{
	struct fake_sandbox *sandbox = make();
	struct run run = start(sandbox, "head -c 4194304 /dev/zero | tr '\\0' x; echo end >&2");
	struct run other;

	/*
	 * Nobody takes anything while another command comes and goes: the writer
	 * stands still, nothing is lost.
	 */
	other = start(sandbox, "echo other");
	finish(&other);
	CHECK(!strcmp(sp_buf_str(&other.text[0]), "other\n"), "%s", sp_buf_str(&other.text[0]));
	run_done(&other);
	while (!run.ended)
		if (!take(&run, 1000))
			turn();
	CHECK(run.text[0].len == 4194304, "%zu bytes", run.text[0].len);
	CHECK(strspn(sp_buf_str(&run.text[0]), "x") == 4194304, "something else than x");
	CHECK(!strcmp(sp_buf_str(&run.text[1]), "end\n"), "%s", sp_buf_str(&run.text[1]));
	CHECK(run.code == 0, "%d", run.code);
	run_done(&run);
	destroy(sandbox);
}

static void case_background(void)
{
	struct fake_sandbox *sandbox = make();
	struct run run = start(sandbox, "echo first; sleep 1000 & echo $!");

	/* The child holds both pipes for good; the end comes all the same. */
	finish(&run);
	CHECK(!strncmp(sp_buf_str(&run.text[0]), "first\n", 6), "%s", sp_buf_str(&run.text[0]));
	CHECK(census(sandbox).processes == 1, "%zu", census(sandbox).processes);
	CHECK(census(sandbox).commands == 0, "%zu", census(sandbox).commands);
	run_done(&run);
	/*
	 * A background writer of more than any pipe holds gets to its end although nobody reads it.
	 */
	EXPECT(sandbox, "mkfifo f; { head -c 3000000 /dev/zero; echo over >f; } & exit 0", 0, NULL);
	EXPECT(sandbox, "cat f >/dev/null; echo seen", 0, "seen\n");
	destroy(sandbox);
}

static void case_drop(void)
{
	struct fake_sandbox *sandbox = make();
	struct run run = start(sandbox, "mkfifo f; head -c 3000000 /dev/zero; echo done >f");

	/* The client is gone; the command runs on to its end. */
	run_done(&run);
	EXPECT(sandbox, "until [ -p f ]; do :; done; cat f", 0, "done\n");
	destroy(sandbox);
}

static void case_limits(void)
{
	struct fake_sandbox *sandbox = make();
	struct sp_error err = SP_ERROR_INIT;
	struct fake_command *command = NULL;
	char *text SP_FREE = malloc(128 * 1024 + 1);
	int rc;

	memset(text, ' ', 128 * 1024);
	memcpy(text, "echo long", 9);
	text[128 * 1024] = '\0';
	rc = fake_command_start(sandbox, text, woken, NULL, &command, &err);
	CHECK(rc == SP_INVALID && !command, "%d %s", rc, err.message);
	CHECK(strstr(err.message, "131071"), "%s", err.message);
	text[128 * 1024 - 1] = '\0';
	EXPECT(sandbox, text, 0, "long\n");
	destroy(sandbox);
}

static void case_states(void)
{
	struct fake_sandbox_options options = { .id = "Bad/../id" };
	struct fake_sandbox *sandbox = make(), *other = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct fake_command *command = NULL;
	struct outcome again = { 0 }, late = { 0 };
	int rc;

	rc = fake_sandbox_create(engine, &options, note, NULL, &other, &err);
	CHECK(rc == SP_INVALID, "%d", rc);
	options.id = fake_sandbox_id(sandbox);
	rc = fake_sandbox_create(engine, &options, note, NULL, &other, &err);
	CHECK(rc == SP_CONFLICT, "%d", rc);
	options = (struct fake_sandbox_options){ .id = "snap", .archive = "/x" };
	rc = fake_sandbox_create(engine, &options, note, NULL, &other, &err);
	CHECK(rc == SP_IO && strstr(err.message, "/x"), "%d %s", rc, err.message);
	fake_sandbox_destroy(sandbox, note, &again);
	rc = fake_command_start(sandbox, "true", woken, NULL, &command, &err);
	CHECK(rc == SP_CONFLICT && strstr(err.message, "terminated"), "%d %s", rc, err.message);
	await(&again);
	fake_sandbox_destroy(sandbox, note, &late);
	CHECK(!late.done, "done is called from the dispatcher only");
	await(&late);
	fake_sandbox_free(sandbox);
	sandbox = make();
	fake_sandbox_set_errored(sandbox);
	rc = fake_command_start(sandbox, "true", woken, NULL, &command, &err);
	CHECK(rc == SP_CONFLICT && strstr(err.message, "errored"), "%d %s", rc, err.message);
	destroy(sandbox);
	for (int state = 0; state < FAKE_STATE_MAX_; state++)
		CHECK(fake_state_from_name(fake_state_name(state)) == state, "%d", state);
	CHECK(fake_state_from_name("sleeping") == -1, "unknown name");
}

static void case_suspend(void)
{
	struct fake_sandbox *sandbox = make();
	struct sp_error err = SP_ERROR_INIT;
	struct fake_command *command = NULL;
	struct run run =
		start(sandbox, "echo up; for ((;;)); do [ -e go ] && break; done; echo went");
	int rc;

	EXPECT(sandbox,
	       "sleep 1000 & kill -STOP $!; until grep -q 'State:.T' /proc/$!/status; do :; done; "
	       "echo $! >stopped",
	       0, "");
	while (!run.text[0].len)
		if (!take(&run, 100))
			turn();
	rc = fake_sandbox_suspend(sandbox, &err);
	CHECK(!rc && fake_sandbox_state(sandbox) == FAKE_SUSPENDED, "%s", err.message);
	rc = fake_command_start(sandbox, "true", woken, NULL, &command, &err);
	CHECK(rc == SP_CONFLICT && strstr(err.message, "suspended"), "%d %s", rc, err.message);
	CHECK(census(sandbox).commands == 1, "%zu", census(sandbox).commands);
	/* Its files can be reached; nobody inside sees them. */
	rc = upload_mode(sandbox, "go", "x", &err);
	CHECK(!rc, "%s", err.message);
	CHECK(!take(&run, 100), "a suspended command went on");
	rc = fake_sandbox_resume(sandbox, &err);
	CHECK(!rc && fake_sandbox_state(sandbox) == FAKE_RUNNING, "%s", err.message);
	finish(&run);
	CHECK(!strcmp(sp_buf_str(&run.text[0]), "up\nwent\n"), "%s", sp_buf_str(&run.text[0]));
	if (!plain())
		EXPECT(sandbox, "read -r p <stopped; read -r _ _ s _ </proc/$p/stat; echo $s", 0,
		       "T\n");
	run_done(&run);
	destroy(sandbox);
}

static void case_crowd(void)
{
	struct fake_sandbox *sandbox = make();
	struct run open_run;
	struct fake_census now;

	/*
	 * Ordinary, in sessions of their own, double forks with an empty
	 * environment, and some that trap TERM.
	 */
	EXPECT(sandbox,
	       "for ((i=0;i<100;i++)); do sleep 1000 & setsid sleep 1000 & "
	       "(env -i setsid sh -c 'trap \"\" TERM; sleep 1000 & exec sleep 1000' & ) ; done "
	       ">/dev/null 2>&1; n=0; while [ $(ls -d /proc/[0-9]* | wc -l) -lt 300 ]; do "
	       "n=$((n+1)); [ $n = 3000 ] && exit 9; done; exit 0",
	       0, "");
	open_run = start(sandbox, "echo here; sleep 1000");
	while (!open_run.text[0].len)
		if (!take(&open_run, 100))
			turn();
	now = census(sandbox);
	CHECK(now.processes >= 300, "%zu processes", now.processes);
	CHECK(now.commands == 1, "%zu commands", now.commands);
	destroy(sandbox);
	/* The command's handle lives on, and says how it ended. */
	finish(&open_run);
	CHECK(open_run.code == 137, "%d", open_run.code);
	run_done(&open_run);
}

static void case_forker(void)
{
	struct fake_sandbox *sandbox = make();

	/* Each generation forks the next and ends. */
	EXPECT(sandbox,
	       "cat >f <<'E'\n(setsid bash f & ) >/dev/null 2>&1\nE\nfor i in 1 2 3 4; do setsid "
	       "bash f & done; exit 0",
	       0, "");
	destroy(sandbox);
}

/*
 * A command shares the server's memory until it has executed bash: nobody
 * inside may look in that moment.
 */
static void case_glance(void)
{
	struct fake_sandbox *sandbox = make();
	struct run run = start(sandbox,
			       "while [ ! -e enough ]; do for p in /proc/[0-9]*; do "
			       "mapfile -d '' v <$p/environ; case ${v[*]} in *SERVER_SECRET*) echo "
			       "found;; *HOME=*) n=1;; esac; done 2>/dev/null; echo >seen; done; "
			       "[ $n ] && echo looked");

	for (int i = 0; i < 300; i++)
		EXPECT(sandbox, "true", 0, "");
	EXPECT(sandbox, "until [ -e seen ]; do :; done; echo >enough", 0, "");
	finish(&run);
	CHECK(!strcmp(sp_buf_str(&run.text[0]), "looked\n"), "%s", sp_buf_str(&run.text[0]));
	run_done(&run);
	destroy(sandbox);
}

static void case_early(void)
{
	struct fake_sandbox_options options = { .id = "early" };
	struct fake_sandbox *sandbox;
	struct sp_error err = SP_ERROR_INIT;
	struct outcome made = { 0 }, ended = { 0 };
	int rc = fake_sandbox_create(engine, &options, note, &made, &sandbox, &err);

	CHECK(!rc, "%s", err.message);
	fake_sandbox_destroy(sandbox, note, &ended);
	await(&ended);
	CHECK(made.done && made.rc == SP_CONFLICT, "%d %s", made.rc, made.err.message);
	CHECK(!ended.rc, "%s", ended.err.message);
	fake_sandbox_free(sandbox);
}

static void case_upload(void)
{
	struct fake_sandbox *sandbox = make();
	struct sp_error err = SP_ERROR_INIT;
	struct fake_dir_entry *entries = NULL;
	struct fake_upload *upload;
	char text[64], path[4200];
	size_t n = 0;
	int rc;

	rc = upload_mode(sandbox, "file", "one", &err);
	CHECK(!rc, "%s", err.message);
	EXPECT(sandbox, "cat file; stat -c ' %a %u' file", 0, geteuid() ? NULL : "one 600 0\n");
	rc = upload_mode(sandbox, "file", "two", &err);
	CHECK(!rc && !download(sandbox, "file", text, sizeof(text), &err), "%s", err.message);
	CHECK(!strcmp(text, "two"), "%s", text);
	snprintf(path, sizeof(path), "%s/in-memory", fake_sandbox_memory_dir(sandbox));
	rc = upload_mode(sandbox, path, "three", &err);
	CHECK(!rc && !download(sandbox, path, text, sizeof(text), &err), "%s", err.message);
	CHECK(!strcmp(text, "three"), "%s", text);
	rc = upload_mode(sandbox, "no/such/file", "x", &err);
	CHECK(rc == SP_NOT_FOUND, "%d %s", rc, err.message);
	rc = download(sandbox, "missing", text, sizeof(text), &err);
	CHECK(rc == SP_NOT_FOUND, "%d %s", rc, err.message);
	EXPECT(sandbox, "mkdir d; ln -s file l; mkfifo p", 0, "");
	rc = upload_mode(sandbox, "d", "x", &err);
	CHECK(rc == SP_CONFLICT, "%d %s", rc, err.message);
	rc = fake_dir_list(sandbox, ".", &entries, &n, &err);
	CHECK(!rc && n == 4, "%d %zu %s", rc, n, err.message);
	if (n == 4) {
		CHECK(!strcmp(entries[0].name, "d") && entries[0].type == DT_DIR, "%s",
		      entries[0].name);
		CHECK(!strcmp(entries[1].name, "file") && entries[1].size == 3, "%s",
		      entries[1].name);
		CHECK(!strcmp(entries[2].name, "l") && !strcmp(entries[2].target, "file"), "%s",
		      entries[2].name);
		CHECK(entries[3].type == DT_UNKNOWN, "%d", entries[3].type);
	}
	fake_dir_free(entries, n);
	CHECK(census(sandbox).files == 5, "%zu", census(sandbox).files);
	/* Thrown away, nothing is left; nor when the sandbox ends under it. */
	rc = fake_upload_open(sandbox, "half", &upload, &err);
	CHECK(!rc, "%s", err.message);
	fake_upload_abort(upload);
	CHECK(census(sandbox).files == 5, "%zu", census(sandbox).files);
	rc = fake_upload_open(sandbox, "half", &upload, &err);
	CHECK(!rc, "%s", err.message);
	destroy(sandbox);
	rc = fake_upload_write(upload, "x", 1, &err);
	CHECK(rc == SP_CONFLICT, "%d", rc);
	fake_upload_abort(upload);
}

static void case_escape(void)
{
	struct fake_sandbox *sandbox = make();
	struct sp_error err = SP_ERROR_INIT;
	char outside[4200], command[9000], text[64];
	struct stat st;
	int rc;

	snprintf(outside, sizeof(outside), "%s/outside", folder);
	CHECK(!sp_write_file(outside, "host", 4, 0666, &err), "%s", err.message);
	snprintf(command, sizeof(command), "ln -s %s link; ln -s %s dir; ln -s / top", outside,
		 folder);
	EXPECT(sandbox, command, 0, "");
	rc = download(sandbox, "link", text, sizeof(text), &err);
	CHECK(rc == SP_NOT_FOUND || rc == SP_DENIED, "%d: a link led to the host: %s", rc, text);
	rc = upload_mode(sandbox, "dir/made", "x", &err);
	CHECK(rc == SP_NOT_FOUND || rc == SP_DENIED, "%d: a link led to the host", rc);
	snprintf(command, sizeof(command), "../../../../../../../..%s", outside);
	rc = download(sandbox, command, text, sizeof(text), &err);
	CHECK(rc == SP_NOT_FOUND || rc == SP_DENIED, "%d: dots led to the host: %s", rc, text);
	snprintf(command, sizeof(command), "top%s", outside);
	rc = download(sandbox, command, text, sizeof(text), &err);
	CHECK(rc == SP_NOT_FOUND || rc == SP_DENIED, "%d: / led to the host: %s", rc, text);
	rc = download(sandbox, "/proc/1/root/etc/passwd", text, sizeof(text), &err);
	CHECK(rc == SP_DENIED, "%d: a magic link was followed", rc);
	/* The upload replaces a link and does not write through it. */
	rc = upload_mode(sandbox, "link", "mine", &err);
	CHECK(!rc, "%s", err.message);
	CHECK(!stat(outside, &st) && st.st_size == 4, "the host's file was changed");
	snprintf(command, sizeof(command), "%s/made", folder);
	CHECK(stat(command, &st), "a file was made on the host");
	if (plain()) {
		rc = download(sandbox, "/etc/passwd", text, sizeof(text), &err);
		CHECK(rc == SP_DENIED, "%d", rc);
	}
	unlink(outside);
	destroy(sandbox);
}

static void case_isolation(void)
{
	struct fake_sandbox *sandbox = make(), *other = make();
	struct sp_error err = SP_ERROR_INIT;
	char command[9000], outside[4200];
	struct stat before, after;

	snprintf(outside, sizeof(outside), "%s/mark", folder);
	CHECK(!sp_write_file(outside, "host", 4, 0666, &err), "%s", err.message);
	/*
	 * Its own root: what it writes anywhere stays in it, and /tmp and
	 * /root show nothing of the host's.
	 */
	snprintf(command, sizeof(command),
		 "echo x >/etc/made-inside; echo x >>%s; ls -A /tmp /root", outside);
	EXPECT(sandbox, command, 0, NULL);
	EXPECT(sandbox, "ls -A /root /tmp | grep -v : | grep .", 1, "");
	CHECK(stat("/etc/made-inside", &after), "a file was made in the host's /etc");
	CHECK(!stat(outside, &after) && after.st_size == 4, "the host's file was changed");
	EXPECT(other, "ls /etc/made-inside 2>/dev/null", 2, "");
	/* Its own /dev. */
	stat("/dev/null", &before);
	EXPECT(sandbox,
	       "echo x >/dev/inside; chmod 0 /dev/null 2>/dev/null; chmod 0 /dev/stdin "
	       "2>/dev/null; ls /dev/vda "
	       "/dev/sda /dev/mem /dev/kmsg 2>/dev/null; for l in fd stdin stdout stderr; do [ -L "
	       "/dev/$l ] || echo $l; done; exit 0",
	       0, "");
	CHECK(stat("/dev/inside", &after), "a file was made in the host's /dev");
	CHECK(!stat("/dev/null", &after) && after.st_mode == before.st_mode,
	      "the host's /dev/null was changed");
	EXPECT(other,
	       "echo x >/dev/null && head -c 3 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; "
	       "echo x 2>/dev/null >/dev/full; echo $?",
	       0, "3\n4\n1\n");
	EXPECT(other,
	       "mknod /tmp/disk b 8 0 2>/dev/null; mknod /dev/m c 1 1 2>/dev/null; ls /tmp/disk "
	       "/dev/m 2>/dev/null",
	       2, "");
	/* Nothing that reaches the machine. */
	EXPECT(other,
	       "for f in /proc/sys/kernel/hostname /proc/sys/vm/swappiness /proc/sysrq-trigger; do "
	       "(: >>$f) 2>/dev/null && echo $f; done; exit 0",
	       0, "");
	EXPECT(other,
	       "mount -t tmpfs x /mnt 2>/dev/null || mount -t devtmpfs x /mnt 2>/dev/null || "
	       "umount /proc/sys 2>/dev/null || mount -o remount,rw /proc/sys 2>/dev/null || date "
	       "-s 2000-01-01 >/dev/null 2>&1 || hostname x 2>/dev/null || echo held",
	       0, "held\n");
	/* Its own processes. */
	snprintf(command, sizeof(command),
		 "kill -0 %d 2>/dev/null; ls -d /proc/%d 2>/dev/null; ls /proc/*/environ | wc -l "
		 ">/dev/null; echo done",
		 (int)getpid(), (int)getpid() + 100000);
	EXPECT(other, command, 0, "done\n");
	EXPECT(other, "grep -l SERVER_SECRET /proc/*/environ 2>/dev/null", 1, "");
	unlink(outside);
	destroy(sandbox);
	destroy(other);
}

static void case_network(void)
{
	struct fake_sandbox *sandbox =
		make_with((struct fake_sandbox_options){ .deny_network = true });

	EXPECT(sandbox,
	       "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; tail -n +2 /proc/net/route", 0,
	       "lo\n");
	EXPECT(sandbox,
	       "(exec 3<>/dev/tcp/127.0.0.1/9) 2>&1 | grep -o 'Connection refused' | sort -u", 0,
	       "Connection refused\n");
	EXPECT(sandbox,
	       "(exec 3<>/dev/tcp/192.0.2.1/9) 2>&1 | grep -o 'Network is unreachable' | sort -u",
	       0, "Network is unreachable\n");
	destroy(sandbox);
}

static void case_files(void)
{
	struct fake_sandbox *sandbox = make();

	CHECK(census(sandbox).files == 0, "%zu", census(sandbox).files);
	EXPECT(sandbox, "mkdir -p a/b; echo x >a/b/c; ln -s c a/b/d", 0, "");
	CHECK(census(sandbox).files == 4, "%zu", census(sandbox).files);
	EXPECT(sandbox, "rm -r a", 0, "");
	CHECK(census(sandbox).files == 0, "%zu", census(sandbox).files);
	if (!plain()) {
		EXPECT(sandbox, "echo >/dev/shm/x; echo >/tmp/y", 0, "");
		CHECK(census(sandbox).files == 2, "%zu", census(sandbox).files);
	}
	destroy(sandbox);
}

/*
 * Root's sandboxes own the host's files as their layers show them: changed and
 * removed ones are no new files.
 */
static void case_changed(void)
{
	struct fake_sandbox *sandbox = make();

	if (geteuid() || access("/etc/hostname", W_OK)) {
		destroy(sandbox);
		return;
	}
	EXPECT(sandbox,
	       "[ -w /etc/hostname ] || exit 0; echo >>/etc/hostname; rm -f /etc/debian_version", 0,
	       "");
	CHECK(census(sandbox).files == 0, "%zu", census(sandbox).files);
	destroy(sandbox);
}

/* Left running on purpose: fake_engine_free() has to end it all. */
static void case_left(void)
{
	struct fake_sandbox *sandbox = make();
	struct run run = start(sandbox, "setsid sleep 1000 & echo here; sleep 1000");

	while (!run.text[0].len)
		if (!take(&run, 100))
			turn();
	sp_buf_done(&run.text[0]);
	make();
}

/* Ends without a farewell; the starter counts what is left. */
static void case_killed(void)
{
	struct fake_sandbox *sandbox = make();
	struct run run =
		start(sandbox, "for i in 1 2 3 4 5; do setsid sleep 1000 & done >/dev/null; (env "
			       "-i setsid sleep 1000 & ) >/dev/null; echo here; sleep 1000");

	while (!run.text[0].len)
		if (!take(&run, 100))
			turn();
	raise(SIGKILL);
}

static void case_full(void)
{
	struct fake_sandbox *sandbox = make();
	struct sp_error err = SP_ERROR_INIT;
	struct fake_upload *upload;
	static char block[1024 * 1024];
	char path[4200];
	int rc;

	/* The private /dev is bounded. */
	snprintf(path, sizeof(path), "%s/big", fake_sandbox_memory_dir(sandbox));
	rc = fake_upload_open(sandbox, path, &upload, &err);
	CHECK(!rc, "%s", err.message);
	for (int i = 0; !rc && i < 300; i++)
		rc = fake_upload_write(upload, block, sizeof(block), &err);
	CHECK(rc == SP_IO && err.sys_errno == ENOSPC, "%d %d %s", rc, err.sys_errno, err.message);
	fake_upload_abort(upload);
	CHECK(census(sandbox).files == 0, "%zu", census(sandbox).files);
	destroy(sandbox);
}

static void case_many(void)
{
	struct fake_sandbox *sandboxes[12];
	struct outcome made[12] = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	char id[16];

	for (int i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "many-%d", i);
		CHECK(!fake_sandbox_create(engine, &(struct fake_sandbox_options){ .id = id }, note,
					   &made[i], &sandboxes[i], &err),
		      "%s", err.message);
	}
	for (int i = 0; i < 12; i++) {
		await(&made[i]);
		CHECK(!made[i].rc, "%s", made[i].err.message);
	}
	for (int i = 0; i < 12; i++)
		EXPECT(sandboxes[i], "echo $$ >pid; [ -s pid ] && echo yes", 0, "yes\n");
	for (int i = 0; i < 12; i++)
		destroy(sandboxes[i]);
}

/* Says what was chosen. */
static void case_mode(void)
{
	printf("%s\n", plain() ? "plain" : "namespaces");
	for (const char *const *name = fake_engine_cannot_hold(engine); *name; name++)
		printf("%s\n", *name);
	fflush(stdout);
}

static const struct helper_case cases[] = {
	{ "codes", case_codes, BOTH },
	{ "leader", case_leader, BOTH },
	{ "env", case_env, BOTH },
	{ "init", case_init, NAMESPACES },
	{ "characters", case_characters, BOTH },
	{ "burst", case_burst, BOTH },
	{ "background", case_background, BOTH },
	{ "drop", case_drop, BOTH },
	{ "limits", case_limits, BOTH },
	{ "states", case_states, BOTH },
	{ "suspend", case_suspend, BOTH },
	{ "crowd", case_crowd, BOTH },
	{ "forker", case_forker, BOTH },
	{ "early", case_early, BOTH },
	{ "upload", case_upload, BOTH },
	{ "escape", case_escape, BOTH },
	{ "isolation", case_isolation, NAMESPACES },
	{ "glance", case_glance, NAMESPACES },
	{ "network", case_network, NAMESPACES },
	{ "files", case_files, BOTH },
	{ "changed", case_changed, NAMESPACES },
	{ "full", case_full, NAMESPACES },
	{ "many", case_many, BOTH },
	{ "left", case_left, BOTH },
	{ "killed", case_killed, NAMESPACES },
	/* For questions by name only. */
	{ "mode", case_mode, 0 },
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, cases, SP_COUNT(cases));
}
