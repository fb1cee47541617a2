/* SPDX-License-Identifier: MIT */
/*
 * Coverage of a process that does not return from main(): counters are written by an orderly dump
 * before _exit(), TERM, abort() or a crash. libgcov locks each file and adds to it, so any number
 * of processes may dump at once. KILL cannot be caught: whoever stops a worker asks by TERM first.
 */
#ifndef SP_RUNNER_COVERAGE_H
#define SP_RUNNER_COVERAGE_H

#include <runner/runner.h>

/*
 * From here on an end of this process by a signal is preceded by a dump. Does nothing unless this
 * program was built with coverage, or the run collects a plugin's. A forked child is not watched.
 */
void sp_coverage_watch(const struct sp_run_options *run);
/* Writes what was counted so far: ours, if we are built so, and by the run's `dump`. */
void sp_coverage_dump(const struct sp_run_options *run);

#endif
