/* origin: what a GGUF file does not say about the model folder that it came from, as JSON in the
 * key apr.origin.
 *
 * An object with these members, each only where it is needed:
 *     config    the config.json; members that keys say otherwise are theirs
 *     tokenizer what keys lose of the tokenizer (adapt/tokens/tokens.h)
 *     dtype     the type of most tensors, such as "BF16"
 *     types     {NAME: type} of the others; "#" in NAME stands for every block
 *     names     {NAME: name}: what a tensor was called
 *     metadata  {KEY: text}: that of the safetensors files
 *     dropped   [[NAME, type, [dims], bytes as base64], …]: buffers that GGUF does not have
 *     tied      true: the head was there, and equal to the embeddings
 *     rows      the position rows that GGUF does not have, F32 as base64
 *     values    {NAME: bytes as base64}: tensors whose values the change back misses
 */
#ifndef ADAPT_ORIGIN_H
#define ADAPT_ORIGIN_H

#include "adapt/adapt_parts.h"

#define ORIGIN_KEY "apr.origin"

/* Append the text of the record to b; nothing if there is nothing to say. Tensors are read
 * only if the source can be read in any order; a note says what is lost if it cannot. 0 or
 * -1. */
int origin_write(struct adapt *a, struct buf *b, struct err *e);

#endif
