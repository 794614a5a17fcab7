/* Operators of ai.onnx.ml: categories, columns, scaling. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/onnx/onnxops.h"

#define RUN struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in, struct ops_tensor *out

/* ---- tables ---- */

static int
by_key(const void *x, const void *y)
{
	const struct ops_key *a = x, *b = y;
	size_t least = a->text.n < b->text.n ? a->text.n : b->text.n;
	int c = least ? memcmp(a->text.p, b->text.p, least) : 0;

	if (c)
		return c;
	if (a->text.n != b->text.n)
		return a->text.n < b->text.n ? -1 : 1;
	if (isnan(a->number) || isnan(b->number))
		c = (isnan(a->number) != 0) - (isnan(b->number) != 0);
	else
		c = (a->number > b->number) - (a->number < b->number);
	return c;
}

static int
by_key_and_place(const void *x, const void *y)
{
	const struct ops_key *a = x, *b = y;
	int c = by_key(x, y);

	return c ? c : (a->at > b->at) - (a->at < b->at);
}

int
ops_table(struct ops_table *t, const double *numbers, const struct step_text *texts, size_t n)
{
	size_t i;

	t->keys = mem_array(n, sizeof *t->keys);
	t->n = n;
	t->texts = texts != NULL;
	for (i = 0; t->keys && i < n; i++)
		t->keys[i] = (struct ops_key){ texts ? texts[i] : (struct step_text){ NULL, 0 }, texts ? 0 : numbers[i], i };
	if (t->keys)
		qsort(t->keys, n, sizeof *t->keys, by_key_and_place);
	return t->keys ? 0 : -1;
}

size_t
ops_search(const struct ops_table *t, double number, struct step_text text)
{
	const struct ops_key key = { t->texts ? text : (struct step_text){ NULL, 0 }, t->texts ? 0 : number, 0 };
	size_t low = 0, high = t->n, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (by_key(&t->keys[at], &key) < 0)
			low = at + 1;
		else
			high = at;
	}
	return low < t->n && by_key(&t->keys[low], &key) == 0 ? t->keys[low].at : SIZE_MAX;
}

static size_t
search(const struct ops_table *t, const struct ops_tensor *x, size_t i)
{
	static const struct step_text none = { "", 0 };

	return x->type == OPS_STRING ? ops_search(t, 0, x->t[i]) : ops_search(t, x->v[i], none);
}

/* ---- maps ---- */

/* Texts or numbers become others: one table, or one for each direction. */
struct mapping {
	struct direction {
		struct ops_table from;
		unsigned type;               /* of the results */
		const double *numbers;       /* NULL for numbers: the place itself */
		const struct step_text *texts;
		double number;               /* for what is unknown */
		struct step_text text;
	} ways[2];                           /* from numbers, from texts */
};

static void
mapping_free(void *more)
{
	struct mapping *m = more;

	free(m->ways[0].from.keys);
	free(m->ways[1].from.keys);
	free(m);
}

static struct mapping *
mapping_new(struct ops_reader *x, struct ops_node *n)
{
	struct mapping *m = mem_array(1, sizeof *m);

	if (!m) {
		err_memory(x->x->e);
		return NULL;
	}
	n->more = m;
	n->free_more = mapping_free;
	return m;
}

static int
apply_map(RUN)
{
	const struct mapping *m = n->more;
	const struct ops_tensor *x = in[0];
	const struct direction *d = &m->ways[x->type == OPS_STRING];
	size_t i, at;

	if (!d->from.keys)
		return ops_wrong(r, n, "the input is of another type than the keys");
	if (ops_like(r, n, out, d->type, x) < 0 || ops_work(r, n, 20 * x->n) < 0)
		return -1;
	for (i = 0; i < x->n; i++) {
		at = n->version < 4 && x->v && isnan(x->v[i]) ? SIZE_MAX : search(&d->from, x, i);
		if (d->type == OPS_STRING)
			out->t[i] = at == SIZE_MAX ? d->text : d->texts[at];
		else
			out->v[i] = at == SIZE_MAX ? d->number : d->numbers ? d->numbers[at] : (double)at;
	}
	return ops_round(r, n, out);
}

static struct step_text
default_text(const struct ops_node *n)
{
	const struct ops_attribute *a = ops_attribute(n, "default_string");

	return a && a->text.p ? a->text : (struct step_text){ "_Unused", 7 };
}

/* The keys or values of LabelEncoder: of an attribute or a tensor. */
static bool
get_list(const struct ops_node *n, const char *what, const double **numbers, const struct step_text **texts, size_t *count,
         unsigned *type)
{
	static const struct { const char *end; unsigned type; } kinds[] = {
		{ "_strings", OPS_STRING }, { "_int64s", OPS_INT64 }, { "_floats", OPS_FLOAT }, { "_tensor", 0 },
	};
	char name[32];
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct ops_attribute *a;

		strcpy(name, what);
		strcat(name, kinds[i].end);
		a = ops_attribute(n, name);
		if (!a)
			continue;
		*type = kinds[i].type ? kinds[i].type : a->tensor.type;
		*numbers = kinds[i].type ? a->list : a->tensor.v;
		*texts = kinds[i].type ? a->texts : a->tensor.t;
		*count = !kinds[i].type ? a->tensor.n : kinds[i].type == OPS_STRING ? a->text_count : a->count;
		return *type && (*type == OPS_STRING ? *texts != NULL : *numbers != NULL);
	}
	return false;
}

/* Classes and their numbers, both ways. */
static int
open_places(struct ops_reader *x, struct ops_node *n, const char *texts, const char *numbers)
{
	const struct ops_attribute *a = ops_attribute(n, texts), *b = numbers ? ops_attribute(n, numbers) : NULL;
	struct mapping *m = mapping_new(x, n);

	if (!m)
		return -1;
	if (!a || !a->text_count || (numbers && (!b || b->count != a->text_count)))
		return ops_reader_wrong(x, n, "the lists of categories do not fit");
	m->ways[1].type = OPS_INT64;
	m->ways[1].numbers = b ? b->list : NULL;
	m->ways[1].number = ops_number(n, "default_int64", -1);
	m->ways[0].type = OPS_STRING;
	m->ways[0].texts = a->texts;
	m->ways[0].text = default_text(n);
	if (!b) { /* numbers of classes are places */
		double *places = ops_take(&x->g->memory, a->text_count, sizeof *places);
		size_t i;

		for (i = 0; places && i < a->text_count; i++)
			places[i] = (double)i;
		if (!places || ops_table(&m->ways[0].from, places, NULL, a->text_count) < 0)
			return err_memory(x->x->e);
	} else if (ops_table(&m->ways[0].from, b->list, NULL, b->count) < 0) {
		return err_memory(x->x->e);
	}
	return ops_table(&m->ways[1].from, NULL, a->texts, a->text_count) < 0 ? err_memory(x->x->e) : 0;
}

static int
open_labels(struct ops_reader *x, struct ops_node *n)
{
	const struct ops_attribute *d = ops_attribute(n, "default_tensor");
	const double *keys = NULL, *values = NULL;
	const struct step_text *key_texts = NULL, *value_texts = NULL;
	size_t count = 0, results = 0;
	unsigned from = 0, to = 0;
	struct direction *way;
	struct mapping *m;

	if (ops_attribute(n, "classes_strings"))
		return open_places(x, n, "classes_strings", NULL);
	if (!get_list(n, "keys", &keys, &key_texts, &count, &from) ||
	    !get_list(n, "values", &values, &value_texts, &results, &to) || count != results)
		return ops_reader_wrong(x, n, "the keys do not fit the values");
	m = mapping_new(x, n);
	if (!m)
		return -1;
	way = &m->ways[from == OPS_STRING];
	way->type = to;
	way->numbers = values;
	way->texts = value_texts;
	way->text = default_text(n);
	way->number = to == OPS_INT64 ? ops_number(n, "default_int64", -1) : ops_number(n, "default_float", -0.0);
	if (d && d->tensor.n == 1 && d->tensor.type == to && to == OPS_STRING)
		way->text = d->tensor.t[0];
	else if (d && d->tensor.n == 1 && d->tensor.type == to)
		way->number = d->tensor.v[0];
	else if (d)
		return ops_reader_wrong(x, n, "the default is not one value of the type of the values");
	return ops_table(&way->from, keys, from == OPS_STRING ? key_texts : NULL, count) < 0 ? err_memory(x->x->e) : 0;
}

static int
open_categories(struct ops_reader *x, struct ops_node *n)
{
	return open_places(x, n, "cats_strings", "cats_int64s");
}

static int
open_onehot(struct ops_reader *x, struct ops_node *n)
{
	const struct ops_attribute *a = ops_attribute(n, "cats_strings"), *b = ops_attribute(n, "cats_int64s");
	struct mapping *m = mapping_new(x, n);

	if (!m)
		return -1;
	if (a && a->text_count)
		return ops_table(&m->ways[1].from, NULL, a->texts, a->text_count) < 0 ? err_memory(x->x->e) : 0;
	if (b && b->count)
		return ops_table(&m->ways[0].from, b->list, NULL, b->count) < 0 ? err_memory(x->x->e) : 0;
	return ops_reader_wrong(x, n, "the operator does not have categories");
}

static int
onehot(RUN)
{
	const struct mapping *m = n->more;
	const struct ops_tensor *x = in[0];
	const struct ops_table *t = &m->ways[x->type == OPS_STRING].from;
	size_t i, at, dims[OPS_RANK + 1];

	if (!t->keys)
		return ops_wrong(r, n, "the input is of another type than the categories");
	memcpy(dims, x->dims, x->rank * sizeof *dims);
	dims[x->rank] = t->n;
	if (ops_make(r, n, out, OPS_FLOAT, x->rank + 1, dims) < 0 || ops_work(r, n, 20 * x->n) < 0)
		return -1;
	for (i = 0; i < x->n; i++) {
		static const struct step_text none = { "", 0 };

		at = x->type == OPS_STRING ? ops_search(t, 0, x->t[i]) : ops_search(t, trunc(x->v[i]), none);
		if (at != SIZE_MAX)
			out->v[i * t->n + at] = 1;
		else if (ops_number(n, "zeros", 1) == 0 && ops_refuse(r, n, "a category is not known") < 0)
			return -1;
	}
	return 0;
}

/* ---- columns ---- */

static int
extract(RUN)
{
	const struct ops_tensor *x = in[0], *y = in[1];
	size_t rank = x->rank < 2 ? 2 : x->rank, dims[OPS_RANK], width = x->rank ? x->dims[x->rank - 1] : 1, rows, i, k;

	memcpy(dims, x->dims, sizeof dims);
	if (x->rank < 2)
		dims[0] = 1;
	dims[rank - 1] = y->n;
	if (y->type == OPS_STRING || y->n == 0)
		return ops_wrong(r, n, "the places are not numbers");
	if (ops_make(r, n, out, x->type, rank, dims) < 0)
		return -1;
	rows = out->n / y->n;
	for (k = 0; k < y->n; k++)
		if (!(y->v[k] >= 0 && y->v[k] < (double)width))
			return ops_wrong(r, n, "a place is not one of %zu", width);
	for (i = 0; i < rows; i++)
		for (k = 0; k < y->n; k++) {
			size_t at = i * width + (size_t)y->v[k];

			if (x->type == OPS_STRING)
				out->t[i * y->n + k] = x->t[at];
			else
				out->v[i * y->n + k] = x->v[at];
		}
	return 0;
}

static int
vectorize(RUN)
{
	const struct ops_attribute *a = ops_attribute(n, "inputdimensions");
	size_t k, rows = 0, all = 0, at = 0, i, dims[2];

	for (k = 0; k < n->in_count; k++) {
		if (!in[k] || in[k]->type == OPS_STRING || in[k]->rank > 2)
			return ops_wrong(r, n, "input %zu is not a list of numbers", k);
		if (a && (k >= a->count || a->list[k] != (double)(in[k]->rank == 2 ? in[k]->dims[1] : in[k]->n)))
			return ops_wrong(r, n, "input %zu does not have its width", k);
		if (k > 0 && (in[k]->rank == 2 ? in[k]->dims[0] : 1) != rows)
			return ops_wrong(r, n, "input %zu has another number of rows", k);
		rows = in[k]->rank == 2 ? in[k]->dims[0] : 1;
		all += in[k]->rank == 2 ? in[k]->dims[1] : in[k]->n;
	}
	dims[0] = rows;
	dims[1] = all;
	if (ops_make(r, n, out, OPS_FLOAT, 2, dims) < 0)
		return -1;
	for (i = 0; i < rows; i++)
		for (k = 0; k < n->in_count; k++) {
			size_t some = in[k]->n / rows;

			if (some)
				memcpy(out->v + at, in[k]->v + i * some, some * sizeof *out->v);
			at += some;
		}
	return ops_round(r, n, out);
}

/* The dictionary is a row already; what it does not have is 0. */
static int
dictionary(RUN)
{
	size_t i;

	if (in[0]->type == OPS_STRING || ops_like(r, n, out, OPS_FLOAT, in[0]) < 0)
		return ops_wrong(r, n, "the values are not numbers");
	for (i = 0; i < out->n; i++)
		out->v[i] = isnan(in[0]->v[i]) ? 0 : in[0]->v[i];
	return 0;
}

static int
pass(RUN)
{
	*out = *in[0];
	return ops_work(r, n, 1);
}

/* The numbers of an attribute: one, or one for each column. */
static const double *
wide(struct ops_run *r, const struct ops_node *n, const char *name, size_t width, size_t *step)
{
	const struct ops_attribute *a = ops_attribute(n, name);

	if (!a || (a->count != 1 && a->count != width)) {
		ops_wrong(r, n, "the numbers do not fit the %zu columns", width);
		return NULL;
	}
	*step = a->count == width;
	return a->list;
}

static int
scale(RUN)
{
	const struct ops_tensor *x = in[0];
	size_t width = x->rank ? x->dims[x->rank - 1] : 1, i, s, t;
	const double *a = wide(r, n, "offset", width, &s), *b = a ? wide(r, n, "scale", width, &t) : NULL;

	if (!b || x->type == OPS_STRING)
		return ops_wrong(r, n, "the values are not numbers");
	if (ops_like(r, n, out, OPS_FLOAT, x) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		out->v[i] = (double)(((float)x->v[i] - (float)a[i % width * s]) * (float)b[i % width * t]);
	return 0;
}

static int
normalize(RUN)
{
	const struct ops_tensor *x = in[0];
	size_t width = x->rank ? x->dims[x->rank - 1] : 1, i, j;
	unsigned norm = ops_says(n, "norm", "L1") ? STEP_L1 : ops_says(n, "norm", "L2") ? STEP_L2 : STEP_MAX;
	double by[2];

	if (x->type == OPS_STRING)
		return ops_wrong(r, n, "the values are not numbers");
	if (ops_like(r, n, out, OPS_FLOAT, x) < 0 || ops_work(r, n, 2 * x->n) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		out->v[i] = (double)(float)x->v[i];
	for (i = 0; width && i < x->n; i += width) {
		onnxml_divisors(out->v + i, width, norm, by);
		for (j = 0; j < width && by[0] != 0; j++)
			out->v[i + j] = (double)(float)(out->v[i + j] / by[0] / by[1]);
	}
	return 0;
}

static int
binarize(RUN)
{
	double threshold = ops_number(n, "threshold", 0);
	size_t i;

	if (in[0]->type == OPS_STRING)
		return ops_wrong(r, n, "the values are not numbers");
	if (ops_like(r, n, out, in[0]->type, in[0]) < 0)
		return -1;
	for (i = 0; i < out->n; i++)
		out->v[i] = in[0]->v[i] > threshold;
	return 0;
}

static int
impute(RUN)
{
	const struct ops_tensor *x = in[0];
	bool whole = ops_attribute(n, "imputed_value_int64s") != NULL;
	size_t width = x->rank ? x->dims[x->rank - 1] : 1, i, s;
	const double *a = wide(r, n, whole ? "imputed_value_int64s" : "imputed_value_floats", width, &s);
	double gone = ops_number(n, whole ? "replaced_value_int64" : "replaced_value_float", 0);

	if (!a || x->type == OPS_STRING)
		return ops_wrong(r, n, "the values are not numbers");
	if (ops_like(r, n, out, x->type, x) < 0)
		return -1;
	for (i = 0; i < x->n; i++)
		out->v[i] = x->v[i] == gone || (isnan(gone) && isnan(x->v[i])) ? a[i % width * s] : x->v[i];
	return ops_round(r, n, out);
}

#define PLAIN(NAME, N, RUNS) { "ml", NAME, N, RUNS, NULL, NULL, NULL }
#define OPENED(NAME, N, RUNS, OPEN) { "ml", NAME, N, RUNS, OPEN, NULL, NULL }

const struct ops_operator ops_ml[] = {
	OPENED("LabelEncoder", 1, apply_map, open_labels), OPENED("CategoryMapper", 1, apply_map, open_categories),
	OPENED("OneHotEncoder", 1, onehot, open_onehot), PLAIN("ArrayFeatureExtractor", 2, extract),
	PLAIN("FeatureVectorizer", 1, vectorize), PLAIN("DictVectorizer", 1, dictionary), PLAIN("ZipMap", 1, pass),
	PLAIN("Scaler", 1, scale), PLAIN("Normalizer", 1, normalize), PLAIN("Binarizer", 1, binarize),
	PLAIN("Imputer", 1, impute),
	{ NULL, NULL, 0, NULL, NULL, NULL, NULL },
};
