/* word_list: the tokens of a model that is merged, in the order of their ids. The texts are those of the
 * keys of GGUF (tokenizer.ggml.tokens), which are made from the files of a model folder as apr-adapt
 * makes them.
 */
#ifndef MERGE_WORD_LIST_H
#define MERGE_WORD_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "merge/input.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

struct word_list {
	const char *file;         /* name, for messages */
	const char *kind;         /* "llama", "gpt2", ... as GGUF names it */
	size_t count;
	struct word {
		const char *text; /* n bytes, not terminated */
		size_t n;
	} *word;

	/* word_list_read: all keys tokenizer.* with their values, and of these the types (a number of
	 * GGUF for each token) and scores, or NULL. */
	struct model keys;
	const uint8_t *types, *scores;
	json_t *origin;           /* of a folder: as of struct tokens_options; or NULL */

	struct tokenizer *list;   /* word_list_texts: the owner of the texts */
};

/* The tokens with their keys. ERR_INVALID: the model has no tokenizer. ERR_CORRUPT: its lists are
 * damaged or differ in length. The keys refer to nothing else; texts lie in them. word_list_free in any
 * case. 0 or -1. */
int word_list_read(struct word_list *w, const struct merge_input *in, struct err *e);

/* Only the texts, also of tokenizers that have no keys in GGUF. */
int word_list_texts(struct word_list *w, const struct merge_input *in, struct err *e);
void word_list_free(struct word_list *w);

/* Whether token i only fills a place ("[PAD7]"). */
bool word_list_is_padding(const struct word_list *w, size_t i);

/* The normal token with the lowest score, the first of them; the number of tokens if none has a score.
 * Unigram prices an unknown character by it. */
size_t word_list_lowest(const struct word_list *w);

/* Walk over an array of strings in its wire form: the next one, at *at, which begins at 12. NULL at the
 * end, and if the rest is damaged. */
const uint8_t *word_list_next(const uint8_t *wire, size_t bytes, size_t *at, size_t *n);

#endif
