/* SPDX-License-Identifier: MIT */
/*
 * MARK: did a command run? It creates a file with a name that nobody else
 * uses; a later command says whether it is there. The absence before is
 * checked too, so that yesterday's file proves nothing.
 */
#ifndef SP_WITNESS_MARK_H
#define SP_WITNESS_MARK_H

#include <witness/shell.h>

struct sp_mark {
	struct sp_case *t;
	struct sp_sandbox *sandbox;
	/* Absolute path of the file. */
	const char *path;
	/* The effect, to be embedded: ": >/tmp/…". */
	const char *shell;
};

#define SP_MARK_INIT { NULL, NULL, NULL, NULL }
/* struct sp_mark mark SP_MARK = SP_MARK_INIT; leaving the scope removes the file. */
#define SP_MARK SP_CLEANUP(sp_mark_done)

/*
 * A mark that is not there yet; `name` tells several marks of one case apart.
 * False after a recorded failure.
 */
bool sp_mark_make(struct sp_case *t, struct sp_sandbox *sandbox, const char *name,
		  struct sp_mark *mark);
/* Fails the case at `where` unless the file is there (or, with `there` false, is absent). */
bool sp_mark_check(const struct sp_mark *mark, bool there, struct sp_where where,
		   const char *what);
/* 1 there, 0 absent, -1 after a recorded failure. */
int sp_mark_there(const struct sp_mark *mark);
/* See SP_MARK. */
void sp_mark_done(struct sp_mark *mark);

#endif
