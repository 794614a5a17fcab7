/* near: a tensor by its name, and what a name that there is not could have been. */
#ifndef CLI_NEAR_H
#define CLI_NEAR_H

#include "model/model.h"

/* The index of the tensor of this name. 0; or -1 with ERR_NO, and up to three
 * names that are like it as the hint. where: the file, for the message. */
int near_find(const struct model *m, const char *name, const char *where, size_t *index,
              struct err *e);

/* Let up to three words of a list that are like name be the hint of the fault in e, in place
 * of one that it has; e stays as it is where there are none. Case, and what joins the parts
 * of a word, count for nothing: q4km is q4_k_m. word: those of the list by index from 0, ""
 * for one to be passed over, NULL at the end; their text stays. */
void near_words(struct err *e, const char *name, const char *(*word)(unsigned index));

#endif
