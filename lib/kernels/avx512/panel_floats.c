/* Many activations with weights of F32: as in panel_i8.c, but with 64 rows, which stay in a
 * near cache while all activations pass by. 32 rows are multiplied by eight activations at
 * a time.
 */
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/panel.h"

enum { PAIR = 2 * ROWS, PAIRS = 2, CHUNK = 128, EIGHT = 8 };

struct floats {
	__m512 w[PAIRS][CHUNK][2]; /* of a column, rows 0 to 15 and 16 to 31 */
	float a[EIGHT][CHUNK];     /* activations */
};

/* Columns of 16 rows: a column in w[k][half]. */
INLINE void
half_fill(__m512 (*to)[2], const uint8_t *w, size_t stride, size_t count, size_t columns,
          int half)
{
	__m512i v[ROWS];
	size_t k;
	int i;

	for (k = 0; k < columns; k += ROWS) {
		for (i = 0; i < ROWS; i++)
			v[i] = _mm512_castps_si512(f32_load(row_at(w, stride, count, i) +
			                                    sizeof(float) * k, some(columns - k)));
		turn(v);
		for (i = 0; i < ROWS; i++)
			to[k + (size_t)i][half] = _mm512_castsi512_ps(v[i]);
	}
}

INLINE void
group_fill(struct floats *p, const uint8_t *a, size_t apart, size_t columns, int group)
{
	size_t k;
	int g;

	for (g = 0; g < group; g++)
		for (k = 0; k < columns; k += ROWS)
			_mm512_storeu_ps(&p->a[g][k], f32_load(a + (size_t)g * apart + sizeof(float) * k,
			                                       some(columns - k)));
}

/* Multiply count of the 32 rows of a pair by the group of activations from j on. */
INLINE void
group_multiply(const struct floats *p, const struct job *o, size_t pair, size_t rows, size_t at,
               size_t columns, size_t j, int group)
{
	__mmask16 low = some(rows), high = rows > ROWS ? some(rows - ROWS) : 0;
	float *y = o->y + j * o->leading + pair * PAIR;
	__m512 acc[EIGHT][2], a;
	size_t k;
	int g;

#pragma GCC unroll 8
	for (g = 0; g < group; g++)
		acc[g][0] = acc[g][1] = _mm512_setzero_ps();
	for (k = 0; k < columns; k++) {
#pragma GCC unroll 8
		for (g = 0; g < group; g++) {
			a = _mm512_set1_ps(p->a[g][k]);
			acc[g][0] = _mm512_fmadd_ps(p->w[pair][k][0], a, acc[g][0]);
			acc[g][1] = _mm512_fmadd_ps(p->w[pair][k][1], a, acc[g][1]);
		}
	}
#pragma GCC unroll 8
	for (g = 0; g < group; g++) {
		put(y + (size_t)g * o->leading, low, at || o->add, acc[g][0]);
		if (high)
			put(y + (size_t)g * o->leading + ROWS, high, at || o->add, acc[g][1]);
	}
}

INLINE void
float_group(struct floats *p, const struct job *o, size_t count, size_t at, size_t columns,
            size_t j, int group)
{
	size_t i;

	group_fill(p, o->a + j * o->bytes + sizeof(float) * at, o->bytes, columns, group);
	for (i = 0; i * PAIR < count; i++)
		group_multiply(p, o, i, count - i * PAIR < PAIR ? count - i * PAIR : PAIR, at,
		               columns, j, group);
}

static void
float_panel(const uint8_t *w, size_t stride, size_t count, const struct job *o)
{
	size_t at, columns, i, j;
	struct floats p;

	for (at = 0; at < o->n; at += columns, w += sizeof(float) * columns) {
		columns = o->n - at < CHUNK ? o->n - at : CHUNK;
		/* Where a pair has no second half, its last row is repeated. */
		for (i = 0; i < (count + PAIR - 1) / PAIR * 2; i++) {
			size_t first = i * ROWS < count ? i * ROWS : count - 1;

			half_fill(p.w[i / 2], w + first * stride, stride, count - first, columns,
			          i % 2);
		}
		rows_ahead(w + sizeof(float) * columns, stride, count, sizeof(float) * CHUNK);
		for (j = 0; j + EIGHT <= o->many; j += EIGHT)
			float_group(&p, o, count, at, columns, j, EIGHT);
		for (; j + 4 <= o->many; j += 4)
			float_group(&p, o, count, at, columns, j, 4);
		for (; j < o->many; j++)
			float_group(&p, o, count, at, columns, j, 1);
	}
}

PANELS(f32_panels_avx512, PAIRS * PAIR, float_panel(w, stride, part, &o), false)
PANELS(add_f32_avx512, PAIRS * PAIR, float_panel(w, stride, part, &o), true)
