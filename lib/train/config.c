/* config: a model from nothing, as a plan in GGUF form. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/buf.h"
#include "core/le.h"
#include "core/mem.h"
#include "train/train_parts.h"

#define LIMIT ((uint64_t)1 << 31) /* of each number */

struct made {
	struct model *plan;
	const struct arch *arch;
	struct train_config c;   /* complete */
	struct weights_blob *blobs;
	size_t blob_cap;
	struct err *e;
};

/* ---- numbers ---- */

static int
wrong(const struct made *x, const char *what)
{
	return err_set(x->e, ERR_USAGE, NULL, "a model cannot be made: %s", what);
}

/* The number of tokens of a vocabulary in GGUF form; 0: none. */
static uint64_t
words_of(const struct weights *w)
{
	struct value_type type;
	size_t n;
	const uint8_t *p = w ? weights_value(w, "tokenizer.ggml.tokens", &type, &n) : NULL;

	return p && type.depth == 1 && n >= 12 ? le64(p + 4) : 0;
}

static int
complete(struct made *x)
{
	struct train_config *c = &x->c;
	bool gated = x->arch->flags & ARCH_GATED;

	if (!c->vocabulary)
		c->vocabulary = words_of(c->words);
	if (!c->vocabulary && c->words)
		return err_set(x->e, ERR_FORMAT, c->words->name, "has tokens that are not keys of GGUF "
		               "(apr-adapt gguf makes them)");
	if (!c->kv_heads)
		c->kv_heads = c->heads;
	if (c->layers == 0 || c->width == 0 || c->heads == 0 || c->context == 0 || c->vocabulary == 0)
		return wrong(x, "layers, width, heads, context and vocabulary must be at least 1");
	if (c->layers > 10000 || c->width > LIMIT || c->heads > LIMIT || c->kv_heads > LIMIT ||
	    c->ff > LIMIT || c->head > HYPER_HEAD || c->context > LIMIT || c->vocabulary >= LIMIT)
		return wrong(x, "a number is too large");
	if (!c->head && c->width % c->heads != 0)
		return wrong(x, "the heads do not divide the width");
	if (!c->head)
		c->head = c->width / c->heads;
	if (!c->ff)
		c->ff = gated ? (c->width * 8 / 3 + 31) / 32 * 32 : c->width * 4;
	if (c->heads % c->kv_heads != 0)
		return wrong(x, "heads of keys do not divide the heads");
	if (c->head > HYPER_HEAD || (gated && c->head % 2 != 0))
		return wrong(x, "a head must have at most 1024 values, with rotary positions an even number");
	if (!gated && (c->kv_heads != c->heads || c->head * c->heads != c->width))
		return wrong(x, "gpt2 has as many heads of keys as heads, which fill the width");
	if (!(c->rope_base > 0))
		c->rope_base = 10000;
	if (!(c->eps > 0))
		c->eps = 1e-5;
	c->tied = c->tied || !gated;
	return 0;
}

/* ---- keys ---- */

static int
put(const struct made *x, const char *key, uint8_t leaf, const void *wire, size_t n)
{
	return model_add_meta(x->plan, key, strlen(key), (struct value_type){ 0, leaf }, wire, n,
	                      x->e);
}

static int
put_text(const struct made *x, const char *key, const char *text)
{
	struct buf b = { 0 };
	int r;

	buf_u64(&b, strlen(text));
	buf_text(&b, text);
	r = buf_ok(&b) ? put(x, key, VALUE_STRING, b.p, b.n) : err_memory(x->e);
	buf_free(&b);
	return r;
}

static int
put_number(const struct made *x, const char *key, uint64_t n)
{
	char name[96];
	uint8_t wire[4];

	snprintf(name, sizeof name, "%s.%s", x->arch->name, key);
	le32_put(wire, (uint32_t)n);
	return put(x, name, VALUE_U32, wire, sizeof wire);
}

static int
put_real(const struct made *x, const char *key, double value)
{
	char name[96];
	uint8_t wire[4];

	snprintf(name, sizeof name, "%s.%s", x->arch->name, key);
	le_f32_put(wire, (float)value);
	return put(x, name, VALUE_F32, wire, sizeof wire);
}

static int
put_keys(const struct made *x)
{
	const struct train_config *c = &x->c;
	static const uint8_t f32[4];
	bool rotary = !(x->arch->flags & ARCH_POSITIONS);

	if (put_text(x, "general.architecture", x->arch->name) < 0 ||
	    (c->name && put_text(x, "general.name", c->name) < 0) ||
	    put(x, "general.file_type", VALUE_U32, f32, sizeof f32) < 0 ||
	    put_number(x, "block_count", c->layers) < 0 ||
	    put_number(x, "context_length", c->context) < 0 ||
	    put_number(x, "embedding_length", c->width) < 0 ||
	    put_number(x, "feed_forward_length", c->ff) < 0 ||
	    put_number(x, "attention.head_count", c->heads) < 0)
		return -1;
	if (!rotary)
		return put_real(x, "attention.layer_norm_epsilon", c->eps);
	if (put_number(x, "attention.head_count_kv", c->kv_heads) < 0 ||
	    put_real(x, "rope.freq_base", c->rope_base) < 0 ||
	    put_number(x, "rope.dimension_count", c->head) < 0 ||
	    put_real(x, "attention.layer_norm_rms_epsilon", c->eps) < 0 ||
	    put_number(x, "vocab_size", c->vocabulary) < 0)
		return -1;
	if (c->head * c->heads == c->width && !(x->arch->flags & ARCH_QK_NORM))
		return 0;
	return put_number(x, "attention.key_length", c->head) < 0 ||
	       put_number(x, "attention.value_length", c->head) < 0 ? -1 : 0;
}

/* The keys of a tokenizer. Long values stay where they are. */
static int
put_words(struct made *x)
{
	const struct weights *w = x->c.words;
	size_t i;

	for (i = 0; w && i < w->plan->meta_count; i++) {
		const struct meta *k = &w->plan->meta[i];
		size_t n, at = x->plan->blob_count;
		struct value_type type;
		const uint8_t *p;

		if (strncmp(k->key, "tokenizer.", 10) != 0)
			continue;
		p = weights_meta(w, k, &type, &n);
		if (!p)
			return err_set(x->e, ERR_MEMORY, k->key, "is too large to be kept");
		if (k->wire) {
			if (model_add_meta(x->plan, k->key, strlen(k->key), type, p, n, x->e) < 0)
				return -1;
			continue;
		}
		if (model_add_meta_blob(x->plan, k->key, strlen(k->key), type, n, x->e) < 0)
			return -1;
		if (mem_grow(&x->blobs, &x->blob_cap, at + 1, sizeof *x->blobs) < 0)
			return err_memory(x->e);
		x->blobs[at] = (struct weights_blob){ p, n };
	}
	return 0;
}

/* ---- tensors ---- */

/* rows: 0 for a vector. */
static int
put_tensor(const struct made *x, enum role role, uint64_t layer, const char *ending, uint64_t rows,
           uint64_t columns)
{
	const char *p = arch_tensor(x->arch, ARCH_GGUF, role);
	uint64_t dims[2] = { rows ? rows : columns, columns };
	struct tensor *t;
	char name[128];
	size_t n = 0;

	for (; *p && n < sizeof name - 32; p++)
		if (*p == '#')
			n += (size_t)snprintf(name + n, sizeof name - n, "%" PRIu64, layer);
		else
			name[n++] = *p;
	n += (size_t)snprintf(name + n, sizeof name - n, "%s", ending);
	t = tensor_new(name, n, dtype_by_name("F32"), rows ? 2 : 1, dims, TENSOR_OWN_SIZE, "model",
	               x->e);
	return t ? model_add_tensor(x->plan, t, x->e) : -1;
}

static int
put_norm(const struct made *x, enum role role, uint64_t layer, uint64_t n)
{
	if (put_tensor(x, role, layer, ".weight", 0, n) < 0)
		return -1;
	return x->arch->flags & ARCH_LAYER_NORM ? put_tensor(x, role, layer, ".bias", 0, n) : 0;
}

static int
put_linear(const struct made *x, enum role role, uint64_t layer, uint64_t rows, uint64_t columns,
           bool bias)
{
	if (put_tensor(x, role, layer, ".weight", rows, columns) < 0)
		return -1;
	return bias ? put_tensor(x, role, layer, ".bias", 0, rows) : 0;
}

static int
put_attention(const struct made *x, uint64_t i)
{
	const struct train_config *c = &x->c;
	uint64_t nq = c->heads * c->head, nk = c->kv_heads * c->head;
	bool bias = strcmp(x->arch->name, "qwen2") == 0, gpt2 = !(x->arch->flags & ARCH_GATED);

	if (put_norm(x, ROLE_ATTN_NORM, i, c->width) < 0)
		return -1;
	if (gpt2)
		return put_linear(x, ROLE_QKV, i, nq + 2 * nk, c->width, true) < 0 ? -1
			: put_linear(x, ROLE_O, i, c->width, nq, true);
	if (put_linear(x, ROLE_Q, i, nq, c->width, bias) < 0 ||
	    put_linear(x, ROLE_K, i, nk, c->width, bias) < 0 ||
	    put_linear(x, ROLE_V, i, nk, c->width, bias) < 0)
		return -1;
	if ((x->arch->flags & ARCH_QK_NORM) && (put_norm(x, ROLE_Q_NORM, i, c->head) < 0 ||
	                                       put_norm(x, ROLE_K_NORM, i, c->head) < 0))
		return -1;
	return put_linear(x, ROLE_O, i, c->width, nq, false);
}

static int
put_block(const struct made *x, uint64_t i)
{
	const struct train_config *c = &x->c;
	bool gated = x->arch->flags & ARCH_GATED;

	if (put_attention(x, i) < 0 || put_norm(x, ROLE_FFN_NORM, i, c->width) < 0)
		return -1;
	if (gated && put_linear(x, ROLE_GATE, i, c->ff, c->width, false) < 0)
		return -1;
	return put_linear(x, ROLE_UP, i, c->ff, c->width, !gated) < 0 ? -1
		: put_linear(x, ROLE_DOWN, i, c->width, c->ff, !gated);
}

static int
put_tensors(const struct made *x)
{
	const struct train_config *c = &x->c;
	uint64_t i;

	if (put_tensor(x, ROLE_EMBED, 0, ".weight", c->vocabulary, c->width) < 0)
		return -1;
	if ((x->arch->flags & ARCH_POSITIONS) &&
	    put_tensor(x, ROLE_POSITIONS, 0, ".weight", c->context, c->width) < 0)
		return -1;
	if (put_norm(x, ROLE_OUT_NORM, 0, c->width) < 0)
		return -1;
	if (!c->tied && put_tensor(x, ROLE_OUT, 0, ".weight", c->vocabulary, c->width) < 0)
		return -1;
	for (i = 0; i < c->layers; i++)
		if (put_block(x, i) < 0)
			return -1;
	return 0;
}

int
train_new(struct train_model *m, const struct train_config *c, struct err *e)
{
	static const char *const families[] = { "llama", "qwen2", "qwen3", "gpt2" };
	struct made x = { .plan = &m->plan, .c = *c, .e = e };
	struct weights w = { .name = c->family, .plan = &m->plan };
	size_t i;
	int r = -1;

	*m = (struct train_model){ 0 };
	for (i = 0; i < 4 && strcmp(c->family, families[i]) != 0; i++)
		;
	if (i == 4) {
		err_set(e, ERR_USAGE, NULL, "%.40s is not a family that can be made", c->family);
		return err_hint(e, "families are llama, qwen2, qwen3 and gpt2");
	}
	x.arch = arch_by_name(c->family);
	if (complete(&x) < 0 || model_init(&m->plan, e) < 0)
		return -1;
	if (put_keys(&x) == 0 && put_tensors(&x) == 0 && put_words(&x) == 0) {
		w.blobs = x.blobs;
		r = train_bind(m, &w, e) < 0 ? -1 : train_allocate(m, 0, e);
	}
	m->blobs = x.blobs;
	m->tensors = mem_array(m->plan.tensor_count, sizeof *m->tensors);
	return r == 0 && !m->tensors ? err_memory(e) : r;
}
