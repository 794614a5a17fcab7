#include "cli/prune/drop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prune/measure.h"
#include "core/mem.h"
#include "infer/watch.h"

struct cosines {
	float *before;            /* the residual stream before a block */
	double *sums;             /* of each block */
	uint64_t count;           /* tokens */
};

static double
cosine(const float *a, const float *b, size_t n)
{
	double aa = 0, bb = 0, ab = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
		ab += (double)a[i] * (double)b[i];
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa) / sqrt(bb) : 1;
}

static void
see_block(void *ctx, size_t block, const float *x, size_t n, size_t width)
{
	struct cosines *c = ctx;
	size_t i;

	for (i = 0; block != WATCH_EMBEDDINGS && i < n; i++)
		c->sums[block] += cosine(c->before + i * width, x + i * width, width);
	memcpy(c->before, x, n * width * sizeof *x);
	if (block == WATCH_EMBEDDINGS)
		c->count += n;
}

static int
evaluate(struct cosines *c, struct measure *m, struct err *e)
{
	c->before = mem_array(infer_batch(m->infer), infer_width(m->infer) * sizeof *c->before);
	c->sums = mem_array(infer_blocks(m->infer), sizeof *c->sums);
	if (!c->before || !c->sums)
		return err_memory(e);
	return infer_watch_blocks(m->infer, see_block, c, e) < 0 ? -1 : measure_run(m, e);
}

/* The layers with the highest cosines; of equal ones the first. */
static int
choose(const struct cosines *c, const struct infer *model, struct prune_asked *a, struct err *e)
{
	size_t n = infer_blocks(model), i, best;
	struct buf list = { 0 };
	double *left = c->sums;
	uint64_t k;
	int r;

	if (a->drop >= n)
		return err_set(e, ERR_INVALID, infer_name(model), "has %zu layers: %llu cannot go", n,
		               (unsigned long long)a->drop);
	for (i = 0; i < n; i++) {
		left[i] /= (double)c->count;
		tool_notef("layer %zu: cosine %.6f", i, left[i]);
		if (!(left[i] >= -1))
			left[i] = -1; /* NaN */
	}
	for (k = 0; k < a->drop; k++) {
		for (best = 0, i = 1; i < n; i++)
			if (left[i] > left[best])
				best = i;
		left[best] = -2;
		buf_printf(&list, "%s%zu", k ? "," : "", best);
	}
	r = buf_string(&list) ? prune_parse(&a->layers, (const char *)list.p, e) : err_memory(e);
	buf_free(&list);
	return r;
}

int
drop_choose(struct prune_asked *a, struct merge_input *in, unsigned jobs, struct err *e)
{
	struct measure m = { .infer = NULL };
	struct cosines c = { .count = 0 };
	int r = measure_open(&m, in, a, jobs, e);

	if (r == 0)
		r = evaluate(&c, &m, e);
	if (r == 0)
		r = choose(&c, m.infer, a, e);
	measure_close(&m);
	free(c.before);
	free(c.sums);
	return r;
}
