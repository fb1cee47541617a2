/* SPDX-License-Identifier: MIT */
/* The faults, by id. */
#ifndef FAKE_FAULTY_H
#define FAKE_FAULTY_H

#include <sandproof/seams.h>

/* All faults, sorted by id; static. */
const struct sp_fault *const *sp_faults(size_t *ret_len);
/* One fault by id, or NULL. */
const struct sp_fault *sp_fault_find(const char *id);

#endif
