/* SPDX-License-Identifier: MIT */
/*
 * Starting a command. The pid namespace is entered by our own thread around
 * the birth (its children are then born there), all others by the child, which
 * shares our memory until it has executed bash: no page table is copied, and a
 * failure is told at once.
 */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>

/* Signals of the kernel, whose set has 8 bytes. */
#define N_SIGNALS 64

void fake_signals_block(void *ret_before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

void fake_signals_restore(const void *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

FAKE_CHILD_CODE void fake_child_signals(void)
{
	/* All zero is SIG_DFL with no flags and an empty mask, on every architecture. */
	static const unsigned long standard[8];
	static const unsigned long none[8];

	for (int signal = 1; signal <= N_SIGNALS; signal++)
		syscall(SYS_rt_sigaction, signal, standard, NULL, N_SIGNALS / 8);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, N_SIGNALS / 8);
}

FAKE_CHILD_CODE static int failed(struct fake_spawn *spawn, const char *step)
{
	spawn->step = step;
	spawn->error = errno;
	return 127;
}

/* Without close-on-exec, also where it is in place already. */
FAKE_CHILD_CODE static int put_fd(int fd, int number)
{
	if (fd == number)
		return (int)syscall(SYS_fcntl, fd, F_SETFD, 0);
	return syscall(SYS_dup3, fd, number, 0) < 0;
}

/*
 * Standard input is opened inside: the host's node, handed over, could be
 * chmod'ed through /proc/self/fd/0.
 */
FAKE_CHILD_CODE static int place_fds(struct fake_spawn *spawn)
{
	int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null",
				O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
	int ends[2] = { -1, -1 };

	/* A sandbox may have lost its /dev/null: the empty end of a pipe reads the same. */
	if (null < 0) {
		if (syscall(SYS_pipe2, ends, O_CLOEXEC))
			return failed(spawn, "opening standard input");
		null = ends[0];
	}
	if (put_fd(null, 0) || put_fd(spawn->out, 1) || put_fd(spawn->err, 2))
		return failed(spawn, "placing standard descriptors");
	if (syscall(SYS_close_range, 3, ~0U, 0))
		return failed(spawn, "closing descriptors");
	return 0;
}

FAKE_CHILD_CODE static int enter_namespaces(struct fake_spawn *spawn)
{
	int kinds = CLONE_NEWNS | CLONE_NEWIPC | (spawn->own_network ? CLONE_NEWNET : 0);

	return setns(spawn->ns_fd, kinds) ? failed(spawn, "entering the sandbox") : 0;
}

/* A limit that the kernel no longer heeds carries the mark to everything the command starts. */
FAKE_CHILD_CODE static int carry_mark(struct fake_spawn *spawn)
{
	struct rlimit mark = { spawn->mark, spawn->mark };

	if (setrlimit(RLIMIT_LOCKS, &mark))
		return failed(spawn, "marking the command");
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ? failed(spawn, "binding it to us") : 0;
}

FAKE_CHILD_CODE static int become_bash(void *arg)
{
	struct fake_spawn *spawn = arg;
	int rc = spawn->ns_fd >= 0 ? enter_namespaces(spawn) : carry_mark(spawn);

	if (rc)
		return rc;
	/* A session of its own: the server's terminal, if it has one, is none of the command's. */
	if (setsid() < 0)
		return failed(spawn, "leading a process group");
	if (place_fds(spawn))
		return 127;
	if (chdir(spawn->dir) && chdir("/"))
		return failed(spawn, "entering the home directory");
	umask(022);
	fake_child_signals();
	execve("/bin/bash", (char *const *)spawn->argv, spawn->envp);
	return failed(spawn, "executing /bin/bash");
}

/* A birth, and what came of it. */
struct birth {
	struct fake_engine *engine;
	int ns_fd;
	int (*child)(void *arg);
	void *arg;
	pid_t pid;
	int pid_fd;
	int error;
};

#define BIRTH_FLAGS (CLONE_VM | CLONE_VFORK | SIGCHLD)

static void bury(int pid_fd)
{
	siginfo_t info;

	while (waitid(P_PIDFD, (id_t)pid_fd, &info, WEXITED) && errno == EINTR)
		;
	close(pid_fd);
}

/*
 * As root our thread enters the pid namespace for a moment. Its next child would land in the
 * sandbox: the way back must not fail.
 */
static void birth_direct(struct birth *birth)
{
	struct fake_engine *engine = birth->engine;
	bool inside = birth->ns_fd >= 0;

	if (inside && setns(birth->ns_fd, CLONE_NEWPID)) {
		birth->error = errno;
		return;
	}
	birth->pid = __clone(birth->child, engine->stack + FAKE_STACK, BIRTH_FLAGS | CLONE_PIDFD,
			   birth->arg, &birth->pid_fd);
	birth->error = birth->pid < 0 ? errno : 0;
	if (inside && setns(engine->pid_ns_fd, CLONE_NEWPID))
		abort();
}

/* Enters and gives birth to a child of our own (CLONE_PARENT). */
FAKE_CHILD_CODE static int midwife(void *arg)
{
	struct birth *birth = arg;

	if (setns(birth->ns_fd, CLONE_NEWPID)) {
		birth->error = errno;
		return 1;
	}
	birth->pid = __clone(birth->child, birth->engine->stack + FAKE_STACK,
			   BIRTH_FLAGS | CLONE_PARENT, birth->arg);
	birth->error = birth->pid < 0 ? errno : 0;
	return 0;
}

/* An ordinary user has no way back to the host's pid namespace: a child goes in our place. */
static void birth_by_midwife(struct birth *birth)
{
	int pid_fd = -1;
	pid_t pid = __clone(midwife, birth->engine->stack + 2 * FAKE_STACK,
			    BIRTH_FLAGS | CLONE_PIDFD, birth, &pid_fd);

	if (pid < 0) {
		birth->error = errno;
		return;
	}
	bury(pid_fd);
	if (birth->pid <= 0 || birth->error)
		return;
	birth->pid_fd = sp_pidfd_open(birth->pid);
	if (birth->pid_fd >= 0)
		return;
	/* No descriptors left: what cannot be watched must not live. */
	birth->error = -birth->pid_fd;
	kill(birth->pid, SIGKILL);
	waitid(P_PID, (id_t)birth->pid, &(siginfo_t){ 0 }, WEXITED);
}

/* Gives birth inside the pid namespace of `ns_fd` (-1: our own). Pid or -errno. */
static pid_t give_birth(struct fake_engine *engine, int ns_fd, int (*child)(void *arg), void *arg,
			int *ret_pid_fd)
{
	struct birth birth = {
		.engine = engine, .ns_fd = ns_fd, .child = child, .arg = arg, .pid_fd = -1
	};
	sigset_t before;

	fake_signals_block(&before);
	if (engine->user_ns)
		birth_by_midwife(&birth);
	else
		birth_direct(&birth);
	fake_signals_restore(&before);
	if (birth.error || birth.pid <= 0)
		return birth.error ? -birth.error : -ECHILD;
	*ret_pid_fd = birth.pid_fd;
	return birth.pid;
}

int fake_spawn_run(struct fake_engine *engine, struct fake_spawn *spawn)
{
	int pid_fd = -1;
	pid_t pid;

	spawn->error = 0;
	spawn->step = "making a process";
	pid = give_birth(engine, spawn->ns_fd, become_bash, spawn, &pid_fd);
	if (pid < 0)
		return pid;
	if (spawn->error) {
		bury(pid_fd);
		return -spawn->error;
	}
	spawn->pid = pid;
	spawn->pid_fd = pid_fd;
	return 0;
}

/* A process that signals others from inside. */
struct signaller {
	const pid_t *pids;
	size_t n;
	int signal;
};

FAKE_CHILD_CODE static int signal_inside(void *arg)
{
	const struct signaller *signaller = arg;

	/* The kernel's walk leaves out process 1 and the caller, and misses nobody who forks. */
	if (!signaller->n)
		kill(-1, signaller->signal);
	for (size_t i = 0; i < signaller->n; i++)
		kill(signaller->pids[i], signaller->signal);
	return 0;
}

int fake_spawn_signal(struct fake_engine *engine, int ns_fd, const pid_t *pids, size_t n,
		      int signal)
{
	struct signaller signaller = { pids, n, signal };
	int pid_fd = -1;
	pid_t pid = give_birth(engine, ns_fd, signal_inside, &signaller, &pid_fd);

	if (pid < 0)
		return pid;
	bury(pid_fd);
	return 0;
}
