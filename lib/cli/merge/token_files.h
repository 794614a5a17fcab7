/* token_files: a tokenizer without a model, as a source: a tokenizer.json, with the files beside it that say
 * more about its tokens.
 */
#ifndef CLI_MERGE_TOKEN_FILES_H
#define CLI_MERGE_TOKEN_FILES_H

#include <stdbool.h>

#include "core/err.h"
#include "model/flow.h"

/* Whether the last part of a path is tokenizer.json. */
bool token_files_is(const char *path);

/* Read the files, which are outside the sandbox: at most 256 MiB each. The caller closes the source, which
 * has no tensors. path must outlive it. NULL with e filled. */
struct source *token_files_open(const char *path, struct err *e);

#endif
