/* SPDX-License-Identifier: MIT */
/*
 * Cleanup attributes and small macros, in systemd's manner: the name of
 * a helper tells who owns what.
 */
#ifndef SP_BASE_CLEANUP_H
#define SP_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SP_CLEANUP(fn) __attribute__((cleanup(fn)))
#define SP_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SP_UNUSED __attribute__((unused))

/* Moves a pointer out of a variable that would otherwise be freed. */
#define SP_TAKE(pointer)                                                                           \
	({                                                                                         \
		__typeof__(pointer) *taken_from_ = &(pointer);                                     \
		__typeof__(pointer) taken_ = *taken_from_;                                         \
		*taken_from_ = NULL;                                                               \
		taken_;                                                                            \
	})
/* Moves a descriptor out of a variable that would otherwise be closed. */
#define SP_TAKE_FD(fd)                                                                             \
	({                                                                                         \
		int *fd_from_ = &(fd);                                                             \
		int fd_taken_ = *fd_from_;                                                         \
		*fd_from_ = -1;                                                                    \
		fd_taken_;                                                                         \
	})

/* char *text SP_FREE = NULL; */
#define SP_FREE SP_CLEANUP(sp_cleanup_free)
/* int fd SP_CLOSE = -1; */
#define SP_CLOSE SP_CLEANUP(sp_cleanup_close)

static inline void sp_cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

/*
 * Closes a descriptor if it is one, keeps errno, and returns -1, so that
 * `fd = sp_close(fd)` is whole.
 */
int sp_close(int fd);

/* What SP_CLOSE calls. */
static inline void sp_cleanup_close(int *fd)
{
	*fd = sp_close(*fd);
}

#endif
