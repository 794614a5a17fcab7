/* gate_computes: the gates that compute the model: canaries and a text. */
#ifndef CLI_GATE_GATE_COMPUTES_H
#define CLI_GATE_GATE_COMPUTES_H

#include "cli/gate/gate_options.h"
#include "generate/divergence.h"
#include "model/weights.h"
#include "report/canary_text.h"

/* Check the canary whose bytes are given; append the reports. 0, or -1 with e filled. */
int gate_canary(const struct gate_options *o, const struct buf *bytes, const struct weights *w,
                struct buf *text, struct buf *json, struct canary_total *total, struct err *e);

/* The figures of a text by a model and its reference. 0, or -1 with e filled. */
int gate_measure(const struct gate_options *o, const struct buf *text, const struct weights *base,
                 const struct weights *w, struct divergence_figures *f, struct err *e);

#endif
