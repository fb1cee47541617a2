/* SPDX-License-Identifier: MIT */
/* The tables of faults: one a file, listed in faulty.c. */
#ifndef FAKE_FAULTY_TABLES_H
#define FAKE_FAULTY_TABLES_H

#include <sandproof/seams.h>

/* One file's faults, in any order; static. */
struct fault_table {
	const struct sp_fault *faults;
	size_t len;
};

/* Defines a table over the array `array` of this file. */
#define FAULT_TABLE(name, array)                                                                   \
	const struct fault_table name = { array, sizeof(array) / sizeof((array)[0]) }

/* The kill suite's, by theme. */
extern const struct fault_table fault_kill_kill;
extern const struct fault_table fault_kill_tell;
extern const struct fault_table fault_kill_abort;
extern const struct fault_table fault_kill_wait;
extern const struct fault_table fault_kill_codes;
extern const struct fault_table fault_kill_ends;
extern const struct fault_table fault_kill_steps;
/* The exec suite's, by theme. */
extern const struct fault_table fault_exec_code;
extern const struct fault_table fault_exec_output;
extern const struct fault_table fault_exec_cap;
extern const struct fault_table fault_exec_turns;
extern const struct fault_table fault_exec_stdin;
extern const struct fault_table fault_exec_shell;
extern const struct fault_table fault_exec_place;
extern const struct fault_table fault_exec_git;
extern const struct fault_table fault_exec_outcome;
extern const struct fault_table fault_exec_transport;
/* The platform suite's. */
extern const struct fault_table fault_platform;
/* The network suite's, the caps suite's. */
extern const struct fault_table fault_network;
extern const struct fault_table fault_caps;
/* The fs suite's. */
extern const struct fault_table fault_fs;
/* The lifecycle suite's. */
extern const struct fault_table fault_lifecycle;
/* The env suite's: of any provider, and of the Render provider's steps. */
extern const struct fault_table fault_env_calls;
extern const struct fault_table fault_env_steps;
/* The snapshot suite's. */
extern const struct fault_table fault_snapshot;
/* The store suite's, by theme. */
extern const struct fault_table fault_store_fields;
extern const struct fault_table fault_store_keys;
extern const struct fault_table fault_store_answers;
extern const struct fault_table fault_store_fence;
extern const struct fault_table fault_store_instances;
/* The lock suite's, by theme. */
extern const struct fault_table fault_lock_keys;
extern const struct fault_table fault_lock_holders;
/* The journal suite's, by theme. */
extern const struct fault_table fault_journal_write;
extern const struct fault_table fault_journal_read;
extern const struct fault_table fault_journal_marks;
extern const struct fault_table fault_journal_names;
/* The ensure suite's, by theme. */
extern const struct fault_table fault_ensure_key;
extern const struct fault_table fault_ensure_paths;
extern const struct fault_table fault_ensure_lock;
extern const struct fault_table fault_ensure_failures;

#endif
