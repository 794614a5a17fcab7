/* Leaves that are lines: LightGBM's linear trees. Source: its Tree::Predict (include/LightGBM/tree.h). */
#include <math.h>
#include <stdio.h>

#include "core/mem.h"
#include "predict/walk.h"

static int
wrong(const struct forest *f, const char *where, struct err *e, const char *fact)
{
	char object[400];

	snprintf(object, sizeof object, "%.300s, tree %zu", where, f->tree_count);
	return err_set(e, ERR_CORRUPT, object, "%s", fact);
}

int
lines_put(struct forest *f, const struct tree *t, const struct tree_node *x, const char *where,
          struct err *e)
{
	const struct forest_term *terms = (const struct forest_term *)(const void *)t->terms.p;
	size_t i, all = t->terms.n / sizeof *terms;

	if (f->width != 1 || x->term > all || x->term_count > all - x->term)
		return wrong(f, where, e, "the line of a leaf is outside its list");
	for (i = 0; i < x->term_count; i++)
		if (terms[x->term + i].feature >= f->features)
			return wrong(f, where, e, "the line of a leaf has a feature that the model lacks");
	if (mem_grow(&f->lines, &f->line_cap, f->leaf_count, sizeof *f->lines) < 0)
		return err_memory(e);
	f->lines[f->leaf_count - 1] = (struct forest_line){ .line = true, .constant = x->constant,
		.term = f->terms.n / sizeof *terms, .terms = x->term_count };
	if (x->term_count) /* else there may be no list */
		buf_put(&f->terms, terms + x->term, x->term_count * sizeof *terms);
	return buf_ok(&f->terms) ? 0 : err_memory(e);
}

/* What a row gets from a leaf. LightGBM reads what is next to zero as zero. */
static double
value(const struct forest *f, size_t leaf, const double *row)
{
	const struct forest_line *line = leaf < f->line_cap ? &f->lines[leaf] : NULL;
	const struct forest_term *terms = (const struct forest_term *)(const void *)f->terms.p;
	double sum;
	size_t i;

	if (!line || !line->line)
		return f->values[leaf];
	sum = line->constant;
	for (i = line->term; i < line->term + line->terms; i++) {
		double x = row[terms[i].feature];

		if (isnan(x))
			return f->values[leaf];
		sum += fabs(x) > FOREST_ZERO_LIMIT ? terms[i].weight * x : 0;
	}
	return sum;
}

void
lines_rows(const struct forest *f, const double *rows, size_t n, bool missing, double *sums,
           uint32_t *leaves)
{
	uint32_t leaf[FOREST_BLOCK];
	size_t i, k;

	for (k = 0; k < f->tree_count; k++) {
		walk_leaves(f, &f->trees[k], rows, n, missing, leaf);
		for (i = 0; sums && i < n; i++)
			sums[i * f->groups + f->trees[k].group] += value(f, leaf[i], rows + i * f->features);
		for (i = 0; leaves && i < n; i++)
			leaves[i * f->tree_count + k] = f->ids[leaf[i]];
	}
}
