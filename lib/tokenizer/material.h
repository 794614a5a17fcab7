/* material: the parts of a model that its tokenizer needs. Long values and side files are blobs,
 * which come before all tensors (model/flow.h); those that are needed are kept as they pass.
 */
#ifndef TOKENIZER_MATERIAL_H
#define TOKENIZER_MATERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "model/flow.h"
#include "model/model.h"

#define MATERIAL_BYTES ((size_t)1 << 30) /* the most bytes that are kept */

struct material {
	const struct model *plan; /* not owned; must outlive the material */
	struct buf *blob;         /* for each blob of the plan: its bytes if it is needed */
	size_t bytes;             /* of all blobs */
};

/* 0 or -1; material_free is due in any case. */
int material_open(struct material *m, const struct model *plan, struct err *e);
void material_free(struct material *m);

/* For a flow that pushes: whether a blob is needed, and some bytes of a blob (ignored if it
 * is not). */
bool material_wants(const struct material *m, size_t blob);
int material_add(struct material *m, size_t blob, const uint8_t *p, size_t n,
                 struct err *e);

/* For a source that is pulled: read all blobs; the next item is the one after them. Blobs
 * that are not needed are skipped. */
int material_read(struct material *m, struct source *s, struct err *e);

/* The wire bytes (model/value.h) of a key, which must have the given type, from the plan or a
 * blob. NULL if such a key does not exist, or with e filled if it has another type. */
const uint8_t *material_value(const struct material *m, const char *key,
                              struct value_type type, size_t *n, struct err *e);

/* The bytes of a side file, or NULL. */
const uint8_t *material_file(const struct material *m, const char *name, size_t *n);

#endif
