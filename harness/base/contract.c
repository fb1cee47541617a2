/* SPDX-License-Identifier: MIT */
/*
 * What callers of the contract use instead of the tables: each wrapper looks
 * at the reference, the table's version and its entry before it calls. And
 * the freeing of everything that a call hands out.
 */
#include <sandproof/control.h>
#include <sandproof/journal.h>
#include <sandproof/provider.h>
#include <sandproof/store.h>
#include <sandproof/subject.h>

#include <stdlib.h>
#include <string.h>

/* Says why a table cannot be used; 0 when it can. `version` is NULL for an empty reference. */
static int check_table(const unsigned *version, unsigned wanted, const char *operation,
		       struct sp_error *err)
{
	if (!version) {
		sp_error_set(err, SP_INVALID,
			     "%s: called on an empty reference; open or create it first",
			     operation);
		return SP_INVALID;
	}
	if (*version != wanted) {
		sp_error_set(err, SP_UNSUPPORTED,
			     "%s: the table has version %u and this program knows version %u; "
			     "build both from the same headers",
			     operation, *version, wanted);
		return SP_UNSUPPORTED;
	}
	return 0;
}

static int no_entry(const char *operation, const char *hint, struct sp_error *err)
{
	return sp_error_set(err, SP_UNSUPPORTED, "%s is not offered: %s", operation, hint);
}

static int check_options(const unsigned *version, unsigned wanted, const char *operation,
			 struct sp_error *err)
{
	if (!version) {
		sp_error_set(err, SP_INVALID, "%s: the options are missing", operation);
		return SP_INVALID;
	}
	if (*version != wanted)
		return sp_error_set(err, SP_INVALID,
				    "%s: the options have version %u instead of %u; fill them by "
				    "their _INIT macro",
				    operation, *version, wanted);
	return 0;
}

#define VERSION_OF(pointer) ((pointer) ? &(pointer)->version : NULL)
#define TABLE_VERSION(ref) ((ref) ? VERSION_OF((ref)->ops) : NULL)

/* Calls an entry of a table, or says why not. */
#define CALL(ref, wanted, entry, operation, hint, err, ...)                                        \
	({                                                                                         \
		int rc_ = check_table(TABLE_VERSION(ref), wanted, operation, err);                 \
		if (!rc_)                                                                          \
			rc_ = (ref)->ops->entry ? (ref)->ops->entry((ref)->self, __VA_ARGS__) :    \
						  no_entry(operation, hint, err);                  \
		rc_;                                                                               \
	})

/* Closes by one entry of a table that we understand, and clears the reference. */
#define CLOSE(ref, wanted, entry)                                                                  \
	do {                                                                                       \
		const unsigned *version_ = TABLE_VERSION(ref);                                     \
		if (version_ && *version_ == (wanted) && (ref)->ops->entry)                        \
			(ref)->ops->entry((ref)->self);                                            \
		if (ref) {                                                                         \
			(ref)->ops = NULL;                                                         \
			(ref)->self = NULL;                                                        \
		}                                                                                  \
	} while (0)

#define REQUIRED "the provider's table lacks this required entry; it has to be filled"
#define OPTIONAL(capability) "look at the capability `" capability "` before calling it"

#define PROCESS(entry, hint, err, ...)                                                             \
	CALL(process, SP_PROCESS_VERSION, entry, "process " #entry, hint, err, __VA_ARGS__)
#define SANDBOX(entry, hint, err, ...)                                                             \
	CALL(sandbox, SP_SANDBOX_VERSION, entry, "sandbox " #entry, hint, err, __VA_ARGS__)
#define PROVIDER(entry, hint, err, ...)                                                            \
	CALL(provider, SP_PROVIDER_VERSION, entry, "provider " #entry, hint, err, __VA_ARGS__)

/* ---- process ---- */

int sp_process_read(struct sp_process *process, enum sp_stream stream, void *buffer, size_t max,
		    size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	return PROCESS(read, REQUIRED, err, stream, buffer, max, ret_len, cancel, err);
}

int sp_process_write_stdin(struct sp_process *process, const void *data, size_t len,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	return PROCESS(write_stdin, OPTIONAL("writable_stdin"), err, data, len, cancel, err);
}

int sp_process_close_stdin(struct sp_process *process, struct sp_error *err)
{
	return PROCESS(close_stdin, OPTIONAL("writable_stdin"), err, err);
}

int sp_process_wait(struct sp_process *process, struct sp_exit *ret_exit, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	return PROCESS(wait, REQUIRED, err, ret_exit, cancel, err);
}

int sp_process_kill(struct sp_process *process, int signal, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	return PROCESS(kill, OPTIONAL("killable_processes"), err, signal, cancel, err);
}

int sp_process_signal(struct sp_process *process, int signal, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	return PROCESS(signal, OPTIONAL("signals"), err, signal, cancel, err);
}

void sp_process_done(struct sp_process *process)
{
	CLOSE(process, SP_PROCESS_VERSION, release);
}

/* ---- sandbox ---- */

const char *sp_sandbox_id(struct sp_sandbox *sandbox)
{
	if (check_table(TABLE_VERSION(sandbox), SP_SANDBOX_VERSION, "", NULL) || !sandbox->ops->id)
		return "";
	return sandbox->ops->id(sandbox->self);
}

const char *sp_sandbox_workspace_root(struct sp_sandbox *sandbox)
{
	if (check_table(TABLE_VERSION(sandbox), SP_SANDBOX_VERSION, "", NULL) ||
	    !sandbox->ops->workspace_root)
		return "";
	return sandbox->ops->workspace_root(sandbox->self);
}

static int check_exec(const struct sp_exec_options *options, const char *operation,
		      struct sp_error *err)
{
	int rc = check_options(VERSION_OF(options), SP_EXEC_OPTIONS_VERSION, operation, err);

	if (!rc && !options->command)
		rc = sp_error_set(err, SP_INVALID, "%s: the command is missing", operation);
	return rc;
}

int sp_sandbox_exec(struct sp_sandbox *sandbox, const struct sp_exec_options *options,
		    struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = check_exec(options, "sandbox exec", err);

	return rc ? rc : SANDBOX(exec, REQUIRED, err, options, ret_result, err);
}

int sp_sandbox_spawn(struct sp_sandbox *sandbox, const struct sp_exec_options *options,
		     struct sp_process *ret_process, struct sp_error *err)
{
	int rc = check_exec(options, "sandbox spawn", err);

	return rc ? rc
		  : SANDBOX(spawn, OPTIONAL("background_processes"), err, options, ret_process,
			    err);
}

int sp_sandbox_read(struct sp_sandbox *sandbox, const char *path, struct sp_bytes *ret_bytes,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(fs_read, REQUIRED, err, path, ret_bytes, cancel, err);
}

int sp_sandbox_write(struct sp_sandbox *sandbox, const char *path, const void *data, size_t len,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(fs_write, REQUIRED, err, path, data, len, cancel, err);
}

int sp_sandbox_list(struct sp_sandbox *sandbox, const char *path, struct sp_dir_list *ret_list,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(fs_list, REQUIRED, err, path, ret_list, cancel, err);
}

int sp_sandbox_mkdir(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	return SANDBOX(fs_mkdir, REQUIRED, err, path, cancel, err);
}

int sp_sandbox_remove(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	return SANDBOX(fs_remove, REQUIRED, err, path, cancel, err);
}

int sp_sandbox_rename(struct sp_sandbox *sandbox, const char *from, const char *to,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(fs_rename, REQUIRED, err, from, to, cancel, err);
}

int sp_sandbox_exists(struct sp_sandbox *sandbox, const char *path, bool *ret_exists,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(fs_exists, REQUIRED, err, path, ret_exists, cancel, err);
}

int sp_sandbox_lstat(struct sp_sandbox *sandbox, const char *path, struct sp_stat *ret_stat,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(fs_lstat, REQUIRED, err, path, ret_stat, cancel, err);
}

int sp_sandbox_env_set(struct sp_sandbox *sandbox, const struct sp_env *env, size_t n_env,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(env_set, OPTIONAL("env"), err, env, n_env, cancel, err);
}

int sp_sandbox_snapshot(struct sp_sandbox *sandbox, const char *label,
			struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			struct sp_error *err)
{
	return SANDBOX(snapshot, OPTIONAL("snapshots"), err, label, ret_ref, cancel, err);
}

int sp_sandbox_fork(struct sp_sandbox *sandbox, struct sp_sandbox *ret_sandbox,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(fork, OPTIONAL("fork"), err, ret_sandbox, cancel, err);
}

int sp_sandbox_port_connect(struct sp_sandbox *sandbox, unsigned port, struct sp_port *ret_port,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(port_connect, OPTIONAL("ports"), err, port, ret_port, cancel, err);
}

int sp_sandbox_git(struct sp_sandbox *sandbox, const struct sp_git_options *options,
		   struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = check_options(VERSION_OF(options), SP_GIT_OPTIONS_VERSION, "sandbox git", err);

	return rc ? rc : SANDBOX(git, "run git by exec instead", err, options, ret_result, err);
}

int sp_sandbox_timeline(struct sp_sandbox *sandbox, struct sp_bytes *ret_texts,
			struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(timeline, "this platform records no commands; leave out what needs them",
		       err, ret_texts, cancel, err);
}

int sp_sandbox_destroy(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	return SANDBOX(destroy, REQUIRED, err, cancel, err);
}

void sp_sandbox_done(struct sp_sandbox *sandbox)
{
	CLOSE(sandbox, SP_SANDBOX_VERSION, close);
}

/* ---- provider ---- */

const char *sp_provider_name(struct sp_provider *provider)
{
	if (check_table(TABLE_VERSION(provider), SP_PROVIDER_VERSION, "", NULL) ||
	    !provider->ops->name)
		return "?";
	return provider->ops->name(provider->self);
}

const struct sp_capabilities *sp_provider_capabilities(struct sp_provider *provider)
{
	/* So that nobody has to check for NULL: what declares nothing offers nothing. */
	static const struct sp_capabilities nothing = SP_CAPABILITIES_INIT;

	if (check_table(TABLE_VERSION(provider), SP_PROVIDER_VERSION, "", NULL) ||
	    !provider->ops->capabilities)
		return &nothing;
	return provider->ops->capabilities(provider->self);
}

int sp_provider_create(struct sp_provider *provider, const struct sp_create_options *options,
		       struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	int rc = check_options(VERSION_OF(options), SP_CREATE_OPTIONS_VERSION, "provider create",
			       err);

	return rc ? rc : PROVIDER(create, REQUIRED, err, options, ret_sandbox, err);
}

int sp_provider_resume(struct sp_provider *provider, const char *id, struct sp_sandbox *ret_sandbox,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	return PROVIDER(resume, REQUIRED, err, id, ret_sandbox, cancel, err);
}

int sp_provider_restore(struct sp_provider *provider, const char *snapshot_id,
			const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
			struct sp_error *err)
{
	int rc = check_options(VERSION_OF(options), SP_CREATE_OPTIONS_VERSION, "provider restore",
			       err);

	return rc ? rc :
		    PROVIDER(restore, OPTIONAL("snapshots"), err, snapshot_id, options, ret_sandbox,
			     err);
}

int sp_provider_destroy(struct sp_provider *provider, const char *id, struct sp_cancel *cancel,
			struct sp_error *err)
{
	return PROVIDER(destroy, REQUIRED, err, id, cancel, err);
}

int sp_provider_snapshot_delete(struct sp_provider *provider, const char *snapshot_id,
				struct sp_cancel *cancel, struct sp_error *err)
{
	return PROVIDER(snapshot_delete, OPTIONAL("snapshots"), err, snapshot_id, cancel, err);
}

int sp_provider_list(struct sp_provider *provider, struct sp_id_list *ret_list,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	return PROVIDER(list, "this provider cannot list; keep the ids that create gave", err,
			ret_list, cancel, err);
}

void sp_provider_done(struct sp_provider *provider)
{
	CLOSE(provider, SP_PROVIDER_VERSION, close);
}

/* ---- store and lock ---- */

#define STORE(entry, err, ...)                                                                     \
	CALL(store, SP_STORE_VERSION, entry, "store " #entry, NEEDED, err, __VA_ARGS__)
#define LOCK(entry, err, ...)                                                                      \
	CALL(lock, SP_LOCK_VERSION, entry, "lock " #entry, NEEDED, err, __VA_ARGS__)
#define NEEDED "the table lacks this required entry; it has to be filled"

const struct sp_store_capabilities *sp_store_capabilities(struct sp_store *store)
{
	if (check_table(TABLE_VERSION(store), SP_STORE_VERSION, "", NULL) ||
	    !store->ops->capabilities)
		return NULL;
	return store->ops->capabilities(store->self);
}

int sp_store_get(struct sp_store *store, const char *key, struct sp_record *ret_record,
		 bool *ret_found, struct sp_cancel *cancel, struct sp_error *err)
{
	return STORE(get, err, key, ret_record, ret_found, cancel, err);
}

int sp_store_upsert(struct sp_store *store, const struct sp_record *record, const uint64_t *fence,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	return STORE(upsert, err, record, fence, cancel, err);
}

int sp_store_del(struct sp_store *store, const char *key, struct sp_cancel *cancel,
		 struct sp_error *err)
{
	return STORE(del, err, key, cancel, err);
}

int sp_store_copies(struct sp_store *store, const char *key, bool *ret_put, bool *ret_got,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	return CALL(store, SP_STORE_VERSION, copies, "store copies",
		    "its records are in the caller's own memory", err, key, ret_put, ret_got,
		    cancel, err);
}

void sp_store_done(struct sp_store *store)
{
	CLOSE(store, SP_STORE_VERSION, close);
}

uint64_t sp_lease_fence(struct sp_lease *lease)
{
	if (check_table(TABLE_VERSION(lease), SP_LEASE_VERSION, "", NULL) || !lease->ops->fence)
		return 0;
	return lease->ops->fence(lease->self);
}

struct sp_cancel *sp_lease_lost(struct sp_lease *lease)
{
	if (check_table(TABLE_VERSION(lease), SP_LEASE_VERSION, "", NULL) || !lease->ops->lost)
		return NULL;
	return lease->ops->lost(lease->self);
}

void sp_lease_done(struct sp_lease *lease)
{
	CLOSE(lease, SP_LEASE_VERSION, release);
}

const struct sp_lock_capabilities *sp_lock_capabilities(struct sp_lock *lock)
{
	if (check_table(TABLE_VERSION(lock), SP_LOCK_VERSION, "", NULL) || !lock->ops->capabilities)
		return NULL;
	return lock->ops->capabilities(lock->self);
}

int sp_lock_acquire(struct sp_lock *lock, const char *key, struct sp_cancel *cancel,
		    struct sp_lease *ret_lease, struct sp_error *err)
{
	return LOCK(acquire, err, key, cancel, ret_lease, err);
}

void sp_lock_done(struct sp_lock *lock)
{
	CLOSE(lock, SP_LOCK_VERSION, close);
}

#define DOOR(entry, err, ...)                                                                      \
	CALL(door, SP_BACKDOOR_VERSION, entry, "back door " #entry,                                \
	     "this back end has no such thing", err, __VA_ARGS__)

int sp_backdoor_count(struct sp_backdoor *door, const char *prefix, uint64_t *ret_count,
		      struct sp_error *err)
{
	return DOOR(count, err, prefix, ret_count, err);
}

int sp_backdoor_raw(struct sp_backdoor *door, const char *key, char **ret_text,
		    struct sp_error *err)
{
	return DOOR(raw, err, key, ret_text, err);
}

int sp_backdoor_damage(struct sp_backdoor *door, const char *key, enum sp_damage how,
		       struct sp_error *err)
{
	return DOOR(damage, err, key, how, err);
}

int sp_backdoor_trouble(struct sp_backdoor *door, enum sp_trouble trouble, bool begin,
			struct sp_error *err)
{
	return DOOR(trouble, err, trouble, begin, err);
}

int sp_backdoor_expire(struct sp_backdoor *door, const char *key, struct sp_error *err)
{
	return DOOR(expire, err, key, err);
}

/* ---- platform ---- */

void sp_platform_sandbox_done(struct sp_platform_sandbox *sandbox)
{
	free(sandbox->group);
	*sandbox = (struct sp_platform_sandbox)SP_PLATFORM_SANDBOX_INIT;
}

void sp_platform_snapshots_done(struct sp_platform_snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->len; i++) {
		free(snapshots->items[i].reference);
		free(snapshots->items[i].name);
		free(snapshots->items[i].source_id);
	}
	free(snapshots->items);
	*snapshots = (struct sp_platform_snapshots)SP_PLATFORM_SNAPSHOTS_INIT;
}

/* ---- subject ---- */

const char *sp_subject_kind_name(enum sp_subject_kind kind)
{
	switch (kind) {
	case SP_SUBJECT_PROVIDER:
		return "provider";
	case SP_SUBJECT_STORE:
		return "store";
	case SP_SUBJECT_LOCK:
		return "lock";
	case SP_SUBJECT_JOURNAL:
		return "journal";
	case SP_SUBJECT_ENSURE:
		return "ensure";
	case SP_SUBJECT_PLATFORM:
		return "platform";
	case SP_SUBJECT_KIND_MAX_:
		break;
	}
	return "unknown";
}

int sp_subject_check(struct sp_subject *subject, bool *ret_gone, struct sp_error *err)
{
	*ret_gone = false;
	if (!subject->health.ops)
		return 0;
	return CALL(&subject->health, SP_HEALTH_VERSION, check, "health check", REQUIRED, err,
		    ret_gone, err);
}

void sp_subject_done(struct sp_subject *subject)
{
	if (!subject)
		return;
	/*
	 * What stands on others goes first; the platform belongs to the
	 * provider; control sees the others go.
	 */
	CLOSE(&subject->ensure, SP_ENSURE_VERSION, close);
	CLOSE(&subject->journal, SP_JOURNAL_VERSION, close);
	CLOSE(&subject->backdoor, SP_BACKDOOR_VERSION, close);
	CLOSE(&subject->lock, SP_LOCK_VERSION, close);
	CLOSE(&subject->store, SP_STORE_VERSION, close);
	CLOSE(&subject->provider, SP_PROVIDER_VERSION, close);
	CLOSE(&subject->control, SP_CONTROL_VERSION, close);
	CLOSE(&subject->health, SP_HEALTH_VERSION, close);
	*subject = (struct sp_subject)SP_SUBJECT_INIT;
}

/* ---- control ---- */

static const char *const step_names[] = {
#define STEP_NAME(identifier, wire, text) [SP_STEP_##identifier] = wire,
	SP_CONTROL_STEPS(STEP_NAME)
#undef STEP_NAME
};

const char *sp_control_step_name(enum sp_control_step step)
{
	return (unsigned)step < SP_STEP_MAX_ ? step_names[step] : NULL;
}

int sp_control_step_from_name(const char *name)
{
	for (int step = 0; step < SP_STEP_MAX_; step++)
		if (!strcmp(step_names[step], name))
			return step;
	return -1;
}

void sp_control_requests_done(struct sp_control_requests *requests)
{
	for (size_t i = 0; i < requests->len; i++) {
		struct sp_control_request *request = &requests->items[i];

		free(request->method);
		free(request->target);
		free(request->headers);
		sp_bytes_done(&request->body);
	}
	free(requests->items);
	*requests = (struct sp_control_requests)SP_CONTROL_REQUESTS_INIT;
}

/* Frees a list of texts and the list itself. */
static void free_texts(char **texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
}

void sp_census_done(struct sp_census *census)
{
	for (size_t i = 0; i < census->n_sandboxes; i++) {
		free(census->sandboxes[i].id);
		free(census->sandboxes[i].state);
	}
	free(census->sandboxes);
	for (size_t i = 0; census->snapshots && i < census->n_snapshots; i++) {
		free(census->snapshots[i].id);
		free(census->snapshots[i].sandbox_id);
		free(census->snapshots[i].name);
		free(census->snapshots[i].kind);
		free(census->snapshots[i].status);
	}
	free(census->snapshots);
	free_texts(census->cannot_hold, census->n_cannot_hold);
	*census = (struct sp_census)SP_CENSUS_INIT;
}

/* ---- other owned values ---- */

void sp_bytes_done(struct sp_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct sp_bytes)SP_BYTES_INIT;
}

void sp_exec_result_done(struct sp_exec_result *result)
{
	sp_bytes_done(&result->stdout_bytes);
	sp_bytes_done(&result->stderr_bytes);
	*result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
}

void sp_dir_list_done(struct sp_dir_list *list)
{
	for (size_t i = 0; i < list->len; i++) {
		free(list->entries[i].name);
		free(list->entries[i].path);
	}
	free(list->entries);
	*list = (struct sp_dir_list)SP_DIR_LIST_INIT;
}

void sp_snapshot_ref_done(struct sp_snapshot_ref *ref)
{
	free(ref->id);
	free(ref->label);
	*ref = (struct sp_snapshot_ref)SP_SNAPSHOT_REF_INIT;
}

void sp_port_done(struct sp_port *port)
{
	free(port->url);
	free(port->token);
	*port = (struct sp_port)SP_PORT_INIT;
}

void sp_id_list_done(struct sp_id_list *list)
{
	free_texts(list->ids, list->len);
	*list = (struct sp_id_list)SP_ID_LIST_INIT;
}

void sp_journal_line_done(struct sp_journal_line *line)
{
	sp_bytes_done(&line->text);
	*line = (struct sp_journal_line)SP_JOURNAL_LINE_INIT;
}

void sp_journal_sweep_done(struct sp_journal_sweep *sweep)
{
	for (size_t i = 0; i < sweep->len; i++) {
		free(sweep->runs[i].run_id);
		free(sweep->runs[i].file);
		free(sweep->runs[i].reason);
	}
	free(sweep->runs);
	*sweep = (struct sp_journal_sweep)SP_JOURNAL_SWEEP_INIT;
}

const char *sp_journal_fate_name(int fate)
{
	switch ((enum sp_journal_fate)fate) {
	case SP_SWEPT_DELETED:
		return "deleted";
	case SP_KEPT_UNDECODABLE:
		return "undecodable";
	case SP_KEPT_RECORD_ERROR:
		return "record-error";
	case SP_KEPT_NOT_FINISHED:
		return "not-finished";
	case SP_KEPT_AGE_UNAVAILABLE:
		return "age-unavailable";
	case SP_KEPT_AGE_MISSING:
		return "age-missing";
	case SP_KEPT_TOO_RECENT:
		return "too-recent";
	case SP_KEPT_DELETE_FAILED:
		return "delete-failed";
	case SP_KEPT_MAX_DELETES:
		return "max-deletes";
	}
	return "unknown";
}

void sp_journal_list_done(struct sp_journal_list *list)
{
	for (size_t i = 0; i < list->len; i++) {
		free(list->entries[i].file);
		free(list->entries[i].run_id);
	}
	free(list->entries);
	*list = (struct sp_journal_list)SP_JOURNAL_LIST_INIT;
}

void sp_record_done(struct sp_record *record)
{
	free(record->key);
	free(record->provider);
	free(record->provider_sandbox_id);
	free(record->latest_snapshot_id);
	free(record->thread_id);
	free(record->latest_run_id);
	*record = (struct sp_record)SP_RECORD_INIT;
}
