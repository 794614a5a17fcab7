/* Arrays inside a pickle. Nothing in it is called: the calls that NumPy writes for an array have a
 * meaning (wire/npy_pickle.h), and each other one is refused by its name. Scalars are passed over, as
 * numbers and texts are.
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

/* An array of objects has a list in place of bytes. */
static int
walk_array(struct walk *w, pickle_ref r, size_t name_bytes)
{
	static const struct npy_calls calls = { RECONSTRUCT, DTYPE, ENCODE };
	const struct pickle *k = &w->s->pickle;
	struct import_place x = { .p = NULL };
	struct npy_pickle a;
	pickle_ref one[1];

	if (npy_unpickle(&a, k, r, &calls, w->name[0] ? w->name : w->s->import.source.name,
	                 w->s->import.err) < 0)
		return -1;
	if (!a.npy.name) {
		if (a.npy.ndim == 0 && pickle_items(k, a.values, one, 1) == 1)
			return walk(w, one[0], name_bytes);
		return walk(w, a.values, name_bytes);
	}
	x.more[MORE_FROM] = a.letters ? FROM_TEXT : FROM_BYTES;
	if (a.letters && pickle_items(k, node(w, a.values)->args, one, 1) > 0)
		x.more[MORE_WHICH] = one[0];
	x.p = a.letters ? NULL : a.p;
	return numpy_add(w->s, name_bytes ? w->name : "array", name_bytes ? name_bytes : 5, &a.npy, &x,
	                 a.bytes);
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
