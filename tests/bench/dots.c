/* dots [TYPE…]: the speed of products on one CPU, at each level that this CPU has. It shows
 * gigabytes of weights per second with one row of activations, for weights in the cache
 * (256 KiB) and in memory (64 MiB), and billions of products per second of 128 rows with 64
 * rows of activations, as in prompts. Rows have 4096 columns.
 *
 * A line "packed" is for weights repacked for the level above it.
 *
 * Best of seven runs; CPU time of this process is counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/dot.h"
#include "kernels/common/products.h"
#include "kernels/kernel.h"
#include "kernels/level.h"

enum { COLUMNS = 4096, MANY = 64, HIGH = 128, RUNS = 7 };
static const size_t small = 256 << 10, large = 64 << 20;

static _Alignas(DOT_ALIGN) uint8_t activations[MANY * 7 * COLUMNS];
static float x[COLUMNS], y[MANY * (64 << 10)];
static uint8_t *weights, *packed;
static bool packs; /* packed weights are measured */

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Rows of values like weights if the type has an encoder, otherwise random bytes, which use
 * all points of a grid. The time does not depend on the values. */
static void
fill(const struct dtype *t)
{
	const struct kernel *k = kernel_for(t);
	uint32_t last = 2463534242u;
	size_t at, i, row = dtype_span(t, COLUMNS);

	for (i = 0; i < COLUMNS; i++) {
		last = last * 1664525u + 1013904223u;
		x[i] = ((float)(last >> 8) - 0x1p23f) * 0x1p-26f;
	}
	if (k->encode) {
		k->encode(x, weights, COLUMNS);
	} else {
		for (i = 0; i < row; i++) {
			last = last * 1664525u + 1013904223u;
			weights[i] = (uint8_t)(last >> 24);
		}
	}
	for (at = row; at + row <= large; at += row)
		memcpy(weights + at, weights, row);
}

/* The number of rows, in whole tiles, that fit into this many bytes. */
static size_t
rows_in(const struct dtype *t, size_t bytes)
{
	return bytes / dtype_span(t, COLUMNS) / DOT_PACKED * DOT_PACKED;
}

static void
pack(const struct dtype *t)
{
	size_t rows = rows_in(t, large);
	struct dot_weights w = { t, NULL, weights, rows, COLUMNS, false };

	dot_pack(&w, 0, rows, packed);
}

/* Seconds for this many rows, repeated times times. */
static double
spent(const struct dtype *t, size_t rows, size_t many, int times)
{
	struct dot_weights w = { t, NULL, packs ? packed : weights, rows, COLUMNS, packs };
	double best = 1e9, took;
	int i, k;

	for (i = 0; i < RUNS; i++) {
		took = now();
		for (k = 0; k < times; k++)
			dot_product(&w, 0, w.rows, activations, many, y, w.rows);
		took = now() - took;
		best = took < best ? took : best;
	}
	return best;
}

/* GB/s for this many bytes of weights, read times times. */
static double
speed(const struct dtype *t, size_t bytes, int times)
{
	size_t rows = rows_in(t, bytes);

	return (double)(rows * dtype_span(t, COLUMNS)) * times * 1e-9 / spent(t, rows, 1, times);
}

static void
row(const struct dtype *t, const char *level)
{
	const struct activation *form = dot_activation(t, COLUMNS);
	size_t slow = !strcmp(level, "ref") ? 8 : 1, i;

	for (i = 0; i < MANY; i++)
		dot_quantize(form, x, activations + i * form->bytes(COLUMNS), COLUMNS);
	printf("%-8s %-8s%10.2f%10.2f%10.1f\n", t->name, level, speed(t, small, 8),
	       speed(t, large / slow, 1), HIGH / slow * COLUMNS * (MANY / slow) * 1e-9 /
	       spent(t, HIGH / slow, MANY / slow, 1));
}

int
main(int argc, char **argv)
{
	static const char *const all[] = {
		"F32", "F16", "BF16", "F8_E4M3", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K",
		"Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4",
		"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S",
	};
	const int count = argc > 1 ? argc - 1 : (int)(sizeof all / sizeof all[0]);
	const char *const *names = argc > 1 ? (const char *const *)(argv + 1) : all;
	const struct products *l;
	const struct dtype *t;
	struct err e = ERR_INIT;
	size_t k;
	int i;

	weights = malloc(large);
	packed = malloc(large);
	if (!weights || !packed || level_begin(NULL, NULL, &e) < 0)
		return 1;
	printf("%-8s %-8s%10s%10s%10s\n", "type", "level", "cache", "memory", "prompt");
	for (i = 0; i < count; i++) {
		t = dtype_by_name(names[i]);
		if (!t || t->head || !dot_activation(t, COLUMNS)) {
			fprintf(stderr, "dots: %s has no kernel\n", names[i]);
			return 2;
		}
		fill(t);
		for (k = 0; (l = products_row(k)) != NULL; k++) {
			dot_use(l);
			row(t, l->name);
			packs = dot_packs(t, DOT_PACKED, COLUMNS);
			if (packs) {
				pack(t);
				row(t, "packed");
			}
			packs = false;
		}
	}
	free(weights);
	free(packed);
	return 0;
}
