/* near: a tensor by its name, and "did you mean" for names that do not exist. */
#ifndef CLI_NEAR_H
#define CLI_NEAR_H

#include "model/model.h"

/* Finds the tensor with this name. Returns 0; or -1 with ERR_NO and up to three similar
 * names as the hint. where: the file, for the message. */
int near_find(const struct model *m, const char *name, const char *where, size_t *index,
              struct err *e);

/* Replaces the hint in e by up to three words of a list that are similar to name, if
 * there are any. Case and separators are ignored: q4km is q4_k_m. word: returns the words
 * of the list by index from 0, "" for one to skip, NULL at the end; their text is
 * static. */
void near_words(struct err *e, const char *name, const char *(*word)(unsigned index));

#endif
