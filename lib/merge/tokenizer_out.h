/* tokenizer_out: the tokenizer of the result in the place of the reference's. */
#ifndef MERGE_TOKENIZER_OUT_H
#define MERGE_TOKENIZER_OUT_H

#include "merge/vocabulary.h"

/* Replace the tokenizer in a plan that is a copy of the reference's: keys of GGUF, or the files of a model
 * folder, and where hyper-parameters state the number of tokens, or ids if these change. Values and
 * files that are new or changed are appended to files: those of values under the names of their
 * blobs. ERR_FORMAT: a model with the names of .apr files. 0 or -1. */
int tokenizer_apply(const struct vocabulary *v, const struct merge_input *in, struct model *plan,
                    struct subject_files *files, struct err *e);

/* Mark those of n tokens that a model folder's config.json or generation_config.json names by id. Lists of
 * tokens to suppress do not count, and neither do words that must not come. 0 or -1. */
int tokenizer_named(const struct merge_input *in, bool *named, size_t n, struct err *e);

#endif
