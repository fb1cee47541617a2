/* SPDX-License-Identifier: MIT */
/*
 * Subjects: what a suite judges. The runner opens them from a SPEC; a case
 * never knows which back end it talks to.
 */
#ifndef SANDPROOF_SUBJECT_H
#define SANDPROOF_SUBJECT_H

#include <sandproof/backdoor.h>
#include <sandproof/control.h>
#include <sandproof/ensure.h>
#include <sandproof/journal.h>
#include <sandproof/platform.h>
#include <sandproof/provider.h>
#include <sandproof/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a suite can judge. */
enum sp_subject_kind {
	SP_SUBJECT_PROVIDER = 0,
	SP_SUBJECT_STORE,
	SP_SUBJECT_LOCK,
	SP_SUBJECT_JOURNAL,
	SP_SUBJECT_ENSURE,
	SP_SUBJECT_PLATFORM,
	SP_SUBJECT_KIND_MAX_,
};

/* Stable lower-case name of a kind ("provider"). */
const char *sp_subject_kind_name(enum sp_subject_kind kind);

#define SP_HEALTH_VERSION 2

/*
 * What the back end of a subject does beside answering: a driver that dies, or says what the
 * protocol does not allow, is at fault whatever its calls answered.
 */
struct sp_health_ops {
	unsigned version;
	/*
	 * 0, or a code with what was wrong since this was asked last (told once). `*ret_gone`:
	 * every call fails from here on, so the subject has to be opened anew. Thread-safe.
	 */
	int (*check)(void *self, bool *ret_gone, struct sp_error *err);
	/*
	 * Why calls are not answered yet, in one line, for a case whose time is up; false when
	 * none waits. Thread-safe, and never waits.
	 */
	bool (*stuck)(void *self, struct sp_error *ret_why);
	/* Lets the back end go; the tables were closed before. */
	void (*close)(void *self);
};

/* A reference to the watch over a back end; close it once, with its subject. */
struct sp_health {
	const struct sp_health_ops *ops;
	void *self;
};

#define SP_HEALTH_INIT { NULL, NULL }

#define SP_SUBJECT_VERSION 1

/*
 * An open subject. The table of its kind is filled, and the tables that it stands on: a journal
 * stands on a provider, ensure on a provider, a store and a lock. `control`, `platform` and
 * `backdoor` are filled where the back end has them. Freed as one.
 */
struct sp_subject {
	unsigned version;
	enum sp_subject_kind kind;
	struct sp_provider provider;
	struct sp_store store;
	struct sp_lock lock;
	struct sp_journal journal;
	struct sp_ensure ensure;
	struct sp_platform platform;
	/* Owned; ops NULL where the back end has none. */
	struct sp_control control;
	/* Of a store or lock; ops NULL where the back end has none. */
	struct sp_backdoor backdoor;
	/* Owned; ops NULL where the back end lives in this process. */
	struct sp_health health;
	/* What close() frees besides the tables; private to the opener. */
	void *opener;
};

#define SP_SUBJECT_INIT { .version = SP_SUBJECT_VERSION }

/*
 * Opens a subject. `spec` is one of `sandproof help providers`; `workspace`
 * names the caller's own part of a shared back end, so that several workers
 * do not see each other (NULL: the default one). The implementation is the
 * registry's; it is reached through this pointer so that the runner knows no
 * concrete provider. Errors: SP_INVALID (not a SPEC), SP_UNSUPPORTED (not
 * built yet), and whatever opening the back end answers.
 */
typedef int (*sp_subject_open_fn)(void *opener, enum sp_subject_kind kind, const char *spec,
				  const char *workspace, struct sp_subject *ret_subject,
				  struct sp_error *err);

/* Asks a subject's health; 0 and not gone where there is none. */
int sp_subject_check(struct sp_subject *subject, bool *ret_gone, struct sp_error *err);
/* Closes every table of the subject and clears it. */
void sp_subject_done(struct sp_subject *subject);

#ifdef __cplusplus
}
#endif
#endif
