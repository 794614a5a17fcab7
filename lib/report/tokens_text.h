/* tokens_text: tokens as text and as JSON. */
#ifndef REPORT_TOKENS_TEXT_H
#define REPORT_TOKENS_TEXT_H

#include "core/buf.h"
#include "tokenizer/tokenizer.h"

enum tokens_form {
	TOKENS_IDS,    /* all ids on one line */
	TOKENS_PIECES, /* one line per token: id and escaped text */
	TOKENS_JSON,   /* one object per token: id, control, and text or bytes */
	TOKENS_COUNT   /* their number */
};

/* Appends the tokens to a text. */
void tokens_put(struct buf *to, const struct tokenizer *t, const struct tokens *list,
                enum tokens_form form);

#endif
