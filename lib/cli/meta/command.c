#include "cli/meta/command.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/meta/listing.h"
#include "cli/meta/show_card.h"
#include "core/near.h"

static int
list(struct meta_command *t, struct source *s, struct err *e)
{
	return listing_all(s, t->o.json, t->o.trusted, e);
}

static int
get(struct meta_command *t, struct source *s, struct err *e)
{
	return listing_one(s, t->words[0], t->o.json, t->o.trusted, e);
}

static int
card(struct meta_command *t, struct source *s, struct err *e)
{
	enum card_form form = t->o.json ? CARD_JSON : t->o.markdown ? CARD_MARKDOWN : CARD_TEXT;

	return show_card(s, form, t->o.trusted, e);
}

static int
set(struct meta_command *t, struct err *e)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (edits_set(&t->edits, t->words[i], e) < 0)
			return -1;
	return 0;
}

static int
delete(struct meta_command *t, struct err *e)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (edits_delete(&t->edits, t->words[i], e) < 0)
			return -1;
	return 0;
}

static int
rename_key(struct meta_command *t, struct err *e)
{
	return edits_rename(&t->edits, t->words[0], t->words[1], e);
}

static int
copy(struct meta_command *t, struct err *e)
{
	if (!t->o.from)
		return tool_misused(e, "copy needs --from FILE");
	return 0; /* read later: it is a model */
}

static int
import(struct meta_command *t, struct err *e)
{
	return edits_load(&t->edits, t->words[0], e);
}

struct command {
	const char *name;
	size_t least, most; /* number of words */
	const char *words;  /* their names, for messages */
	int (*show)(struct meta_command *t, struct source *s, struct err *e);
	int (*edit)(struct meta_command *t, struct err *e);
};

static const struct command commands[] = {
	{ "list", 0, 0, "", list, NULL },
	{ "get", 1, 1, "KEY", get, NULL },
	{ "set", 1, SIZE_MAX, "KEY[:TYPE]=VALUE", NULL, set },
	{ "delete", 1, SIZE_MAX, "KEY", NULL, delete },
	{ "rename", 2, 2, "OLD NEW", NULL, rename_key },
	{ "copy", 0, SIZE_MAX, "", NULL, copy },
	{ "card", 0, 0, "", card, NULL },
	{ "import", 1, 1, "FILE.json", NULL, import },
};
#define COMMANDS (sizeof commands / sizeof *commands)

static const char *
command_word(unsigned i)
{
	return i < COMMANDS ? commands[i].name : NULL;
}

static const struct command *
find_command(const char *name, struct err *e)
{
	size_t i;

	for (i = 0; name && i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	if (!name)
		tool_misused(e, "COMMAND is missing: list, get, set, delete, rename, copy, import or card");
	else
		tool_misused(e, "unknown command %.40s", name);
	if (name)
		near_words(e, name, command_word);
	return NULL;
}

/* ---- operands ---- */

/* Whether the last of several words is FILE: it must be one with --in-place; otherwise a word
 * of set is not FILE if it has a "=", and another word is FILE if there is such a file. */
static bool
is_file(const struct meta_command *t, const struct command *c, const char *word)
{
	struct stat st;

	if (t->o.in_place || strcmp(word, "-") == 0)
		return true;
	return c->edit == set ? !strchr(word, '=') : stat(word, &st) == 0;
}

static int
split_operands(struct meta_command *t, const struct command *c, char **words, struct err *e)
{
	size_t n = 0;

	while (words[n])
		n++;
	if (n > c->least && (c->most != SIZE_MAX || is_file(t, c, words[n - 1])))
		t->path = words[--n];
	if (n < c->least)
		return tool_misused(e, "%s needs %s", c->name, c->words);
	t->words = words;
	t->count = n;
	if (c->edit == set)
		for (n = 1; n < t->count; n++)
			if (!strchr(words[n], '='))
				return tool_misused(e, "one operand too many: %.80s", words[n]);
	return n > c->most ? tool_misused(e, "one operand too many: %.80s", words[c->most]) : 0;
}

/* Refuses options that belong to another command. */
static int
check_options(const struct meta_command *t, const struct command *c, struct err *e)
{
	bool copies = c->edit == copy, shows = c->show != NULL;

	if (t->o.from && !copies)
		return tool_misused(e, "--from needs the command copy");
	if (t->o.json && !shows)
		return tool_misused(e, "--json needs list, get or card");
	if (t->o.markdown && (c->show != card || t->o.json))
		return tool_misused(e, "--markdown needs the command card, without --json");
	if (shows && (t->o.output.path || t->o.output.force || t->o.output.progress))
		return tool_misused(e, "%s prints text: it has no -o, -f or --progress", c->name);
	if (shows && t->o.in_place)
		return tool_misused(e, "--in-place: %s changes nothing", c->name);
	if (t->o.in_place && (t->o.output.path || t->o.trusted || t->o.output.progress))
		return tool_misused(e, "--in-place cannot be combined with -o, --progress or "
		                    "--trusted-key");
	if (t->o.in_place && (!t->path || strcmp(t->path, "-") == 0))
		return tool_misused(e, "--in-place needs FILE");
	return 0;
}

int
command_parse(struct meta_command *t, char **operands, struct err *e)
{
	const struct command *c = find_command(operands[0], e);

	if (!c || split_operands(t, c, operands + 1, e) < 0)
		return -1;
	t->name = c->name;
	t->show = c->show;
	t->edit = c->edit;
	return check_options(t, c, e);
}
