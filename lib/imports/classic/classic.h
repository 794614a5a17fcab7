/* classic: models of trees and linear models of other libraries. All readers of lib/predict serve here,
 * and the tensors are those of predict/form.h, so any container keeps the whole model.
 *
 * apr-pack writes XGBoost's JSON and ONNX from such tensors; and for APR version 1 it turns them into
 * the payload that existing software reads, if there is one that holds the model (classic_for).
 */
#ifndef IMPORTS_CLASSIC_CLASSIC_H
#define IMPORTS_CLASSIC_CLASSIC_H

#include "imports/import.h"
#include "predict/form.h"

/* A source that stands for s, which is now its own, when the model is written as `to`: s itself, unless
 * it has predict/form.h's tensors and `to` has a form of its own for them. note: receives what becomes of
 * them. NULL with e filled. */
struct source *classic_for(const struct format *to, struct source *s, void (*note)(const char *),
                           struct err *e);

/* Writes of a format that holds classical models only, or also. */
extern const struct format_writes classic_xgboost_writes, classic_onnx_writes;

#endif
