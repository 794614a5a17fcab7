#include "formats/ties.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

bool
ties_exist(const struct model *m)
{
	if (m->sealed)
		return false; /* each sealed tensor has a tag, so none is empty */
	size_t i;

	for (i = 1; i < m->tensor_count; i++)
		if (tensor_bytes(m->tensors[i - 1]) == 0 && tensor_bytes(m->tensors[i]) == 0 &&
		    strcmp(tensor_name(m->tensors[i - 1]), tensor_name(m->tensors[i])) > 0)
			return true;
	return false;
}

json_t *
ties_list(const struct model *m, const size_t *by_name)
{
	size_t i, *number = mem_array(m->tensor_count, sizeof *number);
	json_t *list = json_array();
	int r = number && list ? 0 : -1;

	for (i = 0; r == 0 && i < m->tensor_count; i++)
		number[by_name[i]] = i;
	for (i = 0; r == 0 && i < m->tensor_count; i++)
		if (tensor_bytes(m->tensors[i]) == 0)
			r = json_array_append_new(list, json_from_u64(number[i]));
	free(number);
	if (r == 0)
		return list;
	json_decref(list);
	return NULL;
}

int
ties_order(const json_t *list, const bool *empty, size_t n, size_t *order,
           const char *where, struct err *e)
{
	bool *listed = mem_array(n, sizeof *listed);
	size_t i, done = 0;
	uint64_t at;
	json_t *v;
	int r = 0;

	if (!listed)
		return err_memory(e);
	if (list && !json_is_array(list))
		r = -1;
	json_array_foreach(list, i, v) {
		if (json_value_u64(v, &at) < 0 || at >= n || listed[at] || !empty[at]) {
			r = -1;
			break;
		}
		listed[at] = true;
		order[done++] = (size_t)at;
	}
	for (i = 0; r == 0 && i < n; i++)
		if (!listed[i])
			order[done++] = i;
	free(listed);
	if (r == 0)
		return 0;
	return err_set(e, ERR_CORRUPT, where, "its list of empty tensors is not one");
}
