/* SPDX-License-Identifier: MIT */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <base/clock.h>

int fake_timeline_add(struct fake_sandbox *sandbox, const char *text)
{
	size_t n = sandbox->n_timeline;
	char *copy = strdup(text);

	/* Full whenever the length is a power of two: the room doubles then. */
	if (copy && !(n & (n - 1))) {
		struct fake_text *grown =
			reallocarray(sandbox->timeline, n ? 2 * n : 1, sizeof(*grown));

		if (!grown) {
			free(copy);
			return -ENOMEM;
		}
		sandbox->timeline = grown;
	}
	if (!copy)
		return -ENOMEM;
	sandbox->timeline[n] = (struct fake_text){ copy, sp_wall_ms() };
	sandbox->n_timeline++;
	return 0;
}

void fake_timeline_done(struct fake_sandbox *sandbox)
{
	while (sandbox->n_timeline)
		free(sandbox->timeline[--sandbox->n_timeline].text);
	free(sandbox->timeline);
	sandbox->timeline = NULL;
}

size_t fake_timeline_len(const struct fake_sandbox *sandbox)
{
	return sandbox->n_timeline;
}

struct fake_timeline_entry fake_timeline_get(const struct fake_sandbox *sandbox, size_t i)
{
	return (struct fake_timeline_entry){ sandbox->timeline[i].text,
					     sandbox->timeline[i].started_ms };
}
