/* dot: products of weights with quantized activations: plain C against arithmetic in
 * double precision on what the two decode to, each variant of this CPU against plain C,
 * and the fused norm against separate steps.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "kernels/dot.h"
#include "kernels/common/products.h"
#include "kernels/compare.h"
#include "kernels/cpu.h"
#include "kernels/kernel.h"
#include "kernels/level.h"

#include "test.h"

enum { ROWS = 19, MOST = 2048, MANY = 13 };

static _Alignas(DOT_ALIGN) uint8_t forms[MANY][8 * MOST];
static uint8_t weights[ROWS * MOST * 4 + 1];
static float decoded[ROWS][MOST], x[MANY][MOST], seen[MOST];
static uint32_t last = 2463534242u;

static uint32_t
chance(void)
{
	last ^= last << 13;
	last ^= last >> 17;
	return last ^= last << 5;
}

static float
like_weight(void)
{
	float v = 0;
	int i;

	for (i = 0; i < 4; i++)
		v += ((float)(chance() >> 8) - 0x1p23f) * 0x1p-26f;
	return v;
}

/* Random bytes as weights, except blocks that decode to very large values. */
static void
any_weights(const struct dtype *t, uint8_t *w, size_t rows, size_t n)
{
	size_t stride = dtype_span(t, n), b, i;
	float y[256];

	for (b = 0; b < rows * stride; b++)
		w[b] = (uint8_t)(chance() >> 11);
	for (b = 0; b < rows * stride; b += t->bytes) {
		kernel_decode(t, NULL, w + b, y, t->items);
		for (i = 0; i < t->items; i++)
			if (!(fabsf(y[i]) < 0x1p40f))
				memset(w + b, 0, t->bytes);
	}
	for (i = 0; i < rows; i++)
		kernel_decode(t, NULL, w + i * stride, decoded[i], n);
}

/* The values of activations after quantization. */
static void
look(const struct activation *form, const uint8_t *row, size_t n)
{
	struct quantized q;
	size_t i, block;

	for (i = 0; i < n; i++) {
		if (form == &activation_f32 || form == &activation_i16) {
			memcpy(&seen[i], row + 4 * i, 4);
		} else {
			block = form == &activation_q8_k ? LARGE : SMALL;
			q = quantized_at(row, n, block);
			seen[i] = (float)q.code[i] * q.scale[i / block];
		}
	}
}

static double
exact(const float *w, size_t n, double *magnitude)
{
	double sum = 0;
	size_t i;

	*magnitude = 0;
	for (i = 0; i < n; i++) {
		sum += (double)w[i] * seen[i];
		*magnitude += fabs((double)w[i] * seen[i]);
	}
	return sum;
}

/* The permitted error of a product that was rounded as for I16. */
static double
rounding(const float *w, size_t n)
{
	double all = 0;
	size_t at, i;

	for (at = 0; at < n; at += 32) {
		double most_w = 0, most_a = 0, sum_w = 0, sum_a = 0;

		for (i = at; i < n && i < at + 32; i++) {
			most_w = fmax(most_w, fabs((double)w[i]));
			most_a = fmax(most_a, fabs((double)seen[i]));
			sum_w += fabs((double)w[i]);
			sum_a += fabs((double)seen[i]);
		}
		all += DOT_ROUND * (most_w * sum_a + most_a * sum_w) + DOT_LEAST * (sum_a + sum_w);
	}
	return all;
}

static void
fill(size_t n)
{
	size_t i, j;

	for (j = 0; j < MANY; j++)
		for (i = 0; i < n; i++)
			x[j][i] = like_weight() * (i % 97 ? 1 : 20);
}

/* Are products with the activations at a within the bound of what want has, or, with want
 * NULL, of exact sums, at slack for sums that Q8_1 has rounded? */
static bool
within(const struct dtype *t, size_t n, const uint8_t *a, float (*want)[ROWS], float (*have)[ROWS],
       double slack, bool many)
{
	const struct activation *form = dot_activation(t, n);
	double bound, magnitude, sum;
	bool good = true;
	size_t bytes = form->bytes(n), i, j;

	for (j = 0; j < MANY; j++) {
		look(form, a + j * bytes, n);
		for (i = 0; i < ROWS; i++) {
			sum = exact(decoded[i], n, &magnitude);
			/* A least of weights cancels what codes add. */
			bound = DOT_BOUND * ((double)n / 32 + 16) * magnitude * 8 +
				slack * magnitude + FLT_MIN;
			if (many && form == &activation_i16)
				bound += rounding(decoded[i], n);
			if (want)
				sum = (double)want[j][i];
			if (fabs(sum - (double)have[j][i]) <= bound)
				continue;
			if (good)
				printf("# %s n %zu row %zu: %g for %g, bound %g\n", t->name, n, i,
				       (double)have[j][i], sum, bound);
			good = false;
		}
	}
	return good;
}

/* All rows with activations one by one, then with all of them, which have has at the end. */
static bool
products(const struct dtype *t, const uint8_t *w, size_t n, float (*want)[ROWS], float (*have)[ROWS],
         double slack)
{
	const struct activation *form = dot_activation(t, n);
	struct dot_weights m = { t, NULL, w, ROWS, n, false };
	static _Alignas(DOT_ALIGN) uint8_t a[MANY * 8 * MOST];
	size_t bytes = form->bytes(n), j;
	bool good;

	for (j = 0; j < MANY; j++) {
		dot_quantize(form, x[j], a + j * bytes, n);
		dot_product(&m, 0, ROWS, a + j * bytes, 1, have[j], ROWS);
	}
	good = within(t, n, a, want, have, slack, false);
	dot_product(&m, 0, ROWS, a, MANY, have[0], ROWS);
	return within(t, n, a, want, have, slack, true) && good;
}

/* Parts of the rows, with one activation and with some: the same numbers. */
static bool
parts_agree(const struct dtype *t, const uint8_t *w, size_t n)
{
	static const size_t manys[] = { 1, 5, MANY };
	static float all[MANY * ROWS], y[MANY * ROWS];
	const struct activation *form = dot_activation(t, n);
	static _Alignas(DOT_ALIGN) uint8_t a[MANY * 8 * MOST];
	struct dot_weights m = { t, NULL, w, ROWS, n, false };
	size_t count, first, j, k;

	for (j = 0; j < MANY; j++)
		dot_quantize(form, x[j], a + j * form->bytes(n), n);
	dot_product(&m, 0, ROWS, a, MANY, all, ROWS);
	for (k = 0; k < 3; k++) {
		if (manys[k] == 1) /* the order of additions may be another */
			dot_product(&m, 0, ROWS, a, 1, all, ROWS);
		else
			dot_product(&m, 0, ROWS, a, MANY, all, ROWS);
		for (first = 0; first < ROWS; first += 3) {
			for (count = 1; count <= ROWS - first; count += 5) {
				dot_product(&m, first, count, a, manys[k], y, count);
				for (j = 0; j < manys[k]; j++)
					if (memcmp(y + j * count, all + j * ROWS + first,
					           count * sizeof *y))
						return false;
			}
		}
	}
	return true;
}

static void
type_tested(const struct dtype *t)
{
	static const size_t blocks[] = { 1, 2, 3, 4, 5, 7, 8, 11, 13 };
	static const size_t ones[] = { 1, 2, 7, 8, 15, 17, 31, 33, 63, 65, 130, 515 };
	const size_t *all = t->items == 1 ? ones : blocks, count = t->items == 1 ?
		sizeof ones / sizeof *ones : t->items == 256 ? 5 : sizeof blocks / sizeof *blocks;
	const struct products *l;
	float want[MANY][ROWS], have[MANY][ROWS];
	size_t i, k, n;
	uint8_t *w = weights + 1; /* at an odd address */
	bool good = true, same[8], parts[8];

	memset(same, 1, sizeof same);
	memset(parts, 1, sizeof parts);
	for (k = 0; k < count; k++) {
		n = all[k] * t->items;
		fill(n);
		any_weights(t, w, ROWS, n);
		dot_use(NULL);
		good &= products(t, w, n, NULL, want,
		                 dot_activation(t, n) == &activation_q8_1 ? 0x1p-9 : 0);
		for (i = 1; (l = products_row(i)) != NULL; i++) {
			dot_use(l);
			same[i] &= products(t, w, n, want, have, 0);
			parts[i] &= parts_agree(t, w, n);
		}
	}
	test_ok(good, "%s: plain C agrees with double precision", t->name);
	for (i = 1; (l = products_row(i)) != NULL; i++) {
		test_ok(same[i], "%s: %s agrees with plain C", t->name, l->name);
		test_ok(parts[i], "%s: %s gives each row the same, whatever is beside it",
		        t->name, l->name);
	}
}

/* Packed rows: with one activation within the bound of plain C, with many the bits of rows
 * that are not packed; of four streams, and of sixteens that are left. */
static void
packed_tested(const struct dtype *t)
{
	enum { SIXTEENS = 7, HIGH = SIXTEENS * DOT_PACKED, WIDE = 3 * LARGE };
	static _Alignas(DOT_ALIGN) uint8_t w[HIGH * WIDE * 2], packed[HIGH * WIDE * 2];
	static _Alignas(DOT_ALIGN) uint8_t a[MANY * 8 * MOST];
	static float all[HIGH][WIDE], want[MANY * HIGH], have[MANY * HIGH];
	const struct activation *form = dot_activation(t, WIDE);
	struct dot_weights m = { t, NULL, w, HIGH, WIDE, false }, q = m;
	const struct products *l;
	size_t i, k, bytes = form->bytes(WIDE), stride = dtype_span(t, WIDE);
	double magnitude, sum;
	bool near, same, parts;
	float y;

	fill(WIDE);
	for (i = 0; i < HIGH; i++) {
		for (k = 0; k < WIDE; k++)
			all[i][k] = like_weight();
		kernel_for(t)->encode(all[i], w + i * stride, WIDE);
		kernel_for(t)->decode(w + i * stride, all[i], WIDE);
	}
	q.data = packed;
	q.packed = true;
	for (i = 1; (l = products_row(i)) != NULL; i++) {
		dot_use(l);
		if (!dot_packs(t, HIGH, WIDE))
			continue;
		for (k = 0; k < MANY; k++)
			dot_quantize(form, x[k], a + k * bytes, WIDE);
		/* In two parts, as threads do it. */
		dot_pack(&m, 48, HIGH - 48, packed + 48 * stride);
		dot_pack(&m, 0, 48, packed);
		dot_product(&m, 0, HIGH, a, MANY, want, HIGH);
		dot_product(&q, 0, HIGH, a, MANY, have, HIGH);
		same = !memcmp(want, have, sizeof want);
		dot_product(&q, 0, HIGH, a, DOT_MANY - 1, have, HIGH);
		look(form, a, WIDE);
		for (k = 0, near = true; k < HIGH; k++) {
			sum = exact(all[k], WIDE, &magnitude);
			near &= fabs(sum - (double)have[k]) <= DOT_BOUND * 40 * magnitude * 8;
		}
		for (k = 0, parts = true; k < HIGH; k++) {
			float some[DOT_PACKED];

			dot_product(&q, k / 16 * 16, 16, a + bytes, 1, some, 16);
			y = some[k % 16];
			parts &= !memcmp(&y, &have[HIGH + k], sizeof y);
		}
		test_ok(same, "%s: packed rows have the bits of others with many activations (%s)",
		        t->name, l->name);
		test_ok(near, "%s: packed rows agree with double precision (%s)", t->name, l->name);
		test_ok(parts, "%s: packed rows give the same, whatever is beside them (%s)",
		        t->name, l->name);
		test_ok(!dot_packs(t, HIGH + 1, WIDE) && !dot_packs(t, HIGH, WIDE + 32),
		        "%s: only whole tiles are packed (%s)", t->name, l->name);
	}
	dot_use(NULL);
	test_ok(!dot_packs(t, HIGH, WIDE), "%s: plain C packs nothing", t->name);
}

/* Products of weights w, encoded as t, with all activations in x, as y[j][i]. */
static void
all_products(const struct dtype *t, size_t n, float (*y)[ROWS])
{
	const struct activation *form = dot_activation(t, n);
	struct dot_weights m = { t, NULL, weights, ROWS, n, false };
	static _Alignas(DOT_ALIGN) uint8_t a[MANY * 8 * MOST];
	size_t i, j;

	for (i = 0; i < ROWS; i++) {
		kernel_for(t)->encode(decoded[i], weights + i * dtype_span(t, n), n);
		kernel_for(t)->decode(weights + i * dtype_span(t, n), decoded[i], n);
	}
	for (j = 0; j < MANY; j++)
		dot_quantize(form, x[j], a + j * form->bytes(n), n);
	dot_product(&m, 0, ROWS, a, MANY, y[0], ROWS);
}

/* Rounding as for I16: nothing where thirteen bits are enough; else it costs no more, on
 * average, than twice what rounding activations to F16 would; and no number stays none. */
static void
i16_tested(const char *name, const char *about)
{
	const struct dtype *t = dtype_by_name(name);
	const bool coarse = strcmp(name, "F16") != 0; /* fewer than eleven bits */
	const size_t n = 2000; /* the last block is not whole */
	double magnitude, sum, ours = 0, theirs = 0;
	float y[MANY][ROWS];
	bool good = true;
	size_t i, j, k;

	last = 2463534242u; /* the same numbers at each level */
	for (j = 0; j < MANY; j++)
		for (k = 0; k < n; k++)
			x[j][k] = k % 32 == j ? 8191 : (float)(chance() % 16383) - 8191;
	for (i = 0; i < ROWS; i++)
		for (k = 0; k < n; k++) /* 1024 to 4095, or 128 to 4095, of the largest */
			decoded[i][k] = (chance() & 1 ? -0x1p-9f : 0x1p-9f) * (float)(coarse
				? (128 + chance() % 128) << chance() % 5 : 1024 + chance() % 3072);
	all_products(t, n, y);
	for (j = 0; j < MANY; j++) {
		memcpy(seen, x[j], n * sizeof *seen);
		for (i = 0; i < ROWS; i++) {
			sum = exact(decoded[i], n, &magnitude);
			good &= fabs(sum - (double)y[j][i]) <=
				DOT_BOUND * ((double)n / 32 + 80) * magnitude;
		}
	}
	test_ok(good, "%s: thirteen bits are enough for an exact product (%s)", name, about);

	fill(n);
	for (i = 0; i < ROWS; i++)
		for (k = 0; k < n; k++)
			decoded[i][k] = like_weight();
	all_products(t, n, y);
	for (j = 0; j < MANY; j++)
		for (i = 0; i < ROWS; i++) {
			memcpy(seen, x[j], n * sizeof *seen);
			sum = exact(decoded[i], n, &magnitude);
			ours += (sum - (double)y[j][i]) * (sum - (double)y[j][i]);
			for (k = 0; k < n; k++)
				seen[k] = half_f16_f32(half_f32_f16(x[j][k]));
			sum -= exact(decoded[i], n, &magnitude);
			theirs += sum * sum;
		}
	test_ok(ours <= 4 * theirs, "%s: rounding costs %.2f of what activations in F16 would (%s)",
	        name, sqrt(ours / theirs), about);

	x[2][n - 1] = NAN;
	x[3][40] = INFINITY;
	decoded[5][70] = INFINITY;
	decoded[6][n - 1] = NAN;
	all_products(t, n, y);
	good = true;
	for (j = 0; j < MANY; j++)
		for (i = 0; i < ROWS; i++)
			good &= !isfinite(y[j][i]) == (j == 2 || j == 3 || i == 6 ||
			                               (i == 5 && !isfinite(decoded[i][70])));
	test_ok(good, "%s: what is not finite stays so, and where it is (%s)", name, about);
}

/* Types with a head, and one whose blocks do not begin with rows: with one activation, and
 * with so many that values are decoded once for all of them. */
static void
whole_tested(const char *name, const uint8_t *head, size_t n, size_t many, const char *about)
{
	const struct dtype *t = dtype_by_name(name);
	const struct activation *form = dot_activation(t, n);
	struct dot_weights m = { t, head, weights, ROWS, n, false };
	static float all[ROWS * MOST];
	static _Alignas(DOT_ALIGN) uint8_t a[MANY * 8 * MOST];
	const double bound = many < DOT_MANY ? 0x1p-22 : DOT_BOUND * ((double)n / 32 + 80);
	double magnitude, sum;
	bool good = form == &activation_f32;
	float y[MANY * ROWS];
	size_t i, j;

	fill(n);
	for (i = 0; i < sizeof weights; i++)
		weights[i] = (uint8_t)(chance() >> 11 & (i % 18 == 1 ? 0x3f : 0xff));
	kernel_decode(t, head, weights, all, (ROWS * n + 31) / 32 * 32);
	for (j = 0; j < many; j++)
		dot_quantize(form, x[j], a + j * form->bytes(n), n);
	dot_product(&m, 0, ROWS, a, many, y, ROWS);
	for (j = 0; j < many; j++) {
		look(form, a + j * form->bytes(n), n);
		for (i = 0; i < ROWS; i++) {
			sum = exact(all + n * i, n, &magnitude);
			good &= fabs(sum - (double)y[j * ROWS + i]) <= bound * magnitude;
		}
	}
	test_ok(good, "%s: rows of %zu × %zu agree with double precision (%s)", name, n, many,
	        about);
}

/* ---- activations ---- */

static void
forms_tested(void)
{
	static const struct activation *const all[] = {
		&activation_f32, &activation_i16, &activation_q8_0, &activation_q8_1,
		&activation_q8_k
	};
	static _Alignas(DOT_ALIGN) uint8_t pieces[8 * MOST];
	const struct activation *f;
	const struct products *l;
	float *v = x[0], r, weight[MOST], normal[MOST];
	size_t at, i, k, n = 5 * LARGE;

	fill(n);
	for (i = 0; i < n; i++) {
		weight[i] = 1 + like_weight();
		v[i] = i % 3 ? v[i] : -v[i];
		v[i] *= i / 256 == 1 ? 0x1p-130f : 1; /* scales leave what can be inverted */
		if (i / 256 == 2) /* a scale of one, and what is half-way */
			v[i] = i % 32 ? (float)(i % 61) - 30.5f : 127;
	}
	for (k = 0; k < sizeof all / sizeof *all; k++) {
		f = all[k];
		for (i = 0; (l = products_row(i)) != NULL; i++) {
			dot_use(NULL);
			memset(forms, 0, sizeof forms);
			dot_quantize(f, v, forms[0], n);
			dot_use(l);
			dot_quantize(f, v, forms[1], n);
			test_ok(!memcmp(forms[0], forms[1], f->bytes(n)),
			        "activations as %s: %s gives the bytes of plain C", f->name,
			        l->name);
			/* The norm apart, then quantized. */
			r = dot_rms(v, n, 1e-5f);
			for (at = 0; at < n; at++)
				normal[at] = v[at] * r * weight[at];
			dot_quantize(f, normal, forms[1], n);
			memset(pieces, 0, sizeof pieces);
			dot_rms_quantize(f, v, weight, 1e-5f, pieces, n);
			test_ok(!memcmp(pieces, forms[1], f->bytes(n)),
			        "FALSIFY-QUANT-005 norm and %s in one pass give the bytes of two "
			        "(%s)", f->name, l->name);
		}
	}
}

/* The fused way to a product against norm, decoded weights and sums in double precision,
 * quantizing being all that they differ in. */
static void
fused_tested(const char *name, double tolerance)
{
	const struct dtype *t = dtype_by_name(name);
	const size_t n = 2048;
	const struct activation *form = dot_activation(t, n);
	struct dot_weights m = { t, NULL, weights, ROWS, n, false };
	double mean = 0, most = 0, sum;
	float weight[MOST], y[ROWS], *v = x[0];
	size_t i, k;

	last = 2463534242u; /* the same numbers at each level, whatever was tested before */
	fill(n);
	for (i = 0; i < n; i++) {
		weight[i] = 1 + like_weight();
		mean += (double)v[i] * (double)v[i] / (double)n;
	}
	for (i = 0; i < ROWS; i++) {
		for (k = 0; k < n; k++)
			decoded[i][k] = like_weight();
		kernel_for(t)->encode(decoded[i], weights + i * dtype_span(t, n), n);
		kernel_for(t)->decode(weights + i * dtype_span(t, n), decoded[i], n);
	}
	dot_rms_quantize(form, v, weight, 1e-5f, forms[0], n);
	dot_product(&m, 0, ROWS, forms[0], 1, y, ROWS);
	for (i = 0; i < ROWS; i++) {
		double power = 0;

		for (k = 0, sum = 0; k < n; k++) {
			double a = (double)v[k] / sqrt(mean + 1e-5) * (double)weight[k];

			sum += a * (double)decoded[i][k];
			power += a * a * (double)decoded[i][k] * (double)decoded[i][k];
		}
		sum = fabs(sum - (double)y[i]) / sqrt(power);
		most = sum > most ? sum : most;
	}
	test_ok(most < tolerance, "FALSIFY-QUANT-005 fused norm and %s product agree with the "
	        "separate steps: %.5f of %.5f", name, most, tolerance);
}

/* Of the variants of a level, the first that this CPU can run is chosen. */
static void
choice_tested(void)
{
	const struct products *const *best;
	const struct level *v;
	struct err e = ERR_INIT;
	unsigned i;

	for (i = 0; (v = level_row(i)) != NULL; i++) {
		for (best = v->products; !cpu_has((*best)->needs); best++)
			;
		level_begin(v->name, NULL, &e);
		dot_begin(NULL);
		test_ok(dot_now() == *best, "level %s multiplies with %s", v->name,
		        dot_now()->name);
	}
	level_begin(NULL, NULL, &e);
	dot_use(NULL);
}

static char said[200];

static void
note(const char *text)
{
	snprintf(said, sizeof said, "%s", text);
}

static void
other_rows(const uint8_t *w, size_t stride, size_t count, const uint8_t *a, size_t n, float *y)
{
	(void)w, (void)stride, (void)a, (void)n;
	for (; count > 0; count--)
		*y++ = 0x1p20f;
}

/* Products that are out of bounds are replaced by plain C, with a message. */
static void
steps_aside(void)
{
	static const struct type_products types[] = {
		{ "Q5_0", other_rows, NULL }, { NULL, NULL, NULL }
	};
	static struct products wrong;
	static const struct products *const variants[] = { &wrong, NULL };
	struct level level = level_ref;
	struct err e = ERR_INIT;

	wrong = *level_ref.products[0];
	wrong.name = "other";
	wrong.types = types;
	level.name = "other";
	level.products = variants;
	level_use(&level, NULL);
	dot_begin(note);
	test_ok(!strcmp(said, "other multiplies Q5_0 differently here: plain C is used"),
	        "products that are wrong are noticed: %s", said);
	test_ok(dot_now() == level_ref.products[0], "and plain C is used");
	level_begin(NULL, NULL, &e);
	dot_use(NULL);
}

int
main(void)
{
	static const uint8_t head[8] = { 0, 0, 0x80, 0x3c, 3, 0, 0, 0 }; /* 1/64, 3 */
	static const char *const packed[] = { "Q4_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K" };
	const struct dtype *t;
	struct err e = ERR_INIT;
	const struct products *l;
	char about[20];
	unsigned i;
	size_t j;

	if (level_begin(NULL, NULL, &e) < 0)
		return 1;
	choice_tested();
	steps_aside();
	for (i = 0; (t = dtype_row(i)) != NULL; i++)
		if (!t->head && !t->whole && dot_activation(t, t->items))
			type_tested(t);
	for (i = 0; i < sizeof packed / sizeof *packed; i++)
		packed_tested(dtype_by_name(packed[i]));
	for (i = 0; (l = products_row(i)) != NULL; i++) {
		dot_use(l);
		for (j = 1; j <= MANY; j += MANY - 1) {
			whole_tested("APR_Q8", head, 70, j, l->name);
			whole_tested("Q8_TENSOR", head, 333, j, l->name);
			whole_tested("APR_Q4", NULL, 64, j, l->name);
			whole_tested("APR_Q4", NULL, 77, j, l->name);
		}
		i16_tested("F16", l->name);
		i16_tested("BF16", l->name);
		i16_tested("F8_E4M3", l->name);
		i16_tested("F8_E5M2", l->name);
	}
	dot_use(NULL);
	test_ok(!dot_activation(dtype_by_name("Q4_K"), 128) &&
	        !dot_activation(dtype_by_name("I32"), 32), "what cannot be multiplied is told");
	forms_tested();
	for (i = 0; (l = products_row(i)) != NULL; i++) {
		dot_use(l);
		snprintf(about, sizeof about, "%s: ", l->name);
		test_about = about;
		fused_tested("Q4_0", 0.04);
		fused_tested("Q8_0", 0.04);
		fused_tested("Q4_1", 0.04);
		fused_tested("Q4_K", 0.1);
		fused_tested("Q6_K", 0.1);
		fused_tested("F16", 0.001);
		test_about = "";
		test_ok(!products_differ(l), "%s passes its own test", l->name);
	}
	return test_done();
}
