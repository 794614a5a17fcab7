/* carry: what a source over models sends besides its own tensors: side files, licence, tensors that
 * are copied, and records, in the order of flow.h.
 */
#ifndef MERGE_CARRY_H
#define MERGE_CARRY_H

#include "arch/subject.h"
#include "merge/input.h"
#include "model/flow.h"

struct carry {
	/* The caller's, who sets them. All must outlive it. */
	const struct model *plan; /* of the result */
	struct merge_input *inputs; /* their records are sent, one model after another */
	size_t input_count;
	const struct merge_input *files_of; /* one of them: its side files and licence are sent, */
	const struct subject_files *files;  /* except those that have other bytes here; may be NULL */

	/* Private. */
	size_t blob, tensor, input, record, records; /* to be sent next */
	size_t own;               /* blob of files_of that is looked at first */
	bool licence_sent;
	const uint8_t *bytes;     /* of a side file or the licence */
	struct merge_input *from; /* or the model and the tensor that is copied */
	size_t copied;
	struct range place;
	uint64_t sent, left;
	uint8_t *piece;
};

/* 0 or -1. carry_close in any case. */
int carry_open(struct carry *c, struct err *e);
void carry_close(struct carry *c);

/* The next item: 1, or 0 after the last one. If it is a tensor, the caller sends its bytes, or calls
 * carry_copy. */
int carry_next(struct carry *c, struct item *item);

/* Send the bytes of a tensor of one of the models for the item. */
void carry_copy(struct carry *c, struct merge_input *from, size_t tensor, struct item *item);

/* The next bytes of an item that is not the caller's; *n is 0 at its end. 0 or -1. */
int carry_read(struct carry *c, const uint8_t **p, size_t *n, struct err *e);

#endif
