/* SPDX-License-Identifier: MIT */
/* Every route's answers, good and bad, against a server in a child. */
#include <fakes/render-api/testing.h>

/* What {s}, {e}, {w} and {g} in a row stand for. */
struct names {
	const char *sandbox;
	const char *exec;
	const char *workspace;
	const char *group;
};

#define A8 "aaaaaaaa"
#define A64 A8 A8 A8 A8 A8 A8 A8 A8

enum who { OWN, NOBODY, WRONG, CONTROL };

struct row {
	const char *what;
	const char *method;
	const char *target;
	enum who who;
	const char *body;
	long status;
	const char *contains;
};

static void expand(struct sp_buf *out, const char *text, const struct names *names)
{
	for (; *text; text++) {
		const char *name = NULL;

		if (!strncmp(text, "{s}", 3))
			name = names->sandbox;
		else if (!strncmp(text, "{e}", 3))
			name = names->exec;
		else if (!strncmp(text, "{w}", 3))
			name = names->workspace;
		else if (!strncmp(text, "{g}", 3))
			name = names->group;
		if (name)
			text += 2;
		if (name)
			sp_buf_adds(out, name);
		else
			sp_buf_addc(out, *text);
	}
}

static const char *bearer_of(const struct server *server, enum who who)
{
	switch (who) {
	case OWN:
		return server->key;
	case NOBODY:
		return NULL;
	case WRONG:
		return "rnd_0000000000000000000000000000000000000";
	case CONTROL:
		return server->control_token;
	}
	return NULL;
}

/* Every answer with a body is JSON of its content type; every error has a message. */
static void check_shape(const struct row *row, const struct reply *reply)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (row->status == 204) {
		cr_expect(!reply->body.len, "%s: 204 with a body", row->what);
		return;
	}
	cr_expect(has_header(reply, "\r\nContent-Type: application/json\r\n"),
		  "%s: application/json expected, got\n%s", row->what, sp_buf_str(&reply->headers));
	cr_expect(!sp_json_parse(sp_buf_str(&reply->body), reply->body.len, TEST_BODY, &json, &err),
		  "%s: not JSON: %s", row->what, sp_buf_str(&reply->body));
	cr_expect(has_header(reply, "\r\nrender-request-id: "), "%s: no render-request-id",
		  row->what);
	if (reply->status >= 400)
		cr_expect(json && sp_json_str(json, "message") && *sp_json_str(json, "message"),
			  "%s: an error without a message: %s", row->what,
			  sp_buf_str(&reply->body));
}

static void check(struct server *server, const struct row *row, const struct names *names)
{
	struct sp_buf target SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	expand(&target, row->target, names);
	expand(&body, row->body ? row->body : "", names);
	struct reply reply SP_CLEANUP(reply_done) =
	    server_ask(server, &(struct ask){.method = row->method,
					     .target = sp_buf_str(&target),
					     .bearer = bearer_of(server, row->who),
					     .body = row->body ? sp_buf_str(&body) : NULL,
					     .body_len = body.len});

	cr_expect(reply.status == row->status, "%s: status %ld expected, got %ld: %s", row->what,
		  row->status, reply.status, sp_buf_str(&reply.body));
	cr_expect(!row->contains || has(&reply, row->contains), "%s: `%s` expected in %s",
		  row->what, row->contains, sp_buf_str(&reply.body));
	check_shape(row, &reply);
}

static const struct row rows[] = {
    {"unknown path", "GET", "/v1/nothing", OWN, NULL, 404, "not found"},
    {"no version", "GET", "/sandboxes", OWN, NULL, 404, NULL},
    {"root", "GET", "/", OWN, NULL, 404, NULL},
    {"wrong method", "DELETE", "/v1/sandboxes/{s}", OWN, NULL, 405, NULL},
    {"wrong method with a body", "PUT", "/v1/sandboxes", OWN, "{}", 405, NULL},
    {"resuming has no known wire form", "POST", "/v1/sandboxes/{s}/resume", OWN, NULL, 404,
     "not found"},
    {"nor has making a group", "POST", "/v1/sandbox-groups", OWN, "{}", 404, "not found"},
    {"nor have images", "POST", "/v1/sandbox-groups/{g}/images", OWN, "{}", 404, "not found"},
    {"logs are absent", "GET", "/v1/sandboxes/{s}/logs", OWN, NULL, 404, "not found"},
    {"no key", "GET", "/v1/sandboxes", NOBODY, NULL, 401, "unauthorized"},
    {"wrong key", "GET", "/v1/sandboxes", WRONG, NULL, 401, "unauthorized"},
    {"wrong key with a body", "POST", "/v1/sandboxes", WRONG, "{}", 401, NULL},
    {"control token is no key", "GET", "/v1/sandboxes", CONTROL, NULL, 401, NULL},

    {"create", "POST", "/v1/sandboxes", OWN, "{\"ownerId\":\"{w}\"}", 201,
     "\"status\":\"creating\""},
    {"create without owner", "POST", "/v1/sandboxes", OWN, "{}", 400, "ownerId is required"},
    {"create without body", "POST", "/v1/sandboxes", OWN, NULL, 400, "ownerId is required"},
    {"create for another", "POST", "/v1/sandboxes", OWN, "{\"ownerId\":\"tea-x\"}", 403, NULL},
    {"create from an array", "POST", "/v1/sandboxes", OWN, "[]", 400, "object"},
    {"create from half a text", "POST", "/v1/sandboxes", OWN, "{\"ownerId\":", 400, "JSON"},
    {"create with a NUL", "POST", "/v1/sandboxes", OWN, "{\"ownerId\":\"\\u0000\"}", 400, "JSON"},
    {"create twice over", "POST", "/v1/sandboxes", OWN, "{\"ownerId\":\"{w}\"}x", 400, "JSON"},
    {"create with an old plan", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"plan\":\"starter\"}", 201, "\"plan\":\"starter\""},
    {"create with no plan at all", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"plan\":\"huge\"}", 400, "plan"},
    {"create with a list of domains", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"networkPolicy\":{\"default\":\"allow-list\","
     "\"allowedDomains\":[\"example.com\",\"*.example.org\"]}}",
     201, "\"allowedDomains\":[\"example.com\",\"*.example.org\"]"},
    {"create with domains out of place", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"networkPolicy\":{\"default\":\"deny-all\","
     "\"allowedDomains\":[\"example.com\"]}}",
     400, "allowedDomains"},
    {"create with a wildcard inside", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"networkPolicy\":{\"default\":\"allow-list\","
     "\"allowedDomains\":[\"a.*.com\"]}}",
     400, "allowedDomains"},
    {"create with an unknown policy", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"networkPolicy\":{\"default\":\"maybe\"}}", 400, "networkPolicy"},
    {"create with half a second", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"timeoutSeconds\":1.5}", 400, "timeoutSeconds"},
    {"create for ever", "POST", "/v1/sandboxes", OWN, "{\"ownerId\":\"{w}\",\"timeoutSeconds\":0}",
     201, "\"timeoutSeconds\":0"},
    {"create with a short idle time", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"idleTimeoutSeconds\":10}", 400, "idleTimeoutSeconds"},
    {"create elsewhere", "POST", "/v1/sandboxes", OWN, "{\"ownerId\":\"{w}\",\"region\":\"mars\"}",
     400, "region"},
    {"create from two snapshots", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"snapshotId\":\"snp-x\",\"snapshotName\":\"x\"}", 400, NULL},
    {"create from a missing snapshot", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"snapshotId\":\"snp-x\"}", 404, "snapshot_not_found"},
    {"create in a strange group", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"sandboxGroupId\":\"sbg-x\"}", 404, "group"},
    {"create with a bad name", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"env\":{\"A=B\":\"c\"}}", 400, "env name"},
    {"create with a number for a value", "POST", "/v1/sandboxes", OWN,
     "{\"ownerId\":\"{w}\",\"env\":{\"A\":1}}", 400, "env values"},

    {"get", "GET", "/v1/sandboxes/{s}?ownerId={w}", OWN, NULL, 200, "\"region\":\"oregon\""},
    {"get without owner", "GET", "/v1/sandboxes/{s}", OWN, NULL, 200, "sbx-"},
    {"get with another owner", "GET", "/v1/sandboxes/{s}?ownerId=tea-x", OWN, NULL, 403, NULL},
    {"get a missing one", "GET", "/v1/sandboxes/sbx-000000000000000000000000x", OWN, NULL, 404,
     "sandbox not found"},

    {"list", "GET", "/v1/sandboxes?ownerId={w}", OWN, NULL, 200, "\"cursor\":\""},
    {"list too much", "GET", "/v1/sandboxes?limit=500", OWN, NULL, 400, "invalid limit: too large"},
    {"list nothing", "GET", "/v1/sandboxes?limit=0", OWN, NULL, 400, "invalid limit"},
    {"list letters", "GET", "/v1/sandboxes?limit=ten", OWN, NULL, 400, "invalid limit"},
    {"list from nowhere", "GET", "/v1/sandboxes?cursor=x", OWN, NULL, 400, "invalid cursor"},
    {"list unknown states", "GET", "/v1/sandboxes?status=asleep", OWN, NULL, 400, "invalid_status"},
    {"list no states", "GET", "/v1/sandboxes?status=errored&status=suspended", OWN, NULL, 200,
     "[]"},

    {"terminate a missing one", "POST", "/v1/sandboxes/sbx-x/terminate", OWN, NULL, 404,
     "sandbox not found"},

    {"mint with no body", "POST", "/v1/sandboxes/{s}/runs/stream/token", OWN, NULL, 201,
     "http://localhost/proxy/"},
    {"mint with an empty object", "POST", "/v1/sandboxes/{s}/runs/stream/token?ownerId={w}", OWN,
     "{}", 201, "\"method\":\"POST\""},
    {"mint with a command", "POST", "/v1/sandboxes/{s}/runs/sync/token", OWN,
     "{\"command\":\"true\"}", 201, "/runs/sync\""},
    {"mint with a number", "POST", "/v1/sandboxes/{s}/runs/sync/token", OWN, "{\"command\":1}", 400,
     "command"},
    {"mint for a missing one", "POST", "/v1/sandboxes/sbx-x/runs/sync/token", OWN, NULL, 404, NULL},
    {"mint of no kind", "POST", "/v1/sandboxes/{s}/runs/other/token", OWN, NULL, 404, NULL},
    {"mint an upload", "POST", "/v1/sandboxes/{s}/files/upload/token?path=%2Ftmp%2Fa+b", OWN, NULL,
     201, "upload?path=%2Ftmp%2Fa%20b\",\"method\":\"PUT\""},
    {"mint a download", "POST", "/v1/sandboxes/{s}/files/download/token?path=.", OWN, NULL, 201,
     "\"method\":\"GET\""},
    {"mint without path", "POST", "/v1/sandboxes/{s}/files/upload/token", OWN, NULL, 400, "path"},
    {"mint for an unclean path", "POST", "/v1/sandboxes/{s}/files/upload/token?path=/a/../b", OWN,
     NULL, 400, "path"},
    {"mint for a folder's slash", "POST", "/v1/sandboxes/{s}/files/download/token?path=/a/", OWN,
     NULL, 400, "path"},
    {"mint for a path with a NUL", "POST", "/v1/sandboxes/{s}/files/upload/token?path=a%00b", OWN,
     NULL, 400, "NUL"},
    {"a NUL in the path of a route", "GET", "/v1/sandboxes/{s}%00x", OWN, NULL, 400, "NUL"},
    {"mint for bytes that are no text", "POST", "/v1/sandboxes/{s}/files/download/token?path=%ff",
     OWN, NULL, 400, "path"},

    {"files without a path", "GET", "/v1/sandboxes/{s}/files/list", OWN, NULL, 400, "path"},
    {"files of home by name", "GET", "/v1/sandboxes/{s}/files/list?path=root", OWN, NULL, 400,
     "path"},
    {"files all the way down", "GET", "/v1/sandboxes/{s}/files/list?path=%2Ftmp&depth=3", OWN, NULL,
     400, "depth"},

    {"execs", "GET", "/v1/sandboxes/{s}/execs", OWN, NULL, 200, "\"execution\":{\"id\":\"exe-"},
    {"execs, too many", "GET", "/v1/sandboxes/{s}/execs?limit=101", OWN, NULL, 400, "limit"},
    {"exec", "GET", "/v1/sandboxes/{s}/execs/{e}", OWN, NULL, 200, "\"operation\":\"stream\""},
    {"exec missing", "GET", "/v1/sandboxes/{s}/execs/exe-x", OWN, NULL, 404, "execution"},
    {"status", "POST", "/v1/sandboxes/{s}/execs/{e}/status", OWN, "{\"exitCode\":3}", 200,
     "\"execId\":\"exe-"},
    {"status without code", "POST", "/v1/sandboxes/{s}/execs/{e}/status", OWN, "{}", 400,
     "exitCode"},
    {"exec with its code", "GET", "/v1/sandboxes/{s}/execs/{e}", OWN, NULL, 200, "\"exitCode\":3"},

    {"groups", "GET", "/v1/sandbox-groups?ownerId={w}", OWN, NULL, 200,
     "\"sandboxGroup\":{\"id\":\"sbg-"},
    {"groups of nobody", "GET", "/v1/sandbox-groups", OWN, NULL, 400, "ownerId is required"},
    {"groups of two", "GET", "/v1/sandbox-groups?ownerId={w}&ownerId={w}", OWN, NULL, 400,
     "at most one"},

    {"groups of another", "GET", "/v1/sandbox-groups?ownerId=tea-x", OWN, NULL, 404,
     "owner not found"},

    {"snapshot of no kind", "POST", "/v1/sandboxes/{s}/snapshots", OWN, "{\"kind\":\"memory\"}",
     400, "kind"},
    {"snapshot of a number", "POST", "/v1/sandboxes/{s}/snapshots", OWN, "{\"kind\":1}", 400,
     "kind"},
    {"snapshot without a name", "POST", "/v1/sandboxes/{s}/snapshots", OWN, "{\"name\":\"\"}", 400,
     "invalid_snapshot_name"},
    {"snapshot with an id for a name", "POST", "/v1/sandboxes/{s}/snapshots", OWN,
     "{\"name\":\"snp-x\"}", 400, "invalid_snapshot_name"},
    {"snapshot with a long name", "POST", "/v1/sandboxes/{s}/snapshots", OWN,
     "{\"name\":\"" A64 "a\"}", 400, "invalid_snapshot_name"},
    {"snapshot for the past", "POST", "/v1/sandboxes/{s}/snapshots", OWN,
     "{\"expiresAt\":\"2001-01-01T00:00:00Z\"}", 400, "expiresAt"},
    {"snapshot for no time", "POST", "/v1/sandboxes/{s}/snapshots", OWN,
     "{\"expiresAt\":\"tomorrow\"}", 400, "expiresAt"},
    {"snapshot of a missing one", "POST", "/v1/sandboxes/sbx-x/snapshots", OWN, "{}", 404,
     "sandbox not found"},
    {"snapshots", "GET", "/v1/sandbox-groups/{g}/snapshots?ownerId={w}", OWN, NULL, 200, "[]"},
    {"snapshots of nobody", "GET", "/v1/sandbox-groups/{g}/snapshots", OWN, NULL, 400,
     "invalid_owner_id"},
    {"snapshots of two", "GET", "/v1/sandbox-groups/{g}/snapshots?ownerId={w}&ownerId={w}", OWN,
     NULL, 400, "invalid_owner_id"},
    {"snapshots of no group", "GET", "/v1/sandbox-groups/x/snapshots?ownerId={w}", OWN, NULL, 400,
     "invalid_sandbox_group_id"},
    {"snapshots of a strange group", "GET",
     "/v1/sandbox-groups/sbg-00000000000000000000/snapshots?ownerId={w}", OWN, NULL, 404, "group"},
    {"snapshots in no state", "GET", "/v1/sandbox-groups/{g}/snapshots?ownerId={w}&status=new", OWN,
     NULL, 400, "invalid_status"},
    {"snapshots, too many", "GET", "/v1/sandbox-groups/{g}/snapshots?ownerId={w}&limit=101", OWN,
     NULL, 400, "invalid_limit"},
    {"snapshots from nowhere", "GET", "/v1/sandbox-groups/{g}/snapshots?ownerId={w}&cursor=x", OWN,
     NULL, 400, "invalid_cursor"},
    {"get no snapshot", "GET", "/v1/sandbox-groups/{g}/snapshots/x", OWN, NULL, 400,
     "invalid_snapshot_id"},
    {"get a missing snapshot", "GET", "/v1/sandbox-groups/{g}/snapshots/snp-00000000000000000000",
     OWN, NULL, 404, "snapshot_not_found"},
    {"delete a missing snapshot", "DELETE",
     "/v1/sandbox-groups/{g}/snapshots/snp-00000000000000000000", OWN, NULL, 404,
     "snapshot_not_found"},
    {"no route by snapshot id alone", "GET", "/v1/snapshots/snp-00000000000000000000", OWN, NULL,
     404, "not found"},

    {"proxy without token", "POST", "/proxy/{s}/runs/stream", NOBODY, "{}", 401, "unauthorized"},
    {"proxy with the key", "POST", "/proxy/{s}/runs/stream", OWN, "{}", 401, "unauthorized"},
    {"proxy of a missing one", "POST", "/proxy/sbx-x/runs/stream", OWN, "{}", 404,
     "sandbox_not_found"},
    {"proxy of no kind", "POST", "/proxy/{s}/runs/other", OWN, "{}", 404, NULL},
    {"proxy upload without token", "PUT", "/proxy/{s}/files/upload?path=a", OWN, "bytes", 401,
     NULL},

    {"control without token", "POST", "/admin/workspaces", NOBODY, NULL, 401, NULL},
    {"control with the key", "GET", "/admin/workspaces/{w}/census", OWN, NULL, 401, NULL},
    {"control of no workspace", "GET", "/admin/workspaces/tea-x/census", CONTROL, NULL, 404, NULL},
    {"census", "GET", "/admin/workspaces/{w}/census", CONTROL, NULL, 200, "\"sandboxes\":["},
    {"hold of no step", "POST", "/admin/workspaces/{w}/holds", CONTROL,
     "{\"step\":\"x\",\"when\":\"before\"}", 400, "step"},
    {"hold of no side", "POST", "/admin/workspaces/{w}/holds", CONTROL,
     "{\"step\":\"get\",\"when\":\"x\"}", 400, "when"},
    {"hold of no sandbox", "POST", "/admin/workspaces/{w}/holds", CONTROL,
     "{\"step\":\"get\",\"when\":\"after\",\"sandbox_id\":\"sbx-x\"}", 404, NULL},
    {"no such hold", "GET", "/admin/workspaces/{w}/holds/77", CONTROL, NULL, 404, "hold"},
    {"no hold at all", "DELETE", "/admin/workspaces/{w}/holds/x7", CONTROL, NULL, 404, NULL},
    {"fail in no way", "POST", "/admin/workspaces/{w}/failures", CONTROL,
     "{\"step\":\"get\",\"nth\":1,\"how\":\"x\"}", 400, NULL},
    {"fail with success", "POST", "/admin/workspaces/{w}/failures", CONTROL,
     "{\"step\":\"get\",\"nth\":1,\"how\":\"status\",\"status\":200}", 400, NULL},
    {"clear failures", "POST", "/admin/workspaces/{w}/failures", CONTROL,
     "{\"step\":\"get\",\"nth\":0,\"how\":\"clear\"}", 204, NULL},
    {"state of nothing", "POST", "/admin/workspaces/{w}/state", CONTROL,
     "{\"sandbox_id\":\"sbx-x\",\"state\":\"suspended\"}", 404, NULL},
    {"unknown state", "POST", "/admin/workspaces/{w}/state", CONTROL,
     "{\"sandbox_id\":\"{s}\",\"state\":\"asleep\"}", 400, "asleep"},
    {"clock backwards", "POST", "/admin/workspaces/{w}/clock", CONTROL, "{\"advance_ms\":-1}", 400,
     NULL},
    {"fault of no name", "POST", "/admin/workspaces/{w}/faults", CONTROL,
     "{\"fault\":\"x\",\"on\":true}", 400, "fault is unknown"},
    {"fault neither on nor off", "POST", "/admin/workspaces/{w}/faults", CONTROL,
     "{\"fault\":\"edge-403\"}", 400, "neither true nor false"},
    {"clock", "POST", "/admin/workspaces/{w}/clock", CONTROL, "{\"advance_ms\":10}", 204, NULL},

    {"archive of nothing", "GET", "/admin/workspaces/{w}/snapshots/snp-x", CONTROL, NULL, 404,
     "archive_not_found"},

    {"terminate", "POST", "/v1/sandboxes/{s}/terminate?ownerId={w}", OWN, NULL, 204, NULL},
    {"terminate again", "POST", "/v1/sandboxes/{s}/terminate", OWN, NULL, 204, NULL},
    {"get a terminated one", "GET", "/v1/sandboxes/{s}", OWN, NULL, 200,
     "\"status\":\"terminated\""},
    {"mint for a terminated one", "POST", "/v1/sandboxes/{s}/runs/sync/token", OWN, NULL, 404,
     NULL},
    {"snapshot of a terminated one", "POST", "/v1/sandboxes/{s}/snapshots", OWN, "{}", 409,
     "sandbox_not_running"},
    {"execs of a terminated one", "GET", "/v1/sandboxes/{s}/execs", OWN, NULL, 200,
     "\"stoppedAt\""},
    {"reset", "POST", "/admin/workspaces/{w}/reset", CONTROL, NULL, 204, NULL},
    {"census after it", "GET", "/admin/workspaces/{w}/census", CONTROL, NULL, 200,
     "{\"sandboxes\":[],\"snapshots\":0,\"holds\":0"},
};

Test(routes, every_answer)
{
	struct server server = server_start('C', NULL);
	struct reply groups SP_CLEANUP(reply_done) = {.status = 0};
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandbox-groups?ownerId=%s", server.workspace);
	groups = ask_api(&server, "GET", target, NULL);
	cr_expect(has(&groups, "[]"), "no group before the first sandbox expected: %s",
		  sp_buf_str(&groups.body));
	char *sandbox SP_FREE = make_sandbox(&server);
	struct mint exec = mint(&server, sandbox, "runs/stream", "");
	char *group SP_FREE = group_id(&server, sandbox);
	struct names names = {sandbox, exec.exec, server.workspace, group};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		check(&server, &rows[i], &names);
	server_stop(&server);
}

/* Pages of two, newest first, until a page is empty. */
static void walk_pages(struct server *server, char **ids, size_t n)
{
	char cursor[64] = "";
	size_t at = n;

	for (;;) {
		char target[256];
		cJSON *json SP_CLEANUP(sp_json_done) = NULL;
		const cJSON *item;

		snprintf(target, sizeof(target), "/v1/sandboxes?limit=2%s%s",
			 *cursor ? "&cursor=" : "", cursor);
		struct reply reply SP_CLEANUP(reply_done) = ask_api(server, "GET", target, NULL);

		sp_json_parse(reply.body.data, reply.body.len, TEST_BODY, &json, NULL);
		if (!cJSON_GetArraySize(json))
			break;
		cJSON_ArrayForEach(item, json)
		{
			const char *id = sp_json_str(cJSON_GetObjectItem(item, "sandbox"), "id");

			cr_expect(at && !strcmp(id, ids[--at]), "`%s` expected, got `%s`", ids[at],
				  id);
			snprintf(cursor, sizeof(cursor), "%s", sp_json_str(item, "cursor"));
		}
	}
	cr_expect(at == 0, "%zu sandboxes were not listed", at);
}

Test(routes, pages_and_states)
{
	static const struct {
		const char *query;
		int n;
	} rows_of[] = {
	    {"", 4},
	    {"?status=terminated", 1},
	    {"?status=terminated&status=running", 4},
	    {"?status=terminated,suspended", 2},
	    {"?status=suspended", 1},
	    {"?status=running&limit=1", 1},
	};
	struct server server = server_start('C', NULL);
	char *ids[5];
	char body[256];

	for (size_t i = 0; i < 5; i++)
		ids[i] = make_sandbox(&server);
	walk_pages(&server, ids, 5);
	snprintf(body, sizeof(body), "{\"sandbox_id\":\"%s\",\"state\":\"suspended\"}", ids[1]);
	cr_expect(control_do(&server, "POST", "state", body) == 204);
	snprintf(body, sizeof(body), "{\"sandbox_id\":\"%s\",\"state\":\"terminated\"}", ids[3]);
	cr_expect(control_do(&server, "POST", "state", body) == 204);
	for (size_t i = 0; i < SP_COUNT(rows_of); i++) {
		cJSON *json SP_CLEANUP(sp_json_done) = NULL;
		char target[128];

		snprintf(target, sizeof(target), "/v1/sandboxes%s", rows_of[i].query);
		struct reply reply SP_CLEANUP(reply_done) = ask_api(&server, "GET", target, NULL);

		sp_json_parse(reply.body.data, reply.body.len, TEST_BODY, &json, NULL);
		cr_expect(cJSON_GetArraySize(json) == rows_of[i].n, "`%s`: %d expected, got %d: %s",
			  rows_of[i].query, rows_of[i].n, cJSON_GetArraySize(json),
			  sp_buf_str(&reply.body));
	}
	for (size_t i = 0; i < 5; i++)
		free(ids[i]);
	server_stop(&server);
}

Test(routes, eras)
{
	static const struct {
		char era;
		const char *more;
		long status;
		const char *contains;
		const char *lacks;
	} rows_of[] = {
	    {'A', "", 201, "\"plan\":\"starter\"", "sandboxGroupId"},
	    {'A', ",\"plan\":\"1c-2g\"", 201, "\"plan\":\"1c-2g\"", NULL},
	    {'A', ",\"networkPolicy\":{\"default\":\"allow-list\",\"allowedDomains\":[\"a.b\"]}",
	     400, "networkPolicy", NULL},
	    {'A', ",\"timeoutSeconds\":0", 400, "timeoutSeconds", NULL},
	    {'B', ",\"networkPolicy\":{\"default\":\"allow-list\",\"allowedDomains\":[\"a.b\"]}",
	     201, "allow-list", "idleTimeoutSeconds"},
	    {'C', "", 201, "\"idleTimeoutSeconds\":900", NULL},
	};

	for (size_t i = 0; i < SP_COUNT(rows_of); i++) {
		struct server server = server_start(rows_of[i].era, NULL);
		char body[512];

		snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"%s}", server.workspace,
			 rows_of[i].more);
		struct reply reply SP_CLEANUP(reply_done) =
		    ask_api(&server, "POST", "/v1/sandboxes", body);

		cr_expect(reply.status == rows_of[i].status, "era %c%s: %ld expected, got %ld",
			  rows_of[i].era, rows_of[i].more, rows_of[i].status, reply.status);
		cr_expect(has(&reply, rows_of[i].contains), "era %c: `%s` expected in %s",
			  rows_of[i].era, rows_of[i].contains, sp_buf_str(&reply.body));
		cr_expect(!rows_of[i].lacks || !has(&reply, rows_of[i].lacks),
			  "era %c: no `%s` expected in %s", rows_of[i].era, rows_of[i].lacks,
			  sp_buf_str(&reply.body));
		server_stop(&server);
	}
}

/* Two workspaces see nothing of each other. */
Test(routes, workspaces_are_apart)
{
	struct server server = server_start('C', NULL);
	char *mine SP_FREE = make_sandbox(&server);
	struct reply made SP_CLEANUP(reply_done) =
	    server_ask(&server, &(struct ask){.method = "POST",
					      .target = "/admin/workspaces",
					      .bearer = server.control_token});
	char *other_key SP_FREE = reply_str(&made, "api_key");
	char *other_id SP_FREE = reply_str(&made, "workspace_id");
	char target[256];

	cr_expect(made.status == 201 && strcmp(other_id, server.workspace),
		  "a new workspace expected: %ld %s", made.status, sp_buf_str(&made.body));
	snprintf(target, sizeof(target), "/v1/sandboxes/%s", mine);
	struct reply got SP_CLEANUP(reply_done) = server_ask(
	    &server, &(struct ask){.method = "GET", .target = target, .bearer = other_key});
	struct reply list SP_CLEANUP(reply_done) = server_ask(
	    &server,
	    &(struct ask){.method = "GET", .target = "/v1/sandboxes", .bearer = other_key});

	cr_expect(got.status == 404, "404 expected, got %ld", got.status);
	cr_expect(has(&list, "[]"), "an empty list expected: %s", sp_buf_str(&list.body));
	snprintf(target, sizeof(target), "/admin/workspaces/%s/requests", other_id);
	struct reply log SP_CLEANUP(reply_done) = server_ask(
	    &server,
	    &(struct ask){.method = "GET", .target = target, .bearer = server.control_token});

	cr_expect(has(&log, "/v1/sandboxes") && !has(&log, other_key),
		  "two requests and no key expected: %s", sp_buf_str(&log.body));
	server_stop(&server);
}
