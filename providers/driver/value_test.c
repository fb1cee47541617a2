/* SPDX-License-Identifier: MIT */
/* What stands on the wire is taken as PROTOCOL.md says, or refused with the member's name. */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <providers/driver/value.h>

/* An object of the wire; the caller frees it. */
static cJSON *parse(const char *text)
{
	cJSON *json = NULL;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_json_parse(text, strlen(text), 1 << 20, &json, &err), 0, "%s: %s", text,
		     err.message);
	return json;
}

/* ---- Members, each read by one function; `a` is the member's name. ---- */

static const char *const words[] = {"here", "there", NULL};

static int take_string(cJSON *json, struct sp_error *err)
{
	char *text SP_FREE = NULL;

	return drv_get_string(json, "a", &text, err);
}

static int take_int(cJSON *json, struct sp_error *err)
{
	int64_t value;

	return drv_get_int(json, "a", &value, err);
}

static int take_uint(cJSON *json, struct sp_error *err)
{
	uint64_t value;

	return drv_get_uint_opt(json, "a", &value, err);
}

static int take_range(cJSON *json, struct sp_error *err)
{
	int64_t value;

	return drv_get_range(json, "a", 1, 9, &value, err);
}

static int take_bool(cJSON *json, struct sp_error *err)
{
	bool value;

	return drv_get_bool(json, "a", &value, err);
}

static int take_array(cJSON *json, struct sp_error *err)
{
	const cJSON *array;

	return drv_get_array(json, "a", &array, err);
}

static int take_env(cJSON *json, struct sp_error *err)
{
	struct drv_env env SP_CLEANUP(drv_env_done) = DRV_ENV_INIT;

	return drv_get_env_opt(json, "a", &env, err);
}

static int take_word(cJSON *json, struct sp_error *err)
{
	int word;

	return drv_get_word(json, "a", words, -1, &word, err);
}

static int take_record(cJSON *json, struct sp_error *err)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;

	return drv_get_record(cJSON_GetObjectItemCaseSensitive(json, "a"), &record, err);
}

static int take_output(cJSON *json, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;

	return drv_get_output(cJSON_GetObjectItemCaseSensitive(json, "a"), &result, err);
}

#define RECORD(more)                                                                               \
	"{\"a\":{\"key\":\"k\",\"provider\":\"p\",\"provider_sandbox_id\":\"s\","                  \
	"\"thread_id\":\"t\"" more "}}"

static const struct {
	int (*take)(cJSON *json, struct sp_error *err);
	const char *text;
	/* What the refusal says; NULL: it is taken. */
	const char *says;
} rows[] = {
    {take_string, "{\"a\":\"text\"}", NULL},
    {take_string, "{\"a\":{\"base64\":\"AQID\"}}", NULL},
    {take_string, "{\"a\":7}", "\"a\""},
    {take_string, "{}", "\"a\""},
    {take_string, "{\"a\":{\"base64\":\"AQI\"}}", "base64 with its padding"},
    {take_string, "{\"a\":{\"base64\":\"AAA=\"}}", "free of NUL"},
    {take_int, "{\"a\":-7}", NULL},
    {take_int, "{\"a\":\"-9223372036854775808\"}", NULL},
    {take_int, "{\"a\":\"9223372036854775808\"}", "an integer of 64 bits"},
    {take_int, "{\"a\":\"7x\"}", "an integer"},
    {take_int, "{\"a\":\"\"}", "an integer"},
    {take_int, "{\"a\":1.5}", "an integer"},
    {take_int, "{\"a\":null}", "an integer"},
    {take_uint, "{}", NULL},
    {take_uint, "{\"a\":\"18446744073709551615\"}", NULL},
    {take_uint, "{\"a\":\"18446744073709551616\"}", "an integer"},
    {take_uint, "{\"a\":-1}", "0 or more"},
    {take_uint, "{\"a\":true}", "an integer"},
    {take_range, "{\"a\":9}", NULL},
    {take_range, "{\"a\":10}", "1 to 9 are allowed"},
    {take_range, "{\"a\":0}", "1 to 9 are allowed"},
    {take_bool, "{\"a\":false}", NULL},
    {take_bool, "{\"a\":0}", "true or false"},
    {take_array, "{\"a\":[]}", NULL},
    {take_array, "{\"a\":{}}", "an array"},
    {take_env, "{}", NULL},
    {take_env, "{\"a\":{\"X\":\"1\",\"Y\":{\"base64\":\"AQID\"}}}", NULL},
    {take_env, "{\"a\":[]}", "an object"},
    {take_env, "{\"a\":{\"X\":1}}", "a text"},
    {take_env, "{\"a\":{\"X\":{\"base64\":\"AAA=\"}}}", "free of NUL"},
    {take_word, "{\"a\":\"there\"}", NULL},
    {take_word, "{\"a\":\"nowhere\"}", "one of here, there"},
    {take_word, "{}", "one of here, there"},
    {take_record, RECORD(",\"updated_at\":5"), NULL},
    {take_record, RECORD(",\"updated_at\":5,\"latest_run_id\":null"), "latest_run_id"},
    {take_record, RECORD(",\"updated_at\":5,\"latest_run_id\":7"), "latest_run_id"},
    {take_record, RECORD(""), "updated_at"},
    {take_record, "{\"a\":[]}", "an object"},
    {take_output, "{\"a\":{\"exit_code\":3,\"stdout\":\"x\",\"stderr\":\"\"}}", NULL},
    {take_output, "{\"a\":{\"exit_code\":256,\"stdout\":\"\",\"stderr\":\"\"}}", "0 to 255"},
    {take_output, "{\"a\":{\"exit_code\":3,\"stdout\":\"x\"}}", "stderr"},
    {take_output, "{\"a\":{\"exit_code\":3,\"stdout\":\"x\",\"stderr\":\"\",\"stdout_cut\":1}}",
     "stdout_cut"},
};

Test(value, a_member_is_taken_or_refused_by_name)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		cJSON *json SP_CLEANUP(sp_json_done) = parse(rows[i].text);
		struct sp_error err = SP_ERROR_INIT;
		int rc = rows[i].take(json, &err);

		cr_expect(!rc == !rows[i].says, "%s: %s %s", rows[i].text, sp_code_name(rc),
			  err.message);
		cr_expect(!rows[i].says || strstr(err.message, rows[i].says),
			  "%s: \"%s\" does not say \"%s\"", rows[i].text, err.message,
			  rows[i].says);
	}
}

/* ---- Errors ---- */

static const struct {
	const char *text;
	int code;
	const char *says;
} errors[] = {
    {"{\"code\":-32600,\"message\":\"m\"}", SP_PROTOCOL, "m"},
    {"{\"code\":-32700,\"message\":\"m\"}", SP_PROTOCOL, "m"},
    {"{\"code\":-32601,\"message\":\"m\"}", SP_UNSUPPORTED, "m"},
    {"{\"code\":-32602,\"message\":\"m\"}", SP_INVALID, "m"},
    {"{\"code\":-32603,\"message\":\"m\"}", SP_INTERNAL, "m"},
    {"{\"code\":-9999,\"message\":\"m\"}", SP_PROTOCOL, "-9999, which means nothing here: m"},
    {"{\"code\":0,\"message\":\"m\"}", SP_PROTOCOL, "means nothing here"},
    {"{\"code\":-32601,\"message\":\"m\",\"data\":{\"name\":\"gone\"}}", SP_PROTOCOL,
     "with the name gone"},
    {"{\"code\":\"-32601\",\"message\":\"m\"}", SP_PROTOCOL, "lacks a code"},
    {"{\"code\":-32601}", SP_PROTOCOL, "lacks a code"},
};

Test(value, an_error_of_the_wire_is_one_of_ours)
{
	for (size_t i = 0; i < SP_COUNT(errors); i++) {
		cJSON *json SP_CLEANUP(sp_json_done) = parse(errors[i].text);
		struct sp_error err = SP_ERROR_INIT;
		int rc = drv_get_error(json, &err);

		cr_expect_eq(rc, errors[i].code, "%s: %s", errors[i].text, sp_code_name(rc));
		cr_expect(strstr(err.message, errors[i].says), "%s: \"%s\"", errors[i].text,
			  err.message);
		cr_expect_eq(drv_get_error(json, NULL), errors[i].code, "%s", errors[i].text);
	}
}

Test(value, an_error_goes_there_and_back_whole)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	struct sp_error sent = SP_ERROR_INIT, got = SP_ERROR_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;

	(void)sp_error_set(&sent, SP_RATE_LIMITED, "too many");
	sp_error_set_detail(&sent, "of us");
	sent.sys_errno = EAGAIN;
	sent.http_status = 429;
	sent.retry_after_ms = 1500;
	sp_buf_addc(&out, '{');
	drv_put_error(&out, &sent);
	sp_buf_addc(&out, '}');
	json = parse(sp_buf_str(&out));
	cr_expect_eq(drv_get_error(cJSON_GetObjectItemCaseSensitive(json, "error"), &got),
		     SP_RATE_LIMITED, "%s", sp_buf_str(&out));
	cr_expect_str_eq(got.message, sent.message);
	cr_expect_str_eq(got.detail, sent.detail);
	cr_expect_eq(got.sys_errno, EAGAIN, "%d", got.sys_errno);
	cr_expect_eq(got.http_status, 429, "%d", got.http_status);
	cr_expect_eq(got.retry_after_ms, 1500, "%d", got.retry_after_ms);
}

Test(value, an_output_goes_there_and_back_whole)
{
	static const unsigned char bytes[] = {0, 0xff, '\n'};
	struct sp_exec_result sent = SP_EXEC_RESULT_INIT, got = SP_EXEC_RESULT_INIT;
	struct sp_buf out SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;

	sent.stdout_bytes = (struct sp_bytes){(unsigned char *)bytes, sizeof(bytes)};
	sent.exit_code = 255;
	sent.stdout_cut = sent.stderr_cut = true;
	sp_buf_addc(&out, '{');
	drv_put_output(&out, &sent);
	sp_buf_addc(&out, '}');
	json = parse(sp_buf_str(&out));
	cr_assert_eq(drv_get_output(json, &got, &err), 0, "%s", err.message);
	cr_expect(got.exit_code == 255 && got.stdout_cut && got.stderr_cut);
	cr_expect(got.stdout_bytes.len == sizeof(bytes) &&
		      !memcmp(got.stdout_bytes.data, bytes, sizeof(bytes)),
		  "%s", sp_buf_str(&out));
	cr_expect_eq(got.stderr_bytes.len, 0);
	sp_exec_result_done(&got);
}
