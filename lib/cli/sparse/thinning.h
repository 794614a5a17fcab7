/* thinning: a stream whose tensors get a form without zeros. */
#ifndef CLI_SPARSE_THINNING_H
#define CLI_SPARSE_THINNING_H

#include "core/buf.h"
#include "model/flow.h"
#include "wire/sparse.h"

struct thinning {
	struct sparse_form form; /* set by the caller: that is asked for; dense: none, */
	double threshold;        /* and the magnitude up to which values become zero; 0: none */

	/* Private. */
	const struct model *plan;
	struct thinned {
		uint64_t zeros, stored; /* values and bytes, once counted */
		bool keeps;             /* it gets the form */
	} *of;                     /* for each tensor */
	bool counted;             /* of is filled before the stream is written */
	struct sparse_encoder *encoder;
	struct buf piece, packed;
	uint64_t zeros;           /* of the current tensor, so far */
};

/* 0 or -1; thinning_close in any case. */
int thinning_begin(struct thinning *t, const struct source *source, struct err *e);

/* Count what the form would give: reads source to its end. */
int thinning_count(struct thinning *t, struct source *source, bool progress, struct err *e);

/* Hooks of f that give the form to the tensors of source: to those that get smaller if they were
 * counted, else to all matrices whose type has it. */
void thinning_flow(struct thinning *t, struct flow *f);

/* Notes: the gain that is possible, before anything is written, and after thinning_count or the
 * end of the flow the exact one. */
void thinning_note_possible(const struct thinning *t, struct buf *to);
void thinning_note_counted(const struct thinning *t, struct buf *to);

/* The table of tensors, or objects of JSON. */
void thinning_put(const struct thinning *t, bool json, struct buf *to);

void thinning_close(struct thinning *t);

#endif
