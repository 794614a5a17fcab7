/* tensor: a descriptor whose numbers have been proved.
 *
 * The structure is opaque: only tensor_new builds one, after it has shown that
 * the name is text, that there are at most 8 dimensions, that the values fill
 * whole blocks along the last dimension, and that neither their number nor
 * their size overflows. Everything downstream takes descriptors, never the raw
 * numbers of a header.
 */
#ifndef MODEL_TENSOR_H
#define MODEL_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/dtype.h"

#define TENSOR_DIMS 8
#define TENSOR_NAME 65535 /* bytes of a name: APR2 stores its length in 16 bits */

struct tensor;

/* dims: outermost first (PyTorch order), 0 to 8 of them; a dimension may be 0.
 * bytes: the size where the type's own is unknown (GGML_n), 0 where a dimension
 * is 0 and only there; otherwise it must be TENSOR_OWN_SIZE or the size that
 * dtype and dims give.
 * where names the file in faults. Returns NULL with e filled: ERR_CORRUPT, or
 * ERR_FORMAT for more than 8 dimensions. The caller frees it. */
#define TENSOR_OWN_SIZE UINT64_MAX
struct tensor *tensor_new(const char *name, size_t name_bytes, const struct dtype *type,
                          unsigned ndim, const uint64_t *dims, uint64_t bytes,
                          const char *where, struct err *e);
struct tensor *tensor_copy(const struct tensor *t);
void tensor_free(struct tensor *t);

/* Have both the same name, type, shape and size? */
bool tensor_same(const struct tensor *a, const struct tensor *b);

/* The same tensor in another type. NULL with ERR_INVALID if rows do not fill
 * whole blocks of it. */
struct tensor *tensor_retype(const struct tensor *t, const struct dtype *type,
                             struct err *e);

const char *tensor_name(const struct tensor *t); /* UTF-8, no NUL inside */
const struct dtype *tensor_type(const struct tensor *t);
unsigned tensor_ndim(const struct tensor *t);
const uint64_t *tensor_dims(const struct tensor *t); /* outermost first */
uint64_t tensor_items(const struct tensor *t); /* values: 1 for a scalar */
uint64_t tensor_row(const struct tensor *t);   /* values along the last dimension */
uint64_t tensor_bytes(const struct tensor *t);

/* For people: "1024x256", outermost first, or "scalar". Returns dst. */
#define TENSOR_SHAPE_TEXT 192
char *tensor_shape_text(const struct tensor *t, char dst[TENSOR_SHAPE_TEXT]);

#endif
