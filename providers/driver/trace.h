/* SPDX-License-Identifier: MIT */
/*
 * The trace of a dialogue: one JSON object a line, `{"driver":NAME,"sent":MESSAGE}`,
 * "received", or "refused" with the text of a line that was no message.
 * Secrets (values of environments, tokens) are replaced wherever they occur, in every form.
 */
#ifndef SP_DRIVER_TRACE_H
#define SP_DRIVER_TRACE_H

#include <base/json.h>
#include <sandproof/error.h>

struct drv_trace;

/* Opens the file for appending; several processes may do so. */
int drv_trace_open(const char *path, struct drv_trace **ret_trace, struct sp_error *err);
void drv_trace_close(struct drv_trace *trace);
/* Adds a message, without its newline, and learns its secrets first. NULL does nothing. */
void drv_trace_add(struct drv_trace *trace, bool sent, const char *line, size_t len);

#endif
