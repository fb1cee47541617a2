/* SPDX-License-Identifier: MIT */
/*
 * Error codes and error records.
 *
 * Every function of the contract returns 0 or one negative code of
 * `enum sp_code`. The code is the contract; the record says in words what
 * happened, to what, and what to do. Neither ever holds a secret.
 */
#ifndef SANDPROOF_ERROR_H
#define SANDPROOF_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The answers a call can give. SP_NOT_FOUND, SP_GONE, SP_DENIED and
 * SP_UNAVAILABLE are four different answers and are never folded into one
 * another: a caller that reads "unavailable" as "gone" replaces live work.
 */
enum sp_code {
	SP_OK = 0,
	/* The caller's argument is wrong; nothing was started. */
	SP_INVALID = -1,
	/* The operation is not offered; message names provider, capability and a hint. */
	SP_UNSUPPORTED = -2,
	/* The named thing inside a live sandbox (a file, a folder) is missing. */
	SP_NOT_FOUND = -3,
	/* The sandbox, snapshot or process itself is gone for good, and that was confirmed. */
	SP_GONE = -4,
	/* Credentials or rights are refused. Final: a retry changes nothing. */
	SP_DENIED = -5,
	/* The state of the thing forbids the call (older fence, not running, name taken). */
	SP_CONFLICT = -6,
	/* Too many requests; `retry_after_ms` of the record says when to come back. */
	SP_RATE_LIMITED = -7,
	/* A passing failure (5xx, refused connection); the same call may succeed later. */
	SP_UNAVAILABLE = -8,
	/* The caller's cancel was aborted; message is the abort's reason. */
	SP_ABORTED = -9,
	/* The caller's deadline passed. */
	SP_TIMED_OUT = -10,
	/* The peer said something the protocol does not allow; message quotes it. */
	SP_PROTOCOL = -11,
	/* The request went out and no answer came: it may or may not have been carried out. */
	SP_UNKNOWN_OUTCOME = -12,
	/* A local system call failed; `sys_errno` says how. */
	SP_IO = -13,
	/* A fault of the implementation itself (memory, a broken invariant). */
	SP_INTERNAL = -14,
};

/* Longest text of a record, including the closing NUL; longer text is cut at a character. */
#define SP_ERROR_TEXT 512

/*
 * What went wrong, in words. Owned by the caller, who passes it zeroed (or
 * NULL when the code is enough); written only on failure. No pointers inside,
 * so a record can be copied and kept.
 */
struct sp_error {
	/* Same value as the call returned. */
	enum sp_code code;
	/* errno of the failed system call, else 0. */
	int sys_errno;
	/* HTTP status behind the failure, else 0. */
	int http_status;
	/* For SP_RATE_LIMITED: milliseconds until a retry makes sense, else 0. */
	int retry_after_ms;
	/* One sentence: what happened, to what, what to do. UTF-8, never a secret. */
	char message[SP_ERROR_TEXT];
	/* The peer's own words, bounded and redacted, or empty. */
	char detail[SP_ERROR_TEXT];
};

#define SP_ERROR_INIT { SP_OK, 0, 0, 0, "", "" }

/* Fills `err` (which may be NULL) and returns `code`, so that failing is one statement. */
int sp_error_set(struct sp_error *err, enum sp_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Like sp_error_set() with SP_IO and `sys_errno`; appends strerror text to the message. */
int sp_error_set_errno(struct sp_error *err, int sys_errno, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Copies `text` (UTF-8, may be NULL) into the record's detail, cut at a character boundary. */
void sp_error_set_detail(struct sp_error *err, const char *text);

/* Stable lower-case name of a code ("not-found"); "unknown" for a value outside the enum. */
const char *sp_code_name(int code);

#ifdef __cplusplus
}
#endif
#endif
