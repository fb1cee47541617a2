/* SPDX-License-Identifier: MIT */
/*
 * A child is made by clone(CLONE_VM | CLONE_VFORK), as posix_spawn() does it:
 * no page table is copied, we stand still until it has executed its program,
 * and it reports a failure through our memory. What it does until then is
 * therefore limited to raw system calls on a stack of its own.
 */
#include <base/child.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/cleanup.h>

/* Room for a few frames of system calls. */
#define STACK_SIZE ((size_t)64 * 1024)
/* Descriptors that the child gets: in, out, err and one more. */
#define N_FDS 4
/* Signals of the kernel, whose set has 8 bytes. */
#define N_SIGNALS 64
/* Above every number that is filled below. */
#define SAFE_FD 10

/* Everything the child needs, prepared before, since it may not allocate. */
struct launch {
	const char *path;
	char *const *argv;
	char *const *env;
	const char *dir;
	int exec_fd;
	/* What becomes of 0 to 3: a descriptor, SP_CHILD_NULL, or -1 for number 3 alone. */
	int fds[N_FDS];
	bool same_group;
	bool outlives;
	pid_t parent;
	/* Where it failed, and why. */
	const char *step;
	int error;
};

/* ---- in the child: raw system calls only ---- */

#define CHILD_CODE __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

CHILD_CODE static void give_up(struct launch *l, const char *step)
{
	l->step = step;
	l->error = errno;
	for (;;)
		syscall(SYS_exit_group, 127);
}

/*
 * Handlers of ours would run in memory that is shared: all of them go
 * before any signal is let through.
 */
CHILD_CODE static void reset_signals(void)
{
	/* All zero is SIG_DFL with no flags and an empty mask, on every architecture. */
	static const unsigned long standard[8];
	static const unsigned long none[8];

	for (int signal = 1; signal <= N_SIGNALS; signal++)
		syscall(SYS_rt_sigaction, signal, standard, NULL, N_SIGNALS / 8);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, N_SIGNALS / 8);
}

/* Dies with the parent, also when the parent died before it was asked for. */
CHILD_CODE static void follow_parent(struct launch *l)
{
	long parent;

	if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		give_up(l, "cannot be made to die with its parent");
	parent = syscall(SYS_getppid);
	/* 0: the parent lives in an outer pid namespace and has no number here. */
	if (parent && parent != l->parent)
		syscall(SYS_exit_group, 128 + SIGKILL);
}

/* Moves what is needed out of the numbers that are about to be filled. */
CHILD_CODE static int out_of_the_way(struct launch *l, int fd)
{
	long moved;

	if (fd < 0 || fd >= N_FDS)
		return fd;
	moved = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, SAFE_FD);
	if (moved < 0)
		give_up(l, "a descriptor could not be moved");
	return (int)moved;
}

CHILD_CODE static void place_fds(struct launch *l)
{
	int null = -1;
	int n = 3;

	for (int i = 0; i < N_FDS; i++)
		l->fds[i] = out_of_the_way(l, l->fds[i]);
	l->exec_fd = out_of_the_way(l, l->exec_fd);
	for (int i = 0; i < N_FDS; i++) {
		int fd = l->fds[i];

		if (i == 3 && fd < 0)
			break;
		if (fd < 0 && null < 0) {
			null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC,
					    0);
			null = out_of_the_way(l, null);
			if (null < 0)
				give_up(l, "/dev/null could not be opened");
		}
		if (syscall(SYS_dup3, fd < 0 ? null : fd, i, 0) < 0)
			give_up(l, "a descriptor could not be put in place");
		n = i < 3 ? 3 : i + 1;
	}
	/* Marking is cheaper than closing and keeps `exec_fd` until the program runs. */
	if (syscall(SYS_close_range, n, ~0U, CLOSE_RANGE_CLOEXEC))
		give_up(l, "descriptors could not be closed");
}

CHILD_CODE static int child_main(void *arg)
{
	struct launch *l = arg;

	reset_signals();
	if (!l->same_group && syscall(SYS_setpgid, 0, 0))
		give_up(l, "could not lead a process group");
	if (!l->outlives)
		follow_parent(l);
	place_fds(l);
	if (l->dir && syscall(SYS_chdir, l->dir))
		give_up(l, "the folder could not be entered");
	if (l->exec_fd >= 0)
		syscall(SYS_execveat, l->exec_fd, "", l->argv, l->env, AT_EMPTY_PATH);
	else
		syscall(SYS_execve, l->path, l->argv, l->env);
	give_up(l, "could not be executed");
	return 127;
}

/* ---- starting, in the parent ---- */

/*
 * ThreadSanitizer takes every clone() for a fork and puts its own state right
 * in the child, which is ours with CLONE_VM. The C library's other name for
 * it is not intercepted.
 */
#if defined(__SANITIZE_THREAD__)
#define SP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SP_TSAN 1
#endif
#endif
#ifdef SP_TSAN
extern int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

/* Clones with all signals blocked; returns the pid or -errno. */
static pid_t launch_here(struct launch *l, int *ret_pidfd)
{
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, old;
	pid_t pid;
	int error;

	if (stack == MAP_FAILED)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = clone(child_main, stack + STACK_SIZE,
		    CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, l, ret_pidfd);
	error = errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	munmap(stack, STACK_SIZE);
	return pid < 0 ? -error : pid;
}

/*
 * PDEATHSIG is sent when the *thread* that made the child ends. A child that
 * is to die with the process is therefore made by the main thread, or by one
 * that lives as long as the process.
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked;
	pthread_cond_t answered;
	bool running;
	struct launch *job;
	pid_t pid;
	int pidfd;
} maker = { .lock = PTHREAD_MUTEX_INITIALIZER,
	    .asked = PTHREAD_COND_INITIALIZER,
	    .answered = PTHREAD_COND_INITIALIZER };

/* One starter at a time uses the maker. */
static pthread_mutex_t maker_turn = PTHREAD_MUTEX_INITIALIZER;

static void *maker_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&maker.lock);
	for (;;) {
		while (!maker.job)
			pthread_cond_wait(&maker.asked, &maker.lock);
		maker.pid = launch_here(maker.job, &maker.pidfd);
		maker.job = NULL;
		pthread_cond_signal(&maker.answered);
	}
	return NULL;
}

static void before_fork(void)
{
	pthread_mutex_lock(&maker_turn);
	pthread_mutex_lock(&maker.lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&maker.lock);
	pthread_mutex_unlock(&maker_turn);
}

/* A forked process has only the thread that forked. */
static void after_fork_child(void)
{
	maker.running = false;
	maker.job = NULL;
	pthread_cond_init(&maker.asked, NULL);
	pthread_cond_init(&maker.answered, NULL);
	pthread_mutex_init(&maker.lock, NULL);
	pthread_mutex_init(&maker_turn, NULL);
}

static void register_fork(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Starts the maker with all signals blocked, so that handlers run elsewhere; 0 or -errno. */
static int start_maker(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	if (maker.running)
		return 0;
	pthread_once(&once, register_fork);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, maker_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return -rc;
	pthread_detach(thread);
	maker.running = true;
	return 0;
}

static pid_t launch_by_maker(struct launch *l, int *ret_pidfd)
{
	pid_t pid;

	pthread_mutex_lock(&maker_turn);
	pid = start_maker();
	if (!pid) {
		pthread_mutex_lock(&maker.lock);
		maker.job = l;
		pthread_cond_signal(&maker.asked);
		while (maker.job)
			pthread_cond_wait(&maker.answered, &maker.lock);
		pid = maker.pid;
		*ret_pidfd = maker.pidfd;
		pthread_mutex_unlock(&maker.lock);
	}
	pthread_mutex_unlock(&maker_turn);
	return pid;
}

/* Finds a program in PATH; malloc'ed, or NULL with errno. Relative folders in PATH are left out. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	int error = ENOENT;

	if (strchr(name, '/'))
		return strdup(name);
	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	while (*name) {
		int len = (int)strcspn(path, ":");
		char *full = NULL;

		if (*path == '/') {
			if (asprintf(&full, "%.*s/%s", len, path, name) < 0)
				return NULL;
			if (!faccessat(AT_FDCWD, full, X_OK, AT_EACCESS))
				return full;
			error = errno == EACCES ? EACCES : error;
			free(full);
		}
		path += len;
		if (!*path++)
			break;
	}
	errno = error;
	return NULL;
}

/* Makes the pipe of one standard descriptor; `ours` and `theirs` are its ends. */
static int make_pipe(bool is_input, int *ours, int *theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*ours = ends[is_input ? 1 : 0];
	*theirs = ends[is_input ? 0 : 1];
	return 0;
}

/* Closes each number once, however often it was named. */
static void close_fds(int fds[N_FDS])
{
	for (int i = 0; i < N_FDS; i++) {
		for (int j = i + 1; j < N_FDS; j++)
			if (fds[j] == fds[i])
				fds[j] = -1;
		fds[i] = sp_close(fds[i]);
	}
}

/*
 * Takes what was handed over out of `child` to `theirs`, makes the pipes, and
 * leaves our ends of them in `child`. 0 or -errno.
 */
static int prepare_fds(struct sp_child *child, int theirs[N_FDS])
{
	int *fields[3] = { &child->in, &child->out, &child->err };
	int rc = 0;

	for (int i = 0; i < 3; i++) {
		int wanted = *fields[i];

		*fields[i] = -1;
		theirs[i] = wanted;
		if (wanted == SP_CHILD_PIPE && !rc)
			rc = make_pipe(i == 0, fields[i], &theirs[i]);
	}
	theirs[3] = SP_TAKE_FD(child->extra);
	return rc;
}

static void close_pipes(struct sp_child *child)
{
	int fds[N_FDS] = { child->in, child->out, child->err, child->extra };

	close_fds(fds);
	child->in = child->out = child->err = child->extra = -1;
}

static int launch_child(struct sp_child *child, struct launch *l, struct sp_error *err)
{
	const char *name = child->argv[0];
	int pidfd = -1;
	pid_t pid;

	/* The main thread's id is the process's. */
	pid = l->outlives || gettid() == l->parent ? launch_here(l, &pidfd) :
						     launch_by_maker(l, &pidfd);
	if (pid < 0)
		return sp_error_set_errno(err, -pid, "cannot start %s: no process", name);
	if (l->step) {
		sp_close(pidfd);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return sp_error_set_errno(err, l->error, "cannot start %s%s%s: %s", name,
					  child->dir ? " in " : "", child->dir ? child->dir : "",
					  l->step);
	}
	child->pid = pid;
	child->pidfd = pidfd;
	return 0;
}

int sp_child_start(struct sp_child *child, struct sp_error *err)
{
	struct launch l = {
		.argv = (char *const *)child->argv,
		.env = child->env ? (char *const *)child->env : environ,
		.dir = child->dir,
		.exec_fd = child->exec_fd,
		.same_group = child->same_group,
		.outlives = child->outlives,
		.parent = getpid(),
	};
	char *path SP_FREE = child->exec_fd < 0 ? find_program(child->argv[0]) : NULL;
	int unfound = errno;
	int theirs[N_FDS];
	int rc;

	child->pid = -1;
	child->pidfd = -1;
	child->reaped = false;
	rc = prepare_fds(child, theirs);
	if (rc) {
		rc = sp_error_set_errno(err, -rc, "cannot start %s: no pipe", child->argv[0]);
	} else if (child->exec_fd < 0 && !path) {
		rc = sp_error_set_errno(err, unfound, "the program %s was not found",
					child->argv[0]);
	} else {
		l.path = path;
		memcpy(l.fds, theirs, sizeof(theirs));
		rc = launch_child(child, &l, err);
	}
	close_fds(theirs);
	if (rc)
		close_pipes(child);
	return rc;
}

/* ---- a running child ---- */

/* Reaps a child that has ended, or waits for that. 0 or -errno. */
static int reap(struct sp_child *child)
{
	siginfo_t info = { 0 };

	while (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED)) {
		if (errno == EINTR)
			continue;
		/* Somebody else reaped it: its number may be another process's by now. */
		child->reaped = true;
		child->code = 255;
		return -errno;
	}
	child->reaped = true;
	child->code = info.si_code == CLD_EXITED ? info.si_status & 255 : 128 + info.si_status;
	return 0;
}

int sp_child_wait(struct sp_child *child, struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fds[2] = {
		{ .fd = child->pidfd, .events = POLLIN },
		{ .fd = sp_cancel_fd(cancel), .events = POLLIN },
	};
	int rc;

	if (child->reaped)
		return 0;
	if (child->pidfd < 0)
		return sp_error_set(err, SP_INVALID, "waiting for a child that was not started");
	for (;;) {
		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return sp_error_set_errno(err, errno, "cannot wait for a child");
		}
		/* An end that has come already is told even if the cancel has fired as well. */
		if (fds[0].revents)
			break;
		rc = sp_cancel_check(cancel, err);
		if (rc)
			return rc;
	}
	rc = reap(child);
	return rc ? sp_error_set_errno(err, -rc, "cannot reap a child") : 0;
}

int sp_child_signal(struct sp_child *child, int signal)
{
	if (child->pid <= 0 || child->reaped)
		return -ESRCH;
	if (child->same_group)
		return sp_pidfd_signal(child->pidfd, signal);
	return kill(-child->pid, signal) ? -errno : 0;
}

void sp_child_done(struct sp_child *child)
{
	if (child->pid > 0 && !child->reaped) {
		sp_child_signal(child, SIGKILL);
		reap(child);
	}
	close_pipes(child);
	child->pidfd = sp_close(child->pidfd);
}

void sp_child_detach(struct sp_child *child)
{
	if (child->pid > 0 && !child->reaped) {
		siginfo_t info;

		waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG);
		/* Its number is not ours to use any more. */
		child->reaped = true;
	}
	close_pipes(child);
	child->pidfd = sp_close(child->pidfd);
}

/* ---- helpers around processes ---- */

int sp_pidfd_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int sp_pidfd_signal(int pidfd, int signal)
{
	return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) ? -errno : 0;
}

int sp_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) ? -errno : 0;
}

int sp_signal_from_name(const char *name)
{
	if (isdigit((unsigned char)*name)) {
		char *end;
		unsigned long number = strtoul(name, &end, 10);

		return !*end && number <= N_SIGNALS ? (int)number : 0;
	}
	if (!strncasecmp(name, "SIG", 3))
		name += 3;
	for (int signal = 1; signal < 32; signal++) {
		const char *known = sigabbrev_np(signal);

		if (known && !strcasecmp(known, name))
			return signal;
	}
	return 0;
}

const char *sp_signal_name(int signal)
{
	const char *name = signal > 0 ? sigabbrev_np(signal) : NULL;

	return name ? name : "?";
}
