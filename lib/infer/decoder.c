#include "infer/decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* ---- linear layers ---- */

void
pass_watch(const struct pass *p, const struct input *in, const struct linear_id *ids,
           size_t count)
{
	struct watched w = { .x = p->watched, .n = in->n, .columns = in->columns };
	struct values x = in->x;
	size_t i;

	if (!p->watcher)
		return;
	/* With a norm on the way, p->h is free: it is for the norms of other inputs. */
	if (in->norm)
		p->ops->norm(p->device, in->norm, in->x, in->n, in->columns, x = p->h);
	p->ops->copy_out(p->device, p->watched, x, in->n * in->columns);
	for (i = 0; i < count; i++)
		if (i == 0 || memcmp(&ids[i], &ids[i - 1], sizeof *ids) != 0)
			w.layer[w.count++] = ids[i];
	p->watcher(p->watch_ctx, &w);
}

/* y += b(a(x)) of an adapter. */
static void
add_low(const struct pass *p, const struct input *in, const struct product *to)
{
	const struct low *low = to->layer->low;
	size_t rank = low->a.w.rows, rows = low->b.w.rows;
	struct values delta = to->layer == &p->net->out ? p->logit_delta : p->delta;

	p->ops->linear(p->device, in, &(struct product){ &low->a, p->low }, 1);
	p->ops->linear(p->device, &(struct input){ p->low, NULL, in->n, rank },
	               &(struct product){ &low->b, delta }, 1);
	p->ops->add(p->device, to->y, delta, in->n * rows);
}

/* The products of one input: neighbours without inner layers together, and through an inner layer
 * that several share only once. */
static void
multiply(const struct pass *p, const struct input *in, const struct product *to, size_t count)
{
	const struct linear *inner;
	size_t i, n;

	for (i = 0; i < count; i += n) {
		inner = to[i].layer->inner;
		for (n = 1; i + n < count && to[i + n].layer->inner == inner; n++)
			;
		if (!inner) {
			p->ops->linear(p->device, in, to + i, n);
			continue;
		}
		p->ops->linear(p->device, in, &(struct product){ inner, p->low }, 1);
		p->ops->linear(p->device, &(struct input){ p->low, NULL, in->n, inner->w.rows },
		               to + i, n);
	}
}

void
pass_linear(const struct pass *p, const struct input *in, const struct product *to,
            size_t count)
{
	struct linear_id ids[WATCHED] = { { 0 } };
	size_t i;

	for (i = 0; p->watcher && i < count; i++)
		ids[i] = to[i].layer->id;
	pass_watch(p, in, ids, count);
	multiply(p, in, to, count);
	for (i = 0; i < count; i++)
		if (to[i].layer->low)
			add_low(p, in, &to[i]);
}

/* ---- a layer ---- */

/* The input of linear layers: x normed, if there is a norm. They compute an RMS norm
 * themselves. */
static struct input
normed(const struct pass *p, const struct norm *w, struct values x, size_t n)
{
	size_t width = p->net->hyper.width;

	if (!w->weight)
		return (struct input){ x, NULL, n, width };
	if (!w->layer && !w->bias)
		return (struct input){ x, w, n, width };
	p->ops->norm(p->device, w, x, n, width, p->h);
	return (struct input){ p->h, NULL, n, width };
}

static void
norm(const struct pass *p, const struct norm *w, struct values x, size_t n, size_t width)
{
	if (w->weight)
		p->ops->norm(p->device, w, x, n, width, x);
}

/* The norm of queries or keys: over each head, or over all. */
static void
norm_heads(const struct pass *p, const struct norm *w, struct values x, size_t heads)
{
	const struct hyper *h = &p->net->hyper;

	if (h->post_only)
		norm(p, w, x, p->n, heads * h->head_k);
	else
		norm(p, w, x, p->n * heads, h->head_k);
}

/* Rotary positions of the queries and keys of layer i. Where GGUF pairs neighbours but this model
 * pairs halves, pairs become neighbours: each sum over a head then has the order that it has with
 * the GGUF file of the same model. Values of I16 (kernels/dot.h) would make differences of 1e-7
 * into differences of 1e-4. */
static void
turn_heads(const struct pass *p, size_t i)
{
	const struct hyper *h = &p->net->hyper;
	struct rotation r = h->windowed[i] ? p->local : p->full;

	if (!h->rotary)
		return;
	if (h->skip_rope && (i + 1) % h->skip_rope == 0) /* values change places only */
		r.cosines = r.sines = (struct values){ NULL, 0 };
	p->ops->rope(p->device, &r, p->q, p->n, h->heads, h->head_k);
	p->ops->rope(p->device, &r, p->k, p->n, h->kv_heads, h->head_k);
}

/* y = attention of layer i, of x. If the norm is a layer norm, p->h is its input. */
static void
self_attention(struct pass *p, struct cache *cache, size_t i)
{
	const struct ops *ops = p->ops;
	const struct hyper *h = &p->net->hyper;
	const struct block *b = &p->net->blocks[i];
	struct input in;

	/* attention norm */
	in = normed(p, &b->attn_norm, p->x, p->n);

	/* queries, keys and values */
	pass_linear(p, &in, (struct product[]){
		{ &b->q, p->q }, { &b->k, p->k }, { &b->v, p->v } }, 3);
	norm_heads(p, &b->q_norm, p->q, h->heads);
	norm_heads(p, &b->k_norm, p->k, h->kv_heads);
	turn_heads(p, i);

	/* scores, softmax, weighted sum of values */
	ops->keep(p->device, cache, i, p->position, p->k, p->v, p->n);
	ops->attend(p->device, &(struct attention){
		.q = p->q, .out = p->a, .n = p->n, .heads = h->heads,
		.cache = cache, .layer = i, .length = p->position + p->n,
		.causal = true, .window = h->windowed[i] ? h->window : 0,
		.scale = h->score_scale, .cap = h->attn_cap });

	/* output projection */
	in = (struct input){ p->a, NULL, p->n, h->heads * h->head_v };
	pass_linear(p, &in, &(struct product){ &b->o, p->y }, 1);
	norm(p, &b->attn_post, p->y, p->n, h->width);
}

void
pass_feed_forward(struct pass *p, const struct feed_forward *f, const struct input *in,
                     struct values y)
{
	const struct ops *ops = p->ops;
	size_t ff = f->up.w.rows, gated = f->gate.w.rows > 0;
	struct values gate = gated ? p->gate : (struct values){ NULL, 0 };

	pass_linear(p, in, (struct product[]){ { &f->up, p->up }, { &f->gate, gate } },
	            1 + gated);
	ops->act(p->device, p->net->hyper.act, gate, p->up, in->n * ff);
	pass_linear(p, &(struct input){ p->up, NULL, in->n, ff },
	            &(struct product){ &f->down, y }, 1);
}

/* Tell the watcher of blocks the residual stream. */
static void
watch_block(const struct pass *p, size_t i)
{
	size_t width = p->net->hyper.width;

	if (!p->block_watcher)
		return;
	p->ops->copy_out(p->device, p->watched, p->x, p->n * width);
	p->block_watcher(p->block_ctx, i, p->watched, p->n, width);
}

static void
run_layer(struct pass *p, struct cache *cache, size_t i)
{
	const struct ops *ops = p->ops;
	const struct hyper *h = &p->net->hyper;
	const struct block *b = &p->net->blocks[i];
	size_t all = p->n * h->width;
	bool same = !b->ffn_norm.weight && !h->post_only; /* the input of attention */
	bool parallel = h->parallel || same;
	struct input in = { p->h, NULL, p->n, h->width };

	self_attention(p, cache, i);

	/* residual; a parallel feed-forward does not see it */
	if (!parallel)
		ops->add(p->device, p->x, p->y, all);

	/* feed-forward norm */
	if (!same && (b->experts || h->parallel))
		ops->norm(p->device, &b->ffn_norm, p->x, p->n, h->width, p->h);
	else if (!same)
		in = normed(p, &b->ffn_norm, p->x, p->n);
	if (parallel)
		ops->add(p->device, p->x, p->y, all);

	/* feed-forward, or experts */
	if (b->experts)
		pass_experts(p, b);
	else
		pass_feed_forward(p, &b->ffn, &in, p->y);
	norm(p, &b->ffn_post, p->y, p->n, h->width);

	/* residual */
	ops->add(p->device, p->x, p->y, all);
	watch_block(p, i);
}

/* ---- the whole stack ---- */

/* The row of each token, and what a learned position adds to it. */
static void
embed(struct pass *p, const uint32_t *tokens)
{
	const struct hyper *h = &p->net->hyper;
	size_t i;

	p->ops->embed(p->device, &p->net->embed, tokens, p->n, h->embed_scale, p->x);
	if (h->rotary)
		return;
	for (i = 0; i < p->n; i++)
		p->row[i] = (uint32_t)(p->position + i);
	p->ops->embed(p->device, &p->net->positions, p->row, p->n, 1, p->h);
	p->ops->add(p->device, p->x, p->h, p->n * h->width);
}

/* Cosines and sines of the positions of this pass. */
static void
rotate(struct pass *p, const struct rope *rope, const struct rotation *r)
{
	size_t half = rope->rot / 2, all = p->n * half, i;
	float *sines = p->angles + all;

	for (i = 0; i < p->n; i++)
		rope_angles(rope, (double)(p->position + i), p->angles + i * half, sines + i * half);
	p->ops->copy_in(p->device, r->cosines, p->angles, all);
	p->ops->copy_in(p->device, r->sines, sines, all);
}

void
pass_run(struct pass *p, struct cache *cache, const uint32_t *tokens, size_t n,
            size_t position)
{
	const struct hyper *h = &p->net->hyper;
	size_t i;

	p->n = n;
	p->position = position;
	embed(p, tokens);
	watch_block(p, WATCH_EMBEDDINGS);
	if (h->rotary)
		rotate(p, &h->rope, &p->full);
	if (h->rotary && h->window)
		rotate(p, &h->rope_window, &p->local);
	for (i = 0; i < h->layers; i++)
		run_layer(p, cache, i);
}

void
pass_logits(struct pass *p, size_t first, size_t n)
{
	size_t width = p->net->hyper.width;
	struct input in = normed(p, &p->net->out_norm, values_at(p->x, first * width), n);

	pass_linear(p, &in, &(struct product){ &p->net->out, p->logits }, 1);
}

void
pass_read(struct pass *p, size_t i, float *logits)
{
	size_t n = p->net->hyper.vocabulary, k;
	float cap = p->net->hyper.logit_cap, scale = p->net->hyper.logit_scale;

	p->ops->copy_out(p->device, logits, values_at(p->logits, i * n), n);
	for (k = 0; scale != 1 && k < n; k++)
		logits[k] *= scale;
	for (k = 0; cap > 0 && k < n; k++)
		logits[k] = cap * tanhf(logits[k] / cap);
}

/* ---- memory ---- */

/* n values, from *next on. */
static struct values
take(struct values *next, uint64_t n)
{
	struct values v = *next;

	next->first += n;
	return v;
}

/* Lay the values of a pass over batch tokens out from base on. Returns how many there are. */
static uint64_t
lay_out(struct pass *p, const struct net *net, uint64_t batch, struct values base)
{
	const struct hyper *h = &net->hyper;
	uint64_t ff = net->ff, width = batch * h->width;
	struct values next = base;
	bool neighbours = !(h->arch->flags & ARCH_HALVES); /* in GGUF */

	ff = net->ff_expert > ff ? net->ff_expert : ff;
	ff = net->ff_shared > ff ? net->ff_shared : ff;
	p->x = take(&next, width);
	p->h = take(&next, width);
	p->y = take(&next, width);
	p->q = take(&next, batch * h->heads * h->head_k);
	p->k = take(&next, batch * h->kv_heads * h->head_k);
	p->v = take(&next, batch * h->kv_heads * h->head_v);
	p->a = take(&next, batch * h->heads * h->head_v);
	p->gate = take(&next, batch * ff);
	p->up = take(&next, batch * ff);
	p->full = (struct rotation){ h->rope.rot, h->halves, .join = neighbours };
	p->full.cosines = take(&next, batch * (h->rope.rot / 2));
	p->full.sines = take(&next, batch * (h->rope.rot / 2));
	p->local = (struct rotation){ h->rope_window.rot, h->halves, .join = neighbours };
	p->local.cosines = take(&next, batch * (h->rope_window.rot / 2));
	p->local.sines = take(&next, batch * (h->rope_window.rot / 2));
	p->router = take(&next, batch * h->experts);
	p->low = take(&next, batch * net->low_rank);
	p->delta = take(&next, batch * net->low_rows);
	p->rows = take(&next, h->experts ? width : 0);
	p->out = take(&next, h->experts ? width : 0);
	return next.first - base.first;
}

/* The host's copies of router results and angles are left out. */
uint64_t
pass_bytes(const struct net *net)
{
	const struct hyper *h = &net->hyper;
	struct pass p;
	uint64_t items = lay_out(&p, net, 1, (struct values){ NULL, 0 });

	return (items + (h->experts ? 2 * h->experts_used + 2 : 0)) * sizeof(float);
}

static int
allocate_host(struct pass *p, size_t batch, struct err *e)
{
	const struct hyper *h = &p->net->hyper;
	size_t used = batch * h->experts_used;
	size_t rot = h->rope.rot > h->rope_window.rot ? h->rope.rot : h->rope_window.rot;

	p->angles = mem_array(batch * rot, sizeof *p->angles);
	p->probability = mem_array(batch * h->experts, sizeof *p->probability);
	p->chosen = mem_array(used, sizeof *p->chosen);
	p->weight = mem_array(used, sizeof *p->weight);
	p->row = mem_array(batch, sizeof *p->row);
	p->row_weight = mem_array(batch, sizeof *p->row_weight);
	p->bytes = (rot + h->experts + 2 * h->experts_used + 2) * batch * sizeof(float);
	return p->angles && p->probability && p->chosen && p->weight && p->row && p->row_weight
		? 0 : err_memory(e);
}

int
pass_open(struct pass *p, const struct net *net, const struct ops *ops,
             struct device *device, size_t batch, size_t logit_rows, struct err *e)
{
	uint64_t n, logits = logit_rows * net->hyper.vocabulary;
	uint64_t deltas = net->out.low ? logits : 0;

	*p = (struct pass){ .net = net, .ops = ops, .device = device,
		.logit_rows = logit_rows };
	if (allocate_host(p, batch, e) < 0)
		return -1;
	n = lay_out(p, net, batch, p->memory);
	p->memory = ops->alloc(device, n + logits + deltas, e);
	if (!p->memory.memory)
		return -1;
	lay_out(p, net, batch, p->memory);
	p->logits = values_at(p->memory, n);
	p->logit_delta = values_at(p->logits, logits);
	p->bytes += (n + logits + deltas) * sizeof(float);
	return 0;
}

void
pass_free(struct pass *p)
{
	if (p->ops)
		p->ops->release(p->device, p->memory);
	free(p->angles);
	free(p->probability);
	free(p->chosen);
	free(p->weight);
	free(p->row);
	free(p->row_weight);
	free(p->watched);
	*p = (struct pass){ 0 };
}
