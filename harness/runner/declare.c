/* SPDX-License-Identifier: MIT */
/* A declaration of capabilities as JSON, for the first line of the results. */
#include <string.h>

#include <base/cleanup.h>

#include "worker.h"

#define JSON_CEILING (64 * 1024)

#define MEMBER(out, format, ...) sp_buf_addf(out, format ",", __VA_ARGS__)
#define FLAG(out, c, name) MEMBER(out, "\"" #name "\":%s", (c)->name ? "true" : "false")
#define NUMBER(out, c, name) MEMBER(out, "\"" #name "\":%llu", (unsigned long long)(c)->name)

static void add_flags(struct sp_buf *out, const struct sp_capabilities *c)
{
	FLAG(out, c, fs);
	FLAG(out, c, exec);
	FLAG(out, c, env);
	FLAG(out, c, ports);
	FLAG(out, c, background_processes);
	FLAG(out, c, writable_stdin);
	FLAG(out, c, killable_processes);
	FLAG(out, c, snapshots);
	FLAG(out, c, network_policy);
	FLAG(out, c, durable_filesystem);
	FLAG(out, c, fork);
	FLAG(out, c, exit_reaps_group);
	FLAG(out, c, suspension);
	FLAG(out, c, atomic_write);
	FLAG(out, c, snapshot_lock);
	FLAG(out, c, follow);
}

static void add_signals(struct sp_buf *out, uint64_t signals)
{
	const char *between = "";

	sp_buf_adds(out, "\"signals\":[");
	for (int n = 1; n < 64; n++) {
		if (!(signals & SP_SIGNAL_BIT(n)))
			continue;
		sp_buf_addf(out, "%s%d", between, n);
		between = ",";
	}
	sp_buf_adds(out, "],");
}

static void add_provider(struct sp_buf *out, const struct sp_capabilities *c)
{
	add_flags(out, c);
	NUMBER(out, c, kill_grace_ms);
	NUMBER(out, c, output_cap);
	NUMBER(out, c, unread_bound);
	add_signals(out, c->signals);
	MEMBER(out, "\"snapshot_kinds\":[%s%s%s]",
	       c->snapshot_kinds & SP_SNAPSHOT_FILESYSTEM ? "\"filesystem\"" : "",
	       (c->snapshot_kinds & 3) == 3 ? "," : "",
	       c->snapshot_kinds & SP_SNAPSHOT_RUNTIME ? "\"runtime\"" : "");
	MEMBER(out, "\"output\":\"%s\"", c->output == SP_OUTPUT_UTF8 ? "utf8" : "bytes");
	MEMBER(out, "\"kill_reach\":\"%s\"", sp_reach_name(c->kill_reach));
	sp_buf_adds(out, "\"memory_dir\":");
	if (c->memory_dir)
		sp_buf_add_json(out, c->memory_dir, strlen(c->memory_dir));
	else
		sp_buf_adds(out, "null");
}

static void add_store(struct sp_buf *out, const struct sp_store_capabilities *c)
{
	FLAG(out, c, durable);
	FLAG(out, c, multi_process);
	sp_buf_addf(out, "\"fence\":%s", c->fence ? "true" : "false");
}

static void add_lock(struct sp_buf *out, const struct sp_lock_capabilities *c)
{
	FLAG(out, c, lease);
	FLAG(out, c, multi_process);
	sp_buf_addf(out, "\"fence\":%s", c->fence ? "true" : "false");
}

/* The declaration of a subject that is a store or a lock alone; NULL for others. */
static char *stores_json(struct sp_subject *subject)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(JSON_CEILING);
	const struct sp_store_capabilities *store = sp_store_capabilities(&subject->store);
	const struct sp_lock_capabilities *lock = sp_lock_capabilities(&subject->lock);

	if (!store == !lock)
		return NULL;
	sp_buf_adds(&out, "{");
	if (store)
		add_store(&out, store);
	else
		add_lock(&out, lock);
	sp_buf_adds(&out, "}");
	return sp_buf_take(&out, NULL);
}

char *sp_declaration_json(struct sp_subject *subject)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(JSON_CEILING);
	const struct sp_capabilities *c =
		subject->provider.ops ? sp_provider_capabilities(&subject->provider) : NULL;

	if (!c)
		return stores_json(subject);
	if (c->version != SP_CAPABILITIES_VERSION)
		return NULL;
	sp_buf_adds(&out, "{");
	add_provider(&out, c);
	sp_buf_adds(&out, "}");
	return sp_buf_take(&out, NULL);
}
