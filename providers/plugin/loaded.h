/* SPDX-License-Identifier: MIT */
/* Between the files of this folder. */
#ifndef SP_PLUGIN_LOADED_H
#define SP_PLUGIN_LOADED_H

/* Calls `fn` for the handle of every plugin of this process, without a lock: it may be dying. */
void sp_plugin_each(void (*fn)(void *handle));

#endif
