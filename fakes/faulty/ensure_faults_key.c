/* SPDX-License-Identifier: MIT */
/* Faults of keys and of whose they are. */
#include "wrap_ensure.h"

#include <stdio.h>
#include <string.h>

#include <base/buf.h>

static void forget_tenant(struct fault_ensure_call *call)
{
	call->options.tenant = NULL;
}
ENSURE_HOOKS(forgets_tenant, .before = forget_tenant)

/* The text is hashed as it stands. */
static void hash_as_written(struct fault_ensure_call *call)
{
	const char *text = call->asked->workspace;
	struct sp_buf raw SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (!text)
		return;
	sp_buf_adds(&raw, "{\"text\":");
	sp_buf_add_json(&raw, text, strlen(text));
	sp_buf_addc(&raw, '}');
	pthread_mutex_lock(&call->ensure->lock);
	fault_set_text(&call->ensure->text, sp_buf_str(&raw));
	call->options.workspace = call->ensure->text;
	pthread_mutex_unlock(&call->ensure->lock);
}
ENSURE_HOOKS(as_written, .before = hash_as_written)

/* The key is made of everything that was given, the variables among it. */
static void hash_secrets(struct fault_ensure_call *call)
{
	struct sp_buf raw SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const struct sp_env *env = call->asked->n_env ? call->asked->env : NULL;

	if (!env)
		return;
	sp_buf_adds(&raw, "{\"secret\":");
	sp_buf_add_json(&raw, env->value, strlen(env->value));
	sp_buf_addc(&raw, '}');
	pthread_mutex_lock(&call->ensure->lock);
	fault_set_text(&call->ensure->text, sp_buf_str(&raw));
	call->options.workspace = call->ensure->text;
	pthread_mutex_unlock(&call->ensure->lock);
}
ENSURE_HOOKS(has_secrets, .before = hash_secrets)

/* What makes no key is left out. */
static void take_anything(struct fault_ensure_call *call)
{
	if (call->key[0])
		return;
	call->options.thread_id = "thread";
	call->options.workspace = call->options.tenant = NULL;
	call->options.per_run = false;
}
ENSURE_HOOKS(of_anything, .before = take_anything)

/* ---- Owners ---- */

static int own_thread(struct fault_ensure_call *call, const char *key, struct sp_record *ret_record,
		      bool *ret_found, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_asked_get(call, key, ret_record, ret_found, cancel, err);

	if (!rc && *ret_found)
		fault_set_text(&ret_record->thread_id, call->asked->thread_id);
	return rc;
}
ENSURE_HOOKS(thread_unchecked, .get = own_thread)

static int own_provider(struct fault_ensure_call *call, const char *key,
			struct sp_record *ret_record, bool *ret_found, struct sp_cancel *cancel,
			struct sp_error *err)
{
	int rc = fault_asked_get(call, key, ret_record, ret_found, cancel, err);

	if (!rc && *ret_found)
		fault_set_text(&ret_record->provider, sp_provider_name(call->asked->provider));
	return rc;
}
ENSURE_HOOKS(provider_unchecked, .get = own_provider)

static int own_run(struct fault_ensure_call *call, const char *key, struct sp_record *ret_record,
		   bool *ret_found, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_asked_get(call, key, ret_record, ret_found, cancel, err);

	if (!rc && *ret_found && call->asked->per_run)
		fault_set_text(&ret_record->latest_run_id, call->asked->run_id);
	return rc;
}
ENSURE_HOOKS(run_unchecked, .get = own_run)

/* Compares what is hashed, thread and run in one. */
static void join(const char *thread, const char *run, char *text, size_t size)
{
	snprintf(text, size, "%s:%s", thread, run ? run : "");
}

static int joined_get(struct fault_ensure_call *call, const char *key, struct sp_record *ret_record,
		      bool *ret_found, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_asked_get(call, key, ret_record, ret_found, cancel, err);
	char stored[256], asked[256];

	if (rc || !*ret_found || !call->asked->per_run)
		return rc;
	join(ret_record->thread_id, ret_record->latest_run_id, stored, sizeof(stored));
	join(call->asked->thread_id, call->asked->run_id, asked, sizeof(asked));
	if (strcmp(stored, asked) == 0) {
		fault_set_text(&ret_record->thread_id, call->asked->thread_id);
		fault_set_text(&ret_record->latest_run_id, call->asked->run_id);
	}
	return rc;
}
ENSURE_HOOKS(run_in_thread, .get = joined_get)

static const struct sp_fault faults[] = {
	ENSURE_FAULT("ensure-key-forgets-tenant", forgets_tenant, "N1",
		     "Tenants are no part of the key.", SOURCES("contract:C191", "field:T05"),
		     "ensure.key.golden"),
	ENSURE_FAULT("ensure-key-as-written", as_written, "N1",
		     "The workspace is hashed as it is written.", SOURCES("contract:C191"),
		     "ensure.key.canonical"),
	ENSURE_FAULT("ensure-key-has-secrets", has_secrets, "N3",
		     "Variables are part of the key, so that a rotation makes another sandbox.",
		     SOURCES("contract:C115"), "ensure.resume.env"),
	ENSURE_FAULT("ensure-key-of-anything", of_anything, "N1",
		     "Parts of the key that are wrong or missing are left out.",
		     SOURCES("contract:C191"), "ensure.key.refused"),
	ENSURE_FAULT("ensure-thread-unchecked", thread_unchecked, "N10",
		     "The thread of the record is not looked at.",
		     SOURCES("contract:C190", "field:T05"), "ensure.owner.collision",
		     "ensure.owner.thread", "ensure.destroy.owner"),
	ENSURE_FAULT("ensure-provider-unchecked", provider_unchecked, "N10",
		     "The provider of the record is not looked at.",
		     SOURCES("contract:C230", "contract:C190"), "ensure.owner.provider"),
	ENSURE_FAULT("ensure-run-unchecked", run_unchecked, "N10",
		     "With one sandbox a run, the run of the record is not looked at.",
		     SOURCES("contract:C190"), "ensure.owner.run"),
	ENSURE_FAULT("ensure-run-in-thread", run_in_thread, "N10",
		     "Thread and run are compared joined, as they are hashed.",
		     SOURCES("contract:C190"), "ensure.owner.alike"),
};
FAULT_TABLE(fault_ensure_key, faults);
