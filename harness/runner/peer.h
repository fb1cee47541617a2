/* SPDX-License-Identifier: MIT */
/* The lines between a case and its peer that the runner itself says; everything else is the case's.
 */
#ifndef SP_RUNNER_PEER_H
#define SP_RUNNER_PEER_H

struct sp_case;

/* Longest line. */
#define SP_PEER_LINE (256UL * 1024)

/* Its subject is open. */
#define SP_PEER_READY "\1ready"
/* The function returned and the subject is closed. */
#define SP_PEER_DONE "\1done"
/* Its subject could not be opened: a code and a message. */
#define SP_PEER_REFUSED "\1refused"
/* The machine cannot give it its place: why. */
#define SP_PEER_CANNOT "\1cannot"

/* Kills what is left of a case's peers, and frees them. */
void sp_peers_end(struct sp_case *t);

#endif
