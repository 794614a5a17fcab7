#include "infer/sequence.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "infer/private.h"

struct sequence {
	struct infer *model;
	struct cache *cache;
	size_t filled;          /* positions that the cache holds */
};

struct sequence *
sequence_open(struct infer *m, struct err *e)
{
	const struct hyper *h = &m->net.hyper;
	const struct cache_shape shape = { h->layers, h->kv_heads, m->context, h->head_k,
		h->head_v, m->cache };
	struct sequence *s = mem_array(1, sizeof *s);

	if (!s) {
		err_memory(e);
		return NULL;
	}
	s->model = m;
	s->cache = m->ops->cache_open(m->device, &shape, e);
	if (s->cache)
		return s;
	sequence_close(s);
	return NULL;
}

void
sequence_close(struct sequence *s)
{
	if (!s)
		return;
	s->model->ops->cache_close(s->cache);
	free(s);
}

const struct infer *
sequence_model(const struct sequence *s)
{
	return s->model;
}

struct infer *
sequence_infer(struct sequence *s)
{
	return s->model;
}

uint64_t
sequence_bytes(const struct sequence *s)
{
	return s->model->ops->cache_bytes(s->cache);
}

static int
prove_tokens(const struct sequence *s, size_t position, const uint32_t *tokens, size_t n,
             struct err *e)
{
	const struct infer *m = s->model;
	const char *name = m->weights->name;
	size_t i;

	if (position > s->filled)
		return err_set(e, ERR_INVALID, name, "position %zu is beyond what was evaluated, "
		               "%zu", position, s->filled);
	if (n > m->context - position) {
		err_set(e, ERR_INVALID, name, "%zu tokens at position %zu need more than the "
		        "context of %zu", n, position, m->context);
		if (m->context < m->net.hyper.context)
			err_hint(e, "-c makes it longer: the model's is %" PRIu64,
			         m->net.hyper.context);
		return -1;
	}
	for (i = 0; i < n; i++)
		if (tokens[i] >= m->net.hyper.vocabulary)
			return err_set(e, ERR_INVALID, name, "token %" PRIu32 " is not in the "
			               "vocabulary of %" PRIu64, tokens[i],
			               m->net.hyper.vocabulary);
	return 0;
}

static int
prove_finite(const struct infer *m, size_t position, struct err *e)
{
	const float *logits = m->logits;
	size_t i;

	for (i = 0; i < m->net.hyper.vocabulary; i++)
		if (!isfinite(logits[i]))
			return err_set(e, ERR_INVALID, m->weights->name, "logit %zu at position %zu "
			               "is %s: weights are not finite, or too large", i, position,
			               isnan(logits[i]) ? "NaN" : "infinite");
	return 0;
}

/* Call row for tokens first to end - 1 of the last pass. */
static int
rows(struct infer *m, size_t first, size_t end, sequence_row row, void *ctx, struct err *e)
{
	struct pass *p = &m->pass;
	size_t i, k, n;

	for (i = first; i < end; i += n) {
		n = end - i < p->logit_rows ? end - i : p->logit_rows;
		pass_logits(p, i, n);
		for (k = 0; k < n; k++) {
			size_t position = p->position + i + k;

			pass_read(p, k, m->logits);
			if (prove_finite(m, position, e) < 0 ||
			    row(ctx, position, m->logits, e) < 0)
				return -1;
		}
	}
	return 0;
}

int
sequence_eval(struct sequence *s, size_t position, const uint32_t *tokens, size_t n,
              enum sequence_want want, sequence_row row, void *ctx, struct err *e)
{
	struct infer *m = s->model;
	size_t at, some;

	if (prove_tokens(s, position, tokens, n, e) < 0)
		return -1;
	for (at = 0; at < n; at += some) {
		some = n - at < m->batch ? n - at : m->batch;
		pass_run(&m->pass, s->cache, tokens + at, some, position + at);
		s->filled = position + at + some;
		if ((want == SEQUENCE_ALL && rows(m, 0, some, row, ctx, e) < 0) ||
		    (want == SEQUENCE_LAST && at + some == n &&
		     rows(m, some - 1, some, row, ctx, e) < 0))
			return -1;
	}
	return 0;
}
