/* SPDX-License-Identifier: MIT */
/* The control table over the admin endpoint. */
#include <control/control.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/json.h>
#include <control/answers.h>
#include <control/exchange.h>

struct control {
	struct exchanger *exchanger;
	/* "/admin/workspaces/ID" */
	char *base;
};

/* The path of a resource of the workspace. */
static const char *path_of(const struct control *control, struct sp_buf *path, const char *tail)
{
	sp_buf_addf(path, "%s/%s", control->base, tail);
	return sp_buf_str(path);
}

static void add_text(struct sp_buf *body, const char *name, const char *text)
{
	sp_buf_addf(body, "%c\"%s\":", body->len ? ',' : '{', name);
	sp_buf_add_json(body, text, strlen(text));
}

static void add_number(struct sp_buf *body, const char *name, int64_t value)
{
	sp_buf_addf(body, "%c\"%s\":%" PRId64, body->len ? ',' : '{', name, value);
}

/* Runs an exchange whose answer is an object. */
static int ask(struct exchanger *exchanger, struct exchange *exchange, cJSON **ret_json,
	       struct sp_error *err)
{
	int rc = exchange_run(exchanger, exchange, err);

	return rc ? rc
		  : sp_json_parse(sp_buf_str(&exchange->answer), exchange->answer.len,
				  EXCHANGE_ANSWER, ret_json, err);
}

/* POSTs an object that lacks its closing brace. */
static int post(struct control *control, const char *tail, struct sp_buf *body, cJSON **ret_json,
		struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;

	if (body && sp_buf_addc(body, '}'))
		return sp_error_set(err, SP_INVALID, "control: an argument is too long");
	exchange.method = "POST";
	exchange.path = path_of(control, &path, tail);
	exchange.body = body;
	return ret_json ? ask(control->exchanger, &exchange, ret_json, err)
			: exchange_run(control->exchanger, &exchange, err);
}

static const char *step_name(enum sp_control_step step, struct sp_error *err)
{
	const char *name = sp_control_step_name(step);

	if (!name)
		sp_error_set(err, SP_INVALID, "control: there is no step %d", (int)step);
	return name;
}

static int control_hold(void *self, enum sp_control_step step, enum sp_control_when when,
			const char *sandbox_id, uint64_t *ret_hold, struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *name = step_name(step, err);
	int64_t hold;
	int rc;

	if (!name)
		return SP_INVALID;
	add_text(&body, "step", name);
	add_text(&body, "when", when == SP_BEFORE ? "before" : "after");
	if (sandbox_id)
		add_text(&body, "sandbox_id", sandbox_id);
	rc = post(self, "holds", &body, &json, err);
	if (rc)
		return rc;
	if (!sp_json_int(json, "hold", &hold) || hold <= 0)
		return sp_error_set(err, SP_PROTOCOL, "control: a hold without a number");
	*ret_hold = (uint64_t)hold;
	return 0;
}

static int at_hold(struct control *control, const char *method, uint64_t hold,
		   struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;

	sp_buf_addf(&path, "%s/holds/%" PRIu64, control->base, hold);
	exchange.method = method;
	exchange.path = sp_buf_str(&path);
	exchange.cancel = cancel;
	return exchange_run(control->exchanger, &exchange, err);
}

/* A long poll. Without a cancel of the caller's nothing ends it but the hold. */
static int control_await_held(void *self, uint64_t hold, struct sp_cancel *cancel,
			      struct sp_error *err)
{
	struct sp_cancel *never = cancel ? sp_cancel_ref(cancel) : sp_cancel_new();
	int rc = never ? at_hold(self, "GET", hold, never, err)
		       : sp_error_set(err, SP_INTERNAL, "out of memory or descriptors");

	sp_cancel_unref(never);
	return rc;
}

static int control_release(void *self, uint64_t hold, struct sp_error *err)
{
	return at_hold(self, "DELETE", hold, NULL, err);
}

/* Wire name of an enum sp_control_how, of -1 as well; NULL for anything else. */
static const char *how_name(int how)
{
	static const char *const names[] = {
	    [SP_FAIL_STATUS] = "status",	   [SP_FAIL_DROP] = "drop",
	    [SP_FAIL_LOST_ANSWER] = "lost_answer", [SP_FAIL_CUT] = "cut",
	    [SP_FAIL_RATE_LIMIT] = "rate_limit",   [SP_FAIL_EDGE] = "edge",
	    [SP_FAIL_DISK_FULL] = "disk_full",
	};

	if (how == -1)
		return "clear";
	return how >= 0 && (size_t)how < SP_COUNT(names) ? names[how] : NULL;
}

static int control_fail(void *self, enum sp_control_step step, unsigned nth, int how, int status,
			struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *name = step_name(step, err);

	if (!name)
		return SP_INVALID;
	if (!how_name(how))
		return sp_error_set(err, SP_INVALID, "control: there is no failure %d", how);
	add_text(&body, "step", name);
	add_number(&body, "nth", nth);
	add_text(&body, "how", how_name(how));
	add_number(&body, "status", status);
	return post(self, "failures", &body, NULL, err);
}

static int on_requests(void *arg, const char *data, size_t len, struct sp_error *err)
{
	return request_reader_add(arg, data, len, err);
}

static int control_requests(void *self, bool take, struct sp_control_requests *ret_requests,
			    struct sp_error *err)
{
	struct request_reader reader SP_CLEANUP(request_reader_done) = REQUEST_READER_INIT;
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;
	struct control *control = self;
	int rc;

	exchange.method = take ? "DELETE" : "GET";
	exchange.path = path_of(control, &path, "requests");
	exchange.sink = on_requests;
	exchange.arg = &reader;
	rc = exchange_run(control->exchanger, &exchange, err);
	if (rc)
		return rc;
	/* What is not whole proves nothing. */
	if (exchange.lost)
		return sp_error_set(err, SP_CONFLICT,
				    "control: the log was full and %" PRIu64
				    " requests were not kept; take it more often",
				    exchange.lost);
	return request_reader_take(&reader, ret_requests, err);
}

static int control_census(void *self, struct sp_census *ret_census, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct control *control = self;
	int rc;

	exchange.method = "GET";
	exchange.path = path_of(control, &path, "census");
	rc = ask(control->exchanger, &exchange, &json, err);
	return rc ? rc : census_read(json, ret_census, err);
}

static int control_set_state(void *self, const char *sandbox_id, const char *state,
			     struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (!sandbox_id || !state)
		return sp_error_set(err, SP_INVALID,
				    "control: the sandbox or its state is missing");
	add_text(&body, "sandbox_id", sandbox_id);
	add_text(&body, "state", state);
	return post(self, "state", &body, NULL, err);
}

static int control_advance(void *self, uint64_t milliseconds, struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (milliseconds > INT64_MAX)
		return sp_error_set(err, SP_INVALID, "control: the clock cannot go that far");
	add_number(&body, "advance_ms", (int64_t)milliseconds);
	return post(self, "clock", &body, NULL, err);
}

static const char *path_of_snapshot(const struct control *control, struct sp_buf *path,
				    const char *snapshot_id)
{
	sp_buf_addf(path, "%s/snapshots/", control->base);
	sp_buf_add_url(path, snapshot_id ? snapshot_id : "");
	return sp_buf_str(path);
}

static int on_archive(void *arg, const char *data, size_t len, struct sp_error *err)
{
	struct sp_buf *archive = arg;

	if (!sp_buf_add(archive, data, len))
		return 0;
	return sp_error_set(err, SP_INVALID, "control: the snapshot is longer than %zu bytes",
			    archive->ceiling);
}

static int control_snapshot_read(void *self, const char *snapshot_id, size_t max,
				 struct sp_bytes *ret_bytes, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf archive SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(max);
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;
	struct control *control = self;
	int rc;

	exchange.method = "GET";
	exchange.path = path_of_snapshot(control, &path, snapshot_id);
	exchange.sink = on_archive;
	exchange.arg = &archive;
	rc = exchange_run(control->exchanger, &exchange, err);
	if (!rc && sp_buf_take_bytes(&archive, ret_bytes))
		rc = sp_error_set(err, SP_INTERNAL, "out of memory");
	return rc;
}

static int control_snapshot_plant(void *self, const char *snapshot_id, const void *data, size_t len,
				  struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;
	struct control *control = self;

	exchange.method = "PUT";
	exchange.path = path_of_snapshot(control, &path, snapshot_id);
	exchange.bytes = len ? data : "";
	exchange.n_bytes = len;
	return exchange_run(control->exchanger, &exchange, err);
}

static int control_reset(void *self, struct sp_error *err)
{
	return post(self, "reset", NULL, NULL, err);
}

static void control_close(void *self)
{
	struct control *control = self;

	exchanger_free(control->exchanger);
	free(control->base);
	free(control);
}

static const struct sp_control_ops control_ops = {
    .version = SP_CONTROL_VERSION,
    .hold = control_hold,
    .await_held = control_await_held,
    .release = control_release,
    .fail = control_fail,
    .requests = control_requests,
    .census = control_census,
    .set_state = control_set_state,
    .advance = control_advance,
    .snapshot_read = control_snapshot_read,
    .snapshot_plant = control_snapshot_plant,
    .reset = control_reset,
    .close = control_close,
};

int sp_control_open(const char *url, const char *token, const char *workspace_id,
		    struct sp_control *ret_control, struct sp_error *err)
{
	struct sp_buf base SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct control *control;
	int rc;

	if (!workspace_id || !*workspace_id)
		return sp_error_set(err, SP_INVALID, "control: the workspace is missing");
	sp_buf_adds(&base, "/admin/workspaces/");
	sp_buf_add_url(&base, workspace_id);
	control = calloc(1, sizeof(*control));
	if (control)
		control->base = sp_buf_take(&base, NULL);
	if (!control || !control->base) {
		free(control);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	rc = exchanger_new(url, token, &control->exchanger, err);
	if (rc) {
		free(control->base);
		free(control);
		return rc;
	}
	*ret_control = (struct sp_control){&control_ops, control};
	return 0;
}

static int read_workspace(const cJSON *json, char **ret_workspace_id, char **ret_api_key,
			  struct sp_error *err)
{
	const char *id = sp_json_str(json, "workspace_id");
	const char *key = sp_json_str(json, "api_key");

	if (!id || !key)
		return sp_error_set(err, SP_PROTOCOL, "control: a workspace without id or key");
	char *id_copy SP_FREE = strdup(id);
	char *key_copy SP_FREE = strdup(key);

	if (!id_copy || !key_copy)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	*ret_workspace_id = SP_TAKE(id_copy);
	*ret_api_key = SP_TAKE(key_copy);
	return 0;
}

int sp_control_answers(const char *url, const char *token, struct sp_cancel *cancel)
{
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;
	struct exchanger *exchanger;
	int rc = exchanger_new(url, token, &exchanger, NULL);

	if (rc)
		return rc;
	exchange.method = "GET";
	exchange.path = "/admin";
	exchange.cancel = cancel;
	rc = exchange_run(exchanger, &exchange, NULL);
	exchanger_free(exchanger);
	/* Whatever it says, it lives. */
	return exchange.status ? 0 : rc;
}

int sp_control_new_workspace(const char *url, const char *token, char **ret_workspace_id,
			     char **ret_api_key, struct sp_error *err)
{
	struct exchange exchange SP_CLEANUP(exchange_done) = EXCHANGE_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct exchanger *exchanger;
	int rc = exchanger_new(url, token, &exchanger, err);

	if (rc)
		return rc;
	exchange.method = "POST";
	exchange.path = "/admin/workspaces";
	rc = ask(exchanger, &exchange, &json, err);
	exchanger_free(exchanger);
	return rc ? rc : read_workspace(json, ret_workspace_id, ret_api_key, err);
}
