/* SPDX-License-Identifier: MIT */
/* Methods of journals, on the driver's side. */
#include "server.h"

#include <stdlib.h>
#include <string.h>

/* A call about a run; free it. */
struct job {
	struct sp_journal *journal;
	struct sp_sandbox *sandbox;
	char *run_id, *dir;
	struct sp_journal_options options;
};

#define JOB_INIT                                                                                   \
	{                                                                                          \
		NULL, NULL, NULL, NULL, SP_JOURNAL_OPTIONS_INIT                                    \
	}

static void job_done(struct job *job)
{
	free(job->run_id);
	free(job->dir);
}

static int get_ms(const cJSON *params, const char *name, uint32_t *ret, struct sp_error *err)
{
	int64_t ms = *ret == UINT32_MAX ? -1 : (int64_t)*ret;
	int rc = drv_get_int_opt(params, name, &ms, err);

	if (!rc && (ms < -1 || ms >= UINT32_MAX))
		rc = sp_error_set(err, SP_INVALID, "%s is out of range", name);
	if (!rc)
		*ret = ms < 0 ? UINT32_MAX : (uint32_t)ms;
	return rc;
}

static int read_options(cJSON *params, struct job *job, struct sp_error *err)
{
	struct sp_journal_options *options = &job->options;
	int strategy = SP_JOURNAL_AUTO;
	int rc = drv_get_string_opt(params, "dir", &job->dir, err);

	if (!rc)
		rc = drv_get_word(params, "strategy", drv_strategies, strategy, &strategy, err);
	if (!rc)
		rc = get_ms(params, "first_byte_ms", &options->first_byte_ms, err);
	if (!rc)
		rc = get_ms(params, "poll_ms", &options->poll_ms, err);
	if (!rc)
		rc = drv_get_uint_opt(params, "line_ceiling", &options->line_ceiling, err);
	if (!rc)
		rc = drv_get_bool_opt(params, "until_end", &options->until_end, err);
	options->dir = job->dir;
	options->strategy = (enum sp_journal_strategy)strategy;
	return rc;
}

static int begin(struct serve_call *call, cJSON *params, bool has_run, struct job *job,
		 struct sp_error *err)
{
	struct serve_handle *handle = NULL;
	int rc;

	job->journal = call->serve->offer->journal;
	if (!job->journal)
		return sp_error_set(err, SP_UNSUPPORTED, "this driver offers no journal");
	rc = serve_handle_get(call, params, SERVE_SANDBOX, &handle, err);
	if (!rc && has_run)
		rc = drv_get_string(params, "run_id", &job->run_id, err);
	if (!rc)
		rc = read_options(params, job, err);
	if (rc)
		return rc;
	job->sandbox = &handle->sandbox;
	job->options.cancel = call->cancel;
	return 0;
}

static int start(struct serve_call *call, cJSON *params, struct sp_buf *result,
		 struct sp_error *err)
{
	struct job job SP_CLEANUP(job_done) = JOB_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	char *command SP_FREE = NULL;
	int rc = begin(call, params, true, &job, err);

	if (!rc)
		rc = drv_get_string(params, "command", &command, err);
	if (!rc)
		rc = job.journal->ops->start(job.journal->self, job.sandbox, job.run_id, command,
					     &job.options, &process, err);
	return rc ? rc : serve_put_process(call->serve, &process, NULL, result, err);
}

static int read_run(struct serve_call *call, cJSON *params, struct sp_buf *result,
		    struct sp_error *err)
{
	struct job job SP_CLEANUP(job_done) = JOB_INIT;
	struct sp_journal_reader reader = {NULL, NULL};
	struct serve_handle *handle;
	uint64_t from = 0;
	int rc = begin(call, params, true, &job, err);

	if (!rc)
		rc = drv_get_uint_opt(params, "from", &from, err);
	if (!rc)
		rc = job.journal->ops->read(job.journal->self, job.sandbox, job.run_id, from,
					    &job.options, &reader, err);
	if (rc)
		return rc;
	handle = serve_handle_new(call->serve, SERVE_READER);
	if (!handle) {
		reader.ops->close(reader.self);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	handle->reader = reader;
	handle->cancel = sp_cancel_ref(call->cancel);
	drv_put_text(result, "reader", handle->name);
	serve_handle_put(handle);
	return 0;
}

static int next(struct serve_call *call, cJSON *params, struct sp_buf *result, struct sp_error *err)
{
	struct sp_journal_line line SP_CLEANUP(sp_journal_line_done) = SP_JOURNAL_LINE_INIT;
	struct serve_handle *handle = NULL;
	bool end = false;
	int rc = serve_handle_get(call, params, SERVE_READER, &handle, err);

	if (!rc)
		rc = handle->reader.ops->next(handle->reader.self, &line, &end, err);
	if (rc)
		return rc;
	if (end) {
		drv_put_bool(result, "end", true);
		return 0;
	}
	drv_put_bytes(result, "text", line.text.data, line.text.len);
	drv_put_uint(result, "end_position", line.end_position);
	if (line.is_exit)
		drv_put_int(result, "exit_code", line.exit_code);
	if (line.unterminated)
		drv_put_bool(result, "unterminated", true);
	return 0;
}

static int close_reader(struct serve_call *call, cJSON *params, struct sp_buf *result,
			struct sp_error *err)
{
	struct serve_handle *handle = NULL;
	int rc = serve_handle_get(call, params, SERVE_READER, &handle, err);

	(void)result;
	if (!rc)
		serve_handle_close(call, handle);
	return rc;
}

static int probe(struct serve_call *call, cJSON *params, struct sp_buf *result,
		 struct sp_error *err)
{
	struct job job SP_CLEANUP(job_done) = JOB_INIT;
	enum sp_journal_state state = SP_JOURNAL_UNKNOWN;
	int code = 0;
	int rc = begin(call, params, true, &job, err);

	if (!rc)
		rc = job.journal->ops->probe(job.journal->self, job.sandbox, job.run_id,
					     &job.options, &state, &code, err);
	if (rc)
		return rc;
	drv_put_text(result, "state", drv_states[state]);
	if (state == SP_JOURNAL_FINISHED)
		drv_put_int(result, "exit_code", code);
	return 0;
}

static int stderr_tail(struct serve_call *call, cJSON *params, struct sp_buf *result,
		       struct sp_error *err)
{
	struct job job SP_CLEANUP(job_done) = JOB_INIT;
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	int64_t max = 0;
	int rc = begin(call, params, true, &job, err);

	if (!rc)
		rc = drv_get_range(params, "max", 0, INT64_MAX, &max, err);
	if (!rc)
		rc = job.journal->ops->stderr_tail(job.journal->self, job.sandbox, job.run_id,
						   (size_t)max, &job.options, &bytes, err);
	if (!rc)
		drv_put_bytes(result, "data", bytes.data, bytes.len);
	return rc;
}

static int list(struct serve_call *call, cJSON *params, struct sp_buf *result, struct sp_error *err)
{
	struct job job SP_CLEANUP(job_done) = JOB_INIT;
	struct sp_journal_list found SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	int rc = begin(call, params, false, &job, err);

	if (!rc)
		rc = job.journal->ops->list(job.journal->self, job.sandbox, &job.options, &found,
					    err);
	if (rc)
		return rc;
	drv_put_open(result, "entries", '[');
	for (size_t i = 0; i < found.len; i++) {
		drv_put_open(result, NULL, '{');
		drv_put_string(result, "file", found.entries[i].file);
		drv_put_string(result, "run_id", found.entries[i].run_id);
		if (found.entries[i].mtime != -1)
			drv_put_int(result, "mtime", found.entries[i].mtime);
		sp_buf_addc(result, '}');
	}
	sp_buf_addc(result, ']');
	drv_put_bool(result, "mtimes_known", found.mtimes_known);
	return 0;
}

static int remove_run(struct serve_call *call, cJSON *params, struct sp_buf *result,
		      struct sp_error *err)
{
	struct job job SP_CLEANUP(job_done) = JOB_INIT;
	int rc = begin(call, params, true, &job, err);

	(void)result;
	return rc ? rc
		  : job.journal->ops->remove(job.journal->self, job.sandbox, job.run_id,
					     &job.options, err);
}

/* ---- The owner's records are on the other side ---- */

/* What the client told of them, and what it has to be asked for. */
struct records {
	struct serve_call *call;
	const cJSON *known;
	/* Nobody is asked twice: what is not known in the second call stays unknown. */
	bool may_ask;
	cJSON *need;
};

/* The answer of a word, or a code when the records cannot tell. */
static int state_of(const char *word, enum sp_journal_record *ret)
{
	for (int i = 0; word && i <= SP_RECORD_TERMINAL; i++) {
		if (strcmp(word, drv_record_states[i]))
			continue;
		*ret = (enum sp_journal_record)i;
		return 0;
	}
	return SP_UNAVAILABLE;
}

static int look_up(void *arg, const char *run_id, enum sp_journal_record *ret_record)
{
	struct records *records = arg;
	const char *word = sp_json_str(records->known, run_id);

	if (!word && records->may_ask)
		cJSON_AddItemToArray(records->need, cJSON_CreateString(run_id));
	return state_of(word, ret_record);
}

static void put_need(const struct records *records, struct sp_buf *result)
{
	const cJSON *at;

	drv_put_open(result, "need", '[');
	cJSON_ArrayForEach(at, records->need) drv_put_text(result, NULL, at->valuestring);
	sp_buf_addc(result, ']');
}

static int read_sweep(cJSON *params, struct sp_journal_sweep_options *options,
		      struct records *records, struct sp_error *err)
{
	bool has_records = false;
	uint64_t max = 0;
	int rc = drv_get_bool_opt(params, "has_records", &has_records, err);

	if (!rc)
		rc = drv_get_uint_opt(params, "max_deletes", &max, err);
	if (!rc)
		rc = drv_get_int_opt(params, "orphan_age_s", &options->orphan_age_s, err);
	if (!rc)
		rc = drv_get_int_opt(params, "now_s", &options->now_s, err);
	options->max_deletes = max;
	records->known = cJSON_GetObjectItemCaseSensitive(params, "records");
	records->may_ask = !cJSON_GetArraySize(records->known);
	if (has_records) {
		options->record = look_up;
		options->arg = records;
	}
	return rc;
}

static void put_sweep(const struct sp_journal_sweep *swept, struct sp_buf *result)
{
	drv_put_open(result, "runs", '[');
	for (size_t i = 0; i < swept->len; i++) {
		drv_put_open(result, NULL, '{');
		drv_put_string(result, "run_id", swept->runs[i].run_id);
		drv_put_string(result, "file", swept->runs[i].file);
		drv_put_text(result, "fate", drv_fates[swept->runs[i].fate]);
		sp_buf_addc(result, '}');
	}
	sp_buf_addc(result, ']');
}

/*
 * The first pass, without any record, removes nothing that has to be asked about: its question is
 * the answer. The second one works.
 */
static int sweep(struct serve_call *call, cJSON *params, struct sp_buf *result,
		 struct sp_error *err)
{
	struct job job SP_CLEANUP(job_done) = JOB_INIT;
	struct sp_journal_sweep_options options = SP_JOURNAL_SWEEP_OPTIONS_INIT;
	struct sp_journal_sweep swept SP_CLEANUP(sp_journal_sweep_done) = SP_JOURNAL_SWEEP_INIT;
	cJSON *need SP_CLEANUP(sp_json_done) = cJSON_CreateArray();
	struct records records = {.call = call, .need = need};
	int rc = begin(call, params, false, &job, err);

	if (!rc)
		rc = read_sweep(params, &options, &records, err);
	if (!rc && !job.journal->ops->sweep)
		rc = sp_error_set(err, SP_UNSUPPORTED, "the journal has no sweep");
	if (!rc)
		rc = job.journal->ops->sweep(job.journal->self, job.sandbox, &options, &job.options,
					     &swept, err);
	if (rc)
		return rc;
	if (cJSON_GetArraySize(need))
		put_need(&records, result);
	else
		put_sweep(&swept, result);
	return 0;
}

/* What attach asks for: one run, once. */
struct attach_record {
	struct serve_call *call;
	const char *word;
	bool asked;
};

static int attach_look_up(void *arg, const char *run_id, enum sp_journal_record *ret_record)
{
	struct attach_record *record = arg;

	(void)run_id;
	if (record->word)
		return state_of(record->word, ret_record);
	/* Nothing more is waited for: the client has to be asked first. */
	record->asked = true;
	sp_cancel_abort(record->call->cancel, "the records are asked");
	return SP_UNAVAILABLE;
}

static int attach(struct serve_call *call, cJSON *params, struct sp_buf *result,
		  struct sp_error *err)
{
	struct job job SP_CLEANUP(job_done) = JOB_INIT;
	struct attach_record record = {.call = call};
	bool has_records = false;
	int rc = begin(call, params, true, &job, err);

	if (!rc)
		rc = drv_get_bool_opt(params, "has_records", &has_records, err);
	if (!rc)
		rc = drv_get_text_opt(params, "record", &record.word, err);
	if (!rc && !job.journal->ops->attach)
		rc = sp_error_set(err, SP_UNSUPPORTED, "the journal has no attach");
	if (rc)
		return rc;
	rc = job.journal->ops->attach(job.journal->self, job.sandbox, job.run_id,
				      has_records ? attach_look_up : NULL, &record, &job.options,
				      err);
	if (!record.asked)
		return rc;
	drv_put_bool(result, "need", true);
	return 0;
}

const struct serve_method serve_journal_methods[] = {
    {"journal/start", start},
    {"journal/read", read_run},
    {"journal/next", next},
    {"journal/close", close_reader},
    {"journal/probe", probe},
    {"journal/stderr_tail", stderr_tail},
    {"journal/list", list},
    {"journal/remove", remove_run},
    {"journal/attach", attach},
    {"journal/sweep", sweep},
    {NULL, NULL},
};
