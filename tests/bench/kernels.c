/* kernels [TYPE…]: the speed of each kernel on one CPU, at each level that this CPU has, or
 * only at that of APR_CPU: millions of values, and thousands of rows of 4096, per second,
 * encoded (without and with importance) and decoded. ROOFLINE.md explains the bounds.
 *
 * Best of seven runs over 64 rows of 4096 values like weights. CPU time of this process is
 * counted, so that other load on the machine matters less.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/kernel.h"
#include "kernels/level.h"

enum { COLUMNS = 4096, ROWS = 64, RUNS = 7 };

static float x[ROWS * COLUMNS], importance[COLUMNS];
static uint8_t y[ROWS * COLUMNS * 4];

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Each value is the sum of four numbers from -1/8 to 1/8. */
static void
fill(void)
{
	uint32_t last = 2463534242u;
	size_t i;
	int k;

	for (i = 0; i < ROWS * COLUMNS; i++) {
		for (k = 0; k < 4; k++) {
			last = last * 1664525u + 1013904223u;
			x[i] += ((float)(last >> 8) - 0x1p23f) * 0x1p-26f;
		}
		importance[i % COLUMNS] = x[i] * x[i];
	}
}

enum job { ENCODE, WEIGHTED, DECODE };

static void
once(const struct kernel *k, size_t row_bytes, enum job job)
{
	size_t i;

	for (i = 0; i < ROWS; i++) {
		uint8_t *to = y + row_bytes * i;
		float *row = x + COLUMNS * i;

		if (job == ENCODE)
			k->encode(row, to, COLUMNS);
		else if (job == WEIGHTED)
			k->encode_weighted(row, importance, to, COLUMNS);
		else
			k->decode(to, row, COLUMNS);
	}
}

/* Millions of values per second; 0 if the kernel does not exist. */
static double
rate(const struct kernel *k, const struct dtype *t, enum job job, int can)
{
	double best = 1e9, spent;
	int i;

	if (!can)
		return 0;
	for (i = 0; i < RUNS; i++) {
		spent = now();
		once(k, COLUMNS / t->items * t->bytes, job);
		spent = now() - spent;
		best = spent < best ? spent : best;
	}
	return ROWS * COLUMNS / best * 1e-6;
}

static void
print(const double *v, double by)
{
	int i;

	for (i = 0; i < 3; i++)
		if (v[i] > 0)
			printf("%10.1f", v[i] * by);
		else
			printf("%10s", "-");
}

static void
row(const char *name, const char *level)
{
	const struct dtype *t = dtype_by_name(name);
	const struct kernel *k = t ? kernel_for(t) : NULL;
	double v[3];

	if (!k) {
		fprintf(stderr, "kernels: %s has no kernel\n", name);
		exit(2);
	}
	memset(x, 0, sizeof x);
	fill();
	printf("%-8s %-8s", t->name, level);
	v[0] = rate(k, t, ENCODE, k->encode != NULL);
	v[1] = rate(k, t, WEIGHTED, k->encode_weighted != NULL);
	v[2] = rate(k, t, DECODE, 1);
	print(v, 1);
	print(v, 1e3 / COLUMNS);
	putchar('\n');
}

int
main(int argc, char **argv)
{
	static const char *const all[] = {
		"F16", "BF16", "F8_E4M3", "F8_E5M2", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1",
		"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0",
		"MXFP4", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S",
	};
	const int count = argc > 1 ? argc - 1 : (int)(sizeof all / sizeof all[0]);
	const char *const *names = argc > 1 ? (const char *const *)(argv + 1) : all;
	const char *only = getenv("APR_CPU");
	struct err e = ERR_INIT;
	unsigned level;
	int i;

	printf("%-8s %-8s%10s%10s%10s%10s%10s%10s\n", "", "", "Mvalues/s", "", "", "krows/s", "",
	       "");
	printf("%-8s %-8s%10s%10s%10s%10s%10s%10s\n", "type", "level", "encode", "weighted",
	       "decode", "encode", "weighted", "decode");
	for (i = 0; i < count; i++)
		for (level = 0; level_row(level); level++)
			if ((!only || !strcmp(only, level_row(level)->name)) &&
			    level_begin(level_row(level)->name, NULL, &e) == 0)
				row(names[i], level_row(level)->name);
	return 0;
}
