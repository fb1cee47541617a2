/* SPDX-License-Identifier: MIT */
/* Options, checked once and copied, and the object that everything else refers to. */
#include "internal.h"
#include "meter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/http.h"

#define DEFAULT_URL "https://api.render.com/v1"
#define DEFAULT_DIR "/dev/tsai"
#define MEBIBYTE (UINT64_C(1) << 20)

struct render_core *render_core_ref(struct render_core *core)
{
	atomic_fetch_add(&core->refs, 1);
	return core;
}

void render_core_unref(struct render_core *core)
{
	if (!core || atomic_fetch_sub(&core->refs, 1) != 1)
		return;
	if (core->transport.ops)
		core->transport.ops->close(core->transport.self);
	pthread_mutex_destroy(&core->lock);
	if (core->token)
		explicit_bzero(core->token, strlen(core->token));
	free(core->token);
	free(core->owner_id);
	free(core->base_url);
	free(core->local_host);
	free(core->plan);
	free(core->private_dir);
	free(core);
}

static int copy(char **to, const char *text, struct sp_error *err)
{
	*to = strdup(text);
	return *to ? 0 : sp_error_set(err, SP_INTERNAL, "no memory for the options");
}

static const char *option_or_env(const char *option, const char *name)
{
	const char *value = option ? option : getenv(name);

	return value && *value ? value : NULL;
}

static bool printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f)
			return false;
	return true;
}

static int take_credentials(struct render_core *core, const struct sp_render_options *options,
			    struct sp_error *err)
{
	const char *token = option_or_env(options->token, "RENDER_API_KEY");
	const char *owner = option_or_env(options->owner_id, "RENDER_WORKSPACE_ID");
	int rc;

	if (!token || !owner)
		return sp_error_set(err, SP_DENIED, "no credentials for render: set %s%s%s",
				    token ? "" : "RENDER_API_KEY", token || owner ? "" : " and ",
				    owner ? "" : "RENDER_WORKSPACE_ID");
	if (!printable(token))
		return sp_error_set(err, SP_INVALID,
				    "token: not a key (blank or control character)");
	if (!printable(owner))
		return sp_error_set(err, SP_INVALID, "owner_id: not a workspace id");
	rc = copy(&core->token, token, err);
	return rc ? rc : copy(&core->owner_id, owner, err);
}

static bool is_loopback(const char *host, size_t len)
{
	return (len == 9 && !strncasecmp(host, "localhost", 9)) ||
	       (len == 5 && !strncmp(host, "[::1]", 5)) ||
	       (len > 4 && !strncmp(host, "127.", 4) && strspn(host, "0123456789.") >= len);
}

/* "http(s)://HOST[:PORT][/PATH]", and what HOST is allowed to be. */
static int take_url(struct render_core *core, const char *url, bool on_socket, struct sp_error *err)
{
	bool tls = !strncmp(url, "https://", 8);
	const char *host = url + (tls ? 8 : 7);
	size_t authority, name, len = strlen(url);

	if ((!tls && strncmp(url, "http://", 7)) || !printable(url) || strpbrk(url, "?#\\"))
		return sp_error_set(err, SP_INVALID, "base_url: neither https://… nor unix:PATH");
	authority = strcspn(host, "/");
	if (memchr(host, '@', authority))
		return sp_error_set(err, SP_INVALID, "base_url: a password has no place in a URL");
	name = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
	if (!authority || !name || name > authority)
		return sp_error_set(err, SP_INVALID, "base_url: no host");
	if (!tls && !on_socket && !is_loopback(host, name))
		return sp_error_set(err, SP_INVALID,
				    "base_url: http without TLS is for loopback only");
	while (len && url[len - 1] == '/')
		len--;
	core->base_url = strndup(url, len);
	if (on_socket || is_loopback(host, name))
		core->local_host = strndup(host, authority);
	if (!core->base_url || ((on_socket || is_loopback(host, name)) && !core->local_host))
		return sp_error_set(err, SP_INTERNAL, "no memory for the options");
	return 0;
}

static int take_transport(struct render_core *core, const struct sp_render_options *options,
			  struct sp_error *err)
{
	const char *url = options->base_url && *options->base_url ? options->base_url : DEFAULT_URL;
	struct sp_http_options http = SP_HTTP_OPTIONS_INIT;
	int rc;

	if (!strncmp(url, "unix:", 5)) {
		http.unix_path = url + 5;
		if (*http.unix_path != '/')
			return sp_error_set(err, SP_INVALID,
					    "base_url: unix: wants an absolute path");
	}
	rc = take_url(core, http.unix_path ? "http://localhost/v1" : url, http.unix_path, err);
	if (rc || options->transport.ops)
		return rc;
	return sp_http_transport_open(&http, &core->transport, err);
}

/* The folder stands unquoted in the shell's texts. */
static int take_dir(struct render_core *core, const char *dir, struct sp_error *err)
{
	const char *id;

	if (!dir)
		dir = DEFAULT_DIR;
	id = strstr(dir, "{id}");
	for (const char *at = dir; *at; at++) {
		if (at == id)
			at += 3;
		else if (!isalnum((unsigned char)*at) && !strchr("/._-", *at))
			return sp_error_set(
			    err, SP_INVALID,
			    "private_dir: only letters, digits and /._- can stand there");
	}
	if (*dir != '/' || !dir[1] || dir[strlen(dir) - 1] == '/' || strstr(dir, "//") ||
	    strstr(dir, "/../") || strstr(dir, "/./"))
		return sp_error_set(err, SP_INVALID, "private_dir: not a clean absolute path");
	return copy(&core->private_dir, dir, err);
}

/* Item 33 of the contract, and what goes beyond. */
static void declare(struct render_core *core, const struct sp_render_options *options)
{
	struct sp_capabilities *c = &core->capabilities;

	*c = (struct sp_capabilities)SP_CAPABILITIES_INIT;
	c->fs = true;
	c->exec = true;
	c->env = true;
	c->background_processes = true;
	c->killable_processes = true;
	c->network_policy = true;
	c->durable_filesystem = true;
	c->snapshots = true;
	c->snapshot_kinds = core->snapshot_kind;
	c->kill_reach = SP_REACH_TREE;
	c->kill_grace_ms = options->kill_grace_ms == UINT32_MAX ? 2000 : options->kill_grace_ms;
	/* 1 to 31; the real-time ones depend on the C library in the sandbox. */
	c->signals = (UINT64_C(1) << 32) - 2;
	c->exit_reaps_group = true;
	c->output = SP_OUTPUT_UTF8;
	c->output_cap = options->output_cap ? options->output_cap : 8 * MEBIBYTE;
	c->unread_bound = options->unread_bound ? options->unread_bound : 8 * MEBIBYTE;
	c->memory_dir = "/dev";
	c->suspension = true;
	c->follow = true;
}

static int take_options(struct render_core *core, const struct sp_render_options *options,
			struct sp_error *err)
{
	int rc;

	core->poll_ms = options->poll_ms ? options->poll_ms : 500;
	core->start_timeout_ms = options->start_timeout_ms ? options->start_timeout_ms : 180000;
	core->snapshot_lifetime_s = options->snapshot_lifetime_s;
	core->snapshot_kind =
	    options->snapshot_kind ? options->snapshot_kind : SP_SNAPSHOT_FILESYSTEM;
	if (core->snapshot_kind != SP_SNAPSHOT_FILESYSTEM &&
	    core->snapshot_kind != SP_SNAPSHOT_RUNTIME)
		return sp_error_set(err, SP_INVALID, "snapshot_kind: filesystem or runtime");
	core->steps = options->steps ? *options->steps : sp_render_steps();
	declare(core, options);
	rc = take_credentials(core, options, err);
	if (!rc && options->plan)
		rc = copy(&core->plan, options->plan, err);
	if (!rc)
		rc = take_dir(core, options->private_dir, err);
	if (!rc)
		rc = take_transport(core, options, err);
	return rc;
}

int render_core_new(const struct sp_render_options *options, struct render_core **ret_core,
		    struct sp_error *err)
{
	struct sp_transport inner;
	struct render_core *core;
	int rc;

	if (options->version != SP_RENDER_OPTIONS_VERSION)
		return sp_error_set(err, SP_INVALID, "render options of version %u",
				    options->version);
	if (options->steps && options->steps->version != SP_RENDER_STEPS_VERSION)
		return sp_error_set(err, SP_INVALID, "render steps of version %u",
				    options->steps->version);
	core = calloc(1, sizeof(*core));
	if (!core)
		return sp_error_set(err, SP_INTERNAL, "no memory for a provider");
	atomic_init(&core->refs, 1);
	pthread_mutex_init(&core->lock, NULL);
	rc = take_options(core, options, err);
	if (rc) {
		render_core_unref(core);
		return rc;
	}
	/* The caller's transport is ours from here on, and stays the caller's after a failure. */
	if (options->transport.ops) {
		inner = options->transport;
		rc = options->meter ? sp_meter_wrap(options->meter, core->token, &inner, err) : 0;
	} else if (options->meter) {
		rc = sp_meter_wrap(options->meter, core->token, &core->transport, err);
	}
	if (rc) {
		render_core_unref(core);
		return rc;
	}
	if (options->transport.ops)
		core->transport = inner;
	*ret_core = core;
	return 0;
}
