/* toml: a bounded reader of a subset of TOML 1.0, for files that people write by hand.
 *
 *     read      comments; bare, quoted and dotted keys; tables; basic and literal strings of
 *               one line, with all escapes; integers (decimal, hexadecimal, octal, binary);
 *               floats; booleans; arrays of these, on several lines too
 *     refused   by name, with line and column: strings of several lines, dates and times,
 *               inline tables, arrays of tables, arrays in arrays
 *
 * What TOML 1.0 forbids is refused as well: a key or a table that is defined twice, a table
 * that dotted keys have defined, leading zeros, numbers beyond 64 bits, control characters,
 * a carriage return without a line feed, and bytes that are not UTF-8. A byte order mark at
 * the beginning is ignored.
 *
 * Source of the rules: the specification of TOML 1.0.0.
 */
#ifndef WIRE_TOML_H
#define WIRE_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define TOML_BYTES (64u << 10) /* maximum size of a document */
#define TOML_KEYS 512          /* maximum number of keys and tables together */
#define TOML_DEPTH 8           /* maximum number of parts of a key, with those of its table */
#define TOML_PATH 256          /* maximum length of a path, with its NUL */
#define TOML_ITEMS 1024        /* maximum number of items of an array */

enum toml_type { TOML_TEXT, TOML_INTEGER, TOML_FLOAT, TOML_BOOLEAN, TOML_ARRAY };

struct toml_value {
	enum toml_type type;
	char *text;               /* TOML_TEXT: n bytes and a NUL; the text may contain NULs */
	size_t n;                 /* of bytes, or of items */
	int64_t integer;
	double real;
	bool yes;
	struct toml_value *items; /* TOML_ARRAY */
};

/* A path is the parts of a key joined by dots, those of its table first. Parts that are not
 * bare are in double quotes, where a backslash stands before a quote and a backslash. */
struct toml_entry {
	char *path;
	size_t parent;      /* length of the path of the table; 0: no table */
	struct toml_value value;
	unsigned line;      /* from 1 */
	/* Offsets in the document: of the line; of the key and the last part of it; of the value
	 * and its end; of the end of the line, with its line break. */
	size_t line_at, key_at, last_at, value_at, value_end, line_end;
};

struct toml_table {     /* a [HEADER] */
	char *path;
	size_t line_end;    /* offset of the end of its line */
};

struct toml {
	struct toml_entry *entries; /* in the order of the document */
	size_t n, cap;
	struct toml_table *tables;
	size_t table_count, table_cap;
};

/* Parses n bytes. name: for messages, whose object is NAME:LINE:COLUMN; columns count
 * characters. Returns 0, or -1 with E002, or E008. Call toml_free even on failure. */
int toml_parse(struct toml *t, const char *name, const void *p, size_t n, struct err *e);
void toml_free(struct toml *t);

/* Returns the key with this path, or NULL. */
const struct toml_entry *toml_find(const struct toml *t, const char *path);

/* Editing. t: the parsed document of n bytes at p. The result goes to `to`; everything else in
 * the document keeps its bytes and its order.
 *
 * toml_set gives the key TABLE.NAME, both bare, a value, which is TOML already. A new key comes
 * after the last key of its table, or begins a new table at the end. -1 with ERR_NO if the
 * document has no place for the key, because dotted keys or a value have the name of the table.
 * toml_unset removes the lines of a key. */
int toml_set(const struct toml *t, const char *name, const void *p, size_t n, const char *table,
             const char *key, const char *value, struct buf *to, struct err *e);
void toml_unset(const struct toml_entry *x, const void *p, size_t n, struct buf *to);

/* Appends text as a basic string, in quotes. */
void toml_quote(struct buf *to, const char *text);

#endif
