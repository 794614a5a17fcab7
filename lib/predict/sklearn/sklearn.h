/* sklearn: estimators of scikit-learn inside a pickle; nothing in it is called (wire/pickle.h).
 *
 * Arrays are those of NumPy: _reconstruct(ndarray, (0,), b'b') with the state
 * (1, SHAPE, DTYPE, FORTRAN, BYTES), or in protocol 5 _frombuffer(BYTES, DTYPE, SHAPE, 'C').
 * The nodes of a tree are structures of 56 bytes, or 64 since 1.3: i64 left child, i64 right
 * child, i64 feature, f64 threshold, f64, i64, f64, and in the longer form u8 whether a missing
 * value goes left.
 */
#ifndef PREDICT_SKLEARN_H
#define PREDICT_SKLEARN_H

#include "predict/predict.h"
#include "wire/pickle.h"

enum { SKLEARN_CLASS = PICKLE_MEANING, SKLEARN_MAKE, SKLEARN_ARRAY, SKLEARN_TYPE, SKLEARN_SCALAR,
	SKLEARN_ENCODE, SKLEARN_BUFFER, SKLEARN_WRAPPER, SKLEARN_BYTES };

struct sklearn {
	struct pickle k;
	struct predictor *m;
	const char *where;
	struct err *e;
	double version; /* 1.02 for 1.2; 0: unknown */
	bool decides;    /* the last estimator that was read has a decision function */
	unsigned nest;   /* models in models, and parts in parts */
	size_t left;    /* bytes of arrays and texts that may still be read: parts of a pickle can be shared */
	unsigned visits; /* of estimators and pipelines, which can be shared too */

	/* Inside of a transformer of columns (depth 1): the features that are its columns. */
	const uint32_t *columns;
	size_t width, features;
	unsigned depth;
	struct sklearn_fill {
		size_t n;
		pickle_ref item[];
	} *fill;         /* owned: texts that an imputer puts in; NULL: numbers, or no imputer came */
};

/* An array: numbers as doubles in row-major order, or objects. */
struct sklearn_array {
	unsigned ndim;
	size_t dims[4], n;
	char code[8];        /* "f8", "i8", "O", "U5", "V56", … */
	struct buf raw;      /* bytes of the values; empty for objects */
	double *v;           /* NULL for objects, texts and structures */
	pickle_ref list;     /* of objects */
};

/* The last part of the name of an object's class, "" if it is not an object of scikit-learn. */
void sklearn_class(const struct sklearn *s, pickle_ref r, char name[64]);

/* An attribute of an object, or an entry of a dictionary; or PICKLE_NOTHING. */
pickle_ref sklearn_field(const struct sklearn *s, pickle_ref object, const char *name);
pickle_ref sklearn_entry(const struct sklearn *s, pickle_ref dictionary, const char *name);

/* A number, also one of NumPy. 0; -1 without an error for what is no number, with one for a damaged number
 * of NumPy: then sklearn_read fails, whatever its caller makes of it. */
int sklearn_number(const struct sklearn *s, pickle_ref r, double *v);

/* Reads an array. 0, or -1 with an error; sklearn_array_free in any case. */
int sklearn_array(struct sklearn *s, pickle_ref r, struct sklearn_array *a);
void sklearn_array_free(struct sklearn_array *a);

/* struct pickle, behind: arrays of joblib. */
enum pickle_behind sklearn_behind(struct pickle *k, pickle_ref object, uint64_t *bytes);

/* A double of 8 bytes. */
double sklearn_double(const uint8_t *p);

/* The bytes of a TEXT that is kept; NULL with an error. */
const uint8_t *sklearn_text(struct sklearn *s, pickle_ref r, size_t *n);

/* An error about an attribute. -1. */
int sklearn_wrong(const struct sklearn *s, const char *what);

/* A vector of exactly n numbers (n 0: any number, stored in *count), or a matrix of columns columns:
 * finite numbers. what: for messages. NULL with an error. */
double *sklearn_vector(struct sklearn *s, pickle_ref r, size_t n, size_t *count, const char *what);
double *sklearn_matrix(struct sklearn *s, pickle_ref r, size_t columns, size_t *rows, size_t *width,
                       const char *what);

/* A number of an attribute, or what it is if the attribute is missing or None. */
double sklearn_or(const struct sklearn *s, pickle_ref object, const char *name, double missing);

/* True if the attribute is missing or None. */
bool sklearn_none(const struct sklearn *s, pickle_ref r);

/* Appends a step; NULL with an error. */
struct step *sklearn_step(struct sklearn *s, const struct step_kind *kind, size_t in, size_t out);

/* What a model of steps alone predicts. */
void sklearn_scores(struct sklearn *s, const char *kind, enum predict_task task,
                    enum predict_link link);

/* Appends a text, or all texts of an array, to the labels or the names. 0 or -1. */
int sklearn_add_text(struct sklearn *s, pickle_ref r, bool label);
int sklearn_texts(struct sklearn *s, pickle_ref r, bool label);

/* Reads an estimator of steps, or a pipeline of them; or one that ends a model. 0 or -1. */
int sklearn_estimator(struct sklearn *s, pickle_ref r);
int sklearn_last(struct sklearn *s, pickle_ref r);

/* The features that the estimator saw, 0 with an error. */
size_t sklearn_features(struct sklearn *s, pickle_ref r);

/* Appends a step with a list of `out` numbers; NULL with an error. */
struct step *sklearn_listed(struct sklearn *s, const struct step_kind *kind, size_t in, size_t out);

/* The model's steps are put aside while those of a part are read, and come back. */
struct step_columns;
struct step_part;
struct sklearn_aside {
	struct step *steps;
	size_t count, cap;
};
void sklearn_aside(struct sklearn *s, struct sklearn_aside *kept);
void sklearn_back(struct sklearn *s, const struct sklearn_aside *kept, struct step_part *part);

/* Proves that the steps of a part follow each other, and sets its out. 0 or -1. */
int sklearn_join(struct sklearn *s, struct step_part *part);

/* Begins a step with room for n parts that all take the same rows; NULL with an error. Its end sets
 * what it takes and gives. 0 or -1. */
struct step_columns *sklearn_union(struct sklearn *s, size_t n);
int sklearn_union_end(struct sklearn *s);

/* Appends a step with a function of NumPy, by its name; none for None. 0 or -1. */
int sklearn_function(struct sklearn *s, pickle_ref r, size_t n);

#define SKLEARN_VALUES ((size_t)1 << 22) /* behind a step of parts */
#define SKLEARN_NEST 12 /* of models in models, and of parts in parts */

/* ---- kinds of estimators: 0, or -1 with an error ---- */

int sklearn_tree(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_forest(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_boosting(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_histograms(struct sklearn *s, pickle_ref r, bool classes);

/* Weights, one row for each output, and the model's form, outputs and features. v is owned by the
 * model in any case. */
int sklearn_weights(struct sklearn *s, double *v, size_t outputs, size_t features, const char *kind);

int sklearn_gauss(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_multinomial(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_complement(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_bernoulli(struct sklearn *s, pickle_ref r, bool classes);

int sklearn_isolation(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_oneclass(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_oneclass_linear(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_centroids(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_quadratic(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_mixture(struct sklearn *s, pickle_ref r, bool classes);

/* Models of models. */
int sklearn_voting(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_bagging(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_adaboost(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_stacking(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_calibrated(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_onevsrest(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_multioutput(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_target(struct sklearn *s, pickle_ref r, bool classes);

/* Begins a step of n models at most; NULL with an error. Reads one of them into it: m is its place, and
 * its values go to the columns from `to` on. Its end sets what the step takes and gives. 0 or -1. */
struct step_models;
struct step_model;
struct step_models *sklearn_models(struct sklearn *s, size_t n);
struct step_model *sklearn_model(struct sklearn *s, struct step_models *x, pickle_ref r);
struct step_model *sklearn_model_of(struct sklearn *s, struct step_models *x,
                                    int (*read)(struct sklearn *s, pickle_ref r), pickle_ref r);
int sklearn_model_gives(struct sklearn *s, struct step_model *m, int give, double weight, size_t to);
int sklearn_models_end(struct sklearn *s, size_t out);

/* (x - a) / b or x b + a of one value. 0 or -1. */
int sklearn_affine(struct sklearn *s, const struct step_kind *kind, double b, double a);

/* What a model of steps predicts whose one score is positive for rows like others: 1, else -1. 0 or -1. */
int sklearn_outliers(struct sklearn *s, const char *kind);

/* The number of objects in a list or an array of objects, and the first of them; NULL: none. */
const struct pickle_cell *sklearn_list(struct sklearn *s, pickle_ref r, size_t *n);

int sklearn_neighbors(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_svm(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_net(struct sklearn *s, pickle_ref r, bool classes);

int sklearn_standard(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_range(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_largest(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_robust(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_normalizer(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_binarizer(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_imputer(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_indicator(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_variance(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_support(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_fpr(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_best(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_percentile(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_from_model(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_polynomial(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_bins(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_power(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_quantiles(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_functions(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_featureunion(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_onehot(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_ordinal(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_parts(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_pca(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_svd(struct sklearn *s, pickle_ref r, bool classes);

int sklearn_counts(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_tfidf_counts(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_hashes(struct sklearn *s, pickle_ref r, bool classes);
int sklearn_tfidf(struct sklearn *s, pickle_ref r, bool classes);

#endif
