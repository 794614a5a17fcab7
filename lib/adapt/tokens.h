/* tokens: the tokenizer of a model, as the keys tokenizer.* of GGUF and as the files of a model
 * folder.
 *
 * Source: the keys that llama.cpp's converter writes, with their types and order; the files
 * that the tokenizers and transformers libraries and SentencePiece write.
 */
#ifndef ADAPT_TOKENS_H
#define ADAPT_TOKENS_H

#include "adapt/subject.h"

/* Append the tokenizer of a model folder as keys of GGUF: from tokenizer.json, tokenizer.model,
 * spiece.model, sentencepiece.bpe.model or vocab.txt, with added_tokens.json,
 * tokenizer_config.json, special_tokens_map.json and the chat template. A folder without a
 * tokenizer gets none. rows: rows of the embeddings (padding). pre: the name of the
 * pre-tokenizer if the user gave it, else NULL: it is derived from tokenizer.json. 0 or -1. */
int tokens_put(const struct subject *s, uint64_t rows, const char *pre, struct model *out,
               struct err *e);

/* Make tokenizer.json, tokenizer_config.json, special_tokens_map.json, chat_template.jinja
 * from the keys. 0 or -1. */
int tokens_files(const struct subject *s, struct subject_files *out, struct err *e);

#endif
