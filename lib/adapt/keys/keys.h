/* keys: the hyper-parameters of a model, as keys of GGUF and as config.json. The rows that say
 * which member is which key are in arch/keys.h.
 *
 * Source: the keys that llama.cpp's converter writes, with their types and order; the fields
 * that the transformers library reads.
 */
#ifndef ADAPT_KEYS_H
#define ADAPT_KEYS_H

#include "arch/subject.h"

/* Append the keys that stand directly behind general.architecture: the attention factor of
 * models with two lists of rope factors. 0 or -1. */
int keys_put_first(const struct subject *s, struct model *out, struct err *e);

/* Append the hyper-parameters of a model folder's config.json as keys of GGUF, in the order
 * of the converter; file_type is the value of general.file_type among them. A member that is
 * missing, absurd or of another type is ERR_CORRUPT. Notes report what GGUF cannot express.
 * 0 or -1. */
int keys_put(const struct subject *s, uint32_t file_type, struct model *out, struct err *e);

/* The row of the model folder that a model with keys of GGUF becomes: several model_types
 * share a name there. */
const struct arch *keys_arch(const struct subject *s);

/* The config.json of a model with keys of GGUF; torch_dtype is the folder's name for the type
 * of its matrices ("bfloat16"), vocabulary the rows of its embeddings, and tied says whether
 * its output is its embeddings. Members are sorted by name. New reference, or NULL with e
 * filled.
 *
 * If the model has the tensors rope_factors_long.weight and rope_factors_short.weight, or
 * rope_freqs.weight, rope_scaling is complete only after keys_factors for each of them. */
json_t *keys_config(const struct subject *s, const char *torch_dtype, uint64_t vocabulary,
                    bool tied, struct err *e);

/* Complete rope_scaling of such a config with the n values of a tensor: the lists of longrope,
 * or the parameters of llama3. Tensors with other names change nothing. Values that no
 * published parameters give are ERR_FORMAT. 0 or -1. */
int keys_factors(json_t *config, const char *tensor, const float *values, size_t n,
                 struct err *e);

/* Make modules.json and 1_Pooling/config.json if the model has a key for them. 0 or -1. */
int keys_files(const struct subject *s, struct subject_files *out, struct err *e);

#endif
