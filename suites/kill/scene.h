/* SPDX-License-Identifier: MIT */
/* What most cases of this suite set up first: a place, one probe, one spawned command. */
#ifndef SUITE_KILL_SCENE_H
#define SUITE_KILL_SCENE_H

#include <signal.h>
#include <string.h>

#include <witness/call.h>
#include <witness/count.h>
#include <witness/fifo.h>
#include <witness/gate.h>
#include <witness/mark.h>
#include <witness/place.h>
#include <witness/rounds.h>
#include <witness/shell.h>
#include <witness/token.h>

struct kill_scene {
	struct sp_case *t;
	struct sp_sandbox *sandbox;
	struct sp_place place;
	struct sp_token probe;
	/* Given to the command by kill_scene_start(); owned. */
	struct sp_cancel *cancel;
	struct sp_spawned child;
};

#define KILL_SCENE_INIT { .place = SP_PLACE_INIT, .child = SP_SPAWNED_INIT }
/* struct kill_scene s KILL_SCENE = KILL_SCENE_INIT; */
#define KILL_SCENE SP_CLEANUP(kill_scene_done)

/*
 * Takes the case's sandbox, makes the place and the probe "probe". False after a recorded failure.
 */
bool kill_scene_open(struct sp_case *t, struct kill_scene *s);
/*
 * Spawns `shape`, in which %1$s stands for the probe and %2$s for text that
 * holds the command until the place is closed, and waits until the probe runs.
 */
bool kill_scene_start(struct kill_scene *s, const char *shape);
/* Spawns an answerer named `name` and waits until it answers. */
bool kill_bystander(struct kill_scene *s, const char *name, struct sp_spawned *child,
		    struct sp_answerer *answerer);
/* A fresh command gives exactly what it printed (field:K15). */
bool kill_check_usable(struct kill_scene *s);
/* See KILL_SCENE. */
void kill_scene_done(struct kill_scene *s);

/* A cancel for one case: struct sp_cancel *c KILL_CANCEL = sp_cancel_new(); */
#define KILL_CANCEL SP_CLEANUP(kill_cancel_done)
void kill_cancel_done(struct sp_cancel **cancel);
/* A new cancel, or NULL after a recorded error. */
struct sp_cancel *kill_cancel(struct sp_case *t);

/*
 * A second handle on the case's sandbox, as another process would have; its own queue. Ops
 * NULL after a recorded failure.
 */
#define KILL_HANDLE SP_CLEANUP(sp_sandbox_done)
struct sp_sandbox kill_second_handle(struct sp_case *t, struct sp_sandbox *sandbox);

#endif
