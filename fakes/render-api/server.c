/* SPDX-License-Identifier: MIT */
/*
 * The server's one loop: the daemon, the engine, signals, hang-ups, and one
 * look a second at lifetimes and keep-alives.
 */
#include <fakes/render-api/server.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/model.h>
#include <fakes/render-api/request.h>
#include <fakes/render-api/stream.h>

#define BATCH 64
#define TICK SP_SECOND
/* Room of one connection for its headers and answer; thousands of them may idle. */
#define CONNECTION_BYTES (16 * 1024)

/* ---- starting ---- */

static int die_with_parent(pid_t parent, struct sp_error *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0))
		return sp_error_set_errno(err, errno, "cannot be made to end with the parent");
	/* It may have ended before we asked. */
	return getppid() == parent ? 0 : sp_error_set(err, SP_ABORTED, "the parent has ended");
}

static int watch(struct api *api, int fd, void *what, struct sp_error *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	if (epoll_ctl(api->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return sp_error_set_errno(err, errno, "cannot watch a descriptor");
	return 0;
}

static int start_signals(struct api *api, struct sp_error *err)
{
	sigset_t ends;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	api->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (api->signal_fd < 0)
		return sp_error_set_errno(err, errno, "cannot take signals");
	return watch(api, api->signal_fd, &api->signal_fd, err);
}

static int start_engine(struct api *api, struct sp_error *err)
{
	struct fake_engine_options options = { 0 };
	int rc = sp_tmp_dir("sandproof-fake-", &api->state_dir, err);

	if (rc)
		return rc;
	options.state_dir = api->state_dir;
	rc = fake_engine_new(&options, &api->engine, err);
	return rc ? rc : watch(api, fake_engine_fd(api->engine), &api->engine, err);
}

static int start_daemon(struct api *api, struct sp_error *err)
{
	const union MHD_DaemonInfo *info;

	api->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, request_on_access, api,
		MHD_OPTION_LISTEN_SOCKET, api->listener.fd, MHD_OPTION_NOTIFY_COMPLETED,
		request_on_completed, api, MHD_OPTION_NOTIFY_CONNECTION, peer_on_connection, api,
		MHD_OPTION_URI_LOG_CALLBACK, request_on_target, api,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
	info = api->daemon ? MHD_get_daemon_info(api->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		return sp_error_set(err, SP_INTERNAL, "the HTTP server cannot be started");
	return watch(api, info->epoll_fd, &api->daemon, err);
}

static int start(struct api *api, const struct fake_api_options *options, struct sp_error *err)
{
	pid_t parent = getppid();
	int rc = api_faults_parse(options->faults, options->n_faults, &api->faults, err);

	api->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!rc && api->epoll_fd < 0)
		rc = sp_error_set_errno(err, errno, "cannot make an event loop");
	if (!rc)
		rc = start_signals(api, err);
	if (!rc && options->die_with_parent)
		rc = die_with_parent(parent, err);
	if (!rc)
		rc = start_engine(api, err);
	/* Entering a user namespace takes the wish to die with the parent away. */
	if (!rc && options->die_with_parent)
		rc = die_with_parent(parent, err);
	if (!rc)
		rc = api_listen(options->listen, &api->listener, err);
	if (!rc)
		rc = start_daemon(api, err);
	if (!rc)
		sp_random_id(api->control_token, API_TOKEN_LEN);
	return rc;
}

/* ---- what it says ---- */

static void add_urls(const struct api *api, struct sp_buf *base, struct sp_buf *control)
{
	if (api->listener.unix_path) {
		sp_buf_addf(base, "unix:%s", api->listener.unix_path);
		sp_buf_adds(control, sp_buf_str(base));
	} else {
		sp_buf_addf(base, "%s/v1", api->listener.origin);
		sp_buf_adds(control, api->listener.origin);
	}
}

static int announce(struct api *api, const struct workspace *workspace, bool json)
{
	struct sp_buf base SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf control SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	bool plain = fake_engine_mode(api->engine) == FAKE_PLAIN;
	char *memory SP_FREE = NULL;

	add_urls(api, &base, &control);
	if (asprintf(&memory, plain ? "%s/{id}/dev" : "/dev", api->state_dir) < 0)
		return SP_INTERNAL;
	if (json) {
		json_open(&line, NULL, '{');
		json_str(&line, "base_url", sp_buf_str(&base));
		json_str(&line, "api_key", workspace->api_key);
		json_str(&line, "workspace_id", workspace->id);
		json_str(&line, "control_url", sp_buf_str(&control));
		json_str(&line, "control_token", api->control_token);
		json_str(&line, "mode", plain ? "plain" : "namespaces");
		json_str(&line, "memory_dir", memory);
		json_close(&line, '}');
		sp_buf_addc(&line, '\n');
	} else {
		sp_buf_addf(&line,
			    "base_url       %s\napi_key        %s\nworkspace_id   %s\n"
			    "control_url    %s\ncontrol_token  %s\nmode           %s\n",
			    sp_buf_str(&base), workspace->api_key, workspace->id,
			    sp_buf_str(&control), api->control_token, plain ? "plain" : "namespaces");
	}
	return sp_write_all(STDOUT_FILENO, line.data, line.len);
}

/* ---- running ---- */

static void take_signals(struct api *api)
{
	struct signalfd_siginfo info;

	while (read(api->signal_fd, &info, sizeof(info)) == sizeof(info))
		api->stopping = true;
}

static void tick(struct api *api)
{
	struct workspace *workspace;
	uint64_t now = sp_now();

	if (now < api->next_tick)
		return;
	api->next_tick = now + TICK;
	TAILQ_FOREACH (workspace, &api->workspaces, entry)
		workspace_tick(workspace);
	stream_keep_alive(api, now);
}

/* What the daemon wants to be called for, by the clock. */
static int patience(struct api *api)
{
	unsigned long long daemon;
	int wait = sp_until_ms(api->next_tick);

	if (MHD_get_timeout(api->daemon, &daemon) == MHD_YES && daemon < (unsigned)wait)
		wait = (int)daemon;
	return wait;
}

static void turn(struct api *api)
{
	struct epoll_event events[BATCH];
	int n = epoll_wait(api->epoll_fd, events, BATCH, patience(api));

	for (int i = 0; i < n; i++) {
		void *what = events[i].data.ptr;

		if (what == &api->engine)
			fake_engine_dispatch(api->engine);
		else if (what == &api->signal_fd)
			take_signals(api);
		else if (what != &api->daemon)
			peer_on_hangup(what);
	}
	/* Last, since everything above may have given it something to send. */
	MHD_run(api->daemon);
	sandbox_release_due(api);
	tick(api);
}

/* ---- ending ---- */

static void stop_sandboxes(struct api *api)
{
	struct workspace *workspace;
	struct sandbox *sandbox;

	TAILQ_FOREACH (workspace, &api->workspaces, entry) {
		failure_clear_all(workspace);
		hold_release_all(workspace);
		TAILQ_FOREACH (sandbox, &workspace->sandboxes, entry)
			sandbox_terminate(sandbox, NULL, NULL);
	}
}

/* Streams end, sandboxes end, and then the descriptors that they hold are gone. */
static void stop(struct api *api)
{
	struct workspace *workspace;

	if (api->engine && api->daemon) {
		stop_sandboxes(api);
		peer_hangup_all(api);
		while (sandbox_release_due(api))
			turn(api);
	}
	if (api->daemon)
		MHD_stop_daemon(api->daemon);
	while ((workspace = TAILQ_FIRST(&api->workspaces)))
		workspace_free(workspace);
	fake_engine_free(api->engine);
	api_listener_done(&api->listener);
	if (api->state_dir)
		sp_remove_tree(api->state_dir);
	free(api->state_dir);
	sp_close(api->signal_fd);
	sp_close(api->epoll_fd);
}

int fake_api_run(const struct fake_api_options *options, struct sp_error *err)
{
	struct api api = { .listener = API_LISTENER_INIT,
			   .epoll_fd = -1,
			   .signal_fd = -1,
			   .era = options->era };
	struct workspace *workspace = NULL;
	int rc;

	TAILQ_INIT(&api.peers);
	TAILQ_INIT(&api.workspaces);
	TAILQ_INIT(&api.streams);
	rc = start(&api, options, err);
	if (!rc)
		workspace = workspace_new(&api);
	if (!rc && !workspace)
		rc = sp_error_set(err, SP_INTERNAL, "no memory for a workspace");
	/* Nobody to tell is no reason to serve. */
	if (!rc && announce(&api, workspace, options->json))
		rc = sp_error_set(err, SP_IO, "cannot say where it listens: standard output is closed");
	while (!rc && !api.stopping)
		turn(&api);
	stop(&api);
	return rc;
}
