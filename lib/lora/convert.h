/* convert: an adapter in the other form, as a model for a sink: GGUF for llama.cpp, a folder for
 * PEFT. */
#ifndef LORA_CONVERT_H
#define LORA_CONVERT_H

#include "lora/aim.h"
#include "model/flow.h"

/* Write the adapter in form `to` as a whole model, matrices in F32 and in the order of names. arch
 * and sizes: of its base. Neither form states a scale for each part, so B takes what differs from
 * the common alpha / rank. *scaled: the number of parts where that happens. ERR_INVALID: a tensor
 * that the other form cannot hold (magnitudes and replaced tensors in GGUF, except norms), or that
 * the architecture has no rule for. 0 or -1. */
int lora_convert(const struct lora *l, enum arch_form to, const struct arch *arch,
                 const struct sizes *sizes, struct sink *sink, size_t *scaled, struct err *e);

#endif
