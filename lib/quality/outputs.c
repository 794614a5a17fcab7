#include "quality/outputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "generate/softmax.h"
#include "infer/watch.h"

/* ---- predictions ---- */

static int
keep_top(void *ctx, size_t position, const float *logits, struct err *e)
{
	uint32_t *to = ctx;

	(void)position;
	(void)e;
	*to = softmax_of(logits, to[1]).top;
	return 0;
}

/* The most probable token behind one at a position. */
static int
say(struct sequence *s, size_t position, uint32_t token, uint32_t *next, struct err *e)
{
	uint32_t top[2] = { 0, (uint32_t)infer_vocabulary(sequence_model(s)) };

	if (sequence_eval(s, position, &token, 1, SEQUENCE_LAST, keep_top, top, e) < 0)
		return -1;
	*next = top[0];
	return 0;
}

/* Both go on with the same tokens, so they need not be evaluated apart. */
static int
continue_both(struct sequence *const s[2], size_t at, uint32_t token, size_t count,
              struct output *to, struct err *e)
{
	for (to->said = 0; to->said < count; to->said++, at++) {
		if (say(s[0], at, token, &to->next[0], e) < 0 || say(s[1], at, token, &to->next[1], e) < 0)
			return -1;
		to->parts = to->next[0] != to->next[1];
		if (to->parts)
			return 0;
		token = to->next[0];
	}
	return 0;
}

int
outputs_compare(struct sequence *base, struct sequence *model, const uint32_t *tokens, size_t n,
                size_t count, struct divergence *all, struct output *to, struct err *e)
{
	struct sequence *const both[2] = { base, model };
	struct divergence d = { 0 };
	int r = divergence_pair(&d, base, model, tokens, n, 0, e);

	*to = (struct output){ .tokens = n };
	if (r == 0)
		r = divergence_join(all, &d, e);
	if (r == 0) {
		divergence_figures(&d, &to->f);
		r = continue_both(both, n - 1, tokens[n - 1], count, to, e);
	}
	divergence_free(&d);
	return r;
}

/* ---- hidden states ---- */

#define ROOM (4u << 20) /* values of the base that are kept */

struct states {
	float *base;          /* blocks × n × width */
	size_t n, width, first; /* first: the position of token 0 */
	struct layer_drift *drift;
};

static void
keep_state(void *ctx, size_t block, const float *x, size_t n, size_t width)
{
	const struct states *s = ctx;

	if (block == WATCH_EMBEDDINGS)
		return;
	memcpy(s->base + block * s->n * width, x, n * width * sizeof *x);
}

static void
compare_state(void *ctx, size_t block, const float *x, size_t n, size_t width)
{
	const struct states *s = ctx;
	struct layer_drift *to;
	const float *base;
	size_t t, i;

	if (block == WATCH_EMBEDDINGS)
		return;
	to = &s->drift[block];
	base = s->base + block * s->n * width;
	for (t = 0; t < n; t++, x += width, base += width) {
		double aa = 0, dd = 0, far;

		for (i = 0; i < width; i++) {
			const double d = (double)x[i] - (double)base[i];

			aa += (double)base[i] * (double)base[i];
			dd += d * d;
		}
		to->aa += aa;
		to->dd += dd;
		far = aa > 0 ? sqrt(dd / aa) : dd > 0 ? INFINITY : 0;
		if (far > to->worst) {
			to->worst = far;
			to->worst_at = s->first + t;
		}
	}
}

static int
no_row(void *ctx, size_t position, const float *logits, struct err *e)
{
	(void)ctx;
	(void)position;
	(void)logits;
	(void)e;
	return 0;
}

static int
compare_states(struct sequence *base, struct sequence *model, const uint32_t *tokens, size_t n,
               struct states *s, struct err *e)
{
	size_t at, some;

	for (at = 0; at < n; at += some) {
		some = (size_t)num_min(s->n, n - at);
		s->first = at;
		if (sequence_eval(base, at, tokens + at, some, SEQUENCE_NONE, no_row, NULL, e) < 0 ||
		    sequence_eval(model, at, tokens + at, some, SEQUENCE_NONE, no_row, NULL, e) < 0)
			return -1;
	}
	return 0;
}

int
outputs_layers(struct sequence *base, struct sequence *model, const uint32_t *tokens, size_t n,
               struct layer_drift *drift, struct err *e)
{
	struct infer *a = sequence_infer(base), *b = sequence_infer(model);
	const size_t blocks = infer_blocks(a), width = infer_width(a);
	struct states s = { .width = width, .drift = drift };
	int r = -1;

	if (infer_blocks(b) != blocks || infer_width(b) != width)
		return err_set(e, ERR_INVALID, infer_name(b), "has %zu blocks of width %zu, %s %zu of %zu",
		               infer_blocks(b), infer_width(b), infer_name(a), blocks, width);
	s.n = (size_t)num_min(num_min(infer_batch(a), infer_batch(b)), ROOM / (blocks * width) + 1);
	s.base = mem_array(blocks * s.n, width * sizeof *s.base);
	if (!s.base)
		err_memory(e);
	else if (infer_watch_blocks(a, keep_state, &s, e) == 0 &&
	         infer_watch_blocks(b, compare_state, &s, e) == 0)
		r = compare_states(base, model, tokens, n, &s, e);
	infer_watch_blocks(a, NULL, NULL, e);
	infer_watch_blocks(b, NULL, NULL, e);
	free(s.base);
	return r;
}
