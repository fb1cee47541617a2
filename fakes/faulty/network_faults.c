/* SPDX-License-Identifier: MIT */
/* Faults of the network policy. */
#include <string.h>

#include <base/buf.h>

#include "tables.h"
#include "wrap.h"

static int create_with(struct sp_provider *inner, const struct sp_create_options *options,
		       enum sp_network network, struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_create_options changed = *options;

	changed.network = network;
	return sp_provider_create(inner, &changed, ret_inner, err);
}

static int ignored_create(struct sp_provider *inner, const struct sp_create_options *options,
			  struct sp_sandbox *ret_inner, struct sp_error *err)
{
	return create_with(inner, options, SP_NETWORK_DEFAULT, ret_inner, err);
}

static const struct fault_hooks ignored = { .create = ignored_create };
FAULT_WRAP(wrap_ignored, ignored)

static int swapped_create(struct sp_provider *inner, const struct sp_create_options *options,
			  struct sp_sandbox *ret_inner, struct sp_error *err)
{
	return create_with(inner, options,
			   options->network == SP_NETWORK_ALLOW ? SP_NETWORK_DENY
								: options->network,
			   ret_inner, err);
}

static const struct fault_hooks swapped = { .create = swapped_create };
FAULT_WRAP(wrap_swapped, swapped)

/* A namespace whose loopback nobody brought up. */
static int loopback_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			 struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options changed = *options;

	sp_buf_adds(&text, "unshare -Urn bash -c ");
	sp_buf_add_shell(&text, options->command);
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a rewritten command");
	changed.command = sp_buf_str(&text);
	return sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static const struct fault_hooks loopback = { .exec = loopback_exec };
FAULT_WRAP(wrap_loopback, loopback)

/* A handle that another instance gets leads to a sandbox without the policy. */
static int lost_resume(struct sp_provider *inner, const char *id SP_UNUSED,
		       struct sp_sandbox *ret_inner, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;

	options.cancel = cancel;
	return sp_provider_create(inner, &options, ret_inner, err);
}

static const struct fault_hooks lost = { .resume = lost_resume };
FAULT_WRAP(wrap_lost, lost)

#define NET(id_, wrap_, clause_, summary_, sources_, ...)                                          \
	{ .version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,        \
	  .clause = "network " clause_, .cases = FAULT_LIST(__VA_ARGS__),                          \
	  .seam = SP_FAULT_PROVIDER, .wrap_provider = wrap_ }

static const struct sp_fault faults[] = {
	NET("net-policy-ignored", wrap_ignored, "N1", "The policy is accepted and not passed on.",
	    FAULT_LIST("field:N01", "render:27"), "network.deny.packets", "network.deny.children",
	    "network.deny.asleep", "network.policy.refused"),
	NET("net-policy-lost", wrap_lost, "N1",
	    "What another instance resumes has no policy.", FAULT_LIST("field:N05", "field:N06"),
	    "network.deny.second"),
	NET("net-loopback-down", wrap_loopback, "N2", "Loopback is down.",
	    FAULT_LIST("contract:1.11"), "network.deny.loopback"),
	NET("net-allow-is-deny", wrap_swapped, "N3", "allow is read as deny.",
	    FAULT_LIST("field:N02"), "network.allow.packets"),
};
FAULT_TABLE(fault_network, faults);
