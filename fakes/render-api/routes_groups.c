/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/routes.h>

#include <base/cleanup.h>
#include <fakes/render-api/json_out.h>

#define GROUP_CEILING 4096

static bool count(void *arg, const char *value SP_UNUSED, size_t len SP_UNUSED)
{
	++*(unsigned *)arg;
	return true;
}

static void group_json(struct sp_buf *buf, const struct workspace *workspace)
{
	json_open(buf, "sandboxGroup", '{');
	json_str(buf, "id", workspace->group_id);
	json_str(buf, "ownerId", workspace->id);
	json_str(buf, "name", "Default");
	json_str(buf, "region", "oregon");
	json_bool(buf, "isDefault", true);
	json_str(buf, "environmentId", NULL);
	json_int(buf, "concurrencyLimit", workspace->api->era == FAKE_ERA_C ? 1000 : 100);
	json_time(buf, "createdAt", workspace->created_ms);
	json_time(buf, "updatedAt", workspace->created_ms);
	json_close(buf, '}');
}

/* The first sandbox makes the default group; before it the list is empty. */
void route_groups(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(GROUP_CEILING);
	unsigned owners = 0;

	request_query_each(request, "ownerId", count, &owners);
	if (owners != 1) {
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, "invalid_owner_id", "%s",
				     owners ? "ownerId accepts at most one value"
					    : "ownerId is required");
		return;
	}
	json_open(&buf, NULL, '[');
	if (request->workspace->last_sandbox) {
		json_open(&buf, NULL, '{');
		group_json(&buf, request->workspace);
		route_cursor(&buf, 1);
		json_close(&buf, '}');
	}
	json_close(&buf, ']');
	request_answer_json(request, MHD_HTTP_OK, &buf);
}

void route_unknown(struct request *request)
{
	request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "not found");
}
