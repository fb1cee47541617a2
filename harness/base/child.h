/* SPDX-License-Identifier: MIT */
/*
 * Child processes as one well-stated API (after git's run-command). Every
 * child leads its own process group, starts with default signal actions and
 * an empty signal mask, gets exactly the descriptors named here, and dies
 * with its parent unless told otherwise.
 */
#ifndef SP_BASE_CHILD_H
#define SP_BASE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sandproof/cancel.h>
#include <sandproof/error.h>

/* What becomes of a standard descriptor (in, out, err). */
enum sp_child_fd {
	/* /dev/null. */
	SP_CHILD_NULL = -2,
	/* A pipe; the parent's end is left in the same field and is close-on-exec. */
	SP_CHILD_PIPE = -1,
	/* 0 and above: that descriptor is handed over and CLOSED here, even when starting fails. */
};

/* A child to be started, then a running one. */
struct sp_child {
	/* NULL-terminated; argv[0] is looked up in PATH unless it has a slash. Borrowed. */
	const char *const *argv;
	/* NULL-terminated "K=V" list, the whole environment; NULL inherits ours. Borrowed. */
	const char *const *env;
	/* Working folder, or NULL. */
	const char *dir;
	/* A descriptor of the program to execute instead of looking up argv[0], or -1. Borrowed. */
	int exec_fd;
	/*
	 * See enum sp_child_fd; after starting, the parent's ends of
	 * pipes, owned by sp_child_done().
	 */
	int in, out, err;
	/* One more descriptor that the child gets as number 3 (consumed), or -1. */
	int extra;
	/* Leave it in our process group (false: it leads its own). */
	bool same_group;
	/* It outlives us (false: PDEATHSIG KILL). */
	bool outlives;

	/* Filled by sp_child_start(). */
	pid_t pid;
	/* Readable once the child has ended; closed by sp_child_done(). */
	int pidfd;
	bool reaped;
	/* 0 to 255; death by signal n is 128 + n. Valid when reaped. */
	int code;
};

#define SP_CHILD_INIT                                                                              \
	{                                                                                          \
		.exec_fd = -1, .in = SP_CHILD_NULL, .out = SP_CHILD_NULL, .err = SP_CHILD_NULL,    \
		.extra = -1, .pid = -1, .pidfd = -1                                                \
	}

/* Starts the child; SP_IO when that fails (a missing program included). */
int sp_child_start(struct sp_child *child, struct sp_error *err);
/*
 * Waits for the end and reaps. 0, SP_ABORTED or SP_TIMED_OUT by `cancel` (the child then lives on).
 */
int sp_child_wait(struct sp_child *child, struct sp_cancel *cancel, struct sp_error *err);
/*
 * Signals the child's whole process group, or the child alone with same_group. Never
 * signals after it was reaped.
 */
int sp_child_signal(struct sp_child *child, int signal);
/* KILLs the group if it still lives, reaps, closes the pipes and the pidfd. */
void sp_child_done(struct sp_child *child);
/*
 * Closes the pipes and the pidfd and leaves the child running: for one that `outlives`
 * us. Reaps it if it has ended.
 */
void sp_child_detach(struct sp_child *child);

/*
 * Runs a command to its end, feeds `input`, keeps at most `max` bytes of each
 * output. For tools and tests.
 */
struct sp_run_result {
	char *out;
	size_t out_len;
	char *err;
	size_t err_len;
	int code;
};
int sp_run(const char *const *argv, const char *const *env, const void *input, size_t input_len,
	   size_t max, struct sp_cancel *cancel, struct sp_run_result *ret, struct sp_error *err);
void sp_run_result_done(struct sp_run_result *result);

/* pidfd_open(2) with close-on-exec; -errno on failure. */
int sp_pidfd_open(pid_t pid);
/* pidfd_send_signal(2); 0 or -errno (-ESRCH: it has ended). */
int sp_pidfd_signal(int pidfd, int signal);
/* Makes this process adopt orphans among its descendants; 0 or -errno. */
int sp_subreaper(void);
/* "TERM", "SIGTERM", "15" to 15; 0 when it is none. */
int sp_signal_from_name(const char *name);
/* "TERM" for 15; "?" for what has no name. */
const char *sp_signal_name(int signal);

#endif
