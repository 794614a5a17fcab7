/* split: a text cut into words before they become tokens, step by step, as the
 * tokenizer was trained with: each step cuts the pieces that the one before left. No
 * token reaches over a cut.
 */
#ifndef TOKENIZER_SPLIT_H
#define TOKENIZER_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/pattern.h"

/* What becomes of a match of the pattern, and of what lies between matches. */
enum split_behavior {
	SPLIT_ISOLATED,   /* each is a piece */
	SPLIT_REMOVED,    /* matches are dropped */
	SPLIT_WITH_PREVIOUS, SPLIT_WITH_NEXT, /* a match belongs to the piece before, after */
	SPLIT_CONTIGUOUS  /* matches that touch are one piece */
};

enum step_kind {
	STEP_PATTERN,     /* cut by a pattern */
	STEP_LITERAL,     /* cut by a text */
	STEP_THREES,      /* digits in threes, counted from the end of each run of them */
	STEP_BLANK_FIRST, /* a blank in front, if there is none */
	STEP_METASPACE,   /* blanks become U+2581, one in front */
	STEP_CUT_BLANKS,  /* cut before each U+2581 */
	STEP_CUT_WORDS    /* cut before each U+2581 that follows something else */
};

enum step_first { FIRST_ALWAYS, FIRST_OF_TEXT, FIRST_NEVER };

struct step {
	enum step_kind kind;
	enum split_behavior behavior;
	bool invert;            /* what lies between matches counts as one */
	enum step_first first;  /* STEP_METASPACE: where one is put in front; */
	bool twice;             /* also where the text begins with one */
	char *text;             /* the pattern, or the text; owned */
	size_t length;          /* of the text */
	struct pattern pattern;
};

struct split {
	struct step *step;
	size_t n, cap;
	uint32_t width;         /* of all patterns */
};

/* A tokenizer has at most so many steps before its words are looked up, as many for its
 * normalizer; their patterns together are not wider (core/pattern_syntax.h), and their
 * texts, each, not longer. */
#define STEPS_MOST 128
#define STEPS_WIDEST 16384
#define STEPS_LONGEST 8192

struct piece {
	uint32_t from, to;
	bool raw;               /* not UTF-8: left alone */
};

/* A text in pieces. */
struct pieces {
	struct buf text;
	struct piece *p;
	size_t n, cap;
};

/* Append a step; text is copied. code: of the fault of a wrong pattern. ERR_FORMAT: more
 * than is read. */
struct step *split_add(struct split *s, enum step_kind kind, const char *text,
                       enum err_code code, struct err *e);
void split_free(struct split *s);

/* Begin with n bytes as one piece, or several where some are not UTF-8. */
int pieces_begin(struct pieces *p, const uint8_t *text, size_t n, struct err *e);
void pieces_free(struct pieces *p);

/* Cut. first: the text is the beginning of all. ERR_MEMORY: more work than is left. */
int split_run(struct split *s, struct pieces *p, bool first, struct work *work,
              struct err *e);

/* The fault of a text that grows too much. -1. */
int split_grown(struct err *e);

#endif
