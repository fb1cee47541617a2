/* SPDX-License-Identifier: MIT */
/*
 * A provider around a provider: everything passes through, except what a
 * fault replaces. It works on any provider, since it sees only the contract.
 *
 * A hook gets the wrapper's object and reaches the healthy one in `inner`; a
 * NULL hook passes through. Wrappers follow the threads' rules of what they wrap.
 */
#ifndef FAKE_FAULTY_WRAP_H
#define FAKE_FAULTY_WRAP_H

#include <pthread.h>
#include <stdatomic.h>

#include <base/cleanup.h>
#include <sandproof/seams.h>

struct fault_process;
struct fault_sandbox;

/* What one fault replaces. Static. */
struct fault_hooks {
	/* Changes the declaration, once. */
	void (*capabilities)(struct sp_capabilities *capabilities);

	int (*exec)(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		    struct sp_exec_result *ret_result, struct sp_error *err);
	/* Fills process->inner. */
	int (*spawn)(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		     struct fault_process *process, struct sp_error *err);
	int (*fs_read)(struct fault_sandbox *sandbox, const char *path, struct sp_bytes *ret_bytes,
		       struct sp_cancel *cancel, struct sp_error *err);
	int (*fs_write)(struct fault_sandbox *sandbox, const char *path, const void *data,
			size_t len, struct sp_cancel *cancel, struct sp_error *err);
	int (*fs_list)(struct fault_sandbox *sandbox, const char *path,
		       struct sp_dir_list *ret_list, struct sp_cancel *cancel,
		       struct sp_error *err);
	int (*fs_mkdir)(struct fault_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
			struct sp_error *err);
	int (*fs_remove)(struct fault_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
			 struct sp_error *err);
	int (*fs_rename)(struct fault_sandbox *sandbox, const char *from, const char *to,
			 struct sp_cancel *cancel, struct sp_error *err);
	int (*fs_exists)(struct fault_sandbox *sandbox, const char *path, bool *ret_exists,
			 struct sp_cancel *cancel, struct sp_error *err);
	int (*fs_lstat)(struct fault_sandbox *sandbox, const char *path, struct sp_stat *ret_stat,
			struct sp_cancel *cancel, struct sp_error *err);
	int (*env_set)(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
		       struct sp_cancel *cancel, struct sp_error *err);
	int (*snapshot)(struct fault_sandbox *sandbox, const char *label,
			struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			struct sp_error *err);
	/* Gives the healthy sandbox; the wrapper goes around it. */
	int (*fork)(struct fault_sandbox *sandbox, struct sp_sandbox *ret_inner,
		    struct sp_cancel *cancel, struct sp_error *err);
	int (*port_connect)(struct fault_sandbox *sandbox, unsigned port, struct sp_port *ret_port,
			    struct sp_cancel *cancel, struct sp_error *err);
	int (*git)(struct fault_sandbox *sandbox, const struct sp_git_options *options,
		   struct sp_exec_result *ret_result, struct sp_error *err);
	int (*timeline)(struct fault_sandbox *sandbox, struct sp_bytes *ret_texts,
			struct sp_cancel *cancel, struct sp_error *err);
	int (*destroy)(struct fault_sandbox *sandbox, struct sp_cancel *cancel,
		       struct sp_error *err);
	/* Runs before the healthy handle is closed. */
	void (*close)(struct fault_sandbox *sandbox);

	/* The provider's calls get the healthy provider, and give the healthy sandbox. */
	int (*create)(struct sp_provider *inner, const struct sp_create_options *options,
		      struct sp_sandbox *ret_inner, struct sp_error *err);
	int (*resume)(struct sp_provider *inner, const char *id, struct sp_sandbox *ret_inner,
		      struct sp_cancel *cancel, struct sp_error *err);
	int (*restore)(struct sp_provider *inner, const char *snapshot_id,
		       const struct sp_create_options *options, struct sp_sandbox *ret_inner,
		       struct sp_error *err);
	int (*destroy_id)(struct sp_provider *inner, const char *id, struct sp_cancel *cancel,
			  struct sp_error *err);
	int (*snapshot_delete)(struct sp_provider *inner, const char *snapshot_id,
			       struct sp_cancel *cancel, struct sp_error *err);
	int (*list)(struct sp_provider *inner, struct sp_id_list *ret_list,
		    struct sp_cancel *cancel, struct sp_error *err);

	int (*read)(struct fault_process *process, enum sp_stream stream, void *buffer, size_t max,
		    size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err);
	int (*write_stdin)(struct fault_process *process, const void *data, size_t len,
			   struct sp_cancel *cancel, struct sp_error *err);
	int (*close_stdin)(struct fault_process *process, struct sp_error *err);
	int (*wait)(struct fault_process *process, struct sp_exit *ret_exit,
		    struct sp_cancel *cancel, struct sp_error *err);
	int (*kill)(struct fault_process *process, int signal, struct sp_cancel *cancel,
		    struct sp_error *err);
	int (*signal)(struct fault_process *process, int signal, struct sp_cancel *cancel,
		      struct sp_error *err);
	/* Runs before the healthy handle is released; frees what the fault keeps in `data`. */
	void (*release)(struct fault_process *process);
};

struct fault_sandbox {
	struct sp_sandbox inner;
	const struct fault_hooks *hooks;
	atomic_uint refs;
	pthread_mutex_t lock;
	/* Processes that were not released, newest first. Under `lock`. */
	struct fault_process *processes;
	/* The fault's own; `data` is freed with the handle. */
	atomic_int count;
	void *data;
};

struct fault_process {
	struct sp_process inner;
	struct fault_sandbox *sandbox;
	struct fault_process *next;
	/* The caller's cancel, or NULL; referenced. */
	struct sp_cancel *cancel;
	/* What the wrapper knows; the hooks may set more. */
	atomic_bool kill_asked;
	atomic_bool killed;
	atomic_bool exited;
	/* The fault's own. */
	atomic_int count;
	void *data;
};

/* Puts the wrapper around `provider`, in place. */
int fault_wrap(struct sp_provider *provider, const struct fault_hooks *hooks, struct sp_error *err);

/* The healthy call behind a hook. They keep killed and exited up to date. */
int fault_inner_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		     struct sp_error *err);
int fault_inner_wait(struct fault_process *process, struct sp_exit *ret_exit,
		     struct sp_cancel *cancel, struct sp_error *err);
/*
 * Runs a text in the sandbox below the fault, and forgets what it prints;
 * its code, or a negative one.
 */
int fault_inner_shell(struct fault_sandbox *sandbox, const char *text, struct sp_cancel *cancel);
/* Kills every process of the sandbox's list but `except` (may be NULL). */
void fault_kill_all(struct fault_sandbox *sandbox, const struct fault_process *except,
		    struct sp_cancel *cancel);
/* Waits until the cancel fires; returns its code. For faults that hang. */
int fault_hang(struct sp_cancel *cancel, struct sp_error *err);

/*
 * Defines the wrap function of a fault: static int NAME(struct sp_provider *, struct sp_error *).
 */
#define FAULT_WRAP(name, hooks)                                                                    \
	static int name(struct sp_provider *provider, struct sp_error *err)                        \
	{                                                                                          \
		return fault_wrap(provider, &(hooks), err);                                        \
	}

/* Lists in records. */
#define FAULT_LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif
