/* fit_text: types chosen for tensors, as rules, notes and JSON. */
#ifndef REPORT_FIT_TEXT_H
#define REPORT_FIT_TEXT_H

#include "core/buf.h"
#include "quality/fit.h"

/* Appends a rule for each tensor that may change: a file for apr-quant --tensor-type-file. */
void fit_put_rules(struct buf *b, const struct fit *f);

/* Appends lines with the size, bits per weight, and what was measured. */
void fit_put_summary(struct buf *b, const struct fit *f, const struct divergence_figures *d);

/* Appends an object for each choice of each tensor, and one for the model. */
void fit_put_json(struct buf *b, const struct fit *f, const struct divergence_figures *d);

#endif
