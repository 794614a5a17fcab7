#include "model/weights.h"

#include <string.h>

const uint8_t *
weights_value(const struct weights *w, const char *key, struct value_type *type,
              size_t *n)
{
	const struct meta *m = model_find(w->plan, key);
	const struct weights_blob *b;

	if (!m)
		return NULL;
	*type = m->type;
	*n = m->wire_bytes;
	if (m->wire)
		return m->wire;
	b = &w->blobs[m->blob];
	*n = b->n;
	return b->p;
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
