/* SPDX-License-Identifier: MIT */
/* The store and the lock inside one process: the reference for what each call answers. */
#ifndef SP_STORES_MEMORY_H
#define SP_STORES_MEMORY_H

#include <sandproof/store.h>

/* Opens an empty store of its own: nothing is shared with other instances, nothing outlives it.
 * SP_INTERNAL. */
int sp_memory_store_open(struct sp_store *ret_store, struct sp_error *err);
/*
 * Opens a lock service of its own: waiters are served in the order in which they came, a key that
 * nobody holds takes no memory. Not re-entrant. SP_INTERNAL.
 */
int sp_memory_lock_open(struct sp_lock *ret_lock, struct sp_error *err);

#endif
