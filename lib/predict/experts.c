#include "predict/experts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

void
experts_free(void *more)
{
	struct experts *x = more;
	size_t i;

	for (i = 0; x && x->models && i < x->n; i++)
		predictor_free(&x->models[i]);
	if (x) {
		free(x->models);
		free(x->weights);
	}
	free(x);
}

/* ---- the gate ---- */

struct gate {
	float weight;
	size_t expert;
};

/* The gates of a row in the order of the experts. */
static void
weigh(const struct experts *x, const double *row, struct gate *to)
{
	float most = -HUGE_VALF, sum = 0;
	size_t i, j;

	for (j = 0; j < x->n; j++) {
		float logit = 0;

		for (i = 0; i < x->used; i++)
			logit += (float)row[i] * x->weights[i * x->n + j];
		to[j] = (struct gate){ logit / x->temperature, j };
		most = fmaxf(most, to[j].weight);
	}
	for (j = 0; j < x->n; j++) {
		to[j].weight = expf(to[j].weight - most);
		sum += to[j].weight;
	}
	for (j = 0; j < x->n; j++)
		to[j].weight /= sum;
}

/* The greater weight first, one that is not a number last. */
static int
by_weight(const void *a, const void *b)
{
	const struct gate *x = a, *y = b;

	if (x->weight != y->weight && !(isnan(x->weight) && isnan(y->weight)))
		return isnan(y->weight) || x->weight > y->weight ? -1 : 1;
	return x->expert < y->expert ? -1 : 1;
}

/* The gates of those that count, in front, their sum 1. */
static void
choose(const struct experts *x, const double *row, struct gate *to)
{
	float sum = 0;
	size_t k;

	weigh(x, row, to);
	qsort(to, x->n, sizeof *to, by_weight);
	for (k = 0; k < x->top; k++)
		sum += to[k].weight;
	for (k = 0; k < x->top; k++)
		to[k].weight /= sum;
}

/* ---- the experts ---- */

/* What a mixture needs while it computes a row. */
struct desk {
	struct step_rows row, spare;
	struct gate *gates;
	double *scores, *v;
};

static int
desk_begin(struct desk *d, const struct experts *x, struct err *e)
{
	size_t i, outputs = 0, room = 0;

	for (i = 0; i < x->n; i++) {
		outputs = x->models[i].outputs > outputs ? x->models[i].outputs : outputs;
		room = predict_room(&x->models[i]) > room ? predict_room(&x->models[i]) : room;
	}
	*d = (struct desk){ .row = { .n = 0 } };
	d->gates = mem_array(x->n, sizeof *d->gates);
	d->scores = mem_array(outputs, sizeof *d->scores);
	d->v = mem_array(room, sizeof *d->v);
	return d->gates && d->scores && d->v ? 0 : err_memory(e);
}

static void
desk_free(struct desk *d)
{
	step_rows_free(&d->row);
	step_rows_free(&d->spare);
	free(d->gates);
	free(d->scores);
	free(d->v);
}

/* Adds what an expert says of a row. */
static int
add(struct desk *d, const struct predictor *m, float weight, const double *row, double *to, struct err *e)
{
	size_t k;

	if (step_rows_begin(&d->row, 1, m->features, e) < 0)
		return -1;
	memcpy(step_row(&d->row, 0), row, m->features * sizeof *row);
	if (predict_block(m, &d->row, &d->spare, true, d->scores, NULL, e) < 0)
		return -1;
	predict_link(m, d->scores, d->v);
	for (k = 0; k < predict_columns(m); k++)
		to[k] = (double)((float)to[k] + weight * (float)d->v[k]);
	return 0;
}

static int
mix(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct experts *own = s->more;
	struct step_rows to = { .n = 0 };
	struct desk d;
	size_t i, k;
	int r = desk_begin(&d, own, e) < 0 ? -1 : step_rows_begin(&to, x->n, s->out, e);

	(void)spare;
	for (i = 0; r == 0 && i < x->n; i++) {
		choose(own, step_row(x, i), d.gates);
		for (k = 0; r == 0 && k < own->top; k++)
			r = add(&d, &own->models[d.gates[k].expert], d.gates[k].weight, step_row(x, i), step_row(&to, i),
			        e);
	}
	desk_free(&d);
	if (r == 0)
		step_rows_swap(x, &to);
	step_rows_free(&to);
	return r;
}

static const struct step_kind step_experts = { "mixture of experts", false, false, mix };

/* ---- the step ---- */

/* Finds the number of features, which all experts have; but a tree may use fewer than there are. */
static int
count_features(const struct experts *x, size_t *features, const char *where, struct err *e)
{
	const struct predictor *first = &x->models[0];
	size_t i;

	*features = first->form == PREDICT_TREES ? x->features : first->features;
	for (i = 0; i < x->n; i++) {
		const struct predictor *m = &x->models[i];

		if (m->form != PREDICT_TREES && m->features != *features)
			return err_set(e, ERR_CORRUPT, where, "expert %zu has %zu features, the first %zu", i, m->features,
			               *features);
		*features = m->features > *features ? m->features : *features;
	}
	return 0;
}

int
experts_begin(struct predictor *m, struct experts *x, const char *where, struct err *e)
{
	struct step *s = predictor_add_step(m);
	size_t i, features;

	if (!s) {
		experts_free(x);
		return err_memory(e);
	}
	*s = (struct step){ .kind = &step_experts, .more = x, .free_more = experts_free };
	if (count_features(x, &features, where, e) < 0)
		return -1;
	x->used = x->features < features ? x->features : features;
	for (i = 0; i < x->n; i++)
		s->out = predict_columns(&x->models[i]) > s->out ? predict_columns(&x->models[i]) : s->out;
	m->kind = "mixture of experts";
	m->form = PREDICT_STEPS;
	m->task = x->models[0].task == PREDICT_VALUE ? PREDICT_VALUE : PREDICT_CLASSES;
	m->link = m->task == PREDICT_VALUE ? LINK_NONE : LINK_SHARE;
	m->features = s->in = features;
	m->outputs = s->out;
	m->rounds = m->single = m->refuses_nan = true;
	return 0;
}
