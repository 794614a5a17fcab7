#include "kernels/level.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "kernels/numbers.h"
#include "kernels/ref/types.h"
#include "kernels/common/search.h"

enum { ITEMS = 256, ROWS = 3, BYTES = 4 * ITEMS };

static bool
always(void)
{
	return true;
}

#ifdef __x86_64__
static bool
has_avx2(void)
{
	unsigned a, b, c, d;

	/* clang 14 knows the name of AVX2, but not of F16C. */
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool
has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl");
}

#define KERNEL_ROW(type) &plain_avx2_##type,
static const struct kernel *const avx2_kernels[] = {
	KERNELS(KERNEL_ROW)
	&avx2_f16, &avx2_bf16, &avx2_f8_e4m3, &avx2_f8_e5m2, &avx2_q8_0, &avx2_q4_0, &avx2_q4_1,
	&avx2_q5_0, &avx2_q5_1, &avx2_iq4_nl, &avx2_iq4_xs, &avx2_mxfp4, NULL
};
#undef KERNEL_ROW
#endif

#ifdef __aarch64__
static const struct kernel *const neon_kernels[] = {
	&neon_f16, &neon_bf16, &neon_q8_0, &neon_q4_0, NULL
};
#endif

static const struct way {
	struct level level;
	const struct search *search;
	const struct numbers *numbers;
	const struct kernel *const *kernels; /* as kernels_use has them */
	bool (*here)(void);
} ways[] = {
	{ { "ref" }, &search_ref, &ref_numbers, NULL, always },
#ifdef __x86_64__
	{ { "avx2" }, &search_avx2, &plain_avx2_numbers, avx2_kernels, has_avx2 },
	{ { "avx512" }, &search_avx512, &avx512_numbers, avx2_kernels, has_avx512 },
#endif
#ifdef __aarch64__
	{ { "neon" }, &search_neon, &ref_numbers, neon_kernels, always },
#endif
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static const struct way *now = ways;
const struct numbers *numbers = &ref_numbers;

/* Those that may be something else than plain C. */
#define KERNEL_ROW(type) &ref_##type,
static const struct kernel *const tested[] = {
	KERNELS(KERNEL_ROW)
};
#undef KERNEL_ROW

struct made {
	uint8_t code[ROWS][BYTES], weighted[ROWS][BYTES];
	float value[ROWS][ITEMS];
};

static uint32_t
chance(uint32_t *last)
{
	*last ^= *last << 13;
	*last ^= *last >> 17;
	return *last ^= *last << 5;
}

/* Rows like weights, of any bits, and mostly of zeros. */
static void
fill(float x[ROWS][ITEMS], float importance[ITEMS])
{
	uint32_t last = 2463534242u, u;
	int i;

	for (i = 0; i < ITEMS; i++) {
		x[0][i] = ((float)(chance(&last) >> 8) - 0x1p23f) * 0x1p-26f +
			((float)(chance(&last) >> 8) - 0x1p23f) * 0x1p-26f;
		u = chance(&last);
		memcpy(&x[1][i], &u, sizeof u);
		x[2][i] = i % 37 ? 0 : x[0][i];
		importance[i] = (float)(chance(&last) >> 16);
	}
}

static void
use(const struct way *way)
{
	search = way->search;
	numbers = way->numbers;
	kernels_use(way->kernels);
}

/* All that the kernel of a type makes of the rows, that way. */
static void
compute(const struct way *way, const char *dtype, float x[ROWS][ITEMS],
        const float *importance, struct made *y)
{
	const struct kernel *k;
	int i, j;

	use(way);
	k = kernel_for(dtype_by_name(dtype));
	memset(y, 0, sizeof *y);
	for (i = 0; i < ROWS; i++) {
		if (k->encode)
			k->encode(x[i], y->code[i], ITEMS);
		/* Weighted rows have finite products. */
		if (k->encode_weighted && i != 1)
			k->encode_weighted(x[i], importance, y->weighted[i], ITEMS);
		/* Any bits are a code. A NaN is a NaN. */
		k->decode((const uint8_t *)x[i], y->value[i], ITEMS);
		for (j = 0; j < ITEMS; j++)
			if (y->value[i][j] != y->value[i][j])
				y->value[i][j] = NAN;
	}
}

/* Do sums of the rows come out alike? */
static bool
counts_alike(const struct way *way, float x[ROWS][ITEMS])
{
	double v[ITEMS], want[ITEMS];
	struct numbers_found a, b;
	bool same = true;
	int i, n;

	for (i = 0; i < ROWS; i++) {
		for (n = ITEMS; same && n > ITEMS - 9; n--) {
			ways->numbers->widen(x[i], want, (size_t)n);
			way->numbers->widen(x[i], v, (size_t)n);
			ways->numbers->find(v, (size_t)n, &a);
			way->numbers->find(v, (size_t)n, &b);
			same = !memcmp(v, want, (size_t)n * sizeof v[0]) &&
			       a.finite == b.finite && a.zeros == b.zeros &&
			       ways->numbers->most(x[i], (size_t)n) ==
			       way->numbers->most(x[i], (size_t)n) &&
			       (!a.finite || (a.min == b.min && a.max == b.max && a.sum == b.sum &&
			       a.squares == b.squares &&
			       ways->numbers->deviations(v, (size_t)n, a.sum) ==
			       way->numbers->deviations(v, (size_t)n, a.sum)));
		}
	}
	return same;
}

/* What this way gives other bytes: the type of a kernel, or sums; or NULL. */
static const char *
differs(const struct way *way)
{
	static struct made want, have;
	float x[ROWS][ITEMS], importance[ITEMS];
	bool same = true;
	size_t i;

	fill(x, importance);
	for (i = 0; same && i < sizeof tested / sizeof tested[0]; i++) {
		compute(ways, tested[i]->dtype, x, importance, &want);
		compute(way, tested[i]->dtype, x, importance, &have);
		same = !memcmp(&want, &have, sizeof want);
	}
	use(ways);
	if (!same)
		return tested[i - 1]->dtype;
	return counts_alike(way, x) ? NULL : "sums";
}

static const struct way *
best_way(void)
{
	size_t i = WAYS;

	while (!ways[--i].here())
		; /* the first is always here */
	return &ways[i];
}

/* The hint that names those of this CPU: "ref, avx2". */
static void
hint_levels(struct err *e)
{
	char text[80] = "";
	size_t i, n = 0;

	for (i = 0; i < WAYS; i++)
		if (ways[i].here())
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "",
			                      ways[i].level.name);
	err_hint(e, "this CPU has %s", text);
}

static const struct way *
find(const char *name, struct err *e)
{
	size_t i;

	for (i = 0; i < WAYS; i++) {
		if (strcmp(name, ways[i].level.name))
			continue;
		if (ways[i].here())
			return &ways[i];
		err_set(e, ERR_USAGE, NULL, "APR_CPU is %s, which this CPU does not have", name);
		hint_levels(e);
		return NULL;
	}
	err_set(e, ERR_USAGE, NULL, "APR_CPU is %.40s, which is no level", name);
	hint_levels(e);
	return NULL;
}

int
level_begin(const char *name, void (*note)(const char *), struct err *e)
{
	const struct way *way = name && *name ? find(name, e) : best_way();
	const char *bad;
	char text[100];

	if (!way)
		return -1;
	bad = way == ways ? NULL : differs(way);
	if (bad && note) {
		snprintf(text, sizeof text, "%s computes %s differently here: plain C is used",
		         way->level.name, bad);
		note(text);
	}
	now = bad ? ways : way;
	use(now);
	return 0;
}

const struct level *
level_now(void)
{
	return &now->level;
}

const struct level *
level_row(unsigned index)
{
	size_t i;

	for (i = 0; i < WAYS; i++)
		if (ways[i].here() && index-- == 0)
			return &ways[i].level;
	return NULL;
}
