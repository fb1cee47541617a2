/* SPDX-License-Identifier: MIT */
/* The journal's table over a driver: on sandboxes of the same driver. */
#include "client.h"

#include <stdlib.h>
#include <string.h>

struct reader {
	struct sp_driver *driver;
	char *handle;
	struct drv_watch *watch;
};

/* What stands for options that are left out. */
static const struct sp_journal_options no_options = SP_JOURNAL_OPTIONS_INIT;
static const struct sp_journal_sweep_options no_sweep = SP_JOURNAL_SWEEP_OPTIONS_INIT;

/* Begins the params of a call about a run. `run_id` may be NULL. */
static int begin(struct sp_driver *driver, struct sp_buf *params, struct sp_sandbox *sandbox,
		 const char *run_id, const struct sp_journal_options **options,
		 struct sp_error *err)
{
	const char *id = sp_sandbox_id(sandbox);
	char *handle SP_FREE = drv_handle_of(driver, id);

	if (!handle)
		return sp_error_set(err, SP_INVALID,
				    "the sandbox %s is none of the journal's driver; name the same "
				    "SPEC with --provider and --journal",
				    id);
	drv_open(params, "sandbox", handle);
	drv_put_string(params, "run_id", run_id);
	if (!*options)
		*options = &no_options;
	drv_put_string(params, "dir", (*options)->dir);
	return 0;
}

/* UINT32_MAX stands for "never" or "your own". */
static void put_ms(struct sp_buf *params, const char *name, uint32_t ms)
{
	drv_put_int(params, name, ms == UINT32_MAX ? -1 : (int64_t)ms);
}

static int journal_start(void *self, struct sp_sandbox *sandbox, const char *run_id,
			 const char *command, const struct sp_journal_options *options,
			 struct sp_process *ret_process, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc = begin(self, &params, sandbox, run_id, &options, err);

	if (rc)
		return rc;
	drv_put_string(&params, "command", command);
	rc = drv_call_for(self, "journal/start", &params, options->cancel, &result, err);
	return rc ? rc : drv_make_process(self, "journal/start", result, NULL, ret_process, err);
}

/* ---- Readers ---- */

static int read_line(cJSON *result, struct sp_journal_line *line, bool *ret_end,
		     struct sp_error *err)
{
	int64_t position = 0, code = 0;
	int rc = drv_get_bool_opt(result, "end", ret_end, err);

	if (rc || *ret_end)
		return rc;
	rc = drv_get_range(result, "end_position", 0, INT64_MAX, &position, err);
	line->is_exit = cJSON_HasObjectItem(result, "exit_code");
	if (!rc)
		rc = drv_get_int_opt(result, "exit_code", &code, err);
	if (!rc)
		rc = drv_get_bool_opt(result, "unterminated", &line->unterminated, err);
	if (!rc)
		rc = drv_get_bytes(result, "text", &line->text, err);
	line->end_position = (uint64_t)position;
	line->exit_code = (int)code;
	return rc;
}

static int reader_next(void *self, struct sp_journal_line *ret_line, bool *ret_end,
		       struct sp_error *err)
{
	struct reader *reader = self;
	struct sp_journal_line line SP_CLEANUP(sp_journal_line_done) = SP_JOURNAL_LINE_INIT;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	bool end = false;
	int rc;

	drv_open(&params, "reader", reader->handle);
	rc = drv_call_for(reader->driver, "journal/next", &params, NULL, &result, err);
	if (rc)
		return rc;
	if (read_line(result, &line, &end, err))
		return drv_nonsense(reader->driver, "journal/next", err);
	*ret_end = end;
	if (!end) {
		*ret_line = line;
		line = (struct sp_journal_line)SP_JOURNAL_LINE_INIT;
	}
	return 0;
}

static void reader_close(void *self)
{
	struct reader *reader = self;
	struct sp_buf params DRV_PARAMS;

	drv_unwatch(reader->driver, reader->watch);
	drv_open(&params, "reader", reader->handle);
	(void)drv_call_plain(reader->driver, "journal/close", &params, NULL, NULL);
	free(reader->handle);
	free(reader);
}

static const struct sp_journal_reader_ops reader_ops = {
    .version = SP_JOURNAL_READER_VERSION,
    .next = reader_next,
    .close = reader_close,
};

static int make_reader(struct sp_driver *driver, const char *handle, struct sp_cancel *cancel,
		       struct sp_journal_reader *ret_reader, struct sp_error *err)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (reader)
		reader->handle = strdup(handle);
	if (reader && reader->handle && cancel)
		reader->watch = drv_watch(driver, cancel, "reader", handle);
	if (!reader || !reader->handle || (cancel && !reader->watch)) {
		if (reader)
			free(reader->handle);
		free(reader);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	reader->driver = driver;
	*ret_reader = (struct sp_journal_reader){&reader_ops, reader};
	return 0;
}

static int journal_read(void *self, struct sp_sandbox *sandbox, const char *run_id, uint64_t from,
			const struct sp_journal_options *options,
			struct sp_journal_reader *ret_reader, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	const char *handle = NULL;
	int rc = begin(self, &params, sandbox, run_id, &options, err);

	if (rc)
		return rc;
	drv_put_uint(&params, "from", from);
	drv_put_text(&params, "strategy", drv_strategies[options->strategy]);
	put_ms(&params, "first_byte_ms", options->first_byte_ms);
	put_ms(&params, "poll_ms", options->poll_ms);
	drv_put_uint(&params, "line_ceiling", options->line_ceiling);
	drv_put_bool(&params, "until_end", options->until_end);
	rc = drv_call_for(self, "journal/read", &params, options->cancel, &result, err);
	if (rc)
		return rc;
	if (drv_get_text(result, "reader", &handle, err))
		return drv_nonsense(self, "journal/read", err);
	return make_reader(self, handle, options->cancel, ret_reader, err);
}

/* ---- Short calls ---- */

static int journal_probe(void *self, struct sp_sandbox *sandbox, const char *run_id,
			 const struct sp_journal_options *options, enum sp_journal_state *ret_state,
			 int *ret_exit_code, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int64_t code = 0;
	int state = 0;
	int rc = begin(self, &params, sandbox, run_id, &options, err);

	if (rc)
		return rc;
	drv_put_text(&params, "strategy", drv_strategies[options->strategy]);
	rc = drv_call_for(self, "journal/probe", &params, options->cancel, &result, err);
	if (rc)
		return rc;
	if (drv_get_word(result, "state", drv_states, -1, &state, err) ||
	    drv_get_int_opt(result, "exit_code", &code, err))
		return drv_nonsense(self, "journal/probe", err);
	*ret_state = (enum sp_journal_state)state;
	if (state == SP_JOURNAL_FINISHED)
		*ret_exit_code = (int)code;
	return 0;
}

static int journal_stderr_tail(void *self, struct sp_sandbox *sandbox, const char *run_id,
			       size_t max, const struct sp_journal_options *options,
			       struct sp_bytes *ret_bytes, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc = begin(self, &params, sandbox, run_id, &options, err);

	if (rc)
		return rc;
	drv_put_uint(&params, "max", max);
	rc = drv_call_for(self, "journal/stderr_tail", &params, options->cancel, &result, err);
	if (!rc && drv_get_bytes(result, "data", ret_bytes, err))
		rc = drv_nonsense(self, "journal/stderr_tail", err);
	return rc;
}

static int journal_remove(void *self, struct sp_sandbox *sandbox, const char *run_id,
			  const struct sp_journal_options *options, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	int rc = begin(self, &params, sandbox, run_id, &options, err);

	return rc ? rc : drv_call_plain(self, "journal/remove", &params, options->cancel, err);
}

static int read_entry(cJSON *json, void *item, struct sp_error *err)
{
	struct sp_journal_entry *entry = item;
	int rc = drv_get_string(json, "file", &entry->file, err);

	entry->mtime = -1;
	if (!rc)
		rc = drv_get_string_opt(json, "run_id", &entry->run_id, err);
	if (!rc)
		rc = drv_get_int_opt(json, "mtime", &entry->mtime, err);
	return rc;
}

static int read_list(const cJSON *result, struct sp_journal_list *list, struct sp_error *err)
{
	void *entries = NULL;
	int rc = drv_get_list(result, "entries", sizeof(*list->entries), read_entry, &entries,
			      &list->len, err);

	list->entries = entries;
	return rc ? rc : drv_get_bool(result, "mtimes_known", &list->mtimes_known, err);
}

static int journal_list(void *self, struct sp_sandbox *sandbox,
			const struct sp_journal_options *options, struct sp_journal_list *ret_list,
			struct sp_error *err)
{
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc = begin(self, &params, sandbox, NULL, &options, err);

	if (!rc)
		rc = drv_call_for(self, "journal/list", &params, options->cancel, &result, err);
	if (rc)
		return rc;
	if (read_list(result, &list, err))
		return drv_nonsense(self, "journal/list", err);
	*ret_list = list;
	list = (struct sp_journal_list)SP_JOURNAL_LIST_INIT;
	return 0;
}

/* ---- What asks the owner's records ---- */

/* The word for what the records say; "error" when they cannot tell. */
static const char *ask(sp_journal_record_fn record, void *arg, const char *run_id)
{
	enum sp_journal_record state = SP_RECORD_ABSENT;

	return record(arg, run_id, &state) ? "error" : drv_record_states[state];
}

static int attach_once(struct sp_driver *driver, struct sp_sandbox *sandbox, const char *run_id,
		       bool has_records, const char *record,
		       const struct sp_journal_options *options, bool *ret_need,
		       struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc = begin(driver, &params, sandbox, run_id, &options, err);

	if (rc)
		return rc;
	put_ms(&params, "first_byte_ms", options->first_byte_ms);
	put_ms(&params, "poll_ms", options->poll_ms);
	drv_put_bool(&params, "has_records", has_records);
	drv_put_text(&params, "record", record);
	rc = drv_call_for(driver, "journal/attach", &params, options->cancel, &result, err);
	if (!rc && drv_get_bool_opt(result, "need", ret_need, err))
		rc = drv_nonsense(driver, "journal/attach", err);
	return rc;
}

static int journal_attach(void *self, struct sp_sandbox *sandbox, const char *run_id,
			  sp_journal_record_fn record, void *arg,
			  const struct sp_journal_options *options, struct sp_error *err)
{
	bool need = false;
	int rc = attach_once(self, sandbox, run_id, record != NULL, NULL, options, &need, err);

	if (rc || !need)
		return rc;
	need = false;
	if (record)
		rc = attach_once(self, sandbox, run_id, true, ask(record, arg, run_id), options,
				 &need, err);
	if (!rc && (need || !record)) {
		sp_error_set(err, SP_PROTOCOL, "it asks for a record that it %s",
			     record ? "was told" : "cannot have");
		rc = drv_nonsense(self, "journal/attach", err);
	}
	return rc;
}

static int read_swept(cJSON *json, void *item, struct sp_error *err)
{
	struct sp_journal_swept *swept = item;
	int fate = 0;
	int rc = drv_get_word(json, "fate", drv_fates, -1, &fate, err);

	if (!rc)
		rc = drv_get_string(json, "file", &swept->file, err);
	if (!rc)
		rc = drv_get_string_opt(json, "run_id", &swept->run_id, err);
	swept->fate = (enum sp_journal_fate)fate;
	return rc;
}

static int read_sweep(const cJSON *result, struct sp_journal_sweep *sweep, struct sp_error *err)
{
	void *runs = NULL;
	int rc = drv_get_list(result, "runs", sizeof(*sweep->runs), read_swept, &runs, &sweep->len,
			      err);

	sweep->runs = runs;
	return rc;
}

/* Adds the answers to what the driver asks for; each run once. */
static int add_records(const cJSON *need, const struct sp_journal_sweep_options *sweep,
		       cJSON *records, struct sp_error *err)
{
	const cJSON *at;

	cJSON_ArrayForEach(at, need)
	{
		if (!cJSON_IsString(at) || !sweep->record ||
		    cJSON_GetObjectItemCaseSensitive(records, at->valuestring))
			return sp_error_set(err, SP_PROTOCOL,
					    "it asks for a record that it was told or cannot have");
		if (!cJSON_AddStringToObject(records, at->valuestring,
					     ask(sweep->record, sweep->arg, at->valuestring)))
			return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	return 0;
}

static int sweep_once(struct sp_driver *driver, struct sp_sandbox *sandbox,
		      const struct sp_journal_sweep_options *sweep, const cJSON *records,
		      const struct sp_journal_options *options, cJSON **ret_result,
		      struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	char *text SP_FREE = cJSON_PrintUnformatted(records);
	int rc = begin(driver, &params, sandbox, NULL, &options, err);

	if (rc)
		return rc;
	drv_put_bool(&params, "has_records", sweep->record != NULL);
	drv_put_key(&params, "records");
	sp_buf_adds(&params, text ? text : "{}");
	drv_put_uint(&params, "max_deletes", sweep->max_deletes);
	drv_put_int(&params, "orphan_age_s", sweep->orphan_age_s);
	drv_put_int(&params, "now_s", sweep->now_s);
	return drv_call_for(driver, "journal/sweep", &params, options->cancel, ret_result, err);
}

static int journal_sweep(void *self, struct sp_sandbox *sandbox,
			 const struct sp_journal_sweep_options *sweep,
			 const struct sp_journal_options *options,
			 struct sp_journal_sweep *ret_sweep, struct sp_error *err)
{
	struct sp_journal_sweep swept SP_CLEANUP(sp_journal_sweep_done) = SP_JOURNAL_SWEEP_INIT;
	cJSON *records DRV_RESULT;

	if (!sweep)
		sweep = &no_sweep;
	records = cJSON_CreateObject();
	for (;;) {
		cJSON *result DRV_RESULT;
		const cJSON *need;
		int rc = sweep_once(self, sandbox, sweep, records, options, &result, err);

		if (rc)
			return rc;
		need = cJSON_GetObjectItemCaseSensitive(result, "need");
		rc =
		    need ? add_records(need, sweep, records, err) : read_sweep(result, &swept, err);
		if (rc)
			return drv_nonsense(self, "journal/sweep", err);
		if (need)
			continue;
		*ret_sweep = swept;
		swept = (struct sp_journal_sweep)SP_JOURNAL_SWEEP_INIT;
		return 0;
	}
}

static void journal_close(void *self)
{
	sp_driver_unref(self);
}

static const struct sp_journal_ops journal_ops = {
    .version = SP_JOURNAL_VERSION,
    .start = journal_start,
    .read = journal_read,
    .probe = journal_probe,
    .stderr_tail = journal_stderr_tail,
    .list = journal_list,
    .remove = journal_remove,
    .attach = journal_attach,
    .sweep = journal_sweep,
    .close = journal_close,
};

int sp_driver_journal(struct sp_driver *driver, struct sp_journal *ret_journal,
		      struct sp_error *err)
{
	if (!driver->has_journal)
		return drv_not_offered(driver, "journal", err);
	*ret_journal = (struct sp_journal){&journal_ops, sp_driver_ref(driver)};
	return 0;
}
