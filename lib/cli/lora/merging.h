/* merging: a stream through adapters. */
#ifndef CLI_LORA_MERGING_H
#define CLI_LORA_MERGING_H

#include "arch/subject.h"
#include "lora/aim.h"
#include "lora/apply.h"
#include "model/flow.h"

struct merging {
	const struct lora *loras; /* set by the caller: adapters in the order in which they apply, */
	size_t count;
	const char *arch;         /* the architecture if the user names it, or NULL */
	struct lora_apply apply;  /* with jobs and requantize set */

	/* Private. */
	struct subject subject;
	struct lora_aim aim;
	bool aimed;
	const struct model *plan;
};

/* Hooks of f that change the tensors of source. 0 or -1; merging_close in any case. */
int merging_begin(struct merging *m, const struct source *source, struct flow *f,
                  struct err *e);

void merging_close(struct merging *m);

#endif
