/* Sparse tensors: their levels, and the list of their values for imports/dense.h. */
#include "imports/tflite/tflite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"

enum { TRAVERSAL, BLOCK_MAP, METADATA };
enum { DIM_FORMAT, DIM_SIZE, DIM_SEGMENTS, DIM_INDICES = 4 };
enum { DENSE, COMPRESSED };

/* A level of the traversal. */
struct level {
	bool sparse, block;
	unsigned dim;           /* of the tensor */
	uint64_t size;          /* indices are less */
	struct numbers {
		const uint8_t *p;
		uint64_t count;
		unsigned bytes;
	} segments, indices;    /* if it is sparse */
	uint64_t begin, at, end; /* of the nodes below the current one of the level above */
};

struct tflite_sparse {
	struct tflite_sparse *next;
	struct tflite *in;
	char *name;
	struct level levels[2 * TENSOR_DIMS];
	unsigned count, ndim;
	uint64_t dims[TENSOR_DIMS], block[TENSOR_DIMS];
	bool started;
	struct import_place stored; /* the values, with what their type needs */
	import_make *widen;      /* NULL: the bytes are the values */
	struct dense dense;
};

static int
wrong(const struct tflite_sparse *s, const char *what)
{
	return err_set(s->in->import.err, ERR_CORRUPT, s->name, "is a sparse tensor %s", what);
}

/* ---- the list ---- */

/* A negative number is larger than all sizes. */
static uint64_t
number_at(const struct numbers *v, uint64_t i)
{
	return v->bytes == 1 ? v->p[i] : v->bytes == 2 ? le16(v->p + 2 * i)
	                                               : (uint64_t)(int64_t)(int32_t)le32(v->p + 4 * i);
}

static void
rewind_list(void *owner)
{
	((struct tflite_sparse *)owner)->started = false;
}

/* Begin with the nodes of a level below node `above` of the one before. */
static int
enter(const struct tflite_sparse *s, struct level *l, uint64_t above)
{
	if (!l->sparse) {
		l->begin = l->at = above * l->size;
		l->end = l->at + l->size;
		return 0;
	}
	l->begin = l->at = number_at(&l->segments, above);
	l->end = number_at(&l->segments, above + 1);
	return l->at <= l->end && l->end <= l->indices.count
	           ? 0 : wrong(s, "whose segments are not in order");
}

/* The index of the level's current node, or UINT64_MAX. */
static uint64_t
index_of(const struct level *l)
{
	uint64_t v;

	if (!l->sparse)
		return l->at - l->begin;
	v = number_at(&l->indices, l->at);
	return v < l->size && (l->at == l->begin || v > number_at(&l->indices, l->at - 1))
	           ? v : UINT64_MAX;
}

/* Find the next node of the last level. */
static int
step(struct tflite_sparse *s)
{
	unsigned i = s->started ? s->count - 1 : 0;

	if (s->started)
		s->levels[i].at++;
	else if (enter(s, &s->levels[0], 0) < 0)
		return -1;
	s->started = true;
	for (;;)
		if (s->levels[i].at >= s->levels[i].end) {
			if (i == 0)
				return wrong(s, "whose segments are not in order");
			s->levels[--i].at++;
		} else if (i + 1 == s->count) {
			return 0;
		} else {
			i++;
			if (enter(s, &s->levels[i], s->levels[i - 1].at) < 0)
				return -1;
		}
}

static int
next_value(void *owner, uint64_t *slot, struct err *e)
{
	struct tflite_sparse *s = owner;
	uint64_t place[TENSOR_DIMS] = { 0 }, v;
	const struct level *l;
	unsigned i;

	(void)e; /* the source holds it */
	if (step(s) < 0)
		return -1;
	for (i = 0; i < s->count; i++) {
		l = &s->levels[i];
		v = index_of(l);
		if (v == UINT64_MAX)
			return wrong(s, "whose indices are out of range, not in order, or not different");
		place[l->dim] = l->block ? place[l->dim] * s->block[l->dim] + v : v;
	}
	for (*slot = 0, i = 0; i < s->ndim; i++)
		*slot = *slot * s->dims[i] + place[i];
	return 0;
}

static void
copy_values(void *owner, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct tflite_sparse *s = owner;

	if (s->widen)
		s->widen(&s->stored, first, count, to);
	else
		memcpy(to, s->stored.p + first * s->dense.element, (size_t)(count * s->dense.element));
}

static void
release(void *owner)
{
	const struct tflite_sparse *s = owner;

	whole_release(&s->in->import.whole, s->in->import.p, s->in->import.n);
}

/* ---- levels ---- */

/* A vector of numbers of 4, 2 or 1 bytes, which is a union of tables. */
static int
read_numbers(struct tflite_sparse *s, const struct flat_table *t, unsigned field, struct numbers *v)
{
	static const unsigned bytes[] = { 0, 4, 2, 1 };
	struct flat *f = &s->in->flat;
	const uint64_t type = flat_number(f, t, field, 1, 0);
	const struct flat_table inner = flat_inner(f, t, field + 1);
	struct flat_vector list;

	if (type == 0 || type > 3)
		return wrong(s, "without segments or indices");
	list = flat_list(f, &inner, 0, bytes[type]);
	*v = (struct numbers){ list.p, list.count, bytes[type] };
	return 0;
}

/* Set the dimensions of all levels, and the size of blocks: the traversal has all dimensions in
 * any order, then all dimensions of blocks in any order. */
static int
order_levels(struct tflite_sparse *s, const struct flat_table *t)
{
	struct flat *f = &s->in->flat;
	const struct flat_vector order = flat_list(f, t, TRAVERSAL, 4), map = flat_list(f, t, BLOCK_MAP, 4);
	uint64_t seen = 0, blocked = 0, v;
	unsigned i;

	if (s->ndim == 0 || map.count > s->ndim || order.count != s->ndim + map.count)
		return wrong(s, "whose traversal does not fit its shape");
	s->count = (unsigned)order.count;
	for (i = 0; i < s->count; i++) {
		v = le32(order.p + 4 * i);
		if (v >= s->count || seen >> v & 1 || (v < s->ndim) != (i < s->ndim))
			return wrong(s, "whose traversal does not fit its shape");
		seen |= UINT64_C(1) << v;
		s->levels[i].block = i >= s->ndim;
		if (s->levels[i].block)
			v = le32(map.p + 4 * (v - s->ndim));
		if (v >= s->ndim || (s->levels[i].block && blocked >> v & 1))
			return wrong(s, "whose blocks do not fit its shape");
		blocked |= s->levels[i].block ? UINT64_C(1) << v : 0;
		s->levels[i].dim = (unsigned)v;
	}
	return 0;
}

/* Read a level; *nodes is their number above it, then in it. */
static int
read_level(struct tflite_sparse *s, struct level *l, const struct flat_table *t, uint64_t *nodes)
{
	struct flat *f = &s->in->flat;
	const uint64_t format = flat_number(f, t, DIM_FORMAT, 1, DENSE);

	if (format == DENSE)
		return flat_number(f, t, DIM_SIZE, 4, 0) != l->size || num_mul(*nodes, l->size, nodes) < 0
		           ? wrong(s, "whose levels do not fit its shape") : 0;
	if (format != COMPRESSED || l->block)
		return wrong(s, "with a level of unknown form");
	l->sparse = true;
	if (read_numbers(s, t, DIM_SEGMENTS, &l->segments) < 0 ||
	    read_numbers(s, t, DIM_INDICES, &l->indices) < 0)
		return -1;
	if (l->segments.count == 0 || l->segments.count - 1 != *nodes ||
	    number_at(&l->segments, 0) != 0 || number_at(&l->segments, *nodes) != l->indices.count)
		return wrong(s, "whose segments do not fit its levels");
	*nodes = l->indices.count;
	return 0;
}

static int
read_levels(struct tflite_sparse *s, const struct flat_table *t, uint64_t *nodes)
{
	struct flat *f = &s->in->flat;
	const struct flat_vector list = flat_list(f, t, METADATA, 4);
	struct flat_table level;
	uint64_t size;
	unsigned i;

	if (order_levels(s, t) < 0)
		return -1;
	if (list.count != s->count)
		return wrong(s, "whose levels do not fit its shape");
	for (i = 0; i < s->ndim; i++)
		s->block[i] = 1;
	for (i = s->ndim; i < s->count; i++) {
		level = flat_member(f, &list, i);
		size = flat_number(f, &level, DIM_SIZE, 4, 0);
		if (size == 0 || s->dims[s->levels[i].dim] % size)
			return wrong(s, "whose blocks do not fit its shape");
		s->block[s->levels[i].dim] = s->levels[i].size = size;
	}
	for (*nodes = 1, i = 0; i < s->count; i++) {
		struct level *l = &s->levels[i];

		level = flat_member(f, &list, i);
		if (!l->block)
			l->size = s->dims[l->dim] / s->block[l->dim];
		if (read_level(s, l, &level, nodes) < 0)
			return -1;
	}
	return 0;
}

/* All that --dense makes is bounded. */
static int
add_up(struct tflite_sparse *s, uint64_t values)
{
	struct tflite *x = s->in;
	uint64_t bytes;

	if (num_mul(values, s->dense.element, &bytes) < 0 ||
	    num_add(x->dense_bytes, bytes, &x->dense_bytes) < 0 ||
	    (x->dense_bytes > DENSE_MORE &&
	     (x->dense_bytes - DENSE_MORE) / DENSE_COPIES > x->import.n))
		return import_fail(&x->import, ERR_CORRUPT, "has sparse tensors of more than %" PRIu64
		                   " bytes in a file of %" PRIu64, DENSE_MORE, x->import.n);
	return 0;
}

int
tflite_sparse(struct tflite *x, const struct tflite_tensor *t, const char *name,
              const struct tflite_shape *shape, unsigned bits, struct import_place *place)
{
	const struct flat_table table = flat_inner(&x->flat, &t->table, TENSOR_SPARSITY);
	struct tflite_sparse *s = mem_array(1, sizeof *s);
	uint64_t nodes = 0, stored;

	if (!s)
		return err_memory(x->import.err);
	s->next = x->sparse;
	x->sparse = s;
	s->in = x;
	s->ndim = shape->ndim;
	memcpy(s->dims, shape->dims, sizeof s->dims);
	s->stored = *place;
	s->widen = place->make;
	s->name = mem_text(name, strlen(name));
	if (!s->name)
		return err_memory(x->import.err);
	if (read_levels(s, &table, &nodes) < 0 || tflite_check(x) < 0)
		return -1;
	if (num_mul(nodes, bits, &stored) < 0 || num_add(stored, 7, &stored) < 0 ||
	    stored / 8 != t->bytes)
		return err_set(x->import.err, ERR_CORRUPT, name, "has %" PRIu64 " bytes in its buffer "
		               "for %" PRIu64 " values of a sparse tensor", t->bytes, nodes);
	s->dense = (struct dense){ .owner = s, .name = s->name, .slots = shape->values, .run = 1,
		.runs = nodes, .element = bits < 8 ? 1 : bits / 8, .rewind = rewind_list,
		.next = next_value, .values = copy_values, .release = release };
	place->make = tflite_make_dense;
	place->in = 0;
	place->out = s->dense.element;
	place->data = s;
	return add_up(s, shape->values);
}

/* ---- values ---- */

void
tflite_make_dense(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	struct tflite_sparse *s = (struct tflite_sparse *)(uintptr_t)x->data;

	(void)first; /* values are asked for in order */
	dense_read(&s->dense, count, to);
}

int
tflite_begin(struct import *im, struct import_place *place)
{
	struct tflite *x = (struct tflite *)im;

	if (place->make != tflite_make_dense)
		return 0;
	if (x->sparse_now)
		dense_end(&x->sparse_now->dense);
	x->sparse_now = (struct tflite_sparse *)(uintptr_t)place->data;
	return dense_begin(&x->sparse_now->dense, im->err);
}

void
tflite_sparse_free(struct tflite *x)
{
	struct tflite_sparse *s;

	for (; (s = x->sparse); free(s)) {
		x->sparse = s->next;
		dense_end(&s->dense);
		free(s->name);
	}
}
