#include "cli/near.h"

#include <string.h>

#include "core/near.h"
#include "core/text.h"

/* Returns the cost of a candidate. Users more often give a part of a name than another
 * name of similar length. */
static size_t
cost_of(const char *name, const char *candidate)
{
	size_t cost = text_distance(name, candidate);

	if (strstr(candidate, name) || strstr(name, candidate))
		cost = cost / 16 + 1;
	return cost;
}

int
near_find(const struct model *m, const char *name, const char *where, size_t *index,
          struct err *e)
{
	size_t i, cost, far = strlen(name) / 3 + 2;
	struct near near = { .n = 0 };

	for (i = 0; i < m->tensor_count; i++)
		if (strcmp(tensor_name(m->tensors[i]), name) == 0) {
			*index = i;
			return 0;
		}
	for (i = 0; i < m->tensor_count; i++) {
		cost = cost_of(name, tensor_name(m->tensors[i]));
		if (cost < far)
			near_consider(&near, tensor_name(m->tensors[i]), cost);
	}
	err_set(e, ERR_NO, where, "has no tensor %s", name);
	near_hint(&near, e);
	return -1;
}

int
near_no_key(const struct model *m, const char *key, const char *where, struct err *e)
{
	size_t i, cost, far = strlen(key) / 3 + 2;
	struct near near = { .n = 0 };

	for (i = 0; i < m->meta_count; i++) {
		cost = cost_of(key, m->meta[i].key);
		if (cost < far)
			near_consider(&near, m->meta[i].key, cost);
	}
	err_set(e, ERR_NO, where, "has no key %.200s", key);
	near_hint(&near, e);
	return -1;
}
