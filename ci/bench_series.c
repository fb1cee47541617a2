/* SPDX-License-Identifier: MIT */
/* Series and figures: what every bench program prints alike. */
#include <ci/bench.h>

#include <stdio.h>
#include <stdlib.h>

void bench_die(const char *what, const struct sp_error *err)
{
	fprintf(stderr, "bench: %s: %s\n", what, err && err->message[0] ? err->message : "failed");
	exit(1);
}

void bench_add(struct bench_series *series, uint64_t ns)
{
	if (series->len == series->size) {
		series->size = series->size ? 2 * series->size : 256;
		series->ns = reallocarray(series->ns, series->size, sizeof(*series->ns));
		if (!series->ns)
			bench_die("no memory", NULL);
	}
	series->ns[series->len++] = ns;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t bench_median(struct bench_series *series)
{
	if (series->len == 0)
		return 0;
	qsort(series->ns, series->len, sizeof(*series->ns), by_value);
	return series->ns[series->len / 2];
}

void bench_series_done(struct bench_series *series)
{
	free(series->ns);
	*series = (struct bench_series){ 0 };
}

void bench_print(const char *what, double value, const char *unit, double aim)
{
	printf("%-58s %8.2f %-3s", what, value, unit);
	if (aim > 0)
		printf("  aim %5.1f  %s", aim, value <= aim ? "ok" : "OVER");
	putchar('\n');
	fflush(stdout);
}

void bench_print_least(const char *what, double value, const char *unit, double aim)
{
	printf("%-58s %8.2f %-3s  least %4.1f  %s\n", what, value, unit, aim,
	       value >= aim ? "ok" : "UNDER");
	fflush(stdout);
}

double bench_percentile(struct bench_series *series, double percent)
{
	bench_median(series);
	return series->len ? (double)series->ns[(size_t)((double)(series->len - 1) * percent / 100)]
			   : 0;
}
