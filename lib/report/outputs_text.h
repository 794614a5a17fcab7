/* outputs_text: what two models make of the same texts, as text and as JSON. */
#ifndef REPORT_OUTPUTS_TEXT_H
#define REPORT_OUTPUTS_TEXT_H

#include "core/buf.h"
#include "quality/outputs.h"
#include "quality/prompts.h"
#include "tokenizer/tokenizer.h"

/* Appends a line for a prompt, under outputs_put_head. tokenizer: NULL if there is none. */
void outputs_put_head(struct buf *b);
void outputs_put(struct buf *b, const struct prompt_line *prompt, const struct output *o,
                 const struct tokenizer *tokenizer);
void outputs_put_json(struct buf *b, const struct prompt_line *prompt, const struct output *o);

/* Appends the figures of all positions. */
void outputs_put_total(struct buf *b, const struct divergence_figures *f);
void outputs_put_total_json(struct buf *b, const struct divergence_figures *f, bool differs);

/* Appends the drift of the blocks, with a bar, the largest marked. */
void outputs_put_layers(struct buf *b, const struct layer_drift *drift, size_t blocks);
void outputs_put_layers_json(struct buf *b, const struct layer_drift *drift, size_t blocks);

#endif
