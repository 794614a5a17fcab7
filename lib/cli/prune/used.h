/* used: the tokens of a model that a text uses. */
#ifndef CLI_PRUNE_USED_H
#define CLI_PRUNE_USED_H

#include "cli/prune/prune_asked.h"
#include "merge/input.h"

/* Mark the tokens of the text of --vocab in a->used and let `how` point there. The text is read as plain
 * text, and as one in which the text of a control token stands for it; with and without the line break
 * at its end. ERR_INVALID for an empty text, or one that is not UTF-8. 0 or -1. */
int used_tokens(struct prune_asked *a, struct merge_input *in, struct prune_how *how, struct err *e);

#endif
