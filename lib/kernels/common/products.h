/* products: what a level has for products of weights and activations (kernels/dot.h), and
 * for attention. Internal to kernels.
 */
#ifndef KERNELS_PRODUCTS_H
#define KERNELS_PRODUCTS_H

#include "kernels/attend.h"
#include "kernels/common/rows.h"
#include "kernels/thin.h"

/* y[i] = the row at w + i × stride, of n values, times the activations a, for i < count. */
typedef void dot_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n,
                      float *y);

/* The same with many rows of activations, bytes apart: y[j × leading + i]. */
typedef void dot_panels(const uint8_t *w, size_t stride, size_t count, const uint8_t *a,
                        size_t bytes, size_t many, size_t n, float *y, size_t leading);

/* A type of weights. */
struct type_products {
	const char *dtype;  /* NULL ends a list */
	dot_rows *rows;
	dot_panels *panels; /* with DOT_MANY rows of activations or more */
};

/* A type whose weights can be packed: sixteen rows at a time are laid out anew, in as many
 * bytes as they had. Rows have n values, a multiple of LARGE. rows and panels take packed
 * weights, whole sixteens of rows; panels gives the same bits as those of struct type_products. */
struct packing {
	const char *dtype; /* NULL ends a list */
	void (*pack)(const uint8_t *w, size_t stride, size_t n, uint8_t *to);
	dot_rows *rows;
	dot_panels *panels;
};

/* A form of activations; quantize is as in kernels/dot.h. */
struct quantizer {
	const struct activation *form; /* NULL ends a list */
	void (*quantize)(const float *x, uint8_t *row, size_t n, size_t at, size_t count);
};

/* A type of matrices without zeros: y[i] = the row of n columns at data + starts[i] times x, for
 * i < count, with the bits of plain C. */
struct thin_products {
	const char *dtype;  /* NULL ends a list */
	enum thin_kind kind;
	unsigned needs;     /* bits of kernels/cpu.h, beside those of the level */
	void (*rows)(const uint8_t *data, const uint64_t *starts, size_t count, const float *x, size_t n,
	             float *y);
};

/* The products of a level, or of a variant of it. A list that is NULL is empty; plain C
 * does what is missing. */
struct products {
	const char *name;
	unsigned needs;                     /* bits of kernels/cpu.h */
	const struct type_products *types;
	const struct packing *packings;
	const struct quantizer *quantizers;
	dot_panels *add_f32;                /* panels of F32 that are added to y, or NULL */
	const struct attend *attend;
	const struct thin_products *thin;
};

/* Plain C of attention. */
extern const struct attend attend_ref;

/* By index, from plain C up, those that this CPU can run; NULL at the end. */
const struct products *products_row(size_t index);

/* Use these from now on, without comparing; NULL: plain C. */
void dot_use(const struct products *p);

/* The products in use; NULL: plain C, and nothing was chosen. */
const struct products *dot_now(void);

/* What dot_ahead was given last: bytes. */
size_t dot_ahead_now(void);

#endif
