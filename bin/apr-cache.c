/* apr-cache: what was fetched from hubs and registries, and how it is checked and removed */
#include <string.h>
#include <time.h>

#include "cli/cache/cache_text.h"
#include "cli/cache/cache_work.h"
#include "cli/tool.h"
#include "core/netbox.h"
#include "hub/cache.h"

#define NAMES 64

struct options {
	const char *older;
	bool dry, all, json;
};

enum command {
	INFO, LIST, VERIFY, CLEAR, COMMANDS
};
static const char *const commands[] = {
	[INFO] = "info", [LIST] = "list", [VERIFY] = "verify", [CLEAR] = "clear",
};

static int
find_command(const char *word, enum command *command, struct err *e)
{
	if (!word)
		return tool_misused(e, "a command is missing: info, list, verify or clear");
	for (*command = 0; *command < COMMANDS; (*command)++)
		if (strcmp(word, commands[*command]) == 0)
			return 0;
	return tool_misused(e, "unknown command %s: info, list, verify or clear", word);
}

static int
check_options(const struct options *o, enum command command, char **names, int64_t *age,
              struct err *e)
{
	if (command != CLEAR && (o->older || o->dry || o->all))
		return tool_misused(e, "%s is for clear", o->older ? "--older-than"
		                    : o->dry ? "--dry-run" : "--all");
	if (command == INFO && names[0])
		return tool_misused(e, "one operand too many: info takes no NAME");
	if (command == CLEAR && o->all && (names[0] || o->older))
		return tool_misused(e, "--all excludes NAME and --older-than");
	if (command == CLEAR && !o->all && !names[0] && !o->older)
		return tool_misused(e, "what to clear is missing: NAME, --older-than AGE, or --all");
	if (o->older && cache_age(o->older, age) < 0)
		return tool_misused(e, "--older-than %s: not a number with s, m, h, d or w", o->older);
	return 0;
}

/* Chooses what the names refer to, or everything. */
static int
choose(struct stock *s, char **names, struct err *e)
{
	if (!names[0])
		stock_choose(s, NULL);
	for (; names[0]; names++)
		if (stock_choose(s, names[0]) == 0) {
			err_set(e, ERR_IO, names[0], "is not in the cache");
			e->missing = 1;
			return -1;
		}
	return 0;
}

/* The caches are read, and changed only to be cleared. */
static void
enter(const struct cache_roots *roots, bool changes)
{
	void (*declare)(const char *path) = changes ? netbox_may_write : netbox_may_read;

	declare(roots->hub);
	declare(roots->apr);
	netbox_offline();
	netbox_enter();
}

static int
run(struct stock *s, const struct options *o, enum command command, struct err *e)
{
	struct buf report = { 0 };
	int done;

	if (command == VERIFY)
		return cache_verify(s, o->json, e);
	if (command == CLEAR)
		return cache_clear(s, o->dry, o->json, e);
	if (command == INFO)
		cache_put_info(&report, s, o->json);
	else
		cache_put_list(&report, s, o->json);
	done = tool_print(&report, e);
	buf_free(&report);
	return done;
}

static int
work(struct stock *s, const struct options *o, const struct cache_roots *roots,
     enum command command, int64_t age, char **names, struct err *e)
{
	if (stock_open(s, roots->hub, roots->apr, e) < 0 || choose(s, names, e) < 0)
		return -1;
	if (o->older)
		stock_choose_older(s, (int64_t)time(NULL) - age);
	return run(s, o, command, e);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		TEXT(0, "older-than", "AGE", &o.older,
		     "clear what was not used for AGE: 30d, 12h, 2w"),
		FLAG(0, "all", &o.all, "clear everything"),
		FLAG('n', "dry-run", &o.dry, "print what would be cleared, and remove nothing"),
		FLAG(0, "json", &o.json, "print one object per line"),
		OPT_END
	};
	static const struct tool tool = {
		"apr-cache", "info [--json]\n"
		"apr-cache list | verify [--json] [NAME ...]\n"
		"apr-cache clear [-n] [--json] [--older-than AGE] NAME ...\n"
		"apr-cache clear [-n] [--json] --all | --older-than AGE",
		"Show, check and clear the caches of fetched models.", opts, NAMES
	};
	struct stock s = { .hub.fd = -1, .apr.fd = -1 };
	static struct cache_roots roots;
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	enum command command = INFO;
	int64_t age = 0;

	if (find_command(operands[0], &command, &e) == 0 &&
	    check_options(&o, command, operands + 1, &age, &e) == 0 &&
	    cache_roots(&roots, &e) == 0) {
		enter(&roots, command == CLEAR && !o.dry);
		work(&s, &o, &roots, command, age, operands + 1, &e);
	}
	stock_free(&s);
	return tool_end(&e);
}
