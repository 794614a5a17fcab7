/* aprml_run: text to tokens and back, and the text that a model says next. The manual page is
 * aprml_run in section 3. aprml.h includes this header.
 *
 * A model is opened by aprml_open or one of its sisters. aprml_weights makes it ready to compute, once;
 * each text then has a run on these weights:
 *
 *	struct aprml_weights *w = aprml_weights_open(m, NULL, &e);
 *	struct aprml_tokenizer *t = aprml_weights_tokenizer(w, &e);
 *	struct aprml_run *r = aprml_run_open(w, NULL, &e);
 *	…aprml_tokenizer_encode(t, text, strlen(text), APRML_SPECIAL, ids, room, &n, &e)…
 *	aprml_run_begin(r, ids, n, NULL, &e);
 *	while (aprml_run_next(r, &token, &e) > 0)
 *		fwrite(token.text, 1, token.bytes, stdout);
 *
 * The same tokens, options and seed give the tokens that apr-run prints, whatever the number of
 * threads.
 *
 * Threads: a tokenizer and weights serve any number of threads at once. A run serves one thread at a
 * time; only aprml_run_cancel may be called by others meanwhile. Runs on the same weights compute
 * beside each other. What is opened from something else is closed before it: runs, then weights.
 *
 * Structures of options begin with their size, so that later versions can have more members. NULL
 * stands for a structure of zeros; for struct aprml_sampling, for APRML_SAMPLING.
 *
 * Functions that return an int return 0, or -1 with *e filled, if nothing else is said. Those that
 * return a pointer return NULL with *e filled.
 */
#ifndef APRML_RUN_H
#define APRML_RUN_H

#ifndef APRML_H
#include "aprml.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- tokenizer ---- */

struct aprml_tokenizer;

/* The tokenizer of a model: the keys tokenizer.ggml.*, a tokenizer.json, or a tokenizer.model. The
 * model is read again, apart from one that comes through a pipe, whose side files and long values are
 * then used up. It may be closed before the tokenizer. */
struct aprml_tokenizer *aprml_tokenizer_open(struct aprml *m, struct aprml_error *e);

/* The tokenizer in the n bytes of a tokenizer.json or of a SentencePiece model, which are read
 * once. */
struct aprml_tokenizer *aprml_tokenizer_open_memory(const void *p, size_t n,
                                                    struct aprml_error *e);
void aprml_tokenizer_close(struct aprml_tokenizer *t); /* NULL is harmless */

#define APRML_BARE 1u    /* encode: add no tokens before or after the text (BOS, EOS, SEP) */
#define APRML_SPECIAL 2u /* encode: the text of a control token is that token; decode: write the
                          * text of control tokens */

/* Encode n bytes of text. Stores the first ids, at most room, in id, and the number of all in *count:
 * if it exceeds room, a second call with more room gives the rest. flags: APRML_BARE and APRML_SPECIAL,
 * or 0. */
int aprml_tokenizer_encode(struct aprml_tokenizer *t, const char *text, size_t n, unsigned flags,
                           uint32_t *id, size_t room, size_t *count, struct aprml_error *e);

/* Decode n ids. Stores the first bytes of the text, at most room and not terminated, in text, and the
 * number of all in *bytes. Fails if an id is not a token. */
int aprml_tokenizer_decode(struct aprml_tokenizer *t, const uint32_t *id, size_t n, unsigned flags,
                           char *text, size_t room, size_t *bytes, struct aprml_error *e);

/* The number of tokens; ids are below it. */
size_t aprml_tokenizer_count(const struct aprml_tokenizer *t);

/* The token as the vocabulary spells it: *n bytes, not terminated, which belong to the tokenizer. NULL
 * if there is no such token. */
const char *aprml_tokenizer_text(const struct aprml_tokenizer *t, uint32_t id, size_t *n);

#define APRML_NO_TOKEN UINT32_MAX

/* The token that is spelled so, or APRML_NO_TOKEN. */
uint32_t aprml_tokenizer_find(const struct aprml_tokenizer *t, const char *text, size_t n);

/* The token with a role, or APRML_NO_TOKEN. */
enum aprml_special {
	APRML_BOS, APRML_EOS, APRML_EOT, APRML_UNK, APRML_SEP, APRML_PAD, APRML_MASK
};
uint32_t aprml_tokenizer_special(const struct aprml_tokenizer *t, enum aprml_special role);

/* 1 if a text ends with this token (EOS, the end of a turn), else 0. */
int aprml_tokenizer_ends(const struct aprml_tokenizer *t, uint32_t id);

/* ---- weights ---- */

struct aprml_weights;

struct aprml_weights_options {
	size_t bytes;    /* sizeof (struct aprml_weights_options) */
	uint64_t memory; /* bytes that tensors may take in memory of the process; 0: any number.
	                  * Tensors that are used in place do not count */
	int copy;        /* not 0: read all tensors into memory, also those that could be used in
	                  * place. Their checksums are then verified */
	/* Receives remarks for the user, one line each; or NULL. */
	void (*log)(void *ctx, const char *text);
	void *ctx;
};

/* Make a model ready to compute. Tensors that lie unchanged in a file are mapped, those in memory used
 * where they are; others, and those of a file that the program reads (aprml_open_ranges), are read
 * into memory. A file must not become shorter while it is mapped, since SIGBUS then ends the
 * process; the bytes of a model in memory must not change until aprml_weights_close. The model itself
 * may be closed before. A model that comes through a pipe is used up. */
struct aprml_weights *aprml_weights_open(struct aprml *m,
                                         const struct aprml_weights_options *options,
                                         struct aprml_error *e);
void aprml_weights_close(struct aprml_weights *w); /* NULL is harmless */

/* Compute with n adapters of low rank (LoRA): models in GGUF, or folders of PEFT. scale: a factor for each;
 * NULL: 1. Once, and before a run is opened; adapters may be closed afterwards. */
int aprml_weights_adapt(struct aprml_weights *w, struct aprml *const *adapter, const double *scale,
                        size_t n, struct aprml_error *e);

/* The model's tokenizer, which belongs to the weights. */
struct aprml_tokenizer *aprml_weights_tokenizer(struct aprml_weights *w, struct aprml_error *e);

/* ---- runs ---- */

struct aprml_run;

struct aprml_run_options {
	size_t bytes;      /* sizeof (struct aprml_run_options) */
	uint64_t context;  /* positions, at most the model's; 0: the model's, but at most 4096 */
	const char *cache; /* how keys and values are kept: "f16", "f32" or "q8_0"; NULL: "f16" */
	uint64_t memory;   /* bytes that buffers and the cache of keys and values may take; 0: any
	                    * number. Opening fails beyond it (E008) */
	double seconds;    /* that calls may compute, all together; 0: any time. A generation ends
	                    * beyond it (APRML_TIME), aprml_run_feed fails (E008) */
	unsigned threads;  /* 0 or 1: the calling thread computes alone, and none is started */

	/* Threads of the program. arena calls fn(arg, i) once for each i below n, in any order, on
	 * any threads with 128 KiB of stack, and returns when all calls have returned. It is called
	 * often, sometimes for a few microseconds of work. threads is then the number of them that
	 * work is divided for. NULL: the library starts threads, which all models share and which
	 * stay until the process ends. */
	void (*arena)(void *ctx, size_t n, void (*fn)(void *arg, size_t i), void *arg);

	/* Receives remarks for the user, one line each; or NULL. */
	void (*log)(void *ctx, const char *text);

	/* Called after each part of a prompt: done of all tokens have been evaluated. Or NULL. */
	void (*progress)(void *ctx, size_t done, size_t all);
	void *ctx;         /* of the three */
};

/* An empty text on these weights, which must outlive it. It takes memory for buffers, and for each
 * position of the context once that is used. */
struct aprml_run *aprml_run_open(struct aprml_weights *w, const struct aprml_run_options *options,
                                 struct aprml_error *e);
void aprml_run_close(struct aprml_run *r); /* NULL is harmless */

/* The number of positions that there is room for; of logits in a row, which is that of tokens that the
 * model knows; and of tokens so far. */
size_t aprml_run_context(const struct aprml_run *r);
size_t aprml_run_vocabulary(const struct aprml_run *r);
size_t aprml_run_position(const struct aprml_run *r);

/* Receives the logits that follow the token at a position, aprml_run_vocabulary of them, which are
 * valid during the call. Another value than 0 ends the evaluation, which then fails. */
typedef int (*aprml_row)(void *ctx, size_t position, const float *logits);

/* Append n tokens to the text and evaluate them. row, if it is not NULL, gets the logits of each token
 * that is evaluated, in order. If it fails, the text has the tokens whose evaluation was complete. A
 * generation that is under way ends. */
int aprml_run_feed(struct aprml_run *r, const uint32_t *id, size_t n, aprml_row row, void *ctx,
                   struct aprml_error *e);

/* The logits after the last token that aprml_run_feed has evaluated, or NULL. Valid until the next call
 * with this run. */
const float *aprml_run_logits(const struct aprml_run *r);

/* Forget the tokens from this position on. 0, or -1 if the text is shorter. */
int aprml_run_rewind(struct aprml_run *r, size_t position);

/* ---- generation ---- */

/* How tokens are chosen: the options of apr-run(1) of these names, with their defaults. */
struct aprml_sampling {
	size_t bytes;          /* sizeof (struct aprml_sampling) */
	double temperature;    /* 0 to 100; 0: the most probable token */
	double top_p, min_p;   /* 0 to 1 */
	double repeat_penalty; /* 1 to 100 */
	uint64_t top_k;        /* 0: all */
	uint64_t seed;
	uint64_t count;        /* tokens at most; 0: as many as there is room for */
	const char *const *stop; /* stop_count texts, none empty, that end the generation; copied */
	size_t stop_count;
};
#define APRML_SAMPLING { sizeof(struct aprml_sampling), 0, 0.95, 0.05, 1, 40, 0, 128, NULL, 0 }

/* Append n tokens to the text and begin to generate what follows; n may be 0 if there are tokens.
 * Nothing is evaluated yet. What is generated becomes part of the text, so a conversation goes on by
 * another aprml_run_begin. */
int aprml_run_begin(struct aprml_run *r, const uint32_t *id, size_t n,
                    const struct aprml_sampling *sampling, struct aprml_error *e);

struct aprml_token {
	uint32_t id;
	double logprob;   /* natural logarithm of its probability, before penalty and temperature */
	const char *text; /* the characters that end in this token, valid until the next call */
	size_t bytes;     /* of text, which is UTF-8 and not terminated */
};

/* The next token: 1. 0 at the end, -1 on an error. A token that ends inside a character, or whose text
 * could begin a stop text, comes when later tokens have decided that; the tokens of a stop text have
 * no text. A model without a vocabulary gives tokens without text. */
int aprml_run_next(struct aprml_run *r, struct aprml_token *token, struct aprml_error *e);

/* The same by a call-back: aprml_run_begin, and token for each token. Another value than 0 ends the
 * generation, as APRML_CANCELLED. */
int aprml_run_generate(struct aprml_run *r, const uint32_t *id, size_t n,
                       const struct aprml_sampling *sampling,
                       int (*token)(void *ctx, const struct aprml_token *token), void *ctx,
                       struct aprml_error *e);

enum aprml_end {
	APRML_RUNNING,     /* it has not ended */
	APRML_COUNT, APRML_END_OF_TEXT, APRML_STOP, APRML_CONTEXT,
	APRML_CANCELLED, APRML_TIME,
	APRML_FAILED
};

struct aprml_result {
	size_t bytes;          /* sizeof (struct aprml_result), set by the caller */
	enum aprml_end end;
	uint64_t prompt, made; /* tokens of the text before, and generated ones without a token that
	                        * ends the text */
	double prompt_seconds; /* until the first token was chosen */
	double seconds;        /* from then on to the end */
};

/* Fill *result with the latest generation. 0, or -1 if there was none or result->bytes is too small. */
int aprml_run_result(const struct aprml_run *r, struct aprml_result *result);

/* cancel 1: end the call that computes, after the part that it is at (a token, or at most 512 tokens of
 * a prompt), and those that follow; 0: allow them again. Generations end as APRML_CANCELLED,
 * aprml_run_feed fails. Any thread may call this at any time until aprml_run_close. */
void aprml_run_cancel(struct aprml_run *r, int cancel);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
