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
	generate_token token;
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

/* Seconds since an arbitrary moment. */
double generate_clock(void);

#endif
