/* SPDX-License-Identifier: MIT */
/* Times that clients send. */
#ifndef FAKE_RENDER_API_TIME_IN_H
#define FAKE_RENDER_API_TIME_IN_H

#include <stdbool.h>
#include <stdint.h>

/* RFC 3339, with fractions and offsets, to milliseconds since 1970. False: it is none. */
bool time_read(const char *text, int64_t *ret_wall_ms);

#endif
