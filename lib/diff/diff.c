#include "diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "diff/parts.h"

/* ---- opening ---- */

static int
open_work(struct diff *d, struct err *e)
{
	size_t n = d->side[d->flowing].plan->tensor_count;
	struct diff_work *w = d->work = mem_array(1, sizeof *w);

	if (!w)
		return err_memory(e);
	w->pairs = mem_array(n, sizeof *w->pairs);
	w->digests = mem_array(n, sizeof *w->digests);
	w->digested = mem_array(n, sizeof *w->digested);
	if (!w->pairs || !w->digests || !w->digested)
		return err_memory(e);
	return compare_open(&w->compare, d->o.jobs, d->o.tolerance, e);
}

int
diff_open(struct diff *d, const struct diff_options *o, struct source *a, struct source *b,
          size_t flowing, struct err *e)
{
	*d = (struct diff){ .o = *o, .flowing = flowing, .matches = true, .identical = true };
	if (side_open(&d->side[0], a, e) < 0 || side_open(&d->side[1], b, e) < 0)
		return -1;
	d->side[1 - flowing].keeps = true;
	return open_work(d, e) < 0 || diff_mate(d, e) < 0 || diff_lonely(d, e) < 0 ? -1 : 0;
}

static void
close_work(struct diff_work *w)
{
	if (!w)
		return;
	compare_close(&w->compare);
	free(w->pairs);
	free(w->digests);
	free(w->digested);
	free(w->lonely);
	free(w);
}

void
diff_close(struct diff *d)
{
	size_t i;

	for (i = 0; i < d->tensor_count; i++)
		free(d->tensors[i].drift);
	for (i = 0; i < d->fact_count; i++)
		free(d->facts[i].list);
	if (!d->tensors && d->work && d->work->pairs)
		for (i = 0; i < d->side[d->flowing].plan->tensor_count; i++)
			free(d->work->pairs[i].drift);
	close_work(d->work);
	free(d->tensors);
	free(d->facts);
	for (i = 0; i < 2; i++) {
		free(d->mate[i]);
		free(d->chosen[i]);
		side_close(&d->side[i]);
	}
	*d = (struct diff){ 0 };
}

/* ---- the flow of the model that is not held ---- */

static const struct tensor *
tensor_of(const struct diff *d, size_t side, size_t i)
{
	return d->side[side].plan->tensors[i];
}

static const char *
name_of(const struct diff *d, size_t side)
{
	return d->side[side].source->name;
}

static int
begin(void *ctx, size_t i, struct err *e)
{
	struct diff *d = ctx;
	struct diff_work *w = d->work;
	size_t held = 1 - d->flowing, mate = d->mate[d->flowing][i];
	const struct tensor *b = tensor_of(d, d->flowing, i), *a;

	w->tensor = i;
	w->doing = WORK_NOTHING;
	if (mate == DIFF_NONE) {
		if (!diff_may_be_renamed(d, i))
			return 0;
		w->doing = WORK_DIGEST;
		return compare_begin_digest(&w->compare, b, e);
	}
	a = tensor_of(d, held, mate);
	if (tensor_items(a) != tensor_items(b))
		return 0;
	if (d->side[held].tensors[mate].where == EXTENT_NOWHERE && tensor_bytes(a) > 0)
		return err_set(e, ERR_CORRUPT, tensor_name(a), "did not come");
	w->doing = WORK_PAIR;
	return compare_begin(&w->compare, a, &d->side[held].tensors[mate], b, e);
}

static int
bytes(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
	struct diff *d = ctx;
	struct diff_work *w = d->work;

	return w->doing == WORK_NOTHING
	           ? 0 : compare_add(&w->compare, p, n, name_of(d, 1 - d->flowing), e);
}

static int
placed(void *ctx, const struct extent *x, struct err *e)
{
	struct diff *d = ctx;
	struct diff_work *w = d->work;

	return w->doing == WORK_NOTHING
	           ? 0 : compare_extent(&w->compare, x, name_of(d, 1 - d->flowing),
	                                name_of(d, d->flowing), e);
}

static int
keep_drift(struct diff *d, struct diff_tensor *t, struct err *e)
{
	t->drift = mem_array(1, sizeof *t->drift);
	if (!t->drift)
		return err_memory(e);
	pair_drift(&d->work->compare.pair, d->flowing == 0, t->drift);
	t->match = t->drift->within == t->drift->count;
	if (t->drift->equal < t->drift->count)
		t->what |= DIFF_CHANGED;
	return 0;
}

static int
end(void *ctx, size_t i, struct err *e)
{
	struct diff *d = ctx;
	struct diff_work *w = d->work;
	struct diff_tensor *t = &w->pairs[i];
	enum compare_result result;

	if (w->doing == WORK_DIGEST) {
		w->digested[i] = true;
		return compare_end_digest(&w->compare, &w->digests[i], e);
	}
	if (w->doing != WORK_PAIR)
		return 0;
	if (compare_end(&w->compare, &result, name_of(d, 1 - d->flowing), e) < 0)
		return -1;
	t->match = result == COMPARE_SAME;
	if (result == COMPARE_UNKNOWN)
		t->what |= DIFF_UNKNOWN;
	return result == COMPARE_FIGURES ? keep_drift(d, t, e) : 0;
}

static const bool *
wanted(void *ctx)
{
	return ((const struct side *)ctx)->used;
}

int
diff_hooks(struct diff *d, size_t side, struct flow *f, struct err *e)
{
	struct side *s = &d->side[side];

	(void)e;
	side_hooks(s, f);
	s->begin = begin;
	s->bytes = bytes;
	s->placed = placed;
	s->end = end;
	s->ctx = d;
	f->wanted = wanted;
	return 0;
}

/* ---- the result ---- */

static bool
same_shape(const struct tensor *a, const struct tensor *b)
{
	return tensor_ndim(a) == tensor_ndim(b) &&
	       memcmp(tensor_dims(a), tensor_dims(b), tensor_ndim(a) * sizeof(uint64_t)) == 0;
}

bool
diff_is_limited(const struct diff_limits *l)
{
	return l->drift >= 0 || l->delta >= 0 || l->l2 >= 0 || l->cosine >= 0;
}

/* A figure that is not a number breaks each limit. */
static bool
is_over(const struct diff_limits *l, const struct diff_tensor *t)
{
	const struct drift *x = t->drift;

	if (t->what & (DIFF_UNKNOWN | DIFF_ADDED | DIFF_REMOVED))
		return true;
	if (!x)
		return (t->what & DIFF_RESHAPED) && !t->match;
	if (x->odd > 0)
		return true;
	return (l->drift >= 0 && !(x->rmse <= l->drift)) ||
	       (l->delta >= 0 && !(x->most <= l->delta)) ||
	       (l->l2 >= 0 && !(x->l2 <= l->l2)) ||
	       (l->cosine >= 0 && !(x->cosine >= l->cosine));
}

/* Add the values of a tensor to those of the model. */
static void
count_values(struct diff *d, const struct diff_tensor *t)
{
	uint64_t n = 0, equal, k;

	if (t->a != DIFF_NONE)
		n = tensor_items(tensor_of(d, 0, t->a));
	if (t->b != DIFF_NONE && (k = tensor_items(tensor_of(d, 1, t->b))) > n)
		n = k;
	equal = t->drift ? t->drift->within : t->match ? n : 0;
	/* The sums saturate: headers may announce any number of values. */
	if (num_add(d->values, n, &d->values) < 0)
		d->values = UINT64_MAX;
	if (num_add(d->equal, equal, &d->equal) < 0)
		d->equal = UINT64_MAX;
	if (t->drift) {
		if (!(t->drift->most <= d->most) || !d->most_name) {
			d->most = t->drift->most;
			d->most_name = diff_name_of(d, 1, t->b);
		}
		d->l2 += t->drift->l2 * t->drift->l2;
	}
}

static void
count_tensor(struct diff *d, struct diff_tensor *t)
{
	struct diff_counts *c = &d->counts;
	unsigned other = t->what & ~(unsigned)(DIFF_RETYPED | DIFF_CHANGED);

	if (diff_is_limited(&d->o.limits) && is_over(&d->o.limits, t))
		t->what |= DIFF_OVER;
	d->matches &= other == 0 && t->match;
	d->identical &= other == 0 && !(t->what & DIFF_CHANGED);
	c->compared += t->a != DIFF_NONE && t->b != DIFF_NONE;
	c->same += t->what == 0;
	c->added += !!(t->what & DIFF_ADDED);
	c->removed += !!(t->what & DIFF_REMOVED);
	c->renamed += !!(t->what & DIFF_RENAMED);
	c->retyped += !!(t->what & DIFF_RETYPED);
	c->reshaped += !!(t->what & DIFF_RESHAPED);
	c->changed += !!(t->what & (DIFF_CHANGED | DIFF_UNKNOWN));
	c->drifting += !t->match && t->a != DIFF_NONE && t->b != DIFF_NONE;
	c->over += !!(t->what & DIFF_OVER);
	count_values(d, t);
}

static void
add_tensor(struct diff *d, size_t a, size_t b)
{
	struct diff_tensor *t = &d->tensors[d->tensor_count++], *from = NULL;
	const struct tensor *x, *y;

	if (a != DIFF_NONE && b != DIFF_NONE) {
		from = &d->work->pairs[d->flowing == 0 ? a : b];
		x = tensor_of(d, 0, a);
		y = tensor_of(d, 1, b);
		*t = *from;
		from->drift = NULL;
		t->what |= tensor_type(x) != tensor_type(y) ? DIFF_RETYPED : 0;
		t->what |= same_shape(x, y) ? 0 : DIFF_RESHAPED;
		t->match |= (t->what & DIFF_RENAMED) || d->o.metadata;
	} else {
		t->what = a == DIFF_NONE ? DIFF_ADDED : DIFF_REMOVED;
	}
	t->a = a;
	t->b = b;
	count_tensor(d, t);
}

static int
add_tensors(struct diff *d, struct err *e)
{
	const struct side *a = &d->side[0], *b = &d->side[1];
	size_t i, most;

	if (__builtin_add_overflow(a->plan->tensor_count, b->plan->tensor_count, &most) ||
	    !(d->tensors = mem_array(most, sizeof *d->tensors)))
		return err_memory(e);
	for (i = 0; i < a->plan->tensor_count; i++)
		if (d->chosen[0][i])
			add_tensor(d, i, d->mate[0][i]);
	for (i = 0; i < b->plan->tensor_count; i++)
		if (d->chosen[1][i] && d->mate[1][i] == DIFF_NONE)
			add_tensor(d, DIFF_NONE, i);
	d->l2 = sqrt(d->l2);
	return 0;
}

/* Types and shapes without values, for --metadata. */
static bool
plans_differ(const struct diff *d)
{
	return d->counts.added || d->counts.removed || d->counts.renamed || d->counts.retyped ||
	       d->counts.reshaped;
}

int
diff_finish(struct diff *d, struct err *e)
{
	const struct diff_counts *c = &d->counts;
	bool facts;

	if (diff_renames(d, e) < 0 || add_tensors(d, e) < 0)
		return -1;
	if (!d->o.tensors && diff_facts(d, e) < 0)
		return -1;
	facts = c->keys_added || c->keys_removed || c->keys_changed || c->files;
	d->different = diff_is_limited(&d->o.limits)
	                   ? c->over > 0 : facts || plans_differ(d) || !d->identical;
	return 0;
}

double
diff_similarity(const struct diff *d)
{
	double share;

	if (d->matches)
		return 100;
	share = d->values > 0 ? (double)d->equal / (double)d->values * 100 : 0;
	return share < 99.99 ? share : 99.99;
}

const char *
diff_first_over(const struct diff *d)
{
	const struct diff_tensor *t = d->tensors;

	while (t + 1 < d->tensors + d->tensor_count && !(t->what & DIFF_OVER))
		t++;
	return t->a == DIFF_NONE ? diff_name_of(d, 1, t->b) : diff_name_of(d, 0, t->a);
}
