/* material: what of a model belongs to its tokenizer. Long values and side files
 * travel as blobs, which come before all tensors (model/flow.h); those that are wanted
 * are kept as they pass.
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

#define MATERIAL_BYTES ((size_t)1 << 30) /* of all that is kept, at most */

struct material {
	const struct model *plan; /* not owned; must outlive the material */
	struct buf *blob;         /* of each blob of the plan, as far as it is wanted */
	size_t bytes;             /* of all of them */
};

/* 0 or -1; material_free in any case. */
int material_open(struct material *m, const struct model *plan, struct err *e);
void material_free(struct material *m);

/* For a flow: is this blob wanted? Some bytes of it (others are ignored). */
bool material_wants(const struct material *m, size_t blob);
int material_add(struct material *m, size_t blob, const uint8_t *p, size_t n,
                 struct err *e);

/* For who pulls: read all blobs of a source, whose next item is then what comes after
 * them. The others are read over. */
int material_read(struct material *m, struct source *s, struct err *e);

/* The wire bytes (model/value.h) of a key, which must have the given type, wherever
 * they travelled: NULL where there is no such key, or with e filled where it has
 * another type. */
const uint8_t *material_value(const struct material *m, const char *key,
                              struct value_type type, size_t *n, struct err *e);

/* The bytes of a side file, or NULL. */
const uint8_t *material_file(const struct material *m, const char *name, size_t *n);

#endif
