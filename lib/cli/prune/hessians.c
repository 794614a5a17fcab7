#include "cli/prune/hessians.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "linear/cholesky.h"

static void
drop_all(struct hessians *s)
{
	while (s->count > 0)
		free(s->all[--s->count].h);
	s->bytes = 0;
}

static bool
has(const struct hessians *s, const struct hessian *h, const char *name)
{
	char text[WATCH_NAME];
	size_t i;

	for (i = 0; i < h->count; i++)
		if (strcmp(infer_weight_name(s->measure.infer, &h->id[i], text), name) == 0)
			return true;
	return false;
}

/* Whether a tensor that is still to come has this input. */
static bool
is_wanted(const struct hessians *s, const struct hessian *h)
{
	size_t i;

	for (i = 0; i < s->plan->out.tensor_count; i++)
		if (s->plan->rows[i].input && !s->used[i] && has(s, h, s->plan->rows[i].input))
			return true;
	return false;
}

/* ---- a run of the model ---- */

static uint64_t
bytes_of(size_t n)
{
	return (uint64_t)n * n * sizeof(double); /* n is at most PRUNE_UPDATE */
}

/* A new sum for the input, if it is wanted and fits; NULL. Room for the one that is asked for is kept
 * by its being taken in any case. */
static struct hessian *
add(struct hessians *s, const struct watched *w)
{
	struct hessian h = { .count = w->count, .n = w->columns };

	if (w->columns > PRUNE_UPDATE)
		return NULL;
	memcpy(h.id, w->layer, w->count * sizeof *h.id);
	if (!has(s, &h, s->asked) &&
	    (bytes_of(h.n) > HESSIANS_BYTES - s->bytes || !is_wanted(s, &h)))
		return NULL;
	if (mem_grow(&s->all, &s->cap, s->count + 1, sizeof *s->all) < 0 ||
	    !(h.h = mem_array(h.n, h.n * sizeof *h.h))) {
		err_memory(s->e);
		return NULL;
	}
	s->bytes = bytes_of(h.n) > HESSIANS_BYTES - s->bytes ? HESSIANS_BYTES : s->bytes + bytes_of(h.n);
	s->all[s->count] = h;
	return &s->all[s->count++];
}

static struct hessian *
find(struct hessians *s, const struct linear_id *id)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->all[i].id[0].role == id->role && s->all[i].id[0].block == id->block)
			return &s->all[i];
	return NULL;
}

static void
see(void *ctx, const struct watched *w)
{
	struct hessians *s = ctx;
	const struct linear_id *id = &w->layer[0];
	size_t at = id->block * (size_t)ROLES + id->role;
	struct hessian *h;

	if (s->e->code != ERR_NONE || s->state[at] == LINEAR_LEFT)
		return;
	h = s->state[at] == LINEAR_FOUND ? find(s, id) : add(s, w);
	s->state[at] = h ? LINEAR_FOUND : LINEAR_LEFT;
	if (h)
		cholesky_add(h->h, h->n, w->x, w->n, s->jobs);
}

static int
run(struct hessians *s, const char *asked, struct err *e)
{
	size_t n = infer_blocks(s->measure.infer) * ROLES;

	drop_all(s);
	memset(s->state, 0, n * sizeof *s->state);
	s->asked = asked;
	s->e = e;
	return measure_run(&s->measure, e) < 0 || e->code != ERR_NONE ? -1 : 0;
}

/* ---- for the plan ---- */

static int
give(void *ctx, const char *name, double *to, size_t n, struct err *e)
{
	struct hessians *s = ctx;
	size_t i, k, tries;

	for (tries = 0; tries < 2; tries++) {
		for (i = 0; i < s->count && !has(s, &s->all[i], name); i++)
			;
		if (i < s->count && s->all[i].n == n) {
			memcpy(to, s->all[i].h, (size_t)bytes_of(n));
			for (k = 0; k < s->plan->out.tensor_count; k++)
				if (s->plan->rows[k].input && strcmp(s->plan->rows[k].input, name) == 0)
					s->used[k] = true;
			return 0;
		}
		if (tries == 0 && run(s, name, e) < 0)
			return -1;
	}
	err_set(e, ERR_INVALID, name, "is not a matrix that the model multiplies activations of %zu values "
	        "with: sparsegpt cannot prune it", n);
	return err_hint(e, "--target REGEX chooses others");
}

int
hessians_open(struct hessians *s, struct prune_plan *plan, const struct prune_asked *a, unsigned jobs,
              struct err *e)
{
	s->plan = plan;
	s->jobs = jobs;
	if (measure_open(&s->measure, plan->in, a, jobs, e) < 0)
		return -1;
	s->state = mem_array(infer_blocks(s->measure.infer), ROLES * sizeof *s->state);
	s->used = mem_array(plan->out.tensor_count, sizeof *s->used);
	if (!s->state || !s->used)
		return err_memory(e);
	plan->how.hessian = give;
	plan->how.hessian_ctx = s;
	return infer_watch(s->measure.infer, see, s, e);
}

void
hessians_close(struct hessians *s)
{
	drop_all(s);
	free(s->all);
	free(s->state);
	free(s->used);
	measure_close(&s->measure);
	*s = (struct hessians){ 0 };
}
