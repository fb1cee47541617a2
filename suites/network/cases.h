/* SPDX-License-Identifier: MIT */
/* The functions of the network suite's cases; network.c has their records. */
#ifndef SUITE_NETWORK_CASES_H
#define SUITE_NETWORK_CASES_H

#include <sandproof/case.h>

/* policy.c */
void net_deny(struct sp_case *t);
void net_deny_children(struct sp_case *t);
void net_deny_loopback(struct sp_case *t);
void net_deny_asleep(struct sp_case *t);
void net_deny_second(struct sp_case *t);
void net_allow(struct sp_case *t);
void net_refused(struct sp_case *t);

#endif
