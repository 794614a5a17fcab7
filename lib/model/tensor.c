#include "model/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"

struct tensor {
	char *name;
	const struct dtype *type;
	unsigned ndim;
	struct sparse_form form;
	uint64_t dims[TENSOR_DIMS];
	uint64_t items, bytes;
};

/* The version 1 specification's name for blocks that contradict their shape. */
static const char *
corrupt(const struct dtype *t, enum err_code code)
{
	return t->quantized && code == ERR_CORRUPT ? ": QuantizationCorrupt" : "";
}

/* Compute items and bytes from type and dims, or fail. */
static int
prove_size(struct tensor *t, uint64_t bytes, enum err_code code, struct err *e)
{
	uint64_t row = t->ndim ? t->dims[t->ndim - 1] : 1;
	unsigned i;

	/* extent leaves out dimensions of 0: the strides of an empty tensor must not
	 * overflow either. */
	uint64_t items = 1, extent = 1, blocks;
	for (i = 0; i < t->ndim; i++) {
		if (num_mul(extent, t->dims[i] ? t->dims[i] : 1, &extent) < 0)
			return err_set(e, code, t->name, "the product of its dimensions overflows");
		if (t->dims[i] == 0)
			items = 0;
	}
	t->items = items ? extent : 0;
	if (!dtype_sized(t->type)) {
		if (bytes == TENSOR_OWN_SIZE && items)
			return err_set(e, code, t->name, "the size of type %s is not known",
			               t->type->name);
		t->bytes = bytes == TENSOR_OWN_SIZE ? 0 : bytes;
		if (t->bytes > INT64_MAX)
			return err_set(e, code, t->name, "its size in bytes overflows");
		if ((t->bytes == 0) != (items == 0))
			return err_set(e, code, t->name, "%" PRIu64 " values cannot lie in %"
			               PRIu64 " bytes", t->items, t->bytes);
		return 0;
	}
	if (!dtype_fills(t->type, row))
		return err_set(e, code, t->name, "%s needs rows of %u, got %" PRIu64 "%s",
		               t->type->name, t->type->items, row, corrupt(t->type, code));
	blocks = extent / t->type->items + (extent % t->type->items != 0);
	if (num_mul(blocks, t->type->bytes, &extent) < 0 ||
	    num_add(extent, t->type->head, &extent) < 0 || extent > INT64_MAX)
		return err_set(e, code, t->name, "its size in bytes overflows");
	t->bytes = items ? extent : 0;
	if (bytes != TENSOR_OWN_SIZE && bytes != t->bytes)
		return err_set(e, code, t->name,
		               "%s of this shape takes %" PRIu64 " bytes, not %" PRIu64 "%s",
		               t->type->name, t->bytes, bytes, corrupt(t->type, code));
	return 0;
}

struct tensor *
tensor_new(const char *name, size_t name_bytes, const struct dtype *type, unsigned ndim,
           const uint64_t *dims, uint64_t bytes, const char *where, struct err *e)
{
	struct tensor *t;

	if (name_bytes == 0 || name_bytes > TENSOR_NAME) {
		err_set(e, ERR_CORRUPT, where, "a tensor name of %zu bytes", name_bytes);
		return NULL;
	}
	if (!text_utf8(name, name_bytes, false)) {
		err_set(e, ERR_CORRUPT, where, "a tensor name is not UTF-8 text");
		return NULL;
	}
	t = mem_array(1, sizeof *t);
	if (!t || !(t->name = mem_text(name, name_bytes))) {
		free(t);
		err_memory(e);
		return NULL;
	}
	t->type = type;
	t->ndim = ndim;
	if (ndim > TENSOR_DIMS) {
		err_set(e, ERR_FORMAT, t->name, "%u dimensions, at most 8 are possible", ndim);
		tensor_free(t);
		return NULL;
	}
	if (ndim)
		memcpy(t->dims, dims, ndim * sizeof *dims);
	if (prove_size(t, bytes, ERR_CORRUPT, e) < 0) {
		tensor_free(t);
		return NULL;
	}
	return t;
}

struct tensor *
tensor_copy(const struct tensor *t)
{
	struct tensor *c = mem_array(1, sizeof *c);

	if (!c)
		return NULL;
	*c = *t;
	c->name = mem_text(t->name, strlen(t->name));
	if (!c->name) {
		free(c);
		return NULL;
	}
	return c;
}

struct tensor *
tensor_retype(const struct tensor *t, const struct dtype *type, struct err *e)
{
	struct tensor *c = tensor_copy(t);

	if (!c) {
		err_memory(e);
		return NULL;
	}
	c->type = type;
	if (prove_size(c, TENSOR_OWN_SIZE, ERR_INVALID, e) < 0) {
		tensor_free(c);
		return NULL;
	}
	tensor_set_form(c, c->form);
	return c;
}

struct tensor *
tensor_rename(const struct tensor *t, const char *name, struct err *e)
{
	size_t n = strlen(name);
	struct tensor *c;

	if (n == 0 || n > TENSOR_NAME || !text_utf8(name, n, false)) {
		err_set(e, ERR_INVALID, t->name, "would have %s", n == 0 ? "an empty name"
		        : n > TENSOR_NAME ? "a name that is too long"
		        : "a name that is not UTF-8 text");
		return NULL;
	}
	c = mem_array(1, sizeof *c);
	if (c)
		*c = *t;
	if (!c || !(c->name = mem_text(name, n))) {
		free(c);
		err_memory(e);
		return NULL;
	}
	return c;
}

bool
tensor_same(const struct tensor *a, const struct tensor *b)
{
	return strcmp(a->name, b->name) == 0 && a->type == b->type && a->bytes == b->bytes &&
	       a->ndim == b->ndim && memcmp(a->dims, b->dims, a->ndim * sizeof *a->dims) == 0;
}

void
tensor_free(struct tensor *t)
{
	if (!t)
		return;
	free(t->name);
	free(t);
}

const char *
tensor_name(const struct tensor *t)
{
	return t->name;
}

const struct dtype *
tensor_type(const struct tensor *t)
{
	return t->type;
}

unsigned
tensor_ndim(const struct tensor *t)
{
	return t->ndim;
}

const uint64_t *
tensor_dims(const struct tensor *t)
{
	return t->dims;
}

uint64_t
tensor_items(const struct tensor *t)
{
	return t->items;
}

uint64_t
tensor_row(const struct tensor *t)
{
	return t->ndim ? t->dims[t->ndim - 1] : 1;
}

uint64_t
tensor_bytes(const struct tensor *t)
{
	return t->bytes;
}

char *
tensor_shape_text(const struct tensor *t, char dst[TENSOR_SHAPE_TEXT])
{
	size_t n = 0;
	unsigned i;

	strcpy(dst, "scalar");
	for (i = 0; i < t->ndim; i++)
		n += (size_t)snprintf(dst + n, TENSOR_SHAPE_TEXT - n, "%s%" PRIu64, i ? "x" : "",
		                      t->dims[i]);
	return dst;
}

struct sparse_form
tensor_form(const struct tensor *t)
{
	return t->form;
}

void
tensor_set_form(struct tensor *t, struct sparse_form f)
{
	t->form = t->items && sparse_form_fits(t->type) ? f : (struct sparse_form){ SPARSE_NONE, 0 };
}
