/* SPDX-License-Identifier: MIT */
/*
 * File calls with the case's cancel, checked and told. Each case works below a
 * folder of its own in the workspace and removes it at the end. What a call did is
 * looked at by a command (two paths), never by the call itself alone.
 */
#ifndef SUITE_FS_RUN_H
#define SUITE_FS_RUN_H

#include <base/cleanup.h>
#include <sandproof/case.h>
#include <witness/shell.h>

/* The case's sandbox and its folder there: relative for the calls, and quoted for commands. */
struct yard {
	struct sp_case *t;
	struct sp_sandbox *sandbox;
	const char *dir;
};

/* struct yard y YARD = YARD_INIT; the folder goes away with the scope. */
#define YARD SP_CLEANUP(yard_close)
#define YARD_INIT { NULL, NULL, NULL }
/* Makes the folder by a command. False after a recorded failure. */
bool yard_open(struct sp_case *t, struct yard *yard);
void yard_close(struct yard *yard);
/* Path of `name` in the folder; lives as long as the case. */
const char *yard_path(const struct yard *yard, const char *name);
/* A text as one word of the shell; lives as long as the case. */
const char *quoted(struct sp_case *t, const char *text);

/* Calls that must work; false after a recorded failure. */
bool put(const struct yard *yard, const char *path, const void *data, size_t len);
bool put_text(const struct yard *yard, const char *path, const char *text);
/* read() gives exactly these bytes. */
bool gives(const struct yard *yard, const char *path, const void *data, size_t len);
bool gives_text(const struct yard *yard, const char *path, const char *text);
/* exists() says so. */
bool is_there(const struct yard *yard, const char *path, bool there);
/* What a command prints is exactly this. */
bool says(const struct yard *yard, const char *expected, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The calls of one path, for tables: each gives its code. */
typedef int (*fs_call)(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		       struct sp_error *err);
struct named_call {
	const char *name;
	fs_call call;
	/* True when it needs no more than a command or a transfer and changes nothing. */
	bool looks_only;
};
extern const struct named_call fs_calls[];
extern const size_t n_fs_calls;

#endif
