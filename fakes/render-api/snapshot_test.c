/* SPDX-License-Identifier: MIT */
/* Snapshots through the API: kinds, restore, names, rules, holds and failures. */
#include <fakes/render-api/testing.h>

/* The bytes of an archive, through the back door. */
static struct reply archive_of(struct server *server, const char *snapshot)
{
	char tail[64];

	snprintf(tail, sizeof(tail), "snapshots/%s", snapshot);
	return ask_control(server, "GET", tail, NULL);
}

static bool holds(struct server *server, const char *snapshot, const char *text)
{
	struct reply reply SP_CLEANUP(reply_done) = archive_of(server, snapshot);

	cr_assert(reply.status == 200, "the archive of %s: %ld %s", snapshot, reply.status,
		  sp_buf_str(&reply.body));
	return memmem(reply.body.data, reply.body.len, text, strlen(text));
}

static size_t count_snapshots(struct server *server)
{
	struct reply reply SP_CLEANUP(reply_done) = ask_control(server, "GET", "census", NULL);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	int64_t n = -1;

	if (!sp_json_parse(sp_buf_str(&reply.body), reply.body.len, TEST_BODY, &json, NULL))
		sp_json_int(json, "snapshots", &n);
	return (size_t)n;
}

/* A shell's way to the memory-backed directory in both modes. */
#define M "M=/dev; [[ $HOME = */home ]] && M=$HOME/../dev; "

/* The two kinds: what each holds, and that a restored sandbox has it, and is one of its own. */
Test(snapshot, kinds)
{
	static const struct {
		const char *body;
		bool memory;
	} rows[] = {
		{ "{\"kind\":\"filesystem\"}", false },
		{ "{}", false },
		{ "{\"kind\":\"runtime\",\"name\":null,\"expiresAt\":null}", true },
	};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *ready SP_FREE = run_sync(&server, id,
				       M "echo on-disk-9 >file; echo in-memory-9 >$M/m; "
					 "TOLD=only-told-9 sleep 1000 & echo ready");

	cr_expect_str_eq(ready, "ready\n");
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		char *snapshot SP_FREE = take_snapshot(&server, id, rows[i].body);
		char *copy SP_FREE = restore_snapshot(&server, snapshot);

		cr_expect(holds(&server, snapshot, "on-disk-9"), "%s: no file", rows[i].body);
		cr_expect(holds(&server, snapshot, "in-memory-9") == rows[i].memory, "%s: memory",
			  rows[i].body);
		cr_expect(holds(&server, snapshot, "only-told-9") == rows[i].memory,
			  "%s: environment", rows[i].body);
		char *said SP_FREE =
			run_sync(&server, copy, M "cat file $M/m 2>&1 | head -c 21; rm file");

		cr_expect(!strncmp(said, "on-disk-9\n", 10), "%s: %s", rows[i].body, said);
		cr_expect(!strcmp(said + 10, "in-memory-9") == rows[i].memory, "%s: %s",
			  rows[i].body, said);
		char *still SP_FREE = run_sync(&server, id, "cat file");

		cr_expect_str_eq(still, "on-disk-9\n");
	}
	cr_expect(count_snapshots(&server) == SP_COUNT(rows), "%zu", count_snapshots(&server));
	cr_expect(control_do(&server, "POST", "reset", NULL) == 204);
	cr_expect(count_snapshots(&server) == 0, "%zu", count_snapshots(&server));
	server_stop(&server);
}

/* The number of an answer's status, and whether its body holds a text. */
static void expect_reply(const struct reply *reply, long status, const char *text, int line)
{
	cr_expect(reply->status == status && (!text || has(reply, text)),
		  "line %d: %ld and `%s` expected, got %ld %s", line, status, text ? text : "",
		  reply->status, sp_buf_str(&reply->body));
}

#define EXPECT_REPLY(call, status, text)                                                           \
	do {                                                                                       \
		struct reply reply_ SP_CLEANUP(reply_done) = (call);                               \
		expect_reply(&reply_, (status), (text), __LINE__);                                 \
	} while (0)

/* A create with more members; only its answer is of interest. */
static struct reply try_create(struct server *server, const char *more)
{
	char body[512];

	snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"%s}", server->workspace, more);
	return ask_api(server, "POST", "/v1/sandboxes", body);
}

static void clock_forward(struct server *server, int64_t ms)
{
	char body[64];

	snprintf(body, sizeof(body), "{\"advance_ms\":%lld}", (long long)ms);
	cr_expect(control_do(server, "POST", "clock", body) == 204);
}

#define DAY INT64_C(86400000)

/* In use, deleted, deleted again, expired: each answers as section 15 says. */
Test(snapshot, life)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *group SP_FREE = group_id(&server, id);
	char *first SP_FREE = take_snapshot(&server, id, NULL);
	char *copy SP_FREE = restore_snapshot(&server, first);
	char more[128], list[256];

	snprintf(list, sizeof(list), "/v1/sandbox-groups/%s/snapshots?ownerId=%s", group,
		 server.workspace);
	EXPECT_REPLY(ask_api(&server, "GET", list, NULL), 200, first);
	EXPECT_REPLY(ask_snapshot(&server, "DELETE", group, first), 204, NULL);
	EXPECT_REPLY(ask_snapshot(&server, "DELETE", group, first), 204, NULL);
	EXPECT_REPLY(ask_snapshot(&server, "GET", group, first), 404, "snapshot_not_found");
	EXPECT_REPLY(ask_api(&server, "GET", list, NULL), 200, "[]");
	snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", first);
	EXPECT_REPLY(try_create(&server, more), 404, "snapshot_not_found");
	/* What was made from it lives on. */
	char *alive SP_FREE = run_sync(&server, copy, "echo alive");

	cr_expect_str_eq(alive, "alive\n");
	cr_expect(count_snapshots(&server) == 0);
	char *second SP_FREE = take_snapshot(&server, id, NULL);

	clock_forward(&server, 7 * DAY - 60000);
	EXPECT_REPLY(ask_snapshot(&server, "GET", group, second), 200, "available");
	clock_forward(&server, 120000);
	EXPECT_REPLY(ask_snapshot(&server, "GET", group, second), 404, "snapshot_not_found");
	EXPECT_REPLY(ask_snapshot(&server, "DELETE", group, second), 204, NULL);
	EXPECT_REPLY(archive_of(&server, second), 404, "archive_not_found");
	server_stop(&server);
}

/* A client's own time, with a fraction and an offset. */
Test(snapshot, expiry)
{
	struct server server = server_start('B', NULL);
	char *id SP_FREE = make_sandbox_with(&server, ",\"timeoutSeconds\":2592000");

	await_state(&server, id, "running");
	struct reply groups SP_CLEANUP(reply_done) = { .status = 0 };
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandbox-groups?ownerId=%s", server.workspace);
	groups = ask_api(&server, "GET", target, NULL);
	const char *at = strstr(sp_buf_str(&groups.body), "sbg-");
	char group[25] = "";

	cr_assert(at, "%s", sp_buf_str(&groups.body));
	memcpy(group, at, 24);
	char *snapshot SP_FREE = begin_snapshot(&server, id,
						"{\"kind\":\"runtime\",\"expiresAt\":\"2999-12-"
						"31T23:59:59.5+02:00\"}");
	struct reply reply SP_CLEANUP(reply_done) = await_snapshot(&server, group, snapshot);

	expect_reply(&reply, 200, "\"expiresAt\":\"2999-12-31T21:59:59Z\"", __LINE__);
	clock_forward(&server, 8 * DAY);
	EXPECT_REPLY(ask_snapshot(&server, "GET", group, snapshot), 200, "available");
	server_stop(&server);
}

/* A name is not unique: it means the one that became available last, and only that. */
Test(snapshot, names)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *group SP_FREE = group_id(&server, id);
	char *one SP_FREE = run_sync(&server, id, "echo one >which; echo");
	char *first SP_FREE = take_snapshot(&server, id, "{\"name\":\"same \\u00e9/..\"}");
	char *two SP_FREE = run_sync(&server, id, "echo two >which; echo");
	char *second SP_FREE = take_snapshot(&server, id, "{\"name\":\"same \\u00e9/..\"}");
	long hold = control_hold(&server, "capture", "before");
	char *third SP_FREE = begin_snapshot(&server, id, "{\"name\":\"same \\u00e9/..\"}");
	char *last SP_FREE = make_sandbox_with(&server, ",\"snapshotName\":\"same \\u00e9/..\"");

	await_state(&server, last, "running");
	char *said SP_FREE = run_sync(&server, last, "cat which");

	cr_expect_str_eq(said, "two\n");
	control_release(&server, hold);
	reply_done(&(struct reply[]){ await_snapshot(&server, group, third) }[0]);
	EXPECT_REPLY(ask_snapshot(&server, "DELETE", group, third), 204, NULL);
	EXPECT_REPLY(ask_snapshot(&server, "DELETE", group, second), 204, NULL);
	char *older SP_FREE = make_sandbox_with(&server, ",\"snapshotName\":\"same \\u00e9/..\"");

	await_state(&server, older, "running");
	char *says SP_FREE = run_sync(&server, older, "cat which");

	cr_expect_str_eq(says, "one\n");
	EXPECT_REPLY(try_create(&server, ",\"snapshotName\":\"Same \\u00e9/..\""), 404,
		     "snapshot_not_found");
	EXPECT_REPLY(try_create(&server, ",\"snapshotName\":\"snp-x\""), 400,
		     "invalid_snapshot_name");
	EXPECT_REPLY(try_create(&server, ",\"snapshotName\":\"\""), 400, "invalid_snapshot_name");
	cr_expect(*first && *one && *two);
	server_stop(&server);
}

/*
 * Memory fits only the plan that it was taken on; files fit any. Environment and
 * network are the new sandbox's own.
 */
Test(snapshot, restored_anew)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox_with(
		&server, ",\"plan\":\"2c-4g\",\"env\":{\"OLD\":\"1\",\"BOTH\":\"old\"},"
			 "\"networkPolicy\":{\"default\":\"deny-all\"}");

	await_state(&server, id, "running");
	char *runtime SP_FREE = take_snapshot(&server, id, "{\"kind\":\"runtime\"}");
	char *files SP_FREE = take_snapshot(&server, id, "{\"kind\":\"filesystem\"}");
	char more[256];

	snprintf(more, sizeof(more), ",\"plan\":\"1c-2g\",\"snapshotId\":\"%s\"", runtime);
	EXPECT_REPLY(try_create(&server, more), 409, "snapshot_plan_mismatch");
	snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", runtime);
	EXPECT_REPLY(try_create(&server, more), 201, "\"plan\":\"2c-4g\"");
	snprintf(more, sizeof(more),
		 ",\"plan\":\"8c-16g\",\"env\":{\"BOTH\":\"new\"},\"snapshotId\":\"%s\"", files);
	char *copy SP_FREE = make_sandbox_with(&server, more);

	await_state(&server, copy, "running");
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s", copy);
	EXPECT_REPLY(ask_api(&server, "GET", target, NULL), 200, "\"default\":\"allow-all\"");
	char *said SP_FREE = run_sync(&server, copy, "echo \"${OLD-none} $BOTH\"");

	cr_expect_str_eq(said, "none new\n");
	server_stop(&server);
}

/* Another workspace's is none: neither for a look, nor for deletion, nor for a restore. */
Test(snapshot, foreign)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *group SP_FREE = group_id(&server, id);
	char *snapshot SP_FREE = take_snapshot(&server, id, NULL);
	struct reply other SP_CLEANUP(reply_done) =
		server_ask(&server, &(struct ask){ .method = "POST",
						    .target = "/admin/workspaces",
						    .bearer = server.control_token });
	char *own_key = server.key, *own_workspace = server.workspace;
	char more[128];

	server.key = reply_str(&other, "api_key");
	server.workspace = reply_str(&other, "workspace_id");
	EXPECT_REPLY(ask_snapshot(&server, "GET", group, snapshot), 404, "snapshot_not_found");
	EXPECT_REPLY(ask_snapshot(&server, "DELETE", group, snapshot), 404, "snapshot_not_found");
	snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", snapshot);
	EXPECT_REPLY(try_create(&server, more), 404, "snapshot_not_found");
	EXPECT_REPLY(archive_of(&server, snapshot), 404, "archive_not_found");
	free(server.key);
	free(server.workspace);
	server.key = own_key;
	server.workspace = own_workspace;
	EXPECT_REPLY(ask_snapshot(&server, "GET", group, snapshot), 200, "available");
	server_stop(&server);
}

/*
 * While it is held before the capture the sandbox works on, and what it does then is in it; while
 * it is held after, it cannot be used.
 */
Test(snapshot, held_capture)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *group SP_FREE = group_id(&server, id);
	long before = control_hold(&server, "capture", "before");
	long after = control_hold(&server, "capture", "after");
	char *snapshot SP_FREE = begin_snapshot(&server, id, NULL);
	char more[128];

	control_await(&server, before);
	char *late SP_FREE = run_sync(&server, id, "echo written-while-held >late; echo ok");

	cr_expect_str_eq(late, "ok\n");
	EXPECT_REPLY(ask_snapshot(&server, "DELETE", group, snapshot), 409, "snapshot_creating");
	EXPECT_REPLY(archive_of(&server, snapshot), 404, "archive_not_found");
	control_release(&server, before);
	control_await(&server, after);
	EXPECT_REPLY(ask_snapshot(&server, "GET", group, snapshot), 200, "\"status\":\"creating\"");
	snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", snapshot);
	EXPECT_REPLY(try_create(&server, more), 409, "snapshot_not_available");
	cr_expect(holds(&server, snapshot, "written-while-held"));
	char *later SP_FREE = run_sync(&server, id, "echo written-too-late >later; echo ok");

	cr_expect_str_eq(later, "ok\n");
	control_release(&server, after);
	EXPECT_REPLY(ask_snapshot(&server, "GET", group, snapshot), 200,
		     "\"status\":\"available\"");
	cr_expect(!holds(&server, snapshot, "written-too-late"));
	server_stop(&server);
}

/* Held before: it is being made and has nothing. Held after: all is there and it is not told. */
Test(snapshot, held_restore)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *snapshot SP_FREE = take_snapshot(&server, id, NULL);
	long before = control_hold(&server, "restore", "before");
	long after = control_hold(&server, "restore", "after");
	char more[128];

	snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", snapshot);
	char *copy SP_FREE = make_sandbox_with(&server, more);

	control_await(&server, before);
	await_state(&server, copy, "creating");
	control_release(&server, before);
	control_await(&server, after);
	await_state(&server, copy, "creating");
	control_release(&server, after);
	await_state(&server, copy, "running");
	/* Ended while it stands there, on either side. */
	for (int i = 0; i < 2; i++) {
		long hold = control_hold(&server, "restore", i ? "after" : "before");
		char *other SP_FREE = make_sandbox_with(&server, more);
		char target[128];

		control_await(&server, hold);
		snprintf(target, sizeof(target), "/v1/sandboxes/%s/terminate", other);
		EXPECT_REPLY(ask_api(&server, "POST", target, NULL), 204, NULL);
		control_release(&server, hold);
		await_state(&server, other, "terminated");
	}
	server_stop(&server);
}

/*
 * Every way in which a capture fails: the snapshot says so, the sandbox is as it
 * was, and nothing is left of it.
 */
Test(snapshot, capture_fails)
{
	static const struct {
		const char *how;
		const char *error;
	} rows[] = { { "disk_full", "No space left" }, { "status", "on request of a test" } };
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *group SP_FREE = group_id(&server, id);
	char *made SP_FREE = run_sync(&server, id, "head -c 100000 /dev/zero >big; echo ok");

	cr_expect_str_eq(made, "ok\n");
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		control_fail(&server, "capture", 1, rows[i].how, 500);
		char *snapshot SP_FREE = begin_snapshot(&server, id, NULL);
		char more[128];

		EXPECT_REPLY(await_snapshot(&server, group, snapshot), 200, rows[i].error);
		EXPECT_REPLY(ask_snapshot(&server, "GET", group, snapshot), 200,
			     "\"status\":\"failed\"");
		EXPECT_REPLY(ask_snapshot(&server, "GET", group, snapshot), 200,
			     "\"sizeBytes\":null");
		EXPECT_REPLY(archive_of(&server, snapshot), 404, "archive_not_found");
		snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", snapshot);
		EXPECT_REPLY(try_create(&server, more), 409, "snapshot_not_available");
		EXPECT_REPLY(ask_snapshot(&server, "DELETE", group, snapshot), 204, NULL);
	}
	char *said SP_FREE = run_sync(&server, id, "stat -c %s big");

	cr_expect_str_eq(said, "100000\n");
	cr_expect(count_snapshots(&server) == 0, "%zu", count_snapshots(&server));
	/* The source ends while its capture is held. */
	long hold = control_hold(&server, "capture", "before");
	char *orphan SP_FREE = begin_snapshot(&server, id, NULL);
	char target[128];

	control_await(&server, hold);
	snprintf(target, sizeof(target), "/v1/sandboxes/%s/terminate", id);
	EXPECT_REPLY(ask_api(&server, "POST", target, NULL), 204, NULL);
	control_release(&server, hold);
	EXPECT_REPLY(await_snapshot(&server, group, orphan), 200, "not running any more");
	server_stop(&server);
}

/*
 * A restore that fails is an errored sandbox; a damaged and a hostile archive are two of the ways.
 */
Test(snapshot, restore_fails)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *snapshot SP_FREE = take_snapshot(&server, id, NULL);
	char more[128], tail[64];

	snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", snapshot);
	snprintf(tail, sizeof(tail), "snapshots/%s", snapshot);
	for (int i = 0; i < 3; i++) {
		char target[128];

		if (i < 2)
			control_fail(&server, "restore", 1, i ? "status" : "disk_full", 500);
		else
			cr_expect(control_do(&server, "PUT", tail, "no archive") == 204);
		char *copy SP_FREE = make_sandbox_with(&server, more);

		await_state(&server, copy, "errored");
		snprintf(target, sizeof(target), "/v1/sandboxes/%s/terminate", copy);
		EXPECT_REPLY(ask_api(&server, "POST", target, NULL), 204, NULL);
	}
	EXPECT_REPLY(ask_control(&server, "GET", tail, NULL), 200, "no archive");
	server_stop(&server);
}

/* Only what runs is captured: a suspended one has to be woken by a command. */
Test(snapshot, only_of_a_running_sandbox)
{
	static const char *const states[] = { "suspended", "suspending", "resuming", "creating",
					      "errored" };
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s/snapshots", id);
	for (size_t i = 0; i < SP_COUNT(states); i++) {
		char body[128];

		snprintf(body, sizeof(body), "{\"sandbox_id\":\"%s\",\"state\":\"%s\"}", id,
			 states[i]);
		cr_expect(control_do(&server, "POST", "state", body) == 204, "%s", states[i]);
		EXPECT_REPLY(ask_api(&server, "POST", target, "{}"), 409, "sandbox_not_running");
		if (i)
			continue;
		char *woken SP_FREE = run_sync(&server, id, "echo woken");
		char *snapshot SP_FREE = take_snapshot(&server, id, NULL);

		cr_expect(*woken && *snapshot);
	}
	cr_expect(count_snapshots(&server) == 1, "%zu", count_snapshots(&server));
	server_stop(&server);
}

/* The first era has no snapshots at all. */
Test(snapshot, first_era)
{
	struct server server = server_start('A', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s/snapshots", id);
	EXPECT_REPLY(ask_api(&server, "POST", target, "{}"), 404, "not found");
	EXPECT_REPLY(try_create(&server, ",\"snapshotId\":\"snp-x\""), 201, "creating");
	server_stop(&server);
}

/* TERM while captures and restores stand or run: server_stop() looks for what is left. */
Test(snapshot, server_ends_meanwhile)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE =
		run_sync(&server, id, "for i in {1..500}; do echo $i >$i; done; echo ok");
	char *snapshot SP_FREE = take_snapshot(&server, id, NULL);
	long capture = control_hold(&server, "capture", "before");
	char *held SP_FREE = begin_snapshot(&server, id, NULL);
	long restore = control_hold(&server, "restore", "before");
	char more[128];

	snprintf(more, sizeof(more), ",\"snapshotId\":\"%s\"", snapshot);
	char *waiting SP_FREE = make_sandbox_with(&server, more);

	control_await(&server, capture);
	control_await(&server, restore);
	char *running SP_FREE = begin_snapshot(&server, id, "{\"kind\":\"runtime\"}");
	char *going SP_FREE = make_sandbox_with(&server, more);

	cr_expect(*made && *held && *waiting && *running && *going);
	server_stop(&server);
}
