/* generate: the text that follows a prompt, token by token.
 */
#ifndef GENERATE_GENERATE_H
#define GENERATE_GENERATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "generate/sampler.h"
#include "infer/sequence.h"
#include "tokenizer/tokenizer.h"

struct generated {
	uint32_t id;
	double logprob;   /* natural logarithm of its probability, before penalty and
	                   * temperature */
	const char *text; /* n bytes: the characters that end in this token */
	size_t n;
};

/* Receives each generated token, in order. A token that ends inside a character, or whose
 * text could begin a stop text, comes when later tokens have decided that; the tokens of a
 * stop text have no text. 0, or -1 with e filled. */
typedef int (*generate_token)(void *ctx, const struct generated *g, struct err *e);

struct generate {
	struct sequence *sequence;         /* evaluated from position 0 on */
	const struct tokenizer *tokenizer; /* NULL: tokens have no text, and none ends the
	                                    * text */
	struct sampler_options sampler;
	const char *const *stops;          /* texts that end the generation, none empty */
	size_t stop_count;
	uint64_t count;                    /* the most tokens */
	const volatile sig_atomic_t *interrupted; /* ends the generation when it is set; or
	                                           * NULL */
	bool (*ends)(void *ctx);           /* the same when it returns true; or NULL. It is asked
	                                    * before each evaluation */
	size_t evaluated;                  /* tokens of the prompt that the sequence holds
	                                    * already; fewer than there are */
	generate_token token;              /* of generate_run */
	void *ctx;
};

enum generate_end {
	GENERATE_COUNT, GENERATE_END_OF_TEXT, GENERATE_STOP, GENERATE_CONTEXT,
	GENERATE_INTERRUPTED
};

/* The result. Seconds are wall-clock time. */
struct generate_result {
	enum generate_end end;
	uint64_t prompt, made; /* tokens; a token that ends the text is not counted */
	double prompt_seconds; /* until the first token was chosen */
	double seconds;        /* from then on */
};

/* prompt: at least one token, and fewer than the context has room for, else ERR_INVALID. 0,
 * or -1 with e filled. */
int generate_run(const struct generate *g, const struct tokens *prompt,
                 struct generate_result *r, struct err *e);

/* The same a token at a time, which g->token does not get. g and what it points to outlive the
 * generation; the prompt is copied. NULL with e filled. */
struct generation;
struct generation *generation_open(const struct generate *g, const struct tokens *prompt,
                                   struct err *e);
void generation_close(struct generation *s); /* NULL is harmless */

/* The next token: 1; 0 at the end; -1 with e filled. Its text is valid until the next call. */
int generation_next(struct generation *s, struct generated *to, struct err *e);

/* The result so far; all of it after the end. */
const struct generate_result *generation_result(const struct generation *s);

/* The prompt and all chosen tokens, also one that ended the text; *evaluated: the number of them
 * that the sequence holds. */
const struct tokens *generation_tokens(const struct generation *s, size_t *evaluated);

/* Seconds since an arbitrary moment. */
double generate_clock(void);

#endif
