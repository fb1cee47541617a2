/* SPDX-License-Identifier: MIT */
/*
 * Suspension and waking: what survives, what wakes, every state on the way, and how long it lasts.
 */
#include <fakes/render-api/testing.h>

static long set_state(struct server *server, const char *id, const char *state)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"sandbox_id\":\"%s\",\"state\":\"%s\"}", id, state);
	return control_do(server, "POST", "state", body);
}

/* The state as the service shows it; the caller's. */
static char *state_of(struct server *server, const char *id)
{
	char target[128];

	snprintf(target, sizeof(target), "/v1/sandboxes/%s", id);
	struct reply reply SP_CLEANUP(reply_done) = ask_api(server, "GET", target, NULL);

	return reply_str(&reply, "status");
}

static void expect_state(struct server *server, const char *id, const char *expected, int line)
{
	char *state SP_FREE = state_of(server, id);

	cr_expect(!strcmp(state, expected), "line %d: %s expected, got %s", line, expected, state);
}

#define STATE(server, id, expected) expect_state((server), (id), (expected), __LINE__)

static long upload(struct server *server, const char *id, const char *path, const char *content)
{
	struct sp_buf query SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_adds(&query, "?path=");
	sp_buf_add_url(&query, path);
	struct mint token = mint(server, id, "files/upload", sp_buf_str(&query));
	struct reply reply SP_CLEANUP(reply_done) =
		server_ask(server, &(struct ask){ "PUT", token.uri, token.token, content,
						  strlen(content), NULL });

	return reply.status;
}

#define M "M=/dev; [[ $HOME = */home ]] && M=$HOME/../dev; "

/*
 * Files of the disk and of memory, and processes where they stood, survive; a
 * command wakes, an upload wakes.
 */
Test(suspend, survives_and_wakes)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *ready SP_FREE = run_sync(
		&server, id,
		M "T=$(mktemp /tmp/kept-XXXXXX); echo $T >where; echo disk >$T; echo memory >$M/m; "
		  "mkfifo gate; { read line <gate; echo \"heard $line\" >ears; } & echo ready");

	cr_expect_str_eq(ready, "ready\n");
	for (int round = 0; round < 2; round++) {
		cr_expect(set_state(&server, id, "suspended") == 204);
		STATE(&server, id, "suspended");
		if (round)
			cr_expect(upload(&server, id, "up", "loaded") == 204);
		else
			free(run_sync(&server, id, "true"));
		STATE(&server, id, "running");
	}
	char *said SP_FREE = run_sync(&server, id,
				      M "cat $(cat where) $M/m up; echo; echo you >gate; "
					"until [ -s ears ]; do :; done; cat ears; rm $(cat where)");

	cr_expect_str_eq(said, "disk\nmemory\nloaded\nheard you\n");
	server_stop(&server);
}

/* On the way to suspension it is suspending; who comes meanwhile waits and wakes it. */
Test(suspend, both_sides)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	long before = control_hold(&server, "suspend", "before");
	long after = control_hold(&server, "suspend", "after");
	long resume = control_hold(&server, "resume", "before");

	cr_expect(set_state(&server, id, "suspended") == 204);
	control_await(&server, before);
	STATE(&server, id, "suspending");
	struct later *run = later_stream(&server, id, "echo woken");

	control_release(&server, before);
	control_await(&server, after);
	STATE(&server, id, "suspending");
	control_release(&server, after);
	control_await(&server, resume);
	STATE(&server, id, "resuming");
	control_release(&server, resume);
	struct reply reply SP_CLEANUP(reply_done) = later_join(run);

	cr_expect(has(&reply, "woken\\n") && has(&reply, "{\"exit_code\":0}"), "%s",
		  sp_buf_str(&reply.body));
	STATE(&server, id, "running");
	server_stop(&server);
}

/* Ended, failed or called back while it stands on the way. */
Test(suspend, left_on_the_way)
{
	static const char *const ends[] = { "terminated", "errored", "running" };
	struct server server = server_start('C', NULL);

	for (size_t i = 0; i < SP_COUNT(ends); i++) {
		char *id SP_FREE = make_sandbox(&server);
		long hold = control_hold(&server, "suspend", "before");

		cr_expect(set_state(&server, id, "suspended") == 204);
		control_await(&server, hold);
		cr_expect(set_state(&server, id, ends[i]) == 204, "%s", ends[i]);
		STATE(&server, id, ends[i]);
		control_release(&server, hold);
		STATE(&server, id, ends[i]);
	}
	server_stop(&server);
}

/* Control keeps it in a state on the way until it says otherwise. */
Test(suspend, kept_on_the_way)
{
	static const char *const states[] = { "suspending", "resuming", "creating" };
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);

	for (size_t i = 0; i < SP_COUNT(states); i++) {
		cr_expect(set_state(&server, id, states[i]) == 204, "%s", states[i]);
		STATE(&server, id, states[i]);
	}
	cr_expect(set_state(&server, id, "resuming") == 204);
	struct later *run = later_stream(&server, id, "echo at last");

	STATE(&server, id, "resuming");
	cr_expect(set_state(&server, id, "suspended") == 204);
	struct reply reply SP_CLEANUP(reply_done) = later_join(run);

	cr_expect(has(&reply, "at last\\n"), "%s", sp_buf_str(&reply.body));
	STATE(&server, id, "running");
	cr_expect(set_state(&server, id, "suspending") == 204);
	cr_expect(set_state(&server, id, "errored") == 204);
	STATE(&server, id, "errored");
	cr_expect(set_state(&server, id, "resuming") == 409, "an errored one goes nowhere");
	server_stop(&server);
}

/* A suspension that fails leaves it running. */
Test(suspend, fails)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);

	control_fail(&server, "suspend", 1, "status", 500);
	cr_expect(set_state(&server, id, "suspended") == 409);
	STATE(&server, id, "running");
	cr_expect(set_state(&server, id, "suspended") == 204);
	cr_expect(set_state(&server, id, "suspending") == 204,
		  "a suspended one may be shown on its way");
	cr_expect(set_state(&server, id, "running") == 204);
	STATE(&server, id, "running");
	server_stop(&server);
}

/* The earlier eras have no word for it. */
Test(suspend, vocabulary)
{
	struct server server = server_start('B', NULL);
	char *id SP_FREE = make_sandbox(&server);
	long hold = control_hold(&server, "suspend", "before");

	cr_expect(set_state(&server, id, "suspended") == 204);
	control_await(&server, hold);
	STATE(&server, id, "running");
	control_release(&server, hold);
	STATE(&server, id, "suspended");
	server_stop(&server);
}

#define DAY_MS "86400000"

/* A life stops counting while it is suspended; after thirty days of that it is over. */
Test(suspend, lasts_thirty_days)
{
	struct server server = server_start('C', NULL);
	char *id SP_FREE =
		make_sandbox_with(&server, ",\"timeoutSeconds\":3600,\"idleTimeoutSeconds\":0");

	await_state(&server, id, "running");
	cr_expect(set_state(&server, id, "suspended") == 204);
	for (int day = 0; day < 29; day++)
		cr_expect(control_do(&server, "POST", "clock", "{\"advance_ms\":" DAY_MS "}") ==
			  204);
	STATE(&server, id, "suspended");
	cr_expect(control_do(&server, "POST", "clock", "{\"advance_ms\":" DAY_MS "}") == 204);
	STATE(&server, id, "terminated");
	server_stop(&server);
}
