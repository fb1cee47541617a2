/* SPDX-License-Identifier: MIT */
/* P1 to P3: how the platform runs a command. */
#include <string.h>

#include <suites/platform/cases.h>
#include <suites/platform/scene.h>
#include <witness/count.h>

/*
 * Says "up", then a word for each word that it is told. Both ends are FIFOs, so whoever asks waits
 * for exactly as long as it takes, and hears the end of one that has died.
 */
static const char *echoing(struct plat_scene *s)
{
	return sp_case_format(s->t,
			      "cd %s && exec 5>out && echo up >&5 && exec 6<in && "
			      "read -r word <&6 && echo \"got $word\" >&5 && "
			      "read -r word <&6 && echo \"got $word\" >&5",
			      s->dir);
}

void plat_stream_dropped(struct sp_case *t)
{
	static const char fact[] = "a closed stream leaves its process running";
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	struct sp_platform *platform = &sp_case_subject(t)->platform;
	struct sp_error err = SP_ERROR_INIT;
	const char *said;

	SP_REQUIRE(plat_scene_open(t, &s));
	SP_REQUIRE(plat_run(&s, s.id, "mkfifo %s/in %s/out", s.dir, s.dir));
	SP_REQUIRE(plat_ok(t,
			   platform->ops->raw_start_and_drop(platform->self, s.id, echoing(&s),
							     sp_case_cancel(t), &err),
			   &err, "start a command and drop its stream"));
	said = plat_run(&s, s.id,
			"cd %s && exec 4<out && read -r up <&4 && exec 3<>in && "
			"for word in one two; do echo $word >&3; "
			"read -r said <&4 || said='end of file'; echo \"$said\"; done",
			s.dir);
	SP_REQUIRE(said);
	PLAT_FACT(t, !strcmp(said, "got one\ngot two"), fact,
		  "asked for two words after its stream was closed, it said \"%s\"", said);
}

void plat_shell_leads(struct sp_case *t)
{
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	const char *said;

	SP_REQUIRE(plat_scene_open(t, &s));
	said = plat_run(&s, s.id,
			"set -- $(cat /proc/$$/stat); "
			"[ \"$5\" = $$ ] && echo leads || echo \"process $$ in group $5\"");
	SP_REQUIRE(said);
	PLAT_FACT(t, !strcmp(said, "leads"), "the shell of a command leads its own group", "%s",
		  said);
}

void plat_shell_fresh(struct sp_case *t)
{
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	const char *said;

	SP_REQUIRE(plat_scene_open(t, &s));
	SP_REQUIRE(plat_run(&s, s.id, "cd /; export SP_KEPT=1; umask 000"));
	said = plat_run(&s, s.id,
			"[ \"$PWD\" = \"$HOME\" ] || echo \"starts in $PWD\"; "
			"[ -z ${SP_KEPT+x} ] || echo 'a variable is kept'; "
			"[ $(umask) != 0000 ] || echo 'the umask is kept'; "
			"read -r line && echo 'there is something on stdin'; "
			"[ \"$BASH_VERSION\" ] || echo 'it is not bash'; :");
	SP_REQUIRE(said);
	PLAT_FACT(t, !*said, "every command is a new bash in the home folder with nothing to read",
		  "%s", said);
}

void plat_memory_only_dev(struct sp_case *t)
{
	static const char fact[] = "/dev is the only file system in memory";
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	const char *where, *elsewhere;

	SP_REQUIRE(sp_count_holds(t, "memory-directory") && plat_scene_open(t, &s));
	where = plat_run(&s, s.id,
			 "while read -r _ at type options _; do "
			 "case $type:,$options, in tmpfs:*,rw,* | ramfs:*,rw,* | devtmpfs:*,rw,*) "
			 "echo $at;; esac; done </proc/mounts");
	SP_REQUIRE(where);
	elsewhere =
	    plat_run(&s, s.id,
		     "while read -r at; do case $at in /dev | /dev/*) ;; *) echo $at;; esac; "
		     "done <<'END'\n%s\nEND\n",
		     where);
	SP_REQUIRE(elsewhere);
	SP_REQUIRE(PLAT_FACT(t, !strncmp(where, "/dev", 4) || strstr(where, "\n/dev\n"), fact,
			     "those in memory are \"%s\"", where));
	PLAT_FACT(t, !*elsewhere, fact, "so is %s", elsewhere);
}
