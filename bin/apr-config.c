/* apr-config: shows and changes the user's settings */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/config/change.h"
#include "cli/tool.h"
#include "report/lines.h"

struct options {
	bool json;
};

static const char *const sources[] = { "default", "file", "environment" };

/* ---- looking ---- */

/* Returns the number of a key, or CONFIG_KEYS with e filled. */
static size_t
key_number(const char *name, struct err *e)
{
	size_t i = config_find(name);

	if (i < CONFIG_KEYS)
		return i;
	err_set(e, ERR_USAGE, name, "is not a key");
	config_near(name, e);
	err_hint(e, "apr-config list has all keys");
	return i;
}

static json_t *
key_json(const struct config *c, size_t i)
{
	const struct config_key *k = config_key(i);
	const struct config_item *x = &c->items[i];
	char name[64];
	json_t *o;

	snprintf(name, sizeof name, "%s.%s", k->table, k->name);
	o = json_pack("{s:s,s:s?,s:s,s:s?,s:s,s:s}", "key", name, "value", x->value, "from",
	              sources[x->from], "default", k->standard, "variable", k->variable, "about",
	              k->help);
	if (o && k->type == CONFIG_WORD)
		json_object_set_new(o, "values", json_string(k->words));
	else if (o && k->type == CONFIG_WHEN)
		json_object_set_new(o, "values", json_string("auto|always|never"));
	else if (o && k->type == CONFIG_SWITCH)
		json_object_set_new(o, "values", json_string("true|false"));
	if (o && x->line)
		json_object_set_new(o, "line", json_integer(x->line));
	return o;
}

static void
put_key(struct buf *b, const struct config *c, size_t i)
{
	const struct config_key *k = config_key(i);
	const struct config_item *x = &c->items[i];
	char name[64], from[64];

	snprintf(name, sizeof name, "%s.%s", k->table, k->name);
	if (x->from == CONFIG_FILE)
		snprintf(from, sizeof from, "line %u", x->line);
	else
		snprintf(from, sizeof from, "%s", x->from == CONFIG_ENVIRONMENT ? k->variable
		                                                                  : "default");
	buf_printf(b, "%-27s %-10s %-22s %s\n", name, x->value ? x->value : "-", from, k->help);
}

static int
list(const struct options *o, struct config *c, char **operands, struct err *e)
{
	struct buf b = { 0 };
	size_t i;
	int r;

	(void)operands;
	if (config_open(c, e) < 0)
		return -1;
	config_warn(c);
	for (i = 0; i < CONFIG_KEYS; i++)
		if (o->json)
			lines_json(&b, key_json(c, i));
		else
			put_key(&b, c, i);
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

static int
get(const struct options *o, struct config *c, char **operands, struct err *e)
{
	size_t i = key_number(operands[0], e);
	struct buf b = { 0 };
	int r;

	if (i == CONFIG_KEYS || config_open(c, e) < 0)
		return -1;
	if (o->json)
		lines_json(&b, key_json(c, i));
	else if (c->items[i].value)
		buf_printf(&b, "%s\n", c->items[i].value);
	else
		return err_set(e, ERR_NO, operands[0], "is not set, and has no default");
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

static int
path(const struct options *o, struct config *c, char **operands, struct err *e)
{
	struct buf b = { 0 };
	int r;

	(void)operands;
	if (config_place(c, e) < 0)
		return -1;
	if (!c->path)
		return err_set(e, ERR_NO, NULL, "neither APR_CONFIG, XDG_CONFIG_HOME nor HOME is set");
	if (o->json)
		lines_json(&b, json_pack("{s:s,s:b}", "path", c->path, "exists",
		                         access(c->path, F_OK) == 0));
	else
		buf_printf(&b, "%s\n", c->path);
	r = tool_print(&b, e);
	buf_free(&b);
	return r;
}

/* ---- changing ---- */

static int
set(const struct options *o, struct config *c, char **operands, struct err *e)
{
	size_t i = key_number(operands[0], e);

	(void)o;
	return i < CONFIG_KEYS ? change_set(c, i, operands[1], e) : -1;
}

static int
unset(const struct options *o, struct config *c, char **operands, struct err *e)
{
	(void)o;
	return key_number(operands[0], e) < CONFIG_KEYS ? change_unset(c, operands[0], e) : -1;
}

/* ---- the command line ---- */

static const struct command {
	const char *name, *needs;
	size_t operands;
	int (*run)(const struct options *o, struct config *c, char **operands, struct err *e);
	bool json;
} commands[] = {
	{ "list", "no operand", 0, list, true },
	{ "get", "KEY", 1, get, true },
	{ "set", "KEY and VALUE", 2, set, false },
	{ "unset", "KEY", 1, unset, false },
	{ "path", "no operand", 0, path, true },
};
#define COMMANDS (sizeof commands / sizeof *commands)

static int
run(const struct options *o, char **operands, struct config *c, struct err *e)
{
	static char first[] = "list";
	char *none[] = { first, NULL }, **words = operands[0] ? operands : none;
	size_t i, n = 0;

	while (words[n + 1])
		n++;
	for (i = 0; i < COMMANDS && strcmp(commands[i].name, words[0]) != 0; i++)
		;
	if (i == COMMANDS)
		return tool_misused(e, "%.40s is not list, get, set, unset or path", words[0]);
	if (n != commands[i].operands)
		return tool_misused(e, "%s takes %s", words[0], commands[i].needs);
	if (o->json && !commands[i].json)
		return tool_misused(e, "%s prints nothing: it takes no --json", words[0]);
	return commands[i].run(o, c, words + 1, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		FLAG(0, "json", &o.json, "list, get, path: print one object per line"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-config", "[--json] [list | get KEY | set KEY VALUE | unset KEY | path]",
		"Show and change the settings of the apr tools.", opts, 3
	};
	struct config c = { .path = NULL };
	struct err e = ERR_INIT;
	char **operands;

	config_leave();
	operands = tool_begin(&tool, argc, argv);
	run(&o, operands, &c, &e);
	config_close(&c);
	return tool_end(&e);
}
