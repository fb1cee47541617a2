/* SPDX-License-Identifier: MIT */
/*
 * What the tests of child.c start, by the word that comes first:
 *   state             its descriptors, signal actions and mask, group, folder and arguments
 *   parent HOW        starts `cat` on descriptor 3, says "ready", and ends at the end of its stdin;
 *                     HOW: dies, outlives, thread (starts it from a thread that ends)
 *   fork              starts children from threads, before a fork and on both sides of it
 *   namespace         starts a child in a new pid namespace and says its exit code
 *   signal N          ends itself by signal N
 *   exit N            ends with code N
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>

static void print_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	fputs("fds", stdout);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strtol(entry->d_name, NULL, 10) != dirfd(dir))
			printf(" %s", entry->d_name);
	putchar('\n');
	if (dir)
		closedir(dir);
}

static int print_state(int argc, char **argv)
{
	char line[256], cwd[4096];
	FILE *status;

	print_fds();
	status = fopen("/proc/self/status", "re");
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6) ||
		    !strncmp(line, "SigCgt", 6))
			fputs(line, stdout);
	if (status)
		fclose(status);
	printf("leads %d\ncwd %s\n", getpid() == getpgid(0), getcwd(cwd, sizeof(cwd)) ? cwd : "?");
	for (int i = 2; i < argc; i++)
		printf("arg %s\n", argv[i]);
	return 0;
}

static void *start_cat(void *arg)
{
	static const char *const argv[] = { "cat", NULL };
	struct sp_child *child = arg;
	struct sp_error err = SP_ERROR_INIT;

	child->argv = argv;
	child->in = dup(3);
	child->out = dup(3);
	if (sp_child_start(child, &err))
		fprintf(stderr, "%s\n", err.message);
	return NULL;
}

/* Never cleans its child up: what becomes of it is the question. */
static int be_parent(const char *how)
{
	struct sp_child child = SP_CHILD_INIT;
	pthread_t thread;
	char byte;

	child.outlives = !strcmp(how, "outlives");
	if (!strcmp(how, "thread")) {
		if (pthread_create(&thread, NULL, start_cat, &child))
			return 1;
		pthread_join(thread, NULL);
	} else {
		start_cat(&child);
	}
	close(3);
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	_exit(child.pid > 0 ? 0 : 1);
}

static void *run_true(void *arg)
{
	static const char *const argv[] = { "true", NULL };
	struct sp_run_result result = { .code = 1 };

	sp_run(argv, NULL, NULL, 0, 10, NULL, &result, NULL);
	*(int *)arg = result.code;
	sp_run_result_done(&result);
	return NULL;
}

/* 0 when a thread other than the main one could start a child. */
static int run_in_thread(void)
{
	pthread_t thread;
	int code = 1;

	if (pthread_create(&thread, NULL, run_true, &code))
		return 1;
	pthread_join(thread, NULL);
	return code;
}

static int across_fork(void)
{
	int status = 1;
	pid_t pid;

	if (run_in_thread())
		return 1;
	pid = fork();
	if (!pid)
		_exit(run_in_thread());
	if (waitpid(pid, &status, 0) != pid || status)
		return 2;
	return run_in_thread() ? 3 : 0;
}

/* Returns only where it is refused. */
static void in_namespace(void)
{
	static const char *const argv[] = { "sh", "-c", "exit $$", NULL };
	struct sp_child child = SP_CHILD_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (unshare(CLONE_NEWPID)) {
		puts("refused");
		return;
	}
	child.argv = argv;
	if (sp_child_start(&child, &err) || sp_child_wait(&child, NULL, &err))
		printf("%s\n", err.message);
	else
		printf("code %d\n", child.code);
	sp_child_done(&child);
	fflush(stdout);
	/* A leak check needs a thread, which nobody can make here any more. */
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *value = argc > 2 ? argv[2] : "";

	if (!strcmp(what, "state"))
		return print_state(argc, argv);
	if (!strcmp(what, "parent"))
		return be_parent(value);
	if (!strcmp(what, "fork"))
		return across_fork();
	if (!strcmp(what, "namespace")) {
		in_namespace();
		return 0;
	}
	if (!strcmp(what, "exit"))
		return (int)strtol(value, NULL, 10);
	if (!strcmp(what, "signal"))
		raise((int)strtol(value, NULL, 10));
	return 99;
}
