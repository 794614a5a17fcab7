/* extracting: an adapter from two models that have been opened. */
#ifndef CLI_LORA_EXTRACTING_H
#define CLI_LORA_EXTRACTING_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/input.h"
#include "model/flow.h"

struct extracting {
	uint64_t rank;            /* set by the caller */
	double energy;            /* 0: `rank` counts */
	bool all;                 /* also tables of tokens, and tensors that are not matrices */
	bool verbose;             /* a note for each tensor */
	unsigned jobs;
	struct merge_input base, tuned; /* read by the caller */
};

/* Extract the adapter that changes the base into the tuned model. 0 or -1. */
int extracting_run(struct extracting *x, struct sink *sink, struct err *e);

#endif
