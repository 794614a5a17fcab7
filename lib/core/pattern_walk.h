/* pattern_walk: the state of pattern_translate, and the parts that read characters and
 * classes. Only pattern_syntax.c and pattern_class.c include it.
 */
#ifndef CORE_PATTERN_WALK_H
#define CORE_PATTERN_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/pattern_syntax.h"

/* An escape that stands for a class, which has been written already. */
#define NO_CHARACTER UINT32_MAX

/* The callouts to write before the next item. */
enum due { DUE_NOTHING, DUE_MARK, DUE_RUN };

/* What a repeat would apply to. */
enum item { ITEM_NONE, ITEM_CHARACTER, ITEM_GROUP };

/* An open group, or the whole pattern. Offsets are into the output unless stated. */
struct pattern_level {
	size_t place;       /* offset of its parenthesis in the pattern */
	bool looks;         /* lookahead or lookbehind */
	bool ways;          /* has alternatives */
	bool free;          /* the current alternative has an optional part that no callout */
	                    /* follows */
	uint32_t width;     /* characters compared so far */
	size_t body;        /* offset of its first item */
	enum due due;
	enum item last;     /* kind of the last item, */
	size_t item;        /* its offset, */
	size_t item_body;   /* for a group the offset of its first item, */
	uint32_t item_width; /* and its width */
};

struct pattern_walk {
	const char *text;    /* the pattern, its length, and the next byte to read */
	size_t n, i;
	enum err_code code;  /* of an error in the pattern */
	struct buf *to;
	struct err *e;
	struct pattern_level level[PATTERN_DEEPEST + 1];
	unsigned depth;
};

/* Sets an error about the character at offset `at`. Returns -1. */
__attribute__((format(printf, 4, 5))) int
pattern_fault(struct pattern_walk *w, enum err_code code, size_t at, const char *fmt, ...);

/* The same for n bytes at offset `at` that are outside the supported syntax. */
int pattern_refuse(struct pattern_walk *w, size_t at, size_t n);

/* Appends a character, escaped where PCRE2 needs it. */
void pattern_put(struct buf *b, uint32_t c);

/* Whether the text continues with s. */
bool pattern_is_at(const struct pattern_walk *w, const char *s);

/* Reads one character of UTF-8. */
int pattern_character(struct pattern_walk *w, uint32_t *c);

/* Reads an escape, starting at its backslash: a character, or NO_CHARACTER for a
 * class. */
int pattern_escape(struct pattern_walk *w, uint32_t *c);

/* Reads and writes a class, starting at its bracket. Nested classes, which add to it, are
 * written as part of it. */
int pattern_class(struct pattern_walk *w);

#endif
