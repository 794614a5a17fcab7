/* words: the vocabulary of a LLaMA whose tokens a program stored as the bytes of their text. */
#ifndef IMPORTS_WORDS_H
#define IMPORTS_WORDS_H

#include "imports/import.h"

/* Wire forms of arrays that are being filled. */
struct words {
	struct buf tokens, scores, types;
};

void words_begin(struct words *w, uint32_t count);
void words_free(struct words *w);

/* Append a token of SentencePiece. The file has the bytes of a text: special tokens differ, a
 * byte is itself or <0xNN>, and a space stands for SentencePiece's mark. */
void words_piece(struct words *w, uint32_t id, const uint8_t *p, size_t n);

/* Add the keys of GGUF for it. scored: scores are filled. 0 or -1. */
int words_llama(struct import *im, const struct words *w, bool scored);

#endif
