/* SPDX-License-Identifier: MIT */
/* A shared object that is no plugin. */
int none_of_ours(void);

int none_of_ours(void)
{
	return 0;
}
