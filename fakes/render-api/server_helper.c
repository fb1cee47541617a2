/* SPDX-License-Identifier: MIT */
/*
 * The server as a program of its own, for tests: LISTEN ERA [--die-with-parent]
 * [--keep-alive-ms=N] [FAULT]…
 */
#include <fakes/render-api/server.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct fake_api_options options = { .json = true, .era = FAKE_ERA_C };
	struct sp_error err = SP_ERROR_INIT;
	int first = 3;

	if (argc < 3)
		return 2;
	options.listen = argv[1];
	options.era = (enum fake_era)(argv[2][0] - 'A');
	if (argc > 3 && !strcmp(argv[3], "--die-with-parent")) {
		options.die_with_parent = true;
		first++;
	}
	if (argc > first && sscanf(argv[first], "--keep-alive-ms=%u", &options.keep_alive_ms) == 1)
		first++;
	options.faults = (const char *const *)argv + first;
	options.n_faults = (size_t)(argc - first);
	if (fake_api_run(&options, &err)) {
		fprintf(stderr, "%s: %s\n", sp_code_name(err.code), err.message);
		return 1;
	}
	return 0;
}
