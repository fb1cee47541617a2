/* SPDX-License-Identifier: MIT */
#include <witness/fifo.h>

bool sp_fifo_make(const struct sp_place *place, const char *name, struct sp_fifo *fifo)
{
	fifo->place = place;
	fifo->path = sp_place_path(place, name);
	return sp_place_fifos(place, sp_case_format(place->t, "%s ", name));
}

const char *sp_fifo_take(const struct sp_fifo *fifo)
{
	return sp_sh_out(fifo->place->t, fifo->place->sandbox, "read -r line <%s && echo \"$line\"",
			 fifo->path);
}

const char *sp_fifo_take_held(const struct sp_fifo *fifo)
{
	/* As in ask(): 6 keeps the open of 7 from blocking, and only until it is open. */
	return sp_sh_out(fifo->place->t, fifo->place->sandbox,
			 "exec 6<>%s 7<%s 6<&-; read -r line <&7 || line=dead; echo \"$line\"",
			 fifo->path, fifo->path);
}

bool sp_fifo_put(const struct sp_fifo *fifo, const char *line)
{
	return sp_sh_ok(fifo->place->t, fifo->place->sandbox, "echo '%s' >%s", line, fifo->path);
}

bool sp_answerer_make(const struct sp_place *place, const char *name, struct sp_answerer *answerer)
{
	answerer->place = place;
	answerer->name = name;
	answerer->shell = sp_case_format(place->t, "sh %s/answer %s", place->dir, name);
	return sp_place_fifos(place, sp_case_format(place->t, "%s.ask %s.tell ", name, name));
}

bool sp_answerer_await(const struct sp_answerer *answerer)
{
	const struct sp_place *place = answerer->place;
	const char *said;

	said = sp_sh_out(place->t, place->sandbox, "read -r said <%s/%s.tell && echo \"$said\"",
			 place->dir, answerer->name);
	return said &&
	       SP_CHECK_STR(place->t, "ready", said, "the answerer %s runs", answerer->name);
}

static bool ask(const struct sp_answerer *answerer, const char *line, struct sp_where where,
		const char *what)
{
	const struct sp_place *place = answerer->place;
	const char *said;

	/*
	 * 6 keeps the open of 7 from blocking and is then closed: from there on
	 * the answerer alone holds the writing end, and its death ends the read.
	 */
	said = sp_sh_out(place->t, place->sandbox,
			 "cd %s; exec 8<>%s.ask 6<>%s.tell 7<%s.tell 6<&-; echo %s >&8; "
			 "read -r said <&7 || said=dead; echo \"$said\"",
			 place->dir, answerer->name, answerer->name, answerer->name, line);
	if (!said)
		return false;
	return sp_check_str(place->t, line, said, where, "%s answers", what);
}

bool sp_answerer_check(const struct sp_answerer *answerer, struct sp_where where, const char *what)
{
	return ask(answerer, "hello", where, what);
}

bool sp_answerer_end(const struct sp_answerer *answerer)
{
	return ask(answerer, "end", SP_HERE, "an answerer that is asked to end");
}
