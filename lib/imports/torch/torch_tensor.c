/* Tensors: from the arguments of the calls that build them to a descriptor and a view. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/le.h"
#include "core/num.h"
#include "imports/torch/torch.h"

#define WRAPPED 8 /* parameters around parameters */
#define ARGS 8

/* The arguments of a call that builds a tensor. */
struct call {
	int what;
	pickle_ref args[ARGS];
	size_t count;
};

static int
unreadable(const struct torch *t, const char *name, const char *what)
{
	return err_set(t->err, ERR_FORMAT, name, "%s", what);
}

/* True for a node that is a tensor by itself. */
static bool
is_direct(const struct torch *t, pickle_ref r)
{
	int what = pickle_what(&t->pickle, r);

	if (pickle_node(&t->pickle, r)->kind == PICKLE_PERSISTENT)
		return torch_is_named(t, r);
	return pickle_node(&t->pickle, r)->kind == PICKLE_CALL && what >= TORCH_REBUILD &&
	       what <= TORCH_NO_TENSOR;
}

/* True for a call of a class with a tensor, which makes a parameter of releases before 0.4. */
static bool
is_variable(const struct torch *t, pickle_ref r)
{
	const struct pickle_node *x = pickle_node(&t->pickle, r);
	pickle_ref first;

	return x->kind == PICKLE_CALL && pickle_what(&t->pickle, r) == TORCH_TENSOR_CLASS &&
	       pickle_items(&t->pickle, x->args, &first, 1) > 0 && is_direct(t, first);
}

bool
torch_is_tensor(const struct torch *t, pickle_ref r)
{
	return is_direct(t, r) || is_variable(t, r);
}

/* Attributes that are set later may change the values: Tensor.__setstate__ does so. Those of a
 * parameter before 0.4 are three: two flags and its hooks. */
static int
check_unchanged(const struct torch *t, pickle_ref r, const char *name)
{
	const struct pickle_node *x = pickle_node(&t->pickle, r);
	pickle_ref flags[3];

	if (x->kind == PICKLE_PERSISTENT)
		return 0;
	if (x->state == PICKLE_NOTHING && x->count == 0)
		return 0;
	if (x->count == 0 && pickle_what(&t->pickle, r) == TORCH_TENSOR_CLASS &&
	    pickle_items(&t->pickle, x->state, flags, 3) == 3 &&
	    pickle_node(&t->pickle, flags[0])->kind == PICKLE_BOOL &&
	    pickle_node(&t->pickle, flags[1])->kind == PICKLE_BOOL)
		return 0;
	return unreadable(t, name, "is changed by its pickle after it was built");
}

/* The arguments of _rebuild_from_type_v2: the function that builds the tensor, its class, the
 * function's arguments, the state. Only PyTorch's own classes are known to hold nothing else. */
static int
open_subclass(const struct torch *t, struct call *c, const char *name)
{
	const struct pickle *k = &t->pickle;

	if (c->count != 4 || pickle_what(k, c->args[0]) < TORCH_REBUILD ||
	    (pickle_what(k, c->args[0]) > TORCH_REBUILD_QUANTIZED &&
	     pickle_what(k, c->args[0]) != TORCH_SPARSE) || pickle_what(k, c->args[1]) != TORCH_TENSOR_CLASS)
		return unreadable(t, name, "belongs to a class of tensors that is not known");
	c->what = pickle_what(k, c->args[0]);
	c->count = pickle_items(k, c->args[2], c->args, ARGS);
	return 0;
}

/* Go through the parameters and classes around a tensor to the call that builds it. */
static int
open_call(const struct torch *t, pickle_ref r, struct call *c, const char *name)
{
	const struct pickle *k = &t->pickle;
	unsigned i;

	for (i = 0; i < WRAPPED; i++) {
		if (r == PICKLE_NOTHING || !torch_is_tensor(t, r))
			return unreadable(t, name, "is a parameter around something that is not a tensor");
		if (check_unchanged(t, r, name) < 0)
			return -1;
		if (pickle_node(k, r)->kind == PICKLE_PERSISTENT) {
			*c = (struct call){ .what = TORCH_NAMED, .args = { r }, .count = 1 };
			return 0;
		}
		c->what = pickle_what(k, r);
		c->count = pickle_items(k, pickle_node(k, r)->args, c->args, ARGS);
		if (c->what == TORCH_SUBCLASS)
			return open_subclass(t, c, name);
		if (c->what != TORCH_PARAMETER && c->what != TORCH_TENSOR_CLASS)
			return 0;
		r = c->args[0];
	}
	return unreadable(t, name, "is a parameter around too many others");
}

int
torch_read_numbers(const struct torch *t, pickle_ref r, const char *name, uint64_t *v, size_t *n)
{
	const struct pickle *k = &t->pickle;
	pickle_ref items[TENSOR_DIMS];
	size_t i;

	/* torch.Size((2, 3)) */
	if (r != PICKLE_NOTHING && pickle_node(k, r)->kind == PICKLE_CALL &&
	    pickle_what(k, r) == TORCH_SIZE && pickle_items(k, pickle_node(k, r)->args, items, 1) == 1)
		r = items[0];
	if (r == PICKLE_NOTHING || pickle_node(k, r)->kind != PICKLE_TUPLE)
		return err_set(t->err, ERR_CORRUPT, name, "has no shape");
	*n = pickle_items(k, r, items, TENSOR_DIMS);
	if (*n > TENSOR_DIMS)
		return err_set(t->err, ERR_FORMAT, name, "has %zu dimensions, at most %u are read", *n,
		               TENSOR_DIMS);
	for (i = 0; i < *n; i++) {
		if (pickle_node(k, items[i])->kind != PICKLE_INT || pickle_node(k, items[i])->u.i < 0)
			return err_set(t->err, ERR_CORRUPT, name, "has a shape or stride that is "
			               "negative or not a number");
		v[i] = (uint64_t)pickle_node(k, items[i])->u.i;
	}
	return 0;
}

/* A tensor may be marked as conjugated or negated, with its values stored unchanged. */
static int
read_marks(const struct torch *t, pickle_ref marks, const char *name, struct torch_view *v)
{
	const struct pickle *k = &t->pickle;
	const struct pickle_cell *c, *value;
	bool known, set;

	if (marks == PICKLE_NOTHING || pickle_node(k, marks)->kind == PICKLE_NONE)
		return 0;
	if (pickle_node(k, marks)->kind != PICKLE_DICT)
		return unreadable(t, name, "has marks that are not known");
	for (c = pickle_first(k, marks); c; c = pickle_next(k, value)) {
		value = pickle_next(k, c);
		set = pickle_node(k, value->node)->kind != PICKLE_BOOL || pickle_node(k, value->node)->u.i;
		known = pickle_node(k, value->node)->kind == PICKLE_BOOL;
		if (set && known && pickle_is(k, c->node, "conj")) {
			v->negated[1] ^= true;
		} else if (set && known && pickle_is(k, c->node, "neg")) {
			v->negated[0] ^= true;
			v->negated[1] ^= true;
		} else if (set) {
			return unreadable(t, name, "has marks that are not known");
		}
	}
	return 0;
}

/* Values that change their sign are not those of the file. */
static int
check_signs(const struct torch *t, const struct torch_type *type, const struct dtype *dtype,
            const char *name, struct torch_view *v)
{
	static const char *const signs[] = { "F64", "F32", "F16", "BF16", "C64" };
	size_t i;

	v->complex = type->parts == 2 || strcmp(dtype->name, "C64") == 0;
	v->number = v->complex ? type->bytes / 2 : type->bytes;
	if (!v->negated[0] && !v->negated[1])
		return 0;
	v->plain = false;
	for (i = 0; i < sizeof signs / sizeof *signs; i++)
		if (strcmp(dtype->name, signs[i]) == 0 && (v->complex || v->negated[0]))
			return 0;
	return unreadable(t, name, "is marked as negated or conjugated, which its type cannot be");
}

/* ---- types ---- */

/* The type of a quantized tensor. With one scale, qint8 is Q8_TENSOR, whose head this fills: see
 * apr-stream(5). Other tensors have numbers, and a relation. */
static const struct dtype *
quantized_type(struct torch *t, const struct call *c, const struct torch_type *type,
               const uint64_t *dims, size_t n, const char *name, struct torch_view *v)
{
	const struct pickle *k = &t->pickle;
	pickle_ref q[4];
	const size_t count = pickle_items(k, c->args[4], q, 4);
	const bool one = count == 3 && pickle_what(k, q[0]) == TORCH_SCHEME &&
	                 pickle_is(k, pickle_name_of(k, q[0]), "per_tensor_affine");
	const bool many = count == 4 && pickle_what(k, q[0]) == TORCH_SCHEME &&
	                  (pickle_is(k, pickle_name_of(k, q[0]), "per_channel_affine") ||
	                   pickle_is(k, pickle_name_of(k, q[0]), "per_channel_affine_float_qparams"));
	float scale;

	if (t->scaling || !type->as || type->parts || !(one || many)) {
		err_set(t->err, ERR_FORMAT, name, "is quantized as %s in a way that no type here "
		        "holds", type->dtype);
		err_hint(t->err, "PyTorch's dequantize() makes it a plain tensor");
		return NULL;
	}
	if (!one || strcmp(type->as, "I8") != 0)
		return torch_relate(t, type, q, count, dims, n, name, v) < 0 ? NULL
		                                                            : dtype_by_name(type->as);
	scale = pickle_node(k, q[1])->kind == PICKLE_FLOAT ? (float)pickle_node(k, q[1])->u.d : NAN;
	if (!isfinite(scale) || pickle_node(k, q[2])->kind != PICKLE_INT ||
	    pickle_node(k, q[2])->u.i < -128 || pickle_node(k, q[2])->u.i > 127) {
		err_set(t->err, ERR_CORRUPT, name, "has a scale or zero point that cannot be");
		return NULL;
	}
	le_f32_put(v->head, scale);
	le32_put(v->head + 4, (uint32_t)(int32_t)pickle_node(k, q[2])->u.i);
	return dtype_by_name("Q8_TENSOR");
}

const struct dtype *
torch_plain_type(struct torch *t, const struct torch_type *type, const char *name, uint64_t *dims,
                 size_t *n, struct torch_view *v)
{
	size_t i;

	if (type->type)
		return dtype_by_name(type->type);
	if (type->parts != 2 || *n == TENSOR_DIMS) {
		err_set(t->err, ERR_FORMAT, name, "has the type %s, which is not read", type->dtype);
		return NULL;
	}
	/* Two numbers along a dimension of their own. Strides of empty tensors may wrap. */
	for (i = 0; i < *n; i++)
		v->strides[i] = (int64_t)((uint64_t)v->strides[i] * 2);
	v->strides[*n] = 1;
	dims[(*n)++] = 2;
	v->element /= 2;
	torch_relate_type(t, type, v);
	return dtype_by_name(type->as);
}

/* ---- views ---- */

/* Prove that the values lie inside their storage. */
static int
prove_view(const struct torch *t, const char *name, const uint64_t *dims,
           const uint64_t *strides, size_t n, uint64_t offset, const struct torch_storage *s,
           struct torch_view *v)
{
	uint64_t last = offset, step, bytes, expected = 1;
	bool empty = false;
	size_t i;
	int r = 0;

	v->plain = true;
	v->deflated = s->deflated;
	v->stored = s->stored;
	for (i = n; i-- > 0;) {
		v->strides[i] = (int64_t)strides[i];
		if (dims[i] == 0) {
			empty = true;
			continue;
		}
		if (dims[i] > 1 && (uint64_t)v->strides[i] != expected)
			v->plain = false;
		r |= num_mul(dims[i] - 1, (uint64_t)v->strides[i], &step);
		r |= r < 0 ? r : num_add(last, step, &last);
		r |= r < 0 ? r : num_mul(expected, dims[i], &expected);
	}
	v->at = s->at;
	if (empty) {
		v->plain = true;
		return 0;
	}
	if (r < 0 || num_add(last, 1, &last) < 0 || num_mul(last, v->element, &bytes) < 0 ||
	    bytes > s->bytes)
		return err_set(t->err, ERR_CORRUPT, name, "reaches past the end of its storage of %"
		               PRIu64 " bytes", s->bytes);
	v->at += offset * v->element;
	return 0;
}

int
torch_place_view(const struct torch *t, const char *name, const struct torch_type *type,
                 const uint64_t *dims, const uint64_t *strides, size_t n, uint64_t offset,
                 const struct torch_storage *s, struct torch_view *v)
{
	*v = (struct torch_view){ .element = type->bytes, .number = type->bytes };
	return prove_view(t, name, dims, strides, n, offset, s, v);
}

struct tensor *
torch_strided(struct torch *t, const char *name, size_t name_bytes,
              const struct torch_type *type, struct torch_place *p,
              const struct torch_storage *s, struct torch_view *v)
{
	const struct dtype *dtype;

	if (torch_place_view(t, name, type, p->dims, p->strides, p->n, p->offset, s, v) < 0 ||
	    !(dtype = torch_plain_type(t, type, name, p->dims, &p->n, v)))
		return NULL;
	v->complex = type->parts == 2 || strcmp(dtype->name, "C64") == 0;
	v->number = v->complex ? type->bytes / 2 : type->bytes;
	return tensor_new(name, name_bytes, dtype, (unsigned)p->n, p->dims, TENSOR_OWN_SIZE,
	                  t->source.name, t->err);
}

struct tensor *
torch_tensor(struct torch *t, pickle_ref r, const char *name, size_t name_bytes,
             struct torch_view *v)
{
	const struct pickle *k = &t->pickle;
	uint64_t dims[TENSOR_DIMS], strides[TENSOR_DIMS];
	const struct torch_type *type;
	const struct dtype *dtype;
	struct torch_storage s;
	struct call c;
	size_t n, m;

	*v = (struct torch_view){ 0 };
	if (open_call(t, r, &c, name) < 0)
		return NULL;
	if (c.what == TORCH_NAMED)
		return torch_named(t, c.args[0], name, name_bytes, v);
	if (c.what == TORCH_SPARSE)
		return torch_sparse(t, c.args[0], c.args[1], name, name_bytes, v);
	if (c.what == TORCH_NO_TENSOR) {
		unreadable(t, name, "is a nested or virtual tensor, which is not read");
		return NULL;
	}
	if (c.count < 4 || (c.what == TORCH_REBUILD_QUANTIZED && c.count < 5) ||
	    pickle_node(k, c.args[1])->kind != PICKLE_INT || pickle_node(k, c.args[1])->u.i < 0) {
		err_set(t->err, ERR_CORRUPT, name, "is built from too few or wrong arguments");
		return NULL;
	}
	if (torch_find_storage(t, c.args[0], name, &type, &s) < 0 ||
	    torch_read_numbers(t, c.args[2], name, dims, &n) < 0 ||
	    torch_read_numbers(t, c.args[3], name, strides, &m) < 0)
		return NULL;
	if (n != m) {
		err_set(t->err, ERR_CORRUPT, name, "has %zu dimensions and %zu strides", n, m);
		return NULL;
	}
	if (c.what == TORCH_REBUILD_TYPED)
		type = torch_type_of(k, c.args[6]);
	if (!type) {
		unreadable(t, name, "has a type that is not known");
		return NULL;
	}
	if (torch_place_view(t, name, type, dims, strides, n,
	                     (uint64_t)pickle_node(k, c.args[1])->u.i, &s, v) < 0)
		return NULL;
	dtype = c.what == TORCH_REBUILD_QUANTIZED
	            ? quantized_type(t, &c, type, dims, n, name, v)
	            : torch_plain_type(t, type, name, dims, &n, v);
	if (!dtype ||
	    read_marks(t, c.what == TORCH_REBUILD ? c.args[6]
	                  : c.what == TORCH_REBUILD_TYPED ? c.args[7] : PICKLE_NOTHING, name, v) < 0 ||
	    check_signs(t, type, dtype, name, v) < 0)
		return NULL;
	return tensor_new(name, name_bytes, dtype, (unsigned)n, dims, TENSOR_OWN_SIZE,
	                  t->source.name, t->err);
}
