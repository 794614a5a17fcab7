/* kinds: forms of activations in memory, and the products for types of weights.
 * Internal to this folder.
 *
 * F32 is n numbers each after the other. The others are arrays that each begin at a
 * multiple of 64 bytes; of I16, whose rows may be of any length, m is n up to the next
 * multiple of 32:
 *
 *	I16     n values (f32) | m codes (i16), zero from n on | m / 32 scales (f32)
 *	Q8_0    n codes (i8) | n / 32 scales (f32) | n / 32 sums of codes (i32)
 *	Q8_1    n codes (i8) | n / 32 scales (f32) | n / 32 sums of values (f32)
 *	Q8_K    n codes (i8) | n / 256 scales (f32) | n / 16 sums of codes (i16)
 *
 * Scales of Q8_0 and Q8_1 and sums of Q8_1 have gone through half precision.
 */
#ifndef DOT_KINDS_H
#define DOT_KINDS_H

#include "kernels/attend.h"
#include "kernels/dot.h"

enum { SMALL = 32, LARGE = 256, SUB = 16 };

/* The largest code of I16, so that 32 products of two fit into 32 bits. */
#define I16_MOST 8191.0f

static inline size_t
up64(size_t n)
{
	return (n + 63) / 64 * 64;
}

/* A row of activations of n values in one of the three forms. */
struct quantized {
	const int8_t *code;
	const float *scale;
	const void *sums;
};

static inline struct quantized
quantized_at(const uint8_t *a, size_t n, size_t block)
{
	struct quantized q;

	q.code = (const int8_t *)a;
	q.scale = (const float *)(const void *)(a + up64(n));
	q.sums = a + up64(n) + up64(n / block * sizeof(float));
	return q;
}

/* The codes and scales of a row of I16; the values are where it begins. */
struct words {
	const int16_t *code;
	const float *scale;
};

static inline struct words
words_at(const uint8_t *a, size_t n)
{
	size_t m = (n + SMALL - 1) / SMALL * SMALL;
	struct words w;

	w.code = (const int16_t *)(const void *)(a + up64(n * sizeof(float)));
	w.scale = (const float *)(const void *)(w.code + up64(m * sizeof *w.code) / sizeof *w.code);
	return w;
}

extern const struct activation activation_f32, activation_i16;
extern const struct activation activation_q8_0, activation_q8_1, activation_q8_k;

/* Codes of a block of 32 or 256 values, value = scale × code - least. */
struct codes {
	int8_t code[LARGE];
	float scale[LARGE / SUB], least[LARGE / SUB]; /* of sub values each */
};

/* A block type: what plain C reads of it. */
struct form {
	const char *dtype;
	const struct activation *activation;
	unsigned items, bytes; /* of a block */
	unsigned sub;          /* values that share a scale: 16 or 32 */
	bool least;            /* else least is not set, and zero */
	void (*unpack)(const uint8_t *x, struct codes *c);
};

/* NULL past the last. */
const struct form *form_row(size_t index);

/* The plain products of one row. Floats are added in double precision. */
float dot_row_ref(const struct form *f, const uint8_t *w, const uint8_t *a, size_t n);
float dot_f32_ref(const float *w, const float *a, size_t n);

/* y[i] = the row at w + i × stride, of n values, × a. */
typedef void dot_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n,
                      float *y);

/* The same with many activations, bytes apart, at once: y[j × leading + i]. */
typedef void dot_panels(const uint8_t *w, size_t stride, size_t count, const uint8_t *a,
                        size_t bytes, size_t many, size_t n, float *y, size_t leading);

/* A faster way for one type of weights, or form of activations. */
struct dot_fast {
	const char *dtype;
	dot_rows *rows;
};
struct dot_many {
	const char *dtype;
	dot_panels *panels;
};
/* A type whose weights can be laid out anew, sixteen rows at a time in as many bytes as
 * they had: rows of n values, n being a multiple of LARGE. Products are of whole sixteens
 * of rows; with DOT_MANY activations or more they have the same bits as without. */
struct dot_packing {
	const char *dtype;
	void (*pack)(const uint8_t *w, size_t stride, size_t n, uint8_t *to);
	dot_rows *rows;
	dot_panels *panels;
};
struct quantize_fast {
	const struct activation *form;
	void (*quantize)(const float *x, uint8_t *row, size_t n, size_t at, size_t count);
};

/* All that a level of the CPU has: ends of lists are marked by a NULL of dtype and form;
 * what is NULL is not there. */
enum { DOT_LISTS = 4 };
struct dot_level {
	const char *name;
	const char *level; /* as in kernels/level.h, if that is not its name */
	bool (*here)(void);
	const struct dot_fast *dots[DOT_LISTS];
	const struct quantize_fast *quantizers;
	const struct dot_many *many[DOT_LISTS]; /* of types that are among dots */
	const struct dot_packing *packings;
	dot_panels *add_f32; /* of F32, added to what is in y */
	const struct attend *attend;
};

extern const struct attend attend_ref;

#ifdef __x86_64__
extern const struct dot_fast dots_avx2[], dots_avx512[], grids_avx2[], grids_avx512[];
extern const struct dot_fast f8_avx2[], f8_avx512[];
extern const struct quantize_fast quantizers_avx2[];
extern const struct dot_many panels_avx2[], words_avx2[], halves_avx2[], floats_avx2[];
extern const struct dot_many panels_avx512[], floats_avx512[], halves_avx512[];
extern const struct dot_many grid_panels_avx512[];
extern const struct dot_packing packings_avx512[];
extern dot_panels add_f32_avx2, add_f32_avx512;
extern const struct attend attend_avx2, attend_avx512;
#endif

#ifdef __aarch64__
extern const struct dot_fast dots_neon[], dots_sdot[];
extern const struct quantize_fast quantizers_neon[];
extern const struct dot_many panels_neon[], panels_sdot[], panels_i8mm[], floats_neon[];
extern dot_panels add_f32_neon;
extern const struct attend attend_neon;
#endif

/* From plain C up; those that the CPU cannot run are in it too. NULL past the last. */
const struct dot_level *dot_level_row(size_t index);

/* Use that one from now on, without comparing. */
void dot_use(const struct dot_level *l);

/* Bytes, see dot_ahead. */
size_t dot_ahead_now(void);

/* What is used; NULL: nothing was chosen, and all is plain C. */
const struct dot_level *dot_level_now(void);

/* The name of a type that it computes differently from plain C, or NULL. */
const char *dot_differs(const struct dot_level *l);

#endif
