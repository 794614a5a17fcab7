/* experts: models among which a gate chooses for each row those that count, and how much: the payload of
 * MIXTURE_OF_EXPERTS (MixtureOfExperts of aprender). In single precision:
 *
 *     logit_j  = sum over i of x_i weights[i][j]
 *     gate     = softmax(logit / temperature)
 *     result   = sum over the top experts of gate_j / (sum of the gates of these) * expert_j(x)
 *
 * The top experts are those of the greatest gates, of equal ones the first, and their sums run in this order.
 * Experts have one number of features; the gate may have fewer, or more, which it leaves out.
 * An expert of classes gives the probability of each class; aprender itself mixes values only.
 */
#ifndef PREDICT_EXPERTS_H
#define PREDICT_EXPERTS_H

#include "predict/predict.h"

struct experts {
	size_t n, top;       /* models, and how many of them count */
	size_t features;     /* of the gate */
	size_t used;         /* of these: set by experts_begin */
	float *weights;      /* features x n; owned */
	float temperature;
	struct predictor *models; /* owned, n of them, all of one kind */
};

/* Makes m the mixture; x becomes its own in any case. 0, or -1 with e filled: experts of different
 * features. */
int experts_begin(struct predictor *m, struct experts *x, const char *where, struct err *e);

void experts_free(void *x);

#endif
