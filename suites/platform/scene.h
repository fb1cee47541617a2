/* SPDX-License-Identifier: MIT */
/*
 * What the cases of `platform` share. Everything goes around the provider's wrapper, and everything
 * that is not as it was measured ends the case as an error, never as a failure.
 */
#ifndef SUITE_PLATFORM_SCENE_H
#define SUITE_PLATFORM_SCENE_H

#include <base/cleanup.h>
#include <sandproof/case.h>

struct plat_scene {
	struct sp_case *t;
	const char *id;
	/* A name that nobody else uses, and a folder of that name in the home folder. */
	const char *name;
	const char *dir;
};

/* struct plat_scene s PLAT_SCENE = { 0 }; the folder is removed when the scope is left. */
#define PLAT_SCENE SP_CLEANUP(plat_scene_done)

/* Takes the case's sandbox and makes the folder; false after a recorded error. */
bool plat_scene_open(struct sp_case *t, struct plat_scene *s);
void plat_scene_done(struct plat_scene *s);

/*
 * Records that a fact holds; else the case ends as "platform changed: FACT: what was seen". Returns
 * `held`.
 */
bool plat_fact(struct sp_case *t, bool held, struct sp_where where, const char *fact,
	       const char *seen, ...) __attribute__((format(printf, 5, 6)));
#define PLAT_FACT(t, held, fact, ...) plat_fact(t, held, SP_HERE, fact, __VA_ARGS__)

/* A call that has to succeed for the fact to be seen at all; an error where it did not. */
bool plat_ok(struct sp_case *t, int rc, const struct sp_error *err, const char *what);

/*
 * Runs a bare command in a sandbox; its output without the last line feed, for the life of the
 * case, or NULL after a recorded error. The exit code is not looked at.
 */
const char *plat_run(struct plat_scene *s, const char *id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Uploads a text; 0 or the answer's code. */
int plat_upload(struct plat_scene *s, const char *path, const char *text, struct sp_error *err);

#endif
