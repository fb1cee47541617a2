/* SPDX-License-Identifier: MIT */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

__asm__(".pushsection .rodata\n"
	".global fake_init_begin\n"
	".global fake_init_end\n"
	"fake_init_begin:\n"
	".incbin \"" FAKE_INIT_FILE "\"\n"
	"fake_init_end:\n"
	".byte 0\n"
	".popsection\n");

extern const unsigned char fake_init_begin[];
extern const unsigned char fake_init_end[];

/*
 * Kernels that can forbid executable memory files want the wish stated;
 * older ones do not know the flag.
 */
static int memory_file(void)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("init", flags | MFD_EXEC);

	return fd < 0 && errno == EINVAL ? memfd_create("init", flags) : fd;
}

int fake_init_open(void)
{
	int fd SP_CLOSE = memory_file();
	int rc;

	if (fd < 0)
		return -errno;
	rc = sp_write_all(fd, fake_init_begin, (size_t)(fake_init_end - fake_init_begin));
	if (rc)
		return rc;
	/* Root in a sandbox reaches this file by /proc/1/exe; it is shared by all sandboxes. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	return SP_TAKE_FD(fd);
}
