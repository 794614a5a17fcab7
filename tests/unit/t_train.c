/* train: gradients against finite differences of a second forward pass, in double precision and written
 * out slowly; logits against stored ones; AdamW against numbers by hand; the same bytes from any number
 * of threads and at each level of the CPU.
 */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/philox.h"
#include "kernels/kernel.h"
#include "kernels/level.h"
#include "kernels/training.h"
#include "load/load.h"

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

int
main(void)
{
	struct err e = ERR_INIT;

	level_begin(getenv("APR_CPU"), NULL, &e);
	gradients();
	return test_done();
}
