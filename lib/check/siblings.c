/* siblings: tensors of one role in all blocks, whose scales are compared; and a model with
 * another one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/normal/normal.h"
#include "check/values_parts.h"
#include "core/mem.h"

/* A scale is far if it is this many times above the second largest, or below the second smallest.
 * With only two siblings, which may differ as first and last blocks do, more is needed. */
#define ABOVE 4
#define BELOW 8
#define FEW 3

struct sibling {
	const struct survey_tensor *t;
	size_t rule;       /* those of one rule are siblings */
	double scale;
};

static int
by_scale(const void *a, const void *b)
{
	const struct sibling *s = a, *t = b;
	int order = (s->rule > t->rule) - (s->rule < t->rule);

	if (!order)
		order = s->t->match.bias - t->t->match.bias;
	if (!order)
		order = (s->scale > t->scale) - (s->scale < t->scale);
	return order ? order : (s->t > t->t) - (s->t < t->t);
}

static void
report(const struct sibling *s, const struct sibling *next, size_t count, const char *where,
       struct findings *f)
{
	findings_add_at(f, &values_rules[VALUES_SIBLING],
	                s->t->match.bias ? FINDING_INFO : FINDING_WARN, tensor_name(s->t->t),
	                "RMS %.4g is far %s those of the other %zu tensors of its role, the nearest "
	                "is %.4g", s->scale, where, count - 1, next->scale);
}

/* A group of siblings, by scale. */
static void
judge_group(const struct sibling *s, size_t n, struct findings *f)
{
	double factor = n < FEW ? 2 : 1;

	if (n < 2)
		return;
	if (s[n - 1].scale > factor * ABOVE * s[n - 2].scale)
		report(&s[n - 1], &s[n - 2], n, "above", f);
	if (n >= FEW && s[0].scale * BELOW < s[1].scale)
		report(&s[0], &s[1], n, "below", f);
}

int
values_siblings(const struct survey *s, struct findings *f, struct err *e)
{
	struct sibling *all = mem_array(s->count, sizeof *all);
	size_t i, n = 0, from;

	if (!all)
		return err_memory(e);
	for (i = 0; i < s->count; i++) {
		const struct survey_tensor *t = &s->tensors[i];
		double scale = t->read && t->known ? values_rms(&t->stats) : 0;

		if (scale > 0 && isfinite(scale))
			all[n++] = (struct sibling){ t, t->match.index, scale };
	}
	qsort(all, n, sizeof *all, by_scale);
	for (from = i = 0; i < n; i++)
		if (i + 1 == n || all[i + 1].rule != all[from].rule ||
		    all[i + 1].t->match.bias != all[from].t->match.bias) {
			judge_group(all + from, i + 1 - from, f);
			from = i + 1;
		}
	free(all);
	return 0;
}

/* ---- a reference ---- */

/* By how much statistics of a type may differ, as a part of the standard deviation: measured
 * on values of a normal distribution, and doubled. */
static double
tolerance(const struct dtype *t)
{
	double bits;

	if (!t->quantized)
		return 0.01;
	bits = 8.0 * t->bytes / t->items;
	return bits >= 8 ? 0.01 : bits >= 6 ? 0.02 : bits >= 4 ? 0.1 : 0.4;
}

static bool
is_same(const struct survey_tensor *a, const struct survey_tensor *b)
{
	const struct match *m = &a->match, *n = &b->match;

	if (strcmp(a->name, b->name) == 0)
		return true;
	return a->known && b->known && m->rule->role != ROLES && m->rule->role == n->rule->role &&
	       m->block == n->block && m->expert == n->expert && m->bias == n->bias;
}

/* GGUF adds one to some weights of norms, so the mean of a folder is less by one. */
static double
shift(const struct survey *s, const struct survey_tensor *t)
{
	return t->known && t->match.rule->change == CHANGE_PLUS_ONE && !t->match.bias &&
	       s->subject.form != ARCH_GGUF ? 1 : 0;
}

static void
compare(const struct survey *s, const struct survey_tensor *t, const struct survey *reference,
        const struct survey_tensor *r, struct findings *f)
{
	double mean = stats_mean(&t->stats) + shift(s, t), std = stats_std(&t->stats);
	double want = stats_mean(&r->stats) + shift(reference, r), spread = stats_std(&r->stats);
	double may = tolerance(tensor_type(t->t)) + tolerance(tensor_type(r->t));
	double scale = spread > 0 ? spread : fabs(want);

	if (t->stats.count != r->stats.count)
		findings_add(f, &values_rules[VALUES_REFERENCE], tensor_name(t->t),
		             "%llu values; the reference has %llu", (unsigned long long)t->stats.count,
		             (unsigned long long)r->stats.count);
	else if (!(fabs(mean - want) <= may * scale) || !(fabs(std - spread) <= may * scale))
		findings_add(f, &values_rules[VALUES_REFERENCE], tensor_name(t->t),
		             "mean %.5g and standard deviation %.5g; the reference has %.5g and %.5g",
		             mean, std, want, spread);
}

/* The tensors of a survey in an order in which partners are found fast. */
static int
by_name(const void *a, const void *b)
{
	const struct survey_tensor *s = *(const struct survey_tensor *const *)a;
	const struct survey_tensor *t = *(const struct survey_tensor *const *)b;

	return strcmp(s->name, t->name);
}

static int
by_role(const void *a, const void *b)
{
	const struct survey_tensor *s = *(const struct survey_tensor *const *)a;
	const struct survey_tensor *t = *(const struct survey_tensor *const *)b;
	const struct match *m = &s->match, *n = &t->match;

	if (m->rule->role != n->rule->role)
		return m->rule->role < n->rule->role ? -1 : 1;
	if (m->block != n->block)
		return m->block < n->block ? -1 : 1;
	if (m->expert != n->expert)
		return m->expert < n->expert ? -1 : 1;
	return m->bias - n->bias;
}

int
values_compare(const struct survey *s, const struct survey *reference, struct findings *f,
               struct err *e)
{
	const struct survey_tensor **named = mem_array(reference->count, sizeof *named);
	const struct survey_tensor **roles = mem_array(reference->count, sizeof *roles), **r;
	size_t i, n = 0, k = 0;

	for (i = 0; named && roles && i < reference->count; i++) {
		const struct survey_tensor *t = &reference->tensors[i];

		if (t->read)
			named[n++] = t;
		if (t->read && t->known && t->match.rule->role != ROLES)
			roles[k++] = t;
	}
	if (named && roles) {
		qsort(named, n, sizeof *named, by_name);
		qsort(roles, k, sizeof *roles, by_role);
	}
	for (i = 0; named && roles && i < s->count; i++) {
		const struct survey_tensor *t = &s->tensors[i];

		if (!t->read)
			continue;
		r = bsearch(&t, named, n, sizeof *named, by_name);
		if (!r && t->known && t->match.rule->role != ROLES)
			r = bsearch(&t, roles, k, sizeof *roles, by_role);
		if (r && is_same(t, *r))
			compare(s, t, reference, *r, f);
		else
			findings_add_at(f, &values_rules[VALUES_REFERENCE], FINDING_INFO,
			                tensor_name(t->t), "the reference has no such tensor");
	}
	free(named);
	free(roles);
	return named && roles ? 0 : err_memory(e);
}
