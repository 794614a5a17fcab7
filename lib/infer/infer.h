/* infer: a model at work, from token ids to logits.
 *
 *	load_open(&l, path, note, e);
 *	m = infer_open(&l.weights, &options, note, e);
 *	s = sequence_open(m, e);
 *	sequence_eval(s, 0, tokens, n, SEQUENCE_LAST, row, ctx, e);
 *	sequence_eval(s, n, &next, 1, SEQUENCE_LAST, row, ctx, e);
 *
 * A model holds the weights and the buffers of a pass. A sequence (infer/sequence.h) holds
 * what one text has on it; one model serves many sequences, one evaluation at a time.
 */
#ifndef INFER_INFER_H
#define INFER_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "infer/cache_type.h"
#include "infer/gelu.h"
#include "model/low_rank.h"
#include "model/weights.h"

struct infer;
struct ops;

struct infer_options {
	uint64_t context;       /* positions of each sequence; 0: the model's, at most `most` */
	uint64_t most;          /* 0: INFER_CONTEXT */
	enum cache_type cache;  /* how sequences keep keys and values */
	enum gelu gelu;         /* for models with GELU; for others a note says that it changes
	                         * nothing */
	const struct low_rank *low; /* what adapters add, low_count matrices, which must outlive */
	size_t low_count;       /* the model */
	unsigned threads;       /* 0: 1 */
	const struct ops *ops;  /* the table that computes (infer/ops.h); NULL: ops_cpu */
	/* Lay the matrices out anew for the vector unit, in memory of large pages. Opening then
	 * reads them all and gives their own memory back on the way, so nobody else may read
	 * the weights afterwards. */
	bool repack;
	/* Keep matrices of tensors that have a sparse form (model/sparse.h) without their zeros, where
	 * products are faster so. Nobody else may read the weights afterwards either. */
	bool thin;
};
#define INFER_CONTEXT 4096

/* Make a model ready. Every hyper-parameter is proved against the tensors; only small
 * vectors are read. w stays the caller's and must outlive the model; its blobs are not used
 * after this. note: receives remarks for the user, or NULL. NULL with e filled: ERR_FORMAT for
 * what is not supported, ERR_CORRUPT for contradictions, ERR_INVALID for an option that the
 * model does not allow. */
struct infer *infer_open(const struct weights *w, const struct infer_options *options,
                         void (*note)(const char *), struct err *e);
void infer_close(struct infer *m); /* after its sequences; NULL is harmless */

const char *infer_name(const struct infer *m);  /* of the file, for messages */
size_t infer_vocabulary(const struct infer *m); /* logits in a row; token ids are below */
size_t infer_context(const struct infer *m);    /* positions that a sequence has room for */
size_t infer_trained(const struct infer *m);    /* positions that the model was made for */
const char *infer_architecture(const struct infer *m);
enum cache_type infer_cache(const struct infer *m);

/* Bytes of memory beside the weights and the caches of sequences. */
uint64_t infer_buffers(const struct infer *m);

/* Bytes of weights that one token needs: all matrices, but only those experts that are
 * chosen. */
uint64_t infer_token_bytes(const struct infer *m);

/* The bytes of matrix i of the model, as products read them, or NULL past the last. */
const uint8_t *infer_matrix(const struct infer *m, size_t i, size_t *bytes);

/* Tokens that are evaluated at once, at most; a longer text is cut. */
size_t infer_batch(const struct infer *m);

#endif
