/* SPDX-License-Identifier: MIT */
/* Faults of locks that show in their keys: two become one, or one becomes many. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>

#include "wrap.h"
#include "wrap_lock.h"

#define KEY_ROOM (SP_KEY_TAKEN + 64)

/* Defines hooks NAME and wrap_NAME() of a fault that takes the key that NAME_key() makes. */
#define LOCK_KEY_FAULT(name)                                                                       \
	static int name##_acquire(struct fault_lock *lock, const char *key,                        \
				  struct sp_cancel *cancel, struct fault_lease *lease,             \
				  struct sp_error *err)                                            \
	{                                                                                          \
		char other[KEY_ROOM] = "";                                                         \
                                                                                                   \
		name##_key(lock, key, other, sizeof(other));                                       \
		return sp_lock_acquire(&lock->inner, other, cancel, &lease->inner, err);           \
	}                                                                                          \
	static const struct fault_lock_hooks name = {.acquire = name##_acquire};                   \
	FAULT_WRAP_LOCK(wrap_##name, name)

static void folds_case_key(struct fault_lock *lock, const char *key, char *out, size_t size)
{
	size_t i = 0;

	(void)lock;
	for (; key[i] && i + 1 < size; i++)
		out[i] = (char)((unsigned char)key[i] < 0x80 ? tolower(key[i]) : key[i]);
	out[i] = '\0';
}
LOCK_KEY_FAULT(folds_case)

static void sanitizes_key(struct fault_lock *lock, const char *key, char *out, size_t size)
{
	size_t i = 0;

	(void)lock;
	for (; key[i] && i + 1 < size; i++)
		out[i] = isalnum((unsigned char)key[i]) ? key[i] : '_';
	out[i] = '\0';
}
LOCK_KEY_FAULT(sanitizes)

static void cuts_key(struct fault_lock *lock, const char *key, char *out, size_t size)
{
	(void)lock, (void)size;
	snprintf(out, 200, "%s", key);
}
LOCK_KEY_FAULT(cuts)

/* An advisory lock on hash(key): 32-bit FNV-1a. */
static void hashes_key(struct fault_lock *lock, const char *key, char *out, size_t size)
{
	uint32_t hash = UINT32_C(0x811c9dc5);

	(void)lock;
	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * UINT32_C(0x01000193);
	snprintf(out, size, "%08x", hash);
}
LOCK_KEY_FAULT(hashes)

static void repairs_key(struct fault_lock *lock, const char *key, char *out, size_t size)
{
	size_t len = strlen(key), i = 0;

	(void)lock;
	/* What is too long stays so: that is refused below. */
	for (; i < len && i + 1 < size; i++)
		out[i] = (unsigned char)key[i] < 0x80 ? key[i] : '?';
	out[i] = '\0';
}
LOCK_KEY_FAULT(repairs)

static void one_for_all_key(struct fault_lock *lock, const char *key, char *out, size_t size)
{
	(void)lock, (void)key;
	snprintf(out, size, "everything");
}
LOCK_KEY_FAULT(one_for_all)

/* Each caller has a key of its own. */
static void nobody_key(struct fault_lock *lock, const char *key, char *out, size_t size)
{
	char id[17];

	(void)lock;
	sp_random_id(id, 16);
	snprintf(out, size, "%.1000s-%s", key, id);
}
LOCK_KEY_FAULT(nobody)

/* Each instance has keys of its own. */
static void within_itself_key(struct fault_lock *lock, const char *key, char *out, size_t size)
{
	if (!lock->data && (lock->data = calloc(1, 17)))
		sp_random_id(lock->data, 16);
	snprintf(out, size, "%.1000s-%s", key, lock->data ? (char *)lock->data : "");
}

static int within_itself_acquire(struct fault_lock *lock, const char *key, struct sp_cancel *cancel,
				 struct fault_lease *lease, struct sp_error *err)
{
	char other[KEY_ROOM];

	pthread_mutex_lock(&lock->lock);
	within_itself_key(lock, key, other, sizeof(other));
	pthread_mutex_unlock(&lock->lock);
	return sp_lock_acquire(&lock->inner, other, cancel, &lease->inner, err);
}

static void within_itself_close(struct fault_lock *lock)
{
	free(lock->data);
}

static const struct fault_lock_hooks within_itself = {.acquire = within_itself_acquire,
						      .close = within_itself_close};
FAULT_WRAP_LOCK(wrap_within_itself, within_itself)

static const struct sp_fault faults[] = {
    LOCK_FAULT("lock-folds-case", folds_case, "L7", "Keys are compared without case.",
	       FAULT_LIST("field:T05"), FAULT_LIST("lock.key.exact")),
    LOCK_FAULT("lock-sanitizes-keys", sanitizes, "L7",
	       "Every byte of a key that is no letter or digit becomes an underscore.",
	       FAULT_LIST("field:T05"), FAULT_LIST("lock.key.exact")),
    LOCK_FAULT("lock-cuts-keys", cuts, "L7", "Keys are cut at 199 bytes.", FAULT_LIST("field:T05"),
	       FAULT_LIST("lock.key.long", "lock.key.refused")),
    LOCK_FAULT("lock-hashes-keys", hashes, "L7", "A 32-bit hash stands for the key.",
	       FAULT_LIST("contract:C190", "field:T05"), FAULT_LIST("lock.key.hash")),
    LOCK_FAULT("lock-repairs-utf8", repairs, "L7", "Bytes that are not UTF-8 are replaced.",
	       FAULT_LIST("contract:C241", "field:T05"), FAULT_LIST("lock.key.refused")),
    LOCK_FAULT("lock-one-for-all", one_for_all, "L1", "All keys are one.",
	       FAULT_LIST("contract:C187"), FAULT_LIST("lock.hold.independent")),
    LOCK_FAULT("lock-excludes-nobody", nobody, "L1", "Everybody is given every key.",
	       FAULT_LIST("contract:C184"), FAULT_LIST("lock.hold.excludes")),
    LOCK_FAULT("lock-excludes-within-itself", within_itself, "L5",
	       "Each instance excludes its own callers only, and declares more.",
	       FAULT_LIST("contract:C185"),
	       FAULT_LIST("lock.second.excludes", "lock.process.excludes", "lock.process.counts")),
};

FAULT_TABLE(fault_lock_keys, faults);
