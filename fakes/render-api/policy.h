/* SPDX-License-Identifier: MIT */
#ifndef FAKE_RENDER_API_POLICY_H
#define FAKE_RENDER_API_POLICY_H

#include <fakes/render-api/model.h>

/* Reads a networkPolicy (may be NULL) into the wish. False: `*ret_why` is a static text. */
bool policy_read(enum fake_era era, const cJSON *policy, struct sandbox_wish *wish,
		 const char **ret_why);
/* Frees what policy_read() put into a wish that was not taken over. */
void policy_free(struct sandbox_wish *wish);

#endif
