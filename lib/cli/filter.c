#include "cli/filter.h"

#include "cli/input.h"
#include "cli/progress.h"
#include "core/sandbox.h"
#include "stream/stream.h"

static void
show_progress(void *ctx, uint64_t bytes)
{
	progress_at(ctx, bytes);
}

int
filter_flow(struct source *source, struct sink *sink, bool progress,
            const struct flow *f, struct err *e)
{
	struct progress shown;
	struct flow own = *f;
	int r;

	own.progress = show_progress;
	own.progress_ctx = &shown;
	source->note = tool_note;
	if (sink)
		sink->note = tool_note;
	if (f->operation && source->plan->signatures)
		tool_note(source->verified
		          ? "the content changes: its signature is dropped, and a record of it kept"
		          : "the content changes: its signature, which was not verified, is dropped, "
		            "and a record of its claims kept");
	progress_begin(&shown, progress, model_tensor_bytes(source->plan));
	r = flow_run(source, sink, &own, e);
	progress_end(&shown);
	return r;
}

struct sink *
filter_sink(const struct out_options *where, struct err *e)
{
	struct out out;

	if (out_open(&out, where, e) == 0)
		return stream_sink(&out, e);
	out_abandon(&out);
	return NULL;
}

int
filter_run(const char *input, const struct output_options *output,
           const struct flow *f, struct err *e)
{
	struct out_options where = { .path = output->path, .force = output->force };
	struct sink *sink = NULL;
	struct input in;

	sandbox_write(output->path, output->force);
	if (input_open(&in, input, e) == 0) {
		where.input = in.held;
		where.from = in.path;
		sink = filter_sink(&where, e);
		if (sink)
			filter_flow(in.source, sink, output->progress, f, e);
	}
	/* If the child failed, it has not sent DONE, so the output was not finished. */
	sink_close(sink);
	return input_close(&in, e);
}
