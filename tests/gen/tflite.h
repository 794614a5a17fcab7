/* tflite: a file of TensorFlow Lite with two subgraphs. Parents stand before their children, so
 * all offsets lead forward; the vtable of a table stands directly before it.
 */
#ifndef GEN_TFLITE_H
#define GEN_TFLITE_H

#include <stdbool.h>

#include "gen.h"

/* A field of a table: its width in bytes, 0 if the table lacks it, and its value. */
struct fb_field {
	unsigned width;
	uint64_t value;
};
#define ABSENT { 0, 0 }
#define OFFSET { 4, 0 }

/* Name a place that lies before the end. */
static inline void
fb_mark(struct gen *g, const char *name, size_t at)
{
	mark(g, name);
	g->marks[g->mark_count - 1].at = at;
}

/* Put a table; returns its place. */
static inline size_t
fb_table(struct gen *g, const struct fb_field *fields, unsigned n)
{
	unsigned i, at = 4;
	size_t table;

	put_align(g, 8);
	if ((4 + 2 * n) % 4)
		put_fill(g, 0, 2);
	put_number(g, 4 + 2 * n, 2);
	for (i = 0; i < n; i++)
		at += fields[i].width;
	put_number(g, at, 2);
	for (i = 0, at = 4; i < n; at += fields[i++].width)
		put_number(g, fields[i].width ? at : 0, 2);
	table = g->n;
	put_u32(g, 4 + 2 * n);
	for (i = 0; i < n; i++)
		put_number(g, fields[i].value, fields[i].width);
	return table;
}

/* The place of a field, which the table has. */
static inline size_t
fb_slot(const struct gen *g, size_t table, unsigned field)
{
	const uint8_t *vtable = g->p + table - g->p[table];

	return table + vtable[4 + 2 * field];
}

/* The offset at this place leads to the end of what was put so far. */
static inline void
fb_point(struct gen *g, size_t at)
{
	const size_t by = g->n - at;

	g->p[at] = (uint8_t)by;
	g->p[at + 1] = (uint8_t)(by >> 8);
}

/* A vector of n offsets, which a field leads to; returns the place of the first. */
static inline size_t
fb_vector(struct gen *g, size_t table, unsigned field, unsigned n)
{
	put_align(g, 4);
	fb_point(g, fb_slot(g, table, field));
	put_u32(g, n);
	put_fill(g, 0, 4 * (size_t)n);
	return g->n - 4 * (size_t)n;
}

/* Member i of a vector that begins at v; returns the place of the table. */
static inline size_t
fb_member(struct gen *g, size_t v, unsigned i, const struct fb_field *fields, unsigned n)
{
	const size_t table = fb_table(g, fields, n);
	const size_t at = v + 4 * (size_t)i, by = table - at;

	g->p[at] = (uint8_t)by;
	g->p[at + 1] = (uint8_t)(by >> 8);
	return table;
}

static inline void
fb_text(struct gen *g, size_t table, unsigned field, const char *text)
{
	put_align(g, 4);
	fb_point(g, fb_slot(g, table, field));
	put_u32(g, (uint32_t)strlen(text));
	put(g, text, strlen(text) + 1);
}

/* A vector of numbers of this width. */
static inline void
fb_numbers(struct gen *g, size_t table, unsigned field, unsigned width, const uint64_t *v,
           unsigned n)
{
	unsigned i;

	put_align(g, 4);
	fb_point(g, fb_slot(g, table, field));
	put_u32(g, n);
	for (i = 0; i < n; i++)
		put_number(g, v[i], width);
}

/* ---- the file ---- */

struct fb_tensor {
	const char *name;
	unsigned ndim;
	uint64_t dims[4];
	uint8_t type;
	uint32_t buffer;
	unsigned scales;       /* their number */
	uint64_t scale[2];     /* bits of an F32 */
};

static inline void
put_tensor(struct gen *g, size_t list, unsigned i, const struct fb_tensor *t)
{
	static const uint64_t zero[2] = { 0, (uint64_t)-3 };
	const struct fb_field fields[] = { OFFSET, { 1, t->type }, { 4, t->buffer }, OFFSET,
		{ t->scales ? 4 : 0, 0 } };
	const struct fb_field quantization[] = { ABSENT, ABSENT, OFFSET, OFFSET, ABSENT, ABSENT,
		{ 4, 0 } };
	const size_t table = fb_member(g, list, i, fields, 5);
	size_t q;

	if (strcmp(t->name, "b") == 0) {
		fb_mark(g, "tensor", table);
		fb_mark(g, "vtable", table - g->p[table]);
		fb_mark(g, "shape_at", fb_slot(g, table, 0));
		fb_mark(g, "type", fb_slot(g, table, 1));
		fb_mark(g, "buffer", fb_slot(g, table, 2));
		fb_mark(g, "name_at", fb_slot(g, table, 3));
		fb_mark(g, "quantization_at", fb_slot(g, table, 4));
	}
	fb_numbers(g, table, 0, 4, t->dims, t->ndim);
	if (strcmp(t->name, "b") == 0) {
		fb_mark(g, "rank", g->n - 8);
		fb_mark(g, "dim", g->n - 4);
	}
	fb_text(g, table, 3, t->name);
	if (strcmp(t->name, "b") == 0)
		fb_mark(g, "name_end", g->n - 1);
	if (!t->scales)
		return;
	put_align(g, 4);
	q = fb_table(g, quantization, 7);
	g->p[fb_slot(g, table, 4)] = (uint8_t)(q - fb_slot(g, table, 4));
	fb_numbers(g, q, 2, 4, t->scale, t->scales);
	if (strcmp(t->name, "b") == 0)
		fb_mark(g, "scales", g->n - 4 - 4 * (size_t)t->scales);
	fb_numbers(g, q, 3, 8, zero, t->scales);
}

static inline void
put_graph(struct gen *g, size_t graph, const struct fb_tensor *tensors, unsigned n,
          const char *name)
{
	size_t list = fb_vector(g, graph, 0, n);
	unsigned i;

	fb_mark(g, name, list - 4);
	for (i = 0; i < n; i++)
		put_tensor(g, list, i, &tensors[i]);
}

/* The bytes of buffer i; buffer 6 lies behind everything else. */
static inline const char *
fb_bytes(unsigned i, size_t *n)
{
	static const struct { const char *p; size_t n; } bytes[] = {
		{ "", 0 }, { "\1\2\3\4\5\6", 6 }, { "\1\0\0\0\376\377\377\377", 8 },
		{ "\x8f\x07", 2 }, { "\0\0\x80\x3f", 4 }, { "\1\0\0\0\0\0\0\0", 8 },
		{ "\0\x3c\0\xc0", 4 }, { "hello\0\0", 7 }, { "\1\2", 2 },
	};

	*n = bytes[i].n;
	return bytes[i].p;
}
#define FB_BUFFERS 9

static inline void
put_buffers(struct gen *g, size_t model)
{
	const struct fb_field inside[] = { OFFSET };
	const struct fb_field outside[] = { ABSENT, { 8, 0 }, { 8, 4 } };
	const size_t list = fb_vector(g, model, 4, FB_BUFFERS);
	size_t table, n;
	unsigned i;

	fb_mark(g, "buffers", list - 4);
	for (i = 0; i < FB_BUFFERS; i++) {
		const char *p = fb_bytes(i, &n);

		if (i == 6) {
			table = fb_member(g, list, i, outside, 3);
			fb_mark(g, "outside", fb_slot(g, table, 1));
			fb_mark(g, "outside_bytes", fb_slot(g, table, 2));
			continue;
		}
		table = fb_member(g, list, i, inside, n ? 1 : 0);
		if (n == 0)
			continue;
		put_align(g, 4);
		fb_point(g, fb_slot(g, table, 0));
		if (i == 2)
			mark(g, "bytes");
		put_u32(g, (uint32_t)n);
		put(g, p, n);
	}
}

static inline void
put_operator(struct gen *g, size_t graph)
{
	static const uint64_t inputs[] = { 0, 1, 2 }, outputs[] = { 6 };
	const struct fb_field fields[] = { { 4, 0 }, OFFSET, OFFSET };
	size_t list, table;

	fb_numbers(g, graph, 1, 4, inputs, 1);
	fb_mark(g, "input", g->n - 4);
	fb_numbers(g, graph, 2, 4, outputs, 1);
	list = fb_vector(g, graph, 3, 1);
	table = fb_member(g, list, 0, fields, 3);
	fb_numbers(g, table, 1, 4, inputs, 3);
	fb_numbers(g, table, 2, 4, outputs, 1);
}

static inline void
put_metadata(struct gen *g, size_t model)
{
	const struct fb_field fields[] = { OFFSET, { 4, 7 } };
	const struct fb_field others[] = { OFFSET, { 4, 8 } };
	const size_t list = fb_vector(g, model, 6, 2);
	size_t table = fb_member(g, list, 0, fields, 2);

	fb_mark(g, "metadata_buffer", fb_slot(g, table, 1));
	fb_text(g, table, 0, "note");
	table = fb_member(g, list, 1, others, 2);
	fb_text(g, table, 0, "blob");
}

static inline void
made_tflite(struct gen *g)
{
	static const struct fb_tensor first[] = {
		{ "x", 2, { 1, 3 }, 9, 0, 1, { 0x3f000000 } },
		{ "w", 2, { 2, 3 }, 9, 1, 1, { 0x3f000000 } },
		{ "b", 1, { 2 }, 2, 2, 2, { 0x3e800000, 0x3dcccccd } },
		{ "nibbles", 1, { 3 }, 17, 3, 0, { 0 } }, { "w", 0, { 0 }, 0, 4, 0, { 0 } },
		{ "words", 1, { 1 }, 5, 5, 0, { 0 } }, { "y", 2, { 1, 2 }, 0, 0, 0, { 0 } },
	}, second[] = { { "k", 1, { 2 }, 1, 6, 0, { 0 } } };
	const struct fb_field model_fields[] = { { 4, 3 }, OFFSET, OFFSET, OFFSET, OFFSET, ABSENT,
		OFFSET };
	const struct fb_field code_fields[] = { { 1, 9 } };
	const struct fb_field graph_fields[] = { OFFSET, OFFSET, OFFSET, OFFSET, OFFSET };
	const struct fb_field body_fields[] = { OFFSET, ABSENT, ABSENT, ABSENT, OFFSET };
	size_t model, list, graph, body, n;

	put_u32(g, 0);
	mark(g, "id");
	put_text(g, "TFL3");
	model = fb_table(g, model_fields, 7);
	g->p[0] = (uint8_t)model;
	fb_mark(g, "version", fb_slot(g, model, 0));
	fb_mark(g, "graphs_at", fb_slot(g, model, 2));
	fb_member(g, fb_vector(g, model, 1, 1), 0, code_fields, 1);
	list = fb_vector(g, model, 2, 2);
	fb_mark(g, "graphs", list - 4);
	graph = fb_member(g, list, 0, graph_fields, 5);
	put_graph(g, graph, first, 7, "tensors");
	put_operator(g, graph);
	fb_text(g, graph, 4, "main");
	body = fb_member(g, list, 1, body_fields, 5);
	put_graph(g, body, second, 1, "tensors_of_body");
	fb_text(g, body, 4, "body");
	fb_text(g, model, 3, "made by hand");
	put_buffers(g, model);
	put_metadata(g, model);
	put_align(g, 4);
	n = mark_at(g, "outside");
	g->p[n] = (uint8_t)g->n;
	g->p[n + 1] = (uint8_t)(g->n >> 8);
	put(g, fb_bytes(6, &n), 4);
}

/* ---- a file with one sparse tensor, w ---- */

struct fb_level {
	bool sparse;
	uint32_t size;         /* dense */
	unsigned width;        /* of the numbers of a sparse level: 4, 2 or 1 bytes */
	unsigned segments, indices;
	uint64_t segment[8], index[8];
};

struct fb_sparse {
	unsigned ndim, levels, blocks;
	uint64_t dims[4], order[8], map[4];
	struct fb_level level[8];
	uint8_t type;
	const char *values;
	size_t n;
};

/* A vector in a table of its own; the field of its type is in front of `field`. */
static inline void
put_index(struct gen *g, size_t table, unsigned field, unsigned width, const uint64_t *v, unsigned n)
{
	const struct fb_field fields[] = { OFFSET };
	size_t inner, at = fb_slot(g, table, field);

	put_align(g, 4);
	inner = fb_table(g, fields, 1);
	g->p[at] = (uint8_t)(inner - at);
	g->p[at + 1] = (uint8_t)((inner - at) >> 8);
	fb_numbers(g, inner, 0, width, v, n);
}

static inline void
put_level(struct gen *g, size_t list, unsigned i, const struct fb_level *l)
{
	const uint8_t kind = l->width == 4 ? 1 : l->width == 2 ? 2 : 3;
	const struct fb_field dense[] = { { 1, 0 }, { 4, l->size } };
	const struct fb_field sparse[] = { { 1, 1 }, ABSENT, { 1, kind }, OFFSET, { 1, kind }, OFFSET };
	const size_t table = l->sparse ? fb_member(g, list, i, sparse, 6) : fb_member(g, list, i, dense, 2);

	fb_mark(g, l->sparse ? "sparse_form" : "dense_form", fb_slot(g, table, 0));
	if (!l->sparse) {
		fb_mark(g, "size", fb_slot(g, table, 1));
		return;
	}
	fb_mark(g, "kind", fb_slot(g, table, 2));
	put_index(g, table, 3, l->width, l->segment, l->segments);
	fb_mark(g, "segments", g->n - l->width * l->segments);
	put_index(g, table, 5, l->width, l->index, l->indices);
	fb_mark(g, "indices", g->n - l->width * l->indices);
}

static inline void
put_sparsity(struct gen *g, size_t tensor, const struct fb_sparse *x)
{
	const struct fb_field fields[] = { OFFSET, { x->blocks ? 4 : 0, 0 }, OFFSET };
	size_t table, list, at = fb_slot(g, tensor, 6);
	unsigned i;

	put_align(g, 8);
	table = fb_table(g, fields, 3);
	g->p[at] = (uint8_t)(table - at);
	fb_numbers(g, table, 0, 4, x->order, x->levels);
	fb_mark(g, "order", g->n - 4 * x->levels);
	if (x->blocks)
		fb_numbers(g, table, 1, 4, x->map, x->blocks);
	fb_mark(g, "map", g->n - 4 * x->blocks);
	list = fb_vector(g, table, 2, x->levels);
	fb_mark(g, "levels", list - 4);
	for (i = 0; i < x->levels; i++)
		put_level(g, list, i, &x->level[i]);
}

static inline void
put_tflite_sparse(struct gen *g, const struct fb_sparse *x)
{
	const struct fb_field model_fields[] = { { 4, 3 }, ABSENT, OFFSET, ABSENT, OFFSET };
	const struct fb_field graph_fields[] = { OFFSET };
	const struct fb_field tensor_fields[] = { OFFSET, { 1, x->type }, { 4, 1 }, OFFSET, ABSENT, ABSENT,
		OFFSET };
	const struct fb_field inside[] = { OFFSET };
	size_t model, list, table;

	put_u32(g, 0);
	put_text(g, "TFL3");
	model = fb_table(g, model_fields, 5);
	g->p[0] = (uint8_t)model;
	list = fb_vector(g, model, 2, 1);
	table = fb_member(g, list, 0, graph_fields, 1);
	list = fb_vector(g, table, 0, 1);
	table = fb_member(g, list, 0, tensor_fields, 7);
	fb_numbers(g, table, 0, 4, x->dims, x->ndim);
	fb_mark(g, "shape", g->n - 4 * x->ndim);
	fb_text(g, table, 3, "w");
	put_sparsity(g, table, x);
	list = fb_vector(g, model, 4, 2);
	fb_member(g, list, 0, inside, 0);
	table = fb_member(g, list, 1, inside, 1);
	put_align(g, 4);
	fb_point(g, fb_slot(g, table, 0));
	fb_mark(g, "bytes", g->n);
	put_u32(g, (uint32_t)x->n);
	put(g, x->values, x->n);
}

#endif
