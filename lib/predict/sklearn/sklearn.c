#include "predict/sklearn/sklearn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"
#include "predict/readers.h"
#include "predict/step_columns.h"
#include "predict/step_features.h"
#include "predict/step_models.h"

static const struct pickle_name names[] = {
	{ "sklearn", NULL, SKLEARN_CLASS },
	{ "scipy.sparse", NULL, SKLEARN_CLASS },
	{ "copyreg", "_reconstructor", SKLEARN_MAKE },
	{ "builtins", "object", PICKLE_OPAQUE },
	{ "builtins", "slice", PICKLE_OPAQUE },
	{ "builtins", "set", PICKLE_OPAQUE },
	{ "builtins", "bytes", SKLEARN_BYTES },
	{ "numpy.core.multiarray", "_reconstruct", SKLEARN_ARRAY },
	{ "numpy.core.numeric", "_frombuffer", SKLEARN_BUFFER },
	{ "numpy.core.multiarray", "scalar", SKLEARN_SCALAR },
	{ "numpy", "ndarray", PICKLE_OPAQUE },
	{ "numpy", "dtype", SKLEARN_TYPE },
	{ "numpy.random", NULL, PICKLE_OPAQUE },
	{ "numpy.ma", NULL, PICKLE_OPAQUE },
	{ "scipy.stats", NULL, PICKLE_OPAQUE },
	{ "_codecs", "encode", SKLEARN_ENCODE },
	{ "joblib.numpy_pickle", "NumpyArrayWrapper", SKLEARN_WRAPPER },
	{ "sklearn.externals.joblib.numpy_pickle", "NumpyArrayWrapper", SKLEARN_WRAPPER },
	{ "collections", "OrderedDict", PICKLE_OPAQUE },
	/* Not even as a mere name: */
	{ "os", NULL, PICKLE_EXECUTES },
	{ "posix", NULL, PICKLE_EXECUTES },
	{ "nt", NULL, PICKLE_EXECUTES },
	{ "subprocess", NULL, PICKLE_EXECUTES },
	{ "builtins", "eval", PICKLE_EXECUTES },
	{ "builtins", "exec", PICKLE_EXECUTES },
	{ "builtins", "compile", PICKLE_EXECUTES },
	{ "builtins", "__import__", PICKLE_EXECUTES },
};

/* ---- labels and names ---- */

/* A text of NumPy: code points of 32 bits, padded with zeros. */
static int
add_wide(struct sklearn *s, const uint8_t *p, size_t letters, bool label)
{
	struct buf b = { 0 };
	bool wrong = false;
	uint32_t c;
	size_t i;
	int r;

	for (i = 0; i < letters && (c = le32(p + i * 4)) != 0; i++) {
		wrong |= c > 0x10ffff;
		text_put(&b, c);
	}
	r = !buf_string(&b) ? err_memory(s->e)
	    : wrong || !text_utf8(b.p, b.n, false) ? sklearn_wrong(s, "a name is not a text")
	    : (label ? predictor_add_label : predictor_add_name)(s->m, (char *)b.p, b.n, s->e);
	buf_free(&b);
	return r;
}

int
sklearn_add_text(struct sklearn *s, pickle_ref r, bool label)
{
	const uint8_t *p;
	size_t n;

	if (pickle_node(&s->k, r)->kind != PICKLE_TEXT)
		return sklearn_wrong(s, "a name is not a text");
	p = sklearn_text(s, r, &n);
	return p ? (label ? predictor_add_label : predictor_add_name)(s->m, (const char *)p, n, s->e) : -1;
}

int
sklearn_texts(struct sklearn *s, pickle_ref r, bool label)
{
	struct sklearn_array a;
	const struct pickle_cell *c;
	char text[40];
	size_t i;
	int status = sklearn_array(s, r, &a);

	c = status == 0 && a.list != PICKLE_NOTHING ? pickle_first(&s->k, a.list) : NULL;
	for (i = 0; status == 0 && i < a.n; i++) {
		if (c) {
			status = sklearn_add_text(s, c->node, label);
			c = pickle_next(&s->k, c);
		} else if (a.v) {
			snprintf(text, sizeof text, "%.17g", a.v[i]);
			status = label ? predictor_add_label(s->m, text, strlen(text), s->e) : 0;
		} else if (a.code[0] == 'U') {
			status = add_wide(s, a.raw.p + i * (a.raw.n / a.n), a.raw.n / a.n / 4, label);
		}
	}
	sklearn_array_free(&a);
	return status;
}

/* ---- linear models and centers ---- */

static int
set_intercept(struct sklearn *s, pickle_ref r)
{
	struct sklearn_array a;
	size_t k;
	double v;
	int status;

	if (r == PICKLE_NOTHING || sklearn_number(s, r, &v) == 0) {
		for (k = 0; r != PICKLE_NOTHING && k < s->m->outputs; k++)
			s->m->linear.bias[k] = v;
		return 0;
	}
	status = sklearn_array(s, r, &a);
	if (status == 0 && (!a.v || a.n != s->m->outputs))
		status = sklearn_wrong(s, "the intercept does not fit the coefficients");
	for (k = 0; status == 0 && k < a.n; k++)
		s->m->linear.bias[k] = a.v[k];
	sklearn_array_free(&a);
	return status;
}

int
sklearn_weights(struct sklearn *s, double *v, size_t outputs, size_t features, const char *kind)
{
	struct predictor *m = s->m;

	m->kind = kind;
	m->form = PREDICT_LINEAR;
	m->outputs = outputs;
	m->features = features;
	m->sharpness = 1;
	m->refuses_nan = true;
	m->linear.after = true;
	m->linear.weights = v;
	m->linear.bias = mem_array(outputs, sizeof(double));
	return m->linear.bias ? 0 : err_memory(s->e);
}

/* Weights of one row for each output. */
static int
set_weights(struct sklearn *s, pickle_ref r, const char *kind)
{
	size_t outputs, features;
	double *v = sklearn_matrix(s, r, 0, &outputs, &features, "coefficients");

	return v ? sklearn_weights(s, v, outputs, features, kind) : -1;
}

static int
linear(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	if (set_weights(s, sklearn_field(s, r, "coef_"), "linear model of scikit-learn") < 0)
		return -1;
	return set_intercept(s, sklearn_field(s, r, "intercept_"));
}

/* A linear classifier, whose scores are not probabilities. */
static int
margins(struct sklearn *s, pickle_ref r, bool classes)
{
	if (linear(s, r, classes) < 0)
		return -1;
	s->m->kind = "linear classifier of scikit-learn";
	s->m->task = s->m->outputs == 1 ? PREDICT_BINARY : PREDICT_CLASSES;
	s->m->link = LINK_NONE;
	s->m->by_score = true;
	return 0;
}

/* With several classes, the probabilities are those of one softmax, unless each class was trained
 * alone. Two classes in such a softmax have the scores -d and d, so that the second is sigmoid(2 d). */
static int
logistic(struct sklearn *s, pickle_ref r, bool classes)
{
	bool alone = pickle_is(&s->k, sklearn_field(s, r, "solver"), "liblinear") ||
	             pickle_is(&s->k, sklearn_field(s, r, "multi_class"), "ovr");

	if (margins(s, r, classes) < 0)
		return -1;
	s->m->kind = "logistic regression of scikit-learn";
	s->m->link = s->m->outputs == 1 ? LINK_SIGMOID : alone ? LINK_EACH : LINK_SOFTMAX;
	if (s->m->outputs == 1 && !alone && pickle_is(&s->k, sklearn_field(s, r, "multi_class"), "multinomial"))
		s->m->sharpness = 2;
	return 0;
}

static int
gradient(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref loss = sklearn_field(s, r, "loss");

	if (margins(s, r, classes) < 0)
		return -1;
	if (loss != PICKLE_NOTHING && (pickle_is(&s->k, loss, "log_loss") || pickle_is(&s->k, loss, "log")))
		s->m->link = s->m->outputs == 1 ? LINK_SIGMOID : LINK_EACH;
	return 0;
}

/* A classifier whose probabilities are a sigmoid, or one softmax. */
static int
discriminant(struct sklearn *s, pickle_ref r, bool classes)
{
	if (margins(s, r, classes) < 0)
		return -1;
	s->m->kind = "linear discriminant of scikit-learn";
	s->m->link = s->m->outputs == 1 ? LINK_SIGMOID : LINK_SOFTMAX;
	return 0;
}

/* Generalized linear models: the logarithm of the mean is linear, unless a link or a power says otherwise. */
static int
generalized(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref link = sklearn_field(s, r, "link");
	bool identity = pickle_is(&s->k, link, "identity") ||
	                (pickle_is(&s->k, link, "auto") && sklearn_or(s, r, "power", 0) <= 0);

	if (linear(s, r, classes) < 0)
		return -1;
	s->m->kind = "generalized linear model of scikit-learn";
	s->m->link = identity ? LINK_NONE : LINK_EXP;
	return 0;
}

/* The best of a search. */
static int
search(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref best = sklearn_field(s, r, "best_estimator_");

	(void)classes;
	return best == PICKLE_NOTHING ? sklearn_wrong(s, "the search has no best estimator: it was not fitted again")
	                              : sklearn_last(s, best);
}

static int
centers(struct sklearn *s, pickle_ref r, bool classes)
{
	(void)classes;
	if (set_weights(s, sklearn_field(s, r, "cluster_centers_"), "k-means of scikit-learn") < 0)
		return -1;
	s->m->form = PREDICT_CENTERS;
	s->m->task = PREDICT_CLUSTER;
	return 0;
}

/* ---- the table of estimators ---- */

static const struct estimator {
	const char *class;
	int (*read)(struct sklearn *s, pickle_ref r, bool classes);
	bool classes;
	bool step;    /* only turns rows into others */
	bool decides; /* has a decision function, whose values are the scores */
} estimators[] = {
	{ "DecisionTreeClassifier", sklearn_tree, true, false, false },
	{ "DecisionTreeRegressor", sklearn_tree, false, false, false },
	{ "ExtraTreeClassifier", sklearn_tree, true, false, false },
	{ "ExtraTreeRegressor", sklearn_tree, false, false, false },
	{ "RandomForestClassifier", sklearn_forest, true, false, false },
	{ "RandomForestRegressor", sklearn_forest, false, false, false },
	{ "ExtraTreesClassifier", sklearn_forest, true, false, false },
	{ "ExtraTreesRegressor", sklearn_forest, false, false, false },
	{ "GradientBoostingClassifier", sklearn_boosting, true, false, true },
	{ "GradientBoostingRegressor", sklearn_boosting, false, false, false },
	{ "HistGradientBoostingClassifier", sklearn_histograms, true, false, true },
	{ "HistGradientBoostingRegressor", sklearn_histograms, false, false, false },
	{ "LinearRegression", linear, false, false, false },
	{ "Ridge", linear, false, false, false },
	{ "RidgeCV", linear, false, false, false },
	{ "Lasso", linear, false, false, false },
	{ "LassoCV", linear, false, false, false },
	{ "ElasticNet", linear, false, false, false },
	{ "ElasticNetCV", linear, false, false, false },
	{ "BayesianRidge", linear, false, false, false },
	{ "ARDRegression", linear, false, false, false },
	{ "HuberRegressor", linear, false, false, false },
	{ "TheilSenRegressor", linear, false, false, false },
	{ "Lars", linear, false, false, false },
	{ "LassoLars", linear, false, false, false },
	{ "OrthogonalMatchingPursuit", linear, false, false, false },
	{ "SGDRegressor", linear, false, false, false },
	{ "LinearSVR", linear, false, false, false },
	{ "LogisticRegression", logistic, true, false, true },
	{ "LogisticRegressionCV", logistic, true, false, true },
	{ "SGDClassifier", gradient, true, false, true },
	{ "LinearSVC", margins, true, false, true },
	{ "RidgeClassifier", margins, true, false, true },
	{ "RidgeClassifierCV", margins, true, false, true },
	{ "Perceptron", margins, true, false, true },
	{ "PassiveAggressiveClassifier", margins, true, false, true },
	{ "KMeans", centers, false, false, false },
	{ "MiniBatchKMeans", centers, false, false, false },
	{ "GaussianNB", sklearn_gauss, true, false, false },
	{ "MultinomialNB", sklearn_multinomial, true, false, false },
	{ "ComplementNB", sklearn_complement, true, false, false },
	{ "BernoulliNB", sklearn_bernoulli, true, false, false },
	{ "KNeighborsClassifier", sklearn_neighbors, true, false, false },
	{ "KNeighborsRegressor", sklearn_neighbors, false, false, false },
	{ "SVC", sklearn_svm, true, false, true },
	{ "NuSVC", sklearn_svm, true, false, true },
	{ "SVR", sklearn_svm, false, false, false },
	{ "NuSVR", sklearn_svm, false, false, false },
	{ "MLPClassifier", sklearn_net, true, false, false },
	{ "MLPRegressor", sklearn_net, false, false, false },
	{ "StandardScaler", sklearn_standard, false, true, false },
	{ "MinMaxScaler", sklearn_range, false, true, false },
	{ "MaxAbsScaler", sklearn_largest, false, true, false },
	{ "RobustScaler", sklearn_robust, false, true, false },
	{ "Normalizer", sklearn_normalizer, false, true, false },
	{ "Binarizer", sklearn_binarizer, false, true, false },
	{ "SimpleImputer", sklearn_imputer, false, true, false },
	{ "OneHotEncoder", sklearn_onehot, false, true, false },
	{ "OrdinalEncoder", sklearn_ordinal, false, true, false },
	{ "ColumnTransformer", sklearn_parts, false, true, false },
	{ "PCA", sklearn_pca, false, true, false },
	{ "IncrementalPCA", sklearn_pca, false, true, false },
	{ "TruncatedSVD", sklearn_svd, false, true, false },
	{ "CountVectorizer", sklearn_counts, false, true, false },
	{ "TfidfVectorizer", sklearn_tfidf_counts, false, true, false },
	{ "HashingVectorizer", sklearn_hashes, false, true, false },
	{ "TfidfTransformer", sklearn_tfidf, false, true, false },
	{ "PassiveAggressiveRegressor", linear, false, false, false },
	{ "LarsCV", linear, false, false, false },
	{ "LassoLarsCV", linear, false, false, false },
	{ "LassoLarsIC", linear, false, false, false },
	{ "OrthogonalMatchingPursuitCV", linear, false, false, false },
	{ "MultiTaskLasso", linear, false, false, false },
	{ "MultiTaskLassoCV", linear, false, false, false },
	{ "MultiTaskElasticNet", linear, false, false, false },
	{ "MultiTaskElasticNetCV", linear, false, false, false },
	{ "QuantileRegressor", linear, false, false, false },
	{ "PoissonRegressor", generalized, false, false, false },
	{ "GammaRegressor", generalized, false, false, false },
	{ "TweedieRegressor", generalized, false, false, false },
	{ "LinearDiscriminantAnalysis", discriminant, true, false, true },
	{ "QuadraticDiscriminantAnalysis", sklearn_quadratic, true, false, true },
	{ "NearestCentroid", sklearn_centroids, true, false, false },
	{ "GaussianMixture", sklearn_mixture, false, false, false },
	{ "IsolationForest", sklearn_isolation, false, false, false },
	{ "OneClassSVM", sklearn_oneclass, false, false, false },
	{ "SGDOneClassSVM", sklearn_oneclass_linear, false, false, false },
	{ "GridSearchCV", search, false, false, false },
	{ "RandomizedSearchCV", search, false, false, false },
	{ "HalvingGridSearchCV", search, false, false, false },
	{ "HalvingRandomSearchCV", search, false, false, false },
	{ "VotingClassifier", sklearn_voting, true, false, false },
	{ "VotingRegressor", sklearn_voting, false, false, false },
	{ "BaggingClassifier", sklearn_bagging, true, false, false },
	{ "BaggingRegressor", sklearn_bagging, false, false, false },
	{ "AdaBoostClassifier", sklearn_adaboost, true, false, true },
	{ "AdaBoostRegressor", sklearn_adaboost, false, false, false },
	{ "StackingClassifier", sklearn_stacking, true, false, false },
	{ "StackingRegressor", sklearn_stacking, false, false, false },
	{ "CalibratedClassifierCV", sklearn_calibrated, true, false, false },
	{ "OneVsRestClassifier", sklearn_onevsrest, true, false, true },
	{ "MultiOutputRegressor", sklearn_multioutput, false, false, false },
	{ "TransformedTargetRegressor", sklearn_target, false, false, false },
	{ "FeatureUnion", sklearn_featureunion, false, true, false },
	{ "PolynomialFeatures", sklearn_polynomial, false, true, false },
	{ "KBinsDiscretizer", sklearn_bins, false, true, false },
	{ "PowerTransformer", sklearn_power, false, true, false },
	{ "QuantileTransformer", sklearn_quantiles, false, true, false },
	{ "FunctionTransformer", sklearn_functions, false, true, false },
	{ "MissingIndicator", sklearn_indicator, false, true, false },
	{ "VarianceThreshold", sklearn_variance, false, true, false },
	{ "SelectKBest", sklearn_best, false, true, false },
	{ "SelectPercentile", sklearn_percentile, false, true, false },
	{ "SelectFpr", sklearn_fpr, false, true, false },
	{ "SelectFromModel", sklearn_from_model, false, true, false },
	{ "RFE", sklearn_support, false, true, false },
	{ "RFECV", sklearn_support, false, true, false },
	{ "SequentialFeatureSelector", sklearn_support, false, true, false },
};

/* "1.2.1" as 1.02. */
static double
read_version(const struct sklearn *s, pickle_ref r)
{
	pickle_ref text = sklearn_field(s, r, "_sklearn_version");
	const uint8_t *p;
	char copy[16];
	size_t n;
	char *end;
	unsigned long major, minor;

	if (text == PICKLE_NOTHING || pickle_node(&s->k, text)->kind != PICKLE_TEXT)
		return 0;
	p = pickle_bytes(&s->k, text, &n);
	snprintf(copy, sizeof copy, "%.*s", n < 15 ? (int)n : 15, (const char *)p);
	major = strtoul(copy, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return (double)major + (double)(minor < 100 ? minor : 99) / 100;
}

static const struct estimator *
find_estimator(struct sklearn *s, const char *class)
{
	size_t i;

	for (i = 0; i < sizeof estimators / sizeof *estimators; i++)
		if (strcmp(estimators[i].class, class) == 0)
			return &estimators[i];
	err_set(s->e, ERR_FORMAT, s->where, *class ? "estimators of the class %s are not read"
	        : "the pickle is not an estimator of scikit-learn", class);
	return NULL;
}

/* What turned the labels of training into columns, of estimators that keep no classes_ of their own. */
static pickle_ref
binarizer(const struct sklearn *s, pickle_ref r)
{
	pickle_ref own = sklearn_field(s, r, "_label_binarizer");

	return own != PICKLE_NOTHING ? own : sklearn_field(s, r, "label_binarizer_");
}

/* Refuses rows of several labels each. */
static int
one_label(const struct sklearn *s, pickle_ref r)
{
	pickle_ref type = sklearn_field(s, binarizer(s, r), "y_type_");

	if (type != PICKLE_NOTHING && pickle_is(&s->k, type, "multilabel-indicator"))
		return err_set(s->e, ERR_FORMAT, s->where, "a model whose rows have several labels is not read");
	return 0;
}

/* One estimator. last: nothing follows it. */
static int
read_one(struct sklearn *s, pickle_ref r, const char *class, bool last)
{
	const struct estimator *x = find_estimator(s, class);
	pickle_ref texts = sklearn_field(s, r, "feature_names_in_");
	bool first = s->m->step_count == 0 && s->depth == 0;

	if (!x)
		return -1;
	if (!x->step && !last)
		return err_set(s->e, ERR_FORMAT, s->where, "something follows the %s in a pipeline", class);
	s->m->form = x->step ? PREDICT_STEPS : PREDICT_TREES;
	s->decides = x->decides;
	if (one_label(s, r) < 0 || x->read(s, r, x->classes) < 0)
		return -1;
	if (first && !s->m->names && texts != PICKLE_NOTHING && sklearn_texts(s, texts, false) < 0)
		return -1;
	texts = sklearn_field(s, r, "classes_");
	if (texts == PICKLE_NOTHING)
		texts = sklearn_field(s, binarizer(s, r), "classes_");
	return x->classes && texts != PICKLE_NOTHING ? sklearn_texts(s, texts, true) : 0;
}

static int read_estimator(struct sklearn *s, pickle_ref r, bool last, unsigned depth);

/* A list of pairs (NAME, ESTIMATOR). */
static int
read_pipeline(struct sklearn *s, pickle_ref r, bool last, unsigned depth)
{
	pickle_ref list = sklearn_field(s, r, "steps"), pair[2];
	const struct pickle_cell *c, *next;

	if (list == PICKLE_NOTHING || pickle_node(&s->k, list)->kind != PICKLE_LIST)
		return sklearn_wrong(s, "the pipeline has no list of steps");
	for (c = pickle_first(&s->k, list); c; c = next) {
		next = pickle_next(&s->k, c);
		if (pickle_items(&s->k, c->node, pair, 2) != 2)
			return sklearn_wrong(s, "a step of the pipeline is not a pair");
		if (sklearn_none(s, pair[1]) || pickle_is(&s->k, pair[1], "passthrough"))
			continue;
		if (read_estimator(s, pair[1], last && !next, depth + 1) < 0)
			return -1;
	}
	return 0;
}

#define DEPTH 8 /* of pipelines in pipelines */
#define STEPS 256
#define VISITS 16384

static int
read_estimator(struct sklearn *s, pickle_ref r, bool last, unsigned depth)
{
	char class[64];
	int status;

	sklearn_class(s, r, class);
	if (depth > DEPTH || s->m->step_count > STEPS || ++s->visits > VISITS || s->nest > SKLEARN_NEST)
		return sklearn_wrong(s, "the pipeline has too many steps");
	s->nest++;
	status = strcmp(class, "Pipeline") == 0 ? read_pipeline(s, r, last, depth)
	                                        : read_one(s, r, class, last);
	s->nest--;
	return status;
}

int
sklearn_estimator(struct sklearn *s, pickle_ref r)
{
	return read_estimator(s, r, false, 1);
}

int
sklearn_last(struct sklearn *s, pickle_ref r)
{
	return read_estimator(s, r, true, 1);
}

#define VOCABULARY ((size_t)1 << 30) /* bytes of the objects of a pickle, about */

/* Whether the library refuses a row with an infinite value: all but boosting of histograms do. Of columns that
 * go to parts, and of functions in front, it depends on what becomes of the value. */
static bool
refuses_infinite(const struct predictor *m)
{
	const struct step_models *x;
	size_t i;

	if (m->step_count == 0)
		return m->form != PREDICT_TREES || m->rounds;
	if (m->steps[0].kind != &step_models)
		return !m->texts && m->steps[0].kind != &step_parts && m->steps[0].kind != &step_function;
	x = m->steps[0].more;
	for (i = 0; i < x->n && !refuses_infinite(x->models[i].m); i++)
		;
	return i < x->n;
}

int
sklearn_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct sklearn s = { .m = m, .where = where, .e = e, .left = 4 * n + 65536,
		.k = { .names = names, .name_count = sizeof names / sizeof *names, .where = where,
		       .memory = PICKLE_MEMORY + (n < VOCABULARY / 16 ? 16 * n : VOCABULARY) } };
	int r;

	s.k.behind = sklearn_behind;
	s.k.owner = &s;
	r = pickle_read(&s.k, p, n, e);

	if (r == 0) {
		s.version = read_version(&s, s.k.root);
		r = read_estimator(&s, s.k.root, true, 0);
		if (e->code != ERR_NONE) /* of a number that sklearn_or passed over */
			r = -1;
	}
	m->refuses_inf = r == 0 && refuses_infinite(m);
	free(s.fill);
	pickle_free(&s.k);
	return r;
}
