/* Many activations with weights of F32. Products with six activations are summed at a
 * time, in twelve registers: an addition takes four cycles, and two products begin in each
 * cycle.
 */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/panel.h"

enum { CHUNK = 128, GROUP = 6 };

struct floats {
	__m256 w[PAIRS][CHUNK][2]; /* a column of two times eight rows */
	float a[GROUP][CHUNK];     /* activations */
};

/* Eight numbers; or the first count of them, where columns end, and zeros. */
INLINE __m256
some(const uint8_t *p, size_t count)
{
	uint8_t part[ROWS * sizeof(float)] = { 0 };

	memcpy(part, p, count * sizeof(float));
	return f32_load(part);
}

/* Columns k to k + 7 of the eight rows x, to number at of the panel. */
INLINE void
eight_fill(struct floats *p, const uint8_t *const *x, size_t at, size_t k, size_t count)
{
	__m256i v[ROWS];
	int i;

#pragma GCC unroll 8
	for (i = 0; i < ROWS; i++)
		v[i] = _mm256_castps_si256(count >= ROWS ? f32_load(x[i] + sizeof(float) * k)
			: some(x[i] + sizeof(float) * k, count));
	turn(v);
#pragma GCC unroll 8
	for (i = 0; i < ROWS; i++)
		p->w[at / 2][k + (size_t)i][at % 2] = _mm256_castsi256_ps(v[i]);
}

INLINE void
weights_fill(struct floats *p, const uint8_t *w, size_t stride, size_t rows, size_t columns)
{
	const uint8_t *x[ROWS];
	size_t at, i, k;

	for (at = 0; at < vectors(rows); at++) {
		for (i = 0; i < ROWS; i++)
			x[i] = row_at(w, stride, rows, at * ROWS + i);
		for (k = 0; k + ROWS <= columns; k += ROWS)
			eight_fill(p, x, at, k, ROWS);
		if (k < columns)
			eight_fill(p, x, at, k, columns - k);
	}
}

/* Columns from at on, of a group of activations from j on. */
INLINE void
group_fill(struct floats *p, const struct job *o, size_t at, size_t columns, size_t j,
           size_t group)
{
	const uint8_t *a = o->a + j * o->bytes + sizeof(float) * at;
	size_t g, k;

	for (g = 0; g < group; g++, a += o->bytes) {
		for (k = 0; k + ROWS <= columns; k += ROWS)
			_mm256_storeu_ps(&p->a[g][k], f32_load(a + sizeof(float) * k));
		if (k < columns)
			_mm256_storeu_ps(&p->a[g][k], some(a + sizeof(float) * k, columns - k));
	}
}

INLINE void
pair_multiply(const struct floats *p, const struct job *o, size_t pair, size_t at,
              size_t columns, size_t j, int group)
{
	__m256 sum[GROUP][2], a;
	float *y;
	size_t k;
	int g, h;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
		sum[g][0] = sum[g][1] = _mm256_setzero_ps();
	for (k = 0; k < columns; k++) {
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
			a = _mm256_set1_ps(p->a[g][k]);
			sum[g][0] = _mm256_fmadd_ps(p->w[pair][k][0], a, sum[g][0]);
			sum[g][1] = _mm256_fmadd_ps(p->w[pair][k][1], a, sum[g][1]);
		}
	}
#pragma GCC unroll 8
	for (g = 0; g < group; g++)
#pragma GCC unroll 8
		for (h = 0; h < 2; h++) {
			y = results(o, pair, h, j + (size_t)g);
			if (at || o->add)
				sum[g][h] = _mm256_add_ps(sum[g][h], get(y, rows_of(o, pair, h)));
			put(y, rows_of(o, pair, h), sum[g][h]);
		}
}

/* A group of activations times all rows of the panel. */
static void
group_multiply(const struct floats *p, const struct job *o, size_t at, size_t columns, size_t j,
               size_t group)
{
	size_t i;

	for (i = 0; i * PAIR < o->rows; i++)
		switch (group) {
		case 6: pair_multiply(p, o, i, at, columns, j, 6); break;
		case 5: pair_multiply(p, o, i, at, columns, j, 5); break;
		case 4: pair_multiply(p, o, i, at, columns, j, 4); break;
		case 3: pair_multiply(p, o, i, at, columns, j, 3); break;
		case 2: pair_multiply(p, o, i, at, columns, j, 2); break;
		default: pair_multiply(p, o, i, at, columns, j, 1);
		}
}

/* How many of the activations that are left go together, so that the last group is not
 * small. */
static size_t
group_of(size_t left)
{
	return left >= 2 * GROUP || left == GROUP ? GROUP : left > GROUP ? (left + 1) / 2 : left;
}

INLINE void
float_panel(const uint8_t *w, size_t stride, const struct job *o)
{
	size_t at, columns, group, j;
	struct floats p;

	for (at = 0; at < o->n; at += columns, w += sizeof(float) * columns) {
		columns = o->n - at < CHUNK ? o->n - at : CHUNK;
		weights_fill(&p, w, stride, o->rows, columns);
		rows_ahead(w + sizeof(float) * columns, stride, o->rows, sizeof(float) * CHUNK);
		for (j = 0; j < o->many; j += group) {
			group = group_of(o->many - j);
			group_fill(&p, o, at, columns, j, group);
			group_multiply(&p, o, at, columns, j, group);
		}
	}
}

PANELS(f32_panels_avx2, float_panel(w, stride, &o), false)
PANELS(add_f32_avx2, float_panel(w, stride, &o), true)
