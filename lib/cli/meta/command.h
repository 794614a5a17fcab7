/* command: the words of apr-meta's command line: a command, its words, and FILE. */
#ifndef CLI_META_COMMAND_H
#define CLI_META_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/meta/edits.h"
#include "cli/tool.h"

struct meta_options {
	bool json, markdown, in_place;
	const char *from, *trusted;
	struct output_options output;
};

struct meta_command {
	struct meta_options o;
	struct edits edits;
	const char *name; /* of the command */
	char **words;     /* its words, without FILE */
	size_t count;
	const char *path; /* FILE, or NULL */

	/* One of them is NULL: prints something about an open model; collects the edits, before
	 * the sandbox, as far as they do not come from another model. */
	int (*show)(struct meta_command *t, struct source *s, struct err *e);
	int (*edit)(struct meta_command *t, struct err *e);
};

/* Takes the operands apart. The last one is FILE if --in-place is given, if it is "-", or if
 * only it can be: a word of set without "=", a word after the fixed number of words, or the name
 * of an existing file. 0, or -1 with ERR_USAGE. */
int command_parse(struct meta_command *t, char **operands, struct err *e);

#endif
