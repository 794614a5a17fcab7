/* bind: the parameters of a model, found in its plan by their roles. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/find.h"
#include "core/mem.h"
#include "core/num.h"
#include "kernels/kernel.h"
#include "train/train_parts.h"

struct bind {
	struct train_model *m;
	const struct weights *w;
	struct find find;
	bool *used;
	size_t cap;       /* of params */
	struct err *e;
};

/* ---- what can be trained ---- */

static const char *
lacks(const struct hyper *h)
{
	uint32_t flags = h->arch->flags;
	size_t i;

	for (i = 0; i < h->layers && h->window; i++)
		if (h->windowed[i])
			return "attention with a window";
	if (h->packed)
		return "quantized weights (apr-adapt gguf decodes them)";
	if (h->experts)
		return "experts";
	if (h->parallel || (flags & ARCH_ONE_NORM))
		return "blocks whose attention and feed-forward have one input";
	if (h->post_only || (flags & ARCH_POST_NORMS))
		return "norms behind layers";
	if (h->skip_rope)
		return "blocks without rotary positions";
	if (h->attn_cap > 0 || h->logit_cap > 0)
		return "soft caps";
	if (!(h->score_scale > 0 && h->score_scale < INFINITY) || !(h->eps >= 0 && h->eps < 1))
		return "a factor of scores or an epsilon that is not usual";
	if (h->embed_scale != 1 || h->residual_scale != 1 || h->logit_scale != 1)
		return "factors of embeddings, residuals or logits";
	if (flags & ARCH_GATED ? h->act != ACT_SILU
	                       : h->act != ACT_GELU_TANH && h->act != ACT_GELU_HALF)
		return flags & ARCH_GATED ? "gates other than SiLU"
		                          : "activations other than GELU in the tanh form";
	if (h->folder && (flags & (ARCH_PLUS_ONE | ARCH_MIXED_QKV)))
		return "tensors as model folders of this architecture have them (apr-adapt gguf helps)";
	return NULL;
}

static int
prove_family(const struct bind *b)
{
	const struct hyper *h = &b->m->hyper;
	const char *what = lacks(h);

	if (!what)
		return 0;
	return err_set(b->e, ERR_FORMAT, b->w->name, "a model of %s cannot be trained: %s",
	               h->arch->name ? h->arch->name : h->arch->folder, what);
}

/* ---- tensors ---- */

static const struct tensor *
tensor_at(const struct bind *b, size_t i)
{
	return b->m->plan.tensors[i];
}

/* The tensor of a role, which becomes used, or SIZE_MAX. */
static size_t
find(struct bind *b, enum role role, size_t layer, const char *ending, char name[FIND_NAME])
{
	size_t i = find_tensor(&b->find, role, layer, 0, ending, name);

	if (i != SIZE_MAX)
		b->used[i] = true;
	return i;
}

static int
wrong_shape(const struct bind *b, const struct tensor *t, uint64_t rows, uint64_t columns)
{
	char shape[TENSOR_SHAPE_TEXT];

	return err_set(b->e, ERR_CORRUPT, tensor_name(t), "has shape %s, where %" PRIu64 "x%" PRIu64
	               " is expected", tensor_shape_text(t, shape), rows, columns);
}

/* Makes tensor i a parameter. rows: 0 for a vector. Its number, or TRAIN_NONE with e filled. */
static size_t
add_param(struct bind *b, size_t i, enum role role, size_t layer, uint64_t rows, uint64_t columns,
          bool turned)
{
	struct train_model *m = b->m;
	const struct tensor *t = tensor_at(b, i);
	uint64_t most = turned ? columns : rows, n = tensor_ndim(t) == 2 ? tensor_dims(t)[0] : 0;
	uint64_t row = turned ? rows : columns, count;
	struct train_param *p;

	if (tensor_ndim(t) != (rows ? 2 : 1) || n != most || tensor_row(t) != row ||
	    num_mul(rows ? rows : 1, columns, &count) < 0 || count == 0)
		return wrong_shape(b, t, most ? most : 1, row), TRAIN_NONE;
	if (mem_grow(&m->params, &b->cap, m->param_count + 1, sizeof *m->params) < 0)
		return err_memory(b->e), TRAIN_NONE;
	p = &m->params[m->param_count];
	*p = (struct train_param){ mem_text(tensor_name(t), strlen(tensor_name(t))), role, layer,
		rows ? (size_t)rows : 1, (size_t)columns, (size_t)count, m->total, i, turned, rows > 0 };
	if (!p->name || num_add(m->total, (count + 15) & ~(uint64_t)15, &n) < 0 || n > SIZE_MAX / 32)
		return err_memory(b->e), TRAIN_NONE;
	m->total = (size_t)n;
	return m->param_count++;
}

static int
missing(const struct bind *b, const char *name)
{
	return find_missing(b->w->plan, b->w->name, name, b->e);
}

/* A vector that a model may lack. */
static int
get_vector(struct bind *b, enum role role, size_t layer, const char *ending, uint64_t n, size_t *to)
{
	char name[FIND_NAME];
	size_t i = find(b, role, layer, ending, name);

	*to = TRAIN_NONE;
	if (i == SIZE_MAX)
		return 0;
	*to = add_param(b, i, role, layer, 0, n, false);
	return *to == TRAIN_NONE ? -1 : 0;
}

static int
get_norm(struct bind *b, enum role role, size_t layer, uint64_t n, struct train_norm *to)
{
	char name[FIND_NAME];

	if (get_vector(b, role, layer, ".weight", n, &to->weight) < 0 ||
	    get_vector(b, role, layer, ".bias", n, &to->bias) < 0)
		return -1;
	if (to->weight != TRAIN_NONE)
		return 0;
	find(b, role, layer, ".weight", name);
	return missing(b, name);
}

/* A matrix and its bias. rows: 0 if the tensor says it. 1, or 0 if there is none, or -1. */
static int
get_linear(struct bind *b, enum role role, size_t layer, uint64_t rows, uint64_t columns,
           struct train_linear *to)
{
	bool turned = b->find.form == ARCH_FOLDER && (b->m->hyper.arch->flags & ARCH_CONV1D) &&
	              role != ROLE_EMBED && role != ROLE_POSITIONS && role != ROLE_OUT;
	char name[FIND_NAME];
	size_t i = find(b, role, layer, ".weight", name);

	*to = (struct train_linear){ TRAIN_NONE, TRAIN_NONE, 0, (size_t)rows, (size_t)columns };
	if (i == SIZE_MAX)
		return 0;
	if (rows == 0 && tensor_ndim(tensor_at(b, i)) == 2)
		rows = tensor_dims(tensor_at(b, i))[turned];
	if (rows == 0)
		return wrong_shape(b, tensor_at(b, i), 1, columns);
	to->rows = (size_t)rows;
	to->weight = add_param(b, i, role, layer, rows, columns, turned);
	if (to->weight == TRAIN_NONE)
		return -1;
	return get_vector(b, role, layer, ".bias", rows, &to->bias) < 0 ? -1 : 1;
}

static int
need_linear(struct bind *b, enum role role, size_t layer, uint64_t rows, uint64_t columns,
            struct train_linear *to)
{
	char name[FIND_NAME];
	int r = get_linear(b, role, layer, rows, columns, to);

	if (r != 0)
		return r < 0 ? -1 : 0;
	find(b, role, layer, ".weight", name);
	return missing(b, name);
}

static struct train_linear
part(const struct train_linear *l, size_t first, size_t rows)
{
	return (struct train_linear){ l->weight, l->bias, first, rows, l->columns };
}

/* ---- layers ---- */

static int
bind_attention(struct bind *b, struct train_layer *l, size_t i)
{
	const struct hyper *h = &b->m->hyper;
	size_t nq = h->heads * h->head_k, nk = h->kv_heads * h->head_k, nv = h->kv_heads * h->head_v;
	struct train_linear all;
	int r = get_linear(b, ROLE_QKV, i, nq + nk + nv, h->width, &all);

	if (r < 0 || get_norm(b, ROLE_ATTN_NORM, i, h->width, &l->attn_norm) < 0)
		return -1;
	if (r > 0) {
		l->q = part(&all, 0, nq);
		l->k = part(&all, nq, nk);
		l->v = part(&all, nq + nk, nv);
	} else if (need_linear(b, ROLE_Q, i, nq, h->width, &l->q) < 0 ||
	           need_linear(b, ROLE_K, i, nk, h->width, &l->k) < 0 ||
	           need_linear(b, ROLE_V, i, nv, h->width, &l->v) < 0) {
		return -1;
	}
	l->q_norm = l->k_norm = (struct train_norm){ TRAIN_NONE, TRAIN_NONE };
	if ((h->arch->flags & ARCH_QK_NORM) &&
	    (get_norm(b, ROLE_Q_NORM, i, h->head_k, &l->q_norm) < 0 ||
	     get_norm(b, ROLE_K_NORM, i, h->head_k, &l->k_norm) < 0))
		return -1;
	return need_linear(b, ROLE_O, i, h->width, h->heads * h->head_v, &l->o);
}

static int
bind_feed_forward(struct bind *b, struct train_layer *l, size_t i)
{
	const struct hyper *h = &b->m->hyper;
	bool both = h->arch->flags & ARCH_GATE_IN_UP;
	size_t ff;

	if (get_norm(b, ROLE_FFN_NORM, i, h->width, &l->ffn_norm) < 0 ||
	    need_linear(b, ROLE_UP, i, both ? 2 * h->ff : h->ff, h->width, &l->up) < 0)
		return -1;
	l->gate = (struct train_linear){ TRAIN_NONE, TRAIN_NONE, 0, 0, 0 };
	ff = l->up.rows;
	if (both) {
		if (ff % 2 != 0)
			return err_set(b->e, ERR_CORRUPT, b->w->name, "a fused gate and up has an odd "
			               "number of rows");
		ff /= 2;
		l->gate = part(&l->up, 0, ff);
		l->up = part(&l->up, ff, ff);
	} else if ((h->arch->flags & ARCH_GATED) &&
	           need_linear(b, ROLE_GATE, i, ff, h->width, &l->gate) < 0) {
		return -1;
	}
	return need_linear(b, ROLE_DOWN, i, h->width, ff, &l->down);
}

static int
bind_ends(struct bind *b)
{
	struct hyper *h = &b->m->hyper;
	struct train_ends *ends = b->m->ends;
	struct train_linear embed, positions = { TRAIN_NONE, TRAIN_NONE, 0, 0, 0 };
	int r;

	if (need_linear(b, ROLE_EMBED, 0, h->vocabulary, h->width, &embed) < 0)
		return -1;
	if (embed.rows >= TRAIN_IGNORE)
		return err_set(b->e, ERR_CORRUPT, b->w->name, "has too many tokens");
	h->vocabulary = embed.rows;
	if (!h->rotary && need_linear(b, ROLE_POSITIONS, 0, 0, h->width, &positions) < 0)
		return -1;
	if (get_norm(b, ROLE_OUT_NORM, 0, h->width, &ends->norm) < 0)
		return -1;
	r = get_linear(b, ROLE_OUT, 0, h->vocabulary, h->width, &ends->out);
	if (r == 0)
		ends->out = (struct train_linear){ embed.weight, TRAIN_NONE, 0, embed.rows,
			embed.columns };
	ends->embed = embed.weight;
	ends->positions = positions.weight;
	return r < 0 ? -1 : 0;
}

/* Factors of the rotary frequencies are not trained. */
static int
bind_factors(struct bind *b)
{
	struct hyper *h = &b->m->hyper;
	size_t n = h->rope.rot / 2, i;
	const struct tensor *t;
	char name[FIND_NAME];

	if (h->factors_long || find(b, ROLE_ROPE_LONG, 0, ".weight", name) != SIZE_MAX)
		return err_set(b->e, ERR_FORMAT, b->w->name, "a model of %s cannot be trained: rotary "
		               "positions with long and short factors", h->arch->name);
	if (h->factors)
		h->rope.factors = h->factors;
	i = find(b, ROLE_ROPE_FREQS, 0, ".weight", name);
	if (i == SIZE_MAX)
		return 0;
	t = tensor_at(b, i);
	if (tensor_items(t) != n || tensor_row(t) != n || !kernel_decodes(tensor_type(t)))
		return wrong_shape(b, t, 1, n);
	b->m->factors = mem_array(n, sizeof *b->m->factors);
	if (!b->m->factors)
		return err_memory(b->e);
	kernel_decode(tensor_type(t), b->w->tensors[i], b->w->tensors[i] + tensor_type(t)->head,
	              b->m->factors, n);
	for (i = 0; i < n; i++)
		if (!(b->m->factors[i] > 1e-30f && b->m->factors[i] < 1e30f))
			return err_set(b->e, ERR_CORRUPT, name, "a factor is invalid");
	h->rope.factors = b->m->factors;
	return 0;
}

/* A tensor without a role could change the result. */
static int
prove_used(const struct bind *b)
{
	size_t i;

	for (i = 0; i < b->m->plan.tensor_count; i++)
		if (!b->used[i] && !arch_is_apart(tensor_name(tensor_at(b, i)), b->find.form))
			return err_set(b->e, ERR_FORMAT, tensor_name(tensor_at(b, i)),
			               "cannot be trained: not a tensor of a plain %s model",
			               b->m->hyper.arch->name ? b->m->hyper.arch->name
			                                      : b->m->hyper.arch->folder);
	return 0;
}

static int
bind_all(struct bind *b)
{
	struct train_model *m = b->m;
	size_t i;

	if (prove_family(b) < 0)
		return -1;
	m->layers = mem_array(m->hyper.layers, sizeof *m->layers);
	m->ends = mem_array(1, sizeof *m->ends);
	if (!m->layers || !m->ends)
		return err_memory(b->e);
	if (bind_ends(b) < 0 || (m->hyper.rotary && bind_factors(b) < 0))
		return -1;
	for (i = 0; i < m->hyper.layers; i++)
		if (bind_attention(b, &m->layers[i], i) < 0 ||
		    bind_feed_forward(b, &m->layers[i], i) < 0)
			return -1;
	return prove_used(b);
}

int
train_bind(struct train_model *m, const struct weights *w, struct err *e)
{
	struct bind b = { .m = m, .w = w, .e = e };
	int r = -1;

	if (hyper_read(&m->hyper, w, e) < 0)
		return -1;
	b.used = mem_array(m->plan.tensor_count, sizeof *b.used);
	if (find_open(&b.find, &m->plan, m->hyper.arch, m->hyper.folder ? ARCH_FOLDER : ARCH_GGUF, e) < 0 ||
	    !b.used)
		err_memory(e);
	else
		r = bind_all(&b);
	find_close(&b.find);
	free(b.used);
	return r;
}
