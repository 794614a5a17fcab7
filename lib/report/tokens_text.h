/* tokens_text: tokens as text and as JSON. */
#ifndef REPORT_TOKENS_TEXT_H
#define REPORT_TOKENS_TEXT_H

#include "core/buf.h"
#include "tokenizer/tokenizer.h"

enum tokens_form {
	TOKENS_IDS,    /* all of them on a line */
	TOKENS_PIECES, /* a line each: id, text, escaped */
	TOKENS_JSON,   /* an object each: id, control, and text or (where it is none) bytes */
	TOKENS_COUNT   /* how many there are */
};

/* Append the tokens to a text. */
void tokens_put(struct buf *to, const struct tokenizer *t, const struct tokens *list,
                enum tokens_form form);

#endif
