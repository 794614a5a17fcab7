/* expand: whether products would be faster on weights without their zeros (apr-sparse(1)) than on dense
 * ones, where memory bounds both: a matrix of F16 that no cache holds, times a vector, with the best
 * instruction that expands them (VPEXPANDW). apr-run permutes activations instead: thin.sh. One thread; CPU
 * time; the median of five.
 *
 *     expand
 *
 * bitmap: a mask of 32 bits, then its values, which begin where those before end; 2:4: 16 values for
 * each 32, at places that are known before.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROWS 8192u
#define COLUMNS 8192u
#define ALL ((size_t)ROWS * COLUMNS)
#define RUNS 5

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,f16c,popcnt,fma")))

static uint16_t *dense, *values;
static uint32_t *masks;
static float x[COLUMNS], result[ROWS];

TARGET static inline void
add(__m512i w, const float *by, __m512 *low, __m512 *high)
{
	*low = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm512_castsi512_si256(w)), _mm512_loadu_ps(by), *low);
	*high = _mm512_fmadd_ps(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(w, 1)),
	                        _mm512_loadu_ps(by + 16), *high);
}

TARGET static void
multiply_dense(void)
{
	size_t r, i;

	for (r = 0; r < ROWS; r++) {
		__m512 low = _mm512_setzero_ps(), high = low;

		for (i = 0; i < COLUMNS; i += 32)
			add(_mm512_loadu_si512(dense + r * COLUMNS + i), x + i, &low, &high);
		result[r] = _mm512_reduce_add_ps(_mm512_add_ps(low, high));
	}
}

TARGET static void
multiply_bitmap(void)
{
	const uint16_t *v = values;
	const uint32_t *m = masks;
	size_t r, i;

	for (r = 0; r < ROWS; r++) {
		__m512 low = _mm512_setzero_ps(), high = low;

		for (i = 0; i < COLUMNS; i += 32, m++) {
			add(_mm512_maskz_expand_epi16(*m, _mm512_loadu_si512(v)), x + i, &low, &high);
			v += __builtin_popcount(*m);
		}
		result[r] = _mm512_reduce_add_ps(_mm512_add_ps(low, high));
	}
}

TARGET static void
multiply_groups(void)
{
	const uint16_t *v = values;
	const uint32_t *m = masks;
	size_t r, i;

	for (r = 0; r < ROWS; r++) {
		__m512 low = _mm512_setzero_ps(), high = low;

		for (i = 0; i < COLUMNS; i += 32, m++, v += 16)
			add(_mm512_maskz_expand_epi16(*m, _mm512_castsi256_si512(
			        _mm256_loadu_si256((const void *)v))), x + i, &low, &high);
		result[r] = _mm512_reduce_add_ps(_mm512_add_ps(low, high));
	}
}

/* Two of four values stay, at places by chance; or this share. The number of values. */
static size_t
fill(double zeros)
{
	uint64_t state = 1;
	size_t i, n = 0, first = 0;

	for (i = 0; i < ALL; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		if (i % 2 == 0)
			first = state >> 40 & 1;
		dense[i] = 0;
		masks[i / 32] &= ~(1u << i % 32);
		if (zeros < 0 ? i % 2 != first : (double)(state >> 40 & 1023) < zeros * 1024)
			continue;
		dense[i] = (uint16_t)(0x3000 + (state >> 33) % 4096);
		masks[i / 32] |= 1u << i % 32;
		values[n++] = dense[i];
	}
	return n;
}

static int
by_size(const void *a, const void *b)
{
	const double *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

/* Milliseconds; *sum: of all results, to compare. */
static double
measure(void (*multiply)(void), double *sum)
{
	struct timespec from, to;
	double t[RUNS];
	size_t i;

	for (i = 0; i < RUNS; i++) {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		multiply();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		t[i] = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	}
	qsort(t, RUNS, sizeof *t, by_size);
	for (*sum = 0, i = 0; i < ROWS; i++)
		*sum += (double)result[i];
	return t[RUNS / 2];
}

static void
compare(const char *name, double zeros)
{
	size_t n = fill(zeros);
	double same, sum, whole = measure(multiply_dense, &same);
	double part = measure(zeros < 0 ? multiply_groups : multiply_bitmap, &sum);

	printf("%-14s %4zu MB %6.1f ms  dense %4zu MB %6.1f ms  %.2f times%s\n", name,
	       (n * 2 + ALL / 8) / 1000000, part, ALL * 2 / 1000000, whole, whole / part,
	       same == sum ? "" : "  WRONG");
}

int
main(void)
{
	size_t i;

	if (!__builtin_cpu_supports("avx512vbmi2")) {
		puts("no instruction of this CPU expands values by a mask");
		return 0;
	}
	dense = malloc(ALL * 2);
	values = malloc(ALL * 2 + 64);
	masks = calloc(ALL / 32, sizeof *masks);
	if (!dense || !values || !masks)
		return 1;
	for (i = 0; i < COLUMNS; i++)
		x[i] = (float)(i % 17) - 8;
	compare("2:4", -1);
	compare("bitmap, 50 %", 0.5);
	compare("bitmap, 70 %", 0.7);
	compare("bitmap, 90 %", 0.9);
	free(dense);
	free(values);
	free(masks);
	return 0;
}
#else
int
main(void)
{
	puts("no instruction of this CPU expands values by a mask");
	return 0;
}
#endif
