/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct bench bench = { .program = "build/sandproof", .rounds = 500, .journal_mib = 1024,
			       .journal_rounds = 3, .snapshot_parts = 10 };

	if (argc > 1)
		bench.program = argv[1];
	if (argc > 2 && !strcmp(argv[2], "snapshot")) {
		if (argc > 3)
			bench.snapshot_parts = (unsigned)strtoul(argv[3], NULL, 10);
		bench_snapshot(&bench);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[2], "server")) {
		bench_server(&bench);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[2], "reports")) {
		bench_reports(&bench);
		return 0;
	}
	if (argc > 2)
		bench.rounds = strtoul(argv[2], NULL, 10);
	if (argc > 3)
		bench.journal_mib = strtoul(argv[3], NULL, 10);
	if (argc > 4 || bench.journal_mib < 1) {
		fputs("usage: bench [PROGRAM [ROUNDS [JOURNAL_MIB]]]\n"
		      "       bench PROGRAM snapshot [TENTHS]\n"
		      "       bench PROGRAM server\n"
		      "       bench PROGRAM reports\n",
		      stderr);
		return 2;
	}
	/* No rounds: the journal alone. */
	if (bench.rounds) {
		bench_exec(&bench);
		bench_empty(&bench);
		bench_run(&bench);
		bench_server(&bench);
		bench_snapshot(&bench);
		bench_reports(&bench);
	}
	bench_journal(&bench);
	return 0;
}
