/* SPDX-License-Identifier: MIT */
#ifndef FAKE_RENDER_API_EDGE_H
#define FAKE_RENDER_API_EDGE_H

#include <fakes/render-api/request.h>

/*
 * True when the switch `edge-403` is on and the body holds what the provider's edge refuses
 * (render-api 19).
 */
bool edge_refuses(const struct request *request);

#endif
