/* aprml_predict: what a classical model says of rows of numbers, or of texts: trees, linear models and
 * pipelines of XGBoost, LightGBM, CatBoost, scikit-learn and ONNX, n-grams in ARPA form, and small
 * networks whose tensors have names. The manual page is aprml_predict in section 3. aprml.h includes this
 * header.
 *
 *	struct aprml_predictor *p = aprml_predictor_open("model.json", &e);
 *	aprml_predict(p, APRML_PREDICTION, rows, n, answers, &e);
 *
 * The numbers are those of apr-predict(1). Nothing in a file is executed.
 *
 * A predictor serves any number of threads at once, apart from aprml_predictor_trees,
 * aprml_predictor_explain, aprml_predictor_expect and aprml_predictor_close, which must be alone. No call starts a thread.
 */
#ifndef APRML_PREDICT_H
#define APRML_PREDICT_H

#ifndef APRML_H
#include "aprml.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct aprml_predictor;

/* Read the model in a file, of at most 2 GiB unless it is a container of tensors. NULL with *e
 * filled. */
struct aprml_predictor *aprml_predictor_open(const char *path, struct aprml_error *e);

/* The same for the n bytes of such a file at p, which are read once. */
struct aprml_predictor *aprml_predictor_open_memory(const void *p, size_t n, struct aprml_error *e);

/* The same for a model of tensors with known names, in any container. The model may be closed before
 * the predictor; one that comes through a pipe is used up. */
struct aprml_predictor *aprml_predictor_of(struct aprml *m, struct aprml_error *e);

void aprml_predictor_close(struct aprml_predictor *p); /* NULL is harmless */

struct aprml_predictor_info {
	size_t bytes;     /* sizeof (struct aprml_predictor_info), set by the caller */
	const char *kind; /* "gradient boosting of XGBoost"; belongs to the predictor */
	size_t features;  /* values of a row; 1 for a model of texts */
	size_t outputs;   /* scores of a row */
	size_t classes;   /* 0: not a classifier */
	size_t trees;
	int texts;        /* rows are texts */
};

/* Fill *info. 0, or -1 if info->bytes is too small. */
int aprml_predictor_info(const struct aprml_predictor *p, struct aprml_predictor_info *info);

/* The name of feature i and the label of class i, or NULL: the model does not have i, or knows it by its
 * number alone. They belong to the predictor. */
const char *aprml_predictor_feature(const struct aprml_predictor *p, size_t i);
const char *aprml_predictor_label(const struct aprml_predictor *p, size_t i);

/* What a text, such as "blue" in a column of colours, is for feature i: returns
 * 0: the feature is a number, or the model does not have a feature i;
 * 1: *v is the value that the n bytes of text stand for: -1 if the model does not know them, NaN for an empty
 *    text that it does not know;
 * 2: the feature is any text, which only aprml_predict_mixed takes.
 * *v keeps its value except for 1. */
int aprml_predictor_word(const struct aprml_predictor *p, size_t i, const char *text, size_t n,
                         double *v);

/* Use only the first n trees of each output. Later calls can only leave out more. 0, or -1 with *e
 * filled. */
int aprml_predictor_trees(struct aprml_predictor *p, size_t n, struct aprml_error *e);

/* Prepare for APRML_CONTRIBUTIONS. 0, or -1 with *e filled: the model is neither linear nor trees that
 * state how many rows of training each node has seen. */
int aprml_predictor_explain(struct aprml_predictor *p, struct aprml_error *e);

/* Tell that about this many rows will be predicted: for many, trees are brought into a form that takes
 * time and memory once and is several times as fast. The numbers do not depend on it. */
void aprml_predictor_expect(struct aprml_predictor *p, uint64_t rows);

enum aprml_what {
	APRML_PREDICTION,    /* the values; of a classifier, the number of the class; of clusters,
	                      * that of the nearest */
	APRML_PROBABILITIES, /* of each class */
	APRML_SCORES,        /* before the link function: margins, or distances to clusters */
	APRML_LEAVES,        /* the number of the leaf that each tree leads to */
	APRML_CONTRIBUTIONS  /* of each score, what each feature adds to it, and the bias: Shapley
	                      * values of trees. After aprml_predictor_explain */
};

/* The number of columns of an answer; 0: the model does not give it. */
size_t aprml_predict_columns(const struct aprml_predictor *p, enum aprml_what what);

/* Predict n rows of info.features values each, row after row; NaN is a missing value. to has room for
 * n × aprml_predict_columns values. 0, or -1 with *e filled: the model does not give this answer,
 * reads texts, or refuses missing values. */
int aprml_predict(const struct aprml_predictor *p, enum aprml_what what, const double *rows, size_t n,
                  double *to, struct aprml_error *e);

/* The same for n texts in UTF-8, text[i] with bytes[i] bytes, by a model that reads texts. */
int aprml_predict_texts(const struct aprml_predictor *p, enum aprml_what what,
                        const char *const *text, const size_t *bytes, size_t n, double *to,
                        struct aprml_error *e);

/* The same for n rows of info.features values each with texts among them: text[i], of bytes[i] bytes in
 * UTF-8, takes the place of rows[i] unless it is NULL. -1 with *e filled also for a text where the model
 * has a number, and for a row without a text where the model reads any. */
int aprml_predict_mixed(const struct aprml_predictor *p, enum aprml_what what, const double *rows,
                        const char *const *text, const size_t *bytes, size_t n, double *to,
                        struct aprml_error *e);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
