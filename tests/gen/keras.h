/* keras: HDF5 files as Keras writes them, from the leaves to the root: an object is put before
 * those that refer to it. made_h5 has headers of version 1 and B-trees, made_h5_new headers of
 * version 2, whose checksums h5_seal computes.
 */
#ifndef GEN_KERAS_H
#define GEN_KERAS_H

#include "torch.h"

#define H5_NONE UINT64_MAX
#define H5_CONFIG \
	"{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": [" \
	"{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\"}}, " \
	"{\"class_name\": \"Lambda\", \"config\": {\"name\": \"lam\", \"function\": [\"4wEAAAA=\", null]}}, " \
	"{\"class_name\": \"Mine>Norm\", \"config\": {\"name\": \"bn\"}}]}}"

/* ---- bytes ---- */

static inline void
h5_set(struct gen *g, size_t at, uint64_t v, unsigned width)
{
	for (; width > 0; width--, v >>= 8)
		g->p[at++] = (uint8_t)v;
}

/* Name a place that lies before the end. */
static inline void
h5_mark(struct gen *g, const char *name, size_t at)
{
	mark(g, name);
	g->marks[g->mark_count - 1].at = at;
}

/* A zlib stream of one stored block. */
static inline void
h5_deflated(struct gen *g, const uint8_t *p, size_t n)
{
	uint32_t a = 1, b = 0;
	size_t i;

	put(g, "\x78\1\1", 3);
	put_u16(g, (unsigned)n);
	put_u16(g, ~(unsigned)n & 0xffff);
	put(g, p, n);
	for (i = 0; i < n; i++) {
		a = (a + p[i]) % 65521;
		b = (b + a) % 65521;
	}
	put_u8(g, (uint8_t)(b >> 8));
	put_u8(g, (uint8_t)b);
	put_u8(g, (uint8_t)(a >> 8));
	put_u8(g, (uint8_t)a);
}

#define H5_ROT(V, K) ((V) << (K) | (V) >> (32 - (K)))

/* The checksum of headers, Jenkins' lookup3. */
static inline uint32_t
h5_sum(const uint8_t *p, size_t n)
{
	uint32_t a, b, c, k[3];
	size_t i;

	a = b = c = 0xdeadbeef + (uint32_t)n;
	for (;;) {
		k[0] = k[1] = k[2] = 0;
		for (i = 0; i < 12 && i < n; i++)
			k[i / 4] |= (uint32_t)p[i] << 8 * (i % 4);
		a += k[0];
		b += k[1];
		c += k[2];
		if (n <= 12)
			break;
		a -= c; a ^= H5_ROT(c, 4); c += b;
		b -= a; b ^= H5_ROT(a, 6); a += c;
		c -= b; c ^= H5_ROT(b, 8); b += a;
		a -= c; a ^= H5_ROT(c, 16); c += b;
		b -= a; b ^= H5_ROT(a, 19); a += c;
		c -= b; c ^= H5_ROT(b, 4); b += a;
		p += 12;
		n -= 12;
	}
	c ^= b; c -= H5_ROT(b, 14);
	a ^= c; a -= H5_ROT(c, 11);
	b ^= a; b -= H5_ROT(a, 25);
	c ^= b; c -= H5_ROT(b, 16);
	a ^= c; a -= H5_ROT(c, 4);
	b ^= a; b -= H5_ROT(a, 14);
	c ^= b; c -= H5_ROT(b, 24);
	return c;
}

/* ---- headers and messages ---- */

struct h5 {
	struct gen *g;
	int new, marks;         /* marks: name the places of the next groups */
	size_t header, message; /* where they begin */
	unsigned count;         /* messages of the header */
	struct { size_t at, n; } sums[32]; /* what has a checksum behind it */
	size_t sum_count;
};

static inline void
h5_add_sum(struct h5 *h, size_t at, size_t n)
{
	h->sums[h->sum_count].at = at;
	h->sums[h->sum_count++].n = n;
}

/* Compute all checksums. */
static inline void
h5_seal(const struct h5 *h)
{
	size_t i;

	for (i = 0; i < h->sum_count; i++)
		h5_set(h->g, h->sums[i].at + h->sums[i].n,
		       h5_sum(h->g->p + h->sums[i].at, h->sums[i].n), 4);
}

static inline size_t
h5_begin(struct h5 *h)
{
	put_align(h->g, 8);
	h->header = h->g->n;
	h->count = 0;
	if (h->new)
		put(h->g, "OHDR\2\1\0\0", 8); /* a size of 2 bytes */
	else
		put(h->g, "\1\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0", 16);
	return h->header;
}

static inline void
h5_end(struct h5 *h)
{
	if (h->new) {
		h5_set(h->g, h->header + 6, h->g->n - h->header - 8, 2);
		h5_add_sum(h, h->header, h->g->n - h->header);
		put_u32(h->g, 0);
		return;
	}
	h5_set(h->g, h->header + 2, h->count, 2);
	h5_set(h->g, h->header + 8, h->g->n - h->header - 16, 4);
}

static inline void
h5_message(struct h5 *h, unsigned type)
{
	h->count++;
	h->message = h->g->n;
	put_number(h->g, type, h->new ? 1 : 2);
	put_fill(h->g, 0, h->new ? 3 : 6);
}

static inline void
h5_message_end(struct h5 *h)
{
	if (!h->new)
		put_align(h->g, 8);
	h5_set(h->g, h->message + (h->new ? 1 : 2), h->g->n - h->message - (h->new ? 4 : 8), 2);
}

/* ---- the values of messages ---- */

static inline void
h5_put_space(struct h5 *h, unsigned ndim, const uint64_t *dims)
{
	unsigned i;

	put_u8(h->g, h->new ? 2 : 1);
	put_u8(h->g, (uint8_t)ndim);
	put_u8(h->g, 0);
	put_u8(h->g, h->new && ndim);
	put_fill(h->g, 0, h->new ? 0 : 4);
	for (i = 0; i < ndim; i++)
		put_u64(h->g, dims[i]);
}

/* A type of fixed size: class, bits, size, and its properties. */
static inline void
h5_put_type(struct gen *g, unsigned class, unsigned bits, unsigned bytes, const char *more,
            size_t n)
{
	put_u8(g, (uint8_t)(0x10 | class));
	put_number(g, bits, 3);
	put_u32(g, bytes);
	put(g, more, n);
}

#define H5_F32 1, 0x1f20, 4, "\0\0\x20\0\x17\x8\0\x17\x7f\0\0\0", 12
#define H5_F64 1, 0x3f20, 8, "\0\0\x40\0\x34\xb\0\x34\xff\3\0\0", 12
#define H5_F16_BIG 1, 0xf21, 2, "\0\0\x10\0\xa\5\0\xa\xf\0\0\0", 12
#define H5_I64 0, 8, 8, "\0\0\x40\0", 4
#define H5_U8 0, 0, 1, "\0\0\x8\0", 4
#define H5_BFLOAT 5, 8, 2, "\0\0\0\0\0\0\0\0", 8
#define H5_BOOL \
	8, 2, 1, "\x10\x8\0\0\1\0\0\0\0\0\x8\0" "FALSE\0\0\0" "TRUE\0\0\0\0\0\1", 30
#define H5_TEXT(N) 3, 0, N, "", 0
#define H5_TEXTS 9, 1, 16, "\x10\0\0\0\1\0\0\0\0\0\x8\0", 12

/* The beginning of an attribute; its values and h5_message_end follow. A type's n bytes and a
 * space of at most one dimension are put by the macro's arguments. */
static inline void
h5_attribute(struct h5 *h, const char *name, unsigned class, unsigned bits, unsigned bytes,
             const char *more, size_t n, unsigned ndim, uint64_t count)
{
	struct gen *g = h->g;
	const unsigned space = h->new ? 4 + 8 * ndim : 8 + 8 * ndim;
	size_t from;

	h5_message(h, 12);
	from = g->n;
	put_u8(g, h->new ? 3 : 1);
	put_u8(g, 0);
	put_u16(g, (unsigned)strlen(name) + 1);
	put_u16(g, (unsigned)(8 + n));
	put_u16(g, space);
	if (h->new)
		put_u8(g, 0);
	put(g, name, strlen(name) + 1);
	while (!h->new && (g->n - from) % 8)
		put_u8(g, 0);
	h5_put_type(g, class, bits, bytes, more, n);
	while (!h->new && (g->n - from) % 8)
		put_u8(g, 0);
	h5_put_space(h, ndim, &count);
}

/* An attribute that is a list of texts of a fixed size; one of them that is not a list has
 * count 0. */
static inline void
h5_names(struct h5 *h, const char *name, const char *const *list, unsigned count, unsigned bytes)
{
	const unsigned n = count ? count : 1;
	char text[64];
	unsigned i;

	h5_attribute(h, name, H5_TEXT(bytes), count ? 1 : 0, count);
	for (i = 0; i < n; i++) {
		memset(text, 0, sizeof text);
		memcpy(text, list[i], strlen(list[i]));
		put(h->g, text, bytes);
	}
	h5_message_end(h);
}

static inline void
h5_text(struct h5 *h, const char *name, const char *text)
{
	h5_names(h, name, &text, 0, (unsigned)strlen(text));
}

/* An attribute of a text in the global heap. */
static inline void
h5_heap_text(struct h5 *h, const char *name, size_t heap, unsigned index, size_t bytes)
{
	h5_attribute(h, name, H5_TEXTS, 0, 0);
	put_u32(h->g, (uint32_t)bytes);
	put_u64(h->g, heap);
	put_u32(h->g, index);
	h5_message_end(h);
}

/* The space and the type of a dataset. */
static inline void
h5_shape(struct h5 *h, unsigned ndim, const uint64_t *dims, unsigned class, unsigned bits,
         unsigned bytes, const char *more, size_t n)
{
	h5_message(h, 1);
	h5_put_space(h, ndim, dims);
	h5_message_end(h);
	h5_message(h, 3);
	h5_put_type(h->g, class, bits, bytes, more, n);
	h5_message_end(h);
}

static inline void
h5_contiguous(struct h5 *h, uint64_t at, uint64_t bytes)
{
	h5_message(h, 8);
	put_u8(h->g, 3);
	put_u8(h->g, 1);
	put_u64(h->g, at);
	put_u64(h->g, bytes);
	h5_message_end(h);
}

/* ---- groups ---- */

struct h5_link {
	const char *name;
	size_t at;
};

/* The heap, the leaf and the B-tree of links, which are in order. */
static inline void
h5_put_table(struct h5 *h, const struct h5_link *list, unsigned n, size_t *where_tree,
             size_t *where_heap)
{
	size_t heap, names, leaf, tree, i, offset[8] = { 0 };
	struct gen *g = h->g;

	put_align(g, 8);
	names = g->n;
	put_fill(g, 0, 8); /* the first name is empty */
	for (i = 0; i < n; i++) {
		offset[i] = g->n - names;
		put(g, list[i].name, strlen(list[i].name) + 1);
	}
	put_align(g, 8);
	heap = g->n;
	put(g, "HEAP\0\0\0\0", 8);
	put_u64(g, heap - names);
	put_u64(g, 1);
	put_u64(g, names);
	leaf = g->n;
	put(g, "SNOD\1\0", 6);
	put_u16(g, n);
	for (i = 0; i < n; i++) {
		put_u64(g, offset[i]);
		put_u64(g, list[i].at);
		put_fill(g, 0, 24);
	}
	tree = g->n;
	put(g, "TREE\0\0\1\0", 8);
	put_u64(g, H5_NONE);
	put_u64(g, H5_NONE);
	put_u64(g, 0);
	put_u64(g, leaf);
	put_u64(g, n ? offset[n - 1] : 0);
	*where_tree = tree;
	*where_heap = heap;
	if (h->marks) {
		h5_mark(g, "names", names);
		h5_mark(g, "heap", heap);
		h5_mark(g, "leaf", leaf);
		h5_mark(g, "tree", tree);
	}
}

/* Begin a group with these links: attributes and h5_end follow. */
static inline size_t
h5_group(struct h5 *h, const struct h5_link *list, unsigned n)
{
	size_t tree = 0, heap = 0, group, i;

	if (!h->new)
		h5_put_table(h, list, n, &tree, &heap);
	group = h5_begin(h);
	h5_message(h, h->new ? 2 : 17);
	if (h->new) {
		put_u16(h->g, 0);
		put_u64(h->g, H5_NONE);
		put_u64(h->g, H5_NONE);
	} else {
		put_u64(h->g, tree);
		put_u64(h->g, heap);
	}
	h5_message_end(h);
	for (i = 0; h->new && i < n; i++) {
		h5_message(h, 6);
		put_u8(h->g, 1);
		put_u8(h->g, 0);
		put_u8(h->g, (uint8_t)strlen(list[i].name));
		put_text(h->g, list[i].name);
		put_u64(h->g, list[i].at);
		h5_message_end(h);
	}
	return group;
}

/* ---- the whole model ---- */

static inline void
h5_superblock(struct gen *g)
{
	put(g, "\x89HDF\r\n\x1a\n", 8);
	mark(g, "version");
	put(g, "\0\0\0\0\0", 5);
	mark(g, "addresses");
	put(g, "\x8\x8\0\4\0\x10\0\0\0\0\0", 11);
	mark(g, "base");
	put_u64(g, 0);
	put_u64(g, H5_NONE);
	mark(g, "eof");
	put_u64(g, 0);
	mark(g, "driver");
	put_u64(g, H5_NONE);
	put_u64(g, 0);
	mark(g, "root");
	put_fill(g, 0, 32);
}

/* A heap of texts, numbered from 1. */
static inline size_t
h5_heap(struct gen *g, const char *const *texts, unsigned n)
{
	size_t at = g->n;
	unsigned i;

	mark(g, "values");
	put(g, "GCOL\1\0\0\0", 8);
	mark(g, "values.bytes");
	put_u64(g, 0);
	for (i = 0; i < n; i++) {
		put_u16(g, i + 1);
		put_fill(g, 0, 6);
		put_u64(g, strlen(texts[i]));
		put_text(g, texts[i]);
		put_align(g, 8);
	}
	put_fill(g, 0, 16);
	h5_set(g, at + 8, g->n - at, 8);
	return at;
}

/* kernel:0, F32 of 2 x 3, in one piece. */
static inline size_t
h5_kernel(struct h5 *h)
{
	static const uint64_t dims[] = { 2, 3 };
	struct gen *g = h->g;
	size_t values = g->n, at;

	put_ramp(g, 24);
	at = h5_begin(h);
	mark(g, "kernel");
	h5_message(h, 1);
	mark(g, "space");
	h5_put_space(h, 2, dims);
	h5_mark(g, "dim", g->n - 8);
	h5_message_end(h);
	h5_message(h, 3);
	mark(g, "type");
	h5_put_type(g, H5_F32);
	h5_message_end(h);
	h5_contiguous(h, values, 24);
	h5_mark(g, "layout", h->message);
	h5_end(h);
	return at;
}

/* bias:0, F16 in big-endian order, 3 values in chunks of 2, shuffled, deflated, with checksums. */
static inline size_t
h5_bias(struct h5 *h)
{
	static const uint64_t dims[] = { 3 };
	static const uint8_t chunks[2][4] = { { 0x3c, 0x40, 0, 1 }, { 0x42, 0, 2, 0 } };
	struct gen *g = h->g;
	size_t tree, at, i, chunk[3];
	uint32_t a, b, k;

	for (i = 0; i < 2; i++) {
		chunk[i] = g->n;
		h5_mark(g, i ? "chunk2" : "chunk", g->n);
		h5_deflated(g, chunks[i], 4);
		for (a = b = k = 0; k < g->n - chunk[i]; k += 2) { /* Fletcher's sums */
			a += (uint32_t)g->p[chunk[i] + k] << 8;
			a += k + 1 < g->n - chunk[i] ? g->p[chunk[i] + k + 1] : 0;
			a %= 65535;
			b = (b + a) % 65535;
		}
		put_u32(g, b << 16 | a);
		chunk[i + 1] = g->n;
	}
	put_align(g, 8);
	tree = g->n;
	mark(g, "chunks");
	put(g, "TREE\1\0\2\0", 8);
	put_u64(g, H5_NONE);
	put_u64(g, H5_NONE);
	for (i = 0; i < 2; i++) {
		h5_mark(g, i ? "key2" : "key", g->n);
		put_u32(g, (uint32_t)(chunk[i + 1] - chunk[i]));
		put_u32(g, 0);
		put_u64(g, 2 * i);
		put_u64(g, 0);
		put_u64(g, chunk[i]);
	}
	put_fill(g, 0, 24);
	at = h5_begin(h);
	h5_shape(h, 1, dims, H5_F16_BIG);
	h5_message(h, 11);
	mark(g, "filters");
	put(g, "\1\3\0\0\0\0\0\0", 8);
	put(g, "\2\0\x8\0\1\0\1\0shuffle\0\2\0\0\0\0\0\0\0", 24);
	mark(g, "deflate");
	put(g, "\1\0\x8\0\1\0\1\0deflate\0\6\0\0\0\0\0\0\0", 24);
	put(g, "\3\0\0\0\0\0\0\0", 8);
	h5_message_end(h);
	h5_message(h, 8);
	put(g, "\3\2\2", 3);
	mark(g, "chunks_at");
	put_u64(g, tree);
	mark(g, "chunk_size");
	put_u32(g, 2);
	put_u32(g, 2);
	h5_message_end(h);
	h5_end(h);
	return at;
}

/* A dataset in its header, or without values if bytes is NULL. */
static inline size_t
h5_small(struct h5 *h, unsigned ndim, uint64_t dim, unsigned class, unsigned bits, unsigned size,
         const char *more, size_t n, const char *bytes)
{
	const size_t at = h5_begin(h);

	h5_shape(h, ndim, &dim, class, bits, size, more, n);
	if (bytes) {
		h5_message(h, 8);
		put(h->g, "\3\0", 2);
		put_u16(h->g, size * (ndim ? (unsigned)dim : 1));
		put(h->g, bytes, size * (ndim ? dim : 1));
		h5_message_end(h);
		return at;
	}
	h5_message(h, 5);
	mark(h->g, "fill");
	put(h->g, "\2\2\2\1\1\0\0\0\7", 9);
	h5_message_end(h);
	h5_contiguous(h, H5_NONE, 0);
	return at;
}

/* The group of layer bn, whose datasets are of many kinds. */
static inline size_t
h5_many(struct h5 *h)
{
	static const char *const names[] = { "flags:0", "gamma:0", "half:0", "unset:0",
		"dense/kernel:0" };
	struct h5_link in[5], kernel;
	size_t at;

	in[1].name = "flags:0";
	in[1].at = h5_small(h, 1, 2, H5_BOOL, "\1\0");
	h5_end(h);
	in[2].name = "gamma:0";
	in[2].at = h5_small(h, 0, 0, H5_F64, "\0\0\0\0\0\0\xf0\x3f");
	h5_end(h);
	in[3].name = "half:0";
	in[3].at = h5_small(h, 1, 2, H5_BFLOAT, "\x80\x3f\0\x40");
	h5_text(h, "dtype", "bfloat16");
	h5_end(h);
	in[4].name = "unset:0";
	in[4].at = h5_small(h, 1, 2, H5_U8, NULL);
	h5_mark(h->g, "unset", h->header);
	h5_end(h);
	kernel.name = "kernel:0";
	kernel.at = h5_small(h, 1, 1, H5_I64, "\5\0\0\0\0\0\0\0");
	h5_end(h);
	in[0].name = "dense";
	in[0].at = h5_group(h, &kernel, 1);
	h5_end(h);
	at = h5_group(h, in, 5);
	h5_names(h, "weight_names", names, 5, 14);
	h5_end(h);
	return at;
}

static inline void
made_h5(struct gen *g)
{
	static const char *const texts[] = { H5_CONFIG, "2.15.0" };
	static const char *const layers[] = { "dense", "lam" }, *const more[] = { "bn" };
	static const char *const weights[] = { "dense/kernel:0", "dense/bias:0" };
	struct h5 h = { .g = g };
	struct h5_link in[4];
	size_t heap, layer[3], root;

	h5_superblock(g);
	heap = h5_heap(g, texts, 2);
	in[0] = (struct h5_link){ "bias:0", h5_bias(&h) };
	in[1] = (struct h5_link){ "kernel:0", h5_kernel(&h) };
	in[0] = (struct h5_link){ "dense", h5_group(&h, in, 2) };
	h5_end(&h);
	layer[0] = h5_group(&h, in, 1);
	h5_names(&h, "weight_names", weights, 2, 14);
	h5_mark(g, "weights", h.message);
	h5_end(&h);
	layer[1] = h5_group(&h, NULL, 0);
	h5_attribute(&h, "weight_names", H5_F64, 1, 0);
	h5_message_end(&h);
	h5_end(&h);
	layer[2] = h5_many(&h);
	in[0] = (struct h5_link){ "bn", layer[2] };
	in[1] = (struct h5_link){ "dense", layer[0] };
	in[2] = (struct h5_link){ "lam", layer[1] };
	in[3] = (struct h5_link){ "top_level_model_weights", layer[1] };
	h.marks = 1;
	in[0] = (struct h5_link){ "model_weights", h5_group(&h, in, 4) };
	h.marks = 0;
	h5_mark(g, "group", h.header);
	h5_names(&h, "layer_names0", layers, 2, 8);
	h5_mark(g, "layer_names", h.message);
	h5_names(&h, "layer_names1", more, 1, 8);
	h5_end(&h);
	in[2] = (struct h5_link){ "iterations:0", h5_small(&h, 0, 0, H5_I64, "\1\0\0\0\0\0\0\0") };
	h5_end(&h);
	in[1] = (struct h5_link){ "optimizer_weights", h5_group(&h, in + 2, 1) };
	h5_end(&h);
	root = h5_group(&h, in, 2);
	h5_text(&h, "backend", "jax");
	h5_heap_text(&h, "model_config", heap, 1, strlen(H5_CONFIG));
	h5_mark(g, "config", h.message);
	h5_heap_text(&h, "keras_version", heap, 2, 6);
	h5_end(&h);
	h5_set(g, mark_at(g, "root"), root, 8);
	h5_set(g, mark_at(g, "eof"), g->n, 8);
}

/* ---- variables of version 3 ---- */

static struct h5 h5_last; /* of made_h5_new, for h5_seal */

static inline void
made_h5_new(struct gen *g)
{
	static const uint64_t dims[] = { 2, 2 };
	struct h5 h = { .g = g, .new = 1 };
	struct h5_link in[3];
	size_t values, rest, root;

	put(g, "\x89HDF\r\n\x1a\n\2\x8\x8\0", 12);
	put_u64(g, 0);
	put_u64(g, H5_NONE);
	put_u64(g, 0);
	mark(g, "root");
	put_u64(g, 0);
	h5_add_sum(&h, 0, 44);
	put_u32(g, 0);
	values = g->n;
	put_ramp(g, 16);
	rest = g->n; /* the second part of a header */
	mark(g, "rest");
	put_text(g, "OCHK");
	h5_contiguous(&h, values, 16);
	h5_mark(g, "layout", h.message);
	h5_add_sum(&h, rest, g->n - rest);
	put_u32(g, 0);
	in[0] = (struct h5_link){ "0", h5_begin(&h) };
	mark(g, "header");
	h5_shape(&h, 2, dims, H5_F32);
	h5_message(&h, 16);
	mark(g, "continued");
	put_u64(g, rest);
	put_u64(g, h.sums[1].n + 4);
	h5_message_end(&h);
	h5_end(&h);
	in[1] = (struct h5_link){ "1", h5_small(&h, 1, 2, H5_U8, NULL) };
	h5_end(&h);
	in[2] = (struct h5_link){ "2", h5_small(&h, 1, 1, H5_TEXT(3), "abc") };
	h5_end(&h);
	in[0] = (struct h5_link){ "vars", h5_group(&h, in, 3) };
	h5_mark(g, "link", h.message);
	h5_text(&h, "name", "dense_7");
	h5_end(&h);
	in[0] = (struct h5_link){ "dense", h5_group(&h, in, 1) };
	h5_end(&h);
	in[0] = (struct h5_link){ "layers", h5_group(&h, in, 1) };
	h5_end(&h);
	in[2] = (struct h5_link){ "0", h5_small(&h, 0, 0, H5_I64, "\1\0\0\0\0\0\0\0") };
	h5_end(&h);
	in[1] = (struct h5_link){ "optimizer", h5_group(&h, in + 2, 1) };
	h5_end(&h);
	root = h5_group(&h, in, 2);
	h5_mark(g, "info", h.header + 8);
	h5_end(&h);
	h5_set(g, 28, g->n, 8);
	h5_set(g, mark_at(g, "root"), root, 8);
	h5_last = h;
	h5_seal(&h);
}

#endif
