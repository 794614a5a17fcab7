/* Clusters, and naive Bayes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/pmml/pmml.h"

/* ---- clusters ---- */

/* Only the Euclidean distance, in which every field counts the same. */
static int
check_measure(struct pmml *p, uint32_t model)
{
	uint32_t measure = xml_child(&p->x, model, "ComparisonMeasure"), f;
	const char *compare = xml_attr(&p->x, measure, "compareFunction");
	double weight = 1;

	if (!pmml_says(p, measure, "kind", "distance") ||
	    (!xml_child(&p->x, measure, "squaredEuclidean") && !xml_child(&p->x, measure, "euclidean")) ||
	    (compare && strcmp(compare, "absDiff") != 0))
		return pmml_refuse(p, model, "clusters are read with the Euclidean distance alone");
	for (f = xml_child(&p->x, model, "ClusteringField"); f; f = xml_next(&p->x, f, "ClusteringField")) {
		compare = xml_attr(&p->x, f, "compareFunction");
		if ((compare && strcmp(compare, "absDiff") != 0) || pmml_attr(p, f, "fieldWeight", &weight) < 0 || weight != 1)
			return p->e->code != ERR_NONE ? -1 : pmml_refuse(p, f, "fields with a weight or a comparison of their "
			                                                 "own are not read");
	}
	return xml_child(&p->x, model, "MissingValueWeights")
	       ? pmml_refuse(p, model, "MissingValueWeights are not read") : 0;
}

/* The slots of the fields of clusters. */
static size_t *
cluster_slots(struct pmml *p, uint32_t model, size_t *n)
{
	size_t cap = 0, *list = NULL;
	uint32_t f, field;

	for (f = xml_child(&p->x, model, "ClusteringField"), *n = 0; f; f = xml_next(&p->x, f, "ClusteringField")) {
		if (pmml_says(p, f, "isCenterField", "false"))
			continue;
		field = pmml_use(p, f, xml_attr(&p->x, f, "field"));
		if (field == UINT32_MAX || p->fields[field].text || mem_grow(&list, &cap, *n + 1, sizeof *list) < 0) {
			pmml_refuse(p, f, "a field of clusters is a text, or memory ran out");
			free(list);
			return NULL;
		}
		list[(*n)++] = p->fields[field].slot;
	}
	if (*n == 0)
		pmml_wrong(p, model, "ClusteringModel has no fields");
	return list;
}

static int
read_center(struct pmml *p, uint32_t cluster, const size_t *slots, size_t n, double *to)
{
	const char *at = xml_text(&p->x, xml_child(&p->x, cluster, "Array"));
	const char *name = xml_attr(&p->x, cluster, "id") ? xml_attr(&p->x, cluster, "id") : xml_attr(&p->x, cluster, "name");
	char word[PMML_WORD];
	size_t i;

	for (i = 0; pmml_item(&at, word, sizeof word); i++)
		if (i < n && pmml_number(p, cluster, "a center", word, &to[slots[i]]) < 0)
			return -1;
	if (i != n)
		return pmml_wrong(p, cluster, "a center has %zu values, of %zu fields", i, n);
	return name ? predictor_add_label(p->m, name, strlen(name), p->e) : 0;
}

/* Every slot must be part of the distance. */
static int
read_centers(struct pmml *p, uint32_t model, const size_t *slots, size_t n)
{
	struct predictor *m = p->m;
	size_t i, k = 0, all = pmml_slots(p);
	uint32_t c;

	for (c = xml_child(&p->x, model, "Cluster"); c; c = xml_next(&p->x, c, "Cluster"))
		k++;
	if (n != all)
		return pmml_refuse(p, model, "clusters of %zu of %zu fields are not read", n, all);
	if (k == 0 || k > m->forest.most / n + 1)
		return pmml_wrong(p, model, "the model has %zu clusters", k);
	m->linear.weights = mem_array(k * n, sizeof(double));
	if (!m->linear.weights)
		return err_memory(p->e);
	m->form = PREDICT_CENTERS;
	m->task = PREDICT_CLUSTER;
	m->outputs = k;
	m->refuses_nan = true;
	for (c = xml_child(&p->x, model, "Cluster"), i = 0; c; c = xml_next(&p->x, c, "Cluster"), i++)
		if (read_center(p, c, slots, n, m->linear.weights + i * n) < 0)
			return -1;
	return 0;
}

int
pmml_read_clustering(struct pmml *p, uint32_t model)
{
	size_t n = 0, *slots;
	int r;

	p->m->kind = "clusters of PMML";
	if (pmml_check_schema(p, model) < 0 || check_measure(p, model) < 0)
		return -1;
	if (!pmml_says(p, model, "modelClass", "centerBased"))
		return pmml_refuse(p, model, "only clusters with centers are read");
	slots = cluster_slots(p, model, &n);
	r = slots && n ? read_centers(p, model, slots, n) : -1;
	free(slots);
	return r;
}

/* ---- naive Bayes ---- */

/* The score of a class is ln P(class) + the sum of ln P(value | class) of the values that are not missing. Each is a
 * slot: a table of words, or the logarithm of a normal density. */
struct bayes {
	double threshold;
	double *counts;  /* of the classes */
	double all;
	struct pmml_bayes_slot {
		size_t slot, output;
	} *slots;
	size_t count, cap;
};

static size_t
class_of(struct pmml *p, uint32_t node)
{
	const char *text = xml_attr(&p->x, node, "value");
	double c = text ? pmml_word_of(p, p->target, text) : -2;

	if (c < 0 || c >= (double)pmml_class_count(p)) {
		pmml_wrong(p, node, "the class of %s is not known", xml_name(&p->x, node));
		return SIZE_MAX;
	}
	return (size_t)c;
}

/* The number of training rows of each class. */
static int
read_counts(struct pmml *p, uint32_t model, struct bayes *b)
{
	uint32_t list = xml_child(&p->x, xml_child(&p->x, model, "BayesOutput"), "TargetValueCounts"), t;
	size_t i, n = pmml_class_count(p);

	b->counts = mem_array(n, sizeof *b->counts);
	if (!b->counts)
		return err_memory(p->e);
	for (t = xml_child(&p->x, list, "TargetValueCount"); t; t = xml_next(&p->x, t, "TargetValueCount")) {
		i = class_of(p, t);
		if (i == SIZE_MAX || pmml_number(p, t, "count", xml_attr(&p->x, t, "count"), &b->counts[i]) < 0)
			return -1;
		if (b->counts[i] < 0)
			return pmml_wrong(p, t, "count is %g", b->counts[i]);
		b->all += b->counts[i];
	}
	return b->all > 0 ? 0 : pmml_wrong(p, model, "BayesOutput has no counts");
}

static int
keep(struct pmml *p, struct bayes *b, size_t slot, size_t output)
{
	if (slot == SIZE_MAX)
		return -1;
	if (mem_grow(&b->slots, &b->cap, b->count + 1, sizeof *b->slots) < 0)
		return err_memory(p->e);
	b->slots[b->count++] = (struct pmml_bayes_slot){ slot, output };
	return 0;
}

/* Words: a table of logarithms for each class. */
static int
read_pairs(struct pmml *p, uint32_t input, uint32_t field, struct bayes *b)
{
	size_t i, k, n, classes = pmml_class_count(p), room;
	double *counts, *sums, v;
	uint32_t pair, t;
	int r = 0;

	for (pair = xml_child(&p->x, input, "PairCounts"); pair; pair = xml_next(&p->x, pair, "PairCounts"))
		if (xml_attr(&p->x, pair, "value") && pmml_word(p, field, xml_attr(&p->x, pair, "value")) == -1)
			return -1;
	n = p->fields[p->fields[field].base].word_count;
	if (n == 0 || __builtin_mul_overflow(n, classes, &room) || room > p->m->forest.most)
		return pmml_wrong(p, input, "%zu values of %zu classes are too many, or none", n, classes);
	counts = mem_array(room, sizeof *counts);
	sums = mem_array(classes, sizeof *sums);
	for (pair = xml_child(&p->x, input, "PairCounts"); counts && sums && pair && r == 0;
	     pair = xml_next(&p->x, pair, "PairCounts")) {
		v = xml_attr(&p->x, pair, "value") ? pmml_word(p, field, xml_attr(&p->x, pair, "value")) : -2;
		for (t = xml_child(&p->x, xml_child(&p->x, pair, "TargetValueCounts"), "TargetValueCount"); t && r == 0;
		     t = xml_next(&p->x, t, "TargetValueCount")) {
			double count = 0;

			k = class_of(p, t);
			r = k == SIZE_MAX ? -1 : pmml_number(p, t, "count", xml_attr(&p->x, t, "count"), &count);
			if (r == 0 && v >= 0) {
				counts[k * n + (size_t)v] = count;
				sums[k] += count;
			}
		}
	}
	for (k = 0; counts && sums && k < classes && r == 0; k++) {
		for (i = 0; i < n; i++) {
			double share = sums[k] > 0 ? counts[k * n + i] / sums[k] : 0;

			counts[k * n + i] = log(share > 0 ? share : b->threshold);
		}
		r = keep(p, b, pmml_lookup(p, field, counts + k * n, n, log(b->threshold)), k);
	}
	if (!counts || !sums)
		r = err_memory(p->e);
	free(counts);
	free(sums);
	return r;
}

/* Numbers: a normal density for each class. */
static int
read_stats(struct pmml *p, uint32_t input, uint32_t field, struct bayes *b)
{
	uint32_t t, stats = xml_child(&p->x, input, "TargetValueStats");
	double mean, variance;
	size_t k;

	for (t = xml_child(&p->x, stats, "TargetValueStat"); t; t = xml_next(&p->x, t, "TargetValueStat")) {
		uint32_t g = xml_child(&p->x, t, "GaussianDistribution");

		k = class_of(p, t);
		if (k == SIZE_MAX)
			return -1;
		if (!g)
			return pmml_refuse(p, t, "distributions of naive Bayes other than the normal one are not read");
		if (pmml_number(p, g, "mean", xml_attr(&p->x, g, "mean"), &mean) < 0 ||
		    pmml_number(p, g, "variance", xml_attr(&p->x, g, "variance"), &variance) < 0)
			return -1;
		if (!(variance > 0))
			return pmml_wrong(p, g, "variance is %g", variance);
		if (keep(p, b, pmml_density(p, field, mean, variance, b->threshold), k) < 0)
			return -1;
	}
	return 0;
}

static int
read_input(struct pmml *p, uint32_t input, struct bayes *b)
{
	uint32_t field = pmml_use(p, input, xml_attr(&p->x, input, "fieldName"));

	if (field == UINT32_MAX)
		return -1;
	if (xml_child(&p->x, input, "DerivedField"))
		return pmml_refuse(p, input, "BayesInput with a DerivedField is not read");
	if (xml_child(&p->x, input, "TargetValueStats"))
		return p->fields[field].text ? pmml_wrong(p, input, "a text has a mean") : read_stats(p, input, field, b);
	if (!p->fields[field].text)
		return pmml_refuse(p, input, "counts of numbers are not read");
	return read_pairs(p, input, field, b);
}

/* Each score is the sum of its slots. */
static int
put_scores(struct pmml *p, uint32_t model, const struct bayes *b)
{
	struct predictor *m = p->m;
	size_t i, n = pmml_slots(p), classes = pmml_class_count(p), room;

	if (__builtin_mul_overflow(n, classes, &room) || room > 64 * m->forest.most)
		return pmml_refuse(p, model, "%zu classes of %zu fields take more room than the file", classes, n);
	m->form = PREDICT_LINEAR;
	m->task = PREDICT_CLASSES;
	m->link = LINK_SOFTMAX;
	m->outputs = classes;
	m->linear.skips = true; /* values of rows, which do not count */
	m->linear.weights = mem_array(room, sizeof(double));
	m->linear.bias = mem_array(classes, sizeof(double));
	if (!m->linear.weights || !m->linear.bias)
		return err_memory(p->e);
	for (i = 0; i < classes; i++)
		m->linear.bias[i] = log(b->counts[i] / b->all);
	for (i = 0; i < b->count; i++)
		m->linear.weights[b->slots[i].output * n + b->slots[i].slot] = 1;
	return 0;
}

int
pmml_read_bayes(struct pmml *p, uint32_t model)
{
	struct bayes b = { .counts = NULL };
	uint32_t i;
	int r;

	p->m->kind = "naive Bayes of PMML";
	r = pmml_check_schema(p, model) < 0 ||
	    pmml_number(p, model, "threshold", xml_attr(&p->x, model, "threshold"), &b.threshold) < 0 ||
	    pmml_classes(p, model, "TargetValueCount", "value") < 0 || read_counts(p, model, &b) < 0 ? -1 : 0;
	if (r == 0 && !(b.threshold > 0 && b.threshold < 1))
		r = pmml_refuse(p, model, "a threshold of %g is not read", b.threshold);
	for (i = xml_child(&p->x, xml_child(&p->x, model, "BayesInputs"), "BayesInput"); i && r == 0;
	     i = xml_next(&p->x, i, "BayesInput"))
		r = read_input(p, i, &b);
	if (r == 0)
		r = put_scores(p, model, &b);
	free(b.counts);
	free(b.slots);
	return r;
}
