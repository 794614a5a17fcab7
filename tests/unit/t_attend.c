/* attend: the bits of attention do not depend on the compiler and its options: one number for plain C,
 * and one for all levels, which fuse additions with multiplications.
 */
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "kernels/common/products.h"

#include "test.h"

/* Heads use each number of sums at a time; widths leave values that do not fill a vector. */
enum { HEADS = 13, WIDTH = 90, KEYS = ATTEND_RUN * WIDTH, SEEN = 45, GROUPS = 2 };

static const uint32_t plain = 0x80fe6389u, fused = 0xe33629f6u;

static int8_t codes[KEYS];
static uint16_t halves[KEYS];
static float floats[KEYS], scales[3 * ATTEND_LANES];
static float score[HEADS][ATTEND_RUN], y[HEADS][WIDTH];

static uint32_t
mixed(uint32_t sum, const float *x, size_t n)
{
	uint32_t u;

	for (; n; n--, x++) {
		memcpy(&u, x, sizeof u);
		sum = (sum ^ u) * 16777619u;
		sum ^= sum >> 15;
	}
	return sum;
}

static void
filled(void)
{
	uint32_t last = 521288629u;
	size_t i;

	for (i = 0; i < KEYS; i++) {
		last = last * 1664525u + 1013904223u;
		codes[i] = (int8_t)(last >> 11);
		halves[i] = half_f32_f16((float)codes[i] * 0x1p-9f);
		floats[i] = (float)(last >> 8) * 0x1p-26f - 0.125f;
	}
	for (i = 0; i < sizeof scales / sizeof *scales; i++)
		scales[i] = (floats[i] + 0.25f) * 0x1p-6f;
}

static uint32_t
bits_of(const struct attend *a)
{
	const void *as[] = { floats, halves, codes };
	struct attend_rows rows = { ATTEND_F32, NULL, WIDTH, scales, 0 };
	const float *q[HEADS], *weight[HEADS];
	float *to[HEADS], sum[HEADS];
	size_t i, j;

	for (j = 0; j < HEADS; j++) {
		q[j] = floats + 17 * j;
		to[j] = y[j];
		weight[j] = score[j];
	}
	for (i = ATTEND_F32; i <= ATTEND_Q8_0; i++) {
		rows.kind = (enum attend_kind)i;
		rows.p = as[i];
		a->scores(q, HEADS, &rows, WIDTH, GROUPS, i > 0, score);
	}
	for (j = 0; j < HEADS; j++) {
		sum[j] = a->weigh(score[j], GROUPS, a->soften(score[j], j, SEEN, 0.125f, j % 2 ? 2 : 0, -1));
		a->row(codes + j, scales, WIDTH, y[j]);
		a->gate(q[j], y[j], WIDTH);
		a->scale(y[j], 0.75f, WIDTH);
	}
	for (i = ATTEND_F32; i <= ATTEND_Q8_0; i++) {
		rows.kind = (enum attend_kind)i;
		rows.p = as[i];
		a->add(to, weight, HEADS, &rows, i, SEEN, WIDTH - 1);
	}
	return mixed(mixed(mixed(2166136261u, score[0], sizeof score / 4), y[0], sizeof y / 4), sum, HEADS);
}

int
main(void)
{
	const struct products *l;
	uint32_t have;
	size_t i;

	filled();
	have = bits_of(&attend_ref);
	test_ok(have == plain, "plain C has its bits: %08x", have);
	for (i = 0; (l = products_row(i)) != NULL; i++)
		if (l->attend != &attend_ref) {
			have = bits_of(l->attend);
			test_ok(have == fused, "%s has the bits of fused sums: %08x", l->name, have);
		}
	return test_done();
}
