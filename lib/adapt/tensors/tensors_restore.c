/* Tensors of a model folder that only the record of apr.origin has. */
#include <stdlib.h>
#include <string.h>

#include "adapt/tensors/origin_read.h"
#include "adapt/tensors/tensors_back.h"

/* A head that was there, and equal to the embeddings. */
static int
add_tied(struct backward *f)
{
	const struct back *embed = tensors_find_back(f, ROLE_EMBED, 0, false);
	struct tensors_row *row;
	struct back head;
	size_t i;

	if (!json_is_true(json_object_get(f->origin, "tied")) || !embed ||
	    tensors_find_back(f, ROLE_OUT, 0, false))
		return 0;
	head = *embed;
	for (i = 0; (head.rule = arch_rule(f->s->arch, i)); i++)
		if (head.rule->role == ROLE_OUT)
			break;
	if (!head.rule)
		return 0;
	row = tensors_new_target(f, &head, 0, tensor_ndim(back_tensor(f, embed)),
	                 tensor_dims(back_tensor(f, embed)));
	return row ? tensors_add_piece(row, move_run(embed->source, 0,
	                               tensor_items(back_tensor(f, embed))), f->e) : -1;
}

static int
damaged(struct backward *f)
{
	return err_set(f->e, ERR_CORRUPT, f->s->w.name, "its key apr.origin is damaged");
}

/* A buffer: [name, type, dimensions, bytes]. */
static int
add_dropped(struct backward *f, const json_t *v)
{
	const char *name = json_string_value(json_array_get(v, 0));
	const char *type = json_string_value(json_array_get(v, 1));
	const char *text = json_string_value(json_array_get(v, 3));
	const json_t *list = json_array_get(v, 2);
	const struct dtype *t = type ? dtype_by_name(type) : NULL;
	uint64_t dims[TENSOR_DIMS];
	struct tensors_row *row;
	uint8_t *bytes;
	size_t n, i, source;

	if (!name || !t || !dtype_sized(t) || t->items != 1 || !text ||
	    json_array_size(list) > TENSOR_DIMS)
		return damaged(f);
	for (i = 0; i < json_array_size(list); i++)
		if (json_value_u64(json_array_get(list, i), &dims[i]) < 0)
			return damaged(f);
	row = tensors_add(f->p, tensor_new(name, strlen(name), t,
	                  (unsigned)json_array_size(list), dims, TENSOR_OWN_SIZE, f->s->w.name,
	                  f->e), f->e);
	if (!row || !(bytes = origin_bytes(text, &n, f->e)))
		return -1;
	row->from = t;
	if (tensors_add_memory(f->p, bytes, n, &source, f->e) < 0)
		return -1;
	return n == tensor_bytes(row->t)
	       ? tensors_add_piece(row, move_run(source, 0, tensor_items(row->t)), f->e)
	       : damaged(f);
}

/* Tensors whose values the change back would miss: they are in the record as a whole. */
static int
restore_values(struct backward *f)
{
	const json_t *values = json_object_get(f->origin, "values");
	size_t i, source, n;
	uint8_t *bytes;

	for (i = 0; i < f->p->count; i++) {
		struct tensors_row *row = &f->p->rows[i];
		const char *text = json_string_value(json_object_get(values, tensor_name(row->t)));

		if (!text || row->math == MATH_NONE)
			continue;
		if (!(bytes = origin_bytes(text, &n, f->e)))
			return -1;
		if (n != tensor_bytes(row->t)) {
			free(bytes);
			return damaged(f);
		}
		if (tensors_add_memory(f->p, bytes, n, &source, f->e) < 0)
			return -1;
		row->math = MATH_NONE;
		row->from = tensor_type(row->t);
		row->move.pieces[0] = move_run(source, 0, tensor_items(row->t));
	}
	return 0;
}

int
tensors_restore(struct backward *f)
{
	const json_t *list = json_object_get(f->origin, "dropped");
	size_t i;

	if (add_tied(f) < 0 || restore_values(f) < 0)
		return -1;
	for (i = 0; i < json_array_size(list); i++)
		if (add_dropped(f, json_array_get(list, i)) < 0)
			return -1;
	return 0;
}
