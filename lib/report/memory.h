/* memory: the memory that a model takes when it runs. */
#ifndef REPORT_MEMORY_H
#define REPORT_MEMORY_H

#include "core/json.h"
#include "model/flow.h"

/* Adds to the object o, which facts_add has filled: context, the bytes of the cache of keys and
 * values of one text of that many positions (F16, as apr-run keeps it by default, and its other
 * types), and memory_bytes, tensors and the F16 cache together. context 0: that of the model.
 * Reads the side files of the source, at its first item. 0, or -1 with e filled: ERR_FORMAT if
 * the architecture has no such cache here. */
int memory_add(json_t *o, struct source *s, uint64_t context, struct err *e);

/* Adds type (that of most bytes), block_values, block_bytes, bits_per_weight and original: the
 * types before quantizing, as apr-quant records them, or null. 0, or -1 with E008. */
int memory_types(json_t *o, const struct model *m, struct err *e);

#endif
