/* apr2_types: types without a code of their own: their entries have
 * DTYPE_APR2_NAMED, and apr_stream lists their names, in the order of the index. */
#include "formats/apr2/apr2.h"

bool
apr2_types_needed(const struct model *m)
{
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		if (dtype_apr2_code(tensor_type(m->tensors[i])) == DTYPE_APR2_NAMED)
			return true;
	return false;
}

json_t *
apr2_types_list(const struct model *m, const size_t *by_name)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct dtype *t = tensor_type(m->tensors[by_name[i]]);

		if (dtype_apr2_code(t) == DTYPE_APR2_NAMED &&
		    json_array_append_new(list, json_string(t->name)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

const struct dtype *
apr2_types_next(struct apr2_meta *meta)
{
	const char *name = json_string_value(json_array_get(meta->types, meta->type++));
	const struct dtype *t = name ? dtype_by_name(name) : NULL;

	return t && dtype_apr2_code(t) == DTYPE_APR2_NAMED ? t : NULL;
}
