/* Arrays inside a pickle. Nothing in it is called: the calls that NumPy writes for an array have a
 * meaning, and each other one is refused by its name.
 *
 *     _reconstruct(ndarray, (0,), b'b') with the state (1, SHAPE, DTYPE, FORTRAN, BYTES)
 *     dtype(CODE, …) with the state (3, ORDER, …)
 *     scalar(DTYPE, BYTES)                    passed over, as numbers and texts are
 *     _codecs.encode(TEXT, 'latin1')          bytes of Python 2
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "imports/numpy/numpy.h"

#define PICKLE_MAX (48u << 20)
#define DEPTH 16  /* of dictionaries and lists */
#define NAME 512  /* bytes */
#define VISITS (1u << 20) /* of members, shared ones each time */

enum { RECONSTRUCT = PICKLE_MEANING, NDARRAY, DTYPE, SCALAR, ENCODE };

static const struct pickle_name names[] = {
	{ "numpy.core.multiarray", "_reconstruct", RECONSTRUCT },
	{ "numpy._core.multiarray", "_reconstruct", RECONSTRUCT },
	{ "numpy.core.multiarray", "scalar", SCALAR },
	{ "numpy._core.multiarray", "scalar", SCALAR },
	{ "numpy", "ndarray", NDARRAY },
	{ "numpy", "dtype", DTYPE },
	{ "_codecs", "encode", ENCODE },
	{ "collections", "OrderedDict", PICKLE_OPAQUE },
};

/* The name of what is being walked through. */
struct walk {
	struct numpy *s;
	char name[NAME];
	unsigned depth;
	uint64_t visits;
};

static int walk(struct walk *w, pickle_ref r, size_t name_bytes);

static const struct pickle_node *
node(const struct walk *w, pickle_ref r)
{
	return pickle_node(&w->s->pickle, r);
}

static bool
is_call(const struct walk *w, pickle_ref r, int what)
{
	return r != PICKLE_NOTHING && node(w, r)->kind == PICKLE_CALL &&
	       pickle_what(&w->s->pickle, r) == what;
}

static int
strange(const struct walk *w, const char *what)
{
	return err_set(w->s->import.err, ERR_CORRUPT, w->name[0] ? w->name : w->s->import.source.name,
	               "is an array whose pickle %s", what);
}

/* dtype('f4', False, True), (3, '<', …) */
static int
read_type(const struct walk *w, pickle_ref r, struct npy *a)
{
	const struct pickle *k = &w->s->pickle;
	pickle_ref args[1], state[2];
	char code[4] = { '|' };
	const uint8_t *p;
	size_t n;

	if (!is_call(w, r, DTYPE) || pickle_items(k, node(w, r)->args, args, 1) < 1 ||
	    node(w, args[0])->kind != PICKLE_TEXT)
		return strange(w, "has no type");
	p = pickle_bytes(k, args[0], &n);
	if (n == 2)
		memcpy(code + 1, p, 2);
	if (n >= 1 && *p == 'O') {
		a->name = NULL;
		return 0;
	}
	if (node(w, r)->state != PICKLE_NOTHING &&
	    pickle_items(k, node(w, r)->state, state, 2) >= 2 &&
	    node(w, state[1])->kind == PICKLE_TEXT) {
		p = pickle_bytes(k, state[1], &n);
		if (n == 1)
			code[0] = (char)*p;
	}
	if (npy_describe(a, code, 3) || (code[0] == '|' && (code[0] = '<', npy_describe(a, code, 3))))
		return 0;
	return err_set(w->s->import.err, ERR_FORMAT, w->name[0] ? w->name
	               : w->s->import.source.name, "is an array of a type that no type of tensors "
	               "here holds");
}

static int
read_shape(const struct walk *w, pickle_ref r, struct npy *a)
{
	pickle_ref items[NPY_DIMS];
	size_t i, n = 0;

	if (node(w, r)->kind == PICKLE_TUPLE)
		n = pickle_items(&w->s->pickle, r, items, NPY_DIMS);
	else
		return strange(w, "has no shape");
	if (n > TENSOR_DIMS)
		return err_set(w->s->import.err, ERR_FORMAT, w->name, "has %zu dimensions, at most %u "
		               "are read", n, TENSOR_DIMS);
	for (i = 0; i < n; i++) {
		if (node(w, items[i])->kind != PICKLE_INT || node(w, items[i])->u.i < 0)
			return strange(w, "has a shape that is not of numbers");
		a->dims[i] = (uint64_t)node(w, items[i])->u.i;
	}
	a->ndim = (unsigned)n;
	return 0;
}

/* The number of bytes that a text of letters below U+0100 stands for; -1 if there are others. */
static int
latin(const uint8_t *p, size_t n, uint64_t *bytes)
{
	size_t i;

	for (i = *bytes = 0; i < n; i++, (*bytes)++)
		if (p[i] >= 0x80 && (p[i++] > 0xc3 || i == n))
			return -1;
	return 0;
}

/* The bytes of an array: bytes, or a text that is encoded. */
static int
read_bytes(const struct walk *w, pickle_ref r, struct import_place *x, uint64_t *n)
{
	const struct pickle *k = &w->s->pickle;
	pickle_ref args[2];
	const uint8_t *p;
	size_t bytes;

	x->more[MORE_FROM] = FROM_BYTES;
	if (is_call(w, r, ENCODE) && pickle_items(k, node(w, r)->args, args, 2) == 2 &&
	    node(w, args[0])->kind == PICKLE_TEXT && pickle_is(k, args[1], "latin1")) {
		x->more[MORE_FROM] = FROM_TEXT;
		x->more[MORE_WHICH] = args[0];
		p = pickle_bytes(k, args[0], &bytes);
		return latin(p, bytes, n) < 0 ? strange(w, "has a text that is not bytes") : 0;
	}
	if (node(w, r)->kind != PICKLE_BYTES)
		return strange(w, "has no bytes");
	x->p = pickle_bytes(k, r, &bytes);
	*n = bytes;
	return 0;
}

/* An array of objects has a list in place of bytes. */
static int
walk_array(struct walk *w, pickle_ref r, size_t name_bytes)
{
	const struct pickle *k = &w->s->pickle;
	pickle_ref state[5], one[1];
	struct import_place x = { .p = NULL };
	struct npy a = { .name = NULL };
	uint64_t n = 0;

	if (node(w, r)->state == PICKLE_NOTHING ||
	    pickle_items(k, node(w, r)->state, state, 5) != 5)
		return strange(w, "has no values");
	if (read_shape(w, state[1], &a) < 0 || read_type(w, state[2], &a) < 0)
		return -1;
	if (!a.name) {
		if (a.ndim == 0 && pickle_items(k, state[4], one, 1) == 1)
			return walk(w, one[0], name_bytes);
		return walk(w, state[4], name_bytes);
	}
	a.fortran = node(w, state[3])->kind == PICKLE_BOOL && node(w, state[3])->u.i;
	if (read_bytes(w, state[4], &x, &n) < 0)
		return -1;
	return numpy_add(w->s, name_bytes ? w->name : "array", name_bytes ? name_bytes : 5, &a, &x, n);
}

/* Walk through a member that has this name. */
static int
walk_member(struct walk *w, pickle_ref r, size_t name_bytes, const uint8_t *key, size_t n)
{
	if (n + 2 > NAME - name_bytes || memchr(key, 0, n))
		return strange(w, "has a key that is too long for a name");
	if (name_bytes > 0)
		w->name[name_bytes++] = '.';
	memcpy(w->name + name_bytes, key, n);
	w->name[name_bytes + n] = 0;
	return walk(w, r, name_bytes + n);
}

static int
walk_members(struct walk *w, pickle_ref r, size_t name_bytes)
{
	const struct pickle *k = &w->s->pickle;
	bool pairs = node(w, r)->kind == PICKLE_DICT;
	const struct pickle_cell *c;
	const uint8_t *key;
	char number[24];
	uint64_t i;
	size_t n;

	for (c = pickle_first(k, r), i = 0; c; c = pickle_next(k, c), i++) {
		n = (size_t)snprintf(number, sizeof number, "%" PRIu64, i);
		key = (const uint8_t *)number;
		if (pairs) {
			if (node(w, c->node)->kind != PICKLE_TEXT)
				return strange(w, "has a key that is not a text");
			key = pickle_bytes(k, c->node, &n);
			c = pickle_next(k, c);
		}
		if (walk_member(w, c->node, name_bytes, key, n) < 0)
			return -1;
	}
	return 0;
}

static int
walk(struct walk *w, pickle_ref r, size_t name_bytes)
{
	int status = 0;

	w->name[name_bytes] = 0;
	if (++w->depth > DEPTH || ++w->visits > VISITS)
		return strange(w, "nests too deeply, or shares too many parts");
	switch (node(w, r)->kind) {
	case PICKLE_CALL:
		if (is_call(w, r, RECONSTRUCT))
			status = walk_array(w, r, name_bytes);
		else
			w->s->passed++;
		break;
	case PICKLE_DICT:
	case PICKLE_LIST:
	case PICKLE_TUPLE:
		status = walk_members(w, r, name_bytes);
		break;
	default:
		w->s->passed++;
	}
	w->depth--;
	return status;
}

int
numpy_objects(struct numpy *s, const uint8_t *p, uint64_t n)
{
	struct walk w = { .s = s };
	struct pickle *k = &s->pickle;

	k->names = names;
	k->name_count = sizeof names / sizeof *names;
	k->where = s->import.source.name;
	if (pickle_read(k, p, (size_t)num_min(n, PICKLE_MAX), s->import.err) < 0)
		return -1;
	if (k->end != n)
		return import_fail(&s->import, ERR_CORRUPT, "has %" PRIu64 " bytes behind the end of its "
		                   "pickle", n - k->end);
	return walk(&w, k->root, 0);
}
