/* parts: what the files of diff.h share. */
#ifndef DIFF_PARTS_H
#define DIFF_PARTS_H

#include "diff/compare.h"
#include "diff/diff.h"

struct diff_work {
	struct compare compare;
	size_t tensor;            /* of the flowing model, that is coming; and what is done: */
	enum { WORK_NOTHING, WORK_PAIR, WORK_DIGEST } doing;
	struct diff_tensor *pairs; /* by index in the flowing model */
	struct digest *digests;   /* the same: of tensors without a mate; and */
	bool *digested;           /* whether there is one */
	size_t *lonely;           /* tensors of the held model without a mate, sorted by type and */
	size_t lonely_count;      /* shape */
};

/* Pair the tensors by name. 0 or -1. */
int diff_mate(struct diff *d, struct err *e);

/* The tensors of the held model without a mate, for diff_may_be_renamed, which is whether one of
 * them has the type and the shape of a tensor of the other model. diff_renames finds those with
 * the same bytes. 0 or -1. */
int diff_lonely(struct diff *d, struct err *e);
bool diff_may_be_renamed(const struct diff *d, size_t tensor);
int diff_renames(struct diff *d, struct err *e);

/* Compare metadata, side files and licences. 0 or -1. */
int diff_facts(struct diff *d, struct err *e);

/* Compare two keys with lists of texts. NULL with e filled, or if they are none. */
struct diff_list *diff_lists(const struct diff *d, const struct meta *a, const struct meta *b,
                             struct err *e);

/* The same for the vocabularies of file i of A and file k of B. NULL if one of them cannot be
 * read: then only the files differ. */
struct diff_list *diff_vocabularies(const struct diff *d, size_t i, size_t k);

#endif
