#include "cli/rewrite.h"

#include "cli/filter.h"

void
rewrite_begin(struct input *in)
{
	in->source->note = tool_note;
	if (in->source->plan->signatures)
		tool_note("the content changes: its signature, which was not verified, is dropped, and "
		          "a record of its claims kept");
}

int
rewrite_send(const struct output_options *output, const struct input *in,
             struct source *(*make)(void *ctx, struct err *e), void *ctx, struct err *e)
{
	const struct out_options where = { .path = output->path, .force = output->force,
		.input = in->held, .from = in->path };
	const struct flow f = { 0 };
	struct sink *sink = filter_sink(&where, e);
	struct source *source = sink ? make(ctx, e) : NULL;

	if (source)
		filter_flow(source, sink, output->progress, &f, e);
	source_close(source);
	sink_close(sink);
	return e->code == ERR_NONE ? 0 : -1;
}
