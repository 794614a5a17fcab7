/* tensors: models whose parts are tensors by name, as the reader of APR version 1 gives them
 * (apr1(5), Layouts): LinearRegression, Ridge, Lasso, ElasticNet, LogisticRegression, KMeans,
 * DecisionTreeClassifier and -Regressor, RandomForestClassifier and -Regressor.
 *
 * Source of the rules: aprender computes in single precision, in the order of the features; a
 * split is "left if x <= threshold"; a forest of classifiers counts votes, one of regressors
 * averages.
 */
#ifndef PREDICT_TENSORS_H
#define PREDICT_TENSORS_H

#include "model/weights.h"
#include "predict/predict.h"

/* 0, or -1 with e filled: ERR_FORMAT for a model that nothing here predicts with. */
int predict_tensors(struct predictor *m, const struct weights *w, struct err *e);

/* The same for models that are known by the names of their tensors (tensors_named.c). 1: this is none
 * of them. */
int predict_named(struct predictor *m, const struct weights *w, struct err *e);

#endif
