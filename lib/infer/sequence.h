/* sequence: what one text has on a model: the keys and values of its positions (KV cache), and
 * how far they are filled. Sequences of one model share its weights and buffers and may be
 * evaluated in any order, one at a time; none changes the logits of another.
 *
 * Other families keep more for a text than this cache: keys and values of an encoder's output
 * (cross-attention), states (recurrent layers). It belongs into struct sequence, beside the
 * cache, and infer/ops.h takes any cache as the source of keys.
 *
 * Logits do not depend on the number of threads. The way a text is cut into calls changes the
 * order of additions, and with weights of F16, BF16 and F8 the rounding (kernels/dot.h:
 * fewer than DOT_MANY tokens, or more), so it changes the last bits of logits.
 */
#ifndef INFER_SEQUENCE_H
#define INFER_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "infer/infer.h"

struct sequence;

/* An empty sequence with the model's context and type of cache; NULL with e filled
 * (ERR_MEMORY). The model must outlive it. A position takes memory when it is evaluated. */
struct sequence *sequence_open(struct infer *m, struct err *e);
void sequence_close(struct sequence *s); /* NULL is harmless */

const struct infer *sequence_model(const struct sequence *s);
struct infer *sequence_infer(struct sequence *s); /* the same, to be watched */

/* Bytes of the cache when all of the context is filled. */
uint64_t sequence_bytes(const struct sequence *s);

enum sequence_want { SEQUENCE_NONE, SEQUENCE_LAST, SEQUENCE_ALL };

/* Receives the logits (infer_vocabulary of them, all finite) that follow the token at a
 * position. 0, or -1 with e filled, which ends the evaluation. */
typedef int (*sequence_row)(void *ctx, size_t position, const float *logits, struct err *e);

/* Evaluate n tokens, the first at position, and call row for the wanted positions in their
 * order. Keys and values of the positions before come from earlier calls; those at and after
 * position are forgotten. n is limited only by the context. 0, or -1 with e filled: ERR_INVALID
 * if a token is not in the vocabulary, there is no room, a position before has not been
 * evaluated, or logits are not finite. */
int sequence_eval(struct sequence *s, size_t position, const uint32_t *tokens, size_t n,
                  enum sequence_want want, sequence_row row, void *ctx, struct err *e);

#endif
