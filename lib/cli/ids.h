/* ids: a list of token numbers, as a person writes it. */
#ifndef CLI_IDS_H
#define CLI_IDS_H

#include "tokenizer/tokenizer.h"

/* Append ID,ID,… with blanks, newlines or commas between, and brackets around them: there
 * may be none. ERR_USAGE where something is no number. */
int ids_parse(struct tokens *t, const char *text, struct err *e);

#endif
