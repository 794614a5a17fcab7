/* known: keys that have a meaning to these tools or to others: the types that GGUF defines for
 * them, and which of them an edit must leave alone.
 */
#ifndef CLI_META_KNOWN_H
#define CLI_META_KNOWN_H

#include <stdbool.h>

#include "core/err.h"
#include "model/value.h"

/* Whether GGUF defines the type of this key, or of keys with this ending. */
bool known_type(const char *key, struct value_type *t);

/* Refuses a key that belongs to a container and not to the model (ERR_USAGE). 0 or -1. */
int known_check(const char *key, struct err *e);

/* Whether the key describes the tensors that the model has, so that it is wrong in a model with
 * other tensors. */
bool known_of_tensors(const char *key);

/* The arrays of a vocabulary with one item per token; NULL after the last. */
const char *known_vocabulary(unsigned index);

#endif
