/* SPDX-License-Identifier: MIT */
/*
 * Coverage of a plugin that was built with it: its counters are written by its destructors, which a
 * worker that leaves by _exit() or a signal never runs.
 */
#include "plugin.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "loaded.h"

typedef void (*destructor_fn)(void);

/*
 * As unloading would do it, but the code stays where it is, since a thread may stand in it.
 * Addresses of the table are relocated by the time that we look.
 */
static void run_destructors(const struct link_map *map)
{
	const destructor_fn *all = NULL;
	size_t n = 0;

	for (const ElfW(Dyn) *at = map->l_ld; at->d_tag != DT_NULL; at++) {
		if (at->d_tag == DT_FINI_ARRAY)
			all = (const destructor_fn *)(map->l_addr + at->d_un.d_ptr);
		else if (at->d_tag == DT_FINI_ARRAYSZ)
			n = at->d_un.d_val / sizeof(*all);
	}
	while (all && n)
		all[--n]();
}

static void finish(void *handle)
{
	struct link_map *map = NULL;

	if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && map)
		run_destructors(map);
}

void sp_plugin_finish(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;

	/* Two threads may end a process at once; what is here is done once. */
	if (!atomic_flag_test_and_set(&done))
		sp_plugin_each(finish);
}
