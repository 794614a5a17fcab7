#include "imports/classic/classic.h"
#include "imports/onnx/onnx.h"
#include "imports/torch/torch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/text.h"

/* ---- texts and notes ---- */

void
onnx_note(const struct onnx *x, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	if (!x->source.note)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	x->source.note(text);
}

struct onnx_text
onnx_text_of(const struct protobuf_field *f)
{
	return (struct onnx_text){ (const char *)f->p, (size_t)f->value };
}

bool
onnx_is(struct onnx_text t, const char *text)
{
	return t.n == strlen(text) && memcmp(t.p, text, t.n) == 0;
}

const char *
onnx_show(struct onnx_text t, char to[304])
{
	snprintf(to, 304, "%.*s", t.n < 300 ? (int)t.n : 300, t.n ? t.p : "");
	return to;
}

void
onnx_release(const struct onnx *x, const uint8_t *p, uint64_t n)
{
	whole_release(&x->whole, p, n);
}

/* Set p and n to the bytes of the file. */
static int
take_bytes(struct onnx *x)
{
	if (whole_take(&x->whole, &x->reader, x->err) < 0)
		return -1;
	x->p = x->whole.p;
	x->n = x->whole.n;
	x->base = x->whole.base == READER_UNKNOWN ? 0 : x->whole.base;
	return 0;
}

/* ---- the plan ---- */

static int
add_tensors(struct onnx *x)
{
	struct tensor *made;
	size_t i;

	for (i = 0; i < x->tensor_count; i++) {
		const struct onnx_tensor *t = &x->tensors[i];

		made = tensor_new(t->as, strlen(t->as), dtype_by_name(t->view.type->type), t->ndim,
		                  t->dims, TENSOR_OWN_SIZE, x->source.name, x->err);
		if (!made || model_add_tensor(&x->plan, made, x->err) < 0)
			return -1;
	}
	return 0;
}

static void
tell(const struct onnx *x)
{
	const struct { const char *what; uint64_t n; } left[] = {
		{ "left in the graph: tensors of text", x->strings },
		{ "left in the graph: fields that are not known", x->unknown },
	};
	size_t i;

	for (i = 0; i < sizeof left / sizeof *left; i++)
		if (left[i].n)
			onnx_note(x, "%s: %" PRIu64, left[i].what, left[i].n);
	if (x->tensor_count == 0)
		onnx_note(x, "holds no tensors, only a graph");
}

static int
read_all(struct onnx *x)
{
	json_t *source = json_pack("{s:s}", "format", format_onnx.name);

	if (!source || model_init(&x->plan, x->err) < 0) {
		json_decref(source);
		return err_memory(x->err);
	}
	json_decref(x->plan.source);
	x->plan.source = source;
	if (take_bytes(x) < 0 || onnx_read_model(x) < 0 || onnx_find_tensors(x) < 0 ||
	    onnx_find_uses(x) < 0 || onnx_read_graph(x) < 0 || onnx_name_tensors(x) < 0 ||
	    onnx_cut(x) < 0 || add_tensors(x) < 0)
		return -1;
	if (model_check(&x->plan, x->source.name, x->err) < 0)
		return -1;
	tell(x);
	return 0;
}

/* ---- the source ---- */

static int
finish(struct onnx *x)
{
	if (whole_is_whole(&x->whole))
		return onnx_check_sums(x);
	return err_set(x->err, ERR_CORRUPT, x->source.name, "was truncated while it was read");
}

static int
next(struct source *source, struct item *item, struct err *e)
{
	struct onnx *x = (struct onnx *)source;

	(void)e; /* the source holds it */
	if (!container_next(&x->sent, &x->plan, source->wanted, item))
		return finish(x);
	return (item->kind == ITEM_BLOB ? onnx_send_blob(x, item->index, item->bytes)
	                                : onnx_send_tensor(x, item->index)) < 0 ? -1 : 1;
}

static int
read_body(struct source *source, const uint8_t **p, size_t *n, struct err *e)
{
	(void)e;
	return onnx_send_some((struct onnx *)source, NULL, p, n);
}

static int
share_body(struct source *source, struct out *o, const uint8_t **p, size_t *n, struct err *e)
{
	(void)e;
	return onnx_send_some((struct onnx *)source, o, p, n);
}

/* The file with the bytes of the current tensor. */
static int
opened(struct source *source)
{
	struct onnx *x = (struct onnx *)source;
	const struct reader *r = x->view ? onnx_reader_of(x, x->view) : NULL;

	return r && !x->view->type->decode ? r->fd : -1;
}

static bool
lies(struct source *source, uint64_t *offset)
{
	struct onnx *x = (struct onnx *)source;

	if (opened(source) < 0)
		return false;
	*offset = x->view->at + (x->view->in == ONNX_RAW ? x->base : 0);
	x->left = 0;
	return true;
}

static void
close_source(struct source *source)
{
	struct onnx *x = (struct onnx *)source;
	size_t i;

	onnx_send_free(x);
	onnx_sparse_free(x);
	for (i = 0; i < x->tensor_count; i++) {
		free(x->tensors[i].as);
		free(x->tensors[i].kept);
	}
	for (i = 0; i < x->file_count; i++)
		free(x->files[i].name);
	free(x->tensors);
	free(x->by_name);
	free(x->files);
	free(x->folder_path);
	free(x->beside_label);
	if (x->beside_file != SIZE_MAX)
		reader_close(&x->beside);
	if (x->folder >= 0)
		close(x->folder);
	whole_free(&x->whole);
	model_free(&x->plan);
	reader_close(&x->reader);
	free(x);
}

static struct source *
onnx_open(struct reader *r, const struct format_options *options, void (*note)(const char *),
          struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source, .lies = lies, .opened = opened, .share = share_body };
	struct onnx *x = mem_array(1, sizeof *x);

	if (!x) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	x->source = (struct source){ .plan = &x->plan, .ops = &ops, .name = r->name, .note = note };
	x->reader = *r;
	x->options = *options;
	x->err = e;
	x->budget = ONNX_FIELDS;
	x->whole = (struct whole)WHOLE_INIT;
	x->folder = -1;
	x->beside_file = SIZE_MAX;
	if (read_all(x) == 0)
		return &x->source;
	close_source(&x->source);
	return NULL;
}

/* ---- the format ---- */

static json_t *
describe(struct source *source, struct err *e)
{
	const struct onnx *x = (struct onnx *)source;
	json_t *o = json_pack("{s:s,s:I,s:o,s:o}", "format", format_onnx.name, "ir_version",
	                      (json_int_t)x->ir_version, "nodes", json_from_u64(x->nodes),
	                      "graphs", json_from_u64(x->graphs));
	int r = o ? 0 : -1;

	if (r == 0 && x->functions)
		r = json_object_set_new(o, "functions", json_from_u64(x->functions));
	if (r == 0 && x->file_count)
		r = json_object_set_new(o, "external_files", json_from_u64(x->file_count));
	if (r == 0)
		r = json_object_set_new(o, "checksum", json_false());
	if (r == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}

static uint64_t
tensor_offset(const struct source *source, size_t i)
{
	const struct onnx *x = (const struct onnx *)source;
	const struct onnx_view *v = &x->tensors[i].view;

	return v->in == ONNX_RAW && !v->type->decode ? x->base + v->at : FORMAT_SCATTERED;
}

static const struct format_reads reads = {
	.open = onnx_open,
	.describe = describe,
	.tensor_offset = tensor_offset,
};

const struct format format_onnx = {
	.name = "onnx",
	.title = "ONNX",
	.probe = onnx_probe,
	.reads = &reads,
	.writes = &classic_onnx_writes,
	.shared = &torch_options[TORCH_DENSE],
};
