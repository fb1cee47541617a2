/* SPDX-License-Identifier: MIT */
#include <ensure/key.h>

#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>
#include <ensure/canonical.h>

#define FNV_OFFSET 0x811C9DC5u
#define FNV_PRIME 0x01000193u
/* What is hashed where there is no workspace; not JSON, so no workspace meets it. */
#define NO_WORKSPACE "no-workspace"
/* A thread or run id may be long; what is hashed of it is not kept. */
#define MATERIAL_CEILING (8 * SP_CANONICAL_MAX)
#define AGE_MAX 1000000
#define MINUTE_MS INT64_C(60000)

struct lanes {
	uint32_t low, high;
};

static void add_unit(struct lanes *lanes, unsigned unit)
{
	lanes->low = (lanes->low ^ (unit & 0xFF)) * FNV_PRIME;
	lanes->high = (lanes->high ^ (unit >> 8)) * FNV_PRIME;
}

/* Reads one character of valid UTF-8. */
static unsigned code_point(const char *text, size_t len)
{
	static const unsigned char lead_bits[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	unsigned c = (unsigned char)text[0] & lead_bits[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)text[i] & 0x3F);
	return c;
}

void sp_ensure_hash(const char *text, size_t len, char ret_hash[SP_ENSURE_KEY_SIZE])
{
	struct lanes lanes = { FNV_OFFSET, FNV_OFFSET };

	for (size_t at = 0; at < len;) {
		bool valid;
		size_t step = sp_utf8_next(text + at, len - at, &valid);
		unsigned c = valid ? code_point(text + at, step) : 0xFFFD;

		if (c >= 0x10000) {
			add_unit(&lanes, 0xD800 + ((c - 0x10000) >> 10));
			c = 0xDC00 + ((c - 0x10000) & 0x3FF);
		}
		add_unit(&lanes, c);
		at += step;
	}
	snprintf(ret_hash, SP_ENSURE_KEY_SIZE, "%08x%08x", lanes.low, lanes.high);
}

static int check_part(const char *name, const char *text, struct sp_error *err)
{
	if (!text || !*text)
		return sp_error_set(err, SP_INVALID,
				    "%s is missing: a key without it would be everybody's", name);
	if (!sp_utf8_valid(text, strlen(text)))
		return sp_error_set(err, SP_INVALID, "%s is not UTF-8", name);
	return 0;
}

static int check_parts(const struct sp_ensure_options *options, const char *provider_name,
		       struct sp_error *err)
{
	int rc = check_part("thread_id", options->thread_id, err);

	if (!rc)
		rc = check_part("sandbox_id", options->sandbox_id, err);
	if (!rc)
		rc = check_part("the provider's name", provider_name, err);
	if (!rc && (options->per_run || options->run_id))
		rc = check_part("run_id", options->run_id, err);
	return rc;
}

/* Hash of the workspace as it is described, or of the text that says there is none. */
static int workspace_hash(const char *workspace, char ret_hash[SP_ENSURE_KEY_SIZE],
			  struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * SP_CANONICAL_MAX);
	int rc = 0;

	if (!workspace)
		sp_buf_adds(&text, NO_WORKSPACE);
	else
		rc = sp_canonical_object("workspace", workspace, SP_UNDEFINED_KEPT, &text, err);
	if (rc)
		return rc;
	if (workspace && sp_canonical_has(workspace, "secrets"))
		return sp_error_set(err, SP_INVALID,
				    "the workspace has a member `secrets`; secrets go into env, "
				    "where "
				    "no key and no record holds them");
	sp_ensure_hash(sp_buf_str(&text), text.len, ret_hash);
	return 0;
}

static void add_member(struct sp_buf *out, const char *name, const char *value)
{
	sp_buf_addf(out, ",\"%s\":", name);
	sp_buf_add_json(out, value, strlen(value));
}

/* One sandbox a run: the run is part of the thread's name then. */
static void add_thread(struct sp_buf *out, const struct sp_ensure_options *options)
{
	struct sp_buf thread SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MATERIAL_CEILING);

	sp_buf_adds(&thread, options->thread_id);
	if (options->per_run)
		sp_buf_addf(&thread, ":%s", options->run_id);
	add_member(out, "threadId", sp_buf_str(&thread));
	if (thread.error)
		out->error = thread.error;
}

int sp_ensure_key(const struct sp_ensure_options *options, const char *provider_name,
		  char ret_key[SP_ENSURE_KEY_SIZE], struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MATERIAL_CEILING);
	char workspace[SP_ENSURE_KEY_SIZE];
	int rc = check_parts(options, provider_name, err);

	if (!rc)
		rc = workspace_hash(options->workspace, workspace, err);
	if (rc)
		return rc;
	sp_buf_adds(&text, "{\"providerName\":");
	sp_buf_add_json(&text, provider_name, strlen(provider_name));
	add_member(&text, "sandboxId", options->sandbox_id);
	sp_buf_adds(&text, ",\"tenant\":");
	if (!options->tenant)
		sp_buf_adds(&text, "null");
	else
		rc = sp_canonical_object("tenant", options->tenant, SP_UNDEFINED_KEPT, &text, err);
	if (rc)
		return rc;
	add_thread(&text, options);
	add_member(&text, "workspaceHash", workspace);
	sp_buf_addc(&text, '}');
	if (text.error)
		return sp_error_set(err, SP_INVALID, "the parts of the key have more than %d bytes",
				    MATERIAL_CEILING);
	sp_ensure_hash(sp_buf_str(&text), text.len, ret_key);
	return 0;
}

int sp_ensure_age(const char *text, int64_t *ret_ms, struct sp_error *err)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;
	int64_t n = 0;

	if (!text) {
		*ret_ms = -1;
		return 0;
	}
	for (size_t i = 0; i < digits && n <= AGE_MAX; i++)
		n = n * 10 + (text[i] - '0');
	if (n < 1 || n > AGE_MAX || (strcmp(text + digits, "h") && strcmp(text + digits, "m")))
		return sp_error_set(err, SP_INVALID,
				    "max_age is \"<n>h\" or \"<n>m\" with n from 1 to %d, not "
				    "\"%.80s\"",
				    AGE_MAX, text);
	*ret_ms = n * (text[digits] == 'h' ? 60 * MINUTE_MS : MINUTE_MS);
	return 0;
}

bool sp_ensure_expired(int64_t updated_at, int64_t now_ms, int64_t max_age_ms)
{
	/* In unsigned numbers, since a record may hold any 64-bit time. */
	return max_age_ms >= 0 && updated_at < now_ms &&
	       (uint64_t)now_ms - (uint64_t)updated_at > (uint64_t)max_age_ms;
}
