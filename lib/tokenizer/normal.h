/* normal: what is done to a text before it is cut: normal forms, lower case,
 * replacements. Step by step, as the tokenizer was trained with. Bytes that are no UTF-8
 * stay as they are.
 */
#ifndef TOKENIZER_NORMAL_H
#define TOKENIZER_NORMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/pattern.h"

enum normal_kind {
	NORMAL_NFC, NORMAL_NFD, NORMAL_NFKC, NORMAL_NFKD, /* as enum unicode_form */
	NORMAL_LOWER,
	NORMAL_MARKS,     /* drop marks */
	NORMAL_ACCENTS,   /* drop accents, after NFD */
	NORMAL_CLEAN,     /* BERT's: drop what is no text, white space becomes a blank; */
	NORMAL_CJK,       /* blanks around Chinese characters */
	NORMAL_REPLACE,   /* a text */
	NORMAL_REPLACE_PATTERN,
	NORMAL_PREPEND,   /* put a text in front, where there is any */
	NORMAL_STRIP      /* white space at the ends */
};

struct normal_step {
	enum normal_kind kind;
	bool left, right;  /* STRIP */
	char *from, *to;   /* terminated; owned */
	size_t from_bytes, to_bytes;
	struct pattern pattern;
};

struct normal {
	struct normal_step *step;
	size_t n, cap;
	uint32_t width;    /* of all patterns */
};

/* Append a step; texts are copied, and may be NULL. ERR_FORMAT: more than is read
 * (split.h: STEPS_MOST and the others). */
struct normal_step *normal_add(struct normal *s, enum normal_kind kind, const char *from,
                               const char *to, struct err *e);
void normal_free(struct normal *s);

/* n bytes of text, as they are after all steps, in place of what to held. ERR_MEMORY:
 * more work than is left, or a text that grows more, which is noticed within a step. */
int normal_run(struct normal *s, const uint8_t *text, size_t n, struct buf *to,
               struct work *work, struct err *e);

#endif
