#include "arch/classic.h"

#include <string.h>

#include "core/json.h"

#define ROW_IN "a row of numbers, one for each feature"
#define VALUE "a number"
#define CLASS "a class, with a share or probability for each"
#define TEXT_IN "texts"

/* Sources: section 4 of the specification of version 1, and the usual textbook definitions. */
static const struct classic_words rows[] = {
	{ "LINEAR_REGRESSION", "Ridge", "ridge regression", "predicts a number from others",
	  "weights times features, plus an intercept; squares of weights were penalized in training",
	  ROW_IN, VALUE },
	{ "LINEAR_REGRESSION", "Lasso", "lasso regression", "predicts a number from few of others",
	  "weights times features, plus an intercept; many weights are zero", ROW_IN, VALUE },
	{ "LINEAR_REGRESSION", "ElasticNet", "elastic net", "predicts a number from others",
	  "weights times features, plus an intercept; squares and sums of weights were penalized",
	  ROW_IN, VALUE },
	{ "LINEAR_REGRESSION", NULL, "linear regression", "predicts a number from others",
	  "weights times features, plus an intercept", ROW_IN, VALUE },
	{ "LOGISTIC_REGRESSION", NULL, "logistic regression", "tells two classes apart",
	  "weights times features, plus an intercept, through a sigmoid", ROW_IN,
	  "the probability of the second class" },
	{ "DECISION_TREE", "DecisionTreeRegressor", "decision tree for numbers",
	  "predicts a number by questions about single features",
	  "each split compares a feature with a threshold and goes left if it is not greater", ROW_IN,
	  "the number of a leaf" },
	{ "DECISION_TREE", NULL, "decision tree for classes",
	  "chooses a class by questions about single features",
	  "each split compares a feature with a threshold and goes left if it is not greater", ROW_IN,
	  "the class of a leaf" },
	{ "RANDOM_FOREST", "RandomForestRegressor", "random forest for numbers",
	  "predicts a number by many trees", "the mean of trees, each grown from a sample of the rows",
	  ROW_IN, VALUE },
	{ "RANDOM_FOREST", NULL, "random forest for classes", "chooses a class by many trees",
	  "the votes of trees, each grown from a sample of the rows", ROW_IN, CLASS },
	{ "GRADIENT_BOOSTING", NULL, "gradient boosting", "predicts a number or a class by many trees",
	  "the sum of small trees; each corrects those before it", ROW_IN,
	  "a number, or a class through a link function" },
	{ "KMEANS", NULL, "k-means", "sorts rows into clusters", "the nearest of the centers", ROW_IN,
	  "the number of a cluster, or the distance to each" },
	{ "PCA", NULL, "principal components", "describes rows by fewer numbers",
	  "a row less the mean, times the directions of largest variance", ROW_IN,
	  "coordinates along the components" },
	{ "NAIVE_BAYES", NULL, "naive Bayes", "chooses a class from counts or means",
	  "the prior of a class times the likelihood of each feature by itself", ROW_IN, CLASS },
	{ "KNN", NULL, "nearest neighbours", "predicts from similar rows of the training",
	  "the k nearest rows vote, or their mean", ROW_IN, "a class or a number" },
	{ "SVM", NULL, "support vector machine", "tells classes apart by rows near their border",
	  "a weighted sum of kernels between the row and the support vectors", ROW_IN, CLASS },
	{ "NGRAM_LM", NULL, "n-gram language model", "continues texts from counts",
	  "how often a word followed the words before it", TEXT_IN, "the next words and their counts" },
	{ "TFIDF", NULL, "TF-IDF vectorizer", "turns texts into numbers",
	  "counts of words, weighted by how few texts have them", TEXT_IN, "a row of numbers" },
	{ "COUNT_VECTORIZER", NULL, "count vectorizer", "turns texts into numbers", "counts of words",
	  TEXT_IN, "a row of counts" },
	{ "NEURAL_SEQUENTIAL", NULL, "neural network of layers in sequence",
	  "predicts numbers or classes", "each layer works on the result of the one before it", ROW_IN,
	  "the values of the last layer" },
	{ "CONTENT_RECOMMENDER", NULL, "recommender by content", "finds items like a given one",
	  "the similarity of the vectors of items", "an item", "items and how similar they are" },
	{ "MIXTURE_OF_EXPERTS", NULL, "mixture of classical experts",
	  "predicts by the experts that fit a row", "a gate weighs models, the best ones compute",
	  ROW_IN, "what the experts predict, weighted" },
	{ "CUSTOM", "MarkovModel", "n-gram language model", "continues texts from counts",
	  "how often a word followed the words before it", TEXT_IN, "the next words and their counts" },
};

/* The same by the kind that the key apr.predict states, for models that no type above fits. */
static const struct classic_words kinds[] = {
	{ "generalized linear model of scikit-learn", NULL, "generalized linear model",
	  "predicts a number, such as a count, that is not negative",
	  "weights times features, plus an intercept, through an exponential or another link", ROW_IN, VALUE },
	{ "linear discriminant of scikit-learn", NULL, "linear discriminant analysis", "tells classes apart",
	  "classes are normal distributions of one shape: a linear score for each", ROW_IN, CLASS },
	{ "quadratic discriminant of scikit-learn", NULL, "quadratic discriminant analysis", "tells classes apart",
	  "classes are normal distributions, each with a shape of its own", ROW_IN, CLASS },
	{ "mixture of scikit-learn", NULL, "Gaussian mixture", "sorts rows into groups",
	  "groups are normal distributions with weights", ROW_IN, CLASS },
	{ "nearest center of scikit-learn", NULL, "nearest centroid", "tells classes apart",
	  "the class whose center is nearest", ROW_IN, CLASS },
	{ "linear model of one class of scikit-learn", NULL, "linear model of one class",
	  "finds rows that are unlike those of training", "weights times features, less an offset", ROW_IN,
	  "1 for a row like those of training, otherwise -1" },
	{ "linear classifier of scikit-learn", NULL, "linear classifier", "tells classes apart",
	  "weights times features, plus an intercept: the greatest score", ROW_IN, CLASS },
	{ "vote of models of scikit-learn", NULL, "vote of models", "predicts what several models do together",
	  "the votes or the mean of the models inside", ROW_IN, "a class or a number" },
	{ "bagging of scikit-learn", NULL, "bagging", "predicts what several models do together",
	  "the mean of models that are alike, each trained on a sample", ROW_IN, "a class or a number" },
	{ "AdaBoost of scikit-learn", NULL, "AdaBoost", "predicts by models that follow each other's errors",
	  "a weighted sum or median of the models inside", ROW_IN, "a class or a number" },
	{ "stack of models of scikit-learn", NULL, "stack of models", "predicts from what other models say",
	  "the models inside compute first, and one more computes with their values", ROW_IN, "a class or a number" },
	{ "calibrated model of scikit-learn", NULL, "calibrated model", "tells classes apart, with probabilities",
	  "the scores of models, each through a curve, and their mean", "a row, or a text", CLASS },
	{ "one model for each class of scikit-learn", NULL, "one model for each class", "tells classes apart",
	  "a model for each class against the others: the greatest score", ROW_IN, CLASS },
	{ "one model for each output of scikit-learn", NULL, "one model for each output", "predicts several numbers",
	  "a model for each of them", ROW_IN, "numbers" },
	{ "model of a transformed target of scikit-learn", NULL, "model of a transformed target", "predicts a number",
	  "what the model inside says, turned back", ROW_IN, VALUE },
	{ "isolation forest of scikit-learn", NULL, "isolation forest", "finds rows that are unlike the others",
	  "how soon splits at random set a row apart, as the mean over trees", ROW_IN,
	  "1 for a row like those of training, otherwise -1" },
	{ "transformer of scikit-learn", NULL, "transformer", "turns rows into others for another model",
	  "steps one after another: they scale, encode, select or project", "a row, or a text", "a row of numbers" },
};

static bool
payload_is(const char *said, const char *name)
{
	size_t n = strcspn(said, ".");

	return strlen(name) == n && memcmp(said, name, n) == 0;
}

static bool
states(const json_t *o, const char *name, const char *text)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s && strcmp(s, text) == 0;
}

const struct classic_words *
classic_words(struct model *m)
{
	const char *type = model_text(m, "apr1.model_type"), *payload = model_text(m, "apr1.payload");
	const char *form = model_text(m, "apr.predict");
	struct err e = ERR_INIT;
	json_t *o = form ? json_parse(form, strlen(form), ERR_CORRUPT, "apr.predict", &e) : NULL;
	const struct classic_words *found = NULL;
	size_t i;

	for (i = 0; o && i < sizeof kinds / sizeof *kinds; i++)
		if (states(o, "kind", kinds[i].type))
			found = &kinds[i];
	if (found == &kinds[sizeof kinds / sizeof *kinds - 1] && type && strcmp(type, "CUSTOM") != 0)
		found = NULL; /* a vectorizer, or principal components */
	json_decref(o);
	if (found)
		return found;
	for (i = 0; type && i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].type, type) == 0 &&
		    (!rows[i].payload || (payload && payload_is(payload, rows[i].payload))))
			return &rows[i];
	return NULL;
}

static uint64_t
number(const json_t *o, const char *name)
{
	uint64_t n = 0;

	return json_member_u64(o, name, &n) == 0 ? n : 0;
}

void
classic_form(struct model *m, struct classic_form *f)
{
	const char *text = model_text(m, "apr.predict");
	struct err e = ERR_INIT;
	json_t *o = text ? json_parse(text, strlen(text), ERR_CORRUPT, "apr.predict", &e) : NULL;

	*f = (struct classic_form){ .known = json_is_object(o) };
	f->features = number(o, "features");
	f->outputs = number(o, "outputs");
	f->width = number(o, "width");
	f->centers = states(o, "form", "centers");
	f->classes = states(o, "task", "binary") ? 2 : states(o, "task", "classes") ? f->outputs : 0;
	f->shares = states(o, "link", "share");
	f->average = json_is_true(json_object_get(o, "average"));
	json_decref(o);
}

static bool
ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n >= k && strcmp(name + n - k, end) == 0;
}

void
classic_trees(const struct model *m, uint64_t *trees, uint64_t *nodes)
{
	size_t i;

	*trees = *nodes = 0;
	for (i = 0; i < m->tensor_count; i++) {
		const char *name = tensor_name(m->tensors[i]);

		if (ends_with(name, "node_left_child")) {
			++*trees;
			*nodes += tensor_items(m->tensors[i]);
		}
		if (ends_with(name, "forest.counts")) /* also of part.N. */
			*trees += tensor_items(m->tensors[i]);
		if (ends_with(name, "forest.left"))
			*nodes += tensor_items(m->tensors[i]);
	}
}

void
classic_sizes(struct model *m, uint64_t *features, uint64_t *outputs)
{
	struct classic_form f;
	size_t i;

	classic_form(m, &f);
	*features = f.features;
	*outputs = f.centers ? f.outputs : 0;
	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];
		const char *name = tensor_name(t);

		if (strcmp(name, "coefficients") == 0 && tensor_ndim(t) == 1)
			*features = tensor_dims(t)[0];
		if (strcmp(name, "centroids") == 0 && tensor_ndim(t) == 2) {
			*outputs = tensor_dims(t)[0];
			*features = tensor_dims(t)[1];
		}
	}
}
