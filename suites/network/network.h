/* SPDX-License-Identifier: MIT */
/*
 * The `network` suite: a policy is what the sandbox's sockets meet, in
 * both directions of the claim.
 */
#ifndef SUITE_NETWORK_H
#define SUITE_NETWORK_H

#include <sandproof/case.h>

extern const struct sp_suite sp_suite_network;

#endif
