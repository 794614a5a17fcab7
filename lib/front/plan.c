#include "front/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* ---- parts ---- */

void
front_plan_add(struct front_plan *p, const char *arg)
{
	struct front_stage *s = &p->stages[p->n - 1];

	if (!arg || s->argc == SIZE_MAX)
		return;
	if (mem_grow(&s->argv, &s->cap, s->argc + 2, sizeof *s->argv) < 0) {
		s->argc = SIZE_MAX;
		return;
	}
	s->argv[s->argc++] = arg;
}

void
front_plan_stage(struct front_plan *p, enum front_step step, const char *tool)
{
	p->stages[p->n++] = (struct front_stage){ .step = step };
	front_plan_add(p, tool);
}

/* Memory for a string of the plan; NULL without any. */
static char *
make(struct front_plan *p, size_t n)
{
	char *made = p->made_count < sizeof p->made / sizeof *p->made ? malloc(n) : NULL;

	if (made)
		p->made[p->made_count++] = made;
	else
		p->stages[p->n - 1].argc = SIZE_MAX;
	return made;
}

void
front_plan_operand(struct front_plan *p, const char *file)
{
	size_t n = strlen(file);
	char *made;

	if (*file != '-' || n == 1) {
		front_plan_add(p, file);
		return;
	}
	made = make(p, n + 3);
	if (!made)
		return;
	memcpy(made, "./", 2);
	memcpy(made + 2, file, n + 1);
	front_plan_add(p, made);
}

/* A pattern of names as a regular expression that matches the same names whole. */
static void
add_regex(struct front_plan *p, const char *glob)
{
	char *made = make(p, 2 * strlen(glob) + 3), *to = made;

	if (!made)
		return;
	*to++ = '^';
	for (; *glob; glob++) {
		if (*glob == '*' || strchr(".\\+^$|()[]{}", *glob))
			*to++ = *glob == '*' ? '.' : '\\';
		*to++ = *glob == '?' ? '.' : *glob;
	}
	memcpy(to, "$", 2);
	front_plan_add(p, made);
}

void
front_plan_pass(struct front_plan *p, const struct front_line *l, enum front_step step)
{
	size_t i;

	for (i = 0; i < l->given_count; i++)
		if (l->given[i].option->passes & 1u << step) {
			front_plan_add(p, l->given[i].option->as);
			if (l->given[i].option->slot == SLOT_TARGET)
				add_regex(p, l->given[i].value);
			else
				front_plan_add(p, l->given[i].value);
		}
}

int
front_plan_end(struct front_plan *p, struct err *e)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->stages[i].argc == SIZE_MAX)
			return err_memory(e);
	return 0;
}

void
front_plan_free(struct front_plan *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->stages[i].argv);
	for (i = 0; i < p->made_count; i++)
		free(p->made[i]);
	p->n = p->made_count = 0;
}

/* ---- words that run one tool ---- */

/* Returns the length of an option's name in an argument: "--type=q4_0" has 6. */
static size_t
name_length(const char *arg)
{
	return strncmp(arg, "--", 2) == 0 ? strcspn(arg, "=") : strlen(arg);
}

static bool
is_option(const char *arg, const char *option)
{
	return name_length(arg) == strlen(option) && strncmp(arg, option, strlen(option)) == 0;
}

/* Returns the row of the tool that one of the arguments asks for, or NULL. */
static const struct front_turn *
turn_for(const struct front_word *w, char **args)
{
	const struct front_turn *t;
	size_t i;

	for (t = w->turns; t && t->option; t++)
		for (i = 0; args[i]; i++)
			if (is_option(args[i], t->option))
				return t;
	return NULL;
}

/* Whether a file with this name is a container, which only apr-pack writes. */
static bool
is_container(const char *name)
{
	static const char *const suffixes[] = { ".apr", ".gguf", ".safetensors", "/", NULL };
	size_t i, n = strlen(name), m;

	for (i = 0; suffixes[i]; i++) {
		m = strlen(suffixes[i]);
		if (n > m && strcmp(name + n - m, suffixes[i]) == 0)
			return true;
	}
	return false;
}

/* If args[i] is -o with a container, returns the file, and how many arguments it takes. */
static const char *
output_at(char **args, size_t i, size_t *used)
{
	const char *file = NULL;

	*used = 1;
	if (strcmp(args[i], "-o") == 0 || strcmp(args[i], "--output") == 0) {
		file = args[i + 1];
		*used = 2;
	} else if (strncmp(args[i], "--output=", 9) == 0) {
		file = args[i] + 9;
	} else if (strncmp(args[i], "-o", 2) == 0) {
		file = args[i] + 2;
	}
	return file && is_container(file) ? file : NULL;
}

/* Adds args[i] under the name that the tool has for it. */
static void
add_renamed(struct front_plan *p, const struct front_word *w, const char *arg)
{
	const struct front_rename *r;

	for (r = w->renames; r && r->was; r++) {
		if (!is_option(arg, r->was))
			continue;
		if (*r->now)
			front_plan_add(p, r->now);
		if (arg[strlen(r->was)] == '=')
			front_plan_add(p, arg + strlen(r->was) + 1);
		return;
	}
	front_plan_add(p, arg);
}

static bool
is_force(const char *arg)
{
	return strcmp(arg, "-f") == 0 || strcmp(arg, "--force") == 0;
}

/* Returns the output of a word whose tool writes a stream, if it is a container. */
static const char *
container_of(const struct front_word *w, char **args)
{
	const char *file;
	size_t i, used;

	for (i = 0; w->packs && args[i]; i += used) {
		file = output_at(args, i, &used);
		if (file)
			return file;
		if (used == 2 && !args[i + 1])
			used = 1;
	}
	return NULL;
}

static int
plan_tool(struct front_plan *p, const struct front_word *w, char **args, struct err *e)
{
	const struct front_turn *turn = turn_for(w, args);
	const char *file = container_of(w, args);
	bool force = false;
	size_t i, used = 1;

	front_plan_stage(p, STEP_SOURCE, turn ? turn->tool : w->tool);
	front_plan_add(p, turn ? NULL : w->adds);
	for (i = 0; args[i]; i += used) {
		if (file && output_at(args, i, &used) == file)
			continue;
		used = 1;
		if (strcmp(args[i], "--show") == 0)
			p->show = true;
		else if (file && is_force(args[i]))
			force = true;
		else
			add_renamed(p, w, args[i]);
	}
	if (file) {
		front_plan_stage(p, STEP_PACK, "apr-pack");
		front_plan_add(p, force ? "-f" : NULL);
		front_plan_add(p, "-o");
		front_plan_operand(p, file);
	}
	return front_plan_end(p, e);
}

int
front_plan_make(struct front_plan *p, const struct front_word *w, char **args, struct err *e)
{
	struct front_line l;

	*p = (struct front_plan){ .n = 0 };
	if (!w->plan)
		return plan_tool(p, w, args, e);
	if (front_line_read(&l, w, args, e) < 0)
		return -1;
	p->show = l.slot[SLOT_SHOW];
	p->progress = l.slot[SLOT_PROGRESS];
	return w->plan & (FRONT_IS_VALIDATE | FRONT_IS_QA) ? front_judge(p, &l, e)
	                                                   : front_flow(p, &l, e);
}

/* ---- as text ---- */

/* Characters that sh takes as they are, in any place of a word. */
static bool
is_plain(const char *s)
{
	return *s && s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	                         "_@%+:,./=-")] == '\0' && *s != '=';
}

static void
show_word(struct buf *b, const char *s)
{
	if (is_plain(s)) {
		buf_text(b, s);
		return;
	}
	buf_text(b, "'");
	for (; *s; s++)
		if (*s == '\'')
			buf_text(b, "'\\''");
		else
			buf_put(b, s, 1);
	buf_text(b, "'");
}

void
front_plan_show(struct buf *b, const struct front_plan *p)
{
	size_t i, k;

	for (i = 0; i < p->n; i++) {
		if (i > 0)
			buf_text(b, " |\n  ");
		for (k = 0; k < p->stages[i].argc; k++) {
			if (k > 0)
				buf_text(b, " ");
			show_word(b, p->stages[i].argv[k]);
		}
	}
	buf_text(b, "\n");
}
