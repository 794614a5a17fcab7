#include "infer/forward.h"

#include <math.h>

#include "core/half.h"
#include "core/thread.h"
#include "kernels/attend.h"

/* ---- norms, activations, linear layers ---- */

/* y = x / rms(x) * weight, rms(x) = sqrt(mean(x²) + eps) */
void
norm_rms(const float *x, const struct norm *w, size_t width, float eps, float *y)
{
	float scale = dot_rms(x, width, eps);
	size_t i;

	for (i = 0; i < width; i++)
		y[i] = x[i] * scale * w->weight[i] + (w->bias ? w->bias[i] : 0);
}

/* y = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias */
void
norm_layer(const float *x, const struct norm *w, size_t width, float eps, float *y)
{
	double mean = 0, variance = 0;
	float scale;
	size_t i;

	for (i = 0; i < width; i++)
		mean += (double)x[i];
	mean /= (double)width;
	for (i = 0; i < width; i++)
		variance += ((double)x[i] - mean) * ((double)x[i] - mean);
	scale = 1 / sqrtf((float)(variance / (double)width) + eps);
	for (i = 0; i < width; i++)
		y[i] = (x[i] - (float)mean) * scale * w->weight[i] +
		       (w->bias ? w->bias[i] : 0);
}

/* Of n rows, shared out. */
struct norm_task {
	const struct hyper *h;
	const struct norm *w;
	const float *x;
	size_t n, width;
	float *y;
};
#define NORM_ROWS 16

static void
norm_rows(void *ctx, size_t task)
{
	const struct norm_task *t = ctx;
	size_t i, last = (task + 1) * NORM_ROWS < t->n ? (task + 1) * NORM_ROWS : t->n;

	for (i = task * NORM_ROWS; i < last; i++)
		(t->h->arch->flags & ARCH_LAYER_NORM ? norm_layer : norm_rms)(
			t->x + i * t->width, t->w, t->width, t->h->eps, t->y + i * t->width);
}

static void
norms(const struct pass *p, const struct norm *w, const float *x, size_t n, size_t width,
      float *y)
{
	struct norm_task t = { &p->net->hyper, w, x, n, width, y };

	thread_for(p->threads, (n + NORM_ROWS - 1) / NORM_ROWS, norm_rows, &t);
}

float
act_apply(enum act act, float x)
{
	const float root = 0.79788456080286535588f; /* sqrt(2/π) */

	switch (act) {
	case ACT_SILU:
		return x / (1 + expf(-x));
	case ACT_GELU_TANH:
		return 0.5f * x * (1 + tanhf(root * x * (1 + 0.044715f * x * x)));
	case ACT_GELU_HALF:
		if (x <= -10 || x >= 10)
			return x < 0 ? 0 : x;
		return half_f16_f32(half_f32_f16(
			act_apply(ACT_GELU_TANH, half_f16_f32(half_f32_f16(x)))));
	case ACT_GELU_ERF:
		return 0.5f * x * (1 + erff(x * 0.70710678118654752440f));
	}
	return x;
}

void
pass_see(struct pass *p, const float *x, size_t n, size_t columns)
{
	p->in.x = x;
	p->in.norm = NULL;
	p->in.n = n;
	p->in.columns = columns;
	p->in.form = NULL;
}

/* The same of x normed: by what makes the forms of x, where that can, else in p->h. */
static void
see_normed(struct pass *p, const struct norm *w, const float *x, size_t n)
{
	const struct hyper *h = &p->net->hyper;

	if ((h->arch->flags & ARCH_LAYER_NORM) || w->bias) {
		norms(p, w, x, n, h->width, p->h);
		pass_see(p, p->h, n, h->width);
		return;
	}
	pass_see(p, x, n, h->width);
	p->in.norm = w->weight;
	p->in.eps = h->eps;
}

/* What is done to the n rows of its product: scale and bias. */
static void
linear_end(const struct linear *l, float *y, size_t n)
{
	size_t i, k;

	for (i = 0; l->scale && i < n * l->w.rows; i++)
		y[i] *= *l->scale;
	for (i = 0; l->bias && i < n; i++)
		for (k = 0; k < l->w.rows; k++)
			y[i * l->w.rows + k] += l->bias[k];
}

void
linear_apply(struct pass *p, const struct linear *l, float *y)
{
	matmul(&l->w, &p->in, y, p->threads);
	linear_end(l, y, p->in.n);
}

/* A part of a row: up = act(gate) * up, or act(up). */
struct act_task {
	enum act act;
	const float *gate; /* or NULL */
	float *up;
	size_t n;
};
#define ACT_VALUES 2048

static void
act_some(void *ctx, size_t task)
{
	const struct act_task *t = ctx;
	size_t i = task * ACT_VALUES, last = t->n - i < ACT_VALUES ? t->n : i + ACT_VALUES;

	if (t->gate && t->act == ACT_SILU) {
		attend_now()->gate(t->gate + i, t->up + i, last - i);
		return;
	}
	for (; i < last; i++)
		t->up[i] = t->gate ? t->up[i] * act_apply(t->act, t->gate[i])
		                   : act_apply(t->act, t->up[i]);
}

void
feed_forward(struct pass *p, const struct feed_forward *f, float *y)
{
	size_t n = p->in.n;
	struct act_task t = { p->net->hyper.act, f->gate.w.rows ? p->gate : NULL, p->up,
		n * f->up.w.rows };

	matmuls((struct product[]){ { &f->up.w, p->up }, { &f->gate.w, p->gate } }, t.gate ? 2 : 1,
	        &p->in, p->threads);
	linear_end(&f->up, p->up, n);
	if (t.gate)
		linear_end(&f->gate, p->gate, n);
	thread_for(p->threads, (t.n + ACT_VALUES - 1) / ACT_VALUES, act_some, &t);
	pass_see(p, p->up, n, f->up.w.rows);
	linear_apply(p, &f->down, y);
}

/* ---- a block ---- */

/* Of some tokens: queries and keys are turned by their positions, keys and values kept. */
struct turn_task {
	const struct pass *p;
	size_t block;
};
#define TURN_TOKENS 16

/* Turn each head of x[heads × width] of token i. */
static void
turn(const struct pass *p, float *x, size_t heads, size_t width, bool windowed, size_t i)
{
	const struct hyper *h = &p->net->hyper;
	size_t rot = (windowed ? h->rope_window : h->rope).rot, k;
	const float *c = windowed ? p->cosines_window : p->cosines;
	const float *s = windowed ? p->sines_window : p->sines;

	for (k = 0; k < heads; k++)
		rope_turn(x + (i * heads + k) * width, rot, h->halves, c + i * (rot / 2),
		          s + i * (rot / 2));
}

static void
turn_and_keep(void *ctx, size_t task)
{
	const struct turn_task *t = ctx;
	const struct pass *p = t->p;
	const struct hyper *h = &p->net->hyper;
	size_t i = task * TURN_TOKENS, last = p->n - i < TURN_TOKENS ? p->n : i + TURN_TOKENS, k;

	for (; i < last; i++) {
		if (!(h->arch->flags & ARCH_POSITIONS)) {
			turn(p, p->q, h->heads, h->head_k, h->windowed[t->block], i);
			turn(p, p->k, h->kv_heads, h->head_k, h->windowed[t->block], i);
		}
		for (k = 0; k < h->kv_heads; k++) {
			size_t at = i * h->kv_heads + k;

			cache_put_key(p->cache, t->block, k, p->position + i, p->k + at * h->head_k);
			cache_put_value(p->cache, t->block, k, p->position + i,
			                p->v + at * h->head_v);
		}
	}
}

/* y = attention of what was seen last: queries, keys and values are made, normed, turned, kept. */
static void
self_attention(struct pass *p, const struct block *b, size_t block)
{
	const struct hyper *h = &p->net->hyper;
	struct turn_task t = { p, block };

	matmuls((struct product[]){ { &b->q.w, p->q }, { &b->k.w, p->k }, { &b->v.w, p->v } }, 3,
	        &p->in, p->threads);
	linear_end(&b->q, p->q, p->n);
	linear_end(&b->k, p->k, p->n);
	linear_end(&b->v, p->v, p->n);
	if (b->q_norm.weight)
		norms(p, &b->q_norm, p->q, p->n * h->heads, h->head_k, p->q);
	if (b->k_norm.weight)
		norms(p, &b->k_norm, p->k, p->n * h->kv_heads, h->head_k, p->k);
	thread_for(p->threads, (p->n + TURN_TOKENS - 1) / TURN_TOKENS, turn_and_keep, &t);
	attention(p, block);
	pass_see(p, p->a, p->n, h->heads * h->head_v);
	linear_apply(p, &b->o, p->y);
	if (b->attn_post.weight)
		norms(p, &b->attn_post, p->y, p->n, h->width, p->y);
}

static void
add(float *x, const float *y, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] += y[i];
}

static void
run_block(struct pass *p, size_t i)
{
	const struct hyper *h = &p->net->hyper;
	const struct block *b = &p->net->blocks[i];
	size_t all = p->n * h->width;

	see_normed(p, &b->attn_norm, p->x, p->n);
	self_attention(p, b, i);
	/* In parallel, both see the same x: its second norm is that of what x was. */
	if (!h->parallel)
		add(p->x, p->y, all);
	if (b->experts || h->parallel) {
		norms(p, &b->ffn_norm, p->x, p->n, h->width, p->h);
		pass_see(p, p->h, p->n, h->width);
	} else {
		see_normed(p, &b->ffn_norm, p->x, p->n);
	}
	if (h->parallel)
		add(p->x, p->y, all);
	if (b->experts)
		experts(p, b);
	else
		feed_forward(p, &b->ffn, p->y);
	if (b->ffn_post.weight)
		norms(p, &b->ffn_post, p->y, p->n, h->width, p->y);
	add(p->x, p->y, all);
}

/* ---- the ends ---- */

static void
embed(struct pass *p, const uint32_t *tokens)
{
	const struct hyper *h = &p->net->hyper;
	float scale = sqrtf((float)h->width);
	size_t i, k;

	for (i = 0; i < p->n; i++) {
		float *x = p->x + i * h->width;

		matrix_row(&p->net->embed, tokens[i], x);
		if (h->arch->flags & ARCH_EMBED_SCALE)
			for (k = 0; k < h->width; k++)
				x[k] *= scale;
		if (h->arch->flags & ARCH_POSITIONS) {
			matrix_row(&p->net->positions, p->position + i, p->h);
			add(x, p->h, h->width);
		}
	}
}

static void
angles(struct pass *p)
{
	const struct hyper *h = &p->net->hyper;
	size_t i, half = h->rope.rot / 2, half_window = h->rope_window.rot / 2;

	if (h->arch->flags & ARCH_POSITIONS)
		return;
	for (i = 0; i < p->n; i++) {
		double at = (double)(p->position + i);

		rope_angles(&h->rope, at, p->cosines + i * half, p->sines + i * half);
		if (h->window)
			rope_angles(&h->rope_window, at, p->cosines_window + i * half_window,
			            p->sines_window + i * half_window);
	}
}

void
pass_run(struct pass *p, const uint32_t *tokens, size_t n, size_t position)
{
	size_t i;

	p->n = n;
	p->position = position;
	embed(p, tokens);
	angles(p);
	for (i = 0; i < p->net->hyper.layers; i++)
		run_block(p, i);
}

void
pass_logits(struct pass *p, size_t first, size_t n, float *logits)
{
	const struct hyper *h = &p->net->hyper;
	size_t i, all = n * h->vocabulary;

	see_normed(p, &p->net->out_norm, p->x + first * h->width, n);
	linear_apply(p, &p->net->out, logits);
	for (i = 0; h->logit_cap > 0 && i < all; i++)
		logits[i] = h->logit_cap * tanhf(logits[i] / h->logit_cap);
}

/* ---- memory ---- */

_Static_assert(sizeof(float) == sizeof(uint32_t) && sizeof(float) == sizeof(atomic_uint),
               "all items are of one size");

/* n items of four bytes, from *next on; of no array, only their number in *items. */
static void *
take(float **next, uint64_t *items, uint64_t n)
{
	float *p = *next;

	*items += n;
	if (p)
		*next += n;
	return p;
}

/* Lay the arrays of a pass over batch tokens out from base on; items: their size. */
static void
lay_out(struct pass *p, const struct net *net, uint64_t batch, float *base,
        uint64_t *items)
{
	const struct hyper *h = &net->hyper;
	uint64_t ff = net->ff, width = batch * h->width, used = batch * h->experts_used;

	ff = net->ff_expert > ff ? net->ff_expert : ff;
	ff = net->ff_shared > ff ? net->ff_shared : ff;
	*items = 0;
	/* First, so that they begin with a page, and with a line of the CPU's cache. */
	p->in.room = take(&base, items, batch * (net->room / sizeof(float)));
	p->part_a = take(&base, items, PASS_PARTS * h->heads * h->head_v);
	p->x = take(&base, items, width);
	p->h = take(&base, items, width);
	p->y = take(&base, items, width);
	p->q = take(&base, items, batch * h->heads * h->head_k);
	p->k = take(&base, items, batch * h->kv_heads * h->head_k);
	p->v = take(&base, items, batch * h->kv_heads * h->head_v);
	p->a = take(&base, items, batch * h->heads * h->head_v);
	p->gate = take(&base, items, batch * ff);
	p->up = take(&base, items, batch * ff);
	p->max = take(&base, items, batch * h->heads);
	p->sum = take(&base, items, batch * h->heads);
	p->cosines = take(&base, items, batch * (h->rope.rot / 2));
	p->sines = take(&base, items, batch * (h->rope.rot / 2));
	p->cosines_window = take(&base, items, batch * (h->rope_window.rot / 2));
	p->sines_window = take(&base, items, batch * (h->rope_window.rot / 2));
	p->probability = take(&base, items, batch * h->experts);
	p->chosen = take(&base, items, used);
	p->weight = take(&base, items, used);
	p->row = take(&base, items, h->experts ? batch * 2 : 0);
	p->rows = take(&base, items, h->experts ? width : 0);
	p->out = take(&base, items, h->experts ? width : 0);
	p->part_max = take(&base, items, PASS_PARTS * h->heads);
	p->part_sum = take(&base, items, PASS_PARTS * h->heads);
	p->done = take(&base, items, h->heads);
}

uint64_t
pass_bytes(const struct net *net)
{
	struct pass p;
	uint64_t one, two;

	lay_out(&p, net, 1, NULL, &one);
	lay_out(&p, net, 2, NULL, &two);
	return (two - one) * sizeof(float);
}

int
pass_open(struct pass *p, const struct net *net, size_t batch, struct err *e)
{
	uint64_t items;

	*p = (struct pass){ .net = net };
	lay_out(p, net, batch, NULL, &items);
	if (map_zeros(&p->memory, items * sizeof(float), e) < 0)
		return -1;
	lay_out(p, net, batch, (float *)p->memory.p, &items);
	return 0;
}

void
pass_free(struct pass *p)
{
	map_close(&p->memory);
}
