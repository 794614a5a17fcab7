/* words: what architectures, roles of tensors and hyper-parameters are, as words for people:
 * rows of data beside those of arch.c and roles.c.
 *
 * Sources: the papers that introduce each family, and the model cards of its first models.
 */
#ifndef ARCH_WORDS_H
#define ARCH_WORDS_H

#include <stdbool.h>

#include "arch/arch.h"
#include "arch/match.h"
#include "arch/shape.h"
#include "core/buf.h"

/* What an architecture is. Each member is a phrase without full stop, trait one or two
 * sentences. */
struct arch_words {
	const char *folder;    /* model_type: the key of the row */
	const char *family;    /* as its authors write it */
	const char *kind;      /* of network */
	const char *purpose;
	const char *input, *output;
	const char *trait;     /* what distinguishes it from others */
	const char *positions; /* NULL: as the flags of its row say */
	const char *ffn;       /* the feed-forward network; NULL: the same */
	const char *mixes;     /* what stands for self-attention; NULL: attention does */
};

/* The words of a row of arch.c. Never NULL: a row without words has general ones. */
const struct arch_words *arch_words(const struct arch *a);

/* The name of a published size ("tiny" of Whisper), by hidden size and blocks; NULL: none. */
const char *arch_size_name(const struct arch *a, uint64_t width, uint64_t blocks);

/* What a role is. */
struct role_words {
	const char *what;   /* "query projection" */
	const char *does;   /* "computes the queries of attention from the hidden state" */
	const char *axes[3]; /* what is counted along each dimension of a weight, outermost
	                      * first; NULL: as any matrix */
};

/* The words of a role. For a rule without a role (Whisper), the rule of the tensor decides;
 * NULL if no row has words for it. */
const struct role_words *role_words(const struct arch_rule *r);

/* Appends the dimensions of a tensor in words: "512 outputs x 256 inputs (8 heads of 64 x
 * hidden size)". m: its rule, or NULL. s: the hyper-parameters, or NULL. */
void words_shape(struct buf *b, const struct tensor *t, const struct match *m,
                 const struct sizes *s, enum arch_form form);

#endif
