/* json: tokenizer.json, the file of the tokenizers library, in two parts: the model with its
 * vocabulary (json.c), and the steps around it (json_steps.c). An unknown component is refused by
 * name.
 */
#ifndef TOKENIZER_JSON_H
#define TOKENIZER_JSON_H

#include "core/err.h"
#include "core/json.h"
#include "tokenizer/private.h"

/* The state of an opening. */
struct file {
	struct tokenizer *t;
	const char *what;
	const struct tokenizer_options *options;
	struct err *e;
	bool byte_fallback; /* the decoder has it: tokens like <0x0A> are bytes */
};

/* ERR_FORMAT: the component is not supported. -1. */
int file_refuse(struct file *f, const char *part, const char *name);

/* The value of a member; the default if it is absent or null; -1 with e filled if it has
 * another type. */
int file_bool(struct file *f, const json_t *o, const char *name, bool otherwise);
const char *file_text(struct file *f, const json_t *o, const char *name,
                      const char *otherwise);

/* Read the four parts; o may be null or NULL. */
int file_normalizer(struct file *f, const json_t *o);
int file_pre_tokenizer(struct file *f, const json_t *o);
int file_post_processor(struct file *f, const json_t *o);
int file_decoder(struct file *f, const json_t *o);

/* Whether a pre-tokenizer works on bytes. This is asked before the vocabulary is read. */
bool file_is_byte_level(const json_t *pre_tokenizer);

#endif
