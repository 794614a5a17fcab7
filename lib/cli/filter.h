/* filter: the one verb of every tool between two pipes: a stream comes in, is
 * changed by the hooks of a flow, and goes out. */
#ifndef CLI_FILTER_H
#define CLI_FILTER_H

#include "cli/tool.h"
#include "core/out.h"
#include "model/flow.h"

/* Run the stream of input (NULL or "-": standard input; or a FILE of any format)
 * through f, and write it as a stream to output. f's progress hook is the
 * verb's own. Says on standard error if signatures end here. Returns 0, or -1
 * with e filled; the output is then undone. */
int filter_run(const char *input, const struct output_options *output,
               const struct flow *f, struct err *e);

/* A stream sink on the output that the options ask for; NULL with e filled. */
struct sink *filter_sink(const struct out_options *where, struct err *e);

/* The same with any source and any sink (both stay the caller's). */
int filter_flow(struct source *source, struct sink *sink, bool progress,
                const struct flow *f, struct err *e);

#endif
