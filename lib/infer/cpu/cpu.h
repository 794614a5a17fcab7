/* cpu: the table of operations for the CPU (infer/ops.h), on the kernels of
 * kernels/ and the threads of core/thread.h. Values are floats of the process:
 * the memory of a place is the address of its first float.
 */
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include <stdatomic.h>

#include "core/map.h"
#include "infer/cpu/thin.h"
#include "infer/ops.h"

#define CPU_PARTS 64 /* parts that one_token of cpu/attention.c divides positions into, at most */

struct device {
	unsigned threads;
	size_t heads, head_v;        /* of attention, at most */
	size_t rows;                 /* that scratch memory is for */
	struct map packed;           /* repacked matrices */
	struct thin_set thin;        /* matrices without zeros */

	/* Scratch memory. */
	struct map memory;
	size_t input_bytes;          /* of one row of activations, in any form */
	uint8_t *inputs;             /* rows × input_bytes, aligned to DOT_ALIGN */
	float *max, *sum;            /* rows × heads: of the scores so far */
	float *part_out;             /* CPU_PARTS × heads × head_v: attention of one token to */
	float *part_max, *part_sum;  /* CPU_PARTS × heads         each part of the positions */
	atomic_uint *done;           /* heads: finished parts; zero between tokens */
};

static inline float *
cpu_floats(struct values v)
{
	return (float *)v.memory + v.first;
}

/* The functions of a row, for unit tests. y may be x. */
void cpu_norm_rms(const float *x, const struct norm *w, size_t width, float *y);
void cpu_norm_layer(const float *x, const struct norm *w, size_t width, float *y);
float cpu_act(enum act act, float x);
void cpu_rope(float *head, const struct rotation *r, const float *cosines, const float *sines);

/* cpu/linear.c. Bytes of a row of activations for products with w. */
size_t cpu_input_bytes(const struct matrix *w);
void cpu_linear(struct device *d, const struct input *in, const struct product *p,
                size_t count);
void cpu_dots(struct device *d, struct values x, const float *w, size_t n, size_t width,
              struct values y);

/* cpu/attention.c */
void cpu_attend(struct device *d, const struct attention *a);

#endif
