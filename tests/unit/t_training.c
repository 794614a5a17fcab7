/* training: the arithmetic of models that learn: products exactly as they are defined, the rest against
 * slow formulas, and each level of the CPU against plain C.
 */
#include "kernels/training.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/compare.h"

#include "test.h"

enum { MOST = 300 };

static uint32_t last = 88172645u;

/* A number between -size and size. */
static float
number(float size)
{
	return ((float)(next_random(&last) >> 8) * 0x1p-23f - 1) * size;
}

static void
fill(float *x, size_t n, float size)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = number(size);
}

/* ---- products ---- */

struct form {
	size_t m, n, k, from; /* from: the first column, a multiple of TRAINING_PANEL */
	bool a_turned, b_turned, add;
};

/* Whether a product is the sum that training.h defines, bit for bit, and writes nothing else. */
static bool
exact(const struct training *t, const struct form *f)
{
	size_t m = f->m, n = f->n, k = f->k, wide = n + f->from, i, j, p;
	float *a = calloc(m * k + 1, sizeof *a), *b = calloc(wide * k + 1, sizeof *b), x;
	float *packed = calloc(TRAINING_PACKED(k, wide) + 1, sizeof *packed);
	float *c = calloc((m + 1) * (n + 3), sizeof *c), *want = calloc((m + 1) * (n + 3), sizeof *c);
	struct training_product product = { a, f->a_turned ? 1 : k, f->a_turned ? m : 1,
		packed + f->from * k, k, c, n + 3, m, n, k, f->add };
	bool same;

	fill(a, m * k, 1);
	fill(b, wide * k, 1);
	fill(c, (m + 1) * (n + 3), 1);
	memcpy(want, c, (m + 1) * (n + 3) * sizeof *c);
	t->pack(b, f->b_turned ? 1 : wide, f->b_turned ? k : 1, k, wide, 0,
	        (wide + TRAINING_PANEL - 1) / TRAINING_PANEL, packed);
	t->multiply(&product);
	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++) {
			for (x = f->add ? want[i * (n + 3) + j] : 0, p = 0; p < k; p++)
				x = fmaf(a[f->a_turned ? p * m + i : i * k + p],
				         b[f->b_turned ? (j + f->from) * k + p : p * wide + j + f->from], x);
			want[i * (n + 3) + j] = x;
		}
	same = memcmp(c, want, (m + 1) * (n + 3) * sizeof *c) == 0;
	free(a);
	free(b);
	free(packed);
	free(c);
	free(want);
	return same;
}

static void
products(const struct training *t)
{
	static const size_t shapes[][4] = {
		{ 1, 1, 1, 0 }, { 14, 32, 7, 0 }, { 15, 33, 40, 0 }, { 5, 31, 64, 32 }, { 29, 70, 3, 64 },
		{ 2, 8, 600, 0 }, { 7, 50, 257, 32 },
	};
	size_t i;
	unsigned bits, wrong = 0;

	for (i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		for (bits = 0; bits < 8; bits++)
			wrong += !exact(t, &(struct form){ shapes[i][0], shapes[i][1], shapes[i][2],
				shapes[i][3], bits & 1, bits & 2, bits & 4 });
	test_ok(wrong == 0, "products are sums of fused terms in their order");
}

/* ---- values ---- */

/* The largest of the errors so far. */
static void
keep(double *worst, double have, double want, double scale)
{
	double d = fabs(have - want) / scale;

	if (!(d <= *worst))
		*worst = d;
}

static void
activations(const struct training *t)
{
	float g[MOST], u[MOST], dy[MOST], y[MOST], back_g[MOST], back_u[MOST];
	double worst = 0, back = 0, s, x, c = sqrt(2 / acos(-1));
	size_t i;

	fill(g, MOST, 9);
	fill(u, MOST, 3);
	fill(dy, MOST, 1);
	g[7] = 200;
	g[8] = -200;
	memcpy(back_g, g, sizeof g);
	memcpy(back_u, u, sizeof u);
	t->gate(g, u, y, MOST);
	for (i = 0; i < MOST; i++)
		keep(&worst, y[i], g[i] / (1 + exp(-(double)g[i])) * u[i], 1 + fabs((double)y[i]));
	t->gate_back(back_g, back_u, dy, y, MOST);
	for (i = 0; i < MOST; i++) {
		s = 1 / (1 + exp(-(double)g[i]));
		keep(&worst, y[i], g[i] * s * u[i], 1 + fabs((double)y[i]));
		keep(&back, back_u[i], dy[i] * g[i] * s, 1 + fabs((double)g[i]));
		keep(&back, back_g[i], dy[i] * u[i] * (s + g[i] * s * (1 - s)), 1);
	}
	test_ok(worst < 1e-6 && back < 4e-6, "SiLU and gates: %.1e, gradients %.1e", worst, back);
	memcpy(back_u, g, sizeof g);
	t->gelu(g, u, MOST);
	t->gelu_back(back_u, dy, y, MOST);
	for (worst = back = 0, i = 0; i < MOST; i++) {
		x = g[i];
		s = tanh(c * (x + 0.044715 * x * x * x));
		keep(&worst, u[i], x / 2 * (1 + s), 1 + fabs(x));
		keep(&worst, y[i], u[i], 1e-30);
		keep(&back, back_u[i], dy[i] * ((1 + s) / 2 + x / 2 * (1 - s * s) * c *
		     (1 + 3 * 0.044715 * x * x)), 1);
	}
	test_ok(worst < 1e-6 && back < 3e-6, "GELU: %.1e, gradients %.1e", worst, back);
}

static void
norms(const struct training *t, bool centered)
{
	float x[MOST], w[MOST], b[MOST], y[MOST], dy[MOST], dx[MOST], mean, factor;
	double m = 0, v = 0, r, worst = 0, all = 0, along = 0;
	size_t n = MOST - 5, i;

	fill(x, n, 2);
	fill(w, n, 1);
	fill(b, n, 1);
	fill(dy, n, 1);
	x[3] += 20;
	for (i = 0; i < n; i++)
		m += centered ? (double)x[i] / (double)n : 0;
	for (i = 0; i < n; i++)
		v += (x[i] - m) * (x[i] - m) / (double)n;
	r = 1 / sqrt(v + 0.125);
	t->moments(x, n, centered, 0.125f, &mean, &factor);
	keep(&worst, mean, m, 1);
	keep(&worst, factor, r, r);
	t->norm(x, n, mean, factor, w, centered ? b : NULL, y);
	for (i = 0; i < n; i++) {
		keep(&worst, y[i], (x[i] - m) * r * w[i] + (centered ? b[i] : 0), 1 + fabs(x[i]));
		all += centered ? dy[i] * w[i] / (double)n : 0;
		along += (double)dy[i] * w[i] * (x[i] - m) * r / (double)n;
	}
	memcpy(dx, b, sizeof b);
	t->norm_back(x, n, mean, factor, centered, w, dy, dx, true);
	for (i = 0; i < n; i++)
		keep(&worst, dx[i], b[i] + r * ((double)dy[i] * w[i] - all - (x[i] - m) * r * along), 1);
	memcpy(dx, b, sizeof b);
	t->norm_gain(x, dy, 0, 1, n, &mean, &factor, dx);
	for (i = 0; i < n; i++)
		keep(&worst, dx[i], b[i] + dy[i] * (x[i] - m) * r, 1 + fabs(x[i]));
	test_ok(worst < 2e-6, "%s norms and their gradients: %.1e", centered ? "layer" : "RMS", worst);
}

static void
rotation(const struct training *t, bool halves)
{
	float x[80], was[80], c[20], s[20];
	double worst = 0, a, b;
	size_t i, k, one, two;

	fill(x, 80, 1);
	memcpy(was, x, sizeof x);
	for (i = 0; i < 20; i++) {
		c[i] = cosf((float)i);
		s[i] = sinf((float)i);
	}
	t->rotate(x, 2, 40, 36, halves, false, c, s);
	for (k = 0; k < 2; k++)
		for (i = 0; i < 18; i++) {
			one = k * 40 + (halves ? i : 2 * i);
			two = one + (halves ? 18 : 1);
			a = was[one];
			b = was[two];
			keep(&worst, x[one], a * c[i] - b * s[i], 1);
			keep(&worst, x[two], b * c[i] + a * s[i], 1);
		}
	t->rotate(x, 2, 40, 36, halves, true, c, s);
	for (i = 0; i < 80; i++)
		keep(&worst, x[i], was[i], 1);
	test_ok(worst < 1e-6 && x[37] == was[37], "rotary positions of %s, and back: %.1e",
	        halves ? "halves" : "pairs", worst);
}

static void
softmaxes(const struct training *t)
{
	float x[MOST], p[MOST], again[MOST], dp[MOST], d[MOST], most, factor;
	double sum = 0, worst = 0, dot = 0;
	size_t n = MOST - 3, i;

	fill(x, n, 20);
	fill(dp, n, 1);
	x[9] = -5000;
	memcpy(p, x, sizeof x);
	memcpy(again, x, sizeof x);
	memcpy(d, dp, sizeof dp);
	t->softmax(p, n, 0.5f, &most, &factor);
	t->softmax_again(again, n, 0.5f, most, factor);
	for (i = 0; i < n; i++)
		sum += exp(x[i] * 0.5 - (double)most);
	for (i = 0; i < n; i++) {
		keep(&worst, p[i], exp(x[i] * 0.5 - (double)most) / sum, 1);
		dot += (double)p[i] * dp[i];
	}
	t->softmax_back(p, d, n, 0.5f);
	for (i = 0; i < n; i++)
		keep(&worst, d[i], p[i] * (dp[i] - dot) * 0.5, 1);
	test_ok(worst < 1e-6 && p[9] == 0 && memcmp(p, again, n * sizeof *p) == 0,
	        "softmax, again, and its gradient: %.1e", worst);
}

static void
losses(const struct training *t, bool teacher)
{
	struct training_aim aim = { 11, 0.25f, 0.5f, 0.5f };
	struct training_loss l;
	float z[MOST], y[MOST], was[MOST];
	double hot = 0, cool = 0, taught = 0, soft = 0, worst = 0, p, q;
	size_t n = MOST - 1, i;

	fill(z, n, 12);
	fill(y, n, 12);
	memcpy(was, z, sizeof z);
	for (i = 0; i < n; i++) {
		hot += exp(z[i]);
		cool += exp(z[i] * 0.5);
		taught += exp(y[i] * 0.5);
	}
	for (i = 0; i < n; i++) {
		p = exp(y[i] * 0.5) / taught;
		q = exp(z[i] * 0.5) / cool;
		soft += p * log(p / q);
	}
	{
		float saved[MOST];

		memcpy(saved, y, sizeof y);
		t->loss(z, teacher ? y : NULL, n, &aim, true, &l);
		memcpy(y, saved, sizeof y);
	}
	keep(&worst, l.hard, log(hot) - was[11], 1);
	keep(&worst, l.soft, teacher ? soft : 0, 1);
	for (i = 0; i < n; i++)
		keep(&worst, z[i], 0.25 * (exp(was[i]) / hot - (i == 11)) +
		     (teacher ? 0.5 * (exp(was[i] * 0.5) / cool - exp(y[i] * 0.5) / taught) : 0), 1);
	test_ok(worst < 2e-6, "%s and its gradient: %.1e",
	        teacher ? "divergence" : "cross entropy", worst);
	memcpy(z, was, sizeof z);
	t->loss(z, teacher ? y : NULL, n, &aim, false, &l);
	test_ok(memcmp(z, was, n * sizeof *z) == 0, "without a gradient, logits stay");
}

static void
sums(const struct training *t)
{
	float x[MOST], y[MOST], was[MOST], sum[40];
	double squares = 0, worst = 0;
	size_t i, k;

	fill(x, MOST, 1);
	fill(y, MOST, 1);
	fill(sum, 40, 1);
	memcpy(was, y, sizeof y);
	t->add(y, x, MOST - 2);
	for (i = 0; i < MOST; i++) {
		keep(&worst, y[i], i < MOST - 2 ? was[i] + x[i] : was[i], 1e-30);
		squares += (double)x[i] * (double)x[i];
	}
	t->bias(y, 50, 6, x, 40);
	for (k = 0; k < 6; k++)
		for (i = 0; i < 50; i++)
			keep(&worst, y[k * 50 + i], (k * 50 + i < MOST - 2 ? was[k * 50 + i] +
			     x[k * 50 + i] : was[k * 50 + i]) + (i < 40 ? x[i] : 0), 1e-30);
	memcpy(was, sum, sizeof sum);
	t->columns(x, 50, 6, 40, sum);
	for (i = 0; i < 40; i++) {
		for (k = 0; k < 6; k++)
			was[i] += x[k * 50 + i];
		keep(&worst, sum[i], was[i], 1e-30);
	}
	test_ok(worst == 0, "sums of vectors");
	test_ok(fabs(t->squares(x, MOST) - squares) < 1e-12 * squares, "sums of squares");
	x[77] = INFINITY;
	test_ok(!isfinite(t->squares(x, MOST)), "that are not finite are seen");
}

/* Values that are not numbers, or too large, come out as NaN or as what they tend to, and harm nothing. */
static void
extremes(const struct training *t)
{
	static const float bad[5] = { INFINITY, -INFINITY, NAN, 3e38f, -3e38f };
	struct training_aim aim = { 1, 1, 1, 0.5f };
	float x[40], y[40], dy[40], most, factor;
	struct training_loss l;
	size_t i;

	for (i = 0; i < 40; i++) {
		x[i] = bad[i % 5];
		dy[i] = 1;
	}
	t->gate(x, dy, y, 40);
	test_ok(isinf(y[0]) && isnan(y[2]) && y[3] == 3e38f && fabsf(y[4]) < 10, "gates of extremes");
	t->gelu(x, y, 40);
	test_ok(isinf(y[0]) && isnan(y[2]) && y[3] == 3e38f && y[4] == 0, "GELU of extremes");
	memcpy(y, x, sizeof x);
	t->gate_back(y, x, dy, dy, 40);
	t->gelu_back(y, x, dy, 40);
	memcpy(x, y, sizeof x);
	t->softmax(x, 40, 2, &most, &factor);
	for (i = 0; i < 40; i++)
		x[i] = y[i] = bad[i % 5];
	t->loss(x, y, 40, &aim, true, &l);
	test_ok(!isfinite(l.hard), "a loss of extremes is not finite");
}

static void
each(const struct training *t)
{
	extremes(t);
	products(t);
	activations(t);
	norms(t, false);
	norms(t, true);
	rotation(t, false);
	rotation(t, true);
	softmaxes(t);
	losses(t, false);
	losses(t, true);
	sums(t);
}

/* ---- levels ---- */

static char said[200];

static void
note(const char *text)
{
	snprintf(said, sizeof said, "%s", text);
}

static void
other_gate(const float *g, const float *u, float *y, size_t n)
{
	training_ref.gate(g, u, y, n);
	y[n - 1] += 0x1p-20f;
}

static void
other_multiply(const struct training_product *p)
{
	training_ref.multiply(p);
	p->c[(p->m - 1) * p->c_row + p->n - 1] *= 1.0000002f;
}

/* A function that gives other bits is found. */
static void
differences(void)
{
	struct training t = training_ref;

	test_ok(training_differs(&t) == NULL, "plain C agrees with itself");
	t.gate = other_gate;
	test_ok(training_differs(&t) && !strcmp(training_differs(&t), "gates"), "gates that differ");
	t = training_ref;
	t.multiply = other_multiply;
	test_ok(training_differs(&t) && !strcmp(training_differs(&t), "products"),
	        "products that differ");
}

int
main(void)
{
	const struct level *l;
	struct err e = ERR_INIT;
	unsigned i;

	for (i = 0; (l = level_row(i)) != NULL; i++) {
		char about[40];

		snprintf(about, sizeof about, "%s: ", l->name);
		test_about = about;
		last = 88172645u;
		level_begin(l->name, NULL, &e);
		test_ok(training_now(note) && !*said && (i == 0) == (training_now(note) == &training_ref),
		        "the level gives the bytes of plain C and is used");
		each(training_now(note));
		test_about = "";
	}
	differences();
	return test_done();
}
