/* SPDX-License-Identifier: MIT */
/*
 * The program with one allocation that fails: the one whose number is in SP_TEST_ALLOCATION (from
 * 1; without it none). How many there were is appended to the file that SP_TEST_ALLOCATIONS names.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <base/sha256.h>
#include <cli/cli.h>

/* What the names below have taken the place of. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);

static atomic_long asked, failing = LONG_MAX;
/* Only what the program itself asks for counts, not what starts and ends it. */
static atomic_bool armed;

static bool refused(void)
{
	if (!atomic_load(&armed) || atomic_fetch_add(&asked, 1) + 1 != atomic_load(&failing))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
	return refused() ? NULL : __libc_realloc(at, size);
}

static void tell(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	dprintf(fd, "%ld\n", atomic_load(&asked));
	close(fd);
}

int main(int argc, char **argv)
{
	const char *number = getenv("SP_TEST_ALLOCATION"), *path = getenv("SP_TEST_ALLOCATIONS");
	char hex[SP_SHA256_HEX];
	int code;

	if (number)
		atomic_store(&failing, strtol(number, NULL, 10));
	/* libcrypto 3.0 crashes when its own start finds no memory; that is not ours to mend. */
	(void)sp_sha256_hex("", 0, hex);
	atomic_store(&armed, true);
	code = cli_main(argc, argv);
	fflush(NULL);
	atomic_store(&armed, false);
	if (path)
		tell(path);
	return code;
}
