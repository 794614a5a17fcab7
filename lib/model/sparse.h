/* sparse: the form in which a tensor is stored without its zeros (wire/sparse.h has its bytes).
 *
 * A form is a way to store a tensor, as a compression is: name, type, shape, values and digests
 * are those of the dense tensor. So tools that do not care about it see only dense tensors.
 */
#ifndef MODEL_SPARSE_H
#define MODEL_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "model/dtype.h"

enum sparse_kind { SPARSE_NONE, SPARSE_CSR, SPARSE_BITMAP, SPARSE_BLOCK };

struct sparse_form {
	uint8_t kind;   /* enum sparse_kind; SPARSE_NONE: dense */
	uint16_t block; /* SPARSE_BLOCK: values of a block, a power of two from 2 to
	                 * SPARSE_BLOCK_MAX; else 0 */
};

#define SPARSE_BLOCK_MAX 1024

/* Whether the numbers are a form, dense included. */
bool sparse_form_valid(struct sparse_form f);

/* Whether tensors of this type can have a form: each value has 1, 2, 4 or 8 bytes of its own. */
bool sparse_form_fits(const struct dtype *t);

static inline bool
sparse_form_same(struct sparse_form a, struct sparse_form b)
{
	return a.kind == b.kind && a.block == b.block;
}

/* "csr", "bitmap", "block:4", "dense"; returns dst. The other direction: ERR_USAGE for anything
 * else. */
#define SPARSE_FORM_TEXT 16
char *sparse_form_text(struct sparse_form f, char dst[SPARSE_FORM_TEXT]);
int sparse_form_parse(const char *text, struct sparse_form *f, struct err *e);

#endif
