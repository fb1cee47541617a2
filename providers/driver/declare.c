/* SPDX-License-Identifier: MIT */
/* Declarations of providers on the wire: one table for both directions. */
#include "value.h"

#include <stddef.h>
#include <string.h>

#include <base/cleanup.h>

static const struct {
	const char *name;
	size_t offset;
} flags[] = {
#define FLAG(member)                                                                               \
	{                                                                                          \
#member, offsetof(struct sp_capabilities, member)                                  \
	}
    FLAG(fs),
    FLAG(exec),
    FLAG(env),
    FLAG(ports),
    FLAG(background_processes),
    FLAG(writable_stdin),
    FLAG(killable_processes),
    FLAG(snapshots),
    FLAG(network_policy),
    FLAG(durable_filesystem),
    FLAG(fork),
    FLAG(exit_reaps_group),
    FLAG(suspension),
    FLAG(atomic_write),
    FLAG(snapshot_lock),
    FLAG(follow),
#undef FLAG
};

static const struct {
	const char *name;
	unsigned bit;
} kinds[] = {
    {"filesystem", SP_SNAPSHOT_FILESYSTEM},
    {"runtime", SP_SNAPSHOT_RUNTIME},
};

/* All that is not a flag. */
static const char *const others[] = {
    "kill_reach", "kill_grace_ms", "signals",	     "output",
    "output_cap", "unread_bound",  "snapshot_kinds", "memory_dir",
};

static bool *flag_of(const struct sp_capabilities *caps, size_t offset)
{
	return (bool *)((char *)caps + offset);
}

void drv_put_capabilities(struct sp_buf *out, const struct sp_capabilities *caps)
{
	drv_put_open(out, "capabilities", '{');
	for (size_t i = 0; i < SP_COUNT(flags); i++)
		drv_put_bool(out, flags[i].name, *flag_of(caps, flags[i].offset));
	drv_put_text(out, "kill_reach", drv_reaches[caps->kill_reach]);
	drv_put_uint(out, "kill_grace_ms", caps->kill_grace_ms);
	drv_put_open(out, "signals", '[');
	for (int n = 1; n < 64; n++)
		if (caps->signals & SP_SIGNAL_BIT(n))
			drv_put_int(out, NULL, n);
	sp_buf_addc(out, ']');
	drv_put_text(out, "output", drv_outputs[caps->output]);
	drv_put_uint(out, "output_cap", caps->output_cap);
	drv_put_uint(out, "unread_bound", caps->unread_bound);
	drv_put_open(out, "snapshot_kinds", '[');
	for (size_t i = 0; i < SP_COUNT(kinds); i++)
		if (caps->snapshot_kinds & kinds[i].bit)
			drv_put_text(out, NULL, kinds[i].name);
	sp_buf_addc(out, ']');
	drv_put_text(out, "memory_dir", caps->memory_dir);
	sp_buf_addc(out, '}');
}

static int get_signals(const cJSON *json, uint64_t *ret, struct sp_error *err)
{
	const cJSON *list = NULL, *at;
	int rc = cJSON_GetObjectItemCaseSensitive(json, "signals")
		     ? drv_get_array(json, "signals", &list, err)
		     : 0;

	cJSON_ArrayForEach(at, list)
	{
		if (!cJSON_IsNumber(at) || at->valuedouble < 1 || at->valuedouble > 63 ||
		    at->valuedouble != at->valueint)
			return sp_error_set(
			    err, SP_INVALID,
			    "its member \"signals\" is not of numbers from 1 to 63");
		*ret |= SP_SIGNAL_BIT(at->valueint);
	}
	return rc;
}

static unsigned kind_bit(const cJSON *item)
{
	const char *name = cJSON_GetStringValue(item);

	for (size_t i = 0; name && i < SP_COUNT(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return kinds[i].bit;
	return 0;
}

static int get_kinds(const cJSON *json, unsigned *ret, struct sp_error *err)
{
	const cJSON *list = NULL, *at;
	int rc = cJSON_GetObjectItemCaseSensitive(json, "snapshot_kinds")
		     ? drv_get_array(json, "snapshot_kinds", &list, err)
		     : 0;

	cJSON_ArrayForEach(at, list)
	{
		if (!kind_bit(at))
			return sp_error_set(
			    err, SP_INVALID,
			    "its member \"snapshot_kinds\" is not of \"filesystem\" "
			    "and \"runtime\"");
		*ret |= kind_bit(at);
	}
	return rc;
}

static int get_numbers(const cJSON *json, struct sp_capabilities *caps, struct sp_error *err)
{
	uint64_t grace = 0;
	int reach = 0, output = 0;
	int rc = drv_get_word(json, "kill_reach", drv_reaches, SP_REACH_NONE, &reach, err);

	if (!rc)
		rc = drv_get_word(json, "output", drv_outputs, SP_OUTPUT_BYTES, &output, err);
	if (!rc)
		rc = drv_get_uint_opt(json, "kill_grace_ms", &grace, err);
	if (!rc && grace > UINT32_MAX)
		rc = sp_error_set(err, SP_INVALID, "its member \"kill_grace_ms\" is too large");
	if (!rc)
		rc = drv_get_uint_opt(json, "output_cap", &caps->output_cap, err);
	if (!rc)
		rc = drv_get_uint_opt(json, "unread_bound", &caps->unread_bound, err);
	if (rc)
		return rc;
	caps->kill_reach = (enum sp_kill_reach)reach;
	caps->output = (enum sp_output)output;
	caps->kill_grace_ms = (uint32_t)grace;
	return 0;
}

static int check_names(const cJSON *json, struct sp_error *err)
{
	const char *names[SP_COUNT(flags) + SP_COUNT(others)];
	size_t n = 0;

	for (size_t i = 0; i < SP_COUNT(flags); i++)
		names[n++] = flags[i].name;
	for (size_t i = 0; i < SP_COUNT(others); i++)
		names[n++] = others[i];
	return drv_check_members(json, names, n, err);
}

int drv_get_capabilities(cJSON *json, struct sp_capabilities *ret, char **ret_memory_dir,
			 struct sp_error *err)
{
	struct sp_capabilities caps = SP_CAPABILITIES_INIT;
	char *memory_dir SP_FREE = NULL;
	int rc = cJSON_IsObject(json)
		     ? 0
		     : sp_error_set(err, SP_INVALID, "it lacks the member \"capabilities\"");

	if (!rc)
		rc = check_names(json, err);
	for (size_t i = 0; !rc && i < SP_COUNT(flags); i++)
		rc = drv_get_bool_opt(json, flags[i].name, flag_of(&caps, flags[i].offset), err);
	if (!rc)
		rc = get_numbers(json, &caps, err);
	if (!rc)
		rc = get_signals(json, &caps.signals, err);
	if (!rc)
		rc = get_kinds(json, &caps.snapshot_kinds, err);
	if (!rc)
		rc = drv_get_string_opt(json, "memory_dir", &memory_dir, err);
	if (rc)
		return rc;
	caps.memory_dir = memory_dir;
	*ret_memory_dir = SP_TAKE(memory_dir);
	*ret = caps;
	return 0;
}
