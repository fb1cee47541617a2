/* SPDX-License-Identifier: MIT */
/* Loading in a child first: a constructor runs whatever it likes. */
#include "plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>

/* Turns a hang into a failure. */
#define LIMIT_MS 10000

/* What the child says: one write, below PIPE_BUF. */
struct answer {
	int rc;
	struct sp_error err;
};

static _Noreturn void be_child(const char *path, unsigned wanted, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct sp_plugin *plugin;
	struct answer answer = {.rc = 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	answer.rc = sp_plugin_load(path, wanted, &plugin, &answer.err);
	_exit(write(out, &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
}

/* True when the whole answer came; false at its end, or at the limit. */
static bool hear(int in, struct answer *answer, bool *ret_late)
{
	uint64_t until = sp_deadline_ms(LIMIT_MS);
	struct pollfd poller = {.fd = in, .events = POLLIN};
	uint64_t now;
	int n;

	do {
		now = sp_now();
		n = poll(&poller, 1, now < until ? (int)((until - now) / SP_MS) + 1 : 0);
	} while (n < 0 && errno == EINTR);
	*ret_late = n == 0;
	return n > 0 && read(in, answer, sizeof(*answer)) == sizeof(*answer);
}

static int died(const char *path, int status, bool late, struct sp_error *err)
{
	if (late)
		return sp_error_set(err, SP_IO,
				    "the plugin %s cannot be loaded: that took longer than %d ms; "
				    "look at its constructors and its " SP_PLUGIN_ENTRY,
				    path, LIMIT_MS);
	if (WIFSIGNALED(status))
		return sp_error_set(err, SP_IO,
				    "the plugin %s cannot be loaded: it crashed by SIG%s in a "
				    "constructor or in its " SP_PLUGIN_ENTRY,
				    path, sp_signal_name(WTERMSIG(status)));
	return sp_error_set(err, SP_IO,
			    "the plugin %s cannot be loaded: it ended the process with exit code "
			    "%d in a constructor or in its " SP_PLUGIN_ENTRY,
			    path, WEXITSTATUS(status));
}

int sp_plugin_probe(const char *path, unsigned wanted, struct sp_error *err)
{
	int in SP_CLOSE = -1, out SP_CLOSE = -1;
	struct answer answer = {.rc = 0};
	bool heard, late = false;
	int ends[2], status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return sp_error_set_errno(err, errno, "no pipe to try the plugin %s", path);
	in = ends[0];
	out = ends[1];
	pid = fork();
	if (pid < 0)
		return sp_error_set_errno(err, errno, "no process to try the plugin %s", path);
	if (!pid)
		be_child(path, wanted, out);
	sp_close(SP_TAKE_FD(out));
	heard = hear(in, &answer, &late);
	if (late)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!heard)
		return died(path, status, late, err);
	if (answer.rc && err)
		*err = answer.err;
	return answer.rc;
}
