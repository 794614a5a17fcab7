#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "formats/apr1/apr1_index.h"
#include "model/layout.h"

static const char *const aligned_types[] = { "F32", "F16", "BF16", "I8", "U8" };

struct aligned {
	uint64_t hash, offset, bytes;
	struct apr1_head head;
	uint64_t strides[TENSOR_DIMS];
	uint8_t hint;
};

/* The FNV-1a hash of 64 bits. */
static uint64_t
hash_of(const char *p, uint64_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; n > 0; n--, p++)
		h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	return h;
}

static int
take_aligned(struct apr1_source *s, struct apr1_in *x, struct aligned *a)
{
	unsigned i, type, alignment;
	uint64_t ndim;

	*a = (struct aligned){ .hash = apr1_take_number(x, 8) };
	type = (unsigned)apr1_take_number(x, 1);
	ndim = apr1_take_number(x, 1);
	if (type >= sizeof aligned_types / sizeof *aligned_types)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: its tensor index has the type %u, "
		                 "which does not exist", type);
	if (ndim > TENSOR_DIMS)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: a tensor of %" PRIu64 " dimensions, "
		                 "at most %d are possible", ndim, TENSOR_DIMS);
	a->head.type = dtype_by_name(aligned_types[type]);
	a->head.ndim = (unsigned)ndim;
	for (i = 0; i < ndim; i++)
		a->head.dims[i] = apr1_take_number(x, 4);
	for (i = 0; i < ndim; i++)
		a->strides[i] = apr1_take_number(x, 4);
	alignment = (unsigned)apr1_take_number(x, 1);
	a->hint = (uint8_t)apr1_take_number(x, 1);
	a->offset = apr1_take_number(x, 8);
	a->bytes = apr1_take_number(x, 8);
	if (x->bad)
		return apr1_cut(s);
	if (alignment != 32 && alignment != 64)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: an alignment of %u, there are 32 and "
		                 "64", alignment);
	if (!apr1_backend(a->hint))
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: backend hint %u does not exist",
		                 a->hint);
	if (a->offset % APR1_ALIGN)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: a tensor at byte %" PRIu64 ", which "
		                 "is not a multiple of %u", a->offset, APR1_ALIGN);
	return 0;
}

/* Set the name of tensor i, whose hash must be the one in the index. Without a list of names,
 * the hash becomes the name. */
static int
name_aligned(struct apr1_source *s, const struct apr1_map *names, size_t i, struct aligned *a,
             char text[32])
{
	if (!names->list) {
		snprintf(text, 32, "tensor_%016" PRIx64, a->hash);
		a->head.name = text;
		a->head.name_bytes = strlen(text);
		return 0;
	}
	a->head.name = apr1_text(&names->list[i], (size_t *)&a->head.name_bytes);
	if (!a->head.name || hash_of(a->head.name, a->head.name_bytes) != a->hash)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: name %zu of " APR1_NAMES " does not "
		                 "have the hash of its tensor", i);
	return 0;
}

/* True if the values are stored row after row, without gaps. */
static bool
is_contiguous(const struct aligned *a)
{
	uint64_t step = 1;
	unsigned i;

	for (i = a->head.ndim; i-- > 0;) {
		if (a->head.dims[i] != 1 && a->strides[i] != step)
			return false;
		if (num_mul(step, a->head.dims[i], &step) < 0)
			return false;
	}
	return true;
}

/* Copy the values to s->gathered, row after row, from where the strides place them. */
static int
gather(struct apr1_source *s, const struct aligned *a, const uint8_t *p, uint64_t items)
{
	uint64_t index[TENSOR_DIMS] = { 0 }, at, last = 0, n;
	unsigned width = a->head.type->bytes, d;

	for (d = 0; d < a->head.ndim; d++)
		if (num_mul(a->head.dims[d] - 1, a->strides[d], &n) < 0 ||
		    num_add(last, n, &last) < 0)
			return apr1_cut(s);
	if (last >= a->bytes / width)
		return apr1_cut(s);
	for (n = 0; n < items; n++) {
		for (at = 0, d = 0; d < a->head.ndim; d++)
			at += index[d] * a->strides[d];
		if (spool_put(&s->gathered, p + at * width, width, s->reader.err) < 0)
			return -1;
		for (d = a->head.ndim; d-- > 0 && ++index[d] == a->head.dims[d];)
			index[d] = 0;
	}
	return 0;
}

/* Give a tensor stored as u8 its original type and shape. */
static int
restore(struct apr1_source *s, struct apr1_head *h, char name[64])
{
	json_t *row, *dims;
	const char *type;
	char key[4096];
	size_t i;

	if (!s->types || h->name_bytes >= sizeof key)
		return 0;
	snprintf(key, sizeof key, "%.*s", (int)h->name_bytes, h->name);
	row = json_object_get(s->types, key);
	if (!row)
		return 0;
	type = json_string_value(json_array_get(row, 0));
	dims = json_array_get(row, 1);
	snprintf(name, 64, "%s", type ? type : "");
	h->type = type ? dtype_by_name(type) : NULL;
	if (!h->type || !json_is_array(dims) || json_array_size(dims) > TENSOR_DIMS)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: " APR1_TENSORS " does not say what "
		                 "%.100s is", key);
	h->ndim = (unsigned)json_array_size(dims);
	for (i = 0; i < h->ndim; i++)
		if (json_value_u64(json_array_get(dims, i), &h->dims[i]) < 0)
			return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: " APR1_TENSORS " does not say "
			                 "what %.100s is", key);
	h->id = 0xff;
	s->typed++;
	return 0;
}

struct index {
	struct aligned *list;
	struct extent *extents;
	size_t n, cap;
	struct apr1_map names;
	json_t *hints;
};

static int
add_aligned(struct apr1_source *s, struct index *x, size_t i, const struct apr1_chunk *chunk)
{
	struct aligned *a = &x->list[i];
	uint64_t at = a->offset - apr1_offset_of(s, 0), items = 1, bytes;
	struct apr1_tensor where = { .direct = true, .at = at };
	const uint8_t *p = s->part ? NULL : s->payload + at;
	bool dense = is_contiguous(a);
	char name[32], type[64];
	unsigned d;

	if (name_aligned(s, &x->names, x->extents[i].index, a, name) < 0)
		return -1;
	for (d = 0; d < a->head.ndim; d++)
		if (num_mul(items, a->head.dims[d], &items) < 0)
			return apr1_cut(s);
	if (num_mul(items, a->head.type->bytes, &bytes) < 0 || bytes > a->bytes)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: %.*s has %" PRIu64 " bytes, fewer "
		                 "than its shape needs", (int)num_min(a->head.name_bytes, 100),
		                 a->head.name, a->bytes);
	where.run[0] = (struct apr1_run){ p, a->bytes };
	if (chunk && dense) {
		where.checked = true;
		where.crc = chunk->crc;
	}
	if (!dense && items > 0) {
		if (s->part && apr1_read_at(s, a->offset, a->bytes, &s->chunk, &p) < 0)
			return -1;
		where.gathered = true;
		where.direct = false;
		where.at = s->gathered.bytes;
		if (gather(s, a, p, items) < 0)
			return -1;
		where.run[0].n = bytes;
	}
	if (a->hint) {
		char key[4096];

		snprintf(key, sizeof key, "%.*s", (int)num_min(a->head.name_bytes, sizeof key - 1),
		         a->head.name);
		if (!text_utf8(key, strlen(key), false))
			return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: a name that is not text");
		if (!x->hints)
			x->hints = json_object();
		if (json_object_set_new(x->hints, key, json_integer(a->hint)) < 0)
			return err_memory(s->reader.err);
	}
	if (restore(s, &a->head, type) < 0)
		return -1;
	return apr1_add_tensor(s, apr1_make_tensor(s, &a->head, where.run[0].n), where);
}

/* Skip the index of chunks: it repeats the tensor index. Only the places are kept. */
static int
skip_chunks(struct apr1_source *s, struct apr1_in *x, struct apr1_chunk **chunks, size_t *count)
{
	uint64_t n = apr1_take_number(x, 4), i;
	struct apr1_chunk c;
	size_t cap = 0;

	if (!s->own)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: it has an index of chunks, whose "
		                 "content is not defined");
	for (i = 0; i < n; i++) {
		if (x->bad || apr1_take_chunk(s, x, &c) < 0)
			return apr1_cut(s);
		if (mem_grow(chunks, &cap, *count + 1, sizeof **chunks) < 0)
			return err_memory(s->reader.err);
		(*chunks)[(*count)++] = c;
	}
	return x->bad ? apr1_cut(s) : 0;
}

static int
read_entries(struct apr1_source *s, struct apr1_in *x, struct index *index)
{
	uint64_t n = apr1_take_number(x, 4), i, start, end, all = apr1_offset_of(s, s->payload_bytes);
	struct err *e = s->reader.err;

	for (i = 0; i < n; i++) {
		struct aligned a;

		if (x->bad || take_aligned(s, x, &a) < 0)
			return apr1_cut(s);
		if (mem_grow(&index->list, &index->cap, index->n + 1, sizeof a) < 0)
			return err_memory(e);
		index->list[index->n++] = a;
	}
	if (x->bad)
		return apr1_cut(s);
	/* The data begins at the next multiple of APR1_ALIGN in the file. */
	if (num_align(apr1_offset_of(s, x->at), APR1_ALIGN, &start) < 0)
		return apr1_cut(s);
	index->extents = mem_array(index->n, sizeof *index->extents);
	if (!index->extents)
		return err_memory(e);
	for (i = 0; i < index->n; i++) {
		const struct aligned *a = &index->list[i];

		if (a->offset < start)
			return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: a tensor lies inside the tensor "
			                 "index");
		index->extents[i] = (struct extent){ a->offset - start, a->bytes, (size_t)i,
			"a tensor of the index" };
	}
	if (layout_prove(index->extents, index->n, APR1_ALIGN, all > start ? all - start : 0,
	                 &end, e) < 0)
		return -1;
	/* No more than padding may follow. */
	if (all > start && all - start - end >= APR1_ALIGN)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: bytes after the last tensor of its "
		                 "payload");
	return 0;
}

static int
find_names(struct apr1_source *s, struct index *x)
{
	const struct apr1_entry *names = apr1_map_find(&s->meta, APR1_NAMES);

	if (!names)
		return s->options.closed ? 0
		       : apr1_warn(s, "has no " APR1_NAMES ": hashes stand in place of names");
	if (apr1_list_read(&x->names, names, s->reader.name, s->reader.err) < 0)
		return -1;
	if (x->names.count != x->n)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: %zu " APR1_NAMES " for %zu tensors",
		                 x->names.count, x->n);
	return 0;
}

static int
add_all(struct apr1_source *s, struct index *x, const struct apr1_chunk *chunks, size_t count)
{
	struct aligned *sorted = mem_array(x->n, sizeof *sorted);
	size_t i;
	int r = 0;

	if (!sorted)
		return err_memory(s->reader.err);
	for (i = 0; i < x->n; i++)
		sorted[i] = x->list[x->extents[i].index];
	free(x->list);
	x->list = sorted;
	if (s->header.flags & APR1_STREAMING && count != x->n)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: %zu chunks of %zu tensors", count,
		                 x->n);
	for (i = 0; r == 0 && i < x->n; i++) {
		if (s->header.flags & APR1_STREAMING &&
		    (chunks[i].offset != sorted[i].offset || chunks[i].stored != sorted[i].bytes))
			return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: a chunk is not where its tensor "
			                 "is");
		r = add_aligned(s, x, i, chunks ? &chunks[i] : NULL);
	}
	return r;
}

/* Set the pointers to gathered values, which no longer move. */
static int
settle(struct apr1_source *s, struct index *x)
{
	json_t *o;
	const uint8_t *p;
	size_t i;

	if (spool_view(&s->gathered, &p, s->reader.err) < 0)
		return -1;
	for (i = 0; i < s->plan.tensor_count; i++)
		if (s->tensors[i].gathered)
			s->tensors[i].run[0].p = p + s->tensors[i].at;
	/* The object exists because the flag TRUENO_NATIVE is not the default. */
	o = json_object_get(s->plan.source, APR1_FROM);
	if (x->hints && json_object_set(o, APR1_FROM_HINTS, x->hints) < 0)
		return err_memory(s->reader.err);
	return 0;
}

int
apr1_read_aligned(struct apr1_source *s)
{
	struct apr1_in x = { s->payload, s->open_bytes, 0, false };
	struct apr1_chunk *chunks = NULL;
	struct index index = { 0 };
	size_t count = 0;
	int r = 0;

	if (s->header.flags & APR1_STREAMING)
		r = skip_chunks(s, &x, &chunks, &count);
	if (r == 0)
		r = read_entries(s, &x, &index);
	if (r == 0)
		r = find_names(s, &index);
	if (r == 0)
		r = add_all(s, &index, chunks, count);
	if (r == 0)
		r = settle(s, &index);
	free(chunks);
	free(index.list);
	free(index.extents);
	apr1_map_free(&index.names);
	json_decref(index.hints);
	return r;
}
