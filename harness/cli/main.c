/* SPDX-License-Identifier: MIT */
#include <locale.h>

#include <cli/cli.h>

int main(int argc, char **argv)
{
	/* Character set only: numbers keep their dot whatever the locale. */
	setlocale(LC_CTYPE, "");
	return cli_main(argc, argv);
}
