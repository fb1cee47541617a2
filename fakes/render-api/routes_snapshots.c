/* SPDX-License-Identifier: MIT */
/* Snapshots: create, list, get, delete. */
#include <fakes/render-api/routes.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <base/utf8.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/time_in.h>

#define SNAPSHOT_CEILING (16 * 1024)
#define LIST_CEILING (100 * SNAPSHOT_CEILING)
/* Code points of a name. */
#define NAME_MAX_POINTS 64

static void bad(struct request *request, const char *code, const char *why)
{
	request_answer_error(request, MHD_HTTP_BAD_REQUEST, code, "%s", why);
}

static void not_found(struct request *request)
{
	request_answer_error(request, MHD_HTTP_NOT_FOUND, "snapshot_not_found",
			     "snapshot not found");
}

bool snapshot_name_is_good(const char *name)
{
	size_t points = sp_utf8_count(name, strlen(name));

	/* What begins like an id would be taken for one. */
	return points >= 1 && points <= NAME_MAX_POINTS && strncmp(name, "snp-", 4) != 0;
}

/* The first era had none of this. */
static bool has_snapshots(struct request *request)
{
	if (request->api->era != FAKE_ERA_A)
		return true;
	request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "not found");
	return false;
}

/* ---- create ---- */

static bool read_kind(struct request *request, struct snapshot_wish *wish)
{
	const cJSON *json = cJSON_GetObjectItemCaseSensitive(request->json, "kind");
	const char *kind = sp_json_str(request->json, "kind");

	/* The service's own fake and one SDK take this for the default. */
	wish->kind = FAKE_FILESYSTEM;
	if (!json || (kind && !strcmp(kind, "filesystem")))
		return true;
	wish->kind = FAKE_RUNTIME;
	if (kind && !strcmp(kind, "runtime"))
		return true;
	bad(request, NULL, "kind must be filesystem or runtime");
	return false;
}

static bool read_name(struct request *request, struct snapshot_wish *wish)
{
	const cJSON *json = cJSON_GetObjectItemCaseSensitive(request->json, "name");

	if (!json || cJSON_IsNull(json))
		return true;
	wish->name = sp_json_str(request->json, "name");
	if (wish->name && snapshot_name_is_good(wish->name))
		return true;
	bad(request, "invalid_snapshot_name",
	    "name must have 1 to 64 characters and must not start with snp-");
	return false;
}

static bool read_expiry(struct request *request, struct snapshot_wish *wish)
{
	const cJSON *json = cJSON_GetObjectItemCaseSensitive(request->json, "expiresAt");
	const char *text = sp_json_str(request->json, "expiresAt");

	if (!json || cJSON_IsNull(json))
		return true;
	if (text && time_read(text, &wish->expires_ms) &&
	    wish->expires_ms > workspace_now(request->workspace))
		return true;
	bad(request, NULL, "expiresAt must be a time in the future");
	return false;
}

static void answer_snapshot(struct request *request, unsigned status,
			    const struct snapshot *snapshot)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SNAPSHOT_CEILING);

	snapshot_json(&buf, NULL, snapshot);
	request_answer_json(request, status, &buf);
}

void route_snapshot_create(struct request *request)
{
	struct snapshot_wish wish = { .name = NULL };
	struct snapshot *snapshot;

	if (!has_snapshots(request) || !read_kind(request, &wish) || !read_name(request, &wish) ||
	    !read_expiry(request, &wish))
		return;
	/* Also a suspended one, which only a command or a transfer wakes. */
	if (sandbox_state(request->sandbox) != FAKE_RUNNING) {
		request_answer_error(request, MHD_HTTP_CONFLICT, "sandbox_not_running",
				     "sandbox is not running");
		return;
	}
	snapshot = snapshot_new(request->sandbox, &wish);
	if (!snapshot) {
		request_answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL,
				     "out of memory");
		return;
	}
	/* The answer is of its birth, whatever becomes of it at once. */
	answer_snapshot(request, MHD_HTTP_ACCEPTED, snapshot);
	snapshot_begin(snapshot);
}

/* ---- by id ---- */

static bool looks_like_id(const char *id, const char *prefix)
{
	size_t len;

	if (strncmp(id, prefix, strlen(prefix)) != 0)
		return false;
	id += strlen(prefix);
	len = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz");
	return len >= 20 && len <= 32 && !id[len];
}

/* True when the group of the path is the workspace's own; else it has answered. */
static bool check_group(struct request *request)
{
	if (!has_snapshots(request))
		return false;
	if (!looks_like_id(request->params[0], "sbg-")) {
		bad(request, "invalid_sandbox_group_id", "invalid sandbox group id");
		return false;
	}
	if (!strcmp(request->params[0], request->workspace->group_id))
		return true;
	if (request->params[1])
		not_found(request);
	else
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "sandbox group not found");
	return false;
}

/* The snapshot that the path names, or NULL, and then it has answered. */
static struct snapshot *find(struct request *request, bool or_gone)
{
	struct snapshot *snapshot;

	if (!check_group(request))
		return NULL;
	if (!looks_like_id(request->params[1], "snp-")) {
		bad(request, "invalid_snapshot_id", "invalid snapshot id");
		return NULL;
	}
	snapshot = snapshot_find(request->workspace, request->params[1], or_gone);
	if (!snapshot)
		not_found(request);
	return snapshot;
}

void route_snapshot_get(struct request *request)
{
	struct snapshot *snapshot = find(request, false);

	if (snapshot)
		answer_snapshot(request, MHD_HTTP_OK, snapshot);
}

static void on_deleted(void *arg)
{
	struct request *request = arg;

	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
	request_unref(request);
}

/*
 * Answers when the archive is gone. What is gone already is deleted again without
 * complaint, as the schema says.
 */
void route_snapshot_delete(struct request *request)
{
	struct snapshot *snapshot = find(request, true);

	if (!snapshot)
		return;
	if (!snapshot->gone && snapshot->status == SNAPSHOT_CREATING)
		request_answer_error(request, MHD_HTTP_CONFLICT, "snapshot_creating",
				     "snapshot is still being created");
	else
		snapshot_delete(snapshot, on_deleted, request_ref(request));
}

/* ---- list ---- */

static bool count_one(void *arg, const char *value SP_UNUSED, size_t len SP_UNUSED)
{
	++*(unsigned *)arg;
	return true;
}

static bool add_status(void *arg, const char *value, size_t len)
{
	unsigned *bits = arg;
	char name[16] = "";
	int status;

	if (len >= sizeof(name))
		return false;
	memcpy(name, value, len);
	status = snapshot_status_from_name(name);
	if (status < 0)
		return false;
	*bits |= 1U << status;
	return true;
}

/* Which of them, and which page; false: it has answered. */
static bool read_list(struct request *request, unsigned *bits, uint64_t *limit, uint64_t *before)
{
	unsigned owners = 0;

	if (!check_group(request))
		return false;
	request_query_each(request, "ownerId", count_one, &owners);
	if (owners != 1) {
		bad(request, "invalid_owner_id",
		    owners ? "ownerId accepts at most one value" : "ownerId is required");
		return false;
	}
	*bits = 0;
	if (!request_query_each(request, "status", add_status, bits)) {
		bad(request, "invalid_status", "invalid status");
		return false;
	}
	if (!*bits)
		*bits = ~0U;
	return route_page(request, limit, before);
}

void route_snapshots(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(LIST_CEILING);
	const struct snapshot *snapshot;
	uint64_t limit, before;
	unsigned bits;

	if (!read_list(request, &bits, &limit, &before))
		return;
	json_open(&buf, NULL, '[');
	TAILQ_FOREACH (snapshot, &request->workspace->snapshots, entry) {
		if (snapshot->gone || snapshot->number >= before ||
		    !(bits & 1U << snapshot->status))
			continue;
		if (!limit--)
			break;
		json_open(&buf, NULL, '{');
		snapshot_json(&buf, "snapshot", snapshot);
		route_cursor(&buf, snapshot->number);
		json_close(&buf, '}');
	}
	json_close(&buf, ']');
	request_answer_json(request, MHD_HTTP_OK, &buf);
}
