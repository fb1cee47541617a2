/* SPDX-License-Identifier: MIT */
/* Start, the loop, and the end. */
#include <fakes/render-api/server.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <fakes/render-api/api.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/model.h>
#include <fakes/render-api/request.h>
#include <fakes/render-api/stream.h>

/* Memory of one connection; a thousand idle ones have to be cheap. */
#define CONNECTION_MEMORY ((size_t)8 * 1024)
#define CONNECTIONS_MAX 16384
#define FILES_MAX 65536
/* Between two looks at lifetimes, idle times and silent streams. */
#define TICK SP_SECOND
/*
 * A third of what the most patient known client allows (45 s without a
 * byte), and the service's own.
 */
#define KEEP_ALIVE (15 * SP_SECOND)
/* The engine has this long to end what is left when we stop. */
#define STOP_MS 30000
#define EVENTS 64

/*
 * A connection, its command's pipes and pidfd: the usual soft limit ends at some two hundred
 * streams.
 */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= FILES_MAX)
		return;
	limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int watch(struct api *api, int fd, void *tag)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = tag};

	return epoll_ctl(api->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Blocked before any thread exists, so that only the descriptor tells of them. */
static int open_signals(struct api *api, sigset_t *ret_before, struct sp_error *err)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	/* The terminal that it was started from is closed. */
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, ret_before);
	api->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (api->signal_fd < 0)
		return sp_error_set_errno(err, errno, "making a signal descriptor");
	return 0;
}

static int open_engine(struct api *api, struct sp_error *err)
{
	struct fake_engine_options options = {.mode = FAKE_AUTO};
	int rc = sp_tmp_dir("sandproof-api-", &api->state_dir, err);

	if (rc)
		return rc;
	options.state_dir = api->state_dir;
	return fake_engine_new(&options, &api->engine, err);
}

static int open_daemon(struct api *api, struct sp_error *err)
{
	api->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO, 0, NULL, NULL,
	    request_on_access, api, MHD_OPTION_LISTEN_SOCKET, api->listener.fd,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
	    0U, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_URI_LOG_CALLBACK,
	    request_on_target, api, MHD_OPTION_NOTIFY_COMPLETED, request_on_completed, api,
	    MHD_OPTION_NOTIFY_CONNECTION, peer_on_connection, api, MHD_OPTION_END);
	/* The daemon closes it from here on. */
	api->listener.fd = -1;
	if (!api->daemon)
		return sp_error_set(err, SP_IO, "the HTTP server could not be started");
	return 0;
}

static int open_loop(struct api *api, struct sp_error *err)
{
	const union MHD_DaemonInfo *info;

	info = MHD_get_daemon_info(api->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || watch(api, info->epoll_fd, &api->daemon) ||
	    watch(api, fake_engine_fd(api->engine), &api->engine) ||
	    watch(api, api->signal_fd, &api->signal_fd))
		return sp_error_set_errno(err, errno, "watching descriptors");
	return 0;
}

/*
 * Set late: entering a user namespace could have cleared it. A parent that is gone already sends
 * nothing.
 */
static void die_with_parent(struct api *api, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		api->stopping = true;
}

static int open_all(struct api *api, const struct fake_api_options *options, sigset_t *before,
		    struct sp_error *err)
{
	pid_t parent = getppid();
	int rc = api_faults_parse(options->faults, options->n_faults, &api->faults, err);

	if (!rc)
		rc = open_signals(api, before, err);
	if (!rc)
		rc = open_engine(api, err);
	if (!rc && options->die_with_parent)
		die_with_parent(api, parent);
	if (!rc)
		rc = api_listen(options->listen, &api->listener, err);
	if (!rc) {
		api->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (api->epoll_fd < 0)
			rc = sp_error_set_errno(err, errno, "making an epoll descriptor");
	}
	if (!rc)
		rc = open_daemon(api, err);
	return rc ? rc : open_loop(api, err);
}

/*
 * How sandboxes are isolated, and where their memory-backed directory is ("{id}" stands for the
 * sandbox's id).
 */
static void add_mode(struct sp_buf *line, struct api *api)
{
	bool plain = fake_engine_mode(api->engine) == FAKE_PLAIN;
	struct sp_buf dir SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&dir, "%s%s", plain ? api->state_dir : "", plain ? "/{id}/dev" : "/dev");
	json_str(line, "mode", plain ? "plain" : "namespaces");
	json_str(line, "memory_dir", sp_buf_str(&dir));
}

static int announce(struct api *api, bool json, struct sp_error *err)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf control_url SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct workspace *workspace = workspace_new(api);
	const char *version = api->listener.unix_path ? "" : "/v1";

	if (!workspace)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	sp_buf_addf(&control_url, "%s%s", api->listener.unix_path ? "unix:" : "",
		    api->listener.unix_path ? api->listener.unix_path : api->listener.origin);
	if (json) {
		json_open(&line, NULL, '{');
		sp_buf_addf(&line, "\"base_url\":");
		struct sp_buf base_url SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		sp_buf_addf(&base_url, "%s%s", sp_buf_str(&control_url), version);
		sp_buf_add_json(&line, sp_buf_str(&base_url), base_url.len);
		json_str(&line, "api_key", workspace->api_key);
		json_str(&line, "workspace_id", workspace->id);
		json_str(&line, "control_url", sp_buf_str(&control_url));
		json_str(&line, "control_token", api->control_token);
		add_mode(&line, api);
		json_close(&line, '}');
	} else {
		sp_buf_addf(&line,
			    "base URL       %s%s\nAPI key        %s\nworkspace      %s\n"
			    "control URL    %s\ncontrol token  %s",
			    sp_buf_str(&control_url), version, workspace->api_key, workspace->id,
			    sp_buf_str(&control_url), api->control_token);
	}
	if (printf("%s\n", sp_buf_str(&line)) < 0 || fflush(stdout))
		return sp_error_set_errno(err, errno, "writing to standard output");
	return 0;
}

static void tick(struct api *api, uint64_t now)
{
	struct workspace *workspace;

	if (now < api->next_tick)
		return;
	api->next_tick = now + TICK;
	TAILQ_FOREACH(workspace, &api->workspaces, entry)
	workspace_tick(workspace);
	stream_keep_alive(api, now);
}

/* Milliseconds until something is due without any descriptor saying so; -1: never. */
static int next_timeout(struct api *api)
{
	struct workspace *workspace;
	MHD_UNSIGNED_LONG_LONG daemon_ms;
	bool anything = false;

	if (api->release_due || api->resumed)
		return 0;
	TAILQ_FOREACH(workspace, &api->workspaces, entry)
	anything = anything || !TAILQ_EMPTY(&workspace->sandboxes);
	int timeout = anything ? sp_until_ms(api->next_tick) : -1;

	if (MHD_get_timeout(api->daemon, &daemon_ms) == MHD_YES &&
	    (timeout < 0 || daemon_ms < (unsigned)timeout))
		timeout = (int)daemon_ms;
	return timeout;
}

static void turn(struct api *api)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(api->epoll_fd, events, EVENTS, next_timeout(api));
	bool engine = false;

	/* Nothing in this loop frees a connection; only the daemon does, below. */
	for (int i = 0; i < n; i++) {
		void *tag = events[i].data.ptr;

		if (tag == &api->engine)
			engine = true;
		else if (tag == &api->signal_fd)
			api->stopping = true;
		else if (tag != &api->daemon)
			peer_on_hangup(tag);
	}
	if (engine)
		fake_engine_dispatch(api->engine);
	if (api->release_due)
		sandbox_release_due(api);
	tick(api, sp_now());
	api->resumed = false;
	MHD_run(api->daemon);
}

/*
 * Ends every sandbox and waits for the proof, within reason; the engine itself has the last word.
 */
static void end_sandboxes(struct api *api)
{
	uint64_t deadline = sp_deadline_ms(STOP_MS);
	struct workspace *workspace;
	struct sandbox *sandbox;

	TAILQ_FOREACH(workspace, &api->workspaces, entry)
	TAILQ_FOREACH(sandbox, &workspace->sandboxes, entry)
	sandbox_terminate(sandbox, NULL, NULL);
	while (sandbox_release_due(api) && sp_now() < deadline) {
		struct pollfd wait = {.fd = fake_engine_fd(api->engine), .events = POLLIN};

		poll(&wait, 1, sp_until_ms(deadline));
		fake_engine_dispatch(api->engine);
	}
}

/*
 * Takes the signals that ended us: left pending they would end the process before it could tell its
 * code.
 */
static void take_signals(struct api *api)
{
	struct signalfd_siginfo info;

	while (api->signal_fd >= 0 && read(api->signal_fd, &info, sizeof(info)) > 0)
		;
}

static void close_all(struct api *api)
{
	struct workspace *workspace;

	if (api->daemon) {
		peer_hangup_all(api);
		MHD_run(api->daemon);
		MHD_stop_daemon(api->daemon);
	}
	if (api->engine) {
		end_sandboxes(api);
		fake_engine_free(api->engine);
	}
	while ((workspace = TAILQ_FIRST(&api->workspaces)))
		workspace_free(workspace);
	api_listener_done(&api->listener);
	sp_close(api->epoll_fd);
	take_signals(api);
	sp_close(api->signal_fd);
	if (api->state_dir)
		sp_remove_tree(api->state_dir);
	free(api->state_dir);
}

int fake_api_run(const struct fake_api_options *options, struct sp_error *err)
{
	struct api api = {
	    .listener = API_LISTENER_INIT,
	    .epoll_fd = -1,
	    .signal_fd = -1,
	    .era = options->era,
	    .keep_alive = options->keep_alive_ms ? options->keep_alive_ms * SP_MS : KEEP_ALIVE,
	};
	sigset_t before;
	int rc;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	TAILQ_INIT(&api.peers);
	TAILQ_INIT(&api.workspaces);
	TAILQ_INIT(&api.streams);
	sp_random_id(api.control_token, API_TOKEN_LEN);
	raise_file_limit();
	rc = open_all(&api, options, &before, err);
	if (!rc && !api.stopping)
		rc = announce(&api, options->json, err);
	while (!rc && !api.stopping)
		turn(&api);
	close_all(&api);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}
