/* config: the user's settings, for presentation and policy only. No setting changes a byte of
 * a model.
 *
 * The file is $APR_CONFIG; without it $XDG_CONFIG_HOME/apr/config.toml, or
 * ~/.config/apr/config.toml if that variable is empty or relative. It is TOML (wire/toml.h).
 * An option is stronger than a variable of the environment, that than the file, and the file
 * than what the tool does by itself. A file of the default name may be missing; any other file
 * that cannot be used ends the tool, because a setting such as require_signature must not be
 * lost silently.
 *
 * tool_begin (cli/tool.h) reads the file, before the tool enters its sandbox. It then sets the
 * variables of the keys that the file sets, unless the environment has them. So the rest of a
 * tool, and the tools that it starts, see only the environment. Options that a setting stands
 * for are set as if they were given (config_use).
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "wire/toml.h"

enum config_type {
	CONFIG_WORD,   /* a string: one of words */
	CONFIG_WHEN,   /* auto, always or never; true is auto, false is never */
	CONFIG_SWITCH, /* true or false */
	CONFIG_NUMBER, /* an integer in [low, high] */
	CONFIG_BYTES,  /* the same, or a string with a unit (core/text.h, text_bytes) */
	CONFIG_PATH    /* a string: an absolute path, or one that begins with ~/ */
};

/* The one table of keys. */
struct config_key {
	const char *table, *name;
	enum config_type type;
	const char *words;    /* CONFIG_WORD: "text|json" */
	uint64_t low, high;
	const char *standard; /* the value by default, or NULL if there is none */
	const char *variable; /* of the environment */
	const char *help;
};

#define CONFIG_KEYS 15

/* The keys by number, NULL after the last. */
const struct config_key *config_key(size_t i);

/* Returns the number of the key TABLE.NAME, or CONFIG_KEYS. */
size_t config_find(const char *name);

/* Sets the hint to the nearest name, if one is near. */
void config_near(const char *name, struct err *e);

/* A setting that stands for an option of a tool: the option is set as if it were given, unless
 * it or one of `unless` was given; if `with` is not NULL, one of these must be given; if
 * `operands` is not NULL, the first operand must be one of these. Lists are words with spaces
 * between them. */
struct config_use {
	const char *key;      /* TABLE.NAME */
	const char *tool;     /* NULL: every tool that has the option; "!NAME": all but one */
	const char *option;   /* long name */
	const char *on;       /* the value that sets it; NULL: each, as the option's value */
	const char *unless, *with, *operands;
};

const struct config_use *config_use(size_t i);

/* Writes the form of a value that the tools use into `to`: "auto" for true, an absolute path.
 * Returns 0; or -1 with ERR_USAGE, which names the key. */
int config_value(const struct config_key *k, const char *text, struct buf *to, struct err *e);

enum config_from { CONFIG_STANDARD, CONFIG_FILE, CONFIG_ENVIRONMENT };

/* The file and the environment together. */
struct config {
	char *path;            /* of the file; NULL: no home */
	bool named;            /* by APR_CONFIG */
	bool exists;
	struct buf text;       /* of the file */
	struct toml toml;
	struct config_item {
		char *value;   /* NULL if there is none */
		enum config_from from;
		unsigned line; /* in the file; 0: the file does not have the key */
	} items[CONFIG_KEYS];
};

/* config_place only finds the path. config_open reads file and environment as well. Both return
 * 0, or -1 with ERR_USAGE; ERR_MEMORY. Call config_close even on failure. */
int config_place(struct config *c, struct err *e);
int config_open(struct config *c, struct err *e);
void config_close(struct config *c);

/* Prints a note for each key of the file that does not exist. */
void config_warn(const struct config *c);

/* ---- for tool_begin ---- */

/* Opens the settings, and sets variables of the environment. */
int config_take(struct err *e);

/* Notes keys that do not exist, once in a process and those it starts. */
void config_warn_once(void);

/* Before tool_begin: the tool reads the settings itself, and works without them. */
void config_leave(void);

/* The value of a key, by its variable; NULL if there is none. */
const char *config_text(const char *variable);

#endif
