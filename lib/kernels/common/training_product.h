/* training_product: products of training.h for any vector unit. The file that includes this defines
 *
 *	vector                a vector of LANES floats; TRAINING_PANEL is a multiple of LANES
 *	LOAD(p) STORE(p, v)   unaligned
 *	SPREAD(x)             x in each lane
 *	FUSED(a, b, c)        a × b + c, rounded once
 *	ROWS, WIDE            a tile: rows, and vectors of each, that fit into registers
 */
#include <string.h>

#include "kernels/training.h"

enum {
	TILE = LANES * WIDE,  /* columns of a tile */
	DEPTH = 256,          /* about as many rows of b are used together, so that they stay near */
	BLOCK = 16,           /* of a matrix that is transposed */
};

/* ---- packing ---- */

/* Transpose count rows of k values, `apart` values apart, into a panel. */
static void
turn_panel(const float *b, size_t apart, size_t k, size_t count, float *to)
{
	size_t p, q, j;

	for (p = 0; p < k; p += BLOCK) {
		size_t end = k - p < BLOCK ? k : p + BLOCK;

		for (j = 0; j < count; j++)
			for (q = p; q < end; q++)
				to[q * TRAINING_PANEL + j] = b[j * apart + q];
	}
}

static void
pack(const float *b, size_t row, size_t column, size_t k, size_t n, size_t first, size_t count,
     float *to)
{
	size_t i, p;

	for (i = first; i < first + count; i++) {
		size_t j = i * TRAINING_PANEL;
		size_t some = n - j < TRAINING_PANEL ? n - j : TRAINING_PANEL;
		float *panel = to + i * k * TRAINING_PANEL;

		if (some < TRAINING_PANEL)
			memset(panel, 0, k * TRAINING_PANEL * sizeof *panel);
		if (column == 1)
			for (p = 0; p < k; p++)
				memcpy(panel + p * TRAINING_PANEL, b + p * row + j, some * sizeof *b);
		else
			turn_panel(b + j * column, column, k, some, panel);
	}
}

/* ---- products ---- */

/* A tile of a constant number of rows: k terms more. */
static inline __attribute__((always_inline)) void
tile(const struct training_product *p, const float *a, const float *b, float *c, size_t c_row,
     size_t k, bool more, int rows)
{
	vector sum[ROWS][WIDE], v[WIDE];
	size_t step = p->a_column, i;
	int r, w;

#pragma GCC unroll 16
	for (r = 0; r < rows; r++)
#pragma GCC unroll 16
		for (w = 0; w < WIDE; w++)
			sum[r][w] = more ? LOAD(c + (size_t)r * c_row + LANES * w) : SPREAD(0.0f);
	for (i = 0; i < k; i++) {
#pragma GCC unroll 16
		for (w = 0; w < WIDE; w++)
			v[w] = LOAD(b + LANES * w);
#pragma GCC unroll 16
		for (r = 0; r < rows; r++) {
			vector x = SPREAD(a[(size_t)r * p->a_row]);

#pragma GCC unroll 16
			for (w = 0; w < WIDE; w++)
				sum[r][w] = FUSED(x, v[w], sum[r][w]);
		}
		a += step;
		b += TRAINING_PANEL;
	}
#pragma GCC unroll 16
	for (r = 0; r < rows; r++)
#pragma GCC unroll 16
		for (w = 0; w < WIDE; w++)
			STORE(c + (size_t)r * c_row + LANES * w, sum[r][w]);
}

#define ROW_CASE(n) case n: tile(p, a, b, c, c_row, k, more, n); break;

static void
some_rows(const struct training_product *p, const float *a, const float *b, float *c, size_t c_row,
          size_t k, bool more, size_t rows)
{
	switch (rows) {
	ROW_CASES(ROW_CASE)
	}
}

/* A tile at the right border: c has fewer columns than the tile. */
static void
border(const struct training_product *p, const float *a, const float *b, float *c, size_t k,
       bool more, size_t rows, size_t columns)
{
	float part[ROWS * TILE] = { 0 };
	size_t i;

	for (i = 0; more && i < rows; i++)
		memcpy(part + i * TILE, c + i * p->c_row, columns * sizeof *c);
	some_rows(p, a, b, part, TILE, k, more, rows);
	for (i = 0; i < rows; i++)
		memcpy(c + i * p->c_row, part + i * TILE, columns * sizeof *c);
}

/* All rows of a tile's columns: from term `from` on, k terms. */
static void
strip(const struct training_product *p, size_t column, size_t from, size_t k)
{
	const float *b = p->b + column / TRAINING_PANEL * TRAINING_PANEL * p->b_depth +
	                 from * TRAINING_PANEL + column % TRAINING_PANEL;
	size_t columns = p->n - column < TILE ? p->n - column : TILE, i;
	bool more = p->add || from > 0;

	for (i = 0; i < p->m; i += ROWS) {
		size_t rows = p->m - i < ROWS ? p->m - i : ROWS;
		const float *a = p->a + i * p->a_row + from * p->a_column;
		float *c = p->c + i * p->c_row + column;

		if (columns < TILE)
			border(p, a, b, c, k, more, rows, columns);
		else if (rows < ROWS)
			some_rows(p, a, b, c, p->c_row, k, more, rows);
		else
			tile(p, a, b, c, p->c_row, k, more, ROWS);
	}
}

static void
multiply(const struct training_product *p)
{
	size_t parts = (p->k + DEPTH - 1) / DEPTH, from, j, k, i;

	for (i = 0, from = 0; i < parts || i == 0; i++, from += k) {
		k = parts ? (p->k - from) / (parts - i) : 0;
		for (j = 0; j < p->n; j += TILE)
			strip(p, j, from, k);
	}
}
