/* store: the tensors of a source, wherever their bytes are: at a place in a file, in an unlinked
 * spool, or in a window of the tensor that is just passing.
 */
#ifndef ADAPT_STORE_H
#define ADAPT_STORE_H

#include "adapt/tensors/tensors.h"
#include "core/range.h"
#include "core/spool.h"

struct store {
	const struct tensors *t; /* its packed weights and sources; may be NULL at first */
	struct source *from;
	struct store_at {
		enum { STORE_NOWHERE, STORE_FILE, STORE_SPOOL, STORE_WINDOW } where;
		struct range range;
		uint64_t at;     /* in the spool, or of the window's first byte */
		uint32_t users;  /* targets that still need it */
		bool gaps;       /* long runs of its zeros are not stored */
	} *at;
	struct spool spool;
	bool counted;        /* store_uses was called */
	size_t held;         /* tensors in the spool that have users */

	const uint8_t *window; /* of the one tensor whose place is STORE_WINDOW */
	size_t window_bytes;

	unsigned jobs;
	uint8_t *decoded;    /* of packed weights */
	size_t decoded_cap;
};

/* A store for the tensors of from's plan. 0 or -1; store_free is due in any case. */
int store_open(struct store *s, struct source *from, unsigned jobs, struct err *e);
void store_free(struct store *s);

/* Count how often each source is used. Sources that nothing uses are then not stored. */
void store_uses(struct store *s, const struct tensors *t);

/* Keep the tensor of an item: its place, or its bytes, which are read to their end. A tensor
 * that has no users after store_uses is only read. 0 or -1. */
int store_take(struct store *s, const struct item *item, struct err *e);

/* A target no longer needs its sources. */
void store_done(struct store *s, const struct tensors_row *row);

/* As read of struct move_reader; ctx is the store. Sources after those of the plan are packed
 * weights. */
int store_read(void *ctx, size_t source, uint64_t from, uint8_t *dst, size_t n,
               struct err *e);

/* As zeros of struct move_reader. */
uint64_t store_zeros(void *ctx, size_t source, uint64_t from, uint64_t n);

/* Whether the source of a piece of this row has gaps. */
bool store_has_gaps(const struct store *s, const struct tensors_row *row);

/* As equal of struct tensors_options. */
int store_equal(void *ctx, size_t a, size_t b, struct err *e);

#endif
