/* near: a tensor by its name, and what the name could have been. */
#ifndef TOOL_NEAR_H
#define TOOL_NEAR_H

#include "model/model.h"

/* The index of the tensor of this name. 0; or -1 with ERR_NO, and up to three
 * names that are like it as the hint. where: the file, for the message. */
int near_find(const struct model *m, const char *name, const char *where, size_t *index,
              struct err *e);

#endif
