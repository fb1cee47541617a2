/* SPDX-License-Identifier: MIT */
/*
 * The back door of a store or lock: what a case does behind the subject's
 * back, and what it sees there. It belongs to the back end and not to the
 * contract; a case that needs it is a named skip where there is none.
 */
#ifndef SANDPROOF_BACKDOOR_H
#define SANDPROOF_BACKDOOR_H

#include <stdbool.h>
#include <stdint.h>

#include <sandproof/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ways in which a stored record can be damaged. */
enum sp_damage {
	/* Bytes that are no text. */
	SP_DAMAGE_GARBAGE = 0,
	/* Nothing where something is required. */
	SP_DAMAGE_EMPTY,
	/* Null where something is required. */
	SP_DAMAGE_NULL,
	/* Another type than the one that belongs there. */
	SP_DAMAGE_TYPE,
	SP_DAMAGE_MAX_,
};

/* Trouble that the back end can be put into. */
enum sp_trouble {
	/* Somebody else holds everything exclusively and does not let go, until the trouble ends.
	 */
	SP_TROUBLE_LOCKED = 0,
	/*
	 * The other side is away: every connection is cut and none is made, until the trouble ends.
	 */
	SP_TROUBLE_DOWN,
	/* What holds the data holds something else, until the trouble ends. */
	SP_TROUBLE_FOREIGN,
	/* The data says that a newer program made it, until the trouble ends. */
	SP_TROUBLE_NEWER,
	SP_TROUBLE_MAX_,
};

#define SP_BACKDOOR_VERSION 1

struct sp_backdoor_ops {
	unsigned version;
	/* Everything that is kept for a key, in all tables and indexes: rows, entries, tombstones.
	 */
	int (*count)(void *self, const char *key, uint64_t *ret_count, struct sp_error *err);
	/*
	 * All that is stored of the record of a key, as a text that can be compared and that names
	 * neither the key nor a fence: null differs from empty. malloc'ed. SP_NOT_FOUND without a
	 * record.
	 */
	int (*raw)(void *self, const char *key, char **ret_text, struct sp_error *err);
	/* Damages the record of a key. SP_UNSUPPORTED for damage that the back end's own types
	 * exclude. */
	int (*damage)(void *self, const char *key, enum sp_damage how, struct sp_error *err);
	/* Begins or ends a trouble. SP_UNSUPPORTED where there is no such thing. */
	int (*trouble)(void *self, enum sp_trouble trouble, bool begin, struct sp_error *err);
	/* Of a lock: what a holder of the key has is taken away, as if its time were up.
	 * SP_NOT_FOUND without a holder. */
	int (*expire)(void *self, const char *key, struct sp_error *err);
	/* Ends all troubles and closes. */
	void (*close)(void *self);
};

/* A reference to a back door: two pointers, copied freely; close it once. */
struct sp_backdoor {
	const struct sp_backdoor_ops *ops;
	void *self;
};

#define SP_BACKDOOR_INIT                                                                           \
	{                                                                                          \
		NULL, NULL                                                                         \
	}

/* The calls as functions, as for stores. */
int sp_backdoor_count(struct sp_backdoor *door, const char *prefix, uint64_t *ret_count,
		      struct sp_error *err);
int sp_backdoor_raw(struct sp_backdoor *door, const char *key, char **ret_text,
		    struct sp_error *err);
int sp_backdoor_damage(struct sp_backdoor *door, const char *key, enum sp_damage how,
		       struct sp_error *err);
int sp_backdoor_trouble(struct sp_backdoor *door, enum sp_trouble trouble, bool begin,
			struct sp_error *err);
int sp_backdoor_expire(struct sp_backdoor *door, const char *key, struct sp_error *err);

#ifdef __cplusplus
}
#endif
#endif
