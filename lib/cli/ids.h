/* ids: a list of token ids on a command line. */
#ifndef CLI_IDS_H
#define CLI_IDS_H

#include "tokenizer/tokenizer.h"

/* Appends the ids in text, which are separated by commas, spaces or newlines, with or
 * without brackets. The list may be empty. ERR_USAGE if a word is not a number. */
int ids_parse(struct tokens *t, const char *text, struct err *e);

#endif
