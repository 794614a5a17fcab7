/* bench: the speed of a model on this machine, compared with the speed of memory, which limits
 * generation: each token reads all weights once.
 */
#ifndef GENERATE_BENCH_H
#define GENERATE_BENCH_H

#include <stdint.h>

#include "core/err.h"
#include "infer/sequence.h"

struct bench {
	uint64_t prompt, made;  /* tokens: evaluated at once, then one by one */
	double prompt_seconds;  /* until the first token is known */
	double seconds;         /* for the others */
	double read;            /* bytes per second, for reading the weights and nothing else */
	double used;            /* the share of it that generation reaches */
	enum cache_type cache; /* type of keys and values */
	uint64_t cache_bytes;   /* of a full context */
};

/* The tokens are random; time does not depend on them. prompt and made: at least 1, and
 * together no more than the context, else ERR_INVALID. The weights are read first, so that
 * their file is in memory. 0, or -1 with e filled. */
int bench_run(struct sequence *s, uint64_t prompt, uint64_t made, unsigned threads,
              struct bench *b, struct err *e);

#endif
