/* SPDX-License-Identifier: MIT */
/* Clients that leave or read slowly, and the server's own end. */
#include <fakes/render-api/testing.h>

#include <sys/stat.h>
#include <sys/wait.h>

/* A raw connection, so that the test decides what is read and when it ends. */
static int raw_connect(struct server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = TEST_LIMIT_MS / 1000};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, server->socket, sizeof(address.sun_path));
	cr_assert(!connect(fd, (struct sockaddr *)&address, sizeof(address)));
	cr_assert(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	return fd;
}

/* Reads to the end. False when the server does not close. */
static bool raw_read(int fd, struct sp_buf *buf)
{
	ssize_t n;
	char c;

	while ((n = read(fd, &c, 1)) == 1)
		sp_buf_addc(buf, c);
	return !n || errno == ECONNRESET;
}

/* Reads an answer up to the empty line that ends its headers. */
static void raw_headers(int fd)
{
	char c, last = 0;

	while (read(fd, &c, 1) == 1) {
		if (c == '\r')
			continue;
		if (c == '\n' && last == '\n')
			break;
		last = c;
	}
}

/* Sends a run and returns when the headers of its stream are there. */
static int raw_run(struct server *server, const char *id, const char *command)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct mint token = mint(server, id, "runs/stream", "");
	int fd = raw_connect(server);

	run_body(&body, command);
	sp_buf_addf(&text,
		    "POST /proxy/%s/runs/stream HTTP/1.1\r\nHost: localhost\r\n"
		    "Authorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
		    id, token.token, body.len, sp_buf_str(&body));
	cr_assert(!sp_write_all(fd, text.data, text.len));
	raw_headers(fd);
	return fd;
}

/* The client leaves: nobody is told, the command goes on to its end. */
Test(hangup, leaves_the_command_running)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE = run_sync(&server, id, "mkfifo go end; echo made");
	int fd = raw_run(&server, id, "read x <go; echo \"$x\"; echo \"ended $x\" >end");

	cr_expect_str_eq(made, "made\n");
	close(fd);
	char *end SP_FREE = run_sync(&server, id, "echo well >go; cat end");

	cr_expect_str_eq(end, "ended well\n");
	server_stop(&server);
}

/* Also while its headers or its exit are held. */
Test(hangup, at_a_hold)
{
	static const char *const rows[][2] = {{"run", "after"}, {"exit", "before"}};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct mint token = mint(&server, id, "runs/stream", "");
		long hold = control_hold(&server, rows[i][0], rows[i][1]);
		int fd = raw_connect(&server);

		sp_buf_addf(&text,
			    "POST /proxy/%s/runs/stream HTTP/1.1\r\nHost: localhost\r\n"
			    "Authorization: Bearer %s\r\nContent-Length: 18\r\n\r\n"
			    "{\"command\":\"true\"}",
			    id, token.token);
		sp_write_all(fd, text.data, text.len);
		control_await(&server, hold);
		close(fd);
		char *out SP_FREE = run_sync(&server, id, "echo still here");

		cr_expect_str_eq(out, "still here\n");
		control_release(&server, hold);
		cr_expect(control_do(&server, "GET", "census", NULL) == 200);
	}
	server_stop(&server);
}

/*
 * A command that has arrived is run, also when it stood before its start and its client left there.
 */
Test(hangup, before_the_start)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char *made SP_FREE = run_sync(&server, id, "mkfifo f; echo made");

	cr_expect_str_eq(made, "made\n");
	/* The second one still stands when the server ends. */
	for (int i = 0; i < 2; i++) {
		struct mint token = mint(&server, id, "runs/stream", "");
		long hold = control_hold(&server, "run", "before");
		int fd = raw_connect(&server);

		sp_buf_clear(&text);
		sp_buf_addf(&text,
			    "POST /proxy/%s/runs/stream HTTP/1.1\r\nHost: localhost\r\n"
			    "Authorization: Bearer %s\r\nContent-Length: 24\r\n\r\n"
			    "{\"command\":\"echo ran>f\"}",
			    id, token.token);
		sp_write_all(fd, text.data, text.len);
		control_await(&server, hold);
		close(fd);
		if (i == 1)
			break;
		control_release(&server, hold);
		char *out SP_FREE = run_sync(&server, id, "cat f");

		cr_expect_str_eq(out, "ran\n");
	}
	server_stop(&server);
}

/* An await of a hold that its client gives up leaves the hold in place. */
Test(hangup, of_an_await)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	long hold = control_hold(&server, "run", "before");
	int fd = raw_connect(&server);

	sp_buf_addf(&text,
		    "GET /admin/workspaces/%s/holds/%ld HTTP/1.1\r\nHost: localhost\r\n"
		    "Authorization: Bearer %s\r\n\r\n",
		    server.workspace, hold, server.control_token);
	sp_write_all(fd, text.data, text.len);
	close(fd);
	struct later *run = later_stream(&server, id, "true");

	control_await(&server, hold);
	control_release(&server, hold);
	struct reply reply SP_CLEANUP(reply_done) = later_join(run);

	cr_expect(has(&reply, "{\"exit_code\":0}"), "%s", sp_buf_str(&reply.body));
	server_stop(&server);
}

/* A half upload leaves nothing. */
Test(hangup, in_an_upload)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct mint token = mint(&server, id, "files/upload", "?path=f");
	struct sp_buf rest SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	int fd = raw_connect(&server);

	sp_buf_addf(&text,
		    "PUT /proxy/%s/files/upload?path=f HTTP/1.1\r\nHost: localhost\r\n"
		    "Authorization: Bearer %s\r\nContent-Length: 1000\r\n\r\nhalf",
		    id, token.token);
	sp_write_all(fd, text.data, text.len);
	shutdown(fd, SHUT_WR);
	/* The server closes once it has seen that there will be no more. */
	cr_expect(raw_read(fd, &rest), "the connection stays open");
	cr_expect(!rest.len, "an answer to half a body: %s", sp_buf_str(&rest));
	close(fd);
	char *left SP_FREE = run_sync(&server, id, "ls -A");

	cr_expect_str_eq(left, "");
	server_stop(&server);
}

/* The server stands still; it does so for sure when this returns. */
static void server_freeze(struct server *server)
{
	siginfo_t info;

	sp_child_signal(&server->child, SIGSTOP);
	cr_assert(!waitid(P_PID, (id_t)server->child.pid, &info, WSTOPPED), "%m");
}

/*
 * Half a request and the end of file in one: the server wakes up once for both, on a connection
 * that it already knows. However far the request came, the server closes.
 */
Test(hangup, together_with_the_last_bytes)
{
	static const char *const rows[] = {"", "GET /nowh", "POST /nowhere HTTP/1.1\r\nHost: loc",
					   "POST /nowhere HTTP/1.1\r\nHost: localhost\r\n"
					   "Content-Length: 1000\r\n\r\nhalf"};
	static const char first[] = "HEAD /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct server server = server_start('C', NULL);

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf rest SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		int fd = raw_connect(&server);

		sp_write_all(fd, first, strlen(first));
		raw_headers(fd);
		server_freeze(&server);
		sp_write_all(fd, rows[i], strlen(rows[i]));
		shutdown(fd, SHUT_WR);
		sp_child_signal(&server.child, SIGCONT);
		cr_expect(raw_read(fd, &rest), "%zu: the connection stays open", i);
		cr_expect(!rest.len, "%zu: no answer expected, got %s", i, sp_buf_str(&rest));
		close(fd);
	}
	server_stop(&server);
}

#define FLOOD ((size_t)64 << 20)

/*
 * 64 MiB for a client that does not read: the server neither holds them nor
 * is held up, and the client finds every byte when it does read.
 */
Test(slow_reader, is_waited_for)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	int fd = raw_run(&server, id, "head -c 67108864 /dev/zero | tr '\\0' x");
	char *buffer SP_FREE = malloc(1 << 16);
	size_t count = 0;
	ssize_t n;

	for (int i = 0; i < 20; i++) {
		char *out SP_FREE = run_sync(&server, id, "echo free");

		cr_expect_str_eq(out, "free\n");
	}
	while ((n = read(fd, buffer, 1 << 16)) > 0)
		for (ssize_t i = 0; i < n; i++)
			count += buffer[i] == 'x';
	close(fd);
	/* The "x" of {"exit_code":0} and of "event: exit" are two more. */
	cr_expect(count == FLOOD + 2, "%zu expected, got %zu", FLOOD + 2, count);
	expect_peak_below(&server, 32);
	server_stop(&server);
}

/* A large upload and a large folder pass through without being held. */
Test(slow_reader, transfers_are_streamed)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	struct mint token = mint(&server, id, "files/upload", "?path=big");
	char *data SP_FREE = malloc(FLOOD);

	memset(data, 'u', FLOOD);
	struct reply put SP_CLEANUP(reply_done) =
	    server_ask(&server, &(struct ask){.method = "PUT",
					      .target = token.uri,
					      .bearer = token.token,
					      .body = data,
					      .body_len = FLOOD});
	char *sum SP_FREE = run_sync(&server, id, "tr -d u <big | wc -c; wc -c <big");

	token = mint(&server, id, "files/download", "?path=.");
	struct reply got SP_CLEANUP(reply_done) = server_ask(
	    &server, &(struct ask){.method = "GET", .target = token.uri, .bearer = token.token});

	cr_expect(put.status == 204, "%ld %s", put.status, sp_buf_str(&put.body));
	cr_expect_str_eq(sum, "0\n67108864\n");
	cr_expect(got.status == 200 && got.code == CURLE_OK && got.body.len > 1000, "%ld %s",
		  got.status, curl_easy_strerror(got.code));
	expect_peak_below(&server, 32);
	server_stop(&server);
}

/* A silent stream says that it lives; the comment is no event and comes before the exit. */
Test(streams, a_silent_one_says_that_it_lives)
{
	static const char *const often[] = {"--keep-alive-ms=1", NULL};
	struct server server = server_start('C', often);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE = run_sync(&server, id, "mkfifo gate; echo made");
	int fd = raw_run(&server, id, "read x <gate; echo heard; exit 3");
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cr_expect_str_eq(made, "made\n");
	/* The command is silent until it is told: what comes first is the comment. */
	while (!strstr(sp_buf_str(&text), ": keep-alive\n") && text.len < 200) {
		size_t before = text.len;

		test_read(fd, &text, true);
		if (text.len == before)
			break;
	}
	cr_expect(strstr(sp_buf_str(&text), ": keep-alive\n"), "%s", sp_buf_str(&text));
	cr_expect(!strstr(sp_buf_str(&text), "exit_code"), "%s", sp_buf_str(&text));
	char *told SP_FREE = run_sync(&server, id, "echo go >gate; echo told");

	cr_expect_str_eq(told, "told\n");
	test_read(fd, &text, false);
	cr_expect(strstr(sp_buf_str(&text), "{\"exit_code\":3}"), "%s", sp_buf_str(&text));
	close(fd);
	server_stop(&server);
}

/* Many idle streams at once: each hears its own exit. */
Test(streams, many)
{
	enum { N = 60 };
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE = run_sync(&server, id, "mkfifo gate; echo made");
	int fds[N];

	cr_expect_str_eq(made, "made\n");
	for (int i = 0; i < N; i++) {
		char command[64];

		snprintf(command, sizeof(command), "read x <gate; exit %d", i);
		fds[i] = raw_run(&server, id, command);
	}
	/*
	 * An empty line for each; somebody keeps the gate, so that none is lost before its reader
	 * came.
	 */
	char *opened SP_FREE = run_sync(
	    &server, id, "exec 4<>gate; sleep 1000 <&4 & printf '\\n%.0s' {1..60} >&4; echo open");

	cr_expect_str_eq(opened, "open\n");
	for (int i = 0; i < N; i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		char expected[64];

		raw_read(fds[i], &text);
		snprintf(expected, sizeof(expected), "{\"exit_code\":%d}", i);
		cr_expect(strstr(sp_buf_str(&text), expected), "stream %d: `%s` expected in %s", i,
			  expected, sp_buf_str(&text));
		close(fds[i]);
	}
	server_stop(&server);
}

/* TERM with everything in use: server_stop() looks for what is left. */
Test(end, term_leaves_nothing)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char lock[256];
	long hold = control_hold(&server, "get", "before");
	char target[128];

	/*
	 * The host's side of a pipe that every process of the sandbox holds open: its end is their
	 * end.
	 */
	int stream =
	    raw_run(&server, id, "trap '' TERM HUP; setsid sleep 1000 & echo on; sleep 1000");

	snprintf(target, sizeof(target), "/v1/sandboxes/%s", id);
	struct later *get = later_ask(
	    &server, &(struct ask){.method = "GET", .target = target, .bearer = server.key});

	control_await(&server, hold);
	snprintf(lock, sizeof(lock), "%s", server.socket);
	server_stop(&server);
	struct reply reply SP_CLEANUP(reply_done) = later_join(get);
	struct sp_buf rest SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cr_expect(raw_read(stream, &rest), "the stream stays open");
	close(stream);
	cr_expect(reply.code != CURLE_OK, "a request that stood was answered: %ld", reply.status);
	cr_expect(access(lock, F_OK) && errno == ENOENT, "the socket is still there");
}

/* The parent dies, by whatever: the server ends as by TERM. */
Test(end, with_its_parent)
{
	struct server server = {.child = SP_CHILD_INIT};
	struct sp_error err = SP_ERROR_INIT;
	char script[1024];
	const char *const argv[] = {"bash", "-c", script, NULL};
	struct sp_buf rest SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char tmp[128];
	const char *const env[] = {tmp, "PATH=/usr/bin:/bin", NULL};

	cr_assert(!sp_tmp_dir("api-test-", &server.dir, &err), "%s", err.message);
	snprintf(server.socket, sizeof(server.socket), "%s/socket", server.dir);
	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", server.dir);
	snprintf(script, sizeof(script),
		 "'" TEST_HELPER "' unix:%s C --die-with-parent & read -r x", server.socket);
	server.child.argv = argv;
	server.child.env = env;
	server.child.in = SP_CHILD_PIPE;
	server.child.out = SP_CHILD_PIPE;
	cr_assert(!sp_child_start(&server.child, &err), "%s", err.message);
	server_read_line(&server, server.child.out);
	char *id SP_FREE = make_sandbox(&server);
	struct reply run SP_CLEANUP(reply_done) = run_stream(&server, id, "sleep 1000 & echo on");

	cr_expect(has(&run, "{\"exit_code\":0}"), "%s", sp_buf_str(&run.body));
	kill(server.child.pid, SIGKILL);
	/* The server holds the other end: the end of file is the end of the server. */
	test_read(server.child.out, &rest, false);
	server.child.code = 0;
	cr_expect(access(server.socket, F_OK) && errno == ENOENT, "the socket is still there");
	cr_expect(rmdir(server.dir) == 0, "something was left in %s", server.dir);
	sp_child_done(&server.child);
	free(server.dir);
	free(server.key);
	free(server.workspace);
	free(server.control_token);
}

/* What cannot be served says so and leaves nothing. */
Test(end, bad_options)
{
	static const struct {
		const char *listen;
		const char *fault;
		const char *contains;
	} rows[] = {
	    {"192.0.2.1:80", NULL, "loopback"},
	    {"unix:/no/such/folder/socket", NULL, "/no/such/folder/socket"},
	    {"127.0.0.1:0", "slow-bot", "slow-boot"},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const char *const argv[] = {TEST_HELPER, rows[i].listen, "C", rows[i].fault, NULL};
		struct sp_run_result result;
		struct sp_error err = SP_ERROR_INIT;
		char *dir SP_FREE = NULL;
		char tmp[128];
		const char *const env[] = {tmp, "PATH=/usr/bin:/bin", NULL};

		cr_assert(!sp_tmp_dir("api-test-", &dir, &err));
		snprintf(tmp, sizeof(tmp), "TMPDIR=%s", dir);
		cr_assert(!sp_run(argv, env, NULL, 0, SP_BUF_LINE, NULL, &result, &err), "%s",
			  err.message);
		cr_expect(result.code == 1 && strstr(result.err, rows[i].contains) &&
			      !result.out_len,
			  "%s: code 1 and `%s` expected, got %d: %s", rows[i].listen,
			  rows[i].contains, result.code, result.err);
		cr_expect(rmdir(dir) == 0, "%s: something was left behind", rows[i].listen);
		sp_run_result_done(&result);
	}
}
