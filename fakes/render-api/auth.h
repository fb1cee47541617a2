/* SPDX-License-Identifier: MIT */
#ifndef FAKE_RENDER_API_AUTH_H
#define FAKE_RENDER_API_AUTH_H

#include <fakes/render-api/request.h>

/*
 * Checks who asks and finds the workspace and sandbox that are asked for; takes a token of the
 * proxy to its use. Answers itself when something is wrong.
 */
void auth_check(struct request *request);

#endif
