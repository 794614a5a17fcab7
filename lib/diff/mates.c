/* Which tensor of one model is which of the other: by name, else by content. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "diff/parts.h"

/* ---- by name ---- */

struct named {
	const char *name;
	size_t index;
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

const char *
diff_name_of(const struct diff *d, size_t side, size_t tensor)
{
	char **names = d->o.names[side];

	return names && names[tensor] ? names[tensor]
	                              : tensor_name(d->side[side].plan->tensors[tensor]);
}

/* Whether any pattern matches. All are tried, to notice those that match no tensor. */
static int
any(struct pattern *p, size_t n, const char *name, struct err *e)
{
	int hit = 0;

	for (; n > 0; n--, p++) {
		int r = pattern_match(p, name, e);

		if (r < 0)
			return -1;
		hit |= r;
	}
	return hit;
}

/* Mark the tensors that are compared, and those that are read for it. */
static int
choose(struct diff *d, size_t side, struct err *e)
{
	struct side *s = &d->side[side];
	size_t i, n = s->plan->tensor_count;

	s->used = mem_array(n, sizeof *s->used);
	d->chosen[side] = mem_array(n, sizeof *d->chosen[side]);
	if (!s->used || !d->chosen[side])
		return err_memory(e);
	for (i = 0; i < n; i++) {
		const char *name = diff_name_of(d, side, i);
		int in = d->o.only_n ? any(d->o.only, d->o.only_n, name, e) : 1;
		int out = any(d->o.except, d->o.except_n, name, e);

		if (in < 0 || out < 0)
			return -1;
		d->chosen[side][i] = in && !out;
		s->used[i] = d->chosen[side][i] && !d->o.metadata;
	}
	return 0;
}

static int
all_matched(const struct pattern *p, size_t n, struct err *e)
{
	for (; n > 0; n--, p++)
		if (p->matches == 0)
			return err_set(e, ERR_USAGE, p->text, "matches no tensor of either model");
	return 0;
}

/* The names of the tensors in use, sorted; *n of them. */
static struct named *
list(const struct diff *d, size_t side, size_t *n, struct err *e)
{
	const struct side *s = &d->side[side];
	struct named *x = mem_array(s->plan->tensor_count, sizeof *x);
	size_t i;

	*n = 0;
	if (!x) {
		err_memory(e);
		return NULL;
	}
	for (i = 0; i < s->plan->tensor_count; i++)
		if (d->chosen[side][i])
			x[(*n)++] = (struct named){ diff_name_of(d, side, i), i };
	qsort(x, *n, sizeof *x, by_name);
	return x;
}

static int
no_mates(struct diff *d, size_t side, struct err *e)
{
	size_t i, n = d->side[side].plan->tensor_count;

	d->mate[side] = mem_array(n, sizeof *d->mate[side]);
	if (!d->mate[side])
		return err_memory(e);
	for (i = 0; i < n; i++)
		d->mate[side][i] = DIFF_NONE;
	return 0;
}

int
diff_mate(struct diff *d, struct err *e)
{
	struct named *a = NULL, *b = NULL;
	size_t i = 0, k = 0, n = 0, m = 0;
	int r = -1;

	if (choose(d, 0, e) < 0 || choose(d, 1, e) < 0 || no_mates(d, 0, e) < 0 ||
	    no_mates(d, 1, e) < 0)
		return -1;
	if (all_matched(d->o.only, d->o.only_n, e) < 0 ||
	    all_matched(d->o.except, d->o.except_n, e) < 0)
		return -1;
	if (!(a = list(d, 0, &n, e)) || !(b = list(d, 1, &m, e)))
		goto end;
	while (i < n && k < m) {
		int order = by_name(&a[i], &b[k]);

		if (order == 0) {
			d->mate[0][a[i].index] = b[k].index;
			d->mate[1][b[k].index] = a[i].index;
		}
		i += order <= 0;
		k += order >= 0;
	}
	r = 0;
end:
	free(a);
	free(b);
	return r;
}

/* ---- by content ---- */

/* The order of tensors by type and shape. */
static int
by_kind(const struct tensor *a, const struct tensor *b)
{
	int order = strcmp(tensor_type(a)->name, tensor_type(b)->name);
	unsigned i;

	if (order)
		return order;
	if (tensor_ndim(a) != tensor_ndim(b))
		return tensor_ndim(a) < tensor_ndim(b) ? -1 : 1;
	for (i = 0; i < tensor_ndim(a); i++)
		if (tensor_dims(a)[i] != tensor_dims(b)[i])
			return tensor_dims(a)[i] < tensor_dims(b)[i] ? -1 : 1;
	return tensor_bytes(a) < tensor_bytes(b) ? -1 : tensor_bytes(a) > tensor_bytes(b);
}

static int
by_kind_of(const void *a, const void *b, void *plan)
{
	const struct model *m = plan;

	return by_kind(m->tensors[*(const size_t *)a], m->tensors[*(const size_t *)b]);
}

/* Nothing can be recognized by having no bytes. */
static bool
is_lonely(const struct diff *d, size_t side, size_t i)
{
	const struct side *s = &d->side[side];

	return s->used[i] && d->mate[side][i] == DIFF_NONE &&
	       tensor_bytes(s->plan->tensors[i]) > 0;
}

int
diff_lonely(struct diff *d, struct err *e)
{
	size_t held = 1 - d->flowing, i;
	const struct model *m = d->side[held].plan;
	struct diff_work *w = d->work;

	w->lonely = mem_array(m->tensor_count, sizeof *w->lonely);
	if (!w->lonely)
		return err_memory(e);
	for (i = 0; i < m->tensor_count; i++)
		if (is_lonely(d, held, i))
			w->lonely[w->lonely_count++] = i;
	qsort_r(w->lonely, w->lonely_count, sizeof *w->lonely, by_kind_of, (void *)(uintptr_t)m);
	return 0;
}

bool
diff_may_be_renamed(const struct diff *d, size_t tensor)
{
	const struct model *held = d->side[1 - d->flowing].plan;
	const struct diff_work *w = d->work;
	const struct tensor *t = d->side[d->flowing].plan->tensors[tensor];
	size_t low = 0, high = w->lonely_count;

	if (!is_lonely(d, d->flowing, tensor))
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = by_kind(held->tensors[w->lonely[middle]], t);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* A tensor without a mate, and its content. */
struct content {
	struct digest digest;
	const struct tensor *t;
	size_t index;
};

static int
by_content(const void *a, const void *b)
{
	const struct content *x = a, *y = b;
	int order = memcmp(x->digest.b, y->digest.b, DIGEST_BYTES);

	return order ? order : by_kind(x->t, y->t);
}

static int
by_content_and_place(const void *a, const void *b)
{
	const struct content *x = a, *y = b;
	int order = by_content(a, b);

	return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* The digests of the flowing model's tensors, which have come. */
static size_t
flowing_contents(const struct diff *d, struct content *to)
{
	const struct model *m = d->side[d->flowing].plan;
	size_t i, n = 0;

	for (i = 0; i < m->tensor_count; i++)
		if (d->work->digested[i])
			to[n++] = (struct content){ d->work->digests[i], m->tensors[i], i };
	return n;
}

static int
by_tensor(const void *a, const void *b)
{
	return by_kind(((const struct content *)a)->t, ((const struct content *)b)->t);
}

/* The digests of the held model's tensors whose type and shape one of others has. */
static int
held_contents(struct diff *d, const struct content *others, size_t n, struct content *to,
              size_t *count, struct err *e)
{
	struct side *s = &d->side[1 - d->flowing];
	struct compare *c = &d->work->compare;
	const char *name = s->source->name;
	size_t i;

	*count = 0;
	for (i = 0; i < d->work->lonely_count; i++) {
		struct content x = { .index = d->work->lonely[i] };

		x.t = s->plan->tensors[x.index];
		if (!bsearch(&x, others, n, sizeof x, by_tensor))
			continue;
		if (compare_begin_digest(c, x.t, e) < 0 ||
		    compare_extent(c, &s->tensors[x.index], name, name, e) < 0 ||
		    compare_end_digest(c, &x.digest, e) < 0)
			return -1;
		to[(*count)++] = x;
	}
	return 0;
}

/* Equal contents become mates, in the order of the models. */
static void
join(struct diff *d, struct content *held, size_t n, struct content *others, size_t m)
{
	size_t i = 0, k = 0;

	qsort(held, n, sizeof *held, by_content_and_place);
	qsort(others, m, sizeof *others, by_content_and_place);
	while (i < n && k < m) {
		int order = by_content(&held[i], &others[k]);

		if (order == 0) {
			d->mate[1 - d->flowing][held[i].index] = others[k].index;
			d->mate[d->flowing][others[k].index] = held[i].index;
			d->work->pairs[others[k].index].what |= DIFF_RENAMED;
		}
		i += order <= 0;
		k += order >= 0;
	}
}

int
diff_renames(struct diff *d, struct err *e)
{
	size_t n, m, room = d->side[d->flowing].plan->tensor_count;
	struct content *held = mem_array(d->work->lonely_count, sizeof *held);
	struct content *others = mem_array(room, sizeof *others);
	int r = -1;

	if (!held || !others) {
		err_memory(e);
		goto end;
	}
	m = flowing_contents(d, others);
	qsort(others, m, sizeof *others, by_tensor);
	if (held_contents(d, others, m, held, &n, e) < 0)
		goto end;
	join(d, held, n, others, m);
	r = 0;
end:
	free(held);
	free(others);
	return r;
}
