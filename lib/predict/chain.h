/* chain: what predict.c leaves to the models that have steps, and to votes of pairs of classes. */
#ifndef PREDICT_CHAIN_H
#define PREDICT_CHAIN_H

#include "predict/predict.h"

/* Proves that each step takes what the one before it gives, and sets features, inner and texts; a
 * model of steps alone gets its outputs. 0 or -1. */
int predictor_join(struct predictor *m, const char *where, struct err *e);

/* LINK_PAIRS and PREDICT_PAIRS of predict.h. The first computes in pairs_room values behind the
 * probabilities. */
size_t pairs_room(const struct predictor *m);
void pairs_link(const struct predictor *m, const double *scores, double *to);
size_t pairs_label(const struct predictor *m, const double *scores);

#endif
