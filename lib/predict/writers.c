#include "predict/writers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "predict/walk.h"

int
writer_refuse(const struct writer *w, const char *what)
{
	return err_set(w->e, ERR_INVALID, w->where, "%s cannot hold %s: ExportFailed", w->title, what);
}

float
writer_threshold(double t)
{
	float f = (float)t;

	return (double)f > t ? nextafterf(f, -HUGE_VALF) : f;
}

uint32_t
writer_nodes(const struct forest *f, size_t tree)
{
	uint32_t root = f->trees[tree].root, i, end = root + 1;

	for (i = root; i < end; i++)
		if (f->nodes[i].left != i && f->nodes[i].left + 2 > end)
			end = f->nodes[i].left + 2;
	return end - root;
}

static void
say(const struct writer *w, const char *what)
{
	char text[200];

	snprintf(text, sizeof text, "%s, in %s", what, w->title);
	if (w->note)
		w->note(text);
}

static int
check_trees(const struct writer *w)
{
	const struct forest *f = &w->m->forest;
	uint32_t i, n;
	size_t k;

	if (f->tree_count < (f->width == 1 ? f->groups : 1))
		return writer_refuse(w, "an output without trees");
	if (f->lines)
		return writer_refuse(w, "leaves that are lines");
	for (k = 0; k < f->tree_count; k++)
		for (i = 0, n = writer_nodes(f, k); i < n; i++)
			if (f->nodes[f->trees[k].root + i].word & WALK_ZEROS)
				return writer_refuse(w, "splits for which a zero is a missing value");
	return 0;
}

static int
find_first(struct writer *w)
{
	const struct forest *f = &w->m->forest;
	bool *seen = mem_array(f->groups, sizeof *seen);
	size_t i, k;

	w->first = mem_array(f->tree_count + 1, sizeof *w->first);
	for (i = 0; seen && w->first && i < f->tree_count; i++) {
		k = f->width == 1 ? f->trees[i].group : 0;
		w->first[i] = !seen[k];
		seen[k] = true;
	}
	for (k = 0, i = 0; seen && f->width == 1 && k < f->groups; k++)
		i += !seen[k];
	free(seen);
	return !seen || !w->first ? err_memory(w->e) : i ? writer_refuse(w, "an output without trees") : 0;
}

int
writer_refuse_link(const struct writer *w)
{
	static const char *const links[] = {
		[LINK_NONE] = "classes by their scores, without probabilities",
		[LINK_SIGMOID] = "the logistic function of a score for each class",
		[LINK_SOFTMAX] = "the softmax of values",
		[LINK_EXP] = "the exponential function of a score",
		[LINK_LOG1P_EXP] = "ln(1 + exp(x)) of a score",
		[LINK_SQUARE] = "the square of a score",
		[LINK_HINGE] = "classes by the sign of a score",
		[LINK_SHARE] = "scores that are probabilities already",
		[LINK_EACH] = "the logistic function of a score for each class, divided by their sum",
		[LINK_PAIRS] = "probabilities of pairs of classes",
		[LINK_SHARP] = "the softmax of scores times a factor",
		[LINK_PORTION] = "scores divided by their sum",
		[LINK_PROBIT] = "the normal distribution function of a score",
		[LINK_CLOGLOG] = "1 - exp(-exp(x)) of a score",
		[LINK_LOGLOG] = "exp(-exp(-x)) of a score",
		[LINK_CAUCHIT] = "the arc tangent of a score",
	};
	const struct predictor *m = w->m;
	bool several = m->task == PREDICT_VALUE && m->outputs > 1;

	return writer_refuse(w, several ? "several values for a row" : links[m->link]);
}

int
writer_begin(struct writer *w)
{
	const struct predictor *m = w->m;

	if (m->words && m->step_count == 0)
		return writer_refuse(w, "features that are texts");
	if (!w->steps && (m->step_count || (m->form != PREDICT_TREES && m->form != PREDICT_LINEAR)))
		return writer_refuse(w, "models that are neither trees nor linear");
	if ((!w->steps && m->task == PREDICT_PAIRS) || m->task == PREDICT_CLUSTER || m->form == PREDICT_CENTERS)
		return writer_refuse(w, "pairs of classes or clusters");
	if (!m->single)
		say(w, "numbers are rounded to single precision, as are sums");
	if (m->form == PREDICT_TREES && !m->rounds)
		say(w, "values of rows are rounded to single precision before they are compared");
	return m->form == PREDICT_TREES && (check_trees(w) < 0 || find_first(w) < 0) ? -1 : 0;
}

void
writer_end(struct writer *w)
{
	free(w->first);
	w->first = NULL;
}

float
writer_leaf(const struct writer *w, size_t tree, uint32_t node, size_t k)
{
	const struct forest *f = &w->m->forest;
	size_t output = f->width == 1 ? f->trees[tree].group : k;
	size_t each = f->width == 1 ? f->tree_count / f->groups : f->tree_count;
	double v = f->values[(size_t)f->leaf[node] * f->width + k];
	double base = w->first[tree] ? f->base[output] : 0;
	double bias = w->first[tree] && f->scaled ? f->bias[output] : 0;
	double by = (f->average && each ? 1 / (double)each : 1) * (f->scaled ? f->scale : 1);
	double sharp = w->m->link == LINK_SIGMOID ? w->m->sharpness : 1;

	if (f->single && by == 1 && sharp == 1)
		return ((float)base + (float)v) + (float)bias;
	return (float)(((base + v) * by + bias) * sharp);
}
