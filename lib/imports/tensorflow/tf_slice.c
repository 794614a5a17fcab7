/* Variables that are divided into slices.
 *
 * The key of a slice has the parts: the number 0, the name, the number of dimensions, and start and
 * length of each; the length is -1 for a whole dimension. They are coded so that keys sort:
 *
 *     number   a byte with the count of its bytes, then these in big-endian order; 0 has none
 *     text     00 becomes 00 ff, ff becomes ff 00, and 00 01 ends it
 *     signed   n bytes in big-endian order, for values from -2^(7n - 1) to 2^(7n - 1) - 1; the
 *              first n bits are inverted: ones for values that are not negative
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "imports/tensorflow/tensorflow.h"

/* ---- reading ---- */

static int
wrong(struct tensorflow *x, const struct tf_entry *t, const char *what)
{
	return err_set(x->import.err, ERR_CORRUPT, t->key, "%s", what);
}

/* TensorSliceProto.Extent */
static int
read_extent(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f,
            const struct tf_entry *t, unsigned d, struct tf_slice *s)
{
	struct protobuf_field g;
	struct protobuf m;
	uint64_t end;
	int r;

	s->length[d] = t->dims[d];
	s->whole |= 1u << d;
	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0) {
		if (g.form != PROTOBUF_VARINT || g.number == 0 || g.number > 2)
			continue;
		*(g.number == 1 ? &s->start[d] : &s->length[d]) = g.value;
		if (g.number == 2)
			s->whole &= ~(1u << d);
	}
	if (r == 0 && (num_add(s->start[d], s->length[d], &end) < 0 || end > t->dims[d]))
		return wrong(x, t, "has a slice that reaches beyond its shape");
	return r;
}

static int
read_slice(struct tensorflow *x, const struct protobuf *outer, const struct protobuf_field *f,
           const struct tf_entry *t, struct tf_slice *s)
{
	struct protobuf_field g;
	struct protobuf m;
	unsigned d = 0;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0) {
		if (g.number != 1 || g.form != PROTOBUF_BYTES)
			continue;
		if (d == t->ndim)
			return wrong(x, t, "has a slice of more dimensions than its shape");
		if (read_extent(x, &m, &g, t, d++, s) < 0)
			return -1;
	}
	return r == 0 && d < t->ndim ? wrong(x, t, "has a slice of fewer dimensions than its shape") : r;
}

int
tf_slices_read(struct tensorflow *x, struct tf_entry *t, const struct protobuf *m)
{
	struct protobuf again = *m;
	struct protobuf_field f;
	struct tf_slices *list;
	size_t count = 0;

	while (protobuf_next(&again, &f) > 0)
		count += f.number == 7;
	if (count > TF_SLICES)
		return wrong(x, t, "has too many slices");
	list = calloc(1, sizeof *list + count * sizeof *list->list);
	if (!list)
		return err_memory(x->import.err);
	list->next = x->slices;
	x->slices = t->slices = list;
	list->ndim = t->ndim;
	memcpy(list->dims, t->dims, sizeof list->dims);
	again = *m;
	while (list->count < count && protobuf_next(&again, &f) > 0)
		if (f.number == 7 && read_slice(x, &again, &f, t, &list->list[list->count++]) < 0)
			return -1;
	return x->import.err->code == ERR_NONE ? 0 : -1;
}

/* ---- keys ---- */

static void
put_text(struct buf *b, const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		buf_u8(b, (uint8_t)p[i]);
		if (p[i] == 0)
			buf_u8(b, 0xff);
		else if ((uint8_t)p[i] == 0xff)
			buf_u8(b, 0);
	}
	buf_u8(b, 0);
	buf_u8(b, 1);
}

/* v is not negative, or -1. */
static void
put_signed(struct buf *b, int64_t v)
{
	uint8_t bytes[10];
	unsigned n = 1, i;

	while (n < 10 && v >= (int64_t)1 << (7 * n - 1))
		n++;
	for (i = 0; i < 10; i++)
		bytes[9 - i] = (uint8_t)(i < 8 ? (uint64_t)v >> 8 * i : v < 0 ? 0xff : 0);
	for (i = 0; i < n; i++)
		bytes[10 - n + i / 8] ^= (uint8_t)(0x80 >> i % 8);
	buf_put(b, bytes + 10 - n, n);
}

static void
put_key(struct buf *b, const struct tf_entry *t, const struct tf_slice *s)
{
	unsigned d;

	buf_clear(b);
	buf_u8(b, 0);
	put_text(b, t->key, t->key_bytes);
	if (t->ndim > 0)
		buf_u8(b, 1);
	buf_u8(b, (uint8_t)t->ndim);
	for (d = 0; d < t->ndim; d++) {
		put_signed(b, (int64_t)s->start[d]);
		put_signed(b, s->whole >> d & 1 ? -1 : (int64_t)s->length[d]);
	}
}

/* ---- proof ---- */

/* Finds the entry with the values of a slice. */
static int
find_slice(struct tensorflow *x, const struct tf_entry *t, struct tf_slice *s, struct buf *key,
           uint64_t *items)
{
	struct tf_entry *e;
	unsigned d;

	put_key(key, t, s);
	if (!buf_ok(key))
		return err_memory(x->import.err);
	e = tf_find(x, (const char *)key->p, key->n);
	if (!e)
		return wrong(x, t, "has a slice whose values are missing");
	if (e->full)
		return wrong(x, t, "has a slice twice");
	e->full = true;
	for (d = 0; d < t->ndim && e->ndim == t->ndim && e->dims[d] == s->length[d]; d++)
		;
	if (e->ndim != t->ndim || d < t->ndim || e->type != t->type)
		return wrong(x, t, "has a slice of another shape or type than its values");
	s->p = tf_values(x, e);
	s->map = e->bytes ? x->shards[e->shard] : NULL;
	s->bytes = e->bytes;
	s->crc = e->crc;
	return num_add(*items, e->items, items) < 0 ? wrong(x, t, "has slices of too many values") : 0;
}

static bool
overlap(const struct tf_slices *l, const struct tf_slice *a, const struct tf_slice *b)
{
	unsigned d;

	for (d = 0; d < l->ndim; d++)
		if (a->start[d] >= b->start[d] + b->length[d] || b->start[d] >= a->start[d] + a->length[d])
			return false;
	return true;
}

static int
by_start(const void *a, const void *b, void *list)
{
	const struct tf_slice *s = a, *t = b;
	const struct tf_slices *l = list;
	unsigned d;

	for (d = 0; d < l->ndim; d++)
		if (s->start[d] != t->start[d])
			return s->start[d] < t->start[d] ? -1 : 1;
	return 0;
}

/* Slices are sorted by their start: those that begin behind the end of one in the first dimension
 * cannot overlap it. */
static int
prove_apart(struct tensorflow *x, const struct tf_entry *t)
{
	const struct tf_slices *l = t->slices;
	const struct tf_slice *s = l->list;
	size_t i, k;

	for (i = 0; i < l->count; i++)
		for (k = i + 1; k < l->count && l->ndim > 0 &&
		     s[k].start[0] < s[i].start[0] + s[i].length[0]; k++) {
			if (++x->compared > TF_COMPARED)
				return wrong(x, t, "has too many slices");
			if (overlap(l, &s[i], &s[k]))
				return wrong(x, t, "has slices that overlap");
		}
	return 0;
}

/* A variable is nearly always divided in one dimension, and then the slice of a place is near that
 * of the place before. In a grid it can be any, so there may be only a few. */
static bool
is_large_grid(const struct tf_slices *l)
{
	unsigned d, divided = 0;
	size_t i;

	for (d = 0; d < l->ndim; d++) {
		for (i = 0; i < l->count && l->list[i].length[d] == l->dims[d]; i++)
			;
		divided += i < l->count;
	}
	return divided > 1 && l->count > TF_GRID;
}

int
tf_slices_prove(struct tensorflow *x, struct tf_entry *t)
{
	struct tf_slices *l = t->slices;
	struct buf key = { 0 };
	uint64_t items = 0;
	size_t i;
	int r = 0;

	l->width = t->type->bytes;
	for (i = 0; r == 0 && i < l->count; i++)
		r = find_slice(x, t, &l->list[i], &key, &items);
	buf_free(&key);
	if (r < 0)
		return -1;
	if (is_large_grid(l))
		return err_set(x->import.err, ERR_CORRUPT, t->key, "is divided in more than one dimension, "
		               "into %zu slices; at most %d are read", l->count, TF_GRID);
	if (items != t->items)
		return wrong(x, t, "has slices that do not fill its shape");
	qsort_r(l->list, l->count, sizeof *l->list, by_start, l);
	return prove_apart(x, t);
}

/* ---- values ---- */

#define RELEASE (1u << 22) /* bytes that are read before their pages are returned */

static bool
holds(const struct tf_slices *l, const struct tf_slice *s, const uint64_t *at)
{
	unsigned d;

	for (d = 0; d < l->ndim; d++)
		if (at[d] - s->start[d] >= s->length[d])
			return false;
	return true;
}

/* The slice that holds a place: near the one that was used last. Every place has one. */
static struct tf_slice *
find(struct tf_slices *l, const uint64_t *at)
{
	size_t step;

	for (step = 0; step < l->count; step++) {
		const size_t after = l->last + step, before = l->last - step;

		if (after < l->count && holds(l, &l->list[after], at))
			l->last = after;
		else if (step <= l->last && holds(l, &l->list[before], at))
			l->last = before;
		else
			continue;
		break;
	}
	return &l->list[l->last];
}

/* The place of a value in a slice; *run: the values from there that follow one another in both the
 * slice and the variable. */
static uint64_t
place_in(const struct tf_slices *l, const struct tf_slice *s, const uint64_t *at, uint64_t *run)
{
	uint64_t place = 0, inner = 1;
	bool joined = true;
	unsigned d;

	*run = 1;
	for (d = l->ndim; d-- > 0;) {
		const uint64_t in = at[d] - s->start[d];

		place += in * inner;
		if (joined)
			*run = (s->length[d] - in - 1) * inner + *run;
		joined &= s->length[d] == l->dims[d];
		inner *= s->length[d];
	}
	return place;
}

/* Returns the pages of a slice that were read. */
static void
release(struct tf_slice *s, uint64_t end)
{
	if (end < s->released)
		s->released = 0;
	if (end - s->released < RELEASE || s->map->fd < 0)
		return;
	map_release(s->map, s->p + s->released, (size_t)(end - s->released));
	s->released = end;
}

void
tf_slices_make(const struct import_place *place, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct tf_entry *t = place->data;
	struct tf_slices *l = t->slices;
	uint64_t at[TENSOR_DIMS], rest, run, from;
	struct tf_slice *s;
	unsigned d;

	for (; count > 0; count -= run, first += run, to += run * l->width) {
		for (rest = first, d = l->ndim; d-- > 0; rest /= l->dims[d])
			at[d] = rest % l->dims[d];
		s = find(l, at);
		from = place_in(l, s, at, &run);
		run = num_min(run, count);
		memcpy(to, s->p + from * l->width, (size_t)(run * l->width));
		release(s, (from + run) * l->width);
	}
}
