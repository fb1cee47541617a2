/* SPDX-License-Identifier: MIT */
/*
 * What a driver makes up: handles, ids, roots, addresses. The traced one is known, and the one that
 * the new driver made up instead; it takes the other's place wherever that is said again.
 */
#ifndef SP_DRIVER_MADE_H
#define SP_DRIVER_MADE_H

#include <base/json.h>
#include <base/buf.h>

struct drv_made_item {
	/* Member in which it stood: "sandbox", "id", … */
	const char *kind;
	/* Handles belong to a dialogue, everything else to all of them. */
	size_t dialogue;
	char *traced, *actual;
	/* A sandbox or snapshot that the replay made ("id"): how to remove it; NULL: it is not. */
	const char *remove;
	/* The handle of such a sandbox. */
	char *handle;
};

/* All that were learned, oldest first; zeroed to begin with. */
struct drv_made {
	struct drv_made_item *items;
	size_t len, size;
};

/* True when the value of such a member is made up by the driver, so it is not compared. */
bool drv_made_is(const char *method, const char *member);
/* Learns from an answer; 0 or -ENOMEM. */
int drv_made_learn(struct drv_made *made, size_t dialogue, const char *method, const cJSON *traced,
		   const cJSON *actual);
/* Puts actual values in place of traced ones, in a whole message. 0 or -ENOMEM. */
int drv_made_replace(const struct drv_made *made, size_t dialogue, cJSON *message);
/* Notes what a request removes; `params` as the driver gets them. */
void drv_made_removed(struct drv_made *made, size_t dialogue, const char *method,
		      const cJSON *params);
void drv_made_done(struct drv_made *made);

/* Appends what a Bytes stands for, in either form; false when it is none. */
bool drv_bytes_of(const cJSON *item, struct sp_buf *out);

#endif
