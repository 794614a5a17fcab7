/* lightgbm: what the two forms of LightGBM's models share. */
#ifndef PREDICT_LIGHTGBM_H
#define PREDICT_LIGHTGBM_H

#include "predict/readers.h"

/* What stands before the trees. */
struct lightgbm_head {
	char objective[256]; /* its words; "": none */
	double features, classes, per_iteration;
	unsigned version;    /* 2 for "v2" */
	bool average;
};

/* Prepares the model for the trees. 0 or -1. */
int lightgbm_begin(struct predictor *m, const struct lightgbm_head *h, const char *where,
                   struct err *e);

/* After the last tree. The forests of versions before 2.3 had their leaves converted already. */
void lightgbm_finish(struct predictor *m, const struct lightgbm_head *h);

/* Bits of decision_type. */
#define LIGHTGBM_CATEGORY 1
#define LIGHTGBM_LEFT 2
#define LIGHTGBM_MISSING(type) ((type) >> 2 & 3) /* none, zero, NaN */

/* Fills the rules of a split. */
void lightgbm_split(struct tree_node *x, unsigned type);

#endif
