/* SPDX-License-Identifier: MIT */
/* Time: monotonic for limits, wall clock for reports, and one multiplier for every limit. */
#ifndef SP_BASE_CLOCK_H
#define SP_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_MS UINT64_C(1000000)
#define SP_SECOND (1000 * SP_MS)

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t sp_now(void);
/* Wall clock in milliseconds since 1970. */
int64_t sp_wall_ms(void);
/* "2026-11-30T10:00:00Z"; `size` at least 21. */
void sp_wall_format(int64_t wall_ms, char *buffer, size_t size);
/* Reads such a time, with fraction or offset as RFC 3339 allows them; false for anything else. */
bool sp_wall_parse(const char *text, int64_t *ret_wall_ms);
/*
 * A limit in nanoseconds from now, stretched by SANDPROOF_TIME_SCALE (a number from 0.1 to 1000; 1
 * when unset or not a number), as an absolute time for sp_cancel_set_deadline().
 */
uint64_t sp_deadline_ms(uint64_t milliseconds);
/* A length in milliseconds, stretched by SANDPROOF_TIME_SCALE in the same way. */
uint64_t sp_scaled_ms(uint64_t milliseconds);
/* Whether SANDPROOF_TIME_SCALE is unset, empty or such a number. */
bool sp_time_scale_valid(void);
/*
 * Milliseconds left until an absolute time for poll(2): 0 when past, -1 for 0 (never), rounded up.
 */
int sp_until_ms(uint64_t deadline);

#endif
