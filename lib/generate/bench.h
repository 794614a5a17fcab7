/* bench: how fast a model runs here, and how near that is to the speed of memory, which
 * is what bounds the making of text: each token needs all weights once.
 */
#ifndef GENERATE_BENCH_H
#define GENERATE_BENCH_H

#include <stdint.h>

#include "core/err.h"
#include "infer/sequence.h"

struct bench {
	uint64_t prompt, made;  /* tokens: at once, and one after another */
	double prompt_seconds;  /* until the first token is known */
	double seconds;         /* of the others */
	double read;            /* bytes a second, of reading the weights and no more */
	double used;            /* part of that which decoding reaches */
	enum cache_type cache; /* type of keys and values, */
	uint64_t cache_bytes;   /* and of all that fill the context */
};

/* Tokens are drawn, not chosen: time does not depend on which they are. prompt, made: at
 * least 1, in the context together, else ERR_INVALID. The weights are read first, so that
 * their file is in memory. 0, or -1 with e filled. */
int bench_run(struct sequence *s, uint64_t prompt, uint64_t made, unsigned threads,
              struct bench *b, struct err *e);

#endif
