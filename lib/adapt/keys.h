/* keys: the hyper-parameters of a model, as keys of GGUF and as config.json.
 *
 * Source: the keys that llama.cpp's converter writes, with their types and order; the fields
 * that the transformers library reads.
 */
#ifndef ADAPT_KEYS_H
#define ADAPT_KEYS_H

#include "adapt/subject.h"

/* Append the hyper-parameters of a model folder's config.json as keys of GGUF, in the order
 * of the converter; file_type is the value of general.file_type among them. A member that is
 * missing, absurd or of another type is ERR_CORRUPT. 0 or -1. */
int keys_put(const struct subject *s, uint32_t file_type, struct model *out, struct err *e);

/* The config.json of a model with keys of GGUF; torch_dtype is the folder's name for the type
 * of its matrices ("bfloat16"), vocabulary the rows of its embeddings, and tied says whether
 * its output is its embeddings. New reference, or NULL with e filled. */
json_t *keys_config(const struct subject *s, const char *torch_dtype, uint64_t vocabulary,
                    bool tied, struct err *e);

#endif
