/* xgboost: what the new and the old form of XGBoost's models share. */
#ifndef PREDICT_XGBOOST_H
#define PREDICT_XGBOOST_H

#include "predict/readers.h"

/* Prepares the model for its trees: sums in single precision. 0 or -1. */
int xgboost_begin(struct predictor *m, struct err *e);

/* Sets task, link and the forest's base from an objective such as "binary:logistic". base: in
 * the space of predictions, groups values. 0, or -1 for an objective without a row. */
int xgboost_objective(struct predictor *m, const char *objective, const float *base,
                      const char *where, struct err *e);

/* Turns weights of gblinear, features x groups and then a bias for each group, into a linear
 * model. at: the i-th of them. 0 or -1. */
int xgboost_linear(struct predictor *m, float (*at)(const void *weights, size_t i),
                   const void *weights, struct err *e);

#endif
