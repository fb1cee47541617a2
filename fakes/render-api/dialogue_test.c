/* SPDX-License-Identifier: MIT */
/*
 * Golden dialogues: whole exchanges as they stand on the wire, one after the other. In an expected
 * text {name} stands for an id that is new there and must be the same from then on, {time} for any
 * time.
 */
#include <fakes/render-api/testing.h>

struct exchange {
	const char *method;
	const char *target;
	const char *body;
	long status;
	/* NULL: no body at all. */
	const char *answer;
	/* Ask again while the answer holds this. */
	const char *until_not;
};

/* What the names of a dialogue stand for. */
struct bindings {
	char name[8][16];
	char value[8][48];
	size_t n;
};

static const char *value_of(const struct bindings *bindings, const char *name, size_t len)
{
	for (size_t i = 0; i < bindings->n; i++)
		if (strlen(bindings->name[i]) == len && !memcmp(bindings->name[i], name, len))
			return bindings->value[i];
	return NULL;
}

static void keep(struct bindings *bindings, const char *name, size_t name_len, const char *value,
		 size_t len)
{
	cr_assert(bindings->n < SP_COUNT(bindings->name) && len < sizeof(bindings->value[0]));
	snprintf(bindings->name[bindings->n], sizeof(bindings->name[0]), "%.*s", (int)name_len,
		 name);
	snprintf(bindings->value[bindings->n++], sizeof(bindings->value[0]), "%.*s", (int)len,
		 value);
}

static void expand(struct sp_buf *out, const char *text, const struct bindings *bindings)
{
	for (; *text; text++) {
		size_t len = *text == '{' ? strcspn(text + 1, "}") : 0;
		const char *value = len ? value_of(bindings, text + 1, len) : NULL;

		if (value) {
			sp_buf_adds(out, value);
			text += len + 1;
		} else {
			sp_buf_addc(out, *text);
		}
	}
}

/* True for a {word} of small letters, which JSON never has. */
static bool is_name(const char *text, size_t *ret_len)
{
	*ret_len = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz");
	return *text == '{' && *ret_len && text[1 + *ret_len] == '}';
}

/* Compares, binding what is new. Where it differs, or NULL. */
static const char *compare(const char *expected, const char *actual, struct bindings *bindings)
{
	while (*expected) {
		size_t len, n;
		const char *value;

		if (!is_name(expected, &len)) {
			if (*expected++ != *actual++)
				return actual - 1;
			continue;
		}
		value = value_of(bindings, expected + 1, len);
		n = strspn(actual, "abcdefghijklmnopqrstuvwxyz0123456789-:TZ");
		if (value ? n != strlen(value) || memcmp(value, actual, n) != 0 : !n)
			return actual;
		if (!value && (len != 4 || memcmp(expected + 1, "time", 4) != 0) &&
		    (len != 4 || memcmp(expected + 1, "size", 4) != 0))
			keep(bindings, expected + 1, len, actual, n);
		expected += len + 2;
		actual += n;
	}
	return *actual ? actual : NULL;
}

static struct reply say(struct server *server, const struct exchange *exchange,
			const struct bindings *bindings)
{
	struct sp_buf target SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	expand(&target, exchange->target, bindings);
	expand(&body, exchange->body ? exchange->body : "", bindings);
	return ask_api(server, exchange->method, sp_buf_str(&target),
		       exchange->body ? sp_buf_str(&body) : NULL);
}

static void play(struct server *server, const struct exchange *exchanges, size_t n)
{
	struct bindings bindings = { .n = 0 };

	keep(&bindings, "workspace", 9, server->workspace, strlen(server->workspace));
	for (size_t i = 0; i < n; i++) {
		const struct exchange *exchange = &exchanges[i];
		uint64_t limit = sp_deadline_ms(TEST_LIMIT_MS);
		struct reply reply = say(server, exchange, &bindings);

		while (exchange->until_not && has(&reply, exchange->until_not)) {
			cr_assert(sp_now() < limit, "%zu never ends", i);
			reply_done(&reply);
			reply = say(server, exchange, &bindings);
		}
		const char *differs = compare(exchange->answer ? exchange->answer : "",
					      sp_buf_str(&reply.body), &bindings);

		cr_assert(reply.status == exchange->status && !differs,
			  "exchange %zu, %s %s: %ld expected, got %ld\nexpected %s\nactual   "
			  "%s\nfrom     %s",
			  i, exchange->method, exchange->target, exchange->status, reply.status,
			  exchange->answer ? exchange->answer : "", sp_buf_str(&reply.body),
			  differs ? differs : "");
		cr_expect(exchange->status == 204 ||
				  has_header(&reply, "\r\nContent-Type: application/json\r\n"),
			  "exchange %zu: %s", i, sp_buf_str(&reply.headers));
		reply_done(&reply);
	}
}

#define SANDBOX(id, status)                                                                        \
	"{\"id\":\"{" id "}\",\"status\":\"" status "\",\"plan\":\"1c-2g\","                       \
	"\"networkPolicy\":{\"default\":\"allow-all\"},\"region\":\"oregon\","                     \
	"\"timeoutSeconds\":86400,"                                                                \
	"\"createdAt\":\"{time}\",\"terminatedAt\":null,\"sandboxGroupId\":\"{group}\","           \
	"\"idleTimeoutSeconds\":900}"

#define SNAPSHOT(status, captured, size)                                                           \
	"{\"id\":\"{snapshot}\",\"sandboxGroupId\":\"{group}\",\"sourceSandboxId\":\"{source}\","  \
	"\"kind\":\"filesystem\",\"status\":\"" status "\",\"plan\":\"1c-2g\","                    \
	"\"requestedAt\":\"{time}\",\"capturedAt\":" captured ",\"expiresAt\":\"{time}\","         \
	"\"name\":\"base-1\",\"sizeBytes\":" size ",\"error\":null}"

#define AVAILABLE SNAPSHOT("available", "\"{time}\"", "{size}")

/* Section 15 from the first request to the last. */
Test(dialogue, snapshot_and_restore)
{
	static const struct exchange exchanges[] = {
	    {"POST", "/v1/sandboxes", "{\"ownerId\":\"{workspace}\"}", 201,
	     SANDBOX("source", "creating"), NULL},
	    {"GET", "/v1/sandboxes/{source}", NULL, 200, SANDBOX("source", "running"),
	     "\"creating\""},
	    {"POST", "/v1/sandboxes/{source}/snapshots?ownerId={workspace}",
	     "{\"kind\":\"filesystem\",\"name\":\"base-1\"}", 202,
	     SNAPSHOT("creating", "null", "null"), NULL},
	    {"GET", "/v1/sandbox-groups/{group}/snapshots/{snapshot}?ownerId={workspace}", NULL,
	     200, AVAILABLE, "\"creating\""},
	    {"GET", "/v1/sandbox-groups/{group}/snapshots?ownerId={workspace}&status=available",
	     NULL, 200, "[{\"snapshot\":" AVAILABLE ",\"cursor\":\"{cursor}\"}]", NULL},
	    {"GET", "/v1/sandbox-groups/{group}/snapshots?ownerId={workspace}&cursor={cursor}",
	     NULL, 200, "[]", NULL},
	    {"GET",
	     "/v1/sandbox-groups/{group}/snapshots?ownerId={workspace}&status=creating,failed",
	     NULL, 200, "[]", NULL},
	    {"POST", "/v1/sandboxes/{source}/terminate?ownerId={workspace}", NULL, 204, NULL, NULL},
	    {"POST", "/v1/sandboxes", "{\"ownerId\":\"{workspace}\",\"snapshotName\":\"base-1\"}",
	     201, SANDBOX("copy", "creating"), NULL},
	    {"GET", "/v1/sandboxes/{copy}", NULL, 200, SANDBOX("copy", "running"), "\"creating\""},
	    {"DELETE", "/v1/sandbox-groups/{group}/snapshots/{snapshot}?ownerId={workspace}", NULL,
	     204, NULL, NULL},
	    {"DELETE", "/v1/sandbox-groups/{group}/snapshots/{snapshot}?ownerId={workspace}", NULL,
	     204, NULL, NULL},
	    {"GET", "/v1/sandbox-groups/{group}/snapshots/{snapshot}?ownerId={workspace}", NULL,
	     404, "{\"code\":\"snapshot_not_found\",\"message\":\"snapshot not found\"}", NULL},
	    {"POST", "/v1/sandboxes", "{\"ownerId\":\"{workspace}\",\"snapshotId\":\"{snapshot}\"}",
	     404, "{\"code\":\"snapshot_not_found\",\"message\":\"snapshot not found\"}", NULL},
	    {"GET", "/v1/sandboxes/{copy}", NULL, 200, SANDBOX("copy", "running"), NULL},
	};
	struct server server = server_start('C', NULL);

	play(&server, exchanges, SP_COUNT(exchanges));
	server_stop(&server);
}

/* What is refused, with its code. */
Test(dialogue, refusals)
{
	static const struct exchange exchanges[] = {
	    {"POST", "/v1/sandboxes", "{\"ownerId\":\"{workspace}\"}", 201,
	     SANDBOX("source", "creating"), NULL},
	    {"GET", "/v1/sandboxes/{source}", NULL, 200, SANDBOX("source", "running"),
	     "\"creating\""},
	    {"POST", "/v1/sandboxes/{source}/snapshots",
	     "{\"kind\":\"filesystem\",\"name\":\"snp-1\"}", 400,
	     "{\"code\":\"invalid_snapshot_name\","
	     "\"message\":\"name must have 1 to 64 characters and must not start with snp-\"}",
	     NULL},
	    {"POST", "/v1/sandboxes/{source}/terminate", NULL, 204, NULL, NULL},
	    {"POST", "/v1/sandboxes/{source}/snapshots", "{\"kind\":\"runtime\"}", 409,
	     "{\"code\":\"sandbox_not_running\",\"message\":\"sandbox is not running\"}", NULL},
	    {"DELETE", "/v1/sandbox-groups/{group}/snapshots/snp-00000000000000000000", NULL, 404,
	     "{\"code\":\"snapshot_not_found\",\"message\":\"snapshot not found\"}", NULL},
	    {"POST", "/v1/sandboxes/{source}/suspend", NULL, 404, "{\"message\":\"not found\"}",
	     NULL},
	};
	struct server server = server_start('C', NULL);

	play(&server, exchanges, SP_COUNT(exchanges));
	server_stop(&server);
}
