#include "kernels/training.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/compare.h"

/* ---- comparison with plain C ---- */

enum {
	ITEMS = 83,          /* values of a vector: whole steps, and a rest */
	M = 17, N = 45, K = 35, /* of products: more than a tile, and borders */
	PACKED = TRAINING_PACKED(K, N),
};

/* Two vectors of numbers, and what a function makes of them. */
struct made {
	float a[ITEMS], b[ITEMS], c[ITEMS], d[ITEMS];
	double sum[2];
};

/* Numbers of the size of activations; b has some that are large. */
static void
fill(struct made *x)
{
	float *v[] = { x->a, x->b, x->c, x->d };
	uint32_t last = 2463534242u;
	size_t i, k;

	memset(x, 0, sizeof *x);
	for (k = 0; k < 4; k++)
		for (i = 0; i < ITEMS; i++) {
			v[k][i] = (float)(int32_t)next_random(&last) * 0x1p-30f;
			if (k == 1 && i % 9 == 0)
				v[k][i] *= 60;
		}
}

static void
make_sums(const struct training *t, struct made *x, size_t n)
{
	t->add(x->a, x->b, n);
	t->bias(x->c, 20, 3, x->b, 20);
	t->columns(x->b, 20, 4, 20, x->d);
	x->sum[0] = t->squares(x->b, n);
}

static void
make_norms(const struct training *t, struct made *x, size_t n, bool centered)
{
	float mean[4], factor[4];

	t->moments(x->b, n, centered, 1e-5f, mean, factor);
	mean[1] = mean[2] = mean[3] = mean[0];
	factor[1] = factor[2] = factor[3] = factor[0];
	t->norm(x->a, n, mean[0], factor[0], x->b, centered ? x->d : NULL, x->c);
	t->norm_back(x->b, n, mean[0], factor[0], centered, x->a, x->c, x->d, centered);
	t->norm_gain(x->b, x->d, 20, 4, 20, mean, factor, x->a);
	x->sum[0] = (double)mean[0];
	x->sum[1] = (double)factor[0];
}

static void
make_rotation(const struct training *t, struct made *x, size_t n, bool halves)
{
	size_t head = n / 2;

	t->rotate(x->a, 2, head, head & ~(size_t)1, halves, false, x->c, x->d);
	t->rotate(x->b, 1, n, 20, halves, true, x->c, x->d);
}

static void
make_activations(const struct training *t, struct made *x, size_t n, bool gated)
{
	if (gated) {
		t->gate(x->b, x->a, x->c, n);
		t->gate_back(x->b, x->a, x->d, x->d, n);
	} else {
		t->gelu(x->b, x->c, n);
		t->gelu_back(x->b, x->a, x->a, n);
	}
}

static void
make_softmax(const struct training *t, struct made *x, size_t n)
{
	float most, factor;

	t->softmax(x->b, n, 0.7f, &most, &factor);
	t->softmax_again(x->c, n, 0.7f, most, factor);
	t->softmax_back(x->b, x->a, n, 0.7f);
	x->sum[0] = (double)most;
	x->sum[1] = (double)factor;
}

static void
make_loss(const struct training *t, struct made *x, size_t n, bool teacher)
{
	struct training_aim aim = { n / 2, 0.3f, 0.7f, 0.5f };
	struct training_loss l;

	t->loss(x->b, teacher ? x->a : NULL, n, &aim, true, &l);
	x->sum[0] = l.hard;
	x->sum[1] = l.soft;
}

static void
make_step(const struct training *t, struct made *x, size_t n)
{
	struct training_step s = { 0.9f, 0.9f, 0.1f, 0.95f, 0.05f, 0.01f, 1.5f, 1e-8f, 0.001f };
	size_t i;

	for (i = 0; i < n; i++)
		x->d[i] = x->d[i] < 0 ? -x->d[i] : x->d[i];
	t->adam(&s, x->a, x->b, x->c, x->d, n);
}

static void
make(const struct training *t, unsigned what, struct made *x, size_t n)
{
	fill(x);
	switch (what) {
	case 0: make_sums(t, x, n); break;
	case 1: make_norms(t, x, n, false); break;
	case 2: make_norms(t, x, n, true); break;
	case 3: make_rotation(t, x, n, false); break;
	case 4: make_rotation(t, x, n, true); break;
	case 5: make_activations(t, x, n, false); break;
	case 6: make_activations(t, x, n, true); break;
	case 7: make_softmax(t, x, n); break;
	case 8: make_loss(t, x, n, false); break;
	case 9: make_loss(t, x, n, true); break;
	case 10: make_step(t, x, n); break;
	}
}

static const char *const names[] = {
	"sums", "norms", "norms", "rotary positions", "rotary positions", "GELU", "gates",
	"softmax", "the loss", "the loss", "steps"
};

struct multiplied {
	float packed[PACKED], c[M * N];
};

/* a: numbers for both matrices; turned: columns of each lie together. */
static void
make_product(const struct training *t, const float *a, bool turned, bool add, struct multiplied *to)
{
	struct training_product p = { a, turned ? 1 : K, turned ? M : 1, to->packed, K, to->c, N, M,
		N, K, add };

	memset(to, 0, sizeof *to);
	t->pack(a, turned ? 1 : N, turned ? K : 1, K, N, 0, PACKED / K / TRAINING_PANEL, to->packed);
	memcpy(to->c, a, sizeof to->c);
	t->multiply(&p);
}

static bool
products_agree(const struct training *t)
{
	static struct multiplied want, have;
	static float a[K * N];
	uint32_t last = 2463534242u;
	unsigned i;

	for (i = 0; i < K * N; i++)
		a[i] = (float)(next_random(&last) >> 8) * 0x1p-24f - 0.5f;
	for (i = 0; i < 4; i++) {
		make_product(&training_ref, a, i & 1, i & 2, &want);
		make_product(t, a, i & 1, i & 2, &have);
		if (memcmp(&want, &have, sizeof want) != 0)
			return false;
	}
	return true;
}

const char *
training_differs(const struct training *t)
{
	static struct made want, have;
	unsigned i;
	size_t n;

	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		for (n = ITEMS; n > ITEMS - 21; n -= 5) {
			make(&training_ref, i, &want, n);
			make(t, i, &have, n);
			if (memcmp(&want, &have, sizeof want) != 0)
				return names[i];
		}
	return products_agree(t) ? NULL : "products";
}

/* ---- choice ---- */

static const struct {
	const struct level *level;
	const struct training *training;
} rows[] = {
#define ROW(name) { &level_##name, &training_##name },
	LEVELS(ROW)
#undef ROW
};

/* What a level of the list has; plain C for others. */
static const struct training *
training_of(const struct level *l)
{
	size_t i;

	for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].level == l)
			return rows[i].training;
	return &training_ref;
}

const struct training *
training_now(void (*note)(const char *))
{
	static const struct level *at;
	static const struct training *now;
	const char *bad;
	char text[100];

	if (at == level_now())
		return now;
	at = level_now();
	now = training_of(at);
	bad = now == &training_ref ? NULL : training_differs(now);
	if (bad && note) {
		snprintf(text, sizeof text, "%s computes %s of training differently here: plain C is "
		         "used", at->name, bad);
		note(text);
	}
	return now = bad ? &training_ref : now;
}
