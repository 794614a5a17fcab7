#include "cli/prune/drop.h"

#include <stdlib.h>

#include "cli/prune/measure.h"
#include "core/mem.h"
#include "generate/cosines.h"
#include "infer/watch.h"

/* The layers with the highest cosines; of equal ones the first. */
static int
choose(double *left, const struct infer *model, struct prune_asked *a, struct err *e)
{
	size_t n = infer_blocks(model), i, best;
	struct buf list = { 0 };
	uint64_t k;
	int r;

	if (a->drop >= n)
		return err_set(e, ERR_INVALID, infer_name(model), "has %zu layers: %llu cannot go", n,
		               (unsigned long long)a->drop);
	for (i = 0; i < n; i++) {
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
	double *cosines = NULL;
	int r = measure_open(&m, in, a, jobs, e);

	if (r == 0 && !(cosines = mem_array(infer_blocks(m.infer), sizeof *cosines)))
		r = err_memory(e);
	if (r == 0)
		r = cosines_of(m.sequence, &m.tokens, cosines, e);
	if (r == 0)
		r = choose(cosines, m.infer, a, e);
	measure_close(&m);
	free(cosines);
	return r;
}
