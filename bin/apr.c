/* apr: one word for each task, and a pipe of tools behind it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"
#include "core/buf.h"
#include "core/descriptors.h"
#include "core/text.h"
#include "core/version.h"
#include "front/find.h"
#include "front/help.h"
#include "front/licence.h"
#include "front/plan.h"
#include "front/run.h"
#include "front/words.h"

#define SELF "apr"

/* Prints a text and frees it. 0 or -1. */
static int
print(struct buf *b, struct err *e)
{
	if (!buf_ok(b))
		err_memory(e);
	else if (fwrite(b->p, 1, b->n, stdout) != b->n || fflush(stdout) != 0)
		err_errno(e, "<stdout>", "cannot be written");
	buf_free(b);
	return e->code == ERR_NONE ? 0 : -1;
}

/* ---- running ---- */

static void
tell_licence(const char *file)
{
	char text[200], name[300], line[600];

	if (front_licence(file, text, sizeof text) < 0)
		return;
	text_quote(name, sizeof name, file, strlen(file));
	snprintf(line, sizeof line, *text ? "%s: its licence is %s" : "%s: states no licence", name,
	         text);
	say_note(SELF, line);
}

/* Prints or runs the plan. Returns the exit status, or -1 with an error. */
static int
carry_out(struct front_plan *p, const struct front_word *w, struct err *e)
{
	struct buf b = { 0 };

	if (p->show) {
		front_plan_show(&b, p);
		return print(&b, e);
	}
	if (front_ready(p, w, e) < 0)
		return -1;
	if (p->progress)
		setenv("APR_PROGRESS", "always", 1);
	if (p->note)
		say_note(SELF, p->note);
	if (p->source)
		tell_licence(p->source);
	return p->n == 1 && !p->import ? front_exec(p, e) : front_run(p, e);
}

static bool
asks_help(const struct front_word *w, char **args)
{
	size_t i;

	for (i = 0; w->plan && args[i] && strcmp(args[i], "--") != 0; i++)
		if (strcmp(args[i], "--help") == 0 || strcmp(args[i], "-h") == 0)
			return true;
	return false;
}

static int
do_word(const struct front_word *w, char **args, struct err *e)
{
	struct front_plan plan;
	struct buf b = { 0 };
	int result;

	if (asks_help(w, args)) {
		front_help_word(&b, w);
		return print(&b, e);
	}
	result = front_plan_make(&plan, w, args, e);
	if (result == 0)
		result = carry_out(&plan, w, e);
	front_plan_free(&plan);
	return result;
}

/* A word that is not in the table: the program apr-WORD, if there is one. */
static int
do_other(const char *name, char **args, struct err *e)
{
	char tool[64], path[PATH_MAX];
	struct front_word w = { .name = name, .tool = tool, .purpose = "" };
	int n = snprintf(tool, sizeof tool, "apr-%s", name);

	if (n < 0 || (size_t)n >= sizeof tool || !front_find(tool, path))
		return front_help_unknown(name, e);
	return do_word(&w, args, e);
}

/* ---- apr help ---- */

static int
do_help(char **args, struct err *e)
{
	struct buf b = { 0 };
	const struct front_word *w;

	if (!args[0] || strcmp(args[0], "--help") == 0) {
		front_help_words(&b);
	} else if (strcmp(args[0], "--words") == 0) {
		front_help_words_table(&b);
	} else if (strcmp(args[0], "--options") == 0 && args[1]) {
		w = front_word_find(args[1]);
		if (!w)
			return front_help_unknown(args[1], e);
		front_help_options_table(&b, w);
	} else {
		char tool[64], path[PATH_MAX];
		const char *name = strncmp(args[0], "apr-", 4) == 0 ? args[0] + 4 : args[0];

		w = front_word_find(name);
		snprintf(tool, sizeof tool, "apr-%s", name);
		if (!w && !front_find(tool, path))
			return front_help_unknown(args[0], e);
		return front_help_page(w, tool, e);
	}
	return print(&b, e);
}

/* ---- the command ---- */

static int
do_command(char **args, struct err *e)
{
	struct buf b = { 0 };
	const struct front_word *w;

	if (!args[0] || strcmp(args[0], "--help") == 0 || strcmp(args[0], "-h") == 0) {
		front_help_words(&b);
		return print(&b, e);
	}
	if (strcmp(args[0], "--version") == 0 || strcmp(args[0], "version") == 0) {
		buf_printf(&b, "apr (apr tools) %s\n", APR_VERSION);
		return print(&b, e);
	}
	if (strcmp(args[0], "help") == 0)
		return do_help(args + 1, e);
	if (args[0][0] == '-')
		return front_help_option(args[0], e);
	w = front_word_find(args[0]);
	return w ? do_word(w, args + 1, e) : do_other(args[0], args + 1, e);
}

/* Returns the word that the name of the program stands for: apr-qa runs the word qa. */
static char *
word_of_program(char *program)
{
	char *name = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;

	return strncmp(name, "apr-", 4) == 0 ? name + 4 : NULL;
}

int
main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	int result;

	descriptors_occupy();
	if (argc > 0 && word_of_program(argv[0])) {
		argv[0] = word_of_program(argv[0]);
		result = do_command(argv, &e);
	} else {
		result = do_command(argc > 0 ? argv + 1 : argv, &e);
	}
	if (e.code == ERR_NONE)
		return result;
	say_error(SELF, NULL, &e);
	return err_exit(&e);
}
