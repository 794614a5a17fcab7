/* Keys of the plan: what ModelProto and GraphProto say of themselves.
 *
 *     onnx.ir_version         i64        onnx.graph.name      string
 *     onnx.producer_name      string     onnx.graph.doc_string
 *     onnx.producer_version   string     onnx.graph.inputs    array of strings:
 *     onnx.domain             string     onnx.graph.outputs   "x: FLOAT [batch, 3, 224, 224]"
 *     onnx.model_version      i64        onnx.metadata.KEY    string: metadata_props
 *     onnx.doc_string         string     onnx.tensors         JSON: onnx_names.c
 *     onnx.opsets             array of strings: "ai.onnx 17"
 *
 * Inputs that are tensors of the file as well are not listed. Text that is not UTF-8, or too
 * long for a key, stays in the graph.
 */
#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "imports/onnx/onnx.h"

#define PREFIX "onnx.metadata."
#define LONG 4096 /* bytes of a name in a list */
#define PAIRS 16384 /* pairs of metadata_props */
#define PAIR_BYTES (8u << 20) /* bytes of all pairs */

/* A list of texts on its way to a key. */
struct list {
	struct buf wire;
	uint64_t count, left_out;
};

/* ---- values ---- */

static int
add_text(struct onnx *x, const char *key, size_t n, struct onnx_text t)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf b = { 0 };
	char shown[160];
	int r = 0;

	if (t.n + 8 > VALUE_INLINE_BYTES || !text_utf8(t.p, t.n, false)) {
		onnx_note(x, "left in the graph: a text that is long or not UTF-8: %s",
		          text_quote(shown, sizeof shown, key, n));
		return 0;
	}
	buf_u64(&b, t.n);
	buf_put(&b, t.p, t.n);
	r = buf_ok(&b) ? model_add_meta(&x->plan, key, n, string, b.p, b.n, x->err)
	               : err_memory(x->err);
	buf_free(&b);
	return r;
}

static int
add_number(struct onnx *x, const char *key, uint64_t v)
{
	static const struct value_type i64 = { 0, VALUE_I64 };
	struct buf b = { 0 };
	int r;

	buf_u64(&b, v);
	r = buf_ok(&b) ? model_add_meta(&x->plan, key, strlen(key), i64, b.p, b.n, x->err)
	               : err_memory(x->err);
	buf_free(&b);
	return r;
}

static void
list_add(struct list *l, const struct buf *text)
{
	if (l->count == VALUE_INLINE_ITEMS ||
	    l->wire.n + text->n + 32 > VALUE_INLINE_BYTES || !text_utf8(text->p, text->n, false)) {
		l->left_out++;
		return;
	}
	buf_u64(&l->wire, text->n);
	buf_put(&l->wire, text->p, text->n);
	l->count++;
}

static int
list_end(struct onnx *x, struct list *l, const char *key)
{
	static const struct value_type strings = { 1, VALUE_STRING };
	struct buf b = { 0 };
	int r = 0;

	if (l->left_out)
		onnx_note(x, "left in the graph: items of %s: %" PRIu64, key, l->left_out);
	buf_u32(&b, VALUE_STRING);
	buf_u64(&b, l->count);
	buf_put(&b, l->wire.p, l->wire.n);
	if (!buf_ok(&b) || !buf_ok(&l->wire))
		r = err_memory(x->err);
	else if (l->count > 0)
		r = model_add_meta(&x->plan, key, strlen(key), strings, b.p, b.n, x->err);
	buf_free(&b);
	buf_free(&l->wire);
	return r;
}

/* ---- the model ---- */

static int
read_opset(struct onnx *x, const struct protobuf_field *f, struct list *l)
{
	struct onnx_text domain = { 0 };
	struct buf b = { 0 };
	struct protobuf m;
	struct protobuf_field g;
	int64_t version = 0;
	int r;

	protobuf_within(&m, &x->model, f);
	while ((r = protobuf_known(&m, &onnx_opset, &g)) > 0)
		if (g.number == 1)
			domain = onnx_text_of(&g);
		else
			version = (int64_t)g.value;
	if (r == 0) {
		if (domain.n > LONG)
			domain.n = LONG;
		buf_put(&b, domain.n ? domain.p : "ai.onnx", domain.n ? domain.n : 7);
		buf_printf(&b, " %" PRId64, version);
		list_add(l, &b);
	}
	buf_free(&b);
	return r;
}

/* A pair of metadata_props. model_check refuses a key that occurs twice. */
static int
read_pair(struct onnx *x, const struct protobuf_field *f)
{
	struct onnx_text key = { 0 }, value = { 0 };
	struct buf b = { 0 };
	struct protobuf m;
	struct protobuf_field g;
	int r;

	protobuf_within(&m, &x->model, f);
	while ((r = protobuf_known(&m, &onnx_entry, &g)) > 0)
		*(g.number == 1 ? &key : &value) = onnx_text_of(&g);
	if (r < 0)
		return -1;
	x->pairs++;
	x->pair_bytes += key.n + value.n;
	if (x->pairs > PAIRS || x->pair_bytes > PAIR_BYTES)
		return err_set(x->err, ERR_CORRUPT, x->source.name, "has more than %u pairs in "
		               "metadata_props, or more than %u bytes", PAIRS, PAIR_BYTES);
	buf_text(&b, PREFIX);
	buf_put(&b, key.p, key.n);
	if (!buf_ok(&b))
		r = err_memory(x->err);
	else
		r = add_text(x, (char *)b.p, b.n, value);
	buf_free(&b);
	return r;
}

static int
read_field(struct onnx *x, const struct protobuf_field *f, struct list *opsets)
{
	static const struct { uint32_t field; const char *key; } texts[] = {
		{ MODEL_PRODUCER, "onnx.producer_name" },
		{ MODEL_PRODUCER_VERSION, "onnx.producer_version" },
		{ MODEL_DOMAIN, "onnx.domain" }, { MODEL_DOC, "onnx.doc_string" },
	};
	size_t i;

	for (i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].field == f->number)
			return f->value ? add_text(x, texts[i].key, strlen(texts[i].key),
			                           onnx_text_of(f)) : 0;
	switch (f->number) {
	case MODEL_IR_VERSION:
		x->ir_version = (int64_t)f->value;
		return add_number(x, "onnx.ir_version", f->value);
	case MODEL_VERSION:
		return add_number(x, "onnx.model_version", f->value);
	case MODEL_GRAPH:
		x->graph = *f;
		return 0;
	case MODEL_OPSET:
		return read_opset(x, f, opsets);
	case MODEL_METADATA:
		return read_pair(x, f);
	case MODEL_FUNCTIONS:
		x->functions++;
		return 0;
	default:
		return 0;
	}
}

int
onnx_read_model(struct onnx *x)
{
	struct list opsets = { 0 };
	struct protobuf_field f;
	struct protobuf m;
	int r;

	protobuf_open(&x->model, x->p, (size_t)x->n, x->source.name, x->err);
	x->model.budget = &x->budget;
	x->model.map = &x->whole.map;
	m = x->model;
	while ((r = protobuf_known(&m, &onnx_model, &f)) > 0)
		if (read_field(x, &f, &opsets) < 0) {
			r = -1;
			break;
		}
	x->unknown += m.unknown;
	if (r < 0) {
		buf_free(&opsets.wire);
		return -1;
	}
	if (list_end(x, &opsets, "onnx.opsets") < 0)
		return -1;
	if (x->graph.p && x->ir_version > 0)
		return 0;
	return err_set(x->err, ERR_FORMAT, x->source.name, "is not a model of ONNX: it has no %s",
	               x->graph.p ? "ir_version" : "graph");
}

/* ---- the graph ---- */

static int
put_shape(const struct protobuf *outer, const struct protobuf_field *f, struct buf *b)
{
	struct protobuf m, dim;
	struct protobuf_field g, h;
	unsigned n = 0;
	int r;

	buf_text(b, " [");
	protobuf_within(&m, outer, f);
	while ((r = protobuf_known(&m, &onnx_shape, &g)) > 0) {
		bool stated = false;

		buf_text(b, n++ ? ", " : "");
		protobuf_within(&dim, &m, &g);
		while ((r = protobuf_known(&dim, &onnx_dimension, &h)) > 0) {
			if (h.number == 1)
				buf_printf(b, "%" PRId64, (int64_t)h.value);
			else if (h.number == 2)
				buf_put(b, h.p, (size_t)(h.value < LONG ? h.value : LONG));
			stated |= h.number < 3;
		}
		if (r < 0)
			return -1;
		buf_text(b, stated ? "" : "?");
		if (b->n > VALUE_INLINE_BYTES)
			break;
	}
	buf_text(b, "]");
	return r < 0 ? -1 : 0;
}

/* Append the type: "FLOAT [1, 3]", or the kind of a type that is not a tensor. */
static int
put_type(const struct protobuf *outer, const struct protobuf_field *f, struct buf *b)
{
	static const struct { uint32_t field; const char *text; } kinds[] = {
		{ 4, "sequence" }, { 5, "map" }, { 7, "opaque" }, { 9, "optional" },
	};
	const struct onnx_type *type;
	struct protobuf m, tensor;
	struct protobuf_field g, h;
	size_t i;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_known(&m, &onnx_type_proto, &g)) > 0) {
		for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
			if (kinds[i].field == g.number)
				buf_text(b, kinds[i].text);
		if (g.number != 1 && g.number != 8)
			continue;
		buf_text(b, g.number == 8 ? "sparse " : "");
		protobuf_within(&tensor, &m, &g);
		while ((r = protobuf_known(&tensor, &onnx_type_tensor, &h)) > 0) {
			type = h.number == 1 ? onnx_type_of(h.value) : NULL;
			if (h.number == 1)
				buf_text(b, type ? type->name : "?");
			else if (put_shape(&tensor, &h, b) < 0)
				return -1;
		}
		if (r < 0)
			return -1;
	}
	return r;
}

static int
read_value(struct onnx *x, const struct protobuf *outer, const struct protobuf_field *f,
           struct list *l)
{
	struct onnx_text name = { 0 };
	struct buf b = { 0 }, type = { 0 };
	struct protobuf m;
	struct protobuf_field g;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_known(&m, &onnx_value_info, &g)) > 0)
		if (g.number == 1)
			name = onnx_text_of(&g);
		else if (g.number == 2 && (r = put_type(&m, &g, &type)) < 0)
			break;
	if (r == 0 && onnx_find(x, name) == SIZE_MAX) {
		buf_put(&b, name.p, name.n < LONG ? name.n : LONG);
		buf_text(&b, type.n ? ": " : "");
		buf_put(&b, type.p, type.n);
		if (buf_ok(&b) && buf_ok(&type))
			list_add(l, &b);
		else
			r = err_memory(x->err);
	}
	buf_free(&b);
	buf_free(&type);
	return r;
}

int
onnx_read_graph(struct onnx *x)
{
	struct list inputs = { 0 }, outputs = { 0 };
	struct protobuf m;
	struct protobuf_field f;
	int r, done = 0;

	protobuf_within(&m, &x->model, &x->graph);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number == GRAPH_NAME && f.value)
			done = add_text(x, "onnx.graph.name", 15, onnx_text_of(&f));
		else if (f.number == GRAPH_DOC && f.value)
			done = add_text(x, "onnx.graph.doc_string", 21, onnx_text_of(&f));
		else if (f.number == GRAPH_INPUT || f.number == GRAPH_OUTPUT)
			done = read_value(x, &m, &f, f.number == GRAPH_INPUT ? &inputs : &outputs);
		if (done < 0)
			break;
	}
	if (r < 0 || done < 0) {
		buf_free(&inputs.wire);
		buf_free(&outputs.wire);
		return -1;
	}
	if (list_end(x, &inputs, "onnx.graph.inputs") < 0) {
		buf_free(&outputs.wire);
		return -1;
	}
	return list_end(x, &outputs, "onnx.graph.outputs");
}
