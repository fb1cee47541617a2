/* SPDX-License-Identifier: MIT */
#include <providers/local/internal.h>

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

struct entry {
	int fd;
	/* What epoll tells; descriptors are reused, ids are not. */
	uint64_t id;
	const void *owner;
	struct entry *next;
};

struct local_drain {
	pthread_mutex_t lock;
	int epoll, stop;
	uint64_t last_id;
	bool running;
	pthread_t thread;
	struct entry *entries;
};

static void close_entry(struct entry **place)
{
	struct entry *entry = *place;

	*place = entry->next;
	sp_close(entry->fd);
	free(entry);
}

/* Throws away what is there now; the lock is held, so forget() cannot close under us. */
static void discard(struct local_drain *drain, uint64_t id)
{
	char buffer[16 * 1024];
	struct entry **place = &drain->entries;

	while (*place && (*place)->id != id)
		place = &(*place)->next;
	if (!*place)
		return;
	ssize_t n = read((*place)->fd, buffer, sizeof(buffer));
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_entry(place);
}

static void *drain_thread(void *arg)
{
	struct local_drain *drain = arg;
	struct epoll_event events[16];

	for (;;) {
		int n = epoll_wait(drain->epoll, events, SP_COUNT(events), -1);
		if (n < 0 && errno != EINTR)
			return NULL;
		for (int i = 0; i < n; i++) {
			if (events[i].data.u64 == 0)
				return NULL;
			LOCAL_LOCK(&drain->lock);
			discard(drain, events[i].data.u64);
		}
	}
}

int local_drain_new(struct local_drain **ret_drain, struct sp_error *err)
{
	struct local_drain *drain = calloc(1, sizeof(*drain));

	if (!drain)
		return sp_error_set(err, SP_INTERNAL, "no memory for the drain");
	pthread_mutex_init(&drain->lock, NULL);
	drain->epoll = epoll_create1(EPOLL_CLOEXEC);
	drain->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};
	if (drain->epoll < 0 || drain->stop < 0 ||
	    epoll_ctl(drain->epoll, EPOLL_CTL_ADD, drain->stop, &event) < 0) {
		int rc = sp_error_set_errno(err, errno, "cannot make an event queue");
		local_drain_free(drain);
		return rc;
	}
	*ret_drain = drain;
	return 0;
}

/* Signals of the program are for its own threads. */
static bool start_thread(struct local_drain *drain)
{
	sigset_t all, old;

	if (drain->running)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	drain->running = pthread_create(&drain->thread, NULL, drain_thread, drain) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return drain->running;
}

void local_drain_add(struct local_drain *drain, int fd, const void *owner)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	LOCAL_LOCK(&drain->lock);

	if (!entry || !start_thread(drain)) {
		free(entry);
		sp_close(fd);
		return;
	}
	*entry = (struct entry){fd, ++drain->last_id, owner, drain->entries};
	drain->entries = entry;
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = entry->id};
	if (epoll_ctl(drain->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		close_entry(&drain->entries);
}

void local_drain_forget(struct local_drain *drain, const void *owner)
{
	LOCAL_LOCK(&drain->lock);
	struct entry **place = &drain->entries;

	while (*place) {
		if ((*place)->owner == owner)
			close_entry(place);
		else
			place = &(*place)->next;
	}
}

void local_drain_free(struct local_drain *drain)
{
	if (!drain)
		return;
	if (drain->running) {
		eventfd_write(drain->stop, 1);
		pthread_join(drain->thread, NULL);
	}
	while (drain->entries)
		close_entry(&drain->entries);
	sp_close(drain->epoll);
	sp_close(drain->stop);
	pthread_mutex_destroy(&drain->lock);
	free(drain);
}
