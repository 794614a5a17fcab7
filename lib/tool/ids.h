/* ids: a list of token numbers, as a person writes it. */
#ifndef TOOL_IDS_H
#define TOOL_IDS_H

#include "tokenizer/tokenizer.h"

/* ID,ID,… with blanks between. ERR_USAGE where that is no number, or there is none. */
int ids_parse(struct tokens *t, const char *text, struct err *e);

#endif
