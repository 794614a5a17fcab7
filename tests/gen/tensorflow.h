/* tensorflow: checkpoints and graphs of TensorFlow, byte by byte. A table of a checkpoint keeps the
 * places of its blocks, so that their checksums can be made right again after a change. */
#ifndef GEN_TENSORFLOW_H
#define GEN_TENSORFLOW_H

#include <stdbool.h>

#include "coreml.h"

/* ---- CRC-32C, a bit at a time ---- */

static inline uint32_t
castagnoli(uint32_t crc, const uint8_t *p, size_t n)
{
	size_t i;
	unsigned k;

	crc = ~crc;
	for (i = 0; i < n; i++)
		for (crc ^= p[i], k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	return ~crc;
}

static inline uint32_t
masked(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* ---- tables ---- */

struct place {
	size_t at, n;
};

struct table {
	struct gen *g;                  /* the file */
	size_t most;                    /* entries in a block */
	bool snappy;
	size_t interval;                /* entries between restarts */
	struct gen index;               /* entries of the index block */
	size_t index_restarts[256], index_count;
	size_t restarts[256], restart_count, count, begin, total;
	uint8_t key[512];               /* the key before */
	size_t key_bytes;
	struct place blocks[256];
	size_t block_count;
};

static inline void
table_begin(struct table *t, struct gen *g, size_t most, bool snappy)
{
	*t = (struct table){ .g = g, .most = most, .snappy = snappy, .interval = 2 };
}

/* The bytes of a block as Snappy stores them: a literal of up to 60 bytes at a time, and a copy
 * for eight bytes that repeat the eight before. */
static inline void
put_snappy(struct gen *to, const uint8_t *p, size_t n)
{
	size_t i, k;

	put_varint(to, n);
	for (i = 0; i < n; i += k) {
		if (i >= 8 && n - i >= 8 && memcmp(p + i, p + i - 8, 8) == 0) {
			k = 8;
			put_u8(to, 1 | (8 - 4) << 2);
			put_u8(to, 8);
			continue;
		}
		for (k = 1; k < 60 && i + k < n; k++)
			if (i + k >= 8 && n - i - k >= 8 && memcmp(p + i + k, p + i + k - 8, 8) == 0)
				break;
		put_u8(to, (uint8_t)((k - 1) << 2));
		put(to, p + i, k);
	}
}

static inline void
seal(struct gen *g, const struct place *b)
{
	uint32_t crc = masked(castagnoli(0, g->p + b->at, b->n + 1));
	unsigned i;

	for (i = 0; i < 4; i++)
		g->p[b->at + b->n + 1 + i] = (uint8_t)(crc >> 8 * i);
}

/* End the block that began at this offset. */
static inline void
end_block(struct table *t, size_t begin, bool snappy)
{
	struct gen *g = t->g, packed = { 0 };
	struct place *b = &t->blocks[t->block_count++];

	if (snappy) {
		put_snappy(&packed, g->p + begin, g->n - begin);
		g->n = begin;
		put(g, packed.p, packed.n);
		gen_free(&packed);
	}
	*b = (struct place){ begin, g->n - begin };
	mark(g, "method");
	put_u8(g, snappy);
	put_u32(g, 0);
	seal(g, b);
}

static inline void
put_restarts(struct gen *g, const size_t *list, size_t n)
{
	size_t i;

	mark(g, "restarts");
	for (i = 0; i < n; i++)
		put_u32(g, (uint32_t)list[i]);
	mark(g, "restart_count");
	put_u32(g, (uint32_t)n);
}

static inline void
table_flush(struct table *t)
{
	struct gen handle = { 0 };

	if (t->count == 0)
		return;
	put_restarts(t->g, t->restarts, t->restart_count);
	end_block(t, t->begin, t->snappy);
	put_varint(&handle, t->blocks[t->block_count - 1].at);
	put_varint(&handle, t->blocks[t->block_count - 1].n);
	t->index_restarts[t->index_count++] = t->index.n;
	put_varint(&t->index, 0);
	put_varint(&t->index, t->key_bytes);
	put_varint(&t->index, handle.n);
	put(&t->index, t->key, t->key_bytes);
	mark(&t->index, "handle");
	put(&t->index, handle.p, handle.n);
	gen_free(&handle);
	t->count = 0;
}

/* Append bytes with their marks, and free them. */
static inline void
put_marked(struct gen *g, struct gen *from)
{
	const size_t at = g->n;
	size_t i;

	put(g, from->p, from->n);
	for (i = 0; i < from->mark_count; i++) {
		mark(g, from->marks[i].name);
		g->marks[g->mark_count - 1].at = at + from->marks[i].at;
	}
	gen_free(from);
}

/* Add an entry; its value is freed, and its marks belong to the file then. */
static inline void
table_add(struct table *t, const void *key, size_t n, struct gen *value)
{
	static const char *const entries[] = { "entry 0", "entry 1", "entry 2", "entry 3", "entry 4",
		"entry 5", "entry 6", "entry 7", "entry 8", "entry 9", "entry 10", "entry 11", "entry 12",
		"entry 13", "entry 14", "entry 15", "entry 16", "entry 17", "entry 18", "more" };
	struct gen *g = t->g;
	const uint8_t *k = key;
	size_t shared = 0;

	if (t->count == t->most)
		table_flush(t);
	if (t->count == 0) {
		t->begin = g->n;
		t->restart_count = 0;
	}
	if (t->count % t->interval == 0)
		t->restarts[t->restart_count++] = g->n - t->begin;
	else
		while (shared < n && shared < t->key_bytes && k[shared] == t->key[shared])
			shared++;
	mark(g, entries[t->total < 20 ? t->total : 19]);
	t->total++;
	put_varint(g, shared);
	put_varint(g, n - shared);
	put_varint(g, value->n);
	put(g, k + shared, n - shared);
	put_marked(g, value);
	memcpy(t->key, k, n);
	t->key_bytes = n;
	t->count++;
}

static inline void
table_end(struct table *t)
{
	static const size_t none[1];
	struct gen *g = t->g;
	size_t begin, i, footer;

	table_flush(t);
	begin = g->n;
	put_restarts(g, none, 1);
	end_block(t, begin, false);
	begin = g->n;
	put_marked(g, &t->index);
	put_restarts(g, t->index_restarts, t->index_count);
	end_block(t, begin, t->snappy);
	footer = g->n;
	mark(g, "footer");
	for (i = t->block_count - 2; i < t->block_count; i++) {
		put_varint(g, t->blocks[i].at);
		put_varint(g, t->blocks[i].n);
	}
	put_fill(g, 0, footer + 40 - g->n);
	mark(g, "magic");
	put_u64(g, UINT64_C(0xdb4775248b80fb57));
}

/* Make the checksums of all blocks right again. */
static inline void
table_seal(struct table *t)
{
	size_t i;

	for (i = 0; i < t->block_count; i++)
		if (t->blocks[i].at + t->blocks[i].n + 5 <= t->g->n)
			seal(t->g, &t->blocks[i]);
}

/* ---- messages of a checkpoint ---- */

static inline void
put_shape(struct gen *g, uint32_t field, unsigned ndim, const uint64_t *dims)
{
	struct gen shape = { 0 }, dim = { 0 };
	unsigned i;

	for (i = 0; i < ndim; i++) {
		put_int(&dim, 1, dims[i]);
		put_message(&shape, 2, &dim);
	}
	put_message(g, field, &shape);
}

static inline void
put_header(struct gen *g, unsigned files)
{
	struct gen version = { 0 };

	put_u8(g, 0x08);
	mark(g, "files");
	put_u8(g, (uint8_t)files);
	put_u8(g, 0x10);
	mark(g, "endianness");
	put_u8(g, 0);
	put_int(&version, 1, 1);
	put_u8(&version, 0x10);
	mark(&version, "min_consumer");
	put_u8(&version, 0);
	put_varint(g, 3 << 3 | 2);
	put_varint(g, version.n);
	put_marked(g, &version);
}

static inline void
mark_if(struct gen *g, bool marks, const char *name)
{
	if (marks)
		mark(g, name);
}

/* BundleEntryProto of n bytes of data at an offset of a file. */
static inline void
put_entry(struct gen *g, unsigned type, unsigned ndim, const uint64_t *dims, unsigned file,
          size_t offset, const uint8_t *p, size_t n, bool marks)
{
	put_u8(g, 0x08);
	mark_if(g, marks, "type");
	put_u8(g, (uint8_t)type);
	put_shape(g, 2, ndim, dims);
	mark_if(g, marks, "field");
	put_u8(g, 0x18);
	mark_if(g, marks, "file");
	put_u8(g, (uint8_t)file);
	put_u8(g, 0x20);
	mark_if(g, marks, "offset");
	put_varint(g, offset);
	put_u8(g, 0x28);
	mark_if(g, marks, "bytes");
	put_varint(g, n);
	put_u8(g, 0x35);
	put_u32(g, masked(castagnoli(0, p, n)));
}

static inline void
put_extent(struct gen *slice, uint64_t start, uint64_t length)
{
	struct gen extent = { 0 };

	if (start)
		put_int(&extent, 1, start);
	if (length)
		put_int(&extent, 2, length);
	put_message(slice, 1, &extent);
}

/* The key of a slice of two dimensions; numbers are below 64, and a length of 0 means all. */
static inline void
put_slice_key(struct gen *g, const char *name, const uint64_t extents[4])
{
	unsigned i;

	put_u8(g, 0);
	put_text(g, name);
	put(g, "\0\1\1\2", 4);
	for (i = 0; i < 4; i++)
		put_u8(g, i % 2 && extents[i] == 0 ? 0x7f : (uint8_t)(0x80 | extents[i]));
}

/* A text as a tensor of TensorFlow. *crc: of the entry. */
static inline void
put_text_tensor(struct gen *data, const uint8_t *text, size_t n, uint32_t *crc)
{
	struct gen number = { 0 };
	uint32_t c;

	put_u32(&number, (uint32_t)n);
	c = castagnoli(0, number.p, 4);
	gen_free(&number);
	put_varint(data, n);
	put_u32(data, masked(c));
	put(data, text, n);
	*crc = masked(castagnoli(c, data->p + data->n - n - 4, n + 4));
}

/* TrackableObject with one variable. */
static inline void
put_object(struct gen *graph, const char *name, const char *key)
{
	struct gen object = { 0 }, attribute = { 0 };

	put_bytes(&attribute, 1, "VARIABLE_VALUE", 14);
	put_bytes(&attribute, 2, name, strlen(name));
	put_bytes(&attribute, 3, key, strlen(key));
	put_message(&object, 2, &attribute);
	put_message(graph, 1, &object);
}

/* ---- graphs ---- */

/* An attribute of a node; value is freed. */
static inline void
put_attribute(struct gen *node, const char *name, struct gen *value)
{
	struct gen entry = { 0 };

	put_bytes(&entry, 1, name, strlen(name));
	put_message(&entry, 2, value);
	put_message(node, 5, &entry);
}

static inline void
begin_node(struct gen *node, const char *name, const char *op)
{
	put_bytes(node, 1, name, strlen(name));
	put_bytes(node, 2, op, strlen(op));
}

/* A node Const; the TensorProto is freed. */
static inline void
put_constant(struct gen *graph, uint32_t field, const char *name, struct gen *tensor)
{
	struct gen node = { 0 }, value = { 0 };

	begin_node(&node, name, "Const");
	put_message(&value, 8, tensor);
	put_attribute(&node, "value", &value);
	put_message(graph, field, &node);
}

/* A node with inputs, up to NULL. */
static inline void
put_node(struct gen *graph, uint32_t field, const char *name, const char *op,
         const char *const *inputs)
{
	struct gen node = { 0 };

	begin_node(&node, name, op);
	for (; *inputs; inputs++)
		put_bytes(&node, 3, *inputs, strlen(*inputs));
	put_message(graph, field, &node);
}

/* SavedModel around a graph, whose bytes are freed. */
static inline void
put_saved(struct gen *g, struct gen *graph, const char *asset)
{
	struct gen meta = { 0 }, info = { 0 }, more = { 0 };

	put_bytes(&info, 4, "serve", 5);
	put_bytes(&info, 5, "2.16.1", 6);
	put_message(&meta, 1, &info);
	put_message(&meta, 2, graph);
	put_bytes(&more, 1, "serving_default", 15);
	put_message(&meta, 5, &more);
	if (asset) {
		put_bytes(&more, 2, asset, strlen(asset));
		put_message(&meta, 6, &more);
	}
	put_int(g, 1, 1);
	put_message(g, 2, &meta);
}

#endif
