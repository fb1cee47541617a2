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
	char *ready SP_FREE = run_sync(&server, id, M "echo on-disk-9 >file; echo in-memory-9 >$M/m; "
						      "TOLD=only-told-9 sleep 1000 & echo ready");

	cr_expect_str_eq(ready, "ready\n");
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		char *snapshot SP_FREE = take_snapshot(&server, id, rows[i].body);
		char *copy SP_FREE = restore_snapshot(&server, snapshot);

		cr_expect(holds(&server, snapshot, "on-disk-9"), "%s: no file", rows[i].body);
		cr_expect(holds(&server, snapshot, "in-memory-9") == rows[i].memory, "%s: memory",
			  rows[i].body);
		cr_expect(holds(&server, snapshot, "only-told-9") == rows[i].memory, "%s: environment",
			  rows[i].body);
		char *said SP_FREE = run_sync(&server, copy, M "cat file $M/m 2>&1 | head -c 21; rm file");

		cr_expect(!strncmp(said, "on-disk-9\n", 10), "%s: %s", rows[i].body, said);
		cr_expect(!strcmp(said + 10, "in-memory-9") == rows[i].memory, "%s: %s", rows[i].body,
			  said);
		char *still SP_FREE = run_sync(&server, id, "cat file");

		cr_expect_str_eq(still, "on-disk-9\n");
	}
	cr_expect(count_snapshots(&server) == SP_COUNT(rows), "%zu", count_snapshots(&server));
	cr_expect(control_do(&server, "POST", "reset", NULL) == 204);
	cr_expect(count_snapshots(&server) == 0, "%zu", count_snapshots(&server));
	server_stop(&server);
}
