#include "model/outline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"

#define WHAT 512 /* bytes of a phrase */

void
outline_add(struct outline *o, uint64_t offset, uint64_t bytes, const char *fmt, ...)
{
	char what[WHAT];
	va_list ap;
	char *copy;

	if (o->parts >= OUTLINE_PARTS) {
		o->parts_more++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	copy = strdup(what);
	if (!copy || mem_grow(&o->part, &o->part_cap, o->parts + 1, sizeof *o->part) < 0) {
		free(copy);
		o->failed = true;
		return;
	}
	o->part[o->parts++] = (struct outline_part){ offset, bytes, copy };
}

/* The bytes of a tensor; 0 if type or shape do not give them. */
static uint64_t
bytes_of(const struct dtype *type, const struct outline_shape *shape)
{
	uint64_t items = 1, bytes;
	unsigned i;

	if (!type || !dtype_sized(type))
		return 0;
	for (i = 0; i < shape->ndim; i++)
		if (num_mul(items, shape->dims[i], &items) < 0)
			return 0;
	items = items / type->items + (items % type->items != 0);
	return num_mul(items, type->bytes, &bytes) < 0 || num_add(bytes, type->head, &bytes) < 0
	           ? 0 : bytes;
}

void
outline_tensor(struct outline *o, const void *name, size_t n, const struct dtype *type,
               const struct outline_shape *shape, uint64_t offset, uint64_t bytes, bool plain)
{
	char *copy;

	if (o->tensors >= OUTLINE_TENSORS) {
		o->tensors_more++;
		return;
	}
	copy = mem_text(name, n);
	if (!copy || mem_grow(&o->tensor, &o->tensor_cap, o->tensors + 1, sizeof *o->tensor) < 0) {
		free(copy);
		o->failed = true;
		return;
	}
	if (bytes == OUTLINE_OWN)
		bytes = bytes_of(type, shape);
	o->tensor[o->tensors++] = (struct outline_tensor){ copy, type, offset, bytes, plain };
}

int
outline_stop(struct outline *o, struct reader *r, const char *fmt, ...)
{
	va_list ap;

	if (o->stopped)
		return -1;
	o->stopped = true;
	o->stop = r->err->has_at ? r->err->at : reader_tell(r);
	o->err = (struct err)ERR_INIT; /* r may have filled it */
	va_start(ap, fmt);
	err_vset(&o->err, ERR_CORRUPT, r->name, fmt, ap);
	va_end(ap);
	return -1;
}

const struct outline_tensor *
outline_find(const struct outline *o, const char *name)
{
	size_t i;

	for (i = 0; i < o->tensors; i++)
		if (strcmp(o->tensor[i].name, name) == 0)
			return &o->tensor[i];
	return NULL;
}

void
outline_free(struct outline *o)
{
	size_t i;

	for (i = 0; i < o->parts; i++)
		free(o->part[i].what);
	for (i = 0; i < o->tensors; i++)
		free(o->tensor[i].name);
	free(o->part);
	free(o->tensor);
	*o = (struct outline){ 0 };
}
