/* Arrays of NumPy in the pickle: what training programs put beside their tensors. */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "imports/torch/torch.h"

static const struct npy_calls calls = { TORCH_ARRAY, TORCH_ARRAY_TYPE, TORCH_ENCODE };

/* Arrays of objects, texts and structures are values like others. */
bool
torch_is_array(const struct torch *t, pickle_ref r, size_t *n)
{
	struct npy_pickle a;
	struct err e = ERR_INIT;

	if (pickle_node(&t->pickle, r)->kind != PICKLE_CALL ||
	    pickle_what(&t->pickle, r) != TORCH_ARRAY)
		return false;
	if (npy_unpickle(&a, &t->pickle, r, &calls, t->source.name, &e) < 0 && e.code == ERR_FORMAT)
		return false;
	*n = a.n;
	return a.npy.name || e.code != ERR_NONE;
}

/* Strides in values, and the number of bytes that the shape needs; UINT64_MAX for too many. */
static uint64_t
stride(const struct npy *a, struct torch_view *v)
{
	uint64_t step = 1;
	unsigned i, k;

	v->plain = true;
	for (i = 0; i < a->ndim; i++) {
		k = a->fortran ? i : a->ndim - 1 - i;
		v->strides[k] = (int64_t)step;
		v->plain &= !a->fortran || a->dims[k] == 1 || a->ndim == 1;
		if (num_mul(step, a->dims[k], &step) < 0)
			return UINT64_MAX;
	}
	return num_mul(step, a->element, &step) < 0 ? UINT64_MAX : step;
}

struct tensor *
torch_array(struct torch *t, pickle_ref r, const char *name, size_t name_bytes,
            struct torch_view *v)
{
	struct npy_pickle a;
	uint64_t need;

	*v = (struct torch_view){ 0 };
	if (npy_unpickle(&a, &t->pickle, r, &calls, name, t->err) < 0)
		return NULL;
	if (a.npy.ndim > TENSOR_DIMS) {
		err_set(t->err, ERR_FORMAT, name, "has %u dimensions, at most %u are read", a.npy.ndim,
		        TENSOR_DIMS);
		return NULL;
	}
	need = stride(&a.npy, v);
	if (need != a.bytes) {
		err_set(t->err, ERR_CORRUPT, name, "is an array of %" PRIu64 " bytes, but its shape needs %"
		        PRIu64, a.bytes, need);
		return NULL;
	}
	v->bytes = a.p;
	v->letters = a.letters ? a.n : 0;
	v->element = (uint8_t)a.npy.element;
	v->number = v->element;
	v->swap = a.npy.swap;
	t->arrays++;
	return tensor_new(name, name_bytes, dtype_by_name(a.npy.name), a.npy.ndim, a.npy.dims,
	                  TENSOR_OWN_SIZE, t->source.name, t->err);
}
