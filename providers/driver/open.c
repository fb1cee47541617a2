/* SPDX-License-Identifier: MIT */
/* Starting a driver, and what it says of itself. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#include "conn.h"

/* Less than a case has, so that its cause is named. */
#define START_MS 8000
#define GRACE_MS 2000
/* Room of the pipes: fewer turns for much output. */
#define PIPE_SIZE (1 << 20)

/* Every driver gets these where they are set (PROTOCOL.md, section 12). */
static const char *const standing[] = {
    "PATH", "HOME",   "USER", "LOGNAME", "SHELL",
    "LANG", "LC_ALL", "TZ",   "TMPDIR",	 "SANDPROOF_TIME_SCALE",
};

/* ---- A program ---- */

static bool add_variable(char **list, size_t *n, const char *name)
{
	const char *value = getenv(name);

	if (!value)
		return true;
	if (asprintf(&list[*n], "%s=%s", name, value) < 0)
		return false;
	(*n)++;
	return true;
}

static void free_list(char ***list)
{
	for (char **at = *list; at && *at; at++)
		free(*at);
	free(*list);
}

/* The whole environment of the driver, or NULL without memory. */
static char **make_environment(struct sp_driver *driver, const struct sp_driver_options *options)
{
	const char *const *names = options->env_names;
	size_t n_names = 0, n = 0;
	char **list;
	bool good = true;

	while (names && names[n_names])
		n_names++;
	list = calloc(SP_COUNT(standing) + n_names + 3, sizeof(*list));
	if (!list)
		return NULL;
	for (size_t i = 0; i < SP_COUNT(standing); i++)
		good = good && add_variable(list, &n, standing[i]);
	for (size_t i = 0; i < n_names; i++)
		good = good && add_variable(list, &n, names[i]);
	sp_random_id(driver->mark, sizeof(driver->mark) - 1);
	if (options->shared_folder) {
		good =
		    good && asprintf(&list[n], "SANDPROOF_SHARED=%s", options->shared_folder) >= 0;
		n += good;
	}
	good = good && asprintf(&list[n], "SANDPROOF_DRIVER=%s", driver->mark) >= 0;
	if (good)
		return list;
	list[n] = NULL;
	free_list(&list);
	return NULL;
}

static int start_program(struct sp_driver *driver, const struct sp_driver_options *options,
			 struct sp_error *err)
{
	char **env SP_CLEANUP(free_list) = make_environment(driver, options);
	int rc;

	if (!env)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	driver->child = (struct sp_child)SP_CHILD_INIT;
	driver->child.argv = options->argv;
	driver->child.env = (const char *const *)env;
	driver->child.in = driver->child.out = driver->child.err = SP_CHILD_PIPE;
	rc = sp_child_start(&driver->child, err);
	driver->child.argv = driver->child.env = NULL;
	if (rc)
		return rc;
	driver->in = SP_TAKE_FD(driver->child.in);
	driver->out = SP_TAKE_FD(driver->child.out);
	driver->err = SP_TAKE_FD(driver->child.err);
	(void)fcntl(driver->in, F_SETPIPE_SZ, PIPE_SIZE);
	(void)fcntl(driver->out, F_SETPIPE_SZ, PIPE_SIZE);
	sp_set_nonblock(driver->err, true);
	return 0;
}

/* ---- A socket ---- */

static int open_socket(const struct sp_driver_options *options, struct sp_error *err)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct sockaddr_in loopback = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	bool is_local = options->unix_path != NULL;
	const char *shown = is_local ? options->unix_path : options->tcp;
	const int one = 1;
	int fd SP_CLOSE = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return sp_error_set_errno(err, errno, "no socket for the driver");
	if (is_local) {
		snprintf(local.sun_path, sizeof(local.sun_path), "%s", shown);
		rc = connect(fd, (struct sockaddr *)&local, sizeof(local));
	} else {
		loopback.sin_port = htons((uint16_t)strtoul(strrchr(shown, ':') + 1, NULL, 10));
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		rc = connect(fd, (struct sockaddr *)&loopback, sizeof(loopback));
	}
	if (rc) {
		sp_error_set_errno(err, errno, "no driver answers at %s; start it first", shown);
		return err ? (err->code = SP_UNAVAILABLE) : SP_UNAVAILABLE;
	}
	return SP_TAKE_FD(fd);
}

static int attach(struct sp_driver *driver, const struct sp_driver_options *options,
		  struct sp_error *err)
{
	int fd = open_socket(options, err);

	if (fd < 0)
		return fd;
	driver->attached = true;
	driver->in = fd;
	driver->out = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return driver->out >= 0 ? 0 : sp_error_set_errno(err, errno, "no second descriptor");
}

int drv_start(struct sp_driver *driver, const struct sp_driver_options *options,
	      struct sp_error *err)
{
	int rc = options->argv ? start_program(driver, options, err) : attach(driver, options, err);

	if (rc)
		return rc;
	sp_set_nonblock(driver->in, true);
	sp_set_nonblock(driver->out, true);
	return 0;
}

/* ---- initialize ---- */

static void put_initialize(struct sp_buf *params, const struct sp_driver_options *options)
{
	drv_put_open(params, NULL, '{');
	drv_put_int(params, "protocol", DRV_PROTOCOL);
	drv_put_open(params, "client", '{');
	drv_put_text(params, "name", "sandproof");
	drv_put_text(params, "version", SP_VERSION);
	sp_buf_addc(params, '}');
	drv_put_open(params, "limits", '{');
	drv_put_uint(params, "max_frame", DRV_MAX_FRAME);
	sp_buf_addc(params, '}');
	drv_put_text(params, "workspace", options->workspace);
	sp_buf_addc(params, '}');
}

/* CHECK_MEMBERS(object, err, "name", ...) */
#define CHECK_MEMBERS(object, err, ...)                                                            \
	drv_check_members(object, (const char *const[]){__VA_ARGS__},                              \
			  SP_COUNT(((const char *const[]){__VA_ARGS__})), err)

/* A member that is an object, or NULL; anything else is refused. */
static int get_section(cJSON *json, const char *name, cJSON **ret, struct sp_error *err)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);

	if (item && !cJSON_IsObject(item))
		return sp_error_set(err, SP_PROTOCOL, "its member \"%s\" is no object", name);
	*ret = item;
	return 0;
}

static int get_provider(struct sp_driver *driver, cJSON *json, struct sp_error *err)
{
	cJSON *section = NULL;
	const char *name = NULL;
	int rc = get_section(json, "provider", &section, err);

	if (rc || !section)
		return rc;
	rc = CHECK_MEMBERS(section, err, "name", "capabilities");
	if (!rc)
		rc = drv_get_text(section, "name", &name, err);
	if (!rc)
		rc = drv_get_capabilities(cJSON_GetObjectItemCaseSensitive(section, "capabilities"),
					  &driver->provider, &driver->memory_dir, err);
	if (rc)
		return rc;
	driver->provider_name = strdup(name);
	driver->has_provider = true;
	return driver->provider_name ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");
}

/* The declaration of a store or lock: three flags. */
static int get_flags(cJSON *json, const char *kind, const char *first, bool *ret_has,
		     bool *ret_first, bool *ret_multi, bool *ret_fence, struct sp_error *err)
{
	cJSON *section = NULL, *caps = NULL;
	int rc = get_section(json, kind, &section, err);

	if (!rc && section)
		rc = CHECK_MEMBERS(section, err, "capabilities");
	if (!rc && section)
		rc = get_section(section, "capabilities", &caps, err);
	if (!rc)
		rc = CHECK_MEMBERS(caps, err, first, "multi_process", "fence");
	if (rc || !section)
		return rc;
	rc = drv_get_bool_opt(caps, first, ret_first, err);
	if (!rc)
		rc = drv_get_bool_opt(caps, "multi_process", ret_multi, err);
	if (!rc)
		rc = drv_get_bool_opt(caps, "fence", ret_fence, err);
	*ret_has = true;
	return rc;
}

static int get_limits(struct sp_driver *driver, cJSON *json, struct sp_error *err)
{
	cJSON *limits = NULL;
	uint64_t max = DRV_MAX_FRAME;
	int rc = get_section(json, "limits", &limits, err);

	if (!rc)
		rc = drv_get_uint_opt(limits, "max_frame", &max, err);
	if (!rc && max < DRV_MIN_FRAME)
		rc = sp_error_set(err, SP_PROTOCOL,
				  "its limits.max_frame is below the %zu bytes that every driver "
				  "takes",
				  DRV_MIN_FRAME);
	if (!rc)
		driver->max_frame = max < DRV_MAX_FRAME ? max : DRV_MAX_FRAME;
	return rc;
}

static int get_offer(struct sp_driver *driver, cJSON *json, struct sp_error *err)
{
	struct sp_store_capabilities *store = &driver->store;
	struct sp_lock_capabilities *lock = &driver->lock_caps;
	cJSON *journal = NULL;
	int64_t protocol;
	int rc = drv_get_int(json, "protocol", &protocol, err);

	if (!rc && protocol != DRV_PROTOCOL)
		rc = sp_error_set(err, SP_PROTOCOL,
				  "it speaks version %lld of the protocol; this program speaks %d",
				  (long long)protocol, DRV_PROTOCOL);
	if (!rc)
		rc = CHECK_MEMBERS(json, err, "protocol", "driver", "limits", "provider", "store",
				   "lock", "journal");
	if (!rc)
		rc = get_limits(driver, json, err);
	if (!rc)
		rc = get_provider(driver, json, err);
	if (!rc)
		rc = get_flags(json, "store", "durable", &driver->has_store, &store->durable,
			       &store->multi_process, &store->fence, err);
	if (!rc)
		rc = get_flags(json, "lock", "lease", &driver->has_lock, &lock->lease,
			       &lock->multi_process, &lock->fence, err);
	if (!rc)
		rc = get_section(json, "journal", &journal, err);
	driver->has_journal = journal != NULL;
	return rc;
}

static int initialize(struct sp_driver *driver, const struct sp_driver_options *options,
		      struct sp_error *err)
{
	struct sp_buf params SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	cJSON *result SP_CLEANUP(sp_json_done) = NULL;
	int rc = drv_check_text("the workspace", options->workspace, err);

	if (rc)
		return rc;
	put_initialize(&params, options);
	rc = drv_call(driver, "initialize", &params, NULL, &result, err);
	if (!rc) {
		rc = get_offer(driver, result, err);
		if (rc)
			rc = drv_nonsense(driver, "initialize", err);
	}
	pthread_mutex_lock(&driver->lock);
	driver->start_deadline = 0;
	pthread_mutex_unlock(&driver->lock);
	return rc;
}

/* ---- Life ---- */

/* Ends the thread, and with it the program. */
static void stop(struct sp_driver *driver)
{
	pthread_mutex_lock(&driver->lock);
	driver->closing = true;
	drv_wake(driver);
	pthread_mutex_unlock(&driver->lock);
	if (driver->io_started)
		pthread_join(driver->io, NULL);
	else
		drv_end(driver, false);
	driver->io_started = false;
}

static void free_calls(struct drv_call *call)
{
	while (call) {
		struct drv_call *next = call->next;

		sp_close(call->event);
		free(call);
		call = next;
	}
}

static void free_driver(struct sp_driver *driver)
{
	stop(driver);
	free_calls(driver->spare);
	drv_leases_done(driver);
	drv_lines_done(&driver->lines);
	sp_buf_done(&driver->outgoing);
	sp_buf_done(&driver->tail);
	sp_close(driver->wake);
	sp_close(driver->gate);
	sp_close(driver->fired);
	free(driver->provider_name);
	free(driver->memory_dir);
	drv_trace_close(driver->trace);
	pthread_cond_destroy(&driver->turn_free);
	pthread_mutex_destroy(&driver->lock);
	free(driver);
}

static struct sp_driver *new_driver(const struct sp_driver_options *options)
{
	struct sp_driver *driver = calloc(1, sizeof(*driver));

	if (!driver)
		return NULL;
	atomic_init(&driver->refs, 1);
	pthread_mutex_init(&driver->lock, NULL);
	pthread_cond_init(&driver->turn_free, NULL);
	driver->child = (struct sp_child)SP_CHILD_INIT;
	driver->in = driver->out = driver->err = driver->gate = -1;
	driver->grace_ms = options->grace_ms ? options->grace_ms : GRACE_MS;
	driver->lines = (struct drv_lines)DRV_LINES_INIT(DRV_MAX_FRAME);
	driver->outgoing = (struct sp_buf)SP_BUF_INIT(SIZE_MAX / 2);
	driver->tail = (struct sp_buf)SP_BUF_INIT(4 * DRV_TAIL_MAX);
	driver->max_frame = DRV_MAX_FRAME;
	driver->store = (struct sp_store_capabilities)SP_STORE_CAPABILITIES_INIT;
	driver->lock_caps = (struct sp_lock_capabilities)SP_LOCK_CAPABILITIES_INIT;
	driver->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	driver->fired = epoll_create1(EPOLL_CLOEXEC);
	return driver;
}

/* The error of a start, with what the driver said; it has ended then. */
static void explain(struct sp_driver *driver, struct sp_error *err)
{
	struct sp_error found = SP_ERROR_INIT;
	bool is_gone;

	stop(driver);
	/* A driver that answers with an error is not broken, and has its own words for it. */
	if (!sp_driver_check(driver, &is_gone, &found) || !err)
		return;
	if (err->code != SP_INTERNAL)
		*err = found;
}

/* Starts the program, or connects, and the thread. */
static int launch(struct sp_driver *driver, const struct sp_driver_options *options,
		  struct sp_error *err)
{
	int rc = options->trace_path ? drv_trace_open(options->trace_path, &driver->trace, err) : 0;

	if (!rc)
		rc = drv_start(driver, options, err);
	if (!rc)
		rc = drv_turn_open(driver, err);
	if (!rc && !driver->attached && !driver->heard)
		driver->start_deadline =
		    sp_deadline_ms(options->start_ms ? options->start_ms : START_MS);
	if (!rc && pthread_create(&driver->io, NULL, drv_io_main, driver))
		rc = sp_error_set(err, SP_INTERNAL, "no thread for the driver");
	driver->io_started = !rc;
	return rc;
}

int drv_open_silent(const struct sp_driver_options *options, drv_heard_fn heard, void *heard_arg,
		    struct sp_driver **ret_driver, struct sp_error *err)
{
	struct sp_driver *driver = new_driver(options);
	int rc;

	if (!driver)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	driver->heard = heard;
	driver->heard_arg = heard_arg;
	rc = launch(driver, options, err);
	if (rc)
		free_driver(driver);
	else
		*ret_driver = driver;
	return rc;
}

int sp_driver_open(const struct sp_driver_options *options, struct sp_driver **ret_driver,
		   struct sp_error *err)
{
	struct sp_driver *driver = new_driver(options);
	int rc;

	if (!driver)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = launch(driver, options, err);
	if (!rc) {
		rc = initialize(driver, options, err);
		if (rc)
			explain(driver, err);
	}
	if (rc) {
		free_driver(driver);
		return err && err->code ? err->code : rc;
	}
	*ret_driver = driver;
	return 0;
}

struct sp_driver *sp_driver_ref(struct sp_driver *driver)
{
	atomic_fetch_add(&driver->refs, 1);
	return driver;
}

struct sp_driver *sp_driver_unref(struct sp_driver *driver)
{
	if (driver && atomic_fetch_sub(&driver->refs, 1) == 1)
		free_driver(driver);
	return NULL;
}
