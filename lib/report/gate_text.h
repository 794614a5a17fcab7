/* gate_text: what a gate found (bin/apr-gate.c), as text and JSON: the breaches, each with its
 * tensor, prompt or figure. */
#ifndef REPORT_GATE_TEXT_H
#define REPORT_GATE_TEXT_H

#include "core/buf.h"
#include "diff/diff.h"
#include "generate/divergence.h"
#include "quality/canary_run.h"

/* Append the tensors that exceed the limits, and a line about all of them. Returns their
 * number. */
size_t gate_put_diff(struct buf *text, struct buf *json, const struct diff *d);

/* The figures of a text. Returns the number of limits that they break. */
size_t gate_put_text(struct buf *text, struct buf *json, const struct divergence_figures *f,
                     const struct canary_limits *limits, double max_ppl);

#endif
