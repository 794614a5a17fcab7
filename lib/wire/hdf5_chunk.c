/* Chunks of a dataset, in a B-tree of version 1. */
#include "wire/hdf5.h"

#include <inttypes.h>
#include <string.h>

#include "core/le.h"
#include "core/num.h"

#define LEVELS 16 /* maximum height of a B-tree */
#define TREE_HEAD 24

/* A walk through the chunks of a dataset. */
struct chunks {
	struct hdf5 *h;
	const struct hdf5_type *type;
	const struct hdf5_space *space;
	const struct hdf5_data *data;
	uint64_t last[HDF5_DIMS]; /* offsets of the last chunk */
	uint64_t count;
	uint8_t *to;              /* of all values; NULL: check only */
	struct buf pair[2];
};

/* Chunks come in the order of their offsets, each once. */
static int
check_offsets(struct chunks *c, const uint8_t *offsets)
{
	const unsigned ndim = c->space->ndim;
	bool after = c->count == 0;
	uint64_t at;
	unsigned i;

	for (i = 0; i < ndim; i++) {
		at = le64(offsets + 8 * i);
		if (at % c->data->chunk[i] || at >= c->space->dims[i] || (!after && at < c->last[i]))
			return hdf5_fail(c->h, ERR_CORRUPT, "has a chunk outside its dataset, or out of order");
		after |= at > c->last[i];
		c->last[i] = at;
	}
	return after ? 0 : hdf5_fail(c->h, ERR_CORRUPT, "has a chunk twice");
}

/* Copy a chunk to its place, row by row; what lies beyond the dataset's edge is left out. */
static void
copy_chunk(const struct chunks *c, const uint8_t *p)
{
	const unsigned ndim = c->space->ndim, element = c->type->bytes;
	const uint64_t *chunk = c->data->chunk, *dims = c->space->dims;
	const uint64_t row = ndim ? chunk[ndim - 1] : 1;
	uint64_t index[HDF5_DIMS] = { 0 }, at, n;
	unsigned i, k;

	do {
		n = ndim ? num_min(row, dims[ndim - 1] - c->last[ndim - 1]) : 1;
		for (i = 0, at = 0; i < ndim; i++) {
			at = at * dims[i] + c->last[i] + index[i];
			n = c->last[i] + index[i] < dims[i] ? n : 0;
		}
		if (n)
			memcpy(c->to + at * element, p, (size_t)n * element);
		p += row * element;
		for (k = ndim ? ndim - 1 : 0; k > 0 && ++index[k - 1] == chunk[k - 1]; k--)
			index[k - 1] = 0;
	} while (k > 0);
}

/* A chunk: its stored size, a mask of filters that were not used, offsets; the address. */
static int
use_chunk(struct chunks *c, const uint8_t *key, uint64_t at)
{
	struct hdf5 *h = c->h;
	uint64_t n = le32(key);
	const uint8_t *p;

	if (check_offsets(c, key + 8) < 0)
		return -1;
	if (at > h->n || n > h->n - at)
		return hdf5_fail(h, ERR_CORRUPT, "has a chunk at offset %" PRIu64 " that ends beyond its "
		                 "end", at);
	c->count++;
	if (!c->to)
		return hdf5_spend(h, &h->stored, n, HDF5_OVERLAP);
	p = h->p + at;
	if (hdf5_undo(h, c->data, le32(key + 4), c->pair, &p, &n) < 0)
		return -1;
	copy_chunk(c, p);
	return 0;
}

static int
walk_chunks(struct chunks *c, uint64_t at, unsigned above)
{
	const uint64_t key = 8 + 8 * ((uint64_t)c->space->ndim + 1);
	const uint8_t *p = hdf5_bytes(c->h, at, TREE_HEAD, "a B-tree");
	unsigned i, count, level;
	int r = 0;

	if (!p)
		return -1;
	level = p[5];
	if (memcmp(p, "TREE\1", 5) != 0 || level >= above || (above < LEVELS && level + 1 != above))
		return hdf5_fail(c->h, ERR_CORRUPT, "has no B-tree of chunks of the right level at offset %"
		                 PRIu64, at);
	count = le16(p + 6);
	p = hdf5_bytes(c->h, at, TREE_HEAD + count * (key + 8) + key, "a B-tree");
	for (i = 0, p = p ? p + TREE_HEAD : NULL; p && r == 0 && i < count; i++, p += key + 8)
		r = level ? walk_chunks(c, le64(p + key), level) : use_chunk(c, p, le64(p + key));
	return p ? r : -1;
}

int
hdf5_check_chunks(struct hdf5 *h, const struct hdf5_type *t, const struct hdf5_space *s,
                  const struct hdf5_data *d)
{
	struct chunks c = { .h = h, .type = t, .space = s, .data = d };
	uint64_t bytes;

	if (d->tree != HDF5_NONE && walk_chunks(&c, d->tree, LEVELS) < 0)
		return -1;
	if (num_mul(c.count, d->chunk_bytes, &bytes) < 0)
		bytes = UINT64_MAX;
	return bytes >= d->bytes ? 0 : hdf5_spend(h, &h->unset, d->bytes - bytes, HDF5_TOO_FEW);
}

int
hdf5_gather(struct hdf5 *h, const struct hdf5_type *t, const struct hdf5_space *s,
            const struct hdf5_data *d, uint8_t *to)
{
	struct chunks c = { .h = h, .type = t, .space = s, .data = d, .to = to };
	const uint64_t work = h->work;
	uint64_t i;
	int r = 0;

	for (i = 0; i < s->count && d->fill.n; i++)
		memcpy(to + i * t->bytes, d->fill.p, t->bytes);
	if (!d->fill.n)
		memset(to, 0, (size_t)d->bytes);
	if (d->tree != HDF5_NONE) {
		h->work = h->budget;
		r = walk_chunks(&c, d->tree, LEVELS);
		h->work = work;
	}
	buf_free(&c.pair[0]);
	buf_free(&c.pair[1]);
	return r;
}
