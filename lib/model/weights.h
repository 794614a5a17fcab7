/* weights: a model whose bytes lie in memory: its plan, where each tensor's plain
 * bytes are, and what travels beside them. Whoever fills it owns the bytes
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
	const uint8_t **tensors;  /* of each of the plan: tensor_bytes of it, not aligned */
	struct weights_blob {
		const uint8_t *p; /* NULL: was not kept */
		size_t n;
	} *blobs;                 /* of each of the plan */
	/* Give back the memory of n bytes from p on, which lie in a tensor and will not be
	 * read again. NULL: it cannot be. */
	void (*release)(const struct weights *w, const uint8_t *p, size_t n);
};

/* The wire bytes of a key's value (model/value.h), whether they lie in the plan or in a
 * blob; *type is its type, *n how many. NULL where there is no such key, or its value
 * was not kept. */
const uint8_t *weights_value(const struct weights *w, const char *key,
                             struct value_type *type, size_t *n);

/* The bytes of a side file by its name ("tokenizer.json"), or NULL. */
const uint8_t *weights_file(const struct weights *w, const char *name, size_t *n);

#endif
