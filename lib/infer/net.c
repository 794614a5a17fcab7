#include "infer/net.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "infer/bind.h"
#include "kernels/kernel.h"

/* ---- attention ---- */

/* The rows of a fused QKV come head by head: query, key, value. Put all queries first, then all
 * keys, then all values. */
static int
unmix(struct bind *b, struct linear *qkv)
{
	const struct hyper *h = b->h;
	size_t bytes = matrix_row_bytes(&qkv->w), head = h->head_k, i, k, r;
	uint8_t *to = bind_make(b, qkv->w.rows, bytes);
	float *bias = bind_make(b, qkv->w.rows, sizeof *bias);

	if (!to || !bias)
		return -1;
	for (i = 0; i < h->heads; i++)
		for (k = 0; k < 3; k++)
			for (r = 0; r < head; r++) {
				size_t from = (i * 3 + k) * head + r;
				size_t at = (k * h->heads + i) * head + r;

				memcpy(to + at * bytes, qkv->w.data + from * bytes, bytes);
				if (qkv->bias)
					bias[at] = qkv->bias[from];
			}
	qkv->w.data = to;
	if (qkv->bias)
		qkv->bias = bias;
	return 0;
}

static int
refuse_adapter(const struct bind *b, const char *what)
{
	err_set(b->e, ERR_INVALID, b->w->name, "an adapter of %s cannot be added while a model "
	        "computes", what);
	return err_hint(b->e, "apr-lora apply makes a model of both");
}

static int
net_attention(struct bind *b, struct block *blk, size_t i)
{
	const struct hyper *h = b->h;
	size_t nq = h->heads * h->head_k, nk = h->kv_heads * h->head_k;
	size_t nv = h->kv_heads * h->head_v;
	struct linear qkv = { 0 };
	int r = bind_linear(b, &qkv, ROLE_QKV, i, nq + nk + nv, h->width);

	if (r < 0)
		return -1;
	if (r > 0 && h->folder && (h->arch->flags & ARCH_MIXED_QKV)) {
		if (nq != nk || nq != nv)
			return err_set(b->e, ERR_FORMAT, b->w->name,
			               "queries that share keys are not supported");
		if (qkv.low)
			return refuse_adapter(b, "queries, keys and values of one head after another");
		if (unmix(b, &qkv) < 0)
			return -1;
	}
	if (r > 0) {
		if (bind_part(b, &qkv, 0, nq, &blk->q) < 0 ||
		    bind_part(b, &qkv, nq, nk, &blk->k) < 0 ||
		    bind_part(b, &qkv, nq + nk, nv, &blk->v) < 0)
			return -1;
	} else if (bind_need(b, &blk->q, ROLE_Q, i, nq, h->width) < 0 ||
	           bind_need(b, &blk->k, ROLE_K, i, nk, h->width) < 0 ||
	           bind_need(b, &blk->v, ROLE_V, i, nv, h->width) < 0) {
		return -1;
	}
	if ((h->arch->flags & ARCH_QK_NORM) &&
	    (bind_norm(b, &blk->q_norm, ROLE_Q_NORM, i, h->post_only ? nq : h->head_k) < 0 ||
	     bind_norm(b, &blk->k_norm, ROLE_K_NORM, i, h->post_only ? nk : h->head_k) < 0))
		return -1;
	return bind_need(b, &blk->o, ROLE_O, i, h->width, h->heads * h->head_v);
}

/* ---- feed-forward ---- */

static size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* ff: 0 if it is not stated. */
static int
net_dense(struct bind *b, struct feed_forward *f, size_t i, const enum role role[3],
           uint64_t ff)
{
	const struct hyper *h = b->h;

	if ((h->arch->flags & ARCH_GATE_IN_UP) && role[1] == ROLE_UP) {
		struct linear both = { 0 };

		if (bind_need(b, &both, ROLE_UP, i, ff * 2, h->width) < 0)
			return -1;
		if (both.w.rows % 2 != 0)
			return err_set(b->e, ERR_CORRUPT, b->w->name, "a fused gate and up has an "
			               "odd number of rows");
		ff = both.w.rows / 2;
		if (bind_part(b, &both, 0, ff, &f->gate) < 0 ||
		    bind_part(b, &both, ff, ff, &f->up) < 0)
			return -1;
	} else {
		if (bind_need(b, &f->up, role[1], i, ff, h->width) < 0)
			return -1;
		ff = f->up.w.rows;
		if ((h->arch->flags & ARCH_GATED) &&
		    bind_need(b, &f->gate, role[0], i, ff, h->width) < 0)
			return -1;
	}
	return bind_need(b, &f->down, role[2], i, h->width, ff);
}

/* A tensor of all experts, rows × columns for each. */
static int
net_stacked(struct bind *b, enum role role, size_t block, uint64_t rows,
             uint64_t columns, struct matrix *to)
{
	char name[FIND_NAME];
	size_t i = bind_find(b, role, block, 0, ".weight", name);
	const struct tensor *t;
	const uint64_t *d;

	if (i == SIZE_MAX)
		return bind_missing(b, name);
	t = bind_tensor(b, i);
	d = tensor_dims(t);
	if (tensor_ndim(t) != 3 || d[0] != b->h->experts || (rows && d[1] != rows) ||
	    (columns && d[2] != columns) || d[1] == 0 || d[2] == 0)
		return err_set(b->e, ERR_CORRUPT, tensor_name(t), "does not have the shape of %"
		               PRIu64 " experts", b->h->experts);
	*to = (struct matrix){ tensor_type(t), b->w->tensors[i],
	                       b->w->tensors[i] + tensor_type(t)->head,
	                       (size_t)(d[0] * d[1]), (size_t)d[2], false, NULL };
	if (!kernel_decodes(to->type))
		return err_set(b->e, ERR_FORMAT, tensor_name(t), "%s cannot be computed",
		               to->type->name);
	if (to->columns % to->type->items != 0 && bind_expand(b, to, false) < 0)
		return -1;
	return bind_usable(b, to, t);
}

/* The scales of all experts, if there are any. */
static int
net_scales(struct bind *b, struct block *blk, size_t i)
{
	const uint64_t n = b->h->experts;
	const float *gate = bind_scale(b, ROLE_GATE_EXPS, i, n);
	const float *up = bind_scale(b, ROLE_UP_EXPS, i, n);
	const float *down = bind_scale(b, ROLE_DOWN_EXPS, i, n);
	size_t x;

	for (x = 0; x < n; x++) {
		blk->experts[x].gate.scale = gate ? gate + x : NULL;
		blk->experts[x].up.scale = up ? up + x : NULL;
		blk->experts[x].down.scale = down ? down + x : NULL;
	}
	return b->e->code == ERR_NONE ? 0 : -1;
}

static int
net_stacks(struct bind *b, struct block *blk, size_t i)
{
	const struct hyper *h = b->h;
	struct matrix gate, up, down;
	size_t x, ff;

	if (net_stacked(b, ROLE_GATE_EXPS, i, h->ff_expert, h->width, &gate) < 0)
		return -1;
	ff = gate.rows / h->experts;
	if (net_stacked(b, ROLE_UP_EXPS, i, ff, h->width, &up) < 0 ||
	    net_stacked(b, ROLE_DOWN_EXPS, i, h->width, ff, &down) < 0)
		return -1;
	for (x = 0; x < h->experts; x++) {
		blk->experts[x].gate.w = matrix_rows(&gate, x * ff, ff);
		blk->experts[x].up.w = matrix_rows(&up, x * ff, ff);
		blk->experts[x].down.w = matrix_rows(&down, x * h->width, h->width);
	}
	return net_scales(b, blk, i);
}

/* One tensor for each expert. */
static int
net_single(struct bind *b, struct feed_forward *f, size_t block, size_t x)
{
	static const enum role roles[3] = { ROLE_GATE_EXPS, ROLE_UP_EXPS, ROLE_DOWN_EXPS };
	struct linear *to[3] = { &f->gate, &f->up, &f->down };
	const struct hyper *h = b->h;
	uint64_t ff = h->ff_expert ? h->ff_expert : h->ff;
	char name[FIND_NAME];
	size_t k;
	int r;

	for (k = 0; k < 3; k++) {
		r = bind_weight(b, to[k], roles[k], block, x, k < 2 ? ff : h->width,
		                k < 2 ? h->width : ff);
		if (r <= 0)
			return r < 0 ? -1 : bind_missing(b, bind_name(b, roles[k], block, x, ".weight", name));
	}
	return 0;
}

static void
number_expert(struct feed_forward *f, size_t block, size_t x)
{
	f->gate.id = (struct linear_id){ ROLE_GATE_EXPS, (uint32_t)block, (uint32_t)x };
	f->up.id = (struct linear_id){ ROLE_UP_EXPS, (uint32_t)block, (uint32_t)x };
	f->down.id = (struct linear_id){ ROLE_DOWN_EXPS, (uint32_t)block, (uint32_t)x };
}

static int
net_experts(struct bind *b, struct block *blk, size_t i)
{
	static const enum role shared[3] = { ROLE_SHARED_GATE, ROLE_SHARED_UP,
		ROLE_SHARED_DOWN };
	const struct hyper *h = b->h;
	char name[FIND_NAME];
	size_t x;

	if (bind_need(b, &blk->router, ROLE_ROUTER, i, h->experts, h->width) < 0)
		return -1;
	/* GGUF has routers in F32. Those of folders are widened: they multiply in the same way. */
	if (h->folder && blk->router.w.type->items == 1 &&
	    strcmp(blk->router.w.type->name, "F32") != 0 && bind_expand(b, &blk->router.w, false) < 0)
		return -1;
	blk->experts = bind_make(b, h->experts, sizeof *blk->experts);
	if (!blk->experts)
		return -1;
	if (!h->folder && net_stacks(b, blk, i) < 0)
		return -1;
	for (x = 0; h->folder && x < h->experts; x++)
		if (net_single(b, &blk->experts[x], i, x) < 0)
			return -1;
	for (x = 0; x < h->experts; x++)
		number_expert(&blk->experts[x], i, x);
	b->net->ff_expert = larger(b->net->ff_expert, blk->experts[0].up.w.rows);
	if (!(h->arch->flags & ARCH_SHARED))
		return 0;
	blk->shared_router = bind_vector(b, ROLE_SHARED_ROUTER, i, ".weight", h->width, 0);
	if (!blk->shared_router)
		return b->e->code == ERR_NONE
			? bind_missing(b, bind_name(b, ROLE_SHARED_ROUTER, i, 0, ".weight", name)) : -1;
	if (net_dense(b, &blk->shared, i, shared, h->ff_shared) < 0)
		return -1;
	b->net->ff_shared = larger(b->net->ff_shared, blk->shared.up.w.rows);
	return 0;
}

/* ---- blocks, and the rest of the model ---- */

/* Multiply what a layer gives by the factor of residuals. */
static int
net_residual(struct bind *b, struct linear *l)
{
	float *scale, *bias;
	size_t i;

	if (b->h->residual_scale == 1 || l->w.rows == 0)
		return 0;
	scale = bind_make(b, 1, sizeof *scale);
	bias = bind_make(b, l->w.rows, sizeof *bias);
	if (!scale || !bias)
		return -1;
	if (l->low)
		l->low->b.scale = &b->h->residual_scale;
	*scale = b->h->residual_scale * (l->scale ? *l->scale : 1);
	for (i = 0; l->bias && i < l->w.rows; i++)
		bias[i] = l->bias[i] * b->h->residual_scale;
	l->scale = scale;
	if (l->bias)
		l->bias = bias;
	return 0;
}

/* The norms in front of sublayers. A block that may lack that of the feed-forward uses one for
 * both. */
static int
net_norms(struct bind *b, struct block *blk, size_t i)
{
	const struct hyper *h = b->h;
	char name[FIND_NAME];

	if (h->post_only)
		return 0;
	if (bind_norm(b, &blk->attn_norm, ROLE_ATTN_NORM, i, h->width) < 0)
		return -1;
	if ((h->arch->flags & ARCH_ONE_NORM) &&
	    bind_find(b, ROLE_FFN_NORM, i, 0, ".weight", name) == SIZE_MAX)
		return 0;
	return bind_norm(b, &blk->ffn_norm, ROLE_FFN_NORM, i, h->width);
}

static int
net_block(struct bind *b, struct block *blk, size_t i)
{
	static const enum role dense[3] = { ROLE_GATE, ROLE_UP, ROLE_DOWN };
	const struct hyper *h = b->h;

	if (net_norms(b, blk, i) < 0 || net_attention(b, blk, i) < 0 ||
	    net_residual(b, &blk->o) < 0)
		return -1;
	if ((h->arch->flags & ARCH_POST_NORMS) &&
	    (bind_norm(b, &blk->attn_post, ROLE_ATTN_POST, i, h->width) < 0 ||
	     bind_norm(b, &blk->ffn_post, ROLE_FFN_POST, i, h->width) < 0))
		return -1;
	if (h->experts)
		return net_experts(b, blk, i);
	if (net_dense(b, &blk->ffn, i, dense, h->ff) < 0 || net_residual(b, &blk->ffn.down) < 0)
		return -1;
	b->net->ff = larger(b->net->ff, blk->ffn.up.w.rows);
	return 0;
}

static int
net_ends(struct bind *b)
{
	struct hyper *h = &b->net->hyper;
	struct linear embed = { 0 }, positions = { 0 };
	int r;

	if (bind_need(b, &embed, ROLE_EMBED, 0, h->vocabulary, h->width) < 0)
		return -1;
	b->net->embed = embed.w;
	h->vocabulary = embed.w.rows;
	if (h->vocabulary > UINT32_MAX)
		return err_set(b->e, ERR_CORRUPT, b->w->name, "has too many tokens");
	if (!h->rotary) {
		if (bind_need(b, &positions, ROLE_POSITIONS, 0, 0, h->width) < 0)
			return -1;
		b->net->positions = positions.w;
		if (positions.w.rows < h->context)
			return err_set(b->e, ERR_CORRUPT, b->w->name, "a context of %" PRIu64
			               " has only %zu positions", h->context, positions.w.rows);
	}
	if (bind_norm(b, &b->net->out_norm, ROLE_OUT_NORM, 0, h->width) < 0)
		return -1;
	r = bind_linear(b, &b->net->out, ROLE_OUT, 0, h->vocabulary, h->width);
	if (r == 0)
		b->net->out = (struct linear){ .w = embed.w, .id = embed.id };
	return r < 0 ? -1 : 0;
}

/* Factors of the rotary frequencies: tensors, or those of config.json. */
static int
net_rope(struct bind *b, uint64_t context)
{
	struct hyper *h = &b->net->hyper;
	uint64_t n = h->rope.rot / 2;
	const float *all = bind_vector(b, ROLE_ROPE_FREQS, 0, ".weight", n, 0);
	const float *longer = bind_vector(b, ROLE_ROPE_LONG, 0, ".weight", n, 0);
	const float *shorter = bind_vector(b, ROLE_ROPE_SHORT, 0, ".weight", n, 0);
	bool beyond = (double)(context ? context : h->context) > h->rope.original;
	uint64_t i;

	if (b->e->code != ERR_NONE)
		return -1;
	if (h->factors_long)
		longer = h->factors_long;
	if (h->factors)
		shorter = h->factors;
	if (all)
		h->rope.factors = all;
	else if (longer && shorter)
		h->rope.factors = beyond ? longer : shorter;
	else if (longer && !shorter)
		return bind_missing(b, "rope_factors_short.weight");
	for (i = 0; h->rope.factors && i < n; i++)
		if (!(fabsf(h->rope.factors[i]) > 1e-30f) || fabsf(h->rope.factors[i]) > 1e30f)
			return err_set(b->e, ERR_CORRUPT, b->w->name,
			               "a factor of its rotary positions is invalid");
	if (h->rope.factors && !h->rope_window.factors && !(h->arch->flags & ARCH_LOCAL_ROPE))
		h->rope_window.factors = h->rope.factors;
	return 0;
}

/* The largest matrices of adapters need buffers; those of logits have their own. */
static void
count_low(struct net *net, const struct linear *l)
{
	net->low_rank = larger(net->low_rank, l->low->a.w.rows);
	if (l != &net->out)
		net->low_rows = larger(net->low_rows, l->w.rows);
}

static size_t
list_one(struct net *net, size_t n, struct linear *l)
{
	if (net->matrices && l->w.rows)
		net->matrices[n] = &l->w;
	n += l->w.rows > 0;
	if (l->inner && l->inner != net->listed) {
		net->low_rank = larger(net->low_rank, l->inner->w.rows);
		if (net->matrices)
			net->matrices[n] = &l->inner->w;
		n++;
	}
	net->listed = l->inner;
	if (l->low) {
		count_low(net, l);
		if (net->matrices) {
			net->matrices[n] = &l->low->a.w;
			net->matrices[n + 1] = &l->low->b.w;
		}
		n += 2;
	}
	return n;
}

static size_t
list_feed(struct net *net, size_t n, struct feed_forward *f)
{
	n = list_one(net, n, &f->gate);
	n = list_one(net, n, &f->up);
	return list_one(net, n, &f->down);
}

/* Count the matrices, and list them if there is a list. */
static size_t
list_all(struct net *net)
{
	size_t n = 0, i, x;

	for (i = 0; i < net->hyper.layers; i++) {
		struct block *blk = &net->blocks[i];

		n = list_one(net, n, &blk->q);
		n = list_one(net, n, &blk->k);
		n = list_one(net, n, &blk->v);
		n = list_one(net, n, &blk->o);
		n = list_feed(net, n, &blk->ffn);
		n = list_one(net, n, &blk->router);
		for (x = 0; blk->experts && x < net->hyper.experts; x++)
			n = list_feed(net, n, &blk->experts[x]);
		n = list_feed(net, n, &blk->shared);
	}
	return list_one(net, n, &net->out);
}

/* Refuse a tensor without a role: it could change the result. */
static int
prove_used(const struct bind *b)
{
	size_t i;

	for (i = 0; i < b->w->plan->tensor_count; i++) {
		const char *name = tensor_name(bind_tensor(b, i));

		if (!b->used[i] && !arch_is_apart(name, b->h->folder ? ARCH_FOLDER : ARCH_GGUF))
			return err_set(b->e, ERR_FORMAT, name, "is not a tensor of a %s model",
			               b->h->arch->name ? b->h->arch->name : b->h->arch->folder);
	}
	return 0;
}

/* Each matrix that adapters add must have found its layer. */
static int
prove_low(const struct bind *b)
{
	size_t i;

	for (i = 0; i < b->low_count; i++)
		if (!b->low_used[i])
			return refuse_adapter(b, tensor_name(bind_tensor(b, b->low[i].tensor)));
	return 0;
}

int
net_open(struct net *net, const struct weights *w, const struct ops *ops, uint64_t context,
         const struct low_rank *low, size_t low_count, struct err *e)
{
	struct bind b = { .net = net, .ops = ops, .w = w, .e = e, .low = low,
		.low_count = low_count };
	size_t i;
	int r = -1;

	*net = (struct net){ 0 };
	if (hyper_read(&net->hyper, w, e) < 0)
		return -1;
	b.h = &net->hyper;
	b.used = mem_array(w->plan->tensor_count, sizeof *b.used);
	b.low_used = mem_array(low_count, sizeof *b.low_used);
	if (find_open(&b.find, w->plan, b.h->arch, b.h->folder ? ARCH_FOLDER : ARCH_GGUF, e) < 0 ||
	    !b.used || !b.low_used) {
		err_memory(e);
		goto end;
	}
	if (net_ends(&b) < 0 || net_rope(&b, context) < 0)
		goto end;
	net->blocks = bind_make(&b, net->hyper.layers, sizeof *net->blocks);
	if (!net->blocks)
		goto end;
	for (i = 0; i < net->hyper.layers; i++)
		if (net_block(&b, &net->blocks[i], i) < 0)
			goto end;
	net->matrix_count = list_all(net);
	net->matrices = bind_make(&b, net->matrix_count, sizeof *net->matrices);
	if (net->matrices)
		list_all(net);
	r = net->matrices && prove_used(&b) == 0 ? prove_low(&b) : -1;
end:
	if (r < 0 && b.h->packed)
		err_hint(e, "config.json says that the weights are quantized; apr-adapt gguf "
		         "decodes them");
	find_close(&b.find);
	free(b.used);
	free(b.low_used);
	return r;
}

void
net_free(struct net *net)
{
	size_t i;

	for (i = 0; i < net->made_count; i++)
		free(net->made[i]);
	free(net->made);
	hyper_free(&net->hyper);
	*net = (struct net){ 0 };
}
