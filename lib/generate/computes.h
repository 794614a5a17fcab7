/* computes: a model opened to compute, and a text under way in it. */
#ifndef GENERATE_COMPUTES_H
#define GENERATE_COMPUTES_H

#include "core/err.h"
#include "infer/infer.h"
#include "infer/sequence.h"

/* All zero is closed. */
struct computes {
	struct infer *infer;
	struct sequence *sequence;
};

/* The weights outlive c. note: as infer_open has it. 0, or -1 with e filled; computes_close in any
 * case. */
int computes_open(struct computes *c, const struct weights *w, const struct infer_options *how,
                  void (*note)(const char *), struct err *e);
void computes_close(struct computes *c);

#endif
