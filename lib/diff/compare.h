/* compare: two tensors, value by value, or the digest of one, by threads and in constant memory.
 *
 * One of the two is held: any part of it can be read (diff/extent.h). The other arrives in
 * pieces, or is held as well. Tensors of one type are first compared as bytes. Their values are
 * decoded only from the first difference on; then the figures of what was equal before it are
 * computed from the held tensor alone.
 */
#ifndef DIFF_COMPARE_H
#define DIFF_COMPARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "crypto/digest.h"
#include "diff/extent.h"
#include "diff/pair.h"
#include "model/tensor.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define COMPARE_TILE 16384 /* values that a thread reads and compares at a time */
#define COMPARE_TILES 64   /* of a batch */
#else
#define COMPARE_TILE 256   /* a fuzzer's tensors are small: so they have several of both */
#define COMPARE_TILES 4
#endif
#define COMPARE_SAMPLE 64  /* the most tiles of a tensor that are part of histograms */

struct kernel;
struct compare_slot; /* the buffers of one thread */
struct compare_part; /* the result of one tile */

struct compare {
	unsigned jobs;
	double tolerance;

	/* The two tensors: the held one, and the one that arrives. */
	struct compare_half {
		const struct dtype *type;
		const struct kernel *kernel; /* NULL: the type has a head, or none */
		struct extent extent;
		uint8_t head[DTYPE_HEAD];
		size_t tile;      /* bytes of a tile */
	} held, come;
	enum { COMPARE_VALUES, COMPARE_BYTES, COMPARE_DIGEST } mode;
	uint64_t values;          /* bytes, unless values can be decoded */
	uint64_t row, stride;     /* values of a row; each stride-th tile is in histograms */
	bool floats;              /* single precision holds the values of both types */
	bool alike;               /* equal bytes have equal values */
	bool same;                /* all bytes so far are the same */
	bool hopeless;            /* types without decoders: nothing more will be found out */
	struct pair pair;
	struct sha256 hash;

	uint64_t from;            /* the batch under way */
	size_t batch;             /* values of it */
	bool looks;               /* only compares bytes; or: */
	bool alone;               /* computes the figures of the held tensor and itself */
	size_t head_bytes;        /* of the one that arrives, so far */
	bool pieces;              /* it comes in pieces, and */
	uint8_t *arrived;         /* these are its bytes of this batch */
	size_t arrived_bytes, arrived_cap;
	struct compare_slot *slots;
	size_t slot_count;
	struct compare_part *parts;
	atomic_int fault;         /* errno + 1 if reading failed; */
	atomic_bool held_fault;   /* of the held tensor */
};

/* 0, or -1 with E008; compare_close in any case. */
int compare_open(struct compare *c, unsigned jobs, double tolerance, struct err *e);
void compare_close(struct compare *c);

/* Begin a pair of tensors with the same number of values. held: where a is. 0 or -1. */
int compare_begin(struct compare *c, const struct tensor *a, const struct extent *held,
                  const struct tensor *b, struct err *e);

/* Begin the digest of a tensor: SHA-256 of the SHA-256 of its tiles. 0 or -1. */
int compare_begin_digest(struct compare *c, const struct tensor *b, struct err *e);

/* The bytes of b: in pieces, or all from where they are. 0, or -1: name is the file with the
 * bytes of b, for messages, held that with those of a. */
int compare_add(struct compare *c, const uint8_t *p, size_t n, const char *held, struct err *e);
int compare_extent(struct compare *c, const struct extent *b, const char *held,
                   const char *name, struct err *e);

/* What a pair is, once all bytes have come. */
enum compare_result {
	COMPARE_SAME,   /* the same bytes of one type */
	COMPARE_FIGURES, /* c->pair has the figures */
	COMPARE_UNKNOWN /* the bytes differ, and cannot be decoded */
};
int compare_end(struct compare *c, enum compare_result *to, const char *held, struct err *e);
int compare_end_digest(struct compare *c, struct digest *to, struct err *e);

#endif
