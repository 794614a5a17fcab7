#include "kernels/compare.h"

#include <math.h>
#include <string.h>

#include "core/half.h"
#include "kernels/cpu.h"
#include "kernels/kernel.h"

/* Rows fill 16 and 8 lanes and leave some over; so do activations with any group. */
enum { COLUMNS = 1024, ROWS = 27, PACKED = 16, MANY = 13, BYTES = 4 * COLUMNS, FORM = 8 * COLUMNS };

/* Weights of any bits. Blocks that do not decode to moderate numbers become zero, since
 * comparing needs finite sums. Returns the bytes of a row. */
static size_t
weights_fill(const struct dtype *t, uint8_t *w, float *decoded)
{
	size_t block, k, stride = dtype_span(t, COLUMNS);
	uint32_t last = 2463534242u;

	for (k = 0; k < ROWS * stride; k++)
		w[k] = (uint8_t)(next_random(&last) >> 13);
	for (block = 0; block < ROWS * stride; block += t->bytes) {
		float *y = decoded + block / t->bytes * t->items;

		kernel_decode(t, NULL, w + block, y, t->items);
		for (k = 0; k < t->items && fabsf(y[k]) < 0x1p30f; k++)
			;
		if (k < t->items) {
			memset(w + block, 0, t->bytes);
			memset(y, 0, t->items * sizeof *y);
		}
	}
	return stride;
}

/* The largest error of a row that is rounded as for I16. */
static double
rounding(const float *w, const float *x)
{
	double most_w, most_x, sum_w, sum_x, all = 0;
	size_t i, k;

	for (i = 0; i < COLUMNS; i += SMALL) {
		most_w = most_x = sum_w = sum_x = 0;
		for (k = i; k < i + SMALL; k++) {
			most_w = fmax(most_w, fabs((double)w[k]));
			most_x = fmax(most_x, fabs((double)x[k]));
			sum_w += fabs((double)w[k]);
			sum_x += fabs((double)x[k]);
		}
		all += DOT_ROUND * (most_w * sum_x + most_x * sum_w) +
			DOT_LEAST * (sum_w + sum_x);
	}
	return all;
}

/* True if the two agree within the bound. */
static bool
agree(const float *want, const float *have, const float *decoded, const float *x, size_t rows,
      bool rounded)
{
	double bound, most = 0;
	size_t i, k;

	for (i = 0; i < rows; i++, decoded += COLUMNS) {
		for (k = 0; k < COLUMNS; k++)
			most += fabs((double)decoded[k] * x[k]);
		bound = DOT_BOUND * (COLUMNS / 32 + 16) * (2 * most + 1e-30);
		if (rounded)
			bound += rounding(decoded, x);
		if (!(fabs((double)want[i] - have[i]) <= bound))
			return false;
		most = 0;
	}
	return true;
}

/* Compare a type with one row of activations, with many, and packed. */
static bool
dot_agrees(const struct products *l, const char *dtype)
{
	static _Alignas(DOT_ALIGN) uint8_t form[MANY * FORM];
	static _Alignas(DOT_ALIGN) uint8_t w[ROWS * BYTES], packed[ROWS * BYTES];
	static float decoded[ROWS * COLUMNS];
	struct dot_weights m = { dtype_by_name(dtype), NULL, w, ROWS, COLUMNS, false };
	const struct activation *f = dot_activation(m.type, COLUMNS);
	float x[COLUMNS], want[ROWS], have[(MANY + 1) * ROWS];
	uint32_t last = 88172645u;
	bool good;
	size_t k;

	for (k = 0; k < COLUMNS; k++)
		x[k] = ((float)(next_random(&last) >> 8) - 0x1p23f) * 0x1p-23f;
	weights_fill(m.type, w, decoded);
	dot_use(NULL);
	for (k = 0; k < MANY; k++)
		dot_quantize(f, x, form + k * f->bytes(COLUMNS), COLUMNS);
	dot_product(&m, 0, ROWS, form, 1, want, ROWS);
	dot_use(l);
	dot_product(&m, 0, ROWS, form, 1, have, ROWS);
	good = agree(want, have, decoded, x, ROWS, false);
	dot_product(&m, 0, ROWS, form, MANY, have, ROWS);
	for (k = 0; good && k < MANY; k++)
		good = agree(want, have + k * ROWS, decoded, x, ROWS, f == &activation_i16);
	if (!good || !dot_packs(m.type, PACKED, COLUMNS))
		return good;
	dot_pack(&m, 0, PACKED, packed);
	m.data = packed;
	m.packed = true;
	dot_product(&m, 0, PACKED, form, 1, have, ROWS);
	dot_product(&m, 0, PACKED, form, MANY, have + ROWS, ROWS);
	for (k = 0; good && k <= MANY; k++)
		good = agree(want, have + k * ROWS, decoded, x, PACKED, f == &activation_i16);
	return good;
}

static bool
quantize_agrees(const struct quantizer *q)
{
	static _Alignas(DOT_ALIGN) uint8_t want[FORM], have[FORM];
	uint32_t last = 123456789u, u;
	float x[COLUMNS];
	size_t k;

	/* Values like activations; any bits that are finite; zeros; and one magnitude with
	 * either sign. */
	for (k = 0; k < COLUMNS; k++) {
		u = next_random(&last);
		x[k] = ((float)(u >> 8) - 0x1p23f) * 0x1p-20f;
		if (k >= 256 && k < 512)
			memcpy(&x[k], &u, sizeof u);
		else if (k >= 512)
			x[k] = k < 768 ? 0 : u & 1 ? -1.5f : 1.5f;
		x[k] = isfinite(x[k]) ? x[k] : 0;
	}
	memset(want, 0, sizeof want);
	memset(have, 0, sizeof have);
	q->form->quantize(x, want, COLUMNS, 0, COLUMNS);
	q->quantize(x, have, COLUMNS, 0, COLUMNS);
	return !memcmp(want, have, sizeof want);
}

static bool
nearly(const float *want, const float *have, size_t n)
{
	for (; n; n--, want++, have++)
		if (!(fabsf(*want - *have) <= 0x1p-14f * (1 + fabsf(*want))))
			return false;
	return true;
}

/* True if attention agrees with plain C, up to the rounding of fused operations. Keys and
 * values are codes first, then floats. */
static bool
attend_agrees(const struct attend *a)
{
	enum { HEADS = 5, WIDTH = 90, KEYS = ATTEND_RUN * WIDTH, SEEN = 45, GROUPS = 2 };
	static float keys[2][KEYS], score[2][HEADS][ATTEND_RUN], y[2][HEADS][WIDTH];
	static float scales[3 * ATTEND_LANES], sum[2][HEADS];
	static int8_t codes[KEYS];
	static uint16_t halves[KEYS];
	const struct attend *both[2] = { &attend_ref, a };
	const float *q[HEADS], *weight[HEADS];
	uint32_t last = 521288629u;
	struct attend_rows rows = { ATTEND_Q8_0, (const uint8_t *)codes, WIDTH, scales, 0 };
	float *to[HEADS];
	size_t i, j, k;

	for (i = 0; i < KEYS; i++)
		codes[i] = (int8_t)(next_random(&last) >> 11);
	for (i = 0; i < KEYS; i++)
		halves[i] = half_f32_f16((float)codes[i] * 0x1p-9f);
	for (i = 0; i < sizeof scales / sizeof *scales; i++)
		scales[i] = ((float)(next_random(&last) >> 8) - 0x1p23f) * 0x1p-30f;
	for (k = 0; k < 2; k++) {
		both[k]->columns(codes, scales, KEYS / ATTEND_LANES, keys[k]);
		for (j = 0; j < HEADS; j++) {
			q[j] = keys[k] + j * WIDTH;
			to[j] = y[k][j];
			weight[j] = score[k][j];
		}
		rows.kind = ATTEND_F32;
		rows.p = (const uint8_t *)keys[k];
		both[k]->scores(q, HEADS, &rows, WIDTH, GROUPS, false, score[k]);
		rows.kind = ATTEND_F16;
		rows.p = (const uint8_t *)halves;
		both[k]->scores(q, HEADS, &rows, WIDTH, GROUPS, true, score[k]);
		rows.kind = ATTEND_Q8_0;
		rows.p = (const uint8_t *)codes;
		both[k]->scores(q, HEADS, &rows, WIDTH, GROUPS, true, score[k]);
		for (j = 0; j < HEADS; j++) {
			float cap = j % 2 ? 2 : 0;
			float most = both[k]->soften(score[k][j], j, SEEN, 0.125f, cap, -1);

			sum[k][j] = both[k]->weigh(score[k][j], GROUPS, most);
			both[k]->row(codes + j, scales, WIDTH, y[k][j]);
			both[k]->gate(q[j], y[k][j], WIDTH);
			both[k]->scale(y[k][j], 0.75f, WIDTH);
		}
		for (i = ATTEND_F32; i <= ATTEND_Q8_0; i++) {
			rows.kind = (enum attend_kind)i;
			rows.p = i == ATTEND_F32 ? (const uint8_t *)keys[k] :
			         i == ATTEND_F16 ? (const uint8_t *)halves : (const uint8_t *)codes;
			both[k]->add(to, weight, HEADS, &rows, i, SEEN, WIDTH - 1);
		}
	}
	return !memcmp(keys[0], keys[1], sizeof keys[0]) &&
	       nearly(score[0][0], score[1][0], HEADS * ATTEND_RUN) &&
	       nearly(y[0][0], y[1][0], HEADS * WIDTH) && nearly(sum[0], sum[1], HEADS);
}

/* True if a row without zeros has the bits of plain C, with a line that is not whole. */
static bool
thin_agrees(const struct thin_products *p)
{
	enum { N = 150 };
	static uint8_t dense[2 * N], data[4 * N];
	static float x[N], y[2];
	uint64_t starts[2] = { 0 };
	const struct thin t = { p->kind, dtype_by_name(p->dtype), 1, N, data, starts };
	struct thin_count c = { 0, true, 0 };
	uint32_t last = 521288629u;
	size_t i;

	for (i = 0; i < N; i++) {
		x[i] = ((float)(next_random(&last) >> 8) - 0x1p23f) * 0x1p-20f;
		dense[2 * i] = (uint8_t)(i % 4 < 2 ? 0 : next_random(&last) >> 11);
		dense[2 * i + 1] = (uint8_t)(i % 4 < 2 ? 0 : next_random(&last) >> 11 & 0xbf);
	}
	thin_count(dense, N, &c);
	starts[1] = thin_row_bytes(p->kind, N, c.kept);
	thin_put(p->kind, dense, N, data);
	thin_product_ref(&t, 0, 1, x, &y[0]);
	p->rows(data, starts, 1, x, N, &y[1]);
	return !memcmp(&y[0], &y[1], sizeof y[0]);
}

const char *
products_differ(const struct products *p)
{
	const struct quantizer *q = p->quantizers;
	const struct type_products *t = p->types;
	const struct thin_products *thin = p->thin;
	const char *bad = NULL;

	for (; !bad && q && q->form; q++)
		if (!quantize_agrees(q))
			bad = q->form->name;
	for (; !bad && t && t->dtype; t++)
		if (!dot_agrees(p, t->dtype))
			bad = t->dtype;
	if (!bad && p->add_f32 && !dot_agrees(p, "Q8_1"))
		bad = "decoded types";
	if (!bad && !attend_agrees(p->attend))
		bad = "keys";
	for (; !bad && thin && thin->dtype; thin++)
		if (cpu_has(thin->needs) && !thin_agrees(thin))
			bad = thin->dtype;
	dot_use(NULL);
	return bad;
}
