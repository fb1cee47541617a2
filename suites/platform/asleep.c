/* SPDX-License-Identifier: MIT */
/* P9, P10: suspending and waking; only with control, since nobody can be asked to fall asleep. */
#include <string.h>

#include <suites/platform/cases.h>
#include <suites/platform/scene.h>
#include <witness/count.h>

/* The scene, asleep; false after a recorded error or skip. */
static bool open_asleep(struct sp_case *t, struct plat_scene *s)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;

	return plat_scene_open(t, s) &&
	       plat_run(s, s->id, "echo kept | tee /tmp/%s >/dev/%s", s->name, s->name) &&
	       plat_ok(t, control->ops->set_state(control->self, s->id, "suspended", &err), &err,
		       "suspend the sandbox");
}

/* State of the scene's sandbox by the back end's own count; NULL after a recorded error. */
static const char *state(struct plat_scene *s)
{
	struct sp_control *control = sp_case_control(s->t);
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (!plat_ok(s->t, control->ops->census(control->self, &census, &err), &err, "count"))
		return NULL;
	for (size_t i = 0; i < census.n_sandboxes; i++)
		if (!strcmp(census.sandboxes[i].id, s->id))
			return sp_case_format(s->t, "%s", census.sandboxes[i].state);
	return "gone";
}

void plat_asleep_files(struct sp_case *t)
{
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	const char *said;

	SP_REQUIRE(sp_count_holds(t, "memory-directory") && open_asleep(t, &s));
	said = plat_run(&s, s.id, "cat /tmp/%s /dev/%s; :", s.name, s.name);
	SP_REQUIRE(said);
	PLAT_FACT(t, !strcmp(said, "kept\nkept"), "/tmp and /dev survive a suspension",
		  "of two files there is \"%s\"", said);
}

void plat_asleep_command(struct sp_case *t)
{
	static const char fact[] = "a command wakes a suspended sandbox";
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_platform *platform = &sp_case_subject(t)->platform;
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	struct sp_error err = SP_ERROR_INIT;
	const char *now;
	int rc;

	SP_REQUIRE(sp_count_holds(t, "memory-directory") && open_asleep(t, &s));
	rc = platform->ops->raw_exec(platform->self, s.id, "echo awake", &result, sp_case_cancel(t),
				     &err);
	SP_REQUIRE(PLAT_FACT(t, !rc, fact, "it answered %s: %s", sp_code_name(rc), err.message));
	now = state(&s);
	SP_REQUIRE(now);
	PLAT_FACT(t, !strcmp(now, "running"), fact, "it is %s after one", now);
}

void plat_asleep_upload(struct sp_case *t)
{
	static const char fact[] = "an upload wakes a suspended sandbox";
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	struct sp_error err = SP_ERROR_INIT;
	const char *now;
	int rc;

	SP_REQUIRE(sp_count_holds(t, "memory-directory") && open_asleep(t, &s));
	rc = plat_upload(&s, sp_case_format(t, "%s/up", s.dir), "text", &err);
	SP_REQUIRE(PLAT_FACT(t, !rc, fact, "it answered %s: %s", sp_code_name(rc), err.message));
	now = state(&s);
	SP_REQUIRE(now);
	PLAT_FACT(t, !strcmp(now, "running"), fact, "it is %s after one", now);
}

void plat_asleep_look(struct sp_case *t)
{
	static const char fact[] = "looking at a suspended sandbox does not wake it";
	struct sp_platform_sandbox look SP_CLEANUP(sp_platform_sandbox_done) =
	    SP_PLATFORM_SANDBOX_INIT;
	struct sp_platform *platform = &sp_case_subject(t)->platform;
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	struct sp_error err = SP_ERROR_INIT;
	const char *now;

	SP_REQUIRE(sp_count_holds(t, "memory-directory") && open_asleep(t, &s));
	SP_REQUIRE(
	    plat_ok(t, platform->ops->look(platform->self, s.id, &look, sp_case_cancel(t), &err),
		    &err, "look at the sandbox") &&
	    plat_ok(t, sp_provider_list(sp_case_provider(t), &list, sp_case_cancel(t), &err), &err,
		    "list the sandboxes"));
	now = state(&s);
	SP_REQUIRE(now);
	PLAT_FACT(t, !strcmp(now, "suspended") && !strcmp(look.state, "suspended"), fact,
		  "it was told to be %s and is %s", look.state, now);
}
