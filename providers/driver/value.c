/* SPDX-License-Identifier: MIT */
#include "value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <base/utf8.h>

/* 2^53 - 1: beyond it a JSON number is not the same for everybody. */
#define MAX_EXACT INT64_C(9007199254740991)

const char *const drv_networks[] = {"default", "allow", "deny", NULL};
const char *const drv_file_types[] = {"file", "dir", "symlink", "other", NULL};
const char *const drv_streams[] = {"stdout", "stderr", NULL};
const char *const drv_exit_hows[] = {"exited", "signalled", "killed", "aborted", "timed-out", NULL};
const char *const drv_reaches[] = {"none", "group", "session", "tree", NULL};
const char *const drv_outputs[] = {"bytes", "utf8", NULL};
const char *const drv_strategies[] = {"auto", "follow", "poll", NULL};
const char *const drv_states[] = {"producing", "finished", "unknown", NULL};
const char *const drv_record_states[] = {"absent", "open", "terminal", "error", NULL};
const char *const drv_fates[] = {"deleted",	    "undecodable", "record-error", "not-finished",
				 "age-unavailable", "age-missing", "too-recent",   "delete-failed",
				 "max-deletes",	    NULL};

/* ---- Writing ---- */

void drv_put_key(struct sp_buf *out, const char *name)
{
	char last = out->len ? out->data[out->len - 1] : '{';

	if (last != '{' && last != '[' && last != ':')
		sp_buf_addc(out, ',');
	if (!name)
		return;
	sp_buf_add_json(out, name, strlen(name));
	sp_buf_addc(out, ':');
}

void drv_put_open(struct sp_buf *out, const char *name, char bracket)
{
	drv_put_key(out, name);
	sp_buf_addc(out, bracket);
}

void drv_put_text(struct sp_buf *out, const char *name, const char *text)
{
	if (!text)
		return;
	drv_put_key(out, name);
	sp_buf_add_json(out, text, strlen(text));
}

/*
 * Whether a JSON string can hold the bytes and is no longer than their base64 form: escapes are
 * counted, since a binary file may well be valid UTF-8.
 */
static bool fits_string(const char *text, size_t len)
{
	size_t room = len / 3 + 16;
	size_t at = 0;

	while (at < len) {
		size_t step = sp_json_plain(text + at, len - at);
		unsigned char c;
		bool valid;

		at += step;
		if (at == len)
			break;
		c = (unsigned char)text[at];
		step = sp_utf8_next(text + at, len - at, &valid);
		at += step;
		if (!c || !valid)
			return false;
		if (step > 1)
			continue;
		step = strchr("\"\\\n\r\t\b\f", c) ? 1 : 5;
		if (step > room)
			return false;
		room -= step;
	}
	return true;
}

void drv_put_bytes(struct sp_buf *out, const char *name, const void *data, size_t len)
{
	drv_put_key(out, name);
	if (fits_string(data, len)) {
		sp_buf_add_json(out, data, len);
		return;
	}
	sp_buf_adds(out, "{\"base64\":\"");
	sp_buf_add_base64(out, data, len);
	sp_buf_adds(out, "\"}");
}

void drv_put_string(struct sp_buf *out, const char *name, const char *text)
{
	if (text)
		drv_put_bytes(out, name, text, strlen(text));
}

void drv_put_int(struct sp_buf *out, const char *name, int64_t value)
{
	bool exact = value >= -MAX_EXACT && value <= MAX_EXACT;

	drv_put_key(out, name);
	sp_buf_addf(out, exact ? "%" PRId64 : "\"%" PRId64 "\"", value);
}

void drv_put_uint(struct sp_buf *out, const char *name, uint64_t value)
{
	drv_put_key(out, name);
	sp_buf_addf(out, value <= (uint64_t)MAX_EXACT ? "%" PRIu64 : "\"%" PRIu64 "\"", value);
}

void drv_put_bool(struct sp_buf *out, const char *name, bool value)
{
	drv_put_key(out, name);
	sp_buf_adds(out, value ? "true" : "false");
}

int drv_check_text(const char *what, const char *text, struct sp_error *err)
{
	if (!text || sp_utf8_valid(text, strlen(text)))
		return 0;
	return sp_error_set(err, SP_INVALID, "%s is not UTF-8 text", what);
}

static bool comes_again(const struct sp_env *env, size_t at, size_t n)
{
	for (size_t i = at + 1; i < n; i++)
		if (!strcmp(env[i].name, env[at].name))
			return true;
	return false;
}

static void put_number(struct sp_buf *out, double value)
{
	const double most = (double)(INT64_C(1) << 53);

	if (value >= -most && value <= most && value == (double)(int64_t)value)
		sp_buf_addf(out, "%" PRId64, (int64_t)value);
	else
		sp_buf_addf(out, "%.17g", value);
}

void drv_put_json(struct sp_buf *out, const cJSON *value)
{
	bool is_array = cJSON_IsArray(value), is_object = cJSON_IsObject(value);
	const cJSON *at;

	if (is_array || is_object)
		sp_buf_addc(out, is_array ? '[' : '{');
	else if (cJSON_IsString(value))
		sp_buf_add_json(out, value->valuestring, strlen(value->valuestring));
	else if (cJSON_IsNumber(value))
		put_number(out, value->valuedouble);
	else
		sp_buf_adds(out, cJSON_IsTrue(value)	? "true"
				 : cJSON_IsFalse(value) ? "false"
							: "null");
	for (at = is_array || is_object ? value->child : NULL; at; at = at->next) {
		drv_put_key(out, is_object ? at->string : NULL);
		drv_put_json(out, at);
	}
	if (is_array || is_object)
		sp_buf_addc(out, is_array ? ']' : '}');
}

int drv_put_env(struct sp_buf *out, const char *name, const struct sp_env *env, size_t n,
		struct sp_error *err)
{
	drv_put_open(out, name, '{');
	for (size_t i = 0; i < n; i++) {
		int rc = drv_check_text("the name of a variable", env[i].name, err);

		if (rc)
			return rc;
		if (!comes_again(env, i, n))
			drv_put_string(out, env[i].name, env[i].value);
	}
	sp_buf_addc(out, '}');
	return 0;
}

/* ---- Reading ---- */

static int wrong(const char *name, const cJSON *item, const char *type, struct sp_error *err)
{
	return sp_error_set(
	    err, SP_INVALID,
	    item ? "its member \"%s\" is not %s" : "it lacks the member \"%s\" (%s)", name, type);
}

static const cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

int drv_get_text(const cJSON *object, const char *name, const char **ret, struct sp_error *err)
{
	const cJSON *item = member(object, name);

	if (!cJSON_IsString(item))
		return wrong(name, item, "text", err);
	*ret = item->valuestring;
	return 0;
}

int drv_get_text_opt(const cJSON *object, const char *name, const char **ret, struct sp_error *err)
{
	return member(object, name) ? drv_get_text(object, name, ret, err) : 0;
}

static int no_memory(struct sp_error *err)
{
	return sp_error_set(err, SP_INTERNAL, "out of memory");
}

int drv_take_bytes(cJSON *item, const char *what, struct sp_bytes *ret, struct sp_error *err)
{
	const char *encoded = sp_json_str(item, "base64");
	struct sp_buf bytes SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;

	if (cJSON_IsString(item) && item->valuestring) {
		ret->len = strlen(item->valuestring);
		ret->data = (unsigned char *)SP_TAKE(item->valuestring);
		return 0;
	}
	if (!encoded)
		return wrong(what, item, "a text or {\"base64\": text}", err);
	if (sp_buf_add_unbase64(&bytes, encoded, strlen(encoded)) == -EINVAL)
		return wrong(what, item, "base64 with its padding", err);
	return sp_buf_take_bytes(&bytes, ret) ? no_memory(err) : 0;
}

int drv_get_bytes(cJSON *object, const char *name, struct sp_bytes *ret, struct sp_error *err)
{
	return drv_take_bytes(cJSON_GetObjectItemCaseSensitive(object, name), name, ret, err);
}

int drv_get_string(cJSON *object, const char *name, char **ret, struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	int rc = drv_get_bytes(object, name, &bytes, err);

	if (rc)
		return rc;
	if (bytes.len && memchr(bytes.data, 0, bytes.len))
		return wrong(name, member(object, name), "free of NUL", err);
	*ret = (char *)SP_TAKE(bytes.data);
	return 0;
}

int drv_get_string_opt(cJSON *object, const char *name, char **ret, struct sp_error *err)
{
	return member(object, name) ? drv_get_string(object, name, ret, err) : 0;
}

/* Digits of a number beyond what JSON carries. */
static bool parse_digits(const char *text, bool *negative, uint64_t *ret)
{
	char *end;

	*negative = *text == '-';
	text += *negative;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !*end && !errno;
}

static int get_number(const cJSON *object, const char *name, bool *negative, uint64_t *ret,
		      struct sp_error *err)
{
	const cJSON *item = member(object, name);
	int64_t value;

	if (cJSON_IsString(item) && parse_digits(item->valuestring, negative, ret))
		return 0;
	if (!sp_json_int(object, name, &value))
		return wrong(name, item, "an integer", err);
	*negative = value < 0;
	*ret = *negative ? -(uint64_t)value : (uint64_t)value;
	return 0;
}

int drv_get_int(const cJSON *object, const char *name, int64_t *ret, struct sp_error *err)
{
	bool negative = false;
	uint64_t value = 0;
	int rc = get_number(object, name, &negative, &value, err);

	if (rc)
		return rc;
	if (value > (uint64_t)INT64_MAX + negative)
		return wrong(name, member(object, name), "an integer of 64 bits", err);
	*ret = (int64_t)(negative ? -value : value);
	return 0;
}

int drv_get_int_opt(const cJSON *object, const char *name, int64_t *ret, struct sp_error *err)
{
	return member(object, name) ? drv_get_int(object, name, ret, err) : 0;
}

int drv_get_uint_opt(const cJSON *object, const char *name, uint64_t *ret, struct sp_error *err)
{
	bool negative = false;
	uint64_t value = 0;
	int rc;

	if (!member(object, name))
		return 0;
	rc = get_number(object, name, &negative, &value, err);
	if (rc)
		return rc;
	if (negative && value)
		return wrong(name, member(object, name), "0 or more", err);
	*ret = value;
	return 0;
}

int drv_get_range(const cJSON *object, const char *name, int64_t min, int64_t max, int64_t *ret,
		  struct sp_error *err)
{
	int64_t value;
	int rc = drv_get_int(object, name, &value, err);

	if (rc)
		return rc;
	if (value < min || value > max)
		return sp_error_set(err, SP_INVALID,
				    "its member \"%s\" is %" PRId64 "; %" PRId64 " to %" PRId64
				    " are allowed",
				    name, value, min, max);
	*ret = value;
	return 0;
}

int drv_get_bool(const cJSON *object, const char *name, bool *ret, struct sp_error *err)
{
	return sp_json_bool(object, name, ret)
		   ? 0
		   : wrong(name, member(object, name), "true or false", err);
}

int drv_get_bool_opt(const cJSON *object, const char *name, bool *ret, struct sp_error *err)
{
	return member(object, name) ? drv_get_bool(object, name, ret, err) : 0;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

int drv_check_members(const cJSON *object, const char *const *names, size_t n, struct sp_error *err)
{
	const cJSON *at;
	int rc = 0;

	cJSON_ArrayForEach(at, object)
	{
		char *near SP_FREE = NULL;

		if (rc || is_one_of(at->string, names, n))
			continue;
		near = sp_nearest(at->string, names, n);
		if (near && *near)
			rc = sp_error_set(err, SP_INVALID,
					  "it has no member \"%.80s\"; did you mean: %s?",
					  at->string, near);
	}
	return rc;
}

int drv_get_array(const cJSON *object, const char *name, const cJSON **ret, struct sp_error *err)
{
	const cJSON *item = member(object, name);

	if (!cJSON_IsArray(item))
		return wrong(name, item, "an array", err);
	*ret = item;
	return 0;
}

int drv_get_list(const cJSON *object, const char *name, size_t size,
		 int (*read)(cJSON *json, void *item, struct sp_error *err), void **ret_items,
		 size_t *ret_len, struct sp_error *err)
{
	const cJSON *array = NULL;
	int rc = drv_get_array(object, name, &array, err);
	char *items;

	if (rc)
		return rc;
	items = calloc((size_t)cJSON_GetArraySize(array) + 1, size);
	*ret_items = items;
	*ret_len = 0;
	if (!items)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	for (cJSON *at = array->child; !rc && at; at = at->next)
		rc = read(at, items + size * (*ret_len)++, err);
	return rc;
}

int drv_get_env_opt(cJSON *object, const char *name, struct drv_env *ret, struct sp_error *err)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	struct drv_env env SP_CLEANUP(drv_env_done) = DRV_ENV_INIT;
	size_t n = (size_t)cJSON_GetArraySize(item);

	if (!item)
		return 0;
	if (!cJSON_IsObject(item))
		return wrong(name, item, "an object", err);
	env.items = calloc(n + 1, sizeof(*env.items));
	if (!env.items)
		return no_memory(err);
	for (cJSON *at = item->child; at; at = at->next) {
		struct sp_bytes value = SP_BYTES_INIT;
		int rc = drv_take_bytes(at, name, &value, err);

		if (rc)
			return rc;
		env.items[env.len].value = (char *)value.data;
		env.items[env.len++].name = strdup(at->string);
		if (!env.items[env.len - 1].name)
			return no_memory(err);
		if (value.len && memchr(value.data, 0, value.len))
			return wrong(name, item, "free of NUL", err);
	}
	*ret = env;
	env = (struct drv_env)DRV_ENV_INIT;
	return 0;
}

void drv_env_done(struct drv_env *env)
{
	for (size_t i = 0; i < env->len; i++) {
		free((char *)env->items[i].name);
		free((char *)env->items[i].value);
	}
	free(env->items);
	*env = (struct drv_env)DRV_ENV_INIT;
}

static int find_word(const char *text, const char *const *words)
{
	for (int i = 0; text && words[i]; i++)
		if (!strcmp(words[i], text))
			return i;
	return -1;
}

int drv_get_word(const cJSON *object, const char *name, const char *const *words, int absent,
		 int *ret, struct sp_error *err)
{
	const cJSON *item = member(object, name);
	int word = item ? find_word(sp_json_str(object, name), words) : absent;
	struct sp_buf all SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (word >= 0) {
		*ret = word;
		return 0;
	}
	for (size_t i = 0; words[i]; i++)
		sp_buf_addf(&all, "%s%s", i ? ", " : "one of ", words[i]);
	return wrong(name, item, sp_buf_str(&all), err);
}

/* ---- Errors ---- */

/* Our code for a number of the wire; SP_OK for one that means nothing. */
static enum sp_code code_of(int64_t number)
{
	switch (number) {
	case -32601:
		return SP_UNSUPPORTED;
	case -32602:
		return SP_INVALID;
	case -32603:
		return SP_INTERNAL;
	case -32600:
	case -32700:
		return SP_PROTOCOL;
	default:
		return number >= SP_INTERNAL && number < 0 ? (enum sp_code)number : SP_OK;
	}
}

int drv_get_error(const cJSON *error, struct sp_error *err)
{
	const char *message = sp_json_str(error, "message");
	const cJSON *data = member(error, "data");
	const char *name = sp_json_str(data, "name");
	int64_t number = 0, value;
	enum sp_code code;

	if (!sp_json_int(error, "code", &number) || !message)
		return sp_error_set(err, SP_PROTOCOL,
				    "its error lacks a code (an integer) or a message (text)");
	code = code_of(number);
	if (!code || (name && strcmp(name, sp_code_name(code))))
		return sp_error_set(
		    err, SP_PROTOCOL,
		    "its error has the code %" PRId64 "%s%.40s, which means nothing "
		    "here: %.300s",
		    number, name ? " with the name " : "", name ? name : "", message);
	if (!err)
		return code;
	*err = (struct sp_error)SP_ERROR_INIT;
	sp_error_set(err, code, "%s", message);
	sp_error_set_detail(err, sp_json_str(data, "detail"));
	if (sp_json_int(data, "errno", &value) && value > 0 && value < 4096)
		err->sys_errno = (int)value;
	if (sp_json_int(data, "http_status", &value) && value >= 100 && value < 1000)
		err->http_status = (int)value;
	if (sp_json_int(data, "retry_after_ms", &value) && value > 0 && value <= INT32_MAX)
		err->retry_after_ms = (int)value;
	return code;
}

void drv_put_error(struct sp_buf *out, const struct sp_error *err)
{
	drv_put_open(out, "error", '{');
	drv_put_int(out, "code", err->code);
	drv_put_text(out, "message", err->message);
	drv_put_open(out, "data", '{');
	drv_put_text(out, "name", sp_code_name(err->code));
	if (*err->detail)
		drv_put_text(out, "detail", err->detail);
	if (err->sys_errno)
		drv_put_int(out, "errno", err->sys_errno);
	if (err->http_status)
		drv_put_int(out, "http_status", err->http_status);
	if (err->retry_after_ms)
		drv_put_int(out, "retry_after_ms", err->retry_after_ms);
	sp_buf_adds(out, "}}");
}

/* ---- Records ---- */

void drv_put_record(struct sp_buf *out, const char *name, const struct sp_record *record)
{
	drv_put_open(out, name, '{');
	drv_put_text(out, "key", record->key);
	drv_put_text(out, "provider", record->provider);
	drv_put_text(out, "provider_sandbox_id", record->provider_sandbox_id);
	drv_put_text(out, "latest_snapshot_id", record->latest_snapshot_id);
	drv_put_text(out, "thread_id", record->thread_id);
	drv_put_text(out, "latest_run_id", record->latest_run_id);
	drv_put_int(out, "updated_at", record->updated_at);
	sp_buf_addc(out, '}');
}

static int copy_text(const cJSON *json, const char *name, bool required, char **ret,
		     struct sp_error *err)
{
	const char *text = NULL;
	int rc = required ? drv_get_text(json, name, &text, err)
			  : drv_get_text_opt(json, name, &text, err);

	if (!rc && text && !(*ret = strdup(text)))
		rc = no_memory(err);
	return rc;
}

int drv_get_record(const cJSON *json, struct sp_record *ret, struct sp_error *err)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	const struct {
		const char *name;
		bool required;
		char **text;
	} rows[] = {
	    {"key", true, &record.key},
	    {"provider", true, &record.provider},
	    {"provider_sandbox_id", true, &record.provider_sandbox_id},
	    {"latest_snapshot_id", false, &record.latest_snapshot_id},
	    {"thread_id", true, &record.thread_id},
	    {"latest_run_id", false, &record.latest_run_id},
	};
	int rc = cJSON_IsObject(json) ? 0 : wrong("record", json, "an object", err);

	for (size_t i = 0; !rc && i < SP_COUNT(rows); i++)
		rc = copy_text(json, rows[i].name, rows[i].required, rows[i].text, err);
	if (!rc)
		rc = drv_get_int(json, "updated_at", &record.updated_at, err);
	if (rc)
		return rc;
	*ret = record;
	record = (struct sp_record)SP_RECORD_INIT;
	return 0;
}

/* ---- What a command left ---- */

void drv_put_output(struct sp_buf *out, const struct sp_exec_result *result)
{
	drv_put_bytes(out, "stdout", result->stdout_bytes.data, result->stdout_bytes.len);
	drv_put_bytes(out, "stderr", result->stderr_bytes.data, result->stderr_bytes.len);
	drv_put_int(out, "exit_code", result->exit_code);
	if (result->stdout_cut)
		drv_put_bool(out, "stdout_cut", true);
	if (result->stderr_cut)
		drv_put_bool(out, "stderr_cut", true);
}

int drv_get_output(cJSON *json, struct sp_exec_result *ret, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int64_t code;
	int rc = drv_get_range(json, "exit_code", 0, 255, &code, err);

	if (!rc)
		rc = drv_get_bytes(json, "stdout", &result.stdout_bytes, err);
	if (!rc)
		rc = drv_get_bytes(json, "stderr", &result.stderr_bytes, err);
	if (!rc)
		rc = drv_get_bool_opt(json, "stdout_cut", &result.stdout_cut, err);
	if (!rc)
		rc = drv_get_bool_opt(json, "stderr_cut", &result.stderr_cut, err);
	if (rc)
		return rc;
	result.exit_code = (int)code;
	*ret = result;
	result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}
