/* filter: what every tool between two pipes does: it reads a stream, changes it by the
 * hooks of a flow, and writes a stream. */
#ifndef CLI_FILTER_H
#define CLI_FILTER_H

#include "cli/tool.h"
#include "core/out.h"
#include "model/flow.h"

/* Runs the stream of input (NULL or "-": standard input; or a FILE of any format) through
 * f and writes it as a stream to output. The progress hook of f is replaced. Reports on
 * standard error if signatures end here. Returns 0, or -1 with e filled; the output is
 * then undone. */
int filter_run(const char *input, const struct output_options *output,
               const struct flow *f, struct err *e);

/* Returns a stream sink for the output that the options name, or NULL with e filled. */
struct sink *filter_sink(const struct out_options *where, struct err *e);

/* As filter_run, with any source and any sink, which the caller keeps owning. */
int filter_flow(struct source *source, struct sink *sink, bool progress,
                const struct flow *f, struct err *e);

#endif
