/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <locale.h>
#include <unistd.h>

#include <cli/cli.h>

/*
 * A closed standard descriptor would become the next file that is opened, and what is printed
 * would go there. The wrong direction, so that using one is still an error.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	/* Character set only: numbers keep their dot whatever the locale. */
	setlocale(LC_CTYPE, "");
	return cli_main(argc, argv);
}
