/* ops: the operations that transformers are made of, as a table of functions for each kind of
 * device. A family of models (infer/decoder.h) calls them in the order of its paper; a table
 * knows no family. Shapes are arguments: x[n × width] is n rows of width values, row after
 * row, in single precision.
 *
 * The contract between a family and a table, which a GPU can meet too:
 *
 * Activations lie in the memory of the device. The family passes places in it around
 * (struct values) and never reads them; copy_in and copy_out are the only ways in and out.
 *
 * Weights (struct matrix; weights, biases and scales of norms and layers) lie in the memory
 * of the host. They are constant and keep their addresses from open to close, so a table may
 * copy them to the device when it opens, or when it first sees them.
 *
 * An operation may return before its result is there, as long as later operations see it;
 * copy_out waits. A list or structure that an argument points to is read before the
 * operation returns.
 *
 * Operations cannot fail: everything they need is allocated by open, reserve, alloc and
 * cache_open. A device serves one thread at a time.
 *
 * infer/cpu/ is the table for the CPU. Two tables need not give the same bits.
 */
#ifndef INFER_OPS_H
#define INFER_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/hyper.h"
#include "core/err.h"
#include "infer/cache_type.h"
#include "infer/watch.h"
#include "model/dtype.h"
#include "model/weights.h"

/* ---- weights ---- */

/* rows × columns weights in the bytes of their type, row after row, or packed. */
struct matrix {
	const struct dtype *type; /* a type that kernels/kernel.h decodes */
	const uint8_t *head;      /* of the tensor, for types that have one */
	const uint8_t *data;      /* of row 0 */
	size_t rows, columns;     /* columns fill whole blocks */
	bool packed;              /* the CPU's own order: only its products can read it */
	const struct thin *thin;  /* where the CPU keeps it without zeros, and data is not its rows; or
	                           * NULL */
};

/* Bytes of a row that is not thin, and of all rows as they lie in memory. */
size_t matrix_row_bytes(const struct matrix *w);
size_t matrix_bytes(const struct matrix *w);

/* rows from first on, as a matrix. */
struct matrix matrix_rows(const struct matrix *w, size_t first, size_t rows);

/* Row i in single precision: w->columns values. Not of a packed matrix. */
void matrix_row(const struct matrix *w, size_t i, float *y);

/* y = s W x + b. Without rows, the layer is absent. W can be the product of w and `inner`, a layer
 * without scale and bias: the family multiplies x with that first. Parts of a fused layer share it. */
struct linear {
	struct matrix w;
	const float *bias;  /* w.rows, or NULL */
	const float *scale; /* s, of the whole matrix; NULL: 1 */
	struct linear_id id;
	struct linear *inner; /* for the family; NULL: W is w */
	struct low *low;    /* what adapters add to y, for the family; NULL: nothing */
};

/* b(a(x)), where a is of rank × columns and b of rows × rank. */
struct low {
	struct linear a, b;
};

/* RMS norm:   y = x / sqrt(mean(x²) + eps) × weight + bias
 * layer norm: y = (x - mean(x)) / sqrt(variance(x) + eps) × weight + bias
 *
 * Without weight, the norm is absent. */
struct norm {
	const float *weight;
	const float *bias;  /* NULL: 0 */
	float eps;
	bool layer;         /* a layer norm; else an RMS norm */
};

/* ---- activations ---- */

/* A place in the memory of a device: value number first of what alloc made. */
struct values {
	void *memory; /* the table's own handle; NULL: no values */
	size_t first;
};

static inline struct values
values_at(struct values v, size_t i)
{
	return (struct values){ v.memory, v.first + i };
}

/* The input of linear layers: x[n × columns], or norm(x), which must be an RMS norm without
 * bias; a table can often compute that on the way. */
struct input {
	struct values x;
	const struct norm *norm; /* NULL: x itself */
	size_t n, columns;
};

/* A layer with the place of its result, y[n × rows]. */
struct product {
	const struct linear *layer;
	struct values y;
};

/* Rotary positions (arch/rope.h) of n rows: cosines and sines [n × rot/2]. Without memory they
 * turn nothing, and values only change places. */
struct rotation {
	size_t rot;    /* values of a head that are turned, at most HYPER_HEAD */
	bool halves;   /* pairs are (i, i + rot/2), else (2i, 2i + 1) */
	bool join;     /* pairs of halves become neighbours */
	struct values cosines, sines;
};

/* ---- attention ---- */

/* A cache holds keys and values of some layers: a sequence's own (self-attention), or those
 * made from the output of an encoder (cross-attention). */
struct cache;

struct cache_shape {
	size_t layers, heads, positions; /* heads: of keys and values */
	size_t head_k, head_v;           /* values of a head's key, of its value */
	enum cache_type type;
};

/* The size of a cache of this shape on the CPU. 0, or -1 if it overflows. */
struct cache_size {
	uint64_t positions;  /* rounded up to whole columns */
	uint64_t layer;      /* bytes of a layer, */
	uint64_t bytes;      /* and of all */
};
int cache_size(const struct cache_shape *s, struct cache_size *to);

/* out[n × heads × head_v] = softmax(scale × q kᵀ) v for each of the heads of
 * q[n × heads × head_k]. Each key head serves heads / cache heads query heads in a row.
 * A query that sees no key is not allowed. */
struct attention {
	struct values q, out;
	size_t n, heads;
	const struct cache *cache; /* key source, and which of its layers */
	size_t layer;
	size_t length;  /* keys: positions 0 to length - 1 */
	bool causal;    /* the queries are the last n positions, and see none after their own */
	size_t window;  /* a causal query sees this many positions, its own included; 0: all */
	float scale;
	float cap;      /* scores become cap × tanh(score / cap); 0: no cap */
};

/* ---- the table ---- */

struct device;

/* What a device is opened for. */
struct device_options {
	unsigned threads;               /* of the host, at least 1 */
	const struct weights *weights;  /* where the matrices lie, or NULL */
	struct matrix *const *matrices; /* every matrix that linear will be given */
	size_t matrix_count;
	const struct matrix *const *tables; /* every matrix that embed will be given */
	size_t table_count;
	size_t heads, head_v;           /* the most that attend will be given */
	bool thin;                      /* matrices of tensors with a sparse form may move too, to be
	                                 * kept without zeros */
	bool repack;                    /* matrices may move to memory of the device, and their
	                                 * own may be given back, but not that of tables */
};

struct ops {
	const char *name;

	/* Can linear multiply with such a matrix? */
	bool (*multiplies)(const struct dtype *type, size_t columns);

	/* A device; NULL with e filled. Matrices may be changed to suit it. */
	struct device *(*open)(const struct device_options *o, struct err *e);
	void (*close)(struct device *d); /* NULL is harmless */

	/* Scratch memory of the operations: bytes for each row, and make room for rows of them
	 * (n of any operation but norm, add and act). 0 or -1. */
	uint64_t (*row_bytes)(const struct device *d);
	int (*reserve)(struct device *d, size_t rows, struct err *e);

	/* n values; NULL memory with e filled. */
	struct values (*alloc)(struct device *d, uint64_t n, struct err *e);
	void (*release)(struct device *d, struct values v); /* from alloc, or no values */
	void (*copy_in)(struct device *d, struct values to, const float *from, size_t n);
	void (*copy_out)(struct device *d, float *to, struct values from, size_t n);

	/* A cache; NULL with e filled. */
	struct cache *(*cache_open)(struct device *d, const struct cache_shape *s,
	                            struct err *e);
	void (*cache_close)(struct cache *c); /* NULL is harmless */
	uint64_t (*cache_bytes)(const struct cache *c);

	/* y[n × table->columns] = scale × row id[i] of the table */
	void (*embed)(struct device *d, const struct matrix *table, const uint32_t *id,
	              size_t n, float scale, struct values y);

	/* y[n × width] = norm(x); y may be x */
	void (*norm)(struct device *d, const struct norm *w, struct values x, size_t n,
	             size_t width, struct values y);

	/* Every product of the list, all with the same input. */
	void (*linear)(struct device *d, const struct input *in, const struct product *p,
	               size_t count);

	/* up = act(gate) × up, or act(up) if gate has no memory; n values */
	void (*act)(struct device *d, enum act act, struct values gate, struct values up,
	            size_t n);

	/* Turn each head of x[n × heads × width], in place. */
	void (*rope)(struct device *d, const struct rotation *r, struct values x, size_t n,
	             size_t heads, size_t width);

	/* Keep k[n × heads × head_k] and v[n × heads × head_v] at positions from one on. */
	void (*keep)(struct device *d, struct cache *c, size_t layer, size_t position,
	             struct values k, struct values v, size_t n);

	void (*attend)(struct device *d, const struct attention *a);

	/* x += y; n values */
	void (*add)(struct device *d, struct values x, struct values y, size_t n);

	/* x = 0; n values */
	void (*clear)(struct device *d, struct values x, size_t n);

	/* y[i] = row row[i] of x, for n rows of width values */
	void (*gather)(struct device *d, struct values x, const uint32_t *row, size_t n,
	               size_t width, struct values y);

	/* row row[i] of y += weight[i] × x[i], for n rows of width values */
	void (*scatter)(struct device *d, struct values x, const uint32_t *row,
	                const float *weight, size_t n, size_t width, struct values y);

	/* y[n] = x[n × width] · w */
	void (*dots)(struct device *d, struct values x, const float *w, size_t n, size_t width,
	             struct values y);
};

/* infer/cpu/cpu.c */
extern const struct ops ops_cpu;

#endif
