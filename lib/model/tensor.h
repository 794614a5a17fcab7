/* tensor: a descriptor whose numbers have been proved.
 *
 * The structure is opaque: only tensor_new builds one, after it has proved that
 * - the name is text,
 * - there are at most 8 dimensions,
 * - the values fill whole blocks along the last dimension,
 * - neither their number nor their size overflows.
 * All other code takes descriptors, never the raw numbers of a header.
 */
#ifndef MODEL_TENSOR_H
#define MODEL_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/dtype.h"
#include "model/sparse.h"

#define TENSOR_DIMS 8
#define TENSOR_NAME 65535 /* bytes of a name: APR2 stores its length in 16 bits */

struct tensor;

/* dims: outermost first (PyTorch order), 0 to 8 of them; a dimension may be 0.
 * bytes: for a type of unknown size (GGML_n), the size of the tensor, which is 0 exactly
 * if a dimension is 0; for other types, TENSOR_OWN_SIZE or the size that type and dims
 * give.
 * where names the file in messages. The caller frees the result. On failure, returns NULL
 * with e filled: ERR_CORRUPT, or ERR_FORMAT for more than 8 dimensions. */
#define TENSOR_OWN_SIZE UINT64_MAX
struct tensor *tensor_new(const char *name, size_t name_bytes, const struct dtype *type,
                          unsigned ndim, const uint64_t *dims, uint64_t bytes,
                          const char *where, struct err *e);
struct tensor *tensor_copy(const struct tensor *t);
void tensor_free(struct tensor *t);

/* True if both have the same name, type, shape and size. */
bool tensor_same(const struct tensor *a, const struct tensor *b);

/* The same tensor with another type. NULL with ERR_INVALID if rows do not fill whole blocks
 * of that type. */
struct tensor *tensor_retype(const struct tensor *t, const struct dtype *type,
                             struct err *e);

/* The same tensor with another name, which has 1 to TENSOR_NAME bytes of UTF-8. NULL with
 * ERR_INVALID if it does not, or with E008. */
struct tensor *tensor_rename(const struct tensor *t, const char *name, struct err *e);

/* The form in which the tensor is to be stored if the format has it; SPARSE_NONE unless set.
 * Tensors without values, and those of types that cannot have a form, stay dense. A copy has the
 * form too; tensor_same ignores it. */
struct sparse_form tensor_form(const struct tensor *t);
void tensor_set_form(struct tensor *t, struct sparse_form f);

const char *tensor_name(const struct tensor *t); /* UTF-8, no NUL inside */
const struct dtype *tensor_type(const struct tensor *t);
unsigned tensor_ndim(const struct tensor *t);
const uint64_t *tensor_dims(const struct tensor *t); /* outermost first */
uint64_t tensor_items(const struct tensor *t); /* values: 1 for a scalar */
uint64_t tensor_row(const struct tensor *t);   /* values along the last dimension */
uint64_t tensor_bytes(const struct tensor *t);

/* The shape for display: "1024x256", outermost first, or "scalar". Returns dst. */
#define TENSOR_SHAPE_TEXT 192
char *tensor_shape_text(const struct tensor *t, char dst[TENSOR_SHAPE_TEXT]);

#endif
