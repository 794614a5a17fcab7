/* t_apr1_models: models of APR version 1 as tensors that are computed by a definition of ours or of
 * aprender: counts of n-grams, mixtures of experts. Numbers are worked out by hand, and for mixtures by
 * chance by a reference in plain C. */
#include <math.h>
#include <string.h>

#include "core/buf.h"
#include "predict/readers.h"
#include "predict/tensors.h"
#include "test.h"

/* ---- models of tensors ---- */

#define PARTS 32

struct made {
	struct model plan;
	struct buf data[PARTS];
	const uint8_t *bytes[PARTS];
	struct predictor m;
	struct err e;
};

static struct buf *
tensor(struct made *x, const char *name, const char *type, unsigned ndim, uint64_t n)
{
	size_t i = x->plan.tensor_count;

	const struct dtype *t = dtype_by_name(type);

	model_add_tensor(&x->plan, tensor_new(name, strlen(name), t, ndim, &n, TENSOR_OWN_SIZE, "m",
	                                      &x->e), &x->e);
	return &x->data[i];
}

static void
word(struct made *x, const char *name, uint64_t v)
{
	buf_u64(tensor(x, name, "U64", 0, 1), v);
}

/* Reads them as the payload. 0 or -1. */
static int
load(struct made *x, const char *payload)
{
	struct weights w = { .name = "m", .plan = &x->plan, .tensors = x->bytes };
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < x->plan.tensor_count; i++)
		x->bytes[i] = x->data[i].p ? x->data[i].p : (const uint8_t *)"";
	buf_u64(&b, strlen(payload));
	buf_text(&b, payload);
	model_add_meta(&x->plan, "apr1.payload", 12, (struct value_type){ 0, VALUE_STRING }, b.p, b.n, &x->e);
	buf_free(&b);
	return predict_tensors(&x->m, &w, &x->e);
}

static void
clear(struct made *x)
{
	size_t i;

	predictor_free(&x->m);
	model_free(&x->plan);
	for (i = 0; i < PARTS; i++)
		buf_free(&x->data[i]);
	*x = (struct made){ .e = ERR_INIT };
}

/* ---- counts of n-grams ---- */

/* "git" began 3 lines and "ls" one; status followed git twice, commit once, "-m" "git commit" once. */
static void
put_texts(struct made *x, const char *text, const char *lengths, const char *const *list, size_t n)
{
	struct buf *b;
	size_t i, bytes = 0;

	for (i = 0; i < n; i++)
		bytes += strlen(list[i]);
	b = tensor(x, text, "U8", 1, bytes);
	for (i = 0; i < n; i++)
		buf_text(b, list[i]);
	b = tensor(x, lengths, "U64", 1, n);
	for (i = 0; i < n; i++)
		buf_u64(b, strlen(list[i]));
}

static int
make(struct made *x, uint64_t order, const char *fourth, const char *fifth, uint64_t last)
{
	static const uint32_t counts[] = { 1, 3, 2, 1, 1 };
	const char *const contexts[] = { "", "git", "git commit", fourth };
	const char *const next[] = { "ls", "git", "status", "commit", fifth };
	const uint64_t sizes[] = { 2, 2, 1, last };
	struct buf *b;
	size_t i;

	*x = (struct made){ .e = ERR_INIT };
	put_texts(x, "ngrams_text", "ngrams_lengths", contexts, 4);
	put_texts(x, "ngrams_next_text", "ngrams_next_lengths", next, 5);
	b = tensor(x, "ngrams_sizes", "U64", 1, 4);
	for (i = 0; i < 4; i++)
		buf_u64(b, sizes[i]);
	b = tensor(x, "ngrams_counts", "U32", 1, 5);
	for (i = 0; i < 5; i++)
		buf_u32(b, counts[i]);
	word(x, "n", order);
	return load(x, "MarkovModel.1");
}

static bool
scores(const struct made *x, const char *text, double log, double words, double unknown)
{
	struct step_text t = { text, strlen(text) };
	struct step_rows rows = { .n = 1, .width = 1, .texts = &t }, spare = { .n = 0 };
	struct err e = ERR_INIT;
	double v[3] = { 0 };
	bool ok = predict_block(&x->m, &rows, &spare, true, v, NULL, &e) == 0 && fabs(v[0] - log) < 1e-12 &&
	          v[1] == words && v[2] == unknown;

	if (!ok)
		printf("# %s: %.17g %g %g\n", text, v[0], v[1], v[2]);
	step_rows_free(&rows);
	step_rows_free(&spare);
	return ok;
}

static void
test_scores(void)
{
	struct made x;

	test_ok(make(&x, 2, "zzz", "-m", 0) == 0 && x.m.texts, "counts of n-grams are a model of texts");
	test_ok(scores(&x, "git status", log10(3. / 4 * 2 / 3), 2, 0), "a word that followed has its share");
	test_ok(scores(&x, " git\tcommit  -m ", log10(3. / 4 / 3), 3, 0), "contexts of two words, any white space");
	test_ok(scores(&x, "git ls", log10(3. / 4 * 0.4 / 4), 2, 0), "a shorter context weighs 0.4");
	test_ok(scores(&x, "git commit ls", log10(3. / 4 / 3 * 0.16 / 4), 3, 0), "and again, if it is not there");
	test_ok(scores(&x, "ls git commit -m", log10(1. / 4 * 0.4 * 3 / 4 * 0.4 / 3), 4, 0),
	        "only the last two words are a context");
	test_ok(scores(&x, "svn git", -100 + log10(0.4 * 3 / 4), 2, 1), "a word that never followed is unknown");
	test_ok(scores(&x, "", 0, 0, 0), "an empty line");
	clear(&x);
	test_ok(make(&x, 1, "commit", "-m", 0) == 0 && scores(&x, "git commit -m", log10(3. / 4 / 3) - 100, 3, 1),
	        "the order of the model is the longest context");
	clear(&x);
}

static void
test_texts(void)
{
	struct made x;
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	size_t i, git = 0, status = 0, other = 0;

	make(&x, 2, "zzz", "-m", 0);
	for (i = 0; i < 1000; i++) {
		buf_clear(&b);
		if (arpa_generate(&x.m, 7, i, &b, &e) < 0 || !buf_string(&b))
			break;
		git += memcmp(b.p, "git ", 4) == 0;
		status += strcmp((char *)b.p, "git status\n") == 0;
		other += strcmp((char *)b.p, "git status\n") != 0 && strcmp((char *)b.p, "ls\n") != 0 &&
		         strcmp((char *)b.p, "git commit -m\n") != 0;
	}
	test_ok(i == 1000 && other == 0, "texts by chance end where no word followed");
	test_ok(git > 690 && git < 810 && status > 430 && status < 570, "words are as frequent as their counts");
	printf("# %zu git, %zu status of 1000\n", git, status);
	buf_free(&b);
	clear(&x);
}

static void
test_refused(void)
{
	static const struct {
		uint64_t order;
		const char *fourth, *fifth, *fact;
		uint64_t last;
	} cases[] = {
		{ 0, "zzz", "-m", "n-grams of 0 words", 0 },
		{ 17, "zzz", "-m", "n-grams of 17 words", 0 },
		{ 2, "", "-m", "a context is there twice", 0 },
		{ 2, "git", "-m", "", 0 },
		{ 2, "zzz", "-m", "the contexts have another length than their texts", 1 },
		{ 2, "zzz", "a b", "a word has white space", 0 },
		{ 2, "z\xff", "-m", "the contexts have another length than their texts", 0 },
		{ 2, "zzz", "a\xff", "the words have another length than their texts", 0 },
	};
	struct made x;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		test_ok(make(&x, cases[i].order, cases[i].fourth, cases[i].fifth, cases[i].last) < 0 &&
		        strstr(x.e.fact, cases[i].fact), "refused: %s", cases[i].fact);
		if (!strstr(x.e.fact, cases[i].fact))
			printf("# %s\n", x.e.fact);
		clear(&x);
	}
}

/* Bytes of any tensor are others: the model is refused, or it works. Sanitizers see the rest. */
static void
test_damage(void)
{
	struct made x;
	struct weights w = { .name = "m", .plan = &x.plan, .tensors = x.bytes };
	struct buf b = { 0 };
	uint32_t seed = 1, i, refused = 0;

	for (i = 0; i < 3000; i++) {
		struct buf *data;

		make(&x, 2, "zzz", "-m", 0);
		predictor_free(&x.m);
		x.m = (struct predictor){ .kind = NULL };
		seed = seed * 1664525 + 1013904223;
		data = &x.data[(seed >> 28) % 7];
		data->p[(seed >> 8) % data->n] = (seed >> 26 & 3) == 0 ? 0xff : (uint8_t)(seed >> 20 & 7);
		if (predict_tensors(&x.m, &w, &x.e) < 0)
			refused++;
		else if (arpa_generate(&x.m, 0, 0, &b, &x.e) < 0 || !x.m.texts)
			break;
		buf_clear(&b);
		clear(&x);
	}
	test_ok(i == 3000 && refused > 300 && refused < 2900, "damaged counts are refused, or are others");
	buf_free(&b);
}

/* ---- mixtures of experts ---- */

#define EXPERTS 5
#define FEATURES 4

struct mixture {
	const char *payload;
	uint64_t n, features, top; /* of the gate */
	float temperature, weights[FEATURES * EXPERTS];
	uint64_t width[EXPERTS];   /* of each expert */
	float w[EXPERTS][FEATURES], bias[EXPERTS];
};

static void
floats(struct made *x, const char *name, const float *v, uint64_t n)
{
	struct buf *b = tensor(x, name, "F32", 1, n);

	buf_put(b, v, n * sizeof *v);
}

static int
make_mixture(struct made *x, const struct mixture *m)
{
	char name[64];
	uint64_t i;

	*x = (struct made){ .e = ERR_INIT };
	word(x, "expert_count", m->n);
	for (i = 0; i < m->n && i < EXPERTS; i++) {
		snprintf(name, sizeof name, "expert_%u_coefficients", (unsigned)i);
		floats(x, name, m->w[i], m->width[i]);
		snprintf(name, sizeof name, "expert_%u_intercept", (unsigned)i);
		floats(x, name, &m->bias[i], 1);
	}
	word(x, "gating_n_features", m->features);
	word(x, "gating_n_experts", m->n);
	floats(x, "gating_temperature", &m->temperature, 1);
	floats(x, "gating_weights", m->weights, m->features * m->n);
	word(x, "config_top_k", m->top);
	return load(x, m->payload);
}

/* Whether the row gives these values, as many as the model has outputs. */
static bool
mixes(const struct made *x, const float *row, const double *want)
{
	struct step_rows rows = { .n = 0 }, spare = { .n = 0 };
	struct err e = ERR_INIT;
	double v[8] = { 0 };
	size_t i;
	bool ok = x->m.outputs <= 8 && step_rows_begin(&rows, 1, x->m.features, &e) == 0;

	for (i = 0; ok && i < x->m.features; i++)
		step_row(&rows, 0)[i] = (double)row[i];
	ok = ok && predict_block(&x->m, &rows, &spare, true, v, NULL, &e) == 0;
	for (i = 0; ok && i < x->m.outputs; i++)
		ok = fabs(v[i] - want[i]) < 1e-5;
	if (!ok)
		printf("# value %zu: %.9g, expected %.9g\n", i, v[i ? i - 1 : 0], want[i ? i - 1 : 0]);
	step_rows_free(&rows);
	step_rows_free(&spare);
	return ok;
}

/* The gate looks at x0 for 2 x0 + 1, and at x1 for -x1. */
static struct mixture
two(const char *payload)
{
	return (struct mixture){ .payload = payload, .n = 2, .features = 2, .top = 2, .temperature = 1,
		.weights = { 1, 0, 0, 1 }, .width = { 2, 2 }, .w = { { 2, 0 }, { 0, -1 } }, .bias = { 1, 0 } };
}

static void
test_mixtures(void)
{
	const float third = logf(3);
	const double line = 2 * log(3) + 1, p = 1 / (1 + exp(-1));
	struct mixture m = two("MixtureOfExperts.LinearRegression");
	struct made x;

	test_ok(make_mixture(&x, &m) == 0 && x.m.features == 2 && x.m.outputs == 1 && x.m.task == PREDICT_VALUE,
	        "a mixture of linear models gives a value");
	test_ok(mixes(&x, (float[]){ 0, 0 }, (double[]){ 0.5 }) &&
	        mixes(&x, (float[]){ third, 0 }, (double[]){ 0.75 * line }), "experts count by the softmax of the gate");
	clear(&x);
	m.temperature = 0.5f;
	test_ok(make_mixture(&x, &m) == 0 && mixes(&x, (float[]){ third, 0 }, (double[]){ 0.9 * line }),
	        "the temperature divides what goes into the softmax");
	clear(&x);
	m.top = 1;
	test_ok(make_mixture(&x, &m) == 0 && mixes(&x, (float[]){ 0, 0 }, (double[]){ 1 }) &&
	        mixes(&x, (float[]){ 0, 2 }, (double[]){ -2 }), "of equal gates the first counts; of one expert all");
	clear(&x);
	m = two("MixtureOfExperts.Ridge");
	m.top = 9;
	m.features = 1; /* x0 only: gates of e^x0 and 1 */
	test_ok(make_mixture(&x, &m) == 0 && x.m.features == 2 &&
	        mixes(&x, (float[]){ third, 4 }, (double[]){ 0.75 * line - 0.25 * 4 }),
	        "a gate of fewer features; all experts, if more are to count than there are");
	clear(&x);
	m = two("MixtureOfExperts.LogisticRegression");
	test_ok(make_mixture(&x, &m) == 0 && x.m.task == PREDICT_CLASSES && x.m.classes == 2 &&
	        mixes(&x, (float[]){ 0, 0 }, (double[]){ 0.75 - p / 2, 0.25 + p / 2 }), "experts of classes mix probabilities");
	clear(&x);
}

/* Two trees: class 2 if x1 > 3, else 0; and always class 1. The gate gives e^x0 and 1. */
static void
test_tree_mixture(void)
{
	static const int64_t features[] = { 1, -1, -1 }, left[] = { 1, -1, -1 }, right[] = { 2, -1, -1 };
	static const uint64_t classes[2][3] = { { 0, 0, 2 }, { 1 } };
	static const struct {
		const char *name, *type;
		const void *p;
	} columns[] = { { "features", "I64", features }, { "left_child", "I64", left }, { "right_child", "I64", right } };
	struct made x = { .e = ERR_INIT };
	const float third = logf(3);
	char name[64];
	unsigned i, k;

	word(&x, "expert_count", 2);
	for (i = 0; i < 2; i++) {
		const uint64_t n = i ? 1 : 3;

		for (k = 0; k < 3; k++) {
			snprintf(name, sizeof name, "expert_%u_node_%s", i, columns[k].name);
			buf_put(tensor(&x, name, columns[k].type, 1, n), (const int64_t *)columns[k].p + (i ? 1 : 0), n * 8);
		}
		snprintf(name, sizeof name, "expert_%u_node_thresholds", i);
		floats(&x, name, (float[]){ 3, 0, 0 }, n);
		snprintf(name, sizeof name, "expert_%u_node_classes", i);
		buf_put(tensor(&x, name, "U64", 1, n), classes[i], n * 8);
	}
	word(&x, "gating_n_features", 1);
	word(&x, "gating_n_experts", 2);
	floats(&x, "gating_temperature", (float[]){ 1 }, 1);
	floats(&x, "gating_weights", (float[]){ 1, 0 }, 2);
	word(&x, "config_top_k", 2);
	test_ok(load(&x, "MixtureOfExperts.DecisionTreeClassifier") == 0 && x.m.features == 2 && x.m.classes == 3 &&
	        mixes(&x, (float[]){ third, 3 }, (double[]){ 0.75, 0.25, 0 }) &&
	        mixes(&x, (float[]){ 0, 4 }, (double[]){ 0, 0.5, 0.5 }), "experts that are trees, of 3 classes and of 2");
	clear(&x);
}

/* The rule once more: experts are chosen one after another. */
static double
reference(const struct mixture *m, const float *row)
{
	float gate[EXPERTS], weight[EXPERTS] = { 0 }, sum = 0, out = 0;
	size_t i, j, k, best, order[EXPERTS], top = m->top < m->n ? m->top : m->n;

	for (j = 0; j < m->n; j++) {
		gate[j] = 0;
		for (i = 0; i < m->features && i < m->width[0]; i++)
			gate[j] += row[i] * m->weights[i * m->n + j];
		gate[j] = expf(gate[j] / m->temperature);
	}
	for (k = 0; k < top; k++) {
		for (j = 0, best = m->n; j < m->n; j++)
			if (weight[j] == 0 && (best == m->n || gate[j] > gate[best]))
				best = j;
		order[k] = best;
		weight[best] = gate[best];
		sum += gate[best];
	}
	for (k = 0; k < top; k++) {
		float y = m->bias[order[k]];

		for (i = 0; i < m->width[0]; i++)
			y += row[i] * m->w[order[k]][i];
		out += weight[order[k]] / sum * y;
	}
	return (double)out;
}

static float
chance(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return (float)(*state >> 24) / 64 - 2;
}

static void
test_random_mixtures(void)
{
	struct mixture m;
	struct made x;
	uint32_t d = 1, i, k, n;
	float row[FEATURES];
	bool ok = true;

	for (n = 0; ok && n < 500; n++) {
		m = (struct mixture){ .payload = "MixtureOfExperts.Lasso", .temperature = 1.5f + chance(&d) / 2 };
		m.n = 1 + n % EXPERTS;
		m.features = 1 + n / 5 % FEATURES;
		m.top = 1 + n / 7 % (EXPERTS + 1);
		for (i = 0; i < FEATURES * EXPERTS; i++)
			m.weights[i] = chance(&d);
		for (i = 0; i < EXPERTS; i++) {
			m.width[i] = 1 + n / 11 % FEATURES;
			m.bias[i] = chance(&d);
			for (k = 0; k < FEATURES; k++)
				m.w[i][k] = chance(&d);
		}
		ok = make_mixture(&x, &m) == 0;
		for (k = 0; ok && k < 8; k++) {
			for (i = 0; i < FEATURES; i++)
				row[i] = chance(&d);
			ok = mixes(&x, row, (double[]){ reference(&m, row) });
		}
		clear(&x);
	}
	test_ok(ok, "500 mixtures by chance, of 1 to 5 experts, give what the reference gives");
}

static void
test_refused_mixtures(void)
{
	static const char *const facts[] = { "the temperature of the gate is not greater than 0",
		"the temperature of the gate is not greater than 0", "the temperature of the gate is not greater than 0",
		"expert 1 has 1 features, the first 2", "config_top_k is not a number from 1",
		"weight 2 of the gate is not finite", "a mixture of MixtureOfExperts.Ridge",
		"a mixture of MarkovModel", "a mixture of KMeans", "gating_n_features is not",
		"a mixture of unknown experts", "weight 1 is not finite" };
	struct mixture m;
	struct made x;
	size_t i;

	for (i = 0; i < sizeof facts / sizeof *facts; i++) {
		m = two(i == 6 ? "MixtureOfExperts.MixtureOfExperts.Ridge" : i == 7 ? "MixtureOfExperts.MarkovModel" :
		        i == 8 ? "MixtureOfExperts.KMeans" : i == 10 ? "MixtureOfExperts" : "MixtureOfExperts.ElasticNet");
		m.temperature = i == 0 ? 0 : i == 1 ? NAN : i == 2 ? HUGE_VALF : 1;
		m.width[1] = i == 3 ? 1 : 2;
		m.top = i == 4 ? 0 : 2;
		m.weights[2] = i == 5 ? HUGE_VALF : 0;
		m.features = i == 9 ? 0 : 2;
		m.w[0][1] = i == 11 ? HUGE_VALF : 0;
		test_ok(make_mixture(&x, &m) < 0 && strstr(x.e.fact, facts[i]), "refused: %s", facts[i]);
		if (!strstr(x.e.fact, facts[i]))
			printf("# %s\n", x.e.fact);
		clear(&x);
	}
}

int
main(void)
{
	test_scores();
	test_texts();
	test_refused();
	test_damage();
	test_mixtures();
	test_tree_mixture();
	test_random_mixtures();
	test_refused_mixtures();
	return test_done();
}
