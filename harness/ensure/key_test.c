/* SPDX-License-Identifier: MIT */
/* Keys and hashes against the golden vectors (sandbox-contract A.5), and durations. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <ensure/canonical.h>
#include <ensure/key.h>

#define GIT "\"source\":{\"type\":\"git\",\"url\":\"https://github.com/TanStack/ai.git\""

/* Keys: sandbox "repo", provider "render". */
static const struct {
	const char *thread, *tenant, *run, *key;
} keys[] = {
	{ "thread-1", NULL, NULL, "1f0902d6b7ad29f7" },
	{ "thread-1", "{\"orgId\":\"acme\"}", NULL, "d9bce61672951847" },
	{ "thread-1", "{\"userId\":undefined,\"orgId\":\"acme\"}", NULL, "36be9cbafc2b4f0d" },
	{ "thread-1", " { \"orgId\" : \"ac\\u006de\" } ", NULL, "d9bce61672951847" },
	{ "日本", NULL, NULL, "73496f6b0220d917" },
	{ "thread-1", NULL, "run-1", "8f3563f9cdee223f" },
	{ "thread-1:run-1", NULL, NULL, "8f3563f9cdee223f" },
	{ "t0412789", NULL, NULL, "5c75dcfdb7ad29f7" },
	{ "t0649192", NULL, NULL, "5c75dcfdb7ad29f7" },
};

Test(key, golden_keys)
{
	for (size_t i = 0; i < SP_COUNT(keys); i++) {
		struct sp_ensure_options options = SP_ENSURE_OPTIONS_INIT;
		struct sp_error err = SP_ERROR_INIT;
		char key[SP_ENSURE_KEY_SIZE] = "";

		options.thread_id = keys[i].thread;
		options.sandbox_id = "repo";
		options.tenant = keys[i].tenant;
		options.run_id = keys[i].run;
		options.per_run = keys[i].run != NULL;
		cr_assert_eq(sp_ensure_key(&options, "render", key, &err), 0, "%s", err.message);
		cr_expect_str_eq(key, keys[i].key, "thread %s, tenant %s: %s instead of %s",
				 keys[i].thread, keys[i].tenant ? keys[i].tenant : "none", key,
				 keys[i].key);
	}
}

/* Hashes of workspaces, in canonical form and in others. */
static const struct {
	const char *workspace, *hash;
} hashes[] = {
	{ "{}", "5465b825117697cd" },
	{ " {\n} ", "5465b825117697cd" },
	{ "{\"source\":{\"type\":\"none\"}}", "e9d495cc537319ad" },
	{ "{" GIT "}}", "0a66a84f83e79215" },
	{ "{" GIT ",\"ref\":undefined,\"auth\":undefined,\"depth\":undefined}}", "82bc41db3647926"
										 "7" },
	{ "{\"a\":[1,{\"b\":2,\"a\":1}],\"c\":null}", "44aad45f0b2ae445" },
	{ "{\"c\":null,\"a\":[1.0,{\"a\":1,\"b\":0.2e1}]}", "44aad45f0b2ae445" },
};

Test(key, golden_workspaces)
{
	char hash[SP_ENSURE_KEY_SIZE];

	sp_ensure_hash("no-workspace", strlen("no-workspace"), hash);
	cr_expect_str_eq(hash, "2f9912c6e23c62b5");
	for (size_t i = 0; i < SP_COUNT(hashes); i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_error err = SP_ERROR_INIT;

		cr_assert_eq(sp_canonical_object("workspace", hashes[i].workspace,
						 SP_UNDEFINED_KEPT, &text, &err),
			     0, "%s", err.message);
		sp_ensure_hash(sp_buf_str(&text), text.len, hash);
		cr_expect_str_eq(hash, hashes[i].hash, "%s, canonical %s: %s instead of %s",
				 hashes[i].workspace, sp_buf_str(&text), hash, hashes[i].hash);
	}
}

/* A character beyond the basic plane is two units: the same sum by hand. */
Test(key, surrogate_pairs)
{
	char hash[SP_ENSURE_KEY_SIZE];
	char expected[SP_ENSURE_KEY_SIZE];
	uint32_t low = 0x811C9DC5u, high = 0x811C9DC5u;

	low = (low ^ 0x3D) * 0x01000193u;
	high = (high ^ 0xD8) * 0x01000193u;
	low = (low ^ 0x00) * 0x01000193u;
	high = (high ^ 0xDE) * 0x01000193u;
	snprintf(expected, sizeof(expected), "%08x%08x", low, high);
	sp_ensure_hash("\xF0\x9F\x98\x80", 4, hash);
	cr_expect_str_eq(hash, expected, "U+1F600: %s instead of %s", hash, expected);
}

static const struct {
	const char *what, *thread, *sandbox, *run, *workspace, *tenant;
	bool per_run;
} refused[] = {
	{ "no thread", NULL, "repo", NULL, NULL, NULL, false },
	{ "an empty thread", "", "repo", NULL, NULL, NULL, false },
	{ "no sandbox", "t", NULL, NULL, NULL, NULL, false },
	{ "a thread of other bytes", "t\xFF", "repo", NULL, NULL, NULL, false },
	{ "per run without a run", "t", "repo", NULL, NULL, NULL, true },
	{ "a workspace that is no JSON", "t", "repo", NULL, "{a:1}", NULL, false },
	{ "a workspace that is no object", "t", "repo", NULL, "[1]", NULL, false },
	{ "a workspace with secrets", "t", "repo", NULL, "{\"secrets\":{}}", NULL, false },
	{ "a tenant that is text", "t", "repo", NULL, NULL, "\"acme\"", false },
	{ "a member twice", "t", "repo", NULL, NULL, "{\"a\":1,\"a\":2}", false },
	{ "undefined in an array", "t", "repo", NULL, "{\"a\":[undefined]}", NULL, false },
	{ "a workspace cut off", "t", "repo", NULL, "{\"a\":\"x", NULL, false },
	{ "text after it", "t", "repo", NULL, "{} {}", NULL, false },
	{ "an empty workspace text", "t", "repo", NULL, "", NULL, false },
};

Test(key, refused_parts)
{
	for (size_t i = 0; i < SP_COUNT(refused); i++) {
		struct sp_ensure_options options = SP_ENSURE_OPTIONS_INIT;
		struct sp_error err = SP_ERROR_INIT;
		char key[SP_ENSURE_KEY_SIZE] = "untouched";

		options.thread_id = refused[i].thread;
		options.sandbox_id = refused[i].sandbox;
		options.run_id = refused[i].run;
		options.workspace = refused[i].workspace;
		options.tenant = refused[i].tenant;
		options.per_run = refused[i].per_run;
		cr_expect_eq(sp_ensure_key(&options, "render", key, &err), SP_INVALID, "%s",
			     refused[i].what);
		cr_expect(err.message[0], "%s: no message", refused[i].what);
		cr_expect_str_eq(key, "untouched", "%s: the key was touched", refused[i].what);
	}
}

static const struct {
	const char *text;
	int64_t ms;
} ages[] = {
	{ NULL, -1 },
	{ "1m", 60000 },
	{ "90m", 5400000 },
	{ "24h", 86400000 },
	{ "007h", 25200000 },
	{ "1000000h", 3600000000000 },
	{ "", 0 },
	{ "5", 0 },
	{ "h", 0 },
	{ "0h", 0 },
	{ "5d", 0 },
	{ "5 h", 0 },
	{ " 5h", 0 },
	{ "-1h", 0 },
	{ "1.5h", 0 },
	{ "5H", 0 },
	{ "5hm", 0 },
	{ "1h30m", 0 },
	{ "1000001m", 0 },
	{ "99999999999999999999h", 0 },
};

/* 0 stands for a refusal. */
Test(key, durations)
{
	for (size_t i = 0; i < SP_COUNT(ages); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int64_t ms = 7;
		int rc = sp_ensure_age(ages[i].text, &ms, &err);

		cr_expect_eq(rc, ages[i].ms ? 0 : SP_INVALID, "\"%s\": %d", ages[i].text, rc);
		cr_expect_eq(ms, ages[i].ms ? ages[i].ms : 7, "\"%s\": %lld instead of %lld",
			     ages[i].text, (long long)ms, (long long)ages[i].ms);
	}
}

static const struct {
	int64_t updated, now, max;
	bool expired;
} moments[] = {
	{ 0, 100, 100, false },
	{ 0, 101, 100, true },
	{ 0, INT64_MAX, -1, false },
	{ 200, 100, 1, false },
	{ INT64_MIN, INT64_MAX, INT64_MAX, true },
	{ INT64_MIN, INT64_MIN + 5, 5, false },
	{ INT64_MAX, INT64_MIN, 1, false },
};

Test(key, expiry)
{
	for (size_t i = 0; i < SP_COUNT(moments); i++)
		cr_expect_eq(sp_ensure_expired(moments[i].updated, moments[i].now, moments[i].max),
			     moments[i].expired, "row %zu", i);
}
