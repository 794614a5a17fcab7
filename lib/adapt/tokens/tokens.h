/* tokens: the tokenizer of a model, as the keys tokenizer.* of GGUF and as the files of a model
 * folder.
 *
 * Source: the keys that llama.cpp's converter writes, with their types and order; the files
 * that the tokenizers and transformers libraries and SentencePiece write.
 */
#ifndef ADAPT_TOKENS_H
#define ADAPT_TOKENS_H

#include "arch/subject.h"

struct tokens_options {
	uint64_t rows;             /* of the embeddings; 0: not known */
	const char *pre;           /* the pre-tokenizer's name, or NULL: from tokenizer.json */
	const char *chat_template; /* the file whose chat template holds if several differ
	                            * ("chat_template.jinja"), or NULL */
	/* Receives what the keys lose of the folder's tokenizer, for a record
	 * (adapt/tensors/origin.h): an object with tokenizer.json ("file") without its vocabulary,
	 * and merges only if the keys have none, tokenizer_config.json ("config") without added
	 * tokens and templates, special_tokens_map.json ("map"). New reference; NULL if nothing is
	 * lost, and on failure. NULL: not wanted. */
	json_t **origin;
};

/* Append the tokenizer of a model folder as keys of GGUF: from tokenizer.model, spiece.model,
 * sentencepiece.bpe.model, tokenizer.json, vocab.json or vocab.txt, with merges.txt,
 * added_tokens.json, tokenizer_config.json, special_tokens_map.json and the chat template. A
 * folder without a tokenizer gets none. Long values are in out->meta too, with their bytes.
 *
 * ERR_FORMAT: a model or pre-tokenizer that is not known; a hint says how to name it.
 * ERR_USAGE: chat templates differ, or the options name something that does not exist.
 * ERR_CORRUPT: the files contradict themselves, each other, or the embeddings. 0 or -1. */
int tokens_put_keys(const struct subject *s, const struct tokens_options *o, struct model *out,
               struct err *e);

/* Make tokenizer.json, tokenizer_config.json, special_tokens_map.json and chat_template.jinja
 * from the keys, and for vocabularies with scores tokenizer.model or spiece.model. A model
 * without a tokenizer gets none. origin: that of the options above, for what the keys do not say; or NULL.
 * It is not trusted: parts that contradict the keys, or have other types, are not used. 0 or
 * -1. */
int tokens_files(const struct subject *s, const json_t *origin, struct subject_files *out,
                 struct err *e);

#endif
