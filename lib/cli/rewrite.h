/* rewrite: the ends of a tool that reads a whole model and writes another one. */
#ifndef CLI_REWRITE_H
#define CLI_REWRITE_H

#include "cli/input.h"
#include "cli/tool.h"

/* After input_open: notes of the source go to the user, and the first is that its signatures end
 * here, if it has any. */
void rewrite_begin(struct input *in);

/* Open the output, then the result by make, and write that. make returns NULL with e filled if it
 * fails. 0, or -1, and the output is undone. */
int rewrite_send(const struct output_options *output, const struct input *in,
                 struct source *(*make)(void *ctx, struct err *e), void *ctx, struct err *e);

#endif
