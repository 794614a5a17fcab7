/* The plan of the result, and the way back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "kernels/kernel.h"
#include "lowrank/parts.h"

void
lowrank_free(struct lowrank *l)
{
	free(l->rows);
	spool_free(&l->factors);
	model_free(&l->out);
	*l = (struct lowrank){ 0 };
}

int
lowrank_begin(struct lowrank *l, struct err *e)
{
	size_t i;

	if (model_copy(&l->out, merge_input_plan(l->in), e) < 0)
		return -1;
	for (i = 0; i < l->out.tensor_count; i++)
		tensor_free(l->out.tensors[i]);
	l->out.tensor_count = 0;
	l->out.holes = 0;
	l->out.signatures = 0;
	for (i = 0, l->out.prov_count = 0; i < l->in->record_count; i++)
		if (model_add_prov(&l->out, l->in->records[i].n, e) < 0)
			return -1;
	return 0;
}

static int
add(struct lowrank *l, struct tensor *t, struct lowrank_row row, struct err *e)
{
	if (!t)
		return -1;
	if (mem_grow(&l->rows, &l->row_cap, l->out.tensor_count + 1, sizeof *l->rows) < 0) {
		tensor_free(t);
		return err_memory(e);
	}
	l->rows[l->out.tensor_count] = row;
	return model_add_tensor(&l->out, t, e);
}

int
lowrank_add_copy(struct lowrank *l, size_t tensor, struct err *e)
{
	struct tensor *t = tensor_copy(merge_input_plan(l->in)->tensors[tensor]);

	if (!t)
		return err_memory(e);
	return add(l, t, (struct lowrank_row){ LOWRANK_COPY, tensor, 0, 0 }, e);
}

int
lowrank_add_stored(struct lowrank *l, const struct tensor *t, const char *suffix,
                   const struct dtype *type, const uint64_t dims[2], struct err *e)
{
	struct lowrank_row row = { LOWRANK_STORED, 0, 0, l->factors.bytes };
	struct buf name = { 0 };
	int r;

	buf_printf(&name, "%s%s", tensor_name(t), suffix);
	if (!buf_ok(&name))
		r = err_memory(e);
	else
		r = add(l, tensor_new((char *)name.p, name.n, type, 2, dims, TENSOR_OWN_SIZE,
		                      l->in->name, e), row, e);
	buf_free(&name);
	return r;
}

int
lowrank_add_product(struct lowrank *l, size_t left, size_t right, struct err *e)
{
	const struct model *m = merge_input_plan(l->in);
	const struct tensor *a = m->tensors[left], *b = m->tensors[right];
	const uint64_t dims[] = { tensor_dims(a)[0], tensor_dims(b)[1] };
	const struct dtype *type = tensor_type(a);

	if (!kernel_decodes(type))
		type = dtype_by_name("F32"); /* F64 */
	else if (type->items != 1 || type->head)
		type = dtype_by_name("F16");
	return add(l, tensor_new(tensor_name(a), strlen(tensor_name(a)) - strlen(LOWRANK_LEFT), type, 2,
	                         dims, TENSOR_OWN_SIZE, l->in->name, e),
	           (struct lowrank_row){ LOWRANK_PRODUCT, left, right, 0 }, e);
}

int
lowrank_record(struct lowrank *l, const struct lowrank_how *how, struct err *e)
{
	const struct value_type string = { 0, VALUE_STRING };
	json_t *o = json_pack("{s:s,s:I}", "method", "svd", "tensors", (json_int_t)l->factored);
	struct buf text = { 0 }, wire = { 0 };
	int r = o ? 0 : -1;

	if (how->rank)
		r |= json_object_set_new(o, "rank", json_integer((json_int_t)how->rank));
	if (how->energy > 0)
		r |= json_object_set_new(o, "energy", json_real(how->energy));
	if (how->imatrix)
		r |= json_object_set_new(o, "imatrix", json_string(how->imatrix_name));
	if (r == 0)
		r = json_write(o, &text);
	json_decref(o);
	buf_u64(&wire, text.n);
	buf_put(&wire, text.p, text.n);
	r = r < 0 || !buf_ok(&wire) ? err_memory(e)
	                            : model_set_meta(&l->out, LOWRANK_KEY, string, wire.p, wire.n, e);
	buf_free(&text);
	buf_free(&wire);
	return r;
}

/* ---- the way back ---- */

static bool
ends_in(const struct tensor *t, const char *suffix)
{
	size_t n = strlen(tensor_name(t)), k = strlen(suffix);

	return n > k && strcmp(tensor_name(t) + n - k, suffix) == 0;
}

/* The index of the right factor of a left one. */
static size_t
mate(const struct lowrank *l, const struct tensor *left)
{
	struct buf name = { 0 };
	size_t at = SIZE_MAX;

	buf_put(&name, tensor_name(left), strlen(tensor_name(left)) - strlen(LOWRANK_LEFT));
	buf_text(&name, LOWRANK_RIGHT);
	if (buf_string(&name))
		at = merge_input_find(l->in, (char *)name.p);
	buf_free(&name);
	return at;
}

static int
join(struct lowrank *l, size_t left, struct err *e)
{
	const struct model *m = merge_input_plan(l->in);
	const struct tensor *a = m->tensors[left], *b;
	size_t right = mate(l, a);

	if (right == SIZE_MAX)
		return err_set(e, ERR_CORRUPT, tensor_name(a), "its other factor, %s, is missing",
		               &LOWRANK_RIGHT[1]);
	b = m->tensors[right];
	if (tensor_ndim(a) != 2 || tensor_ndim(b) != 2 || tensor_dims(a)[1] != tensor_dims(b)[0] ||
	    tensor_items(a) == 0 || tensor_items(b) == 0 || !merge_is_number(tensor_type(a)) ||
	    !merge_is_number(tensor_type(b))) {
		char x[TENSOR_SHAPE_TEXT], y[TENSOR_SHAPE_TEXT];

		return err_set(e, ERR_CORRUPT, tensor_name(a), "has %s values and its other factor %s: "
		               "they cannot be multiplied", tensor_shape_text(a, x),
		               tensor_shape_text(b, y));
	}
	l->factored++;
	return lowrank_add_product(l, left, right, e);
}

/* The number of matrices that the key says; UINT64_MAX if it says nothing. */
static uint64_t
announced(struct lowrank *l)
{
	const char *text = model_text(&l->out, LOWRANK_KEY);
	struct err own = ERR_INIT;
	uint64_t n = UINT64_MAX;
	json_t *o = text ? json_parse(text, strlen(text), ERR_CORRUPT, "", &own) : NULL;

	if (o && json_member_u64(o, "tensors", &n) < 0)
		n = UINT64_MAX;
	json_decref(o);
	return n;
}

int
lowrank_join(struct lowrank *l, struct err *e)
{
	const struct model *m = merge_input_plan(l->in);
	uint64_t n;
	size_t i, rights = 0;

	if (lowrank_begin(l, e) < 0)
		return -1;
	for (i = 0; i < m->tensor_count; i++) {
		if (ends_in(m->tensors[i], LOWRANK_LEFT)) {
			if (join(l, i, e) < 0)
				return -1;
		} else if (ends_in(m->tensors[i], LOWRANK_RIGHT)) {
			rights++;
		} else if (lowrank_add_copy(l, i, e) < 0) {
			return -1;
		}
	}
	n = announced(l);
	if (l->factored == 0 && rights == 0 && n == UINT64_MAX)
		return err_set(e, ERR_INVALID, l->in->name, "has no factors of low rank");
	if (rights != l->factored || (n != UINT64_MAX && n != l->factored))
		return err_set(e, ERR_CORRUPT, l->in->name, "has %zu left and %zu right factors, which "
		               "are not those of its key %s", l->factored, rights, LOWRANK_KEY);
	model_unset_meta(&l->out, LOWRANK_KEY);
	return model_check(&l->out, l->in->name, e);
}
