/* SPDX-License-Identifier: MIT */
/*
 * Suites and cases. A suite is a versioned table of cases; a case is a static
 * record and one function. Foreign suites (`--suite-plugin`) are written in
 * the same words.
 */
#ifndef SANDPROOF_CASE_H
#define SANDPROOF_CASE_H

#include <sandproof/subject.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A running case; opaque. */
struct sp_case;

/* How binding a clause is. */
enum sp_level {
	/* Breaking it is a failure. */
	SP_MUST = 0,
	/* Breaking it is a warning. */
	SP_SHOULD,
};

/* What a case needs (bits of sp_case_def.needs). Where one is missing the case is a named skip. */
enum sp_need {
	/* A back end with control. */
	SP_NEED_CONTROL = 1 << 0,
	/* A sandbox of its own, destroyed afterwards; without it the worker's shared one serves. */
	SP_NEED_FRESH = 1 << 1,
	/* Capabilities that must be declared true. */
	SP_NEED_SPAWN = 1 << 2,
	SP_NEED_KILL = 1 << 3,
	SP_NEED_STDIN = 1 << 4,
	SP_NEED_PORTS = 1 << 5,
	SP_NEED_FORK = 1 << 6,
	SP_NEED_SNAPSHOTS = 1 << 7,
	SP_NEED_NETWORK_POLICY = 1 << 8,
	SP_NEED_SUSPENSION = 1 << 9,
	SP_NEED_SIGNALS = 1 << 10,
	SP_NEED_BYTES = 1 << 11,
	SP_NEED_OUTPUT_CAP = 1 << 12,
	/* The capability must be declared *false*: the case shows the refusal. */
	SP_NEED_NO_STDIN = 1 << 13,
	SP_NEED_NO_KILL = 1 << 14,
	SP_NEED_NO_SIGNALS = 1 << 15,
	SP_NEED_REAPS_GROUP = 1 << 16,
	SP_NEED_UNREAD_BOUND = 1 << 17,
	/* kill_reach of at least session, or of tree. */
	SP_NEED_REACH_SESSION = 1 << 18,
	SP_NEED_REACH_TREE = 1 << 19,
	/* No sandbox at all is made for the case. */
	SP_NEED_NO_SANDBOX = 1 << 20,
	SP_NEED_ENV = 1 << 21,
	/* Of a store: records outlive the instance; an upsert can carry a fence. */
	SP_NEED_DURABLE = 1 << 22,
	SP_NEED_STORE_FENCE = 1 << 23,
	/*
	 * Of a store, or of a lock where there is no store: several instances
	 * and processes use it at once.
	 */
	SP_NEED_MULTI_PROCESS = 1 << 24,
	/* Of a lock: a lease can be lost; leases carry tokens. */
	SP_NEED_LEASE = 1 << 25,
	SP_NEED_LOCK_FENCE = 1 << 26,
	/* Other processes (sp_case_peer); met everywhere. */
	SP_NEED_PEER = 1 << 27,
	/* A subject with a back door. */
	SP_NEED_BACKDOOR = 1 << 28,
};

/* The static record of a case. All texts are static; lists end with NULL. */
struct sp_case_def {
	/*
	 * Stable id "suite.group.name", lower case, digits, '-'. Never reused for something else.
	 */
	const char *id;
	/* One sentence: what the subject must do. */
	const char *requirement;
	/* Clause of the suite's README that it proves ("K4"). */
	const char *clause;
	enum sp_level level;
	/* enum sp_need bits. */
	unsigned needs;
	/* Tools beyond POSIX that it uses in the sandbox ("flock", "mkfifo"), or NULL. */
	const char *const *tools;
	/* Ids of the faults that it was made to catch; at least one. */
	const char *const *faults;
	/* Why it is so, for `show`. */
	const char *rationale;
	/* How it sees the defect, for `show`. */
	const char *detection;
	/* What it does not prove, for `show`. */
	const char *limits;
	/* Former ids, or NULL. */
	const char *const *aliases;
	/* Tags for --tag, or NULL. */
	const char *const *tags;
	/* The case itself: returns when done; records checks through the functions below. */
	void (*run)(struct sp_case *t);
	/* Where it is written; SP_CASE_HERE. */
	const char *file;
	int line;
};

/* Fills file and line of a case record. */
#define SP_CASE_HERE .file = __FILE__, .line = __LINE__

/* A clause in words, for `show`. */
struct sp_clause_text {
	/* "K4". */
	const char *clause;
	/* One or a few sentences. */
	const char *text;
};

#define SP_SUITE_VERSION 1

/* A table of cases for one kind of subject. */
struct sp_suite {
	unsigned version;
	/* Lower case; the first part of its cases' ids. */
	const char *name;
	/* One sentence for `list`. */
	const char *summary;
	enum sp_subject_kind subject;
	const struct sp_case_def *cases;
	size_t n_cases;
	/* Version of this suite's clauses; raised when a case or clause changes. */
	const char *clauses_version;
	/*
	 * The clauses in words, ended by an entry whose clause is NULL. May be NULL; our own suites
	 * have theirs in their README.
	 */
	const struct sp_clause_text *texts;
};

/*
 * ---- What a case asks its context for. Nothing here returns NULL: what fails
 * ends the case as an error. ----
 */

/* The subject as the runner opened it; owned by the runner. */
struct sp_subject *sp_case_subject(struct sp_case *t);
/* Short for the subject's provider. */
struct sp_provider *sp_case_provider(struct sp_case *t);
/* Short for the subject's store, and for its lock. */
struct sp_store *sp_case_store(struct sp_case *t);
struct sp_lock *sp_case_lock(struct sp_case *t);
/* Short for the provider's declaration. */
const struct sp_capabilities *sp_case_capabilities(struct sp_case *t);
/*
 * The case's sandbox: its own one (SP_NEED_FRESH) or the worker's shared one,
 * made on first use. Owned by the runner. NULL only after a failed creation,
 * which is recorded as an error; the case then returns.
 */
struct sp_sandbox *sp_case_sandbox(struct sp_case *t);
/*
 * Tells the runner about a sandbox that the case made itself, before the
 * call that makes it (`id` NULL) or after it, so that it is counted and removed whatever happens.
 */
void sp_case_own_sandbox(struct sp_case *t, const char *id);
/* The same of a record that another process is about to write: told before, under its key. */
void sp_case_own_record(struct sp_case *t, const char *key);
/*
 * A second instance of the same subject with state of its own, as another process would have; owned
 * by the runner. NULL after a recorded error.
 */
struct sp_subject *sp_case_second(struct sp_case *t);
/*
 * The same where the refusal is what the case is about: the code that
 * opening gave, recorded nowhere.
 */
int sp_case_try_second(struct sp_case *t, struct sp_subject **ret_subject, struct sp_error *err);
/*
 * Closes the subject and opens it again, as after a restart of the program; nothing that was got
 * from it before may be used. NULL after a recorded error.
 */
struct sp_subject *sp_case_reopen(struct sp_case *t);
/* The back end's control. Only with SP_NEED_CONTROL. */
struct sp_control *sp_case_control(struct sp_case *t);
/* A cancel that fires shortly before the case's deadline; pass it to every call that could hang. */
struct sp_cancel *sp_case_cancel(struct sp_case *t);
/* Number of harmless round trips after which "still pending" counts (20 by default). */
unsigned sp_case_rounds(struct sp_case *t);
/*
 * A text of [a-z0-9] that no other case, worker or run uses, and that none of theirs starts with;
 * lives as long as the case.
 */
const char *sp_case_unique(struct sp_case *t);
/* Printf into memory that lives as long as the case. */
const char *sp_case_format(struct sp_case *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- Other processes ---- */

/* Another process of a case; opaque. It is killed at the end of the case at the latest. */
struct sp_peer;

/*
 * What the function in another process gets. It has no case: it tells what
 * it saw, and the case judges.
 */
struct sp_peer_side {
	/* An instance of the case's subject that this process opened; closed after the function. */
	struct sp_subject *subject;
	/* Fires when the case's does. */
	struct sp_cancel *cancel;
	/* A copy of the argument. */
	const void *arg;
	size_t arg_len;
};
typedef void (*sp_peer_fn)(struct sp_peer_side *side);

/*
 * Where another process finds its temporary files, and with them the data
 * of subjects that live there.
 */
enum sp_peer_place {
	SP_PEER_PLAIN = 0,
	/* An empty file system of 1 MiB. */
	SP_PEER_SMALL_DISK,
	/* The same files, read-only. */
	SP_PEER_READ_ONLY_DISK,
};

/*
 * Starts another process, which opens the subject and runs `fn` with a copy of `arg` (at most 60
 * KiB). What it makes is not tracked: tell of its sandboxes and records by sp_case_own_*(). NULL
 * after a recorded error, or a recorded skip where this machine has no such place. Where the
 * subject cannot be opened, that is an error of the case; in a place other than the plain one it is
 * an answer (sp_peer_refused).
 */
struct sp_peer *sp_case_peer(struct sp_case *t, enum sp_peer_place place, sp_peer_fn fn,
			     const void *arg, size_t arg_len);
/* Why the subject could not be opened over there; 0 when it could. */
int sp_peer_refused(struct sp_peer *peer, struct sp_error *err);
/* Sends a line; false when nobody reads it any more. */
bool sp_peer_say(struct sp_peer *peer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * The next line from there, valid until the next call; NULL when there will be
 * none, or the case's cancel fired.
 */
const char *sp_peer_hear(struct sp_peer *peer);
/* SIGKILL, at whatever it is doing; returns when it is dead. */
void sp_peer_kill(struct sp_peer *peer);
/*
 * Closes the lines to it and hears it to its end; true when its function
 * returned and its subject was closed.
 */
bool sp_peer_end(struct sp_peer *peer);

/* The same from within: a line to the case, a line from it; false when the case is gone. */
bool sp_side_say(struct sp_peer_side *side, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool sp_side_hear(struct sp_peer_side *side, char *buffer, size_t size);

/*
 * ---- Verdicts. The first failure is the case's verdict; later ones
 * are added to its evidence. ----
 */

/* Where a check stands, for the evidence. */
struct sp_where {
	const char *file;
	int line;
};
#define SP_HERE ((struct sp_where){ __FILE__, __LINE__ })

/*
 * Records a check of a condition; false also fails the case. `what` says in words what was
 * expected. Returns `condition`.
 */
bool sp_check(struct sp_case *t, bool condition, struct sp_where where, const char *what, ...)
	__attribute__((format(printf, 4, 5)));
/* Records that two numbers are equal; a failure shows both. */
bool sp_check_int(struct sp_case *t, long long expected, long long actual, struct sp_where where,
		  const char *what, ...) __attribute__((format(printf, 5, 6)));
/* Records that two texts are equal (NULL equals only NULL); a failure shows both, quoted. */
bool sp_check_str(struct sp_case *t, const char *expected, const char *actual,
		  struct sp_where where, const char *what, ...)
	__attribute__((format(printf, 5, 6)));
/*
 * Records that bytes are equal; a failure shows both around the first difference, and the lengths.
 */
bool sp_check_bytes(struct sp_case *t, const void *expected, size_t expected_len,
		    const void *actual, size_t actual_len, struct sp_where where, const char *what,
		    ...) __attribute__((format(printf, 7, 8)));
/* Records that a call gave 0; a failure shows the code's name and the record. */
bool sp_check_ok(struct sp_case *t, int rc, const struct sp_error *err, struct sp_where where,
		 const char *what, ...) __attribute__((format(printf, 5, 6)));
/* Records that a call gave exactly `expected`. */
bool sp_check_code(struct sp_case *t, int expected, int rc, const struct sp_error *err,
		   struct sp_where where, const char *what, ...)
	__attribute__((format(printf, 6, 7)));

/* The checks with their place filled in; each yields true when it held. */
#define SP_CHECK(t, condition, ...) sp_check(t, condition, SP_HERE, __VA_ARGS__)
#define SP_CHECK_INT(t, expected, actual, ...)                                                     \
	sp_check_int(t, expected, actual, SP_HERE, __VA_ARGS__)
#define SP_CHECK_STR(t, expected, actual, ...)                                                     \
	sp_check_str(t, expected, actual, SP_HERE, __VA_ARGS__)
#define SP_CHECK_BYTES(t, expected, elen, actual, alen, ...)                                       \
	sp_check_bytes(t, expected, elen, actual, alen, SP_HERE, __VA_ARGS__)
#define SP_CHECK_OK(t, rc, err, ...) sp_check_ok(t, rc, err, SP_HERE, __VA_ARGS__)
#define SP_CHECK_CODE(t, expected, rc, err, ...)                                                   \
	sp_check_code(t, expected, rc, err, SP_HERE, __VA_ARGS__)

/*
 * Leaves the case function unless the check held; clean up by attributes
 * (__attribute__((cleanup))) or by the case's own owned objects.
 */
#define SP_REQUIRE(check)                                                                          \
	do {                                                                                       \
		if (!(check))                                                                      \
			return;                                                                    \
	} while (0)

/* Ends the case as a skip; the reason is required and names what is missing. The caller returns. */
void sp_skip(struct sp_case *t, const char *reason, ...) __attribute__((format(printf, 2, 3)));
/* Records a fault of the harness or the set-up, never of the subject. The caller returns. */
void sp_case_error(struct sp_case *t, struct sp_where where, const char *what, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds a line to the dialogue that is kept as evidence when the case fails. */
void sp_case_note(struct sp_case *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Tells the runner a secret, so that no report holds it in any encoding. */
void sp_case_secret(struct sp_case *t, const char *secret);
/* True once a check failed or the case was skipped or ended by an error. */
bool sp_case_failed(struct sp_case *t);

#ifdef __cplusplus
}
#endif
#endif
