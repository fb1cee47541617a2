/* SPDX-License-Identifier: MIT */
#include "nursery.h"

#include "coverage.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>

#include "worker.h"

/* One message: an order with its argument and two descriptors, or an answer with one. */
struct message {
	struct sp_peer_order order;
	int error;
	unsigned char arg[SP_PEER_ARG_MAX];
};

#define HEAD offsetof(struct message, arg)

/* Sends with `n` descriptors; 0 or -errno. */
static int send_message(int sock, const struct message *message, size_t len, const int *fds,
			size_t n)
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {.room = ""};
	struct iovec part = {(void *)message, len};
	struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};

	if (n) {
		head.msg_control = control.room;
		head.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.align = (struct cmsghdr){.cmsg_len = CMSG_LEN(n * sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
	}
	while (sendmsg(sock, &head, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Receives with up to two descriptors (-1: none came); length, 0 at the end, or -errno. */
static ssize_t receive(int sock, struct message *message, int fds[2])
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {message, sizeof(*message)};
	struct msghdr head = {.msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = control.room,
			      .msg_controllen = sizeof(control)};
	struct cmsghdr *rights;
	ssize_t len;

	fds[0] = fds[1] = -1;
	while ((len = recvmsg(sock, &head, MSG_CMSG_CLOEXEC)) < 0)
		if (errno != EINTR)
			return -errno;
	rights = CMSG_FIRSTHDR(&head);
	if (rights && rights->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
	return len;
}

/* Forks one peer; a descriptor of its end, or -errno. */
static int fork_peer(const struct sp_worker_options *options, const struct message *message,
		     int sock, int fds[2])
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid)
		return sp_pidfd_open(pid);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	signal(SIGCHLD, SIG_DFL);
	sp_close(sock);
	sp_peer_main(options, &message->order, message->arg, fds[0], fds[1]);
}

static _Noreturn void serve(const struct sp_worker_options *options, int sock)
{
	static struct message message;
	int fds[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* Nobody waits for peers: the kernel reaps them. */
	signal(SIGCHLD, SIG_IGN);
	sp_close(options->sock);
	while (receive(sock, &message, fds) > (ssize_t)(HEAD - 1)) {
		int pidfd SP_CLOSE = fork_peer(options, &message, sock, fds);

		message.error = pidfd < 0 ? pidfd : 0;
		sp_close(fds[0]);
		sp_close(fds[1]);
		if (send_message(sock, &message, HEAD, &pidfd, pidfd >= 0))
			break;
	}
	sp_coverage_dump(options->run);
	_exit(0);
}

int sp_nursery_start(const struct sp_worker_options *options, int *ret_sock)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = fork();
	if (pid == 0) {
		sp_close(pair[0]);
		serve(options, pair[1]);
	}
	sp_close(pair[1]);
	if (pid < 0) {
		sp_close(pair[0]);
		return -EAGAIN;
	}
	*ret_sock = pair[0];
	return 0;
}

int sp_nursery_order(int sock, const struct sp_peer_order *order, const void *arg, int in, int out,
		     int *ret_pidfd)
{
	struct message *message SP_FREE = calloc(1, sizeof(*message));
	int fds[2] = {in, out};
	ssize_t len;
	int rc = message && order->arg_len <= SP_PEER_ARG_MAX ? 0 : -E2BIG;

	if (!rc) {
		message->order = *order;
		memcpy(message->arg, arg ? arg : "", arg ? order->arg_len : 0);
		rc = send_message(sock, message, HEAD + order->arg_len, fds, 2);
	}
	sp_close(in);
	sp_close(out);
	if (rc)
		return rc;
	len = receive(sock, message, fds);
	if (len < (ssize_t)HEAD)
		return len < 0 ? (int)len : -EPIPE;
	*ret_pidfd = fds[0];
	return message->error;
}
