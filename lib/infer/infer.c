#include "infer/infer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "infer/forward.h"
#include "infer/cpu/repack.h"

#define BUFFERS (24u << 20) /* bytes of a pass, about */
#define BATCH 512           /* tokens of a pass, at most */
#define LOGITS (4u << 20)   /* bytes of logits at a time, about */

struct infer {
	const struct weights *weights;
	struct net net;
	struct map packed;      /* its matrices, if they were packed */
	struct cache cache;
	struct pass pass;
	size_t context, batch;
	size_t filled;          /* positions that the cache holds */
	float *logits;          /* of rows tokens */
	size_t rows;
};

static size_t
at_most(uint64_t n, uint64_t limit)
{
	return (size_t)(n < limit ? n : limit);
}

static const char *const caches[] = { "f16", "f32", "q8_0" };

const char *
infer_cache_name(enum infer_cache c)
{
	return caches[c];
}

int
infer_cache_by_name(const char *name, enum infer_cache *c)
{
	size_t i;

	for (i = 0; i < sizeof caches / sizeof *caches; i++)
		if (!strcmp(caches[i], name)) {
			*c = (enum infer_cache)i;
			return 0;
		}
	return -1;
}

/* How many positions: what is asked for, within what the model was made for. */
static int
choose_context(struct infer *m, const struct infer_options *o, struct err *e)
{
	uint64_t trained = m->net.hyper.context;

	m->context = at_most(trained, o->context ? o->context : o->most ? o->most
	                                                                 : INFER_CONTEXT);
	if (o->context <= trained)
		return 0;
	return err_set(e, ERR_INVALID, m->weights->name, "a context of %" PRIu64
	               " is longer than the model's, %" PRIu64, o->context, trained);
}

static int
allocate(struct infer *m, const struct infer_options *o, struct err *e)
{
	const struct hyper *h = &m->net.hyper;
	uint64_t row = h->vocabulary * sizeof(float), token = pass_bytes(&m->net);

	m->batch = at_most(m->context, BATCH);
	m->batch = at_most(m->batch, BUFFERS / token ? BUFFERS / token : 1);
	m->rows = at_most(m->batch, LOGITS / row ? LOGITS / row : 1);
	m->logits = mem_array(m->rows * h->vocabulary, sizeof *m->logits);
	if (!m->logits)
		return err_memory(e);
	if (pass_open(&m->pass, &m->net, m->batch, e) < 0 ||
	    cache_open(&m->cache, h->layers, h->kv_heads, m->context, h->head_k, h->head_v,
	               o->cache, e) < 0)
		return -1;
	m->pass.cache = &m->cache;
	m->pass.threads = o->threads ? o->threads : 1;
	return 0;
}

static void
tell(const struct infer *m, void (*note)(const char *))
{
	const struct hyper *h = &m->net.hyper;

	if (note && h->window && h->window < m->context && (h->arch->flags & ARCH_NO_WINDOW))
		note("attention is not limited to the window that the model states: "
		     "a text longer than that may come out differently");
}

struct infer *
infer_open(const struct weights *w, const struct infer_options *options,
           void (*note)(const char *), struct err *e)
{
	struct infer *m = mem_array(1, sizeof *m);

	if (!m) {
		err_memory(e);
		return NULL;
	}
	m->weights = w;
	if (net_open(&m->net, w, options->context, e) == 0 &&
	    choose_context(m, options, e) == 0 && allocate(m, options, e) == 0 &&
	    (!options->repack || repack(&m->net, w, m->pass.threads, &m->packed, e) == 0)) {
		tell(m, note);
		return m;
	}
	infer_close(m);
	return NULL;
}

void
infer_close(struct infer *m)
{
	if (!m)
		return;
	free(m->logits);
	pass_free(&m->pass);
	cache_close(&m->cache);
	net_free(&m->net);
	map_close(&m->packed);
	free(m);
}

const char *
infer_name(const struct infer *m)
{
	return m->weights->name;
}

size_t
infer_vocabulary(const struct infer *m)
{
	return m->net.hyper.vocabulary;
}

size_t
infer_context(const struct infer *m)
{
	return m->context;
}

size_t
infer_trained(const struct infer *m)
{
	return m->net.hyper.context;
}

size_t
infer_batch(const struct infer *m)
{
	return m->batch;
}

const char *
infer_architecture(const struct infer *m)
{
	const struct arch *a = m->net.hyper.arch;

	return a->name ? a->name : a->folder;
}

enum infer_cache
infer_cache(const struct infer *m)
{
	return m->cache.type;
}

struct infer_memory
infer_memory(const struct infer *m)
{
	return (struct infer_memory){
		.cache = m->cache.memory.n,
		.buffers = m->pass.memory.n + m->net.made_bytes +
		           m->rows * m->net.hyper.vocabulary * sizeof(float),
	};
}

static uint64_t
linear_bytes(const struct linear *l)
{
	return l->w.rows ? l->w.rows * matrix_row_bytes(&l->w) : 0;
}

static uint64_t
feed_bytes(const struct feed_forward *f)
{
	return linear_bytes(&f->gate) + linear_bytes(&f->up) + linear_bytes(&f->down);
}

uint64_t
infer_token_bytes(const struct infer *m)
{
	const struct hyper *h = &m->net.hyper;
	uint64_t i, bytes = linear_bytes(&m->net.out);

	for (i = 0; i < h->layers; i++) {
		const struct block *b = &m->net.blocks[i];

		bytes += linear_bytes(&b->q) + linear_bytes(&b->k) + linear_bytes(&b->v) +
			linear_bytes(&b->o) + feed_bytes(&b->ffn) + linear_bytes(&b->router) +
			feed_bytes(&b->shared);
		if (b->experts)
			bytes += h->experts_used * feed_bytes(b->experts);
	}
	return bytes;
}

const uint8_t *
infer_matrix(const struct infer *m, size_t i, size_t *bytes)
{
	const struct matrix *w;

	if (i >= m->net.matrix_count)
		return NULL;
	w = m->net.matrices[i];
	*bytes = w->rows * matrix_row_bytes(w);
	return w->data;
}

/* ---- evaluation ---- */

static int
prove_tokens(const struct infer *m, size_t position, const uint32_t *tokens, size_t n,
             struct err *e)
{
	size_t i;

	if (position > m->filled)
		return err_set(e, ERR_INVALID, m->weights->name,
		               "position %zu is beyond what was evaluated, %zu", position,
		               m->filled);
	if (n > m->context - position) {
		err_set(e, ERR_INVALID, m->weights->name, "%zu tokens at position %zu need more "
		        "than the context of %zu", n, position, m->context);
		if (m->context < m->net.hyper.context)
			err_hint(e, "-c makes it longer: the model's is %" PRIu64,
			         m->net.hyper.context);
		return -1;
	}
	for (i = 0; i < n; i++)
		if (tokens[i] >= m->net.hyper.vocabulary)
			return err_set(e, ERR_INVALID, m->weights->name, "token %" PRIu32
			               " is not in the vocabulary of %" PRIu64, tokens[i],
			               m->net.hyper.vocabulary);
	return 0;
}

static int
prove_finite(const struct infer *m, const float *logits, size_t position, struct err *e)
{
	size_t i;

	for (i = 0; i < m->net.hyper.vocabulary; i++)
		if (!isfinite(logits[i]))
			return err_set(e, ERR_INVALID, m->weights->name, "logit %zu at position %zu "
			               "is %s: weights are not finite, or too large", i, position,
			               isnan(logits[i]) ? "NaN" : "infinite");
	return 0;
}

/* Tell the logits of tokens first to n of the last pass. */
static int
tell_rows(struct infer *m, size_t first, size_t n, infer_row row, void *ctx,
          struct err *e)
{
	size_t i, k, vocabulary = m->net.hyper.vocabulary;

	for (i = first; i < n; i += k) {
		size_t rows = at_most(n - i, m->rows);

		pass_logits(&m->pass, i, rows, m->logits);
		for (k = 0; k < rows; k++) {
			const float *logits = m->logits + k * vocabulary;
			size_t position = m->pass.position + i + k;

			if (prove_finite(m, logits, position, e) < 0 ||
			    row(ctx, position, logits, e) < 0)
				return -1;
		}
	}
	return 0;
}

int
infer_eval(struct infer *m, size_t position, const uint32_t *tokens, size_t n,
           enum infer_want want, infer_row row, void *ctx, struct err *e)
{
	size_t at, some;

	if (prove_tokens(m, position, tokens, n, e) < 0)
		return -1;
	for (at = 0; at < n; at += some) {
		bool last;

		some = at_most(n - at, m->batch);
		last = at + some == n;
		pass_run(&m->pass, tokens + at, some, position + at);
		m->filled = position + at + some;
		if (want == INFER_ALL ? tell_rows(m, 0, some, row, ctx, e) < 0
		    : want == INFER_LAST && last && tell_rows(m, some - 1, some, row, ctx, e) < 0)
			return -1;
	}
	return 0;
}
