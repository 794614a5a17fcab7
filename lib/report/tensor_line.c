#include "report/tensor_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

static json_t *
shape_of(const struct tensor *t)
{
	json_t *shape = json_array();
	unsigned d;

	for (d = 0; shape && d < tensor_ndim(t); d++)
		json_array_append_new(shape, json_from_u64(tensor_dims(t)[d]));
	return shape;
}

json_t *
tensor_line_json(const struct tensor_line *x)
{
	json_t *o = json_pack("{s:s,s:s,s:o,s:o,s:o}", "name", tensor_name(x->t), "dtype",
	                      tensor_type(x->t)->name, "shape", shape_of(x->t), "offset",
	                      x->offset == LINE_SCATTERED ? json_null() : json_from_u64(x->offset),
	                      "bytes", json_from_u64(tensor_bytes(x->t)));
	int r = o ? 0 : -1;

	if (x->codec) {
		r |= json_object_set_new(o, "stored_bytes", json_from_u64(x->stored));
		r |= json_object_set_new(o, "compression", json_string(x->codec));
	}
	if (x->file)
		r |= json_object_set_new(o, "file", json_string(x->file));
	if (r == 0)
		return o;
	json_decref(o);
	return NULL;
}

void
tensor_line_put(struct buf *b, const struct tensor_line *x, const struct table *table)
{
	char file[1024], shape[TENSOR_SHAPE_TEXT], offset[32] = "-";
	struct buf name = { 0 };

	if (x->offset != LINE_SCATTERED)
		snprintf(offset, sizeof offset, "%" PRIu64, x->offset);
	buf_printf(b, "%s %-*s %-*s %12s %12" PRIu64,
	           table_name(&name, table->name, tensor_name(x->t)), table->type,
	           tensor_type(x->t)->name, table->shape, tensor_shape_text(x->t, shape), offset,
	           tensor_bytes(x->t));
	buf_free(&name);
	if (x->codec)
		buf_printf(b, " %-5s %12" PRIu64, x->codec, x->stored);
	if (x->file)
		buf_printf(b, "  %s", text_quote(file, sizeof file, x->file, strlen(x->file)));
	buf_text(b, "\n");
}
