/* SPDX-License-Identifier: MIT */
/* Two answers of drivers to one request: where they differ in what the protocol promises. */
#ifndef SP_DRIVER_COMPARE_H
#define SP_DRIVER_COMPARE_H

#include <base/buf.h>
#include <base/json.h>

/* What stands in a trace for a secret. */
#define DRV_MASK "[redacted]"

/* Called with each difference: where ("result.exit_code"), and both sides as JSON, or "nothing". */
typedef void (*drv_differs_fn)(void *arg, const char *at, const char *expected, const char *actual);

/*
 * Compares two answers, made-up values of the expected one replaced already: the shape, the code of
 * an error (and its message where it is the reason of an abort), and every value that is neither
 * made up by the driver, nor a time, nor masked.
 */
void drv_compare(const char *method, const cJSON *expected, const cJSON *actual,
		 drv_differs_fn differs, void *arg);

#endif
