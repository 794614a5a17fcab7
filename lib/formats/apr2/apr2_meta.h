/* apr2_meta: shared by the writer (apr2_meta.c) and the reader (apr2_meta_read.c) of the
 * metadata.
 */
#ifndef FORMATS_APR2_META_H
#define FORMATS_APR2_META_H

#include "formats/apr2/apr2.h"

#define APR2_OWN "apr_stream" /* the member that holds the plan */
#define APR2_TYPES "types"    /* its member: names of types (apr2_types.c) */

/* Members that follow from the plan. The first three are required. */
#define APR2_REQUIRED 3
extern const char *const apr2_derived[APR2_DERIVED];

/* Put the derived members after a brace or a member. taken: true for each whose name a key
 * that is a member already has; it is left out. m: the whole model. */
void apr2_put_derived(struct buf *b, const struct model *m,
                      const bool taken[APR2_DERIVED]);

/* Put the derived member quantization, if there are block types: the type of most values, and
 * the bits per weight, of all tensors or, as in files of version 0.1.0, of those in blocks
 * alone. */
void apr2_put_quantization(struct buf *b, const struct model *m, bool blocks_alone);

/* Record that the value of a blob is in the text: n bytes from at on. 0 or -1. */
int apr2_add_span(struct apr2_meta *meta, size_t blob, uint64_t at, uint64_t n,
                  struct err *e);

#endif
