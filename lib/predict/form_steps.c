/* Steps of a model as tensors, and back (form.h). The sizes of the arrays follow from the kind. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/form_words.h"
#include "predict/grams.h"
#include "predict/onnx/onnxops.h"
#include "predict/step_features.h"
#include "predict/step_models.h"
#include "predict/step_text.h"

/* What an array of a step holds. MAYBE: it can be missing. */
enum size { NONE, IN, OUT, IN_OUT, N, N_IN, N_OUT, BY_K, SUMS, K, IN_OUT_IN, MAYBE = 16 };

struct row {
	const char *name;
	const struct step_kind *kind;
	unsigned a, b, c, list;
	bool same;          /* gives as many values as it takes */
	unsigned modes;     /* of s->mode */
	int (*put)(const struct form_target *to, const struct step *s, size_t i, json_t *o);
	int (*read)(struct form_source *x, const json_t *o, size_t i, struct step *s);
};

static const struct row rows[] = {
	{ "shift", &step_shift, IN | MAYBE, IN | MAYBE, NONE, NONE, true, 1, NULL, NULL },
	{ "stretch", &step_stretch, IN | MAYBE, IN | MAYBE, NONE, NONE, true, STEP_CLIP + 1, NULL, NULL },
	{ "norm", &step_norm, NONE, NONE, NONE, NONE, true, STEP_MAX + 1, NULL, NULL },
	{ "binarize", &step_binarize, NONE, NONE, NONE, NONE, true, 1, NULL, NULL },
	{ "impute", &step_impute, IN, NONE, NONE, NONE, true, STEP_VALUE + 1, NULL, NULL },
	{ "project", &step_project, IN | MAYBE, IN_OUT, OUT | MAYBE, NONE, false, 1, NULL, NULL },
	{ "back", &step_back, OUT | MAYBE, IN_OUT, NONE, NONE, false, 1, NULL, NULL },
	{ "tfidf", &step_tfidf, IN | MAYBE, NONE, NONE, NONE, true, STEP_SUBLINEAR + 1, NULL, NULL },
	{ "layer", &step_layer, OUT | MAYBE, IN_OUT, NONE, NONE, false, STEP_SOFTMAX + 1, NULL, NULL },
	{ "gauss", &step_gauss, IN_OUT, IN_OUT, OUT, NONE, false, 1, NULL, NULL },
	{ "nearest", &step_nearest, N_IN, N_OUT, NONE, NONE, false, STEP_COSINE + 1, NULL, NULL },
	{ "vote", &step_vote, N_IN, NONE, NONE, N, false, STEP_COSINE + 1, NULL, NULL },
	{ "support", &step_support, N_IN, BY_K, SUMS, K, false, STEP_SIGMOID + 1, NULL, NULL },
	{ "select", &step_select, NONE, NONE, NONE, OUT, false, 1, NULL, NULL },
	{ "marks", &step_marks, NONE, NONE, NONE, OUT, false, MARKS_VALUE + 1, NULL, NULL },
	{ "poly", &step_poly, NONE, NONE, NONE, NONE, false, (POLY_ALONE | POLY_ONE) + 1, NULL, NULL },
	{ "bins", &step_bins, N, NONE, NONE, IN, false, BINS_ONEHOT + 1, NULL, NULL },
	{ "interpolate", &step_interpolate, N, N, NONE, IN, true, INTERPOLATE_NORMAL + 1, NULL, NULL },
	{ "power", &step_power, IN, NONE, NONE, NONE, true, POWER_BOX_COX + 1, NULL, NULL },
	{ "function", &step_function, NONE, NONE, NONE, NONE, true, FUNCTIONS, NULL, NULL },
	{ "quadratic", &step_quadratic, IN_OUT, IN_OUT_IN, OUT, NONE, false, 1, NULL, NULL },
	{ "onehot", &step_onehot, NONE, NONE, NONE, NONE, false, 1, form_put_encoder, form_read_encoder },
	{ "ordinal", &step_ordinal, NONE, NONE, NONE, NONE, true, 1, form_put_encoder, form_read_encoder },
	{ "words", &step_words, NONE, NONE, NONE, NONE, false, 1, form_put_bag, form_read_bag },
	{ "parts", &step_parts, NONE, NONE, NONE, NONE, false, 1, form_put_parts, form_read_parts },
	{ "texts", &step_parts_texts, NONE, NONE, NONE, NONE, false, 1, form_put_parts, form_read_parts },
	{ "grams", &step_grams, NONE, NONE, NONE, NONE, false, 1, form_put_grams, form_read_grams },
	{ "models", &step_models, NONE, NONE, NONE, NONE, false, 1, form_put_models, form_read_models },
	{ "models of texts", &step_models_texts, NONE, NONE, NONE, NONE, false, 1, form_put_models, form_read_models },
};

/* The number of values; 0: there is no such array. */
static uint64_t
size_of(const struct step *s, unsigned size)
{
	uint64_t in = s->in, out = s->out, n = s->n;

	switch (size & ~(unsigned)MAYBE) {
	case IN:
		return in;
	case OUT:
	case SUMS:
		return out;
	case IN_OUT:
		return in * out;
	case N:
		return n;
	case N_IN:
		return n * in;
	case N_OUT:
		return n * out;
	case BY_K:
		return s->k ? (s->k - 1) * n : n;
	case K:
		return s->k;
	case IN_OUT_IN: /* more than there can be, if it would be too many to count */
		return in <= 65536 ? in * out * in : UINT64_MAX;
	default:
		return 0;
	}
}

/* What the products of a step count in the budget. */
static uint64_t
products(const struct step *s)
{
	return s->kind == &step_poly ? 16 * ((uint64_t)s->weigh + s->out) : 0;
}

/* ---- writing ---- */

static void
put_array(struct form *to, size_t i, const char *what, const double *v, uint64_t n)
{
	char name[32];

	form_name_of(name, i, what);
	if (v && n)
		form_put(form_part(to, name, "F64", n, 0), v, (size_t)n);
}

/* Names a step that has no tensors; of a graph, its operators. */
static int
refuse(const struct step *s, const char *where, struct err *e)
{
	struct buf names = { 0 };

	if (s->kind != &step_graph && s->kind != &step_graph_texts)
		return err_set(e, ERR_FORMAT, where, "a model that computes in steps (%s) does not become tensors",
		               s->kind->name);
	onnxops_names(s, &names);
	err_set(e, ERR_FORMAT, where, "a pipeline of ONNX (%s) does not become tensors",
	        buf_string(&names) ? (const char *)names.p : "operators");
	buf_free(&names);
	return -1;
}

static int
put_step(const struct form_target *target, const struct step *s, json_t *list)
{
	struct form *to = target->to;
	char name[32];
	size_t k, n = sizeof rows / sizeof *rows, j, i = (*target->number)++;
	struct buf *b;
	json_t *o;

	for (k = 0; k < n && rows[k].kind != s->kind; k++)
		;
	if (k == n || !isfinite(s->x) || !isfinite(s->y))
		return refuse(s, target->where, target->e);
	if (i >= FORM_STEPS)
		return err_set(target->e, ERR_FORMAT, target->where, "a model of more than %d steps does not become tensors",
		               FORM_STEPS);
	target->budget->cells += s->in + s->out + products(s);
	if (target->budget->cells > FORM_CELLS)
		return err_set(target->e, ERR_FORMAT, target->where, "models with more than 2^28 values for a row in all "
		               "steps do not become tensors");
	put_array(to, i, "a", s->a, size_of(s, rows[k].a));
	put_array(to, i, "b", s->b, size_of(s, rows[k].b));
	put_array(to, i, "c", s->c, size_of(s, rows[k].c));
	n = s->list ? (size_t)size_of(s, rows[k].list) : 0;
	if (n) {
		form_name_of(name, i, "list");
		b = form_part(to, name, "I32", n, 0);
		for (j = 0; j < n; j++)
			buf_u32(b, s->list[j]);
	}
	o = json_pack("{s:s,s:I,s:I,s:I,s:I,s:i,s:i,s:f,s:f}", "kind", rows[k].name,
	              "in", (json_int_t)s->in, "out", (json_int_t)s->out, "n", (json_int_t)s->n,
	              "k", (json_int_t)s->k, "mode", (int)s->mode, "weigh", s->kind == &step_poly ? 0 : (int)s->weigh,
	              "x", s->x, "y", s->y);
	if (!o || json_array_append_new(list, o) < 0)
		return err_memory(target->e);
	for (k = 0; rows[k].kind != s->kind; k++)
		;
	return rows[k].put ? rows[k].put(target, s, i, o) : 0;
}

int
form_put_list(const struct form_target *to, const struct step *steps, size_t n, json_t *list)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (put_step(to, &steps[i], list) < 0)
			return -1;
	return 0;
}

int
form_put_steps(const struct form_target *of, const struct predictor *m, json_t *o)
{
	json_t *list = json_array();
	size_t pairs, number = 0;
	struct form_target target = *of;
	int r;

	target.number = &number;
	r = form_put_list(&target, m->steps, m->step_count, list);
	pairs = m->step_count ? m->steps[m->step_count - 1].out : 0;
	if (r == 0 && m->platt)
		form_put(form_part(of->to, "pairs.platt", "F64", pairs, 2), m->platt, 2 * pairs);
	if (json_object_set_new(o, "steps", list) < 0 ||
	    json_object_set_new(o, "inner", json_integer((json_int_t)m->inner)) < 0)
		return err_memory(of->e);
	return r;
}

/* ---- reading ---- */

static int
read_array(const struct form_source *x, const struct step *s, size_t i, const char *what, unsigned size,
           double **to)
{
	uint64_t n = size_of(s, size);
	char name[32];

	form_name_of(name, i, what);
	if (n == 0 || (size & MAYBE && !form_has(x, name)))
		return 0;
	*to = form_doubles(x, name, n);
	return *to ? 0 : -1;
}

static int
spend(const struct form_source *x, uint64_t cells)
{
	x->budget->cells += cells;
	return x->budget->cells > FORM_CELLS ? -1 : 0;
}

static uint64_t
number(const json_t *o, const char *name, uint64_t most)
{
	uint64_t v;

	return json_member_u64(o, name, &v) == 0 && v <= most ? v : UINT64_MAX;
}

/* The numbers of a step, each in its bounds. */
static int
read_numbers(const struct form_source *x, const json_t *o, size_t i, const struct row *r, struct step *s)
{
	uint64_t in = number(o, "in", FOREST_FEATURES), out = number(o, "out", FOREST_FEATURES);
	uint64_t n = number(o, "n", UINT32_MAX), k = number(o, "k", UINT32_MAX);
	uint64_t mode = number(o, "mode", r->modes - 1), weigh = number(o, "weigh", 1024);

	if (in == UINT64_MAX || out == UINT64_MAX || n == UINT64_MAX || k == UINT64_MAX || mode == UINT64_MAX ||
	    weigh == UINT64_MAX || in == 0 || out == 0)
		return form_wrong(x, i, "a number is missing, or out of its bounds");
	if (spend(x, in + out) < 0)
		return form_wrong(x, i, "all steps take and give too many values");
	*s = (struct step){ .kind = r->kind, .in = (size_t)in, .out = (size_t)out, .n = (size_t)n,
		.k = (size_t)k, .mode = (unsigned)mode, .weigh = (unsigned)weigh,
		.x = json_number_value(json_object_get(o, "x")), .y = json_number_value(json_object_get(o, "y")) };
	if (!isfinite(s->x) || !isfinite(s->y))
		return form_wrong(x, i, "x or y is not finite");
	return r->same && in != out ? form_wrong(x, i, "it gives not as many values as it takes") : 0;
}

/* What k is, and what the list holds. */
static int
check(const struct form_source *x, size_t i, const struct step *s)
{
	bool nearest = s->kind == &step_nearest || s->kind == &step_vote;
	uint64_t sum = 0;
	size_t j;

	if (s->kind == &step_tfidf && s->k > STEP_MAX)
		return form_wrong(x, i, "the norm is not known");
	if (nearest && (s->k < 1 || s->k > s->n || (s->mode == STEP_MINKOWSKI && !(s->x >= 1))))
		return form_wrong(x, i, "the neighbours or the metric are wrong");
	if (!step_features_fit(s))
		return form_wrong(x, i, "its lists do not fit");
	for (j = 0; s->kind == &step_vote && j < s->n; j++)
		if (s->list[j] >= s->out || s->out > PREDICT_OUTPUTS)
			return form_wrong(x, i, "a row has a class that does not exist");
	if (s->kind != &step_support)
		return 0;
	if (s->n == 0 || (s->k == 0 ? s->out != 1
	                            : s->k < 2 || s->k > PREDICT_PAIRED || s->out != s->k * (s->k - 1) / 2))
		return form_wrong(x, i, "the classes of the support vectors are wrong");
	for (j = 0; j < s->k; j++)
		sum += s->list[j];
	return s->k && sum != s->n ? form_wrong(x, i, "the support vectors of the classes are not all of them") : 0;
}

/* Products are counted again, and are few in all, as numbers in the key alone make them. */
static int
read_products(const struct form_source *x, size_t i, struct step *s)
{
	size_t out = s->out;

	s->weigh = 0;
	if (step_poly_begin(s, x->e) < 0)
		return -1;
	if (spend(x, products(s)) < 0)
		return form_wrong(x, i, "all steps make too many products");
	return s->out == out ? 0 : form_wrong(x, i, "it has another number of products");
}

static int
read_step(struct form_source *x, const json_t *o)
{
	size_t i = x->number++;
	const char *kind = json_string_value(json_object_get(o, "kind"));
	struct step *s = predictor_add_step(x->m);
	char name[32];
	size_t k, n = sizeof rows / sizeof *rows;

	for (k = 0; k < n && (!kind || strcmp(rows[k].name, kind) != 0); k++)
		;
	if (i >= FORM_STEPS)
		return form_wrong(x, i, "there are too many");
	if (!s || k == n)
		return s ? form_wrong(x, i, "its kind is not known here") : err_memory(x->e);
	if (read_numbers(x, o, i, &rows[k], s) < 0 ||
	    ((s->kind == &step_support) && s->k > PREDICT_PAIRED && form_wrong(x, i, "it has too many classes") < 0) ||
	    read_array(x, s, i, "a", rows[k].a, &s->a) < 0 || read_array(x, s, i, "b", rows[k].b, &s->b) < 0 ||
	    read_array(x, s, i, "c", rows[k].c, &s->c) < 0)
		return -1;
	if (rows[k].read)
		return rows[k].read(x, o, i, s);
	if (s->kind == &step_poly)
		return read_products(x, i, s);
	n = (size_t)size_of(s, rows[k].list);
	form_name_of(name, i, "list");
	if (n && !(s->list = form_words(x, name, n)))
		return -1;
	return check(x, i, s);
}

int
form_read_list(struct form_source *x, const json_t *list)
{
	size_t i, n = json_array_size(list);

	for (i = 0; i < n; i++)
		if (read_step(x, json_array_get(list, i)) < 0)
			return -1;
	return 0;
}

/* Pairs of classes are what support vectors decide between. */
static int
read_pairs(struct form_source *x)
{
	struct predictor *m = x->m;
	const struct step *last = m->step_count ? &m->steps[m->step_count - 1] : NULL;
	bool pairs = m->task == PREDICT_PAIRS;

	if (!pairs && m->link != LINK_PAIRS)
		return 0;
	if (!pairs || m->form != PREDICT_STEPS || !last || last->kind != &step_support || last->k < 2 ||
	    (m->link != LINK_PAIRS && m->link != LINK_NONE))
		return err_set(x->e, ERR_CORRUPT, x->w->name, FORM_KEY " has pairs without their support vectors");
	m->classes = last->k;
	if (m->link == LINK_PAIRS)
		m->platt = form_doubles(x, "pairs.platt", 2 * (uint64_t)last->out);
	return m->link == LINK_PAIRS && !m->platt ? -1 : 0;
}

int
form_read_steps(struct form_source *x)
{
	const json_t *list = json_object_get(x->o, "steps");
	size_t n = json_array_size(list);
	uint64_t inner = number(x->o, "inner", FOREST_FEATURES);

	if (n > FORM_STEPS || (n > 0 && (inner == UINT64_MAX || inner == 0)) ||
	    (n == 0 && x->m->form == PREDICT_STEPS))
		return err_set(x->e, ERR_CORRUPT, x->w->name, FORM_KEY " has no steps, too many, or no inner");
	if (form_read_list(x, list) < 0)
		return -1;
	if (n)
		x->m->features = (size_t)inner;
	return read_pairs(x);
}
