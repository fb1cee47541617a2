/* SPDX-License-Identifier: MIT */
#include <providers/local/internal.h>

#include <base/files.h>

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_BOUND (UINT64_C(8) * 1024 * 1024)
#define DEFAULT_GRACE_MS 2000

static void free_provider(struct local_provider *provider)
{
	local_drain_free(provider->drain);
	pthread_mutex_destroy(&provider->lock);
	free(provider->base_dir);
	free(provider);
}

void local_provider_unref(struct local_provider *provider)
{
	if (atomic_fetch_sub(&provider->refs, 1) == 1)
		free_provider(provider);
}

static const char *provider_name(void *self SP_UNUSED)
{
	return "local";
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	return &((struct local_provider *)self)->caps;
}

/* What a request may not ask for, before anything is made. */
static int check_create(const struct sp_create_options *options, struct sp_error *err)
{
	if (!options || options->version != SP_CREATE_OPTIONS_VERSION)
		return sp_error_set(err, SP_INVALID, "create options of version %d are required",
				    SP_CREATE_OPTIONS_VERSION);
	if (options->network != SP_NETWORK_DEFAULT)
		return sp_error_set(
		    err, SP_UNSUPPORTED,
		    "local: network_policy is not offered; leave the network at its "
		    "default or take another provider");
	int rc = local_env_check(options->env, options->n_env, err);
	return rc < 0 ? rc : sp_cancel_check(options->cancel, err);
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct local_sandbox *sandbox = NULL;
	int rc = check_create(options, err);

	if (rc == 0)
		rc = local_sandbox_create(self, &sandbox, err);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&sandbox->lock);
	rc = local_env_merge(&sandbox->env, options->env, options->n_env, err);
	pthread_mutex_unlock(&sandbox->lock);
	if (rc == 0)
		rc = sp_cancel_check(options->cancel, err);
	if (rc < 0) {
		local_sandbox_destroy(sandbox, NULL);
		local_sandbox_unref(sandbox);
		return rc;
	}
	*ret_sandbox = (struct sp_sandbox){&local_sandbox_ops, sandbox};
	return 0;
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct local_sandbox *sandbox = NULL;
	int rc = sp_cancel_check(cancel, err);

	if (rc == 0)
		rc = local_sandbox_find(self, id, &sandbox, err);
	if (rc < 0)
		return rc;
	*ret_sandbox = (struct sp_sandbox){sandbox ? &local_sandbox_ops : NULL, sandbox};
	return 0;
}

/* Not bound to `cancel`, as for the handle's destroy(). */
static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel SP_UNUSED,
			    struct sp_error *err)
{
	struct local_sandbox *sandbox = NULL;
	int rc = local_sandbox_find(self, id, &sandbox, err);

	if (rc < 0 || !sandbox)
		return rc;
	rc = local_sandbox_destroy(sandbox, err);
	local_sandbox_unref(sandbox);
	return rc;
}

static int add_id(struct sp_id_list *list, const char *id, struct sp_error *err)
{
	char **ids = reallocarray(list->ids, list->len + 1, sizeof(*ids));

	if (ids) {
		list->ids = ids;
		ids[list->len] = strdup(id);
	}
	if (!ids || !ids[list->len])
		return sp_error_set(err, SP_INTERNAL, "no memory for a list");
	list->len++;
	return 0;
}

static int provider_list(void *self, struct sp_id_list *ret_list, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	struct local_provider *provider = self;
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	int rc = sp_cancel_check(cancel, err);

	if (rc < 0)
		return rc;
	DIR *dir = opendir(provider->base_dir);
	if (!dir)
		return sp_error_set_errno(err, errno, "cannot list %s", provider->base_dir);
	for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
		if (local_id_valid(entry->d_name) &&
		    local_sandbox_owned(provider->base_dir, entry->d_name, NULL) == 1)
			rc = add_id(&list, entry->d_name, err);
	}
	closedir(dir);
	if (rc < 0)
		return rc;
	*ret_list = list;
	list = (struct sp_id_list)SP_ID_LIST_INIT;
	return 0;
}

static void provider_close(void *self)
{
	local_provider_unref(self);
}

static const struct sp_provider_ops local_provider_ops = {
    .version = SP_PROVIDER_VERSION,
    .name = provider_name,
    .capabilities = provider_capabilities,
    .create = provider_create,
    .resume = provider_resume,
    .destroy = provider_destroy,
    .list = provider_list,
    .close = provider_close,
};

/* Each value is what the code does; see the field's own words in capabilities.h. */
static struct sp_capabilities declare(const struct sp_local_options *options)
{
	bool background = !options->poll_only, kills = !options->bare;

	return (struct sp_capabilities){
	    .version = SP_CAPABILITIES_VERSION,
	    .fs = true,
	    .exec = true,
	    .env = true,
	    .ports = true,
	    .background_processes = background,
	    /* Only a spawned process has a stdin that can be written. */
	    .writable_stdin = background,
	    .killable_processes = kills,
	    .durable_filesystem = true,
	    .fork = true,
	    .kill_reach = kills ? SP_REACH_SESSION : SP_REACH_NONE,
	    .kill_grace_ms =
		options->kill_grace_ms == UINT32_MAX ? DEFAULT_GRACE_MS : options->kill_grace_ms,
	    /* Every number from 1 to 63. */
	    .signals = background && kills ? ~SP_SIGNAL_BIT(0) : 0,
	    .exit_reaps_group = kills,
	    .output = SP_OUTPUT_BYTES,
	    .output_cap = options->output_cap ? options->output_cap : DEFAULT_BOUND,
	    .unread_bound = !background		    ? 0
			    : options->unread_bound ? options->unread_bound
						    : DEFAULT_BOUND,
	    .atomic_write = true,
	    .follow = background && kills,
	};
}

/* A base folder that was named is made when it is missing. */
static int prepare_base(struct local_provider *provider, const char *named, struct sp_error *err)
{
	struct stat st;

	provider->base_dir = strdup(named ? named : sp_tmp_root());
	if (!provider->base_dir)
		return sp_error_set(err, SP_INTERNAL, "no memory for the provider");
	if (*provider->base_dir != '/')
		return sp_error_set(err, SP_INVALID, "the base folder %s is not an absolute path",
				    provider->base_dir);
	int rc = named ? sp_mkdirs(named, 0700) : 0;
	if (rc == 0 && stat(provider->base_dir, &st) < 0)
		rc = -errno;
	else if (rc == 0 && !S_ISDIR(st.st_mode))
		rc = -ENOTDIR;
	else if (rc == 0 && access(provider->base_dir, R_OK | W_OK | X_OK) < 0)
		rc = -errno;
	return rc < 0 ? sp_error_set_errno(err, -rc, "cannot use the folder %s for sandboxes",
					   provider->base_dir)
		      : 0;
}

int sp_local_open(const struct sp_local_options *options, struct sp_provider *ret_provider,
		  struct sp_error *err)
{
	if (!options || options->version != SP_LOCAL_OPTIONS_VERSION)
		return sp_error_set(err, SP_INVALID, "local options of version %d are required",
				    SP_LOCAL_OPTIONS_VERSION);
	if (access("/bin/bash", X_OK) < 0)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "local: there is no /bin/bash on this machine; install bash");
	struct local_provider *provider = calloc(1, sizeof(*provider));
	if (!provider)
		return sp_error_set(err, SP_INTERNAL, "no memory for the provider");
	atomic_init(&provider->refs, 1);
	pthread_mutex_init(&provider->lock, NULL);
	provider->caps = declare(options);
	int rc = prepare_base(provider, options->base_dir, err);
	if (rc == 0)
		rc = local_drain_new(&provider->drain, err);
	if (rc < 0) {
		free_provider(provider);
		return rc;
	}
	*ret_provider = (struct sp_provider){&local_provider_ops, provider};
	return 0;
}
