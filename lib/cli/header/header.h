/* header: the views of apr-header. The tool opens the model; these functions print it, as text or
 * as JSON, in pieces of bounded size.
 */
#ifndef CLI_HEADER_H
#define CLI_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json.h"
#include "model/flow.h"
#include "report/tensor_line.h"
#include "tokenizer/tokenizer.h"

#define CONTEXT_NONE UINT64_MAX

/* A model that is open, at its first item. */
struct header {
	struct source *source;
	json_t *container;  /* the facts of the container, which the functions extend; owned by
	                     * the caller */
	/* Describes tensor i; x is this structure. */
	struct tensor_line (*line)(const struct header *x, size_t i);
	const void *format; /* for line */
	bool verified;      /* its signature was verified */
	bool json;
	bool checksum;      /* read all data and prove the checksums of the container */
	uint64_t context;   /* positions, 0: those of the model, or CONTEXT_NONE */
};

/* Each prints one view. 0, or -1 with e filled. */
int header_facts(struct header *x, struct err *e);     /* facts and keys, shortened */
int header_container(struct header *x, struct err *e); /* only facts of the container */
int header_full(struct header *x, struct err *e);      /* facts, whole keys, tensors */
int header_tensors(struct header *x, struct err *e);
int header_types(struct header *x, struct err *e);     /* only facts about types */
int header_filters(struct header *x, struct err *e);   /* the mel filter bank */

/* Prints the tokens of a tokenizer. */
int header_vocab(const struct tokenizer *t, bool json, struct err *e);

#endif
