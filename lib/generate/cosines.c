#include "generate/cosines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "infer/watch.h"

struct seen {
	float *before;  /* the residual stream before a block */
	double *sums;   /* of cosines, of each block */
	uint64_t count; /* tokens */
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
	struct seen *m = ctx;
	size_t i;

	for (i = 0; block != WATCH_EMBEDDINGS && i < n; i++)
		m->sums[block] += cosine(m->before + i * width, x + i * width, width);
	memcpy(m->before, x, n * width * sizeof *x);
	if (block == WATCH_EMBEDDINGS)
		m->count += n;
}

static int
ignore(void *ctx, size_t position, const float *logits, struct err *e)
{
	(void)ctx, (void)position, (void)logits, (void)e;
	return 0;
}

int
cosines_of(struct sequence *s, const struct tokens *text, double *cosines, struct err *e)
{
	struct infer *m = sequence_infer(s);
	const size_t context = infer_context(m), blocks = infer_blocks(m);
	struct seen seen = { .sums = cosines };
	size_t at, n, i;
	int r;

	memset(cosines, 0, blocks * sizeof *cosines);
	seen.before = mem_array(infer_batch(m), infer_width(m) * sizeof *seen.before);
	r = seen.before ? infer_watch_blocks(m, see_block, &seen, e) : err_memory(e);
	for (at = 0; r == 0 && at < text->n; at += n) {
		n = (size_t)num_min(text->n - at, context);
		r = sequence_eval(s, 0, text->id + at, n, SEQUENCE_NONE, ignore, NULL, e);
	}
	if (seen.before && infer_watch_blocks(m, NULL, NULL, e) < 0)
		r = -1;
	for (i = 0; r == 0 && i < blocks; i++)
		cosines[i] /= (double)seen.count;
	free(seen.before);
	return r;
}
