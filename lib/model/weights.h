/* weights: a model in memory: its plan, pointers to the plain bytes of each tensor, and
 * the side files and long values. The code that fills the structure owns the bytes
 * (load/load.h).
 */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

struct weights {
	const char *name;         /* file, for messages */
	struct model *plan;
	const uint8_t **tensors;  /* one per tensor of the plan: tensor_bytes, not aligned */
	struct weights_blob {
		const uint8_t *p; /* NULL: not kept */
		size_t n;
	} *blobs;                 /* one per blob of the plan */
	/* Give back the memory of the n bytes at p, which lie in a tensor and will not be
	 * read again. NULL: not possible. */
	void (*release)(const struct weights *w, const uint8_t *p, size_t n);
};

/* The wire bytes of a key's value (model/value.h), from the plan or a blob; *type is the
 * type, *n the number of bytes. NULL if the key does not exist or its value was not kept. */
const uint8_t *weights_value(const struct weights *w, const char *key,
                             struct value_type *type, size_t *n);

/* The same for a key of the plan: for walks over all keys. */
const uint8_t *weights_meta(const struct weights *w, const struct meta *k,
                            struct value_type *type, size_t *n);

/* The bytes of the side file with this name ("tokenizer.json"), or NULL. */
const uint8_t *weights_file(const struct weights *w, const char *name, size_t *n);

#endif
