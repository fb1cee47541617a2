/* SPDX-License-Identifier: MIT */
/* The tables that the registry joins: one file a theme. */
#ifndef FAKE_FAULTY_TABLES_H
#define FAKE_FAULTY_TABLES_H

#include <sandproof/seams.h>

struct fault_table {
	const struct sp_fault *faults;
	size_t len;
};

/* Steps of the Render provider, undone one at a time. */
extern const struct fault_table fault_table_steps;

#endif
