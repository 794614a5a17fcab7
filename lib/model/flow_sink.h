/* flow_sink: a flow as a sink in front of another sink. Tools put flows one after the other by
 * pipes; a program does it by these sinks, in one process and one thread.
 *
 * The hooks get what flow_run gives them, except places in files: tensors come as bytes. wanted
 * is not called, since the source is not known.
 */
#ifndef MODEL_FLOW_SINK_H
#define MODEL_FLOW_SINK_H

#include "model/flow.h"

/* next is the caller's, and must outlive the sink, as must what the hooks use. name stands for
 * the model in messages. f is copied. NULL with e filled if memory runs out. Close this sink
 * before next. */
struct sink *flow_sink(const struct flow *f, struct sink *next, const char *name,
                       struct err *e);

#endif
