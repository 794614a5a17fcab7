#include "model/weights.h"

#include <string.h>

const uint8_t *
weights_meta(const struct weights *w, const struct meta *k, struct value_type *type, size_t *n)
{
	const struct weights_blob *b;

	*type = k->type;
	*n = k->wire_bytes;
	if (k->wire)
		return k->wire;
	b = &w->blobs[k->blob];
	*n = b->n;
	return b->p;
}

const uint8_t *
weights_value(const struct weights *w, const char *key, struct value_type *type,
              size_t *n)
{
	const struct meta *k = model_find(w->plan, key);

	return k ? weights_meta(w, k, type, n) : NULL;
}

const uint8_t *
weights_file(const struct weights *w, const char *name, size_t *n)
{
	size_t i;

	for (i = 0; i < w->plan->blob_count; i++)
		if (strcmp(w->plan->blobs[i].name, name) == 0) {
			*n = w->blobs[i].n;
			return w->blobs[i].p;
		}
	return NULL;
}
