/* SPDX-License-Identifier: MIT */
/* N1: the key. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

/* Options for a key alone; the provider is called "render", as in the golden vectors. */
static bool open_key(struct sp_case *t, struct ensure_scene *s)
{
	if (!ensure_scene_open(t, s))
		return false;
	s->stage.name = "render";
	return true;
}

static const struct {
	const char *thread, *run, *tenant, *key;
} golden[] = {
	{ "thread-1", NULL, NULL, "1f0902d6b7ad29f7" },
	{ "thread-1", NULL, "{\"orgId\":\"acme\"}", "d9bce61672951847" },
	{ "thread-1", NULL, "{\"userId\":undefined,\"orgId\":\"acme\"}", "36be9cbafc2b4f0d" },
	{ "日本", NULL, NULL, "73496f6b0220d917" },
	{ "thread-1", "run-1", NULL, "8f3563f9cdee223f" },
	{ "t0412789", NULL, NULL, "5c75dcfdb7ad29f7" },
	{ "t0649192", NULL, NULL, "5c75dcfdb7ad29f7" },
};

void ensure_key_golden(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;

	SP_REQUIRE(open_key(t, &s));
	for (size_t i = 0; i < SP_COUNT(golden); i++) {
		s.options.thread_id = golden[i].thread;
		s.options.tenant = golden[i].tenant;
		s.options.run_id = golden[i].run;
		s.options.per_run = golden[i].run != NULL;
		SP_REQUIRE(ensure_scene_key(&s));
		SP_CHECK_STR(t, golden[i].key, s.key, "key of thread %s, tenant %s",
			     golden[i].thread, golden[i].tenant ? golden[i].tenant : "none");
	}
}

/* Pairs of workspaces: one key, or two. */
static const struct {
	const char *one, *other;
	bool same;
} pairs[] = {
	{ "{\"a\":[1,{\"b\":2,\"a\":1}],\"c\":null}", "{\"c\":null,\"a\":[1,{\"a\":1,\"b\":2}]}",
	  true },
	{ "{\"a\":\"é\",\"b\":1}", " {\n\"b\" : 1.0 ,\t\"a\":\"\\u00e9\" } ", true },
	{ "{\"a\":[1,2]}", "{\"a\":[2,1]}", false },
	{ "{\"a\":1}", "{\"a\":1,\"b\":undefined}", false },
	{ "{\"a\":1}", "{\"a\":\"1\"}", false },
	{ "{\"a\":null}", "{}", false },
};

void ensure_key_canonical(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;

	SP_REQUIRE(open_key(t, &s));
	for (size_t i = 0; i < SP_COUNT(pairs); i++) {
		char first[17];

		s.options.workspace = pairs[i].one;
		SP_REQUIRE(ensure_scene_key(&s));
		memcpy(first, s.key, sizeof(first));
		s.options.workspace = pairs[i].other;
		SP_REQUIRE(ensure_scene_key(&s));
		SP_CHECK(t, (strcmp(first, s.key) == 0) == pairs[i].same,
			 "%s and %s have %s, not %s and %s", pairs[i].one, pairs[i].other,
			 pairs[i].same ? "one key" : "two keys", first, s.key);
	}
}

static const struct {
	const char *what, *thread, *workspace, *tenant, *run;
	bool per_run;
} refused[] = {
	{ "no thread", NULL, NULL, NULL, "run-1", false },
	{ "an empty thread", "", NULL, NULL, "run-1", false },
	{ "a thread that is not UTF-8", "thread\xFF", NULL, NULL, "run-1", false },
	{ "a workspace that is no JSON", "thread", "{a:1}", NULL, "run-1", false },
	{ "a workspace that is cut off", "thread", "{\"a\":1", NULL, "run-1", false },
	{ "a workspace with secrets", "thread", "{\"secrets\":{\"A\":\"b\"}}", NULL, "run-1",
	  false },
	{ "a tenant that is a text", "thread", NULL, "\"acme\"", "run-1", false },
	{ "one sandbox a run, without a run", "thread", NULL, NULL, NULL, true },
};

void ensure_key_refused(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;

	SP_REQUIRE(open_key(t, &s));
	for (size_t i = 0; i < SP_COUNT(refused); i++) {
		struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

		sp_case_note(t, "%s", refused[i].what);
		s.options.thread_id = refused[i].thread;
		s.options.workspace = refused[i].workspace;
		s.options.tenant = refused[i].tenant;
		s.options.run_id = refused[i].run;
		s.options.per_run = refused[i].per_run;
		SP_REQUIRE(ensure_refuses(&s, SP_INVALID, &got));
		SP_CHECK_INT(t, 0, stage_calls(&s.stage, STAGE_CREATE), "sandboxes made with %s",
			     refused[i].what);
	}
}
