/* SPDX-License-Identifier: MIT */
/* P4, P5: what a snapshot holds, and what it may be called. */
#include <string.h>

#include <suites/platform/cases.h>
#include <suites/platform/scene.h>
#include <witness/count.h>
#include <witness/made.h>

#define LONGEST_NAME 64

/* Takes a snapshot by name; the reference for the life of the case, or NULL after a recorded error.
 */
static const char *take(struct plat_scene *s, const char *name, enum sp_snapshot_kind kind)
{
	struct sp_platform *platform = &sp_case_subject(s->t)->platform;
	char *id SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;
	int rc = platform->ops->raw_snapshot(platform->self, s->id, name, kind, &id,
					     sp_case_cancel(s->t), &err);

	return plat_ok(s->t, rc, &err, "take a snapshot") ? sp_case_format(s->t, "%s", id) : NULL;
}

static void forget(struct plat_scene *s, const char *snapshot)
{
	struct sp_error err = SP_ERROR_INIT;

	plat_ok(s->t,
		sp_provider_snapshot_delete(sp_case_provider(s->t), snapshot, sp_case_cancel(s->t),
					    &err),
		&err, "delete the snapshot");
}

/* What of "disk" and "dev" a snapshot of this kind brings back; NULL after a recorded error. */
static const char *brought_back(struct plat_scene *s, enum sp_snapshot_kind kind)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox restored SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *name = s->name, *snapshot, *said = NULL;
	int rc;

	if (!plat_run(s, s->id, "echo disk >%s/file; echo dev >/dev/%s", s->dir, name))
		return NULL;
	snapshot = take(s, sp_case_unique(s->t), kind);
	if (!snapshot)
		return NULL;
	options.cancel = sp_case_cancel(s->t);
	sp_case_own_sandbox(s->t, NULL);
	rc = sp_provider_restore(sp_case_provider(s->t), snapshot, &options, &restored, &err);
	if (plat_ok(s->t, rc, &err, "restore the snapshot"))
		said = plat_run(s, sp_sandbox_id(&restored),
				"cat %s/file /dev/%s 2>/dev/null; :", s->dir, name);
	forget(s, snapshot);
	(void)plat_run(s, s->id, "rm -f /dev/%s", name);
	return sp_case_failed(s->t) ? NULL : said;
}

void plat_snapshot_filesystem(struct sp_case *t)
{
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	const char *said;

	SP_REQUIRE(sp_count_holds(t, "memory-directory") && plat_scene_open(t, &s));
	said = brought_back(&s, SP_SNAPSHOT_FILESYSTEM);
	SP_REQUIRE(said);
	PLAT_FACT(t, !strcmp(said, "disk"),
		  "the filesystem kind keeps the disk and leaves /dev out",
		  "it brought back \"%s\"", said);
}

void plat_snapshot_runtime(struct sp_case *t)
{
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	const char *said;

	SP_REQUIRE(sp_count_holds(t, "memory-directory") && plat_scene_open(t, &s));
	said = brought_back(&s, SP_SNAPSHOT_RUNTIME);
	SP_REQUIRE(said);
	PLAT_FACT(t, !strcmp(said, "disk\ndev"), "the runtime kind keeps the disk and /dev",
		  "it brought back \"%s\"", said);
}

void plat_snapshot_name(struct sp_case *t)
{
	static const char fact[] = "a snapshot's name has at most 64 characters";
	struct sp_platform *platform = &sp_case_subject(t)->platform;
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	struct sp_error err = SP_ERROR_INIT;
	char name[LONGEST_NAME + 2], *id SP_FREE = NULL;
	const char *longest, *kept;
	int rc;

	SP_REQUIRE(plat_scene_open(t, &s));
	snprintf(name, sizeof(name), "%-*s", LONGEST_NAME + 1, sp_case_unique(t));
	for (char *c = name; *c; c++)
		*c = *c == ' ' ? 'x' : *c;
	longest = sp_case_format(t, "%.*s", LONGEST_NAME, name);
	kept = take(&s, longest, SP_SNAPSHOT_FILESYSTEM);
	SP_REQUIRE(kept);
	forget(&s, kept);
	SP_REQUIRE(!sp_case_failed(t));
	rc = platform->ops->raw_snapshot(platform->self, s.id, name, SP_SNAPSHOT_FILESYSTEM, &id,
					 sp_case_cancel(t), &err);
	if (!rc)
		forget(&s, id);
	PLAT_FACT(t, rc == SP_INVALID, fact, "one of 65 was answered %s",
		  rc ? sp_code_name(rc) : "by taking it");
}
