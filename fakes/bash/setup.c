/* SPDX-License-Identifier: MIT */
/*
 * Making the namespaces of a sandbox. Process 1 is born by
 * clone(CLONE_VM | CLONE_VFORK) into new namespaces, builds its root with
 * system calls only, and becomes the embedded init; until then the thread that
 * made it stands still. What fails is told through the memory they share.
 */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

/* Of the private /dev, so that a command cannot eat the host's memory. */
#define DEV_OPTIONS "mode=755,size=256m,nr_inodes=65536"

/* ---- what commands may do ---- */

/*
 * Harmless in namespaces of one's own. Everything else reaches the host: its
 * clock, disks, modules, raw memory, network, mounts (a devtmpfs shows all of
 * its disks). It also keeps commands from looking into a child of ours that has
 * not executed bash yet and shares the server's memory: the kernel lets nobody
 * trace a process that has more capabilities.
 */
static const int keep_caps[] = {
	CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,		  CAP_KILL,
	CAP_SETGID,  CAP_SETUID,       CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
	CAP_SETFCAP, CAP_IPC_OWNER,
};

static bool keeps(int cap)
{
	for (size_t i = 0; i < SP_COUNT(keep_caps); i++)
		if (keep_caps[i] == cap)
			return true;
	return false;
}

/* What is inheritable would pass by the bounding set: nothing is. */
static int clear_inheritable(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[0].inheritable = 0;
	data[1].inheritable = 0;
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* Once for all instead of at each start of a command, where it would cost 3 % of the whole. */
int fake_setup_limit_caps(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!keeps(cap) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return -errno;
	return clear_inheritable();
}

/* ---- in the child: system calls only ---- */

FAKE_CHILD_CODE static int failed(struct fake_setup *setup, const char *step, const char *object)
{
	setup->step = step;
	setup->object = object;
	setup->error = errno;
	return -1;
}

FAKE_CHILD_CODE static int attach(struct fake_setup *setup, const char *type, const char *source,
				  const char *point, unsigned long flags, const char *options)
{
	return mount(source, point, type, flags, options) ? failed(setup, "mounting", point) : 0;
}

/* Only adds the attribute: those that came with the mount may be locked. */
FAKE_CHILD_CODE static int make_read_only(const char *point)
{
	struct {
		uint64_t set, clear, propagation, user_ns_fd;
	} attributes = { .set = 0x1 /* MOUNT_ATTR_RDONLY */ };

	return (int)syscall(SYS_mount_setattr, AT_FDCWD, point, 0, &attributes, sizeof(attributes));
}

/*
 * The number of our parent as the host's /proc tells it: in a new pid namespace
 * getppid() is 0 whoever lives.
 */
FAKE_CHILD_CODE static long parent_number(void)
{
	char text[1024];
	const char *word = "\nPPid:\t";
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = syscall(SYS_read, fd, text, sizeof(text));
	long number = 0;
	ssize_t at = 0, matched = 0;

	syscall(SYS_close, fd);
	for (; at < n && word[matched]; at++)
		matched = text[at] == word[matched] ? matched + 1 : 0;
	for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
		number = number * 10 + (text[at] - '0');
	return number;
}

/*
 * From here on the sandbox dies with the server; if the server died
 * before, there is nothing to build.
 */
FAKE_CHILD_CODE static int follow_server(struct fake_setup *setup)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return failed(setup, "asking to die with the server", "process 1");
	if (parent_number() == setup->server)
		return 0;
	errno = ESRCH;
	return failed(setup, "finding the server in", "/proc");
}

FAKE_CHILD_CODE static int mount_layers(struct fake_setup *setup)
{
	const struct fake_plan *plan = setup->plan;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return failed(setup, "making mounts private below", "/");
	if (plan->user_ns && mount("root", "root", NULL, MS_BIND, NULL))
		return failed(setup, "mounting", "the root");
	for (size_t i = 0; i < plan->n_layers; i++) {
		const struct fake_layer *layer = &plan->layers[i];

		if (layer->kind == FAKE_LAYER_OVERLAY &&
		    attach(setup, "overlay", "overlay", layer->point, MS_NODEV, layer->options))
			return -1;
		if (layer->kind == FAKE_LAYER_FILE &&
		    (attach(setup, NULL, layer->lower, layer->point, MS_BIND, NULL) ||
		     make_read_only(layer->point)))
			return failed(setup, "mounting", layer->lower);
	}
	return 0;
}

static const struct node {
	const char *host;
	const char *point;
	unsigned major, minor;
} nodes[] = {
	{ "/dev/null", "root/dev/null", 1, 3 },	      { "/dev/zero", "root/dev/zero", 1, 5 },
	{ "/dev/full", "root/dev/full", 1, 7 },	      { "/dev/random", "root/dev/random", 1, 8 },
	{ "/dev/urandom", "root/dev/urandom", 1, 9 }, { "/dev/tty", "root/dev/tty", 5, 0 },
};

static const char *const dev_links[][2] = {
	{ "/proc/self/fd", "root/dev/fd" },
	{ "/proc/self/fd/0", "root/dev/stdin" },
	{ "/proc/self/fd/1", "root/dev/stdout" },
	{ "/proc/self/fd/2", "root/dev/stderr" },
};

/* In a user namespace nodes cannot be made; the host's harmless ones are bound instead. */
FAKE_CHILD_CODE static int make_node(struct fake_setup *setup, const struct node *node)
{
	bool bind = setup->plan->user_ns;

	if (mknod(node->point, (bind ? S_IFREG : S_IFCHR) | 0666,
		  bind ? 0 : makedev(node->major, node->minor)))
		return failed(setup, "making", node->point);
	return bind ? attach(setup, NULL, node->host, node->point, MS_BIND, NULL) : 0;
}

FAKE_CHILD_CODE static int mount_dev(struct fake_setup *setup)
{
	if (attach(setup, "tmpfs", "dev", "root/dev", MS_NOSUID, DEV_OPTIONS))
		return -1;
	for (size_t i = 0; i < SP_COUNT(nodes); i++)
		if (make_node(setup, &nodes[i]))
			return -1;
	for (size_t i = 0; i < SP_COUNT(dev_links); i++)
		if (symlink(dev_links[i][0], dev_links[i][1]))
			return failed(setup, "making", dev_links[i][1]);
	return mkdir("root/dev/shm", 01777) ? failed(setup, "making", "root/dev/shm") : 0;
}

FAKE_CHILD_CODE static int mount_proc(struct fake_setup *setup)
{
	const struct fake_plan *plan = setup->plan;

	if (attach(setup, "proc", "proc", "root/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return -1;
	for (size_t i = 0; i < plan->n_proc_read_only; i++) {
		const char *path = plan->proc_read_only[i];

		/* Another kernel's list is another: what is missing cannot be written either. */
		if (mount(path, path, NULL, MS_BIND, NULL) && errno != ENOENT)
			return failed(setup, "mounting", path);
		if (make_read_only(path) && errno != ENOENT)
			return failed(setup, "making read-only", path);
	}
	return 0;
}

/* Where the state folder shows through, it is covered by an empty one. */
FAKE_CHILD_CODE static int cover_state(struct fake_setup *setup)
{
	const char *path = setup->plan->cover;

	if (!path || !mount("none", path, "tmpfs", MS_RDONLY, "mode=0,nr_inodes=1"))
		return 0;
	return errno == ENOENT || errno == ELOOP ? 0 : failed(setup, "covering", path);
}

/* Puts the new root on top of the old one and lets go of what lies below. */
FAKE_CHILD_CODE static int enter_root(struct fake_setup *setup)
{
	if (chdir("root"))
		return failed(setup, "entering", "the root");
	if (syscall(SYS_pivot_root, ".", "."))
		return failed(setup, "moving to", "the root");
	if (umount2(".", MNT_DETACH) || chdir("/"))
		return failed(setup, "letting go of", "the host's root");
	return 0;
}

FAKE_CHILD_CODE static int loopback_up(struct fake_setup *setup)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = (int)syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || syscall(SYS_ioctl, fd, SIOCSIFFLAGS, &request))
		return failed(setup, "starting", "the loopback interface");
	return 0;
}

FAKE_CHILD_CODE static int become_init(struct fake_setup *setup)
{
	static char name[] = "init";
	static char *const argv[] = { name, NULL };
	static char *const envp[] = { NULL };

	if (setsid() < 0)
		return failed(setup, "starting a session for", "process 1");
	fake_child_signals();
	/* Marked, not closed: the program's own descriptor is needed to the end. */
	if (syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_CLOEXEC))
		return failed(setup, "closing descriptors of", "process 1");
	syscall(SYS_execveat, setup->init_fd, "", argv, envp, AT_EMPTY_PATH);
	return failed(setup, "executing", "process 1");
}

FAKE_CHILD_CODE static int build(void *arg)
{
	struct fake_setup *setup = arg;

	umask(0);
	if (follow_server(setup) ||
	    ((chdir(setup->state_dir) || chdir(setup->name)) &&
	     failed(setup, "entering", setup->state_dir)) ||
	    mount_layers(setup) || mount_dev(setup) || mount_proc(setup) || cover_state(setup) ||
	    enter_root(setup) || (setup->deny_network && loopback_up(setup)))
		return 127;
	umask(022);
	become_init(setup);
	return 127;
}

/* ---- in the engine ---- */

int fake_setup_run(struct fake_setup *setup)
{
	int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_NEWNS | CLONE_NEWPID |
		    CLONE_NEWIPC | (setup->deny_network ? CLONE_NEWNET : 0) | SIGCHLD;
	char *stack = mmap(NULL, FAKE_STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t before;
	int pid_fd = -1;
	pid_t pid;
	int rc;

	if (stack == MAP_FAILED)
		return -ENOMEM;
	setup->error = 0;
	fake_signals_block(&before);
	pid = __clone(build, stack + FAKE_STACK, flags, setup, &pid_fd);
	rc = pid < 0 ? -errno : -setup->error;
	fake_signals_restore(&before);
	munmap(stack, FAKE_STACK);
	if (pid < 0) {
		setup->step = "making namespaces for";
		setup->object = "a sandbox";
		setup->error = -rc;
		return rc;
	}
	if (rc) {
		siginfo_t info;

		waitid(P_PIDFD, (id_t)pid_fd, &info, WEXITED);
		close(pid_fd);
		return rc;
	}
	setup->pid = pid;
	setup->pid_fd = pid_fd;
	return 0;
}

static int write_map(const char *path, const char *text, struct sp_error *err)
{
	int fd SP_CLOSE = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return sp_error_set(err, SP_UNSUPPORTED, "a user namespace is refused: %s: %s",
				    path, strerror(errno));
	return 0;
}

int fake_setup_user_ns(struct sp_error *err)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];
	int rc;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return sp_error_set(err, SP_UNSUPPORTED, "a user namespace is refused: unshare: %s",
				    strerror(errno));
	rc = write_map("/proc/self/setgroups", "deny", err);
	snprintf(map, sizeof(map), "0 %u 1", uid);
	rc = rc ? rc : write_map("/proc/self/uid_map", map, err);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	rc = rc ? rc : write_map("/proc/self/gid_map", map, err);
	if (!rc && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return sp_error_set(err, SP_UNSUPPORTED, "private mounts are refused: %s",
				    strerror(errno));
	return rc;
}

/* One sandbox, made and ended at once. */
static int try_sandbox(const char *state_dir, bool user_ns, struct sp_error *err)
{
	struct fake_plan plan SP_CLEANUP(fake_plan_done) = { 0 };
	struct fake_setup setup = {
		.plan = &plan, .state_dir = state_dir, .name = "probe", .server = getpid()
	};
	int state_fd SP_CLOSE = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int dir_fd SP_CLOSE = -1;
	int init_fd SP_CLOSE = fake_init_open();
	siginfo_t info;
	int rc;

	rc = fake_plan_make(state_dir, user_ns, &plan, err);
	if (rc)
		return rc;
	if (mkdirat(state_fd, "probe", 0700))
		return sp_error_set_errno(err, errno, "cannot make a folder in %s", state_dir);
	dir_fd = openat(state_fd, "probe", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	setup.init_fd = init_fd;
	rc = fake_plan_prepare(&plan, dir_fd);
	if (rc == -EOPNOTSUPP || rc == -EPERM)
		rc = sp_error_set(err, SP_UNSUPPORTED, "%s cannot hold the layers of a sandbox: %s",
				  state_dir, strerror(-rc));
	else if (rc)
		rc = sp_error_set_errno(err, -rc, "cannot prepare a sandbox in %s", state_dir);
	else if (fake_setup_run(&setup))
		rc = sp_error_set(err, SP_UNSUPPORTED, "a sandbox is refused: %s %s: %s",
				  setup.step, setup.object, strerror(setup.error));
	else {
		sp_pidfd_signal(setup.pid_fd, SIGKILL);
		waitid(P_PIDFD, (id_t)setup.pid_fd, &info, WEXITED);
		close(setup.pid_fd);
	}
	sp_remove_tree_at(state_fd, "probe");
	return rc;
}

/* What the asking child tells. */
struct probe {
	int rc;
	struct sp_error err;
};

int fake_setup_probe(const char *state_dir, bool user_ns, struct sp_error *err)
{
	struct probe *probe = mmap(NULL, sizeof(*probe), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int rc;

	if (probe == MAP_FAILED)
		return sp_error_set_errno(err, errno, "cannot ask for namespaces");
	probe->rc = SP_INTERNAL;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		probe->rc = user_ns ? fake_setup_user_ns(&probe->err) : 0;
		if (!probe->rc)
			probe->rc = try_sandbox(state_dir, user_ns, &probe->err);
		_exit(0);
	}
	if (pid < 0)
		rc = sp_error_set_errno(err, errno, "cannot ask for namespaces");
	else {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		rc = probe->rc;
		if (rc && err)
			*err = probe->err;
	}
	munmap(probe, sizeof(*probe));
	return rc;
}
