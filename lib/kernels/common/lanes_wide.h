/* lanes_wide: how every search of search_wide.h begins and ends: sub-blocks are loaded into
 * the lanes of vectors and weighted, and codes are put together.
 */
#ifndef KERNELS_LANES_WIDE_H
#define KERNELS_LANES_WIDE_H

#include <string.h>

#include "kernels/common/search.h"

_Static_assert(LANES % WIDE == 0, "vectors hold the lanes");

/* Rows of struct lanes are aligned; other arrays of lanes may be unaligned. */
typedef float wide_anywhere __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));

static inline wide
get(const float *p)
{
	return *(const wide_anywhere *)p;
}

static inline void
put(float *p, wide v)
{
	*(wide_anywhere *)p = v;
}

static inline wide
number_wide(wide v)
{
	return keep(equal(v, v), v);
}

static inline wide
clamp_wide(wide v, float least, float most)
{
	return smaller(all(most), larger(all(least), v));
}

static inline whole
nearest_whole(wide v)
{
	whole u = (whole)(number_wide(v) + all(0x1.8p23f));

	return (u & all_whole(0x7fffff)) - all_whole(0x400000);
}

static inline whole
clamp_whole(whole v, int least, int most)
{
	return smaller_whole(all_whole(most), larger_whole(all_whole(least), v));
}

/* ---- lanes ---- */

/* The rows from lane at on; x has one sub-block after another. */
static inline void
rows_turn(float (*row)[LANES], const float *x, int depth, int count, int at, bool numbers)
{
	wide r[WIDE];
	int i, j;

	for (i = 0; i < depth; i += WIDE) {
		for (j = 0; j < WIDE; j++) {
			r[j] = at + j < count ? get(x + depth * (at + j) + i) : (wide){ 0 };
			r[j] = numbers ? number_wide(r[j]) : r[j];
		}
		turn(r);
		for (j = 0; j < WIDE; j++)
			put(row[i + j] + at, r[j]);
	}
}

static void
load(struct lanes *l, const float *x, int depth, int count)
{
	int at;

	l->depth = depth;
	for (at = 0; at < LANES; at += WIDE)
		rows_turn(l->x, x, depth, count, at, true);
}

static inline void
root_at(struct lanes *l, int at)
{
	wide sum = { 0 }, x;
	int i;

	for (i = 0; i < l->depth; i++) {
		x = get(l->x[i] + at);
		sum += x * x;
	}
	sum = root(sum / all((float)l->depth));
	for (i = 0; i < l->depth; i++)
		put(l->w[i] + at, sum + magnitude(get(l->x[i] + at)));
}

static void
weigh_root(struct lanes *l)
{
	int at;

	for (at = 0; at < LANES; at += WIDE)
		root_at(l, at);
}

static void
weigh_magnitude(struct lanes *l)
{
	int at, i;

	for (i = 0; i < l->depth; i++)
		for (at = 0; at < LANES; at += WIDE)
			put(l->w[i] + at, magnitude(get(l->x[i] + at)));
}

static void
weigh_square(struct lanes *l)
{
	wide v;
	int at, i;

	for (i = 0; i < l->depth; i++) {
		for (at = 0; at < LANES; at += WIDE) {
			v = get(l->x[i] + at);
			put(l->w[i] + at, v * v);
		}
	}
}

static void
weigh_by(struct lanes *l, const float *importance, int count)
{
	int at;

	for (at = 0; at < LANES; at += WIDE)
		rows_turn(l->w, importance, l->depth, count, at, false);
}

static void
weigh_power(struct lanes *l, const float *importance, const float *power, int count)
{
	wide v;
	int at, i;

	weigh_by(l, importance, count);
	for (i = 0; i < l->depth; i++) {
		for (at = 0; at < LANES; at += WIDE) {
			v = get(l->x[i] + at);
			put(l->w[i] + at, get(l->w[i] + at) * root(get(power + at) + v * v));
		}
	}
}

static void
weight(const struct lanes *l, float *sum)
{
	wide s;
	int at, i;

	for (at = 0; at < LANES; at += WIDE) {
		s = (wide){ 0 };
		for (i = 0; i < l->depth; i++)
			s += get(l->w[i] + at);
		put(sum + at, s);
	}
}

static inline wide
extremes_at(const struct lanes *l, int at)
{
	wide a, extreme = { 0 }, most = { 0 }, v;
	int i;

	for (i = 0; i < l->depth; i++) {
		v = get(l->x[i] + at);
		a = magnitude(v);
		extreme = choose(above(a, most), v, extreme);
		most = larger(a, most);
	}
	return extreme;
}

/* Weight × value; a candidate multiplies it by codes. */
static inline void
products_at(const struct lanes *l, int at, wide *wv)
{
	int i;

	for (i = 0; i < l->depth; i++)
		wv[i] = get(l->w[i] + at) * get(l->x[i] + at);
}

/* The best candidate for a scale so far, and its gain. */
struct best {
	wide inverse, scale, gain;
};

static inline void
best_of(struct best *b, wide inverse, wide xc, wide cc)
{
	mask better = above(cc, (wide){ 0 }) & above(xc * xc, b->gain * cc);

	b->inverse = choose(better, inverse, b->inverse);
	b->scale = choose(better, xc / cc, b->scale);
	b->gain = choose(better, b->scale * xc, b->gain);
}

/* ---- codes ---- */

/* Each lane of rows[i / 4] holds the bytes of four values, the first lowest. Write them to
 * code, lane after lane. */
static inline void
put_codes(const whole *rows, int depth, uint8_t *code)
{
	uint32_t lane[DEPTH / 4][WIDE];
	int i, j;

	memcpy(lane, rows, (size_t)depth / 4 * sizeof lane[0]);
	for (j = 0; j < WIDE; j++)
		for (i = 0; i < depth / 4; i++, code += 4)
			le32_put(code, lane[i][j]);
}

static inline void
row_add(whole *rows, int i, whole code)
{
	rows[i / 4] = i % 4 ? rows[i / 4] | code << 8 * (i % 4) : code;
}

#endif
