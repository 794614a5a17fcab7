#include "wire/npy_pickle.h"

#include <string.h>

/* What is being read. */
struct reading {
	const struct pickle *k;
	const struct npy_calls *calls;
	const char *where;
	struct err *err;
};

static const struct pickle_node *
node(const struct reading *x, pickle_ref r)
{
	return pickle_node(x->k, r);
}

static bool
is_call(const struct reading *x, pickle_ref r, int what)
{
	return r != PICKLE_NOTHING && node(x, r)->kind == PICKLE_CALL && pickle_what(x->k, r) == what;
}

static int
strange(const struct reading *x, const char *what)
{
	return err_set(x->err, ERR_CORRUPT, x->where, "is an array whose pickle %s", what);
}

/* dtype('f4', False, True), (3, '<', …) */
static int
read_type(const struct reading *x, pickle_ref r, struct npy *a)
{
	pickle_ref args[1], state[2];
	char code[4] = { '|' };
	const uint8_t *p;
	size_t n;

	if (!is_call(x, r, x->calls->dtype) || pickle_items(x->k, node(x, r)->args, args, 1) < 1 ||
	    node(x, args[0])->kind != PICKLE_TEXT)
		return strange(x, "has no type");
	p = pickle_bytes(x->k, args[0], &n);
	if (n == 2)
		memcpy(code + 1, p, 2);
	if (n >= 1 && *p == 'O') {
		a->name = NULL;
		return 0;
	}
	if (node(x, r)->state != PICKLE_NOTHING &&
	    pickle_items(x->k, node(x, r)->state, state, 2) >= 2 &&
	    node(x, state[1])->kind == PICKLE_TEXT) {
		p = pickle_bytes(x->k, state[1], &n);
		if (n == 1)
			code[0] = (char)*p;
	}
	if (npy_describe(a, code, 3) || (code[0] == '|' && (code[0] = '<', npy_describe(a, code, 3))))
		return 0;
	return err_set(x->err, ERR_FORMAT, x->where, "is an array of a type that no type of tensors "
	               "here holds");
}

static int
read_shape(const struct reading *x, pickle_ref r, struct npy *a)
{
	pickle_ref items[NPY_DIMS];
	size_t i, n;

	if (node(x, r)->kind != PICKLE_TUPLE)
		return strange(x, "has no shape");
	n = pickle_items(x->k, r, items, NPY_DIMS);
	if (n > NPY_DIMS)
		return err_set(x->err, ERR_FORMAT, x->where, "has %zu dimensions, at most %u are read", n,
		               NPY_DIMS);
	for (i = 0; i < n; i++) {
		if (node(x, items[i])->kind != PICKLE_INT || node(x, items[i])->u.i < 0)
			return strange(x, "has a shape that is not of numbers");
		a->dims[i] = (uint64_t)node(x, items[i])->u.i;
	}
	a->ndim = (unsigned)n;
	return 0;
}

/* The number of bytes that a text of letters below U+0100 stands for; -1 if there are others. */
static int
count_letters(const uint8_t *p, size_t n, uint64_t *bytes)
{
	size_t i;

	for (i = *bytes = 0; i < n; i++, (*bytes)++)
		if (p[i] >= 0x80 && (p[i++] > 0xc3 || i == n))
			return -1;
	return 0;
}

size_t
npy_letters(const uint8_t *p, size_t n, size_t *at, uint8_t *to, size_t most)
{
	size_t i = *at, k;

	for (k = 0; k < most && i < n; k++, i++) {
		to[k] = p[i];
		if (p[i] >= 0x80) {
			to[k] = (uint8_t)((p[i] & 3) << 6 | (p[i + 1] & 0x3f));
			i++;
		}
	}
	*at = i;
	return k;
}

/* The bytes of an array: bytes, or a text that is encoded. */
static int
read_bytes(const struct reading *x, pickle_ref r, struct npy_pickle *a)
{
	pickle_ref args[2];

	if (is_call(x, r, x->calls->encode) && pickle_items(x->k, node(x, r)->args, args, 2) == 2 &&
	    node(x, args[0])->kind == PICKLE_TEXT && pickle_is(x->k, args[1], "latin1")) {
		a->letters = true;
		a->p = pickle_bytes(x->k, args[0], &a->n);
		return count_letters(a->p, a->n, &a->bytes) < 0
		           ? strange(x, "has a text that is not bytes") : 0;
	}
	if (node(x, r)->kind != PICKLE_BYTES)
		return strange(x, "has no bytes");
	a->p = pickle_bytes(x->k, r, &a->n);
	a->bytes = a->n;
	return 0;
}

int
npy_unpickle(struct npy_pickle *a, const struct pickle *k, pickle_ref r,
             const struct npy_calls *calls, const char *where, struct err *e)
{
	const struct reading x = { k, calls, where, e };
	pickle_ref state[5];

	*a = (struct npy_pickle){ .letters = false };
	if (node(&x, r)->state == PICKLE_NOTHING ||
	    pickle_items(k, node(&x, r)->state, state, 5) != 5)
		return strange(&x, "has no values");
	if (read_shape(&x, state[1], &a->npy) < 0 || read_type(&x, state[2], &a->npy) < 0)
		return -1;
	a->values = state[4];
	if (!a->npy.name)
		return 0;
	a->npy.fortran = node(&x, state[3])->kind == PICKLE_BOOL && node(&x, state[3])->u.i;
	return read_bytes(&x, state[4], a);
}
