/* generate: text that follows a prompt, a token at a time.
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
	double logprob;   /* of the model, before penalty and temperature; natural */
	const char *text; /* its text: n bytes, the characters that end in it */
	size_t n;
};

/* Told each token that was generated, in order. A token whose last character is not whole,
 * or whose text could begin a stop text, is told when later tokens have decided that; the
 * tokens of a stop text have no text. 0, or -1 with e filled. */
typedef int (*generate_token)(void *ctx, const struct generated *g, struct err *e);

struct generate {
	struct sequence *sequence;         /* its positions are evaluated anew from 0 on */
	const struct tokenizer *tokenizer; /* NULL: there is no text, nor an end of it */
	struct sampler_options sampler;
	const char *const *stops;          /* texts that end it, none empty */
	size_t stop_count;
	uint64_t count;                    /* tokens at most */
	const volatile sig_atomic_t *interrupted; /* end when it is set; or NULL */
	generate_token token;
	void *ctx;
};

enum generate_end {
	GENERATE_COUNT, GENERATE_END_OF_TEXT, GENERATE_STOP, GENERATE_CONTEXT,
	GENERATE_INTERRUPTED
};

/* What came of it. Seconds are those of a clock on the wall. */
struct generate_result {
	enum generate_end end;
	uint64_t prompt, made; /* tokens; a token that ends the text is not counted */
	double prompt_seconds; /* until the first token was known */
	double seconds;        /* from there on */
};

/* prompt: at least one token, and fewer than the context has room for (ERR_INVALID). 0,
 * or -1 with e filled. */
int generate_run(const struct generate *g, const struct tokens *prompt,
                 struct generate_result *r, struct err *e);

/* Seconds since some moment. */
double generate_clock(void);

#endif
