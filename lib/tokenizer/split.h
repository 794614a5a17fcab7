/* split: cuts a text into words before they become tokens, step by step, as the tokenizer was trained
 * with: each step cuts the pieces that the step before left. No token crosses a cut.
 */
#ifndef TOKENIZER_SPLIT_H
#define TOKENIZER_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/pattern.h"

/* The treatment of matches of a pattern, and of the text between them. */
enum split_behavior {
	SPLIT_ISOLATED,   /* a match is a piece, so is the text between matches */
	SPLIT_REMOVED,    /* matches are dropped */
	SPLIT_WITH_PREVIOUS, SPLIT_WITH_NEXT, /* a match belongs to the piece before, or after */
	SPLIT_CONTIGUOUS  /* adjacent matches are one piece */
};

enum step_kind {
	STEP_PATTERN,     /* cut by a pattern */
	STEP_LITERAL,     /* cut by a text */
	STEP_THREES,      /* cut runs of digits into threes, counted from the end */
	STEP_BLANK_FIRST, /* put a blank in front, if there is none */
	STEP_METASPACE,   /* turn blanks into U+2581, and put one in front */
	STEP_CUT_BLANKS,  /* cut before each U+2581 */
	STEP_CUT_WORDS    /* cut before each U+2581 that follows another character */
};

enum step_first { FIRST_ALWAYS, FIRST_OF_TEXT, FIRST_NEVER };

struct step {
	enum step_kind kind;
	enum split_behavior behavior;
	bool invert;            /* the text between matches counts as a match */
	enum step_first first;  /* STEP_METASPACE: where to put one in front, */
	bool twice;             /* also if the text begins with one */
	char *text;             /* the pattern, or the text; owned */
	size_t length;          /* of the text */
	struct pattern pattern;
};

struct split {
	struct step *step;
	size_t n, cap;
	uint32_t width;         /* of all patterns together */
};

/* The limits of a tokenizer: the steps of splitting, and of normalizing; the width of all
 * patterns together (core/pattern_syntax.h); the bytes of a text of a step. */
#define STEPS_MOST 128
#define STEPS_WIDEST 16384
#define STEPS_LONGEST 8192

struct piece {
	uint32_t from, to;
	bool raw;               /* not UTF-8: left unchanged */
};

/* A text in pieces. */
struct pieces {
	struct buf text;
	struct piece *p;
	size_t n, cap;
};

/* Append a step; text is copied. code: for the fault of a wrong pattern. ERR_FORMAT: more
 * than the limits. */
struct step *split_add(struct split *s, enum step_kind kind, const char *text,
                       enum err_code code, struct err *e);
void split_free(struct split *s);

/* Begin with n bytes as one piece, or several if some are not UTF-8. */
int pieces_begin(struct pieces *p, const uint8_t *text, size_t n, struct err *e);
void pieces_free(struct pieces *p);

/* Cut. first: whether the text is the beginning of the whole text. ERR_MEMORY: the work limit
 * is reached. */
int split_run(struct split *s, struct pieces *p, bool first, struct work *work,
              struct err *e);

/* The fault of a text that grows too much. -1. */
int split_grown(struct err *e);

#endif
