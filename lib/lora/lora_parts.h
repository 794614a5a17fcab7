/* lora_parts: what both forms of an adapter share. */
#ifndef LORA_LORA_PARTS_H
#define LORA_LORA_PARTS_H

#include "lora/lora.h"

/* The part for the weight whose name is n bytes at s and then ending; made if the last part is
 * another one. NULL with
 * e filled. */
struct lora_part *lora_part(struct lora *l, const char *s, size_t n, const char *ending,
                            struct err *e);

/* Tensor i replaces the one of that name. 0 or -1. */
int lora_add_whole(struct lora *l, const char *s, size_t n, const char *ending, size_t i,
                   struct err *e);

/* Whether s of n bytes ends in ending; if so, *n is what stands before. */
bool lora_cut(const char *s, size_t *n, const char *ending);

/* by_name: indexes of the tensors in the order of their names. */
int lora_read_peft(struct lora *l, const size_t *by_name, float scale, struct err *e);
int lora_read_gguf(struct lora *l, const size_t *by_name, float scale, struct err *e);

#endif
