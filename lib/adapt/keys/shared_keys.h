/* shared_keys: metadata of .apr files that GGUF or a model folder says in other words: the
 * members of version 2, sections 3.4, 5.2 and 10.4.
 *
 *     model_type          general.architecture          model_type in config.json
 *     model_name          general.name                  _name_or_path
 *     hidden_size ...     ARCHITECTURE.NAME             config.json (arch/apr_keys.h)
 *     vocab, vocab_size   tokenizer.ggml.tokens         tokenizer.json and the like
 *     tokenizer_config    tokenizer.ggml.*              tokenizer.json and the like
 *     labels, num_labels                                id2label in config.json
 *     image_config                                      preprocessor_config.json
 *     mel_filterbank, mel_filterbank_shape              preprocessor_config.json
 *
 * They are keys of type json, which APR2 files store as members, and stand beside the keys
 * and side files that they come from. Section 5.3: a list that takes more than SHARED_LONG as
 * JSON is left out, because the key or side file that it comes from is a blob already.
 */
#ifndef ADAPT_SHARED_KEYS_H
#define ADAPT_SHARED_KEYS_H

#include "arch/subject.h"

#define SHARED_LONG ((size_t)1 << 20)

/* Append these keys to out, except those that it has. A key may be longer than a plan can
 * hold inline (model/value.h). Lists are checked: labels are numbered from 0 without a gap,
 * a filterbank has the values of its shape; ERR_CORRUPT if not. 0 or -1. */
int adapt_apr_keys(const struct subject *s, struct model *out, struct err *e);

/* Remove from out the keys that adapt_apr_keys makes from the keys of GGUF: if their values
 * agree, they say nothing new. For models that leave the form of .apr files. 0 or -1. */
int adapt_apr_drop(const struct subject *s, struct model *out, struct err *e);

/* Make preprocessor_config.json from image_config and mel_filterbank, if the model does not
 * have that file. For models that become a folder. 0 or -1. */
int adapt_apr_files(const struct subject *s, struct subject_files *out, struct err *e);

/* Check the lists of an .apr file against their counts and shapes: vocab and vocab_size,
 * labels and num_labels, mel_filterbank and mel_filterbank_shape. ERR_CORRUPT if one
 * disagrees. 0 or -1. */
int adapt_apr_check(const struct subject *s, struct err *e);

#endif
