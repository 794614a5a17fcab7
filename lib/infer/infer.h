/* infer: a transformer at work, from token numbers to logits.
 *
 *	load_open(&l, path, note, e);
 *	m = infer_open(&l.weights, &options, note, e);
 *	infer_eval(m, 0, tokens, n, INFER_LAST, row, ctx, e);
 *	infer_eval(m, n, &next, 1, INFER_LAST, row, ctx, e);
 *
 * Logits do not depend on the number of threads. How a text is cut into calls changes the
 * order of additions, and with weights of F16, BF16 and F8 what is rounded
 * (kernels/dot.h: fewer than DOT_MANY tokens, or more), so the last bits of logits.
 */
#ifndef INFER_INFER_H
#define INFER_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "model/weights.h"

struct infer;

enum infer_cache { INFER_CACHE_F16, INFER_CACHE_F32, INFER_CACHE_Q8_0 };

/* Their names, as options have them: "f16". By name: 0, or -1 if there is none. */
const char *infer_cache_name(enum infer_cache c);
int infer_cache_by_name(const char *name, enum infer_cache *c);

struct infer_options {
	uint64_t context;       /* positions; 0: the model's, but no more than most */
	uint64_t most;          /* 0: INFER_CONTEXT */
	enum infer_cache cache; /* type of keys and values that are kept */
	unsigned threads;       /* 0: 1 */
	/* Lay the matrices out anew for the vector unit, in memory of large pages: opening
	 * reads them all, and the weights must not be read afterwards by anyone else: their
	 * memory is given back as it goes. */
	bool repack;
};
#define INFER_CONTEXT 4096

/* Make a model ready: all its numbers are proved against its tensors, none of which is
 * read, but for small vectors. w stays the caller's and must outlive it; its blobs are
 * not looked at after this. note: told what a person should hear, or NULL. NULL with e
 * filled: ERR_FORMAT for what is not known here, ERR_CORRUPT for what contradicts
 * itself, ERR_INVALID for an option that the model does not allow. */
struct infer *infer_open(const struct weights *w, const struct infer_options *options,
                         void (*note)(const char *), struct err *e);
void infer_close(struct infer *m);

const char *infer_name(const struct infer *m); /* of the file, for messages */
size_t infer_vocabulary(const struct infer *m); /* logits a row; tokens are below */
size_t infer_context(const struct infer *m);    /* positions there is room for */
size_t infer_trained(const struct infer *m);    /* positions the model was made for */
const char *infer_architecture(const struct infer *m);
enum infer_cache infer_cache(const struct infer *m);

/* Bytes of memory beside the weights: of the cache when it is full, and of all else. */
struct infer_memory {
	uint64_t cache, buffers;
};
struct infer_memory infer_memory(const struct infer *m);

/* Bytes of weights that one token needs: of all matrices, of those experts' that are
 * chosen. */
uint64_t infer_token_bytes(const struct infer *m);

/* The bytes of matrix i of the model, as products read them, or NULL past the last. */
const uint8_t *infer_matrix(const struct infer *m, size_t i, size_t *bytes);

enum infer_want { INFER_NONE, INFER_LAST, INFER_ALL };

/* Told the logits (infer_vocabulary of them, all finite) that follow the token at a
 * position. 0, or -1 with e filled, which ends the evaluation. */
typedef int (*infer_row)(void *ctx, size_t position, const float *logits, struct err *e);

/* Evaluate n tokens, the first at position (of the positions before it, the keys and
 * values of the last call that reached there are used; what lies behind is forgotten),
 * and tell row of the wanted positions in their order. n may be any number that the
 * context has room for. 0, or -1 with e filled: ERR_INVALID where a token is not in the
 * vocabulary, there is no room, or logits are not finite. */
int infer_eval(struct infer *m, size_t position, const uint32_t *tokens, size_t n,
               enum infer_want want, infer_row row, void *ctx, struct err *e);

/* Positions that are evaluated at once, at most: a longer text is cut. */
size_t infer_batch(const struct infer *m);

#endif
