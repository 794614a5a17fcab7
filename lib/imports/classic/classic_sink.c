/* Sinks of formats that hold classical models only: they keep the tensors, and write at the end. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "formats/container.h"
#include "imports/classic/classic.h"
#include "predict/tensors.h"
#include "predict/writers.h"

struct classic_sink {
	struct sink sink;
	struct out out;
	const struct model *plan;
	struct buf *tensors, *blobs, *body;
	size_t tensor_count, blob_count; /* the plan may be gone before the sink is closed */
	predict_writer *write;
	const char *title;
};

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct classic_sink *s = (struct classic_sink *)sink;
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < plan->tensor_count && bytes <= PREDICT_BYTES; i++)
		bytes += tensor_bytes(plan->tensors[i]);
	if (bytes > PREDICT_BYTES || model_find(plan, "general.architecture"))
		return err_set(e, ERR_FORMAT, s->out.name, "is not a classical model, and %s holds no other: "
		               "ExportFailed", s->title);
	s->plan = plan;
	s->tensors = mem_array(plan->tensor_count, sizeof *s->tensors);
	s->blobs = mem_array(plan->blob_count, sizeof *s->blobs);
	s->tensor_count = s->tensors ? plan->tensor_count : 0;
	s->blob_count = s->blobs ? plan->blob_count : 0;
	return s->tensors && s->blobs ? 0 : err_memory(e);
}

static int
put(struct sink *sink, const struct item *item, struct err *e)
{
	struct classic_sink *s = (struct classic_sink *)sink;

	(void)e;
	s->body = item->kind == ITEM_TENSOR ? &s->tensors[item->index]
	          : item->kind == ITEM_BLOB ? &s->blobs[item->index] : NULL;
	return 0;
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct classic_sink *s = (struct classic_sink *)sink;

	if (s->body)
		buf_put(s->body, p, n);
	return !s->body || buf_ok(s->body) ? 0 : err_memory(e);
}

static int
put_end(struct sink *sink, struct err *e)
{
	(void)sink;
	(void)e;
	return 0;
}

/* The tensors that came, as weights. */
static int
gather(const struct classic_sink *s, struct weights *w, struct err *e)
{
	size_t i;

	*w = (struct weights){ .name = s->out.name, .plan = (struct model *)(uintptr_t)s->plan };
	w->tensors = mem_array(s->plan->tensor_count, sizeof *w->tensors);
	w->blobs = mem_array(s->plan->blob_count, sizeof *w->blobs);
	if (!w->tensors || !w->blobs)
		return err_memory(e);
	for (i = 0; i < s->plan->tensor_count; i++)
		w->tensors[i] = s->tensors[i].p ? s->tensors[i].p : (const uint8_t *)"";
	for (i = 0; i < s->plan->blob_count; i++) {
		w->blobs[i].p = s->blobs[i].p;
		w->blobs[i].n = s->blobs[i].n;
	}
	return 0;
}

static int
end(struct sink *sink, struct err *e)
{
	struct classic_sink *s = (struct classic_sink *)sink;
	struct predictor m = { .covers = true };
	struct weights w = { .name = NULL };
	struct buf to = { 0 };
	int r = gather(s, &w, e) < 0 || predict_tensors(&m, &w, e) < 0 ||
	        s->write(&m, s->out.name, s->sink.note, &to, e) < 0 ? -1 : 0;

	if (r == 0 && !buf_ok(&to))
		r = err_memory(e);
	if (r == 0)
		r = out_put(&s->out, to.p, to.n) < 0 || out_finish(&s->out) < 0 ? -1 : 0;
	buf_free(&to);
	free(w.tensors);
	free(w.blobs);
	predictor_free(&m);
	return r;
}

static void
close_sink(struct sink *sink)
{
	struct classic_sink *s = (struct classic_sink *)sink;
	size_t i;

	for (i = 0; i < s->tensor_count; i++)
		buf_free(&s->tensors[i]);
	for (i = 0; i < s->blob_count; i++)
		buf_free(&s->blobs[i]);
	out_abandon(&s->out);
	free(s->tensors);
	free(s->blobs);
	free(s);
}

static struct sink *
create(struct out *o, predict_writer *writer, const char *title, struct err *e)
{
	static const struct sink_ops ops = { .begin = begin, .put = put, .write = write_body,
		.put_end = put_end, .end = end, .close = close_sink };
	struct classic_sink *s = container_new(sizeof *s, &ops, o, e);

	if (!s)
		return NULL;
	s->out = *o;
	s->write = writer;
	s->title = title;
	return &s->sink;
}

static struct sink *
create_xgboost(struct out *o, const struct format_options *options, struct err *e)
{
	(void)options;
	return create(o, xgboost_write, "XGBoost", e);
}

static struct sink *
create_onnx(struct out *o, const struct format_options *options, struct err *e)
{
	(void)options;
	return create(o, onnxml_write, "ONNX-ML", e);
}

const struct format_writes classic_xgboost_writes = { .create = create_xgboost };
const struct format_writes classic_onnx_writes = { .create = create_onnx };
