/* near: a tensor or key by its name, and "did you mean" if it does not exist. */
#ifndef CLI_NEAR_H
#define CLI_NEAR_H

#include "model/model.h"

/* Finds the tensor with this name. Returns 0; or -1 with ERR_NO and up to three similar
 * names as the hint. where: the file, for the message. */
int near_find(const struct model *m, const char *name, const char *where, size_t *index,
              struct err *e);

/* Reports that a model has no such key: ERR_NO, with similar keys as the hint. Returns -1. */
int near_no_key(const struct model *m, const char *key, const char *where, struct err *e);

#endif
