/* tokens_text: tokens, told to a person or a program. */
#ifndef REPORT_TOKENS_TEXT_H
#define REPORT_TOKENS_TEXT_H

#include "tokenizer/tokenizer.h"

enum tokens_form {
	TOKENS_IDS,    /* all of them on a line */
	TOKENS_PIECES, /* a line each: id, text, escaped */
	TOKENS_JSON,   /* an object each: id, control, and text or (where it is none) bytes */
	TOKENS_COUNT   /* how many there are */
};

/* On standard output. 0, or -1 with E008. */
int tokens_print(const struct tokenizer *t, const struct tokens *list, enum tokens_form form,
                 struct err *e);

#endif
