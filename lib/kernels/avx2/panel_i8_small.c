/* Panels of blocks of 32; see panel_i8.h. */
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/panel_i8.h"

/* Unpack up to eight blocks. */
INLINE void
small_fill(struct panel *p, small_codes *codes, size_t bytes, bool least, const uint8_t *w,
           size_t stride, size_t rows, size_t blocks)
{
	float scale[LARGE / SMALL][ROWS], lift[LARGE / SMALL][ROWS];
	const uint8_t *x;
	__m256i v[ROWS];
	size_t at, b, i;

	for (at = 0; at < vectors(rows); at++) {
#pragma GCC unroll 8
		for (i = 0; i < ROWS; i++) {
			x = row_at(w, stride, rows, at * ROWS + i);
			for (b = 0; b < blocks; b++, x += bytes) {
				scale[b][i] = bytes == 17 ? power_at(x) : half_at(x);
				lift[b][i] = least ? half_at(x + 2) : 0;
			}
		}
		for (b = 0; b < blocks; b++) {
			p->scale[at / 2][b][at % 2] = _mm256_loadu_ps(scale[b]);
			if (least)
				p->lift[at / 2][b][at % 2] = _mm256_loadu_ps(lift[b]);
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++)
				v[i] = codes(row_at(w, stride, rows, at * ROWS + i) + bytes * b);
			turn(v);
#pragma GCC unroll 8
			for (i = 0; i < ROWS; i++)
				p->code[at / 2][SMALL / 4 * b + i][at % 2] = v[i];
		}
	}
}

INLINE void
small_panel(small_codes *codes, size_t bytes, int zero, bool least, small_multiply *multiply,
            const uint8_t *w, size_t stride, const struct job *o)
{
	size_t b, blocks;
	struct panel p;

	for (b = 0; b < o->n / SMALL; b += blocks) {
		blocks = o->n / SMALL - b < LARGE / SMALL ? o->n / SMALL - b : LARGE / SMALL;
		small_fill(&p, codes, bytes, least, w + bytes * b, stride, o->rows, blocks);
		rows_ahead(w + bytes * (b + blocks), stride, o->rows, bytes * blocks);
		multiply(&p, zero, o, b, blocks);
	}
}

#define SMALL_PANELS(NAME, BYTES, RUN, KIND, ZERO, LEAST) \
	PANELS(NAME##_panels_avx2, small_panel(NAME##_codes, BYTES, ZERO, LEAST, \
	       small_##RUN##_##KIND, w, stride, &o), false)

SMALL_PANELS(q4_0, 18, 32, zero, 8, false)
SMALL_PANELS(q5_0, 22, 32, zero, 16, false)
SMALL_PANELS(mxfp4, 17, 32, zero, 12, false)
SMALL_PANELS(q4_1, 20, 32, min, 0, true)
SMALL_PANELS(q5_1, 24, 16, min, 0, true)
