#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "predict/chain.h"
#include "predict/contrib.h"
#include "predict/near.h"
#include "predict/readers.h"
#include "predict/step_columns.h"
#include "predict/step_features.h"

/* ---- the table of readers ---- */

/* True if one of the texts of a JSON object's beginning is there. */
static bool
has(const uint8_t *p, size_t n, const char *text)
{
	return memmem(p, n, text, strlen(text)) != NULL;
}

static bool
is_object(const uint8_t *p, size_t n)
{
	return n > 1 && p[0] == '{';
}

static bool
is_xgboost(const uint8_t *p, size_t n)
{
	return is_object(p, n) && has(p, n, "learner") &&
	       (has(p, n, "\"learner\"") || p[1] == 'L' || p[1] == 'i' || p[1] == 'U');
}

static bool
is_lightgbm(const uint8_t *p, size_t n)
{
	return n > 8 && (memcmp(p, "tree\n", 5) == 0 || memcmp(p, "tree\r\n", 6) == 0);
}

static bool
is_lightgbm_json(const uint8_t *p, size_t n)
{
	return is_object(p, n) && has(p, n, "\"num_tree_per_iteration\"");
}

static bool
is_catboost(const uint8_t *p, size_t n)
{
	return is_object(p, n) && (has(p, n, "\"oblivious_trees\"") || has(p, n, "\"features_info\"") ||
	                           has(p, n, "\"catboost_version_info\"") ||
	                           has(p, n, "\"scale_and_bias\""));
}

static bool
is_pickle(const uint8_t *p, size_t n)
{
	return (n > 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5) ||
	       (n > 10 && (memcmp(p, "ccopy_reg\n", 10) == 0 || memcmp(p, "ccopyreg\n_", 10) == 0 ||
	                   memcmp(p, "csklearn.", 9) == 0));
}

static const struct predict_reader readers[] = {
	{ "XGBoost", is_xgboost, xgboost_read, true },
	{ "XGBoost", xgboost_old_probe, xgboost_old_read, true },
	{ "LightGBM", is_lightgbm, lightgbm_read, true },
	{ "LightGBM", is_lightgbm_json, lightgbm_json_read, false },
	{ "CatBoost", is_catboost, catboost_read, true },
	{ "scikit-learn", is_pickle, sklearn_read, false },
	{ "scikit-learn", skops_probe, skops_read, false },
	{ "ARPA", arpa_probe, arpa_read, false },
	{ "ONNX", onnxml_probe, onnxml_read, false },
	{ "ONNX", onnxnet_probe, onnxnet_read, false },
	{ "TensorFlow Lite", tflite_probe, tflite_net_read, false },
	{ "PMML", pmml_probe, pmml_read, true },
};

/* A file of safetensors: its first bytes are a length, which may be those of a pickle. */
static bool
is_container(const uint8_t *p, size_t n)
{
	return n > 8 && p[8] == '{' && le64(p) < UINT32_MAX / 4;
}

const struct predict_reader *
predict_probe(const uint8_t *p, size_t n)
{
	size_t i;

	n = n < PREDICT_PROBE ? n : PREDICT_PROBE;
	for (i = 0; !is_container(p, n) && i < sizeof readers / sizeof *readers; i++)
		if (readers[i].probe(p, n))
			return &readers[i];
	return NULL;
}

int
predict_read(struct predictor *m, const struct predict_reader *reader, const uint8_t *p, size_t n,
             const char *where, struct err *e)
{
	m->forest.most = n;
	return reader->read(m, p, n, where, e) < 0 ? -1 : predictor_finish(m, where, e);
}

/* ---- parts of a model ---- */

static int
add(char ***list, size_t *count, const char *text, size_t n, struct err *e)
{
	size_t cap = *count;

	/* The list doubles when its length is a power of two. */
	if ((*count & (*count - 1)) == 0 &&
	    mem_grow(list, &cap, *count ? *count * 2 : 1, sizeof **list) < 0)
		return err_memory(e);
	(*list)[*count] = mem_text(text, n);
	return (*list)[(*count)++] ? 0 : err_memory(e);
}

int
predictor_add_name(struct predictor *m, const char *text, size_t n, struct err *e)
{
	return add(&m->names, &m->name_count, text, n, e);
}

int
predictor_add_label(struct predictor *m, const char *text, size_t n, struct err *e)
{
	return add(&m->labels, &m->label_count, text, n, e);
}

static void
free_names(char **list, size_t n)
{
	size_t i;

	for (i = 0; list && i < n; i++)
		free(list[i]);
	free(list);
}

static int
by_word(const void *a, const void *b)
{
	return strcmp(((const struct predict_word *)a)->text, ((const struct predict_word *)b)->text);
}

static int
sort_words(struct predict_words *w, struct err *e)
{
	size_t i;

	w->sorted = mem_array(w->count, sizeof *w->sorted);
	if (!w->sorted)
		return err_memory(e);
	for (i = 0; i < w->count; i++)
		w->sorted[i] = (struct predict_word){ w->texts[i], (uint32_t)i };
	qsort(w->sorted, w->count, sizeof *w->sorted, by_word);
	return 0;
}

double
predict_word(const struct predict_words *w, const char *text, size_t n)
{
	size_t low = 0, high = w->count, at;
	int c;

	while (low < high) {
		const char *other;

		at = w->sorted ? low + (high - low) / 2 : low;
		other = w->sorted ? w->sorted[at].text : w->texts[at];
		c = strncmp(other, text, n);
		c = c == 0 ? strlen(other) != n : c;
		if (c == 0)
			return w->sorted ? (double)w->sorted[at].number : (double)at;
		if (c < 0 || !w->sorted)
			low = at + 1;
		else
			high = at;
	}
	return -1;
}

enum predict_reads
predict_reads(const struct predictor *m, size_t feature)
{
	const struct predict_words *w = feature < m->word_count ? &m->words[feature] : NULL;

	return !w || (w->count == 0 && !w->unused && !w->text) ? PREDICT_NUMBER
	       : w->text && !w->unused                         ? PREDICT_TEXT
	                                                       : PREDICT_WORD;
}

bool
predict_word_value(const struct predictor *m, size_t feature, const char *text, size_t n, bool missing, double *v)
{
	const struct predict_words *w = &m->words[feature];

	*v = w->unused ? 0 : predict_word(w, text, n);
	if (*v < 0 && (missing || w->unknown == PREDICT_UNKNOWN_MISSING))
		*v = (double)NAN;
	return !(*v < 0) || w->unknown != PREDICT_UNKNOWN_REFUSED;
}

void
predict_words_free(struct predict_words *w)
{
	free_names(w->texts, w->count);
	free(w->sorted);
	*w = (struct predict_words){ 0 };
}

void
predictor_free(struct predictor *m)
{
	size_t i;

	for (i = 0; i < m->word_count; i++)
		predict_words_free(&m->words[i]);
	free(m->words);
	free_names(m->names, m->name_count);
	free_names(m->labels, m->label_count);
	forest_free(&m->forest);
	free(m->linear.weights);
	free(m->linear.bias);
	for (i = 0; i < m->step_count; i++)
		step_free(&m->steps[i]);
	free(m->steps);
	free(m->platt);
	contrib_free(m->contrib);
	*m = (struct predictor){ 0 };
}

int
predictor_finish(struct predictor *m, const char *where, struct err *e)
{
	size_t i;

	if (predictor_join(m, where, e) < 0)
		return -1;
	if (m->task != PREDICT_PAIRS && !m->chosen)
		m->classes = m->task == PREDICT_VALUE ? 0 : m->task == PREDICT_BINARY ? 2 : m->outputs;
	if (m->outputs == 0 || m->outputs > (m->sparse ? FOREST_FEATURES : PREDICT_OUTPUTS))
		return err_set(e, ERR_CORRUPT, where, "the model has %zu outputs", m->outputs);
	if (m->features > FOREST_FEATURES)
		return err_set(e, ERR_CORRUPT, where, "the model has %zu features", m->features);
	if (m->names && m->name_count != m->features)
		return err_set(e, ERR_CORRUPT, where, "%zu names for %zu features", m->name_count,
		               m->features);
	if (m->task == PREDICT_BINARY && m->outputs != 1)
		return err_set(e, ERR_CORRUPT, where, "a binary model has %zu outputs", m->outputs);
	if (m->task == PREDICT_PAIRS && (m->classes < 2 || m->classes > PREDICT_PAIRED ||
	                                 m->outputs != m->classes * (m->classes - 1) / 2))
		return err_set(e, ERR_CORRUPT, where, "%zu scores for the pairs of %zu classes", m->outputs,
		               m->classes);
	if (m->labels && m->label_count != m->classes)
		return err_set(e, ERR_CORRUPT, where, "%zu labels for %zu classes", m->label_count,
		               m->classes);
	if (m->words && m->word_count != m->features)
		return err_set(e, ERR_CORRUPT, where, "%zu lists of words for %zu features", m->word_count,
		               m->features);
	for (i = 0; i < m->word_count; i++)
		if (sort_words(&m->words[i], e) < 0)
			return -1;
	for (i = 0; m->form == PREDICT_TREES && i < m->outputs; i++)
		if (!isfinite(m->forest.base[i]))
			return err_set(e, ERR_CORRUPT, where, "the base score of output %zu is not finite", i);
	m->forest.rounded = m->rounds;
	m->refuses_nan |= m->form == PREDICT_TREES && m->forest.refuses_nan;
	for (i = 0; i < m->step_count; i++)
		if (m->steps[i].kind == &step_impute || m->steps[i].kind == &step_onehot ||
		    m->steps[i].kind == &step_ordinal || m->steps[i].kind == &step_marks)
			m->refuses_nan = false;
	if (m->step_count && m->steps[0].kind == &step_parts) { /* what a part makes of them matters */
		((struct step_columns *)m->steps[0].more)->refuses |= m->refuses_nan;
		m->refuses_nan = false;
	}
	return 0;
}

size_t
predict_trees(const struct predictor *m)
{
	return m->form == PREDICT_TREES ? m->forest.tree_count : 0;
}

/* ---- scores ---- */

static void
linear_row(const struct predictor *m, const double *row, double *scores)
{
	size_t i, k;

	for (k = 0; k < m->outputs; k++) {
		const double *w = m->linear.weights + k * m->inner;
		double bias = m->linear.bias[k], sum = m->linear.after ? 0 : bias;

		for (i = 0; i < m->inner; i++) {
			if (m->linear.skips && isnan(row[i]))
				continue;
			sum = m->single ? (double)((float)sum + (float)row[i] * (float)w[i])
			                : sum + row[i] * w[i];
		}
		if (m->linear.after)
			sum = m->single ? (double)((float)sum + (float)bias) : sum + bias;
		scores[k] = sum;
	}
}

/* The square of the Euclidean distance to center k. */
static double
center_square(const struct predictor *m, const double *row, size_t k)
{
	const double *c = m->linear.weights + k * m->inner;
	double sum = 0, d;
	size_t i;

	for (i = 0; i < m->inner; i++) {
		d = row[i] - c[i];
		sum = m->single ? (double)((float)sum + (float)d * (float)d) : sum + d * d;
	}
	return sum;
}

static void
center_row(const struct predictor *m, const double *row, double *scores)
{
	size_t k;

	for (k = 0; k < m->outputs; k++)
		scores[k] = center_square(m, row, k);
}

/* NEAR_LANES rows at a time, with the same bits. Returns the number of rows that were computed. */
static size_t
center_rows(const struct predictor *m, const double *rows, size_t n, double *scores)
{
	const struct near_level *level = near_best();
	double *q = mem_array(m->inner * NEAR_LANES, sizeof *q), d[NEAR_ROWS * NEAR_LANES];
	size_t i, j, k, l, r;

	for (r = 0; q && r + NEAR_LANES <= n; r += NEAR_LANES, rows += NEAR_LANES * m->inner) {
		double *to = scores + r * m->outputs;

		for (l = 0; l < NEAR_LANES; l++)
			for (i = 0; i < m->inner; i++)
				q[i * NEAR_LANES + l] = rows[l * m->inner + i];
		for (k = 0; k + NEAR_ROWS <= m->outputs; k += NEAR_ROWS) {
			level->squares(m->linear.weights + k * m->inner, m->inner, q, d);
			for (j = 0; j < NEAR_ROWS; j++)
				for (l = 0; l < NEAR_LANES; l++)
					to[l * m->outputs + k + j] = d[j * NEAR_LANES + l];
		}
		for (; k < m->outputs; k++)
			for (l = 0; l < NEAR_LANES; l++)
				to[l * m->outputs + k] = center_square(m, rows + l * m->inner, k);
	}
	free(q);
	return r;
}

void
predict_rows(const struct predictor *m, double *rows, size_t n, bool missing, double *scores,
             uint32_t *leaves)
{
	size_t i;

	for (i = 0; m->rounds && i < n * m->inner; i++)
		rows[i] = (double)(float)rows[i];
	if (m->form == PREDICT_TREES) {
		forest_rows(&m->forest, rows, n, missing, scores, leaves);
		return;
	}
	i = scores && m->form == PREDICT_CENTERS && !m->single ? center_rows(m, rows, n, scores) : 0;
	for (; scores && i < n; i++)
		(m->form == PREDICT_LINEAR ? linear_row : center_row)(m, rows + i * m->inner,
		                                                      scores + i * m->outputs);
}

bool
predict_changes(const struct predictor *m, uint64_t rows)
{
	const struct forest *f = &m->forest;

	/* Making the form costs about as much as twelve rows for each node of an average tree. */
	return !m->expects && predict_trees(m) > 0 && rows >= 12 * f->node_count / f->tree_count;
}

size_t
predict_infinite(const struct predictor *m, const double *rows, size_t n)
{
	/* What lies at or above the middle between the greatest float and 2^128 becomes infinite. */
	const double most = m->rounds && m->step_count == 0 ? 0x1.ffffffp127 : (double)INFINITY;
	size_t i;

	for (i = 0; i < n * m->features && !(fabs(rows[i]) >= most); i++)
		;
	return i;
}

void
predict_expect(struct predictor *m, uint64_t rows)
{
	if (!predict_changes(m, rows))
		return;
	m->expects = true;
	m->forest.ranks = forest_ranks(&m->forest, PREDICT_RANKS);
}

/* ---- links ---- */

static double
sigmoid(const struct predictor *m, double x)
{
	if (m->single)
		return (double)(1.0f / (1.0f + expf(fminf((float)-x, 88.7f))));
	return 1 / (1 + exp(-m->sharpness * x));
}

/* A score before the link. */
static double
mean(const struct predictor *m, double x)
{
	const struct forest *f = &m->forest;
	size_t each;

	if (!f->average || !f->sums)
		return x;
	each = f->width == 1 ? f->tree_count / f->groups : f->tree_count;
	return each ? x / (double)each : x;
}

static void
softmax(const struct predictor *m, const double *x, double *to)
{
	size_t k, n = m->outputs;
	double most = mean(m, x[0]), sum = 0, scale = m->link == LINK_SHARP ? m->sharpness : 1;

	for (k = 1; k < n; k++)
		most = mean(m, x[k]) > most ? mean(m, x[k]) : most;
	for (k = 0; k < n; k++) {
		to[k] = m->single ? (double)expf((float)(mean(m, x[k]) - most)) : exp(scale * (mean(m, x[k]) - most));
		sum += to[k];
	}
	for (k = 0; k < n; k++)
		to[k] = m->single ? (double)((float)to[k] / (float)sum) : to[k] / sum;
}

static double
link_one(const struct predictor *m, double x)
{
	x = mean(m, x);
	switch (m->link) {
	case LINK_SIGMOID:
	case LINK_EACH:
		return sigmoid(m, x);
	case LINK_EXP:
		return m->single ? (double)expf((float)x) : exp(x);
	case LINK_LOG1P_EXP:
		return log1p(exp(x));
	case LINK_SQUARE:
		return x < 0 ? -x * x : x * x;
	case LINK_HINGE:
		return x > 0;
	case LINK_PROBIT:
		return erfc(-x / sqrt(2)) / 2;
	case LINK_CLOGLOG:
		return -expm1(-exp(x));
	case LINK_LOGLOG:
		return exp(-exp(-x));
	case LINK_CAUCHIT:
		return 0.5 + atan(x) / 3.14159265358979323846;
	default:
		return x;
	}
}

size_t
predict_columns(const struct predictor *m)
{
	return m->task == PREDICT_VALUE ? m->outputs : m->classes;
}

size_t
predict_room(const struct predictor *m)
{
	size_t n = predict_columns(m) + (m->link == LINK_PAIRS ? pairs_room(m) : 0);

	return n > m->outputs ? n : m->outputs;
}

/* Divides each by the sum of all; if that is 0, all are equal. */
static void
share(double *v, size_t n)
{
	double sum = 0;
	size_t k;

	for (k = 0; k < n; k++)
		sum += v[k];
	for (k = 0; k < n; k++)
		v[k] = sum != 0 ? v[k] / sum : 1 / (double)n;
}

void
predict_link(const struct predictor *m, const double *scores, double *to)
{
	size_t k;

	if (m->link == LINK_SOFTMAX || m->link == LINK_SHARP) {
		softmax(m, scores, to);
	} else if (m->task == PREDICT_PAIRS) {
		pairs_link(m, scores, to);
	} else if (m->task == PREDICT_BINARY) {
		to[1] = link_one(m, scores[0]);
		to[0] = m->single ? (double)(1.0f - (float)to[1]) : 1 - to[1];
	} else if (m->chosen) {
		for (k = 0; k < m->classes; k++)
			to[k] = k + 1 < m->outputs ? scores[k] : 0;
	} else {
		for (k = 0; k < m->outputs; k++)
			to[k] = link_one(m, scores[k]);
		if (m->link == LINK_EACH || m->link == LINK_PORTION)
			share(to, m->outputs);
	}
}

void
predict_raw(const struct predictor *m, const double *scores, double *to)
{
	size_t k;

	for (k = 0; k < m->outputs; k++)
		to[k] = m->task == PREDICT_CLUSTER ? sqrt(scores[k]) : scores[k];
}

size_t
predict_label(const struct predictor *m, const double *scores)
{
	size_t k, best = 0;
	double p;

	if (m->task == PREDICT_PAIRS)
		return pairs_label(m, scores);
	if (m->task == PREDICT_BINARY) {
		if (m->by_score)
			return scores[0] > 0 || (m->ties_up && scores[0] == 0);
		p = link_one(m, scores[0]);
		return p > 0.5 || (m->ties_up && p == 0.5);
	}
	if (m->chosen)
		return (size_t)scores[m->outputs - 1];
	for (k = 1; k < m->outputs; k++)
		if (m->task == PREDICT_CLUSTER ? scores[k] < scores[best] : scores[k] > scores[best])
			best = k;
	return best;
}
