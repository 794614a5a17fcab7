/* contrib: how much each feature of a row adds to each score.
 *
 * For trees these are Shapley values, computed exactly: the value of a set of features is what a tree
 * predicts if only these are known, and a split by another feature sends the row both ways, each with
 * the share of the rows of training that went there (the covers of the nodes). Source: Lundberg, Erion,
 * Lee, "Consistent Individualized Feature Attribution for Tree Ensembles" (2018), algorithm 2, which
 * XGBoost and LightGBM compute for pred_contrib.
 *
 * For sums of products they are coefficient times value, as XGBoost's gblinear has them.
 *
 * The last number of a score is what is left for a row without any known value, the bias. All numbers
 * of a score sum to the score, before the link.
 */
#ifndef PREDICT_CONTRIB_H
#define PREDICT_CONTRIB_H

#include "predict/predict.h"

#define CONTRIB_DEPTH 512       /* of a tree, at most */
#define CONTRIB_COLUMNS (1u << 24) /* outputs x (features + 1), at most */

/* Steps of work that a model may need for a row: leaves x features on the way to them, squared. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define CONTRIB_WORK ((uint64_t)1 << 36)
#else
#define CONTRIB_WORK ((uint64_t)1 << 20)
#endif

/* Prepares m for contributions. 0, or -1 with ERR_USAGE if the model has none: it is neither trees with
 * covers nor linear, its steps mix features, or a row needs more than CONTRIB_WORK. Again after
 * forest_limit. */
int contrib_begin(struct predictor *m, struct err *e);
void contrib_free(struct contrib *c);

/* The numbers of one row: for each output those of the features behind the steps, and the bias. */
size_t contrib_columns(const struct predictor *m);

/* Computes the rows x, at most FOREST_BLOCK, of m->features values each; x and spare change. to:
 * contrib_columns for each row. 0 or -1. */
int contrib_block(const struct predictor *m, struct step_rows *x, struct step_rows *spare, double *to,
                  struct err *e);

#endif
