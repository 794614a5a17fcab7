/* toml_parts: what toml.c (keys, tables) and toml_value.c (characters, values) share. */
#ifndef WIRE_TOML_PARTS_H
#define WIRE_TOML_PARTS_H

#include "wire/toml.h"

/* What a path stands for. IMPLIED: only longer headers name it; DOTTED: dotted keys of one
 * section define it. */
enum toml_kind { TOML_IMPLIED, TOML_HEADED, TOML_DOTTED, TOML_VALUE };

struct toml_node {
	char *path;
	uint32_t hash;
	enum toml_kind kind;
	unsigned section, line;
};

/* A document while it is read. */
struct toml_in {
	const char *name, *begin, *p, *end;
	struct toml *t;
	struct err *e;
	struct toml_node *nodes;
	size_t node_count, node_cap;
	unsigned section;        /* number of headers so far */
	char table[TOML_PATH];   /* path of the current table */
	unsigned depth;          /* number of its parts */
};

/* Fills the error, with line and column of a place in the document. Returns -1. */
int toml_fail(struct toml_in *in, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
unsigned toml_line(const struct toml_in *in, const char *at);

/* The character this many bytes ahead; NUL after the end. */
char toml_peek(const struct toml_in *in, size_t ahead);
bool toml_bare(char c); /* allowed in a key without quotes */
void toml_blanks(struct toml_in *in);

/* Skips spaces, a comment and the line break, or fails. */
int toml_end_line(struct toml_in *in);

/* Reads a string in either kind of quotes; a value. */
int toml_string(struct toml_in *in, struct buf *b);
int toml_value(struct toml_in *in, struct toml_value *v);

#endif
