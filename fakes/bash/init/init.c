/* SPDX-License-Identifier: MIT */
/*
 * Process 1 of a sandbox: ignores every signal and sleeps. Ignoring SIGCHLD
 * makes the kernel reap orphans by itself, so it never has to wake up.
 *
 * It is built alone, without libc, and executed from a memory file with an
 * empty environment: /proc/1 of a sandbox then shows nothing of the server's.
 */
#include <asm/unistd.h>
#include <linux/prctl.h>

#define LAST_SIGNAL 64
#define IGNORE ((void *)1)

/*
 * The kernel's own layout; where an architecture has no restorer, the mask merely starts earlier.
 */
struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

#if defined(__x86_64__)
static long call(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static long call(long number, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}
#else
#error "teach init.c the system calls of this machine"
#endif

void _start(void);

/* Static data, since the stack of a program's entry is not aligned as a function expects it. */
void _start(void)
{
	static const struct kernel_sigaction ignore = { IGNORE, 0, 0, 0 };
	static const unsigned long none = 0;
	long signal;

	call(__NR_prctl, PR_SET_NAME, (long)"init", 0, 0);
	for (signal = 1; signal <= LAST_SIGNAL; signal++)
		call(__NR_rt_sigaction, signal, (long)&ignore, 0, sizeof(ignore.mask));
	for (;;)
		call(__NR_rt_sigsuspend, (long)&none, sizeof(none), 0, 0);
}
