/* SPDX-License-Identifier: MIT */
#include <cli/fake.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/json.h>
#include <cli/options.h>
#include <control/control.h>

/* Limits that turn a hang into a failure. */
#define START_LIMIT_MS 20000
#define STOP_LIMIT_MS 20000
#define ANSWER_LIMIT_MS 2000
/* How much of the server's stderr is quoted. */
#define LAST_WORDS 300

#define SOCKET_NAME "/api"
#define DIR_PATTERN "/sp-XXXXXX"

int cli_fake_dir(const char *root, char **ret_path, struct sp_error *err)
{
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	char *path SP_FREE = NULL;

	if (strlen(root) + strlen(DIR_PATTERN) + strlen(SOCKET_NAME) > room)
		root = "/tmp";
	if (asprintf(&path, "%s" DIR_PATTERN, root) < 0) {
		path = NULL;
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	if (!mkdtemp(path))
		return sp_error_set_errno(
			err, errno,
			"cannot make a temporary folder in %s (TMPDIR names another "
			"place)",
			root);
	*ret_path = SP_TAKE(path);
	return 0;
}

/* Takes one text of the line; SP_PROTOCOL when it is required and missing. */
static int take(const cJSON *json, const char *name, bool required, char **field,
		struct sp_error *err)
{
	const char *text = sp_json_str(json, name);

	if (!text || !*text)
		return required ? sp_error_set(err, SP_PROTOCOL,
					       "the fake API server did not say its %s", name) :
				  0;
	free(*field);
	*field = strdup(text);
	return *field ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");
}

int cli_fake_read_line(const char *line, size_t len, struct cli_fake *fake, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	int rc = sp_json_parse(line, len, SP_BUF_LINE, &json, err);

	if (!rc)
		rc = take(json, "base_url", true, &fake->base_url, err);
	if (!rc)
		rc = take(json, "api_key", true, &fake->api_key, err);
	if (!rc)
		rc = take(json, "workspace_id", true, &fake->workspace_id, err);
	if (!rc)
		rc = take(json, "control_url", true, &fake->control_url, err);
	if (!rc)
		rc = take(json, "control_token", true, &fake->control_token, err);
	/*
	 * In namespaces the folder is where the service has it; only plain mode has another
	 * place.
	 */
	if (!rc && sp_json_str(json, "mode") && !strcmp(sp_json_str(json, "mode"), "plain"))
		rc = take(json, "memory_dir", false, &fake->memory_dir, err);
	return rc;
}

/* The server's last words, on one line. */
static void read_log(const struct cli_fake *fake, struct sp_buf *out)
{
	struct sp_bytes log = SP_BYTES_INIT;
	char *path SP_FREE = NULL;
	size_t start;

	if (asprintf(&path, "%s/stderr", fake->dir) < 0) {
		path = NULL;
		return;
	}
	if (sp_read_file(path, SP_BUF_LINE, &log, NULL))
		return;
	while (log.len && log.data[log.len - 1] == '\n')
		log.len--;
	start = log.len > LAST_WORDS ? log.len - LAST_WORDS : 0;
	for (size_t i = start; i < log.len; i++)
		sp_buf_addc(out, log.data[i] == '\n' ? ' ' : (char)log.data[i]);
	sp_bytes_done(&log);
}

static int ended_badly(const struct cli_fake *fake, int code, const char *what,
			struct sp_error *err)
{
	static const char ours[] = "sandproof: ";
	struct sp_buf words SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *text;

	read_log(fake, &words);
	text = sp_buf_str(&words);
	if (!strncmp(text, ours, strlen(ours)))
		text += strlen(ours);
	return sp_error_set(err, code, "the fake API server %s%s%s", what, *text ? ": " : "", text);
}

/* Waits for the one line; the end of the pipe is the end of the server. */
static int read_line(struct cli_fake *fake, struct sp_error *err)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	uint64_t deadline = sp_deadline_ms(START_LIMIT_MS);

	for (;;) {
		struct pollfd fd = { .fd = fake->child.out, .events = POLLIN };
		int ready = poll(&fd, 1, sp_until_ms(deadline));
		char chunk[4096], *end;
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			return ended_badly(fake, SP_TIMED_OUT, "said nothing", err);
		n = read(fake->child.out, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ended_badly(fake, SP_UNAVAILABLE, "did not start", err);
		if (sp_buf_add(&line, chunk, (size_t)n))
			return ended_badly(fake, SP_PROTOCOL, "said too much", err);
		end = memchr(line.data, '\n', line.len);
		if (end)
			return cli_fake_read_line(line.data, (size_t)(end - line.data), fake, err);
	}
}

/*
 * Our environment without credentials: the fake has no use for them, and its sandboxes even less.
 */
static int clean_environment(struct cli_list *env, const char *tmpdir)
{
	static const char *const hidden[] = { "RENDER_API_KEY=", "SANDPROOF_CONTROL_TOKEN=",
					      "TMPDIR=" };

	for (char **at = environ; *at; at++) {
		bool hide = false;

		for (size_t i = 0; i < SP_COUNT(hidden); i++)
			hide |= !strncmp(*at, hidden[i], strlen(hidden[i]));
		if (!hide && cli_list_add(env, *at))
			return SP_INTERNAL;
	}
	if (cli_list_add(env, tmpdir))
		return SP_INTERNAL;
	return cli_list_add(env, NULL);
}

/* Starts the process; it cleans up and ends by itself should we be killed. */
static int launch(struct cli_fake *fake, const char *program, struct sp_error *err)
{
	struct cli_list env SP_CLEANUP(cli_list_done) = { NULL, 0 };
	char *listen SP_FREE = NULL, *log SP_FREE = NULL, *tmpdir SP_FREE = NULL;
	/*
	 * Its files go with the folder, also when it was killed; unless that had to be elsewhere.
	 */
	const char *root = sp_tmp_root();
	const char *place = strncmp(fake->dir, root, strlen(root)) ? root : fake->dir;
	int self SP_CLOSE = -1, rc;

	if (asprintf(&listen, "unix:%s" SOCKET_NAME, fake->dir) < 0 ||
	    asprintf(&log, "%s/stderr", fake->dir) < 0 ||
	    asprintf(&tmpdir, "TMPDIR=%s", place) < 0 || clean_environment(&env, tmpdir))
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	if (!program)
		self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (!program && self < 0)
		return sp_error_set_errno(err, errno,
					  "cannot open this program for the fake API server");
	fake->child.err = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fake->child.err < 0) {
		fake->child.err = SP_CHILD_NULL;
		return sp_error_set_errno(err, errno, "cannot write into the temporary folder %s",
					  fake->dir);
	}
	const char *const argv[] = { program ? program : "sandproof", "fake-api",
				     "--listen", listen, "--json", "--die-with-parent",
				     "--own-folder", fake->dir, NULL };

	fake->child.argv = argv;
	fake->child.env = env.items;
	fake->child.exec_fd = self;
	fake->child.out = SP_CHILD_PIPE;
	fake->child.outlives = true;
	rc = sp_child_start(&fake->child, err);
	fake->child.argv = fake->child.env = NULL;
	fake->child.exec_fd = -1;
	return rc;
}

int cli_fake_start(struct cli_fake *fake, const char *program, struct sp_error *err)
{
	int rc = sp_tmp_room(sp_tmp_root(), err);

	if (!rc)
		rc = cli_fake_dir(sp_tmp_root(), &fake->dir, err);
	if (!rc)
		rc = launch(fake, program, err);
	if (!rc)
		rc = read_line(fake, err);
	if (rc)
		cli_fake_stop(fake);
	return rc;
}

/*
 * A process that its supervisor has reaped already must not be signalled: its number may be
 * another's.
 */
static bool has_ended(const struct sp_child *child)
{
	struct pollfd fd = { .fd = child->pidfd, .events = POLLIN };

	return child->pidfd < 0 || poll(&fd, 1, 0) == 1;
}

void cli_fake_ended(const struct cli_fake *fake, struct sp_error *err)
{
	(void)ended_badly(fake, SP_UNAVAILABLE,
			   "ended in the middle of the run; nothing of what ran then is the "
			   "subject's fault",
			   err);
}

int cli_fake_answers(struct cli_fake *fake, struct sp_error *err)
{
	struct sp_cancel *limit = sp_cancel_new();
	int rc;

	sp_cancel_set_deadline(limit, sp_deadline_ms(ANSWER_LIMIT_MS));
	rc = sp_control_answers(fake->control_url, fake->control_token, limit);
	sp_cancel_unref(limit);
	fake->hung = rc != 0;
	return rc ? sp_error_set(err, SP_UNAVAILABLE,
				 "the fake API server does not answer any more; nothing of what "
				 "ran then is the subject's fault") :
		    0;
}

void cli_fake_stop(struct cli_fake *fake)
{
	struct sp_cancel *limit = NULL;

	if (fake->child.pid > 0) {
		limit = sp_cancel_new();
		sp_cancel_set_deadline(limit, sp_deadline_ms(fake->hung ? ANSWER_LIMIT_MS :
									  STOP_LIMIT_MS));
		if (!has_ended(&fake->child))
			(void)sp_child_signal(&fake->child, SIGTERM);
		/* Somebody may have stopped it. */
		if (fake->hung && !has_ended(&fake->child))
			(void)sp_child_signal(&fake->child, SIGCONT);
		(void)sp_child_wait(&fake->child, limit, NULL);
		sp_cancel_unref(limit);
	}
	sp_child_done(&fake->child);
	if (fake->dir)
		(void)sp_remove_tree(fake->dir);
	free(fake->dir);
	free(fake->base_url);
	free(fake->api_key);
	free(fake->workspace_id);
	free(fake->control_url);
	free(fake->control_token);
	free(fake->memory_dir);
	*fake = (struct cli_fake)CLI_FAKE_INIT;
}
