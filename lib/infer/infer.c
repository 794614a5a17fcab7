#include "infer/infer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/mem.h"
#include "infer/private.h"
#include "infer/round8.h"

#define BUFFERS (24u << 20) /* bytes of the buffers of a pass, about */
#define BATCH 512           /* tokens of a pass, at most */
#define LOGITS (4u << 20)   /* bytes of logits at a time, about */

static size_t
at_most(uint64_t n, uint64_t limit)
{
	return (size_t)(n < limit ? n : limit);
}

/* The context: what is asked for, but no more than the model was made for. */
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

/* The device, with the matrices as it wants them. */
static int
open_device(struct infer *m, const struct infer_options *o, struct err *e)
{
	const struct matrix *tables[] = { &m->net.embed, &m->net.positions };
	const struct device_options options = {
		.threads = o->threads ? o->threads : 1, .weights = m->weights,
		.matrices = m->net.matrices, .matrix_count = m->net.matrix_count,
		.tables = tables, .table_count = 2,
		.heads = m->net.hyper.heads, .head_v = m->net.hyper.head_v,
		.thin = o->thin, .repack = o->repack,
	};

	m->device = m->ops->open(&options, e);
	return m->device ? 0 : -1;
}

static int
allocate(struct infer *m, struct err *e)
{
	const struct hyper *h = &m->net.hyper;
	uint64_t row = h->vocabulary * sizeof(float);
	uint64_t token = pass_bytes(&m->net) + m->ops->row_bytes(m->device);
	size_t rows;

	m->batch = at_most(m->context, BATCH);
	m->batch = at_most(m->batch, BUFFERS / token ? BUFFERS / token : 1);
	rows = at_most(m->batch, LOGITS / row ? LOGITS / row : 1);
	m->logits = mem_array(h->vocabulary, sizeof *m->logits);
	if (!m->logits)
		return err_memory(e);
	if (m->ops->reserve(m->device, m->batch, e) < 0)
		return -1;
	return pass_open(&m->pass, &m->net, m->ops, m->device, m->batch, rows, e);
}

/* Compute GELU as asked for. */
static void
choose_gelu(struct infer *m, const struct infer_options *o, void (*note)(const char *))
{
	if (!gelu_use(o->gelu, &m->net.hyper.act) && note)
		note("this model does not have GELU, so another way to compute it changes nothing");
}

static void
tell(const struct infer *m, void (*note)(const char *))
{
	const struct hyper *h = &m->net.hyper;

	if (note && h->window && h->window < m->context && h->window_ignored)
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
	m->ops = options->ops ? options->ops : &ops_cpu;
	m->cache = options->cache;
	m->threads = options->threads;
	if (net_open(&m->net, w, m->ops, options->context, options->low,
	             options->low_count, e) == 0 &&
	    choose_context(m, options, e) == 0 && open_device(m, options, e) == 0 &&
	    allocate(m, e) == 0) {
		choose_gelu(m, options, note);
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
	m->ops->close(m->device);
	round8_free(m->round8);
	net_free(&m->net);
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

enum cache_type
infer_cache(const struct infer *m)
{
	return m->cache;
}

uint64_t
infer_buffers(const struct infer *m)
{
	return m->pass.bytes + m->batch * m->ops->row_bytes(m->device) + m->net.made_bytes +
	       m->net.hyper.vocabulary * sizeof(float);
}

static uint64_t
linear_bytes(const struct linear *l)
{
	uint64_t low = l->low ? linear_bytes(&l->low->a) + linear_bytes(&l->low->b) : 0;

	if (l->inner)
		low += linear_bytes(l->inner);
	return low + (l->w.rows ? matrix_bytes(&l->w) : 0);
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
	*bytes = matrix_bytes(w);
	return w->data;
}
