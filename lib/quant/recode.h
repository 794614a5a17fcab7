/* recode: one tensor's body on its way from one type to another, in pieces of
 * bounded size, whatever the size of the tensor or of its rows. Where the new type
 * has a head, which depends on all values, the old body is spooled (core/spool.h). */
#ifndef QUANT_RECODE_H
#define QUANT_RECODE_H

#include "core/range.h"
#include "core/spool.h"
#include "model/flow.h"
#include "quant/convert.h"

#define RECODE_VALUES (1u << 19) /* converted at once; 2 MiB of F32 */

struct recode {
	struct convert convert;
	struct convert_stats stats; /* of the last tensor begun */
	uint8_t *x, *y;     /* buffers, kept from tensor to tensor */
	size_t x_cap, y_cap;
	size_t x_piece;     /* bytes of a full piece */
	size_t x_fill;
	size_t head_fill;   /* bytes of the old head, so far */
	uint64_t to_come;   /* bytes of the old body after it */
	uint64_t padding;   /* places of its last block without a value */

	/* A first pass: */
	struct spool spool;
	float most;         /* magnitude so far */

	/* Importance: the weights of one matrix after another. */
	const float *importance; /* of the next, or NULL */
	size_t columns;
	uint64_t matrix, left;   /* bytes of a matrix; of the current one to come */
};

/* jobs: threads; check: whether errors are measured. importance: a weight for each
 * column of each matrix of the tensor (its last two dimensions are a matrix),
 * which the caller keeps; or NULL. clips: as in convert. */
struct recode_options {
	unsigned jobs;
	bool check;
	const float *importance;
	bool clips;
};

/* Begin a tensor: t in its old type becomes type to. Equal types are copied. With
 * importance, a piece is at least one row. */
int recode_begin(struct recode *r, const struct tensor *t, const struct dtype *to,
                 const struct recode_options *o, struct err *e);

/* Add some bytes of it; converted bytes go to sink (NULL: nowhere). */
int recode_add(struct recode *r, const uint8_t *p, size_t n, struct sink *sink,
               struct err *e);

/* In place of all recode_add: read the tensor's bytes from where they are in the file
 * name. */
int recode_range(struct recode *r, const struct range *range, const char *name,
                 struct sink *sink, struct err *e);
int recode_end(struct recode *r, struct sink *sink, struct err *e);
void recode_free(struct recode *r);

#endif
