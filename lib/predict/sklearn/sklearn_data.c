#include "predict/sklearn/sklearn.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "wire/npy_pickle.h"

int
sklearn_wrong(const struct sklearn *s, const char *what)
{
	return err_set(s->e, ERR_CORRUPT, s->where, "%s", what);
}

static const struct pickle_node *
node(const struct sklearn *s, pickle_ref r)
{
	return pickle_node(&s->k, r);
}

static bool
is_call(const struct sklearn *s, pickle_ref r, int what)
{
	return r != PICKLE_NOTHING && node(s, r)->kind == PICKLE_CALL && pickle_what(&s->k, r) == what;
}

/* ---- objects ---- */

void
sklearn_class(const struct sklearn *s, pickle_ref r, char name[64])
{
	pickle_ref class = PICKLE_NOTHING, text;
	const uint8_t *p;
	size_t n;

	name[0] = 0;
	if (is_call(s, r, SKLEARN_CLASS))
		class = node(s, r)->function;
	else if (is_call(s, r, SKLEARN_MAKE) && pickle_items(&s->k, node(s, r)->args, &class, 1) < 1)
		return;
	if (class == PICKLE_NOTHING || pickle_what(&s->k, class) != SKLEARN_CLASS)
		return;
	text = pickle_name_of(&s->k, class);
	if (text == PICKLE_NOTHING)
		return;
	p = pickle_bytes(&s->k, text, &n);
	snprintf(name, 64, "%.*s", n < 63 ? (int)n : 63, (const char *)p);
}

#define FIELDS 1024 /* keys and values of an object, at most: the object can be one of many trees */

pickle_ref
sklearn_entry(const struct sklearn *s, pickle_ref state, const char *name)
{
	const struct pickle_cell *c;

	if (state == PICKLE_NOTHING || node(s, state)->kind != PICKLE_DICT || node(s, state)->count > FIELDS)
		return PICKLE_NOTHING;
	for (c = pickle_first(&s->k, state); c; c = pickle_next(&s->k, c)) {
		bool found = pickle_is(&s->k, c->node, name);

		c = pickle_next(&s->k, c);
		if (found)
			return c->node;
	}
	return PICKLE_NOTHING;
}

const uint8_t *
sklearn_text(struct sklearn *s, pickle_ref r, size_t *n)
{
	const uint8_t *p = pickle_bytes(&s->k, r, n);

	if (*n > s->left) {
		sklearn_wrong(s, "its texts have more bytes than the file");
		return NULL;
	}
	s->left -= *n;
	return p;
}

pickle_ref
sklearn_field(const struct sklearn *s, pickle_ref object, const char *name)
{
	return object == PICKLE_NOTHING || node(s, object)->kind != PICKLE_CALL
	       ? PICKLE_NOTHING : sklearn_entry(s, node(s, object)->state, name);
}

/* ---- arrays ---- */

/* The code of a dtype ("f8"), for numbers of this byte order. */
static int
read_type(const struct sklearn *s, pickle_ref r, char code[8])
{
	pickle_ref args[1], state[2];
	const uint8_t *p;
	size_t n;

	if (!is_call(s, r, SKLEARN_TYPE) || pickle_items(&s->k, node(s, r)->args, args, 1) < 1 ||
	    node(s, args[0])->kind != PICKLE_TEXT)
		return sklearn_wrong(s, "an array has no type");
	p = pickle_bytes(&s->k, args[0], &n);
	snprintf(code, 8, "%.*s", n < 7 ? (int)n : 7, (const char *)p);
	if (node(s, r)->state != PICKLE_NOTHING &&
	    pickle_items(&s->k, node(s, r)->state, state, 2) >= 2 && pickle_is(&s->k, state[1], ">"))
		return err_set(s->e, ERR_FORMAT, s->where, "its arrays are big-endian");
	return 0;
}

/* The bytes behind an array: bytes, or a text that is encoded. */
static int
read_raw(const struct sklearn *s, pickle_ref r, struct buf *to)
{
	pickle_ref args[2];
	const uint8_t *p;
	uint8_t *room;
	size_t n, at = 0;

	if (node(s, r)->kind == PICKLE_BYTES) {
		p = pickle_bytes(&s->k, r, &n);
		buf_put(to, p, n);
		return buf_ok(to) ? 0 : err_memory(s->e);
	}
	if (is_call(s, r, SKLEARN_BYTES) && pickle_items(&s->k, node(s, r)->args, args, 2) == 0)
		return 0; /* bytes() */
	if (!is_call(s, r, SKLEARN_ENCODE) || pickle_items(&s->k, node(s, r)->args, args, 2) != 2 ||
	    node(s, args[0])->kind != PICKLE_TEXT || !pickle_is(&s->k, args[1], "latin1"))
		return sklearn_wrong(s, "an array has no bytes");
	p = pickle_bytes(&s->k, args[0], &n);
	room = buf_room(to, n + 1);
	if (!room)
		return err_memory(s->e);
	to->n += npy_letters(p, n, &at, room, n);
	return 0;
}

static double
value_at(const char *code, const uint8_t *p)
{
	union { uint32_t u; float f; } f;
	union { uint64_t u; double d; } d;
	unsigned bytes = (unsigned)(code[1] - '0');
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	if (code[0] == 'f' && bytes == 4) {
		f.u = (uint32_t)v;
		return (double)f.f;
	}
	if (code[0] == 'f') {
		d.u = v;
		return d.d;
	}
	if (code[0] == 'i')
		return (double)((int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
	return (double)v;
}

double
sklearn_double(const uint8_t *p)
{
	return value_at("f8", p);
}

/* Bytes of a value; 0 for objects. */
static size_t
element(const char *code)
{
	size_t n = strtoul(code + 1, NULL, 10);

	return code[0] == 'U' ? n * 4 : code[0] == 'O' ? 0 : n;
}

static bool
is_number(const char *code)
{
	return strcmp(code, "f4") == 0 || strcmp(code, "f8") == 0 || strcmp(code, "b1") == 0 ||
	       ((code[0] == 'i' || code[0] == 'u') && code[1] && strchr("1248", code[1]) && !code[2]);
}

/* Numbers in row-major order. */
static int
decode(const struct sklearn *s, struct sklearn_array *a, bool fortran)
{
	size_t i, size = element(a->code), rows = a->dims[0], columns = a->ndim == 2 ? a->dims[1] : 1;

	a->v = mem_array(a->n, sizeof *a->v);
	if (!a->v)
		return err_memory(s->e);
	if (fortran && a->ndim > 2)
		return err_set(s->e, ERR_FORMAT, s->where, "an array of %u dimensions is stored by columns",
		               a->ndim);
	for (i = 0; i < a->n; i++)
		a->v[fortran && a->ndim == 2 ? i % rows * columns + i / rows : i] =
			value_at(a->code, a->raw.p + i * size);
	return 0;
}

static int
read_shape(const struct sklearn *s, pickle_ref r, struct sklearn_array *a)
{
	pickle_ref items[4];
	size_t i, n = pickle_items(&s->k, r, items, 4);

	if (n > 4)
		return sklearn_wrong(s, "an array has more than four dimensions");
	for (i = 0, a->n = 1; i < n; i++) {
		int64_t v = node(s, items[i])->kind == PICKLE_INT ? node(s, items[i])->u.i : -1;

		if (v < 0 || v > INT32_MAX || (v && a->n > SIZE_MAX / 64 / (size_t)v))
			return sklearn_wrong(s, "an array has a shape that is not of numbers");
		a->dims[i] = (size_t)v;
		a->n *= (size_t)v;
	}
	a->ndim = (unsigned)n;
	return 0;
}

/* What joblib writes behind the object that stands for an array: its values, or a pickle of objects. */
enum pickle_behind
sklearn_behind(struct pickle *k, pickle_ref object, uint64_t *bytes)
{
	struct sklearn *s = k->owner;
	struct sklearn_array a = { .n = 0 };
	pickle_ref gap;

	if (!is_call(s, object, SKLEARN_WRAPPER))
		return PICKLE_BEHIND_NOTHING;
	gap = sklearn_field(s, object, "numpy_array_alignment_bytes");
	if (sklearn_field(s, object, "shape") == PICKLE_NOTHING) {
		sklearn_wrong(s, "an array has no shape");
		return PICKLE_BEHIND_WRONG;
	}
	if (read_shape(s, sklearn_field(s, object, "shape"), &a) < 0 ||
	    read_type(s, sklearn_field(s, object, "dtype"), a.code) < 0)
		return PICKLE_BEHIND_WRONG;
	if (a.code[0] == 'O')
		return PICKLE_BEHIND_PICKLE;
	if (__builtin_mul_overflow((uint64_t)a.n, (uint64_t)element(a.code), bytes))
		*bytes = UINT64_MAX; /* more than the file has */
	return gap == PICKLE_NOTHING || sklearn_none(s, gap) ? PICKLE_BEHIND_BYTES : PICKLE_BEHIND_PADDED;
}

/* The parts of an array, in the order of the state of _reconstruct. False if it is not an array. */
static bool
find_parts(const struct sklearn *s, pickle_ref r, pickle_ref state[5], bool *fortran)
{
	const struct pickle_cell *value = is_call(s, r, SKLEARN_WRAPPER) ? pickle_first(&s->k, r) : NULL;
	pickle_ref args[4];

	if (value && !is_call(s, value->node, SKLEARN_ARRAY)) {
		state[1] = sklearn_field(s, r, "shape");
		state[2] = sklearn_field(s, r, "dtype");
		state[4] = value->node;
		*fortran = sklearn_field(s, r, "order") != PICKLE_NOTHING && pickle_is(&s->k, sklearn_field(s, r, "order"), "F");
		return state[1] != PICKLE_NOTHING;
	}
	r = value ? value->node : r;
	if (is_call(s, r, SKLEARN_BUFFER) && pickle_items(&s->k, node(s, r)->args, args, 4) == 4) {
		state[1] = args[2];
		state[2] = args[1];
		state[4] = args[0];
		*fortran = pickle_is(&s->k, args[3], "F");
		return true;
	}
	if (!is_call(s, r, SKLEARN_ARRAY) || node(s, r)->state == PICKLE_NOTHING ||
	    pickle_items(&s->k, node(s, r)->state, state, 5) != 5)
		return false;
	*fortran = node(s, state[3])->kind == PICKLE_BOOL && node(s, state[3])->u.i;
	return true;
}

int
sklearn_array(struct sklearn *s, pickle_ref r, struct sklearn_array *a)
{
	pickle_ref state[5];
	bool fortran;

	*a = (struct sklearn_array){ .list = PICKLE_NOTHING };
	if (!find_parts(s, r, state, &fortran))
		return sklearn_wrong(s, "an attribute that should be an array is not one");
	if (read_shape(s, state[1], a) < 0 || read_type(s, state[2], a->code) < 0)
		return -1;
	if (a->code[0] == 'O') {
		a->list = state[4];
		return pickle_items(&s->k, a->list, state, 0) == a->n
		           ? 0 : sklearn_wrong(s, "an array has another number of objects than its shape");
	}
	if (read_raw(s, state[4], &a->raw) < 0)
		return -1;
	if (a->raw.n > s->left)
		return sklearn_wrong(s, "its arrays have more bytes than the file");
	s->left -= a->raw.n;
	if (element(a->code) == 0 || a->raw.n / element(a->code) != a->n ||
	    a->raw.n % element(a->code))
		return sklearn_wrong(s, "an array has another number of bytes than its shape");
	return is_number(a->code) ? decode(s, a, fortran) : 0;
}

void
sklearn_array_free(struct sklearn_array *a)
{
	buf_free(&a->raw);
	free(a->v);
	a->v = NULL;
}

/* scalar(DTYPE, BYTES) of NumPy. */
static int
scalar(const struct sklearn *s, pickle_ref r, double *v)
{
	struct buf raw = { 0 };
	pickle_ref args[2];
	char code[8];
	int status = -1;

	if (pickle_items(&s->k, node(s, r)->args, args, 2) == 2 && read_type(s, args[0], code) == 0 &&
	    is_number(code) && read_raw(s, args[1], &raw) == 0 && raw.n == element(code)) {
		*v = value_at(code, raw.p);
		status = 0;
	}
	buf_free(&raw);
	return status;
}

int
sklearn_number(const struct sklearn *s, pickle_ref r, double *v)
{
	if (r == PICKLE_NOTHING)
		return -1;
	if (is_call(s, r, SKLEARN_SCALAR))
		return scalar(s, r, v);
	if (node(s, r)->kind == PICKLE_FLOAT)
		*v = node(s, r)->u.d;
	else if (node(s, r)->kind == PICKLE_INT || node(s, r)->kind == PICKLE_BOOL)
		*v = (double)node(s, r)->u.i;
	else
		return -1;
	return 0;
}
