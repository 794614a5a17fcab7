#include "kernels/level.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kernels/ref.h"
#include "kernels/search.h"

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
	return __builtin_cpu_supports("avx2");
}
#endif

static const struct way {
	struct level level;
	const struct search *search;
	bool (*here)(void);
} ways[] = {
	{ { "ref" }, &search_ref, always },
#ifdef __x86_64__
	{ { "avx2" }, &search_avx2, has_avx2 },
#endif
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static const struct way *now = ways;

/* Those that search. */
static const struct kernel *const tested[] = {
	&ref_q4_0, &ref_q4_1, &ref_q5_0, &ref_q5_1, &ref_q2_k, &ref_q3_k, &ref_q4_k,
	&ref_q5_k, &ref_q6_k, &ref_iq4_nl, &ref_iq4_xs,
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
encode(const struct kernel *k, float x[ROWS][ITEMS], const float *importance,
       uint8_t y[2 * ROWS][BYTES])
{
	int i;

	memset(y, 0, 2 * ROWS * BYTES);
	for (i = 0; i < ROWS; i++) {
		k->encode(x[i], y[i], ITEMS);
		/* Weighted rows have finite products. */
		if (i != 1)
			k->encode_weighted(x[i], importance, y[ROWS + i], ITEMS);
	}
}

/* The first kernel that this way gives other bytes, or NULL. */
static const struct kernel *
differs(const struct way *way)
{
	uint8_t want[2 * ROWS][BYTES], have[2 * ROWS][BYTES];
	float x[ROWS][ITEMS], importance[ITEMS];
	size_t i;

	fill(x, importance);
	for (i = 0; i < sizeof tested / sizeof tested[0]; i++) {
		search = &search_ref;
		encode(tested[i], x, importance, want);
		search = way->search;
		encode(tested[i], x, importance, have);
		search = &search_ref;
		if (memcmp(want, have, sizeof want))
			return tested[i];
	}
	return NULL;
}

static const struct way *
best_way(void)
{
	size_t i = WAYS;

	while (!ways[--i].here())
		; /* the first is always here */
	return &ways[i];
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
		return NULL;
	}
	err_set(e, ERR_USAGE, NULL, "APR_CPU is %.40s, which is no level", name);
	err_hint(e, "there are ref and avx2");
	return NULL;
}

int
level_begin(const char *name, void (*note)(const char *), struct err *e)
{
	const struct way *way = name && *name ? find(name, e) : best_way();
	const struct kernel *bad;
	char text[100];

	if (!way)
		return -1;
	bad = way == ways ? NULL : differs(way);
	if (bad && note) {
		snprintf(text, sizeof text, "%s computes %s differently here: plain C is used",
		         way->level.name, bad->dtype);
		note(text);
	}
	now = bad ? ways : way;
	search = now->search;
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
