/* load_tokenizer: the tokenizer of a model, without its weights. */
#ifndef LOAD_TOKENIZER_H
#define LOAD_TOKENIZER_H

#include "formats/format.h"
#include "model/flow.h"
#include "tokenizer/tokenizer.h"

/* Load from a path: a model of any format, a model folder, a tokenizer.json, a SentencePiece
 * file, or standard input ("-"), which is read to its end. On failure, returns NULL with e
 * filled. */
struct tokenizer *load_tokenizer(const char *path, const struct tokenizer_options *o,
                                 struct err *e);

/* The same, reading a model with these options. If options->from is set, the path is a model. */
struct tokenizer *load_tokenizer_from(const char *path, const struct format_options *options,
                                      const struct tokenizer_options *o, struct err *e);

/* Load from a source at its first item. The source is read to its end and still belongs to
 * the caller. On failure, returns NULL with e filled. */
struct tokenizer *load_tokenizer_source(struct source *s, const struct tokenizer_options *o,
                                        struct err *e);

#endif
