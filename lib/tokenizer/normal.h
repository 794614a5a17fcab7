/* normal: the steps that change a text before it is cut: normal forms, lower case, replacements, in
 * the order that the tokenizer was trained with. Bytes that are not UTF-8 stay unchanged, except by a
 * character map.
 */
#ifndef TOKENIZER_NORMAL_H
#define TOKENIZER_NORMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/pattern.h"
#include "tokenizer/charsmap.h"

enum normal_kind {
	NORMAL_NFC, NORMAL_NFD, NORMAL_NFKC, NORMAL_NFKD, /* in the order of enum unicode_form */
	NORMAL_LOWER,
	NORMAL_MARKS,     /* drop marks */
	NORMAL_ACCENTS,   /* drop accents, after NFD */
	NORMAL_CLEAN,     /* BERT's: drop control characters, turn white space into blanks */
	NORMAL_CJK,       /* put blanks around Chinese characters */
	NORMAL_REPLACE,   /* replace a text */
	NORMAL_REPLACE_PATTERN,
	NORMAL_PREPEND,   /* put a text in front, unless the text is empty */
	NORMAL_STRIP,     /* remove white space at the ends */
	NORMAL_MAP,       /* a precompiled character map (charsmap.h) */
	NORMAL_SPACES     /* SentencePiece's: spaces become U+2581 */
};

struct normal_step {
	enum normal_kind kind;
	bool left, right;  /* STRIP; SPACES: put one in front of a word that begins the text;
	                    * leave out those at the ends, and join those between words */
	char *from, *to;   /* terminated; owned */
	size_t from_bytes, to_bytes;
	struct pattern pattern;
	struct charsmap map;
};

struct normal {
	struct normal_step *step;
	size_t n, cap;
	uint32_t width;    /* of all patterns together */
};

/* Append a step. Texts are copied, and may be NULL. ERR_FORMAT: more than the limits
 * (STEPS_MOST and others, split.h). */
struct normal_step *normal_add(struct normal *s, enum normal_kind kind, const char *from,
                               const char *to, struct err *e);

/* Append NORMAL_MAP with a map of n bytes, which is copied; with no map if n is 0. ERR_CORRUPT: a
 * faulty map, which what names. */
int normal_add_map(struct normal *s, const void *p, size_t n, const char *what,
                   struct err *e);

/* Append NORMAL_SPACES. */
int normal_add_spaces(struct normal *s, bool prefix, bool merge, struct err *e);

void normal_free(struct normal *s);

/* Put n bytes of text, changed by all steps, in place of what `to` held. ERR_MEMORY: the work
 * limit is reached, or the text grows too much, which is noticed within a step. */
int normal_run(struct normal *s, const uint8_t *text, size_t n, struct buf *to,
               struct work *work, struct err *e);

#endif
