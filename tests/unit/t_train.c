/* train: gradients against finite differences of a second forward pass, in double precision and written
 * out slowly; logits against stored ones; AdamW against numbers by hand; the same bytes from any number
 * of threads and at each level of the CPU.
 */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/philox.h"
#include "infer/infer.h"
#include "infer/sequence.h"
#include "kernels/level.h"
#include "kernels/training.h"
#include "load/load.h"
#include "train/train_parts.h"

#include "test.h"

/* ---- a second forward pass ---- */

struct slow {
	const struct train_model *m;
	const double *value;    /* of all parameters, as m->value */
	size_t n, length;       /* tokens of a text */
	double *x, *h, *q, *k, *v, *a, *g, *u;
};

static const double *
param(const struct slow *s, size_t layer, const char *name)
{
	const struct train_param *p;
	char full[64];

	if (layer == SIZE_MAX)
		snprintf(full, sizeof full, "%s", name);
	else
		snprintf(full, sizeof full, "blk.%zu.%s", layer, name);
	p = train_find(s->m, full);
	return p ? s->value + p->at : NULL;
}

static void
slow_norm(const struct slow *s, const double *x, size_t n, const double *w, const double *b, double *y)
{
	double mean = 0, square = 0, r;
	size_t i;

	for (i = 0; s->m->hyper.layer_norm && i < n; i++)
		mean += x[i] / (double)n;
	for (i = 0; i < n; i++)
		square += (x[i] - mean) * (x[i] - mean) / (double)n;
	r = 1 / sqrt(square + (double)s->m->hyper.eps);
	for (i = 0; i < n; i++)
		y[i] = (x[i] - mean) * r * w[i] + (b ? b[i] : 0);
}

/* The norm of a layer, or of the end, in front of s->h. */
static void
slow_norms(const struct slow *s, size_t layer, const char *name)
{
	size_t width = s->m->hyper.width, t;
	char weight[64], bias[64];

	snprintf(weight, sizeof weight, "%s.weight", name);
	snprintf(bias, sizeof bias, "%s.bias", name);
	for (t = 0; t < s->n; t++)
		slow_norm(s, s->x + t * width, width, param(s, layer, weight), param(s, layer, bias),
		          s->h + t * width);
}

/* y = x w + b, from output `first` on. */
static void
slow_linear(const struct slow *s, const double *x, size_t in, size_t layer, const char *name,
            size_t first, size_t out, double *y)
{
	const double *w, *b;
	char full[64];
	size_t t, o, i;

	snprintf(full, sizeof full, "%s.weight", name);
	w = param(s, layer, full);
	snprintf(full, sizeof full, "%s.bias", name);
	b = param(s, layer, full);
	for (t = 0; t < s->n; t++)
		for (o = 0; o < out; o++) {
			double sum = b ? b[first + o] : 0;

			for (i = 0; i < in; i++)
				sum += w[(first + o) * in + i] * x[t * in + i];
			y[t * out + o] = sum;
		}
}

static void
slow_rotate(const struct slow *s, double *x, size_t heads)
{
	const struct hyper *h = &s->m->hyper;
	size_t half = h->rope.rot / 2, t, i, k;

	for (t = 0; t < s->n && h->rotary; t++)
		for (i = 0; i < heads; i++)
			for (k = 0; k < half; k++) {
				double *head = x + (t * heads + i) * h->head_k;
				double *a = head + (h->halves ? k : 2 * k);
				double *b = h->halves ? a + half : a + 1, was = *a;
				double angle = (double)(t % s->length) *
				               pow(h->rope.base, -(double)k / (double)half);

				*a = was * cos(angle) - *b * sin(angle);
				*b = *b * cos(angle) + was * sin(angle);
			}
}

static void
slow_head_norm(const struct slow *s, size_t layer, const char *name, double *x, size_t heads)
{
	size_t n = s->m->hyper.head_k, i;
	const double *w = param(s, layer, name);

	for (i = 0; w && i < s->n * heads; i++)
		slow_norm(s, x + i * n, n, w, NULL, x + i * n);
}

/* One row of attention. */
static void
slow_attend(const struct slow *s, size_t t, size_t head)
{
	const struct hyper *h = &s->m->hyper;
	size_t kv = head / (h->heads / h->kv_heads), from = t - t % s->length, i, d;
	double *out = s->a + (t * h->heads + head) * h->head_v, sum = 0, score;

	memset(out, 0, h->head_v * sizeof *out);
	for (i = from; i <= t; i++) {
		for (d = 0, score = 0; d < h->head_k; d++)
			score += s->q[(t * h->heads + head) * h->head_k + d] *
			         s->k[(i * h->kv_heads + kv) * h->head_k + d];
		score = exp(score * (double)h->score_scale);
		sum += score;
		for (d = 0; d < h->head_v; d++)
			out[d] += score * s->v[(i * h->kv_heads + kv) * h->head_v + d];
	}
	for (d = 0; d < h->head_v; d++)
		out[d] /= sum;
}

static void
slow_attention(const struct slow *s, size_t i)
{
	const struct hyper *h = &s->m->hyper;
	size_t nq = h->heads * h->head_k, nk = h->kv_heads * h->head_k, t, head;
	bool fused = param(s, i, "attn_qkv.weight") != NULL;

	slow_norms(s, i, "attn_norm");
	slow_linear(s, s->h, h->width, i, fused ? "attn_qkv" : "attn_q", 0, nq, s->q);
	slow_linear(s, s->h, h->width, i, fused ? "attn_qkv" : "attn_k", fused ? nq : 0, nk, s->k);
	slow_linear(s, s->h, h->width, i, fused ? "attn_qkv" : "attn_v", fused ? nq + nk : 0, nk, s->v);
	slow_head_norm(s, i, "attn_q_norm.weight", s->q, h->heads);
	slow_head_norm(s, i, "attn_k_norm.weight", s->k, h->kv_heads);
	slow_rotate(s, s->q, h->heads);
	slow_rotate(s, s->k, h->kv_heads);
	for (t = 0; t < s->n; t++)
		for (head = 0; head < h->heads; head++)
			slow_attend(s, t, head);
	slow_linear(s, s->a, nq, i, "attn_output", 0, h->width, s->h);
	for (t = 0; t < s->n * h->width; t++)
		s->x[t] += s->h[t];
}

static void
slow_feed_forward(const struct slow *s, size_t i)
{
	size_t width = s->m->hyper.width, ff = s->m->hyper.ff, t;
	bool gated = param(s, i, "ffn_gate.weight") != NULL;

	slow_norms(s, i, "ffn_norm");
	slow_linear(s, s->h, width, i, "ffn_up", 0, ff, s->u);
	if (gated)
		slow_linear(s, s->h, width, i, "ffn_gate", 0, ff, s->g);
	for (t = 0; t < s->n * ff; t++) {
		double u = s->u[t], g = s->g[t];

		s->u[t] = gated ? u * g / (1 + exp(-g))
			: u / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (u + 0.044715 * u * u * u)));
	}
	slow_linear(s, s->u, ff, i, "ffn_down", 0, width, s->h);
	for (t = 0; t < s->n * width; t++)
		s->x[t] += s->h[t];
}

/* The logits of a batch, to be freed. */
static double *
slow_logits(const struct train_model *m, const double *value, const struct train_batch *b)
{
	const struct hyper *h = &m->hyper;
	struct slow s = { .m = m, .value = value, .n = b->rows * b->length, .length = b->length };
	size_t wide = h->width + h->heads * h->head_k + h->ff + 64, i, k;
	const double *embed = param(&s, SIZE_MAX, "token_embd.weight");
	const double *positions = param(&s, SIZE_MAX, "position_embd.weight");
	double *room = calloc(8 * s.n * wide, sizeof *room);
	double *to = calloc(s.n * h->vocabulary, sizeof *to);
	double **part[] = { &s.x, &s.h, &s.q, &s.k, &s.v, &s.a, &s.g, &s.u };

	for (i = 0; i < 8; i++)
		*part[i] = room + i * s.n * wide;
	for (i = 0; i < s.n; i++)
		for (k = 0; k < h->width; k++)
			s.x[i * h->width + k] = embed[b->tokens[i] * h->width + k] +
				(positions ? positions[i % b->length * h->width + k] : 0);
	for (i = 0; i < h->layers; i++) {
		slow_attention(&s, i);
		slow_feed_forward(&s, i);
	}
	slow_norms(&s, SIZE_MAX, "output_norm");
	slow_linear(&s, s.h, h->width, SIZE_MAX,
	            param(&s, SIZE_MAX, "output.weight") ? "output" : "token_embd", 0, h->vocabulary, to);
	free(room);
	return to;
}

/* The probabilities of n logits divided by a temperature. */
static void
slow_softmax(const double *z, size_t n, double temperature, double *p)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += p[i] = exp(z[i] / temperature);
	for (i = 0; i < n; i++)
		p[i] /= sum;
}

/* The mean loss. y: logits of the teacher, or NULL. */
static double
slow_loss(const struct train_model *m, const double *value, const struct train_batch *b,
          const double *y, const struct train_goal *g)
{
	size_t n = m->hyper.vocabulary, t, i, counted = 0;
	double *z = slow_logits(m, value, b), *p = calloc(3 * n, sizeof *p), hard = 0, soft = 0;

	for (t = 0; t < b->rows * b->length; t++) {
		if (b->targets[t] == TRAIN_IGNORE)
			continue;
		counted++;
		slow_softmax(z + t * n, n, 1, p);
		hard -= log(p[b->targets[t]]);
		if (!y)
			continue;
		slow_softmax(z + t * n, n, g->temperature, p + n);
		slow_softmax(y + t * n, n, g->temperature, p + 2 * n);
		for (i = 0; i < n; i++)
			soft += p[2 * n + i] * log(p[2 * n + i] / p[n + i]) * g->temperature *
			        g->temperature;
	}
	free(z);
	free(p);
	return ((1 - g->alpha) * hard + g->alpha * soft) / (double)counted;
}

/* ---- models and batches ---- */

struct shape {
	const char *what;
	struct train_config c;
	size_t rows, length;
	double alpha, temperature;
};

static const struct shape shapes[] = {
	{ "llama, untied, pairs, shared keys", { .family = "llama", .layers = 2, .width = 24,
	  .heads = 6, .kv_heads = 2, .ff = 40, .head = 6, .context = 128, .vocabulary = 37 }, 3, 9, 0, 1 },
	{ "llama, tied, 1 teacher, longer than a block", { .family = "llama", .layers = 1, .width = 16,
	  .heads = 2, .kv_heads = 1, .ff = 33, .head = 4, .context = 128, .vocabulary = 19, .tied = true },
	  1, 70, 1, 3 },
	{ "qwen2, biases, halves", { .family = "qwen2", .layers = 2, .width = 20, .heads = 2,
	  .kv_heads = 1, .ff = 24, .context = 128, .vocabulary = 53 }, 2, 11, 0.4, 0.5 },
	{ "qwen3, norms of heads", { .family = "qwen3", .layers = 2, .width = 24, .heads = 4,
	  .kv_heads = 2, .ff = 50, .head = 18, .context = 128, .vocabulary = 40, .tied = true },
	  2, 8, 0.7, 2 },
	{ "gpt2", { .family = "gpt2", .layers = 2, .width = 24, .heads = 3, .context = 12,
	  .vocabulary = 45 }, 3, 10, 0.5, 2 },
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void *
must(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return p;
}

/* Values that are neither small nor equal: norms and biases too. */
static void
scatter(struct train_model *m, uint64_t seed)
{
	size_t i, k;

	for (i = 0; i < m->param_count; i++) {
		const struct train_param *p = &m->params[i];
		uint64_t key = philox_key(seed, p->name, 7);
		float size = p->decays ? 0.5f / sqrtf((float)p->columns) * 1.7f : 0.3f;
		uint32_t word[4];

		for (k = 0; k < p->count; k++) {
			philox_fill(key, 4 * k, word, 4);
			m->value[p->at + k] = ((float)word[0] * 0x1p-31f - 1) * size +
				(!p->decays && strstr(p->name, "norm.weight") ? 1.0f : 0);
		}
	}
}

static void
make(struct train_model *m, const struct shape *s, uint64_t seed)
{
	struct err e = ERR_INIT;

	if (train_new(m, &s->c, &e) < 0) {
		fprintf(stderr, "%s: %s\n", s->what, e.fact);
		exit(1);
	}
	scatter(m, seed);
}

/* Tokens of a batch, some of which repeat, and the tokens after each; two of them do not count. */
static struct train_batch
batch_of(const struct shape *s, uint32_t *room)
{
	size_t n = s->rows * s->length, i;

	philox_fill(philox_key(5, s->what, 0), 0, room, (n + 4) & ~(size_t)3);
	for (i = 0; i <= n; i++)
		room[i] %= i % 3 ? (uint32_t)s->c.vocabulary : 5;
	for (i = 0; i < n; i++)
		room[n + 4 + i] = i == 4 || i + 1 == n ? TRAIN_IGNORE : room[i + 1];
	return (struct train_batch){ room, room + n + 4, s->rows, s->length };
}

static struct train_work *
work_of(struct train_model *m, const struct shape *s, unsigned flags, unsigned jobs)
{
	struct err e = ERR_INIT;
	struct train_work *w = train_work_open(m, s->rows, s->length, flags, jobs, 0, &e);

	if (!w)
		fprintf(stderr, "%s: %s\n", s->what, e.fact);
	return must(w);
}

/* ---- gradients ---- */

/* A gradient by differences: of third order, from two steps. */
static double
difference(const struct train_model *m, double *value, size_t at, const struct train_batch *b,
           const double *y, const struct train_goal *g)
{
	double was = value[at], d[2], step = 1e-3;
	int i;

	for (i = 0; i < 2; i++, step /= 2) {
		value[at] = was + step;
		d[i] = slow_loss(m, value, b, y, g);
		value[at] = was - step;
		d[i] = (d[i] - slow_loss(m, value, b, y, g)) / (2 * step);
	}
	value[at] = was;
	return (4 * d[1] - d[0]) / 3;
}

/* Some values of each parameter. Returns the largest error, as a part of the largest gradient of
 * the parameter. */
static double
gradient_error(const struct train_model *m, double *value, const struct train_batch *b,
               const double *y, const struct train_goal *g, const char **where)
{
	double worst = 0;
	size_t i, k;

	for (i = 0; i < m->param_count; i++) {
		const struct train_param *p = &m->params[i];
		double most = 0, error, largest = 0;
		size_t at = 0;

		for (k = 0; k < p->count; k++)
			if (fabs((double)m->gradient[p->at + k]) > most)
				most = fabs((double)m->gradient[p->at + (at = k)]);
		for (k = 0; k < 3; k++, at = (at * 7 + 3) % p->count) {
			error = fabs(difference(m, value, p->at + at, b, y, g) -
			             (double)m->gradient[p->at + at]);
			largest = error > largest ? error : largest;
		}
		if (!(largest / most <= worst)) {
			worst = largest / most;
			*where = p->name;
		}
	}
	return worst;
}

static double *
doubles(const float *x, size_t n)
{
	double *y = must(calloc(n, sizeof *y));
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = (double)x[i];
	return y;
}

static void
gradients(void)
{
	uint32_t room[512];
	size_t i;

	for (i = 0; i < SHAPES; i++) {
		const struct shape *s = &shapes[i];
		struct train_batch b = batch_of(s, room);
		struct train_goal g = { .alpha = s->alpha, .temperature = s->temperature };
		struct train_model m, teacher;
		struct train_loss loss, again;
		struct train_work *w, *tw;
		struct err e = ERR_INIT;
		double *value, *old, *y = NULL, want, error;
		const char *where = "";

		make(&m, s, 1);
		make(&teacher, s, 2);
		w = work_of(&m, s, 0, 2);
		tw = work_of(&teacher, s, TRAIN_FORWARD, 2);
		value = doubles(m.value, m.total);
		old = doubles(teacher.value, teacher.total);
		if (s->alpha > 0) {
			g.teacher = tw;
			y = slow_logits(&teacher, old, &b);
		}
		test_ok(train_backward(w, &b, &g, &loss, &e) == 0 &&
		        loss.counted == s->rows * s->length - 2, "%s: %s", s->what, e.fact);
		want = slow_loss(&m, value, &b, y, &g) * (double)loss.counted;
		test_ok(fabs(loss.total - want) < 1e-4 * want, "the loss is that of slow formulas: %g, %g",
		        loss.total, want);
		test_ok(train_loss(w, &b, &g, &again, &e) == 0 && again.total == loss.total &&
		        again.hard == loss.hard, "and that of a pass without gradients");
		error = gradient_error(&m, value, &b, y, &g, &where);
		test_ok(error < 1e-4, "gradients of %zu parameters are finite differences: %.1e, %s",
		        m.param_count, error, where);
		train_work_close(w);
		train_work_close(tw);
		train_close(&m);
		train_close(&teacher);
		free(value);
		free(old);
		free(y);
	}
}


/* ---- the same bytes ---- */

static const struct shape wide = { "larger than a task", { .family = "qwen3", .layers = 1, .width = 48,
	.heads = 4, .kv_heads = 2, .ff = 288, .head = 20, .context = 128, .vocabulary = 270, .tied = true },
	2, 50, 0.5, 2 };

/* Two steps of a model and a teacher from fixed values, each from two batches. The model stays open. */
static void
two_steps(struct train_model *m, const struct shape *s, unsigned jobs)
{
	uint32_t *room = must(calloc(2 * s->rows * s->length + 16, sizeof *room));
	struct train_batch b = batch_of(s, room);
	struct train_adam a = TRAIN_ADAM;
	struct train_model teacher;
	struct train_work *w, *tw;
	struct train_loss loss;
	struct err e = ERR_INIT;
	int r = 0;
	uint64_t t;

	make(m, s, 1);
	make(&teacher, s, 2);
	w = work_of(m, s, 0, jobs);
	tw = work_of(&teacher, s, TRAIN_FORWARD, jobs);
	for (t = 1; t <= 2; t++) {
		struct train_goal g = { s->alpha, s->temperature, tw, NULL, 2 * b.rows * b.length - 4 };

		r |= train_backward(w, &b, &g, &loss, &e);
		b.tokens++;
		r |= train_backward(w, &b, &g, &loss, &e);
		b.tokens--;
		r |= train_update(m, &a, t, jobs, NULL, &e);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", e.fact);
	train_work_close(w);
	train_work_close(tw);
	train_close(&teacher);
	free(room);
}

static bool
same_state(const struct train_model *a, const struct train_model *b)
{
	size_t bytes = a->total * sizeof(float);

	return a->total == b->total && !memcmp(a->value, b->value, bytes) &&
	       !memcmp(a->first, b->first, bytes) && !memcmp(a->second, b->second, bytes);
}

static void
same_bytes(void)
{
	static const unsigned jobs[] = { 1, 2, 7 };
	struct train_model want, have, start;
	const struct level *l, *was = level_now();
	unsigned i;

	two_steps(&want, &wide, 1);
	make(&start, &wide, 1);
	test_ok(!same_state(&want, &start) && fabsf(want.value[5] - start.value[5]) > 1e-4f,
	        "two steps change a model");
	train_close(&start);
	for (i = 0; i < 3; i++) {
		two_steps(&have, &wide, jobs[i]);
		test_ok(same_state(&want, &have), "%u threads: the same bytes", jobs[i]);
		train_close(&have);
	}
	for (i = 0; (l = level_row(i)) != NULL; i++) {
		level_use(l, NULL);
		two_steps(&have, &wide, 2);
		test_ok(same_state(&want, &have), "%s: the same bytes", l->name);
		train_close(&have);
	}
	level_use(was, NULL);
	train_close(&want);
}

/* The gradient of a batch is that of its halves, bit for bit, if the output is not the embeddings: also
 * where logits are computed in parts. */
static void
halves(void)
{
	static const struct shape s = { "many tokens", { .family = "llama", .layers = 1, .width = 8,
		.heads = 2, .ff = 16, .context = 64, .vocabulary = 70000 }, 4, 15, 0, 1 };
	uint32_t room[256];
	struct train_batch b = batch_of(&s, room), half = b;
	struct train_goal g = { .temperature = 1, .counted = 58 };
	struct train_loss all, one, two;
	struct err e = ERR_INIT;
	struct train_model m;
	struct train_work *w;
	float *copy;

	make(&m, &s, 1);
	w = work_of(&m, &s, 0, 2);
	copy = must(calloc(m.total, sizeof *copy));
	train_backward(w, &b, &g, &all, &e);
	memcpy(copy, m.gradient, m.total * sizeof *copy);
	train_clear(&m);
	half.rows = 2;
	train_backward(w, &half, &g, &one, &e);
	half.tokens += 30;
	half.targets += 30;
	train_backward(w, &half, &g, &two, &e);
	test_ok(!memcmp(copy, m.gradient, m.total * sizeof *copy) && copy[3] != 0,
	        "the gradient of a batch is that of its halves");
	test_ok(all.counted == one.counted + two.counted && all.counted == 58 &&
	        fabs(all.hard - one.hard - two.hard) < 1e-9 * all.hard, "and the loss their sum");
	free(copy);
	train_work_close(w);
	train_close(&m);
}

/* ---- positions ---- */

/* The series are those functions of the C library in double precision, rounded once. */
static void
angles(void)
{
	const double half = 0x1p-25 * 1.001; /* of a last place below 1 */
	double worst = 0, power = 0, want;
	float c, s, x, y;
	int i, k;

	for (i = -400000; i < 400000; i++) {
		x = (float)i * ((i & 3) == 0 ? 0.01f : (i & 3) == 1 ? 1.0f : (i & 3) == 2 ? 1e-7f : 3.7f);
		train_angle(x, &c, &s);
		worst = fmax(worst, fabs((double)c - cos((double)x)));
		worst = fmax(worst, fabs((double)s - sin((double)x)));
	}
	test_ok(worst <= half, "cosines and sines are rounded once: %g", worst);
	for (i = 1; i <= 128; i++)
		for (k = 0; k < 40; k++) {
			x = (float)(k + 1) * (float)(k * k * k) * 7.3f + 0.01f;
			y = -1 / (float)i;
			want = pow((double)x, (double)y);
			power = fmax(power, fabs((double)train_power(x, y) - want) / want);
		}
	test_ok(power <= 2 * half, "powers are rounded once: %g", power);
	train_angle(INFINITY, &c, &s);
	test_ok(isnan(c) && isnan(s) && isnan(train_power(-1, -0.5f)) && isnan(train_power(0, -1)) &&
	        isnan(train_power(INFINITY, -1)), "what has no cosine or power is NaN");
	train_angle(1e30f, &c, &s);
	test_ok(fabsf(c * c + s * s - 1) < 1e-6f, "a large angle has some");
}

/* ---- steps ---- */

/* Numbers by hand: the first step moves each value by the rate, whatever its gradient; the second uses
 * both averages. */
static void
steps(void)
{
	struct shape s = shapes[0];
	struct train_adam a = { .rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0, .decay = 0.5,
		.clip = 0 };
	struct train_model m;
	struct err e = ERR_INIT;
	const struct train_param *p, *norm;
	double length = 0;

	make(&m, &s, 1);
	p = train_find(&m, "blk.0.attn_q.weight");
	norm = train_find(&m, "output_norm.weight");
	m.value[p->at] = 2;
	m.value[norm->at] = 2;
	m.gradient[p->at] = 3;
	m.gradient[norm->at] = -4;
	test_ok(train_update(&m, &a, 1, 2, &length, &e) == 0 && length == 5,
	        "the length of the gradient");
	test_ok(fabsf(m.value[p->at] - 1.8f) < 1e-6f && fabsf(m.value[norm->at] - 2.1f) < 1e-6f,
	        "step 1: 2 - 0.1 (1 + 0.5 × 2) = %g; a norm does not decay: %g",
	        (double)m.value[p->at], (double)m.value[norm->at]);
	test_ok(m.first[p->at] == 1.5f && m.second[p->at] == 2.25f && m.gradient[p->at] == 0,
	        "the averages are 0.5 × 3 and 0.25 × 9; the gradient is zero again");
	m.gradient[p->at] = 6; /* clipped to 3 */
	a.clip = 3;
	train_update(&m, &a, 2, 1, &length, &e);
	/* first 2.25 / 0.75 = 3, second 3.9375 / 0.4375 = 9: one rate, and decay 0.1 × 0.5 × 1.8 */
	test_ok(length == 6 && fabsf(m.value[p->at] - 1.61f) < 1e-6f, "step 2, clipped: %g",
	        (double)m.value[p->at]);
	m.gradient[p->at] = NAN;
	test_ok(train_update(&m, &a, 3, 1, NULL, &e) < 0 && e.code == ERR_INVALID &&
	        fabsf(m.value[p->at] - 1.61f) < 1e-6f, "a gradient that is not finite: %s", e.fact);
	train_close(&m);
}

static void
rates(void)
{
	test_ok(train_rate(1, 0.1, 4, 12, 1) == 0.25 && train_rate(1, 0.1, 4, 12, 4) == 1,
	        "the rate rises in a line");
	test_ok(fabs(train_rate(1, 0.1, 4, 12, 8) - 0.55) < 1e-15 &&
	        fabs(train_rate(1, 0, 0, 6, 1) - (1 + cos(acos(-1) / 6)) / 2) < 1e-15 &&
	        fabs(train_rate(1, 0, 0, 6, 5) - (1 + cos(acos(-1) / 6 * 5)) / 2) < 1e-15,
	        "and falls along a cosine");
	test_ok(train_rate(1, 0.1, 4, 12, 12) == 0.1 && train_rate(1, 0.1, 4, 12, 99) == 0.1,
	        "to the lowest");
}

/* A model learns a text of two tokens that take turns; a copy of its state learns the same. */
static void
learning(void)
{
	static const struct shape s = { "turns", { .family = "gpt2", .layers = 1, .width = 32, .heads = 4,
		.context = 16, .vocabulary = 64 }, 2, 16, 0, 1 };
	uint32_t tokens[33];
	struct train_batch b = { tokens, tokens + 1, 1, 16 };
	struct train_goal g = { .temperature = 1 };
	struct train_adam a = TRAIN_ADAM;
	struct train_model m, copy;
	struct train_loss first, last = { 0 };
	struct err e = ERR_INIT;
	struct train_work *w, *other;
	size_t i;

	for (i = 0; i < 33; i++)
		tokens[i] = i % 2 ? 7 : 60;
	a.rate = 0.02;
	make(&m, &s, 1);
	make(&copy, &s, 9);
	train_init(&m, 3);
	w = work_of(&m, &s, 0, 1);
	other = work_of(&copy, &s, 0, 2);
	train_loss(w, &b, NULL, &first, &e);
	test_ok(fabs(first.hard / 16 - log(64)) < 0.1, "at first all tokens are as likely: %.3f",
	        first.hard / 16);
	for (i = 1; i <= 40; i++) {
		if (i == 31) {
			memcpy(copy.value, m.value, m.total * sizeof *m.value);
			memcpy(copy.first, m.first, m.total * sizeof *m.value);
			memcpy(copy.second, m.second, m.total * sizeof *m.value);
		}
		train_backward(w, &b, &g, &last, &e);
		train_update(&m, &a, i, 1, NULL, &e);
		if (i < 31)
			continue;
		train_backward(other, &b, &g, &last, &e);
		train_update(&copy, &a, i, 2, NULL, &e);
	}
	test_ok(last.hard / 16 < 0.3, "then it has learnt: %.3f", last.hard / 16);
	test_ok(same_state(&m, &copy), "a state that was copied goes on with the same bytes");
	train_work_close(w);
	train_work_close(other);
	train_close(&m);
	train_close(&copy);
}

/* ---- models of files ---- */

/* The largest difference of a model's logits from those of inference (ops_cpu) with the same weights in
 * single precision: the model as a source, loaded again. */
struct seen {
	const float *logits;
	size_t n;
	double worst, most;
};

static int
see(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct seen *s = ctx;
	size_t i;

	(void)e;
	for (i = 0; i < s->n; i++) {
		double d = fabs((double)logits[i] - (double)s->logits[position * s->n + i]);

		s->worst = d > s->worst ? d : s->worst;
		s->most = fabs((double)logits[i]) > s->most ? fabs((double)logits[i]) : s->most;
	}
	return 0;
}

static int
infer_differs(struct train_model *m, const float *logits, const uint32_t *tokens, size_t n,
              struct seen *seen, struct err *e)
{
	struct infer_options options = { .cache = CACHE_F32, .gelu = GELU_MODEL };
	struct source *source = train_source(m, e);
	struct sequence *s = NULL;
	struct infer *in = NULL;
	struct load l = { 0 };
	int r = -1;

	if (!m->hyper.rotary)
		options.gelu = GELU_TANH;
	*seen = (struct seen){ .logits = logits, .n = m->hyper.vocabulary };
	if (source && load_source(&l, source, e) == 0 &&
	    (in = infer_open(&l.weights, &options, NULL, e)) && (s = sequence_open(in, e)))
		r = sequence_eval(s, 0, tokens, n, SEQUENCE_ALL, see, seen, e);
	sequence_close(s);
	infer_close(in);
	load_close(&l);
	source_close(source);
	return r;
}

static void
files(void)
{
	static const char *const paths[] = { "tests/data/shakespeare-BF16.gguf",
		"tests/data/convert/gpt2/expected.gguf", "tests/data/convert/gpt2/hf",
		"tests/data/convert/llama2/hf" };
	uint32_t tokens[24];
	size_t i, k, n = sizeof tokens / sizeof tokens[0];

	for (i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		struct err e = ERR_INIT;
		struct train_model m = { 0 };
		struct train_work *w = NULL;
		struct seen seen = { .worst = INFINITY };
		struct load l;
		float *logits = NULL;

		if (load_open(&l, paths[i], NULL, &e) == 0 && train_open(&m, &l.weights, 0, &e) == 0) {
			for (k = 0; k < n; k++)
				tokens[k] = (uint32_t)((k * k * 31 + 5) % m.hyper.vocabulary);
			w = train_work_open(&m, 1, n, TRAIN_FORWARD, 2, 0, &e);
			logits = must(calloc(n * m.hyper.vocabulary, sizeof *logits));
		}
		if (w && train_logits(w, &(struct train_batch){ tokens, NULL, 1, n }, logits, &e) == 0)
			infer_differs(&m, logits, tokens, n, &seen, &e);
		test_ok(seen.most > 0.1 && seen.worst < 2e-5 * seen.most,
		        "%s: logits are those of inference: %.1e of %.3g %s", paths[i], seen.worst,
		        seen.most, e.fact);
		free(logits);
		train_work_close(w);
		train_close(&m);
		load_close(&l);
	}
}

/* Logits that another program computed, where the reference data is. */
static void
references(void)
{
	static const char *const names[] = { "gpt2", "llama-tied", "llama3-ropefreqs", "phi3", "qwen2",
		"qwen3" };
	const char *dir = test_data();
	size_t i, k;

	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct err e = ERR_INIT;
		struct train_model m = { 0 };
		struct train_work *w = NULL;
		double worst = INFINITY, most = 0;
		float *logits, *want;
		uint32_t tokens[24] = { 0 };
		char path[4096];
		struct load l;
		json_t *o, *ids;
		FILE *f;

		if (!dir) {
			test_skip(names[i], "no reference data");
			continue;
		}
		snprintf(path, sizeof path, "%s/models/arch/%s.json", dir, names[i]);
		o = must(json_load_file(path, 0, NULL));
		ids = json_object_get(o, "tokens");
		for (k = 0; k < 24; k++)
			tokens[k] = (uint32_t)json_integer_value(json_array_get(ids, k));
		json_decref(o);
		snprintf(path, sizeof path, "%s/models/arch/%s.gguf", dir, names[i]);
		if (load_open(&l, path, NULL, &e) == 0 && train_open(&m, &l.weights, TRAIN_FROZEN, &e) == 0)
			w = train_work_open(&m, 1, 24, TRAIN_FORWARD, 1, 0, &e);
		logits = must(calloc(48 * m.hyper.vocabulary + 1, sizeof *logits));
		want = logits + 24 * m.hyper.vocabulary;
		snprintf(path, sizeof path, "%s/models/arch/%s.logits.f32", dir, names[i]);
		f = must(fopen(path, "rb"));
		if (w && train_logits(w, &(struct train_batch){ tokens, NULL, 1, 24 }, logits, &e) == 0 &&
		    fread(want, sizeof *want, 24 * m.hyper.vocabulary, f) == 24 * m.hyper.vocabulary)
			for (worst = 0, k = 0; k < 24 * m.hyper.vocabulary; k++) {
				worst = fmax(worst, fabs((double)logits[k] - (double)want[k]));
				most = fmax(most, fabs((double)want[k]));
			}
		fclose(f);
		/* llama.cpp keeps keys and values in halves, and computes GELU from a table of halves. */
		test_ok(most > 0.1 && worst < 2e-3 * most, "%s: logits of the reference: %.1e of %.3g %s",
		        names[i], worst, most, e.fact);
		free(logits);
		train_work_close(w);
		train_close(&m);
		load_close(&l);
	}
}

/* ---- what is refused ---- */

static void
refused_file(const char *path, const char *what)
{
	struct err e = ERR_INIT;
	struct train_model m = { 0 };
	struct load l;

	test_ok(load_open(&l, path, NULL, &e) == 0 && train_open(&m, &l.weights, 0, &e) < 0 &&
	        e.code == ERR_FORMAT && strstr(e.fact, what), "%s: %s", path, e.fact);
	train_close(&m);
	load_close(&l);
}

static void
refused_config(struct train_config c, const char *what)
{
	struct err e = ERR_INIT;
	struct train_model m;

	test_ok(train_new(&m, &c, &e) < 0 && e.code == ERR_USAGE && strstr(e.fact, what), "%s", e.fact);
	train_close(&m);
}

/* The embeddings are a vector, and no key says how many tokens there are. */
static void
refused_vector(void)
{
	struct train_model m, again = { 0 };
	struct err e = ERR_INIT;
	struct source *source;
	struct load l = { 0 };
	struct tensor **t;

	make(&m, &shapes[0], 1);
	t = &m.plan.tensors[train_find(&m, "token_embd.weight")->tensor];
	tensor_free(*t);
	*t = must(tensor_new("token_embd.weight", 17, dtype_by_name("F32"), 1, (uint64_t[]){ 24 },
	                     TENSOR_OWN_SIZE, "model", &e));
	model_unset_meta(&m.plan, "llama.vocab_size");
	source = must(train_source(&m, &e));
	test_ok(load_source(&l, source, &e) == 0 && train_open(&again, &l.weights, 0, &e) < 0 &&
	        e.code == ERR_CORRUPT && strstr(e.fact, "has shape 24, where 1x24"), "%s: %s", e.object,
	        e.fact);
	train_close(&again);
	load_close(&l);
	source_close(source);
	train_close(&m);
}

/* A long value that the loader has left out: only a model that learns is written. */
static void
refused_blob(void)
{
	struct err e = ERR_INIT;
	struct train_model m = { 0 };
	struct load l;
	size_t i;

	test_ok(load_open(&l, "tests/data/convert/llama2/hf", NULL, &e) == 0 && l.plan.blob_count > 0,
	        "a folder has side files");
	for (i = 0; i < l.plan.blob_count; i++)
		if (strcmp(l.plan.blobs[i].name, "tokenizer.json") == 0) {
			free((void *)(uintptr_t)l.weights.blobs[i].p);
			l.weights.blobs[i] = (struct weights_blob){ 0 };
		}
	test_ok(train_open(&m, &l.weights, TRAIN_FROZEN, &e) == 0, "a teacher does not need them: %s",
	        e.fact);
	train_close(&m);
	test_ok(train_open(&m, &l.weights, 0, &e) < 0 && e.code == ERR_MEMORY &&
	        strstr(e.fact, "too large"), "%s: %s", e.object, e.fact);
	train_close(&m);
	load_close(&l);
}

/* A tokenizer that is a side file cannot be that of a new model. */
static void
refused_words(void)
{
	struct train_config c = shapes[0].c;
	struct err e = ERR_INIT;
	struct train_model m = { 0 };
	struct load l;

	c.vocabulary = 0;
	test_ok(load_open(&l, "tests/data/convert/llama2/hf", NULL, &e) == 0, "a folder: %s", e.fact);
	c.words = &l.weights;
	test_ok(train_new(&m, &c, &e) < 0 && e.code == ERR_FORMAT && strstr(e.fact, "keys of GGUF"),
	        "%s", e.fact);
	train_close(&m);
	load_close(&l);
}

static void
refused_batches(void)
{
	const struct shape *s = &shapes[4];
	uint32_t room[512];
	struct train_batch b = batch_of(s, room), bad = b;
	struct train_goal g = { .temperature = 1 };
	struct train_loss loss;
	struct train_model m, other;
	struct train_work *w, *tw;
	struct err e = ERR_INIT;

	make(&m, s, 1);
	make(&other, &shapes[0], 1);
	w = work_of(&m, s, 0, 1);
	tw = work_of(&other, s, TRAIN_FORWARD, 1);
	room[3] = 45;
	test_ok(train_loss(w, &b, &g, &loss, &e) < 0 && e.code == ERR_INVALID && strstr(e.fact, "45"),
	        "%s", e.fact);
	room[3] = 44;
	bad.length = 13;
	e = (struct err)ERR_INIT;
	test_ok(train_loss(w, &bad, &g, &loss, &e) < 0 && e.code == ERR_INVALID, "%s", e.fact);
	g.alpha = 0.5;
	e = (struct err)ERR_INIT;
	test_ok(train_loss(w, &b, &g, &loss, &e) < 0 && strstr(e.fact, "no teacher"), "%s", e.fact);
	g.teacher = tw;
	e = (struct err)ERR_INIT;
	test_ok(train_loss(w, &b, &g, &loss, &e) < 0 && strstr(e.fact, "37"), "%s", e.fact);
	e = (struct err)ERR_INIT;
	test_ok(train_backward(tw, &b, &(struct train_goal){ .temperature = 1 }, &loss, &e) < 0 &&
	        e.code == ERR_INVALID, "%s", e.fact);
	e = (struct err)ERR_INIT;
	test_ok(!train_work_open(&m, 3, 13, 0, 1, 0, &e) && e.code == ERR_INVALID, "%s", e.fact);
	e = (struct err)ERR_INIT;
	test_ok(!train_work_open(&m, 1000, 12, 0, 1, 4 << 20, &e) && e.code == ERR_MEMORY &&
	        strstr(e.fact, "and 4 MiB are allowed"), "%s", e.fact);
	e = (struct err)ERR_INIT;
	test_ok(!train_work_open(&other, SIZE_MAX / 2, 3, 0, 1, 0, &e) && e.code == ERR_INVALID, "%s",
	        e.fact);
	train_work_close(w);
	train_work_close(tw);
	train_close(&m);
	train_close(&other);
}

static void
refused(void)
{
	struct train_config c = shapes[0].c;

	refused_file("tests/data/arch/gemma2.gguf", "attention with a window");
	refused_file("tests/data/arch/gptneox.gguf", "one input");
	refused_file("tests/data/arch/qwen2moe.gguf", "experts");
	c.heads = 5;
	c.head = 0;
	refused_config(c, "heads do not divide the width");
	c = shapes[0].c;
	c.kv_heads = 4;
	refused_config(c, "heads of keys");
	c = shapes[0].c;
	c.layers = 0;
	refused_config(c, "at least 1");
	c.family = "mamba";
	refused_config(c, "mamba");
	refused_vector();
	refused_blob();
	refused_words();
	refused_batches();
}

int
main(void)
{
	struct err e = ERR_INIT;

	level_begin(getenv("APR_CPU"), NULL, &e);
	gradients();
	same_bytes();
	halves();
	angles();
	steps();
	rates();
	learning();
	files();
	references();
	refused();
	return test_done();
}
