#include "wire/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FRONT 10 /* magic, version, bytes of the header */
#define ALIGN 64
#define GROWTH 21 /* characters that numpy.save reserves for the first dimension */

const char *
npy_type(const char *name)
{
	static const struct {
		const char *name, *type;
	} types[] = {
		{ "F16", "<f2" }, { "F32", "<f4" }, { "F64", "<f8" },  { "C64", "<c8" },
		{ "I8", "|i1" },  { "I16", "<i2" }, { "I32", "<i4" },  { "I64", "<i8" },
		{ "U8", "|u1" },  { "U16", "<u2" }, { "U32", "<u4" },  { "U64", "<u8" },
		{ "BOOL", "|b1" },
	};
	size_t i;

	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].type;
	return NULL;
}

/* Append the shape as a Python tuple: (), (3,), (3, 4) */
static void
put_shape(struct buf *b, unsigned ndim, const uint64_t *dims)
{
	unsigned i;

	buf_text(b, "(");
	for (i = 0; i < ndim; i++)
		buf_printf(b, "%s%" PRIu64, i ? ", " : "", dims[i]);
	buf_text(b, ndim == 1 ? ",)" : ")");
}

void
npy_head(struct buf *b, const char *type, unsigned ndim, const uint64_t *dims)
{
	struct buf head = { 0 };

	buf_printf(&head, "{'descr': '%s', 'fortran_order': False, 'shape': ", type);
	put_shape(&head, ndim, dims);
	buf_text(&head, ", }");
	if (ndim > 0)
		buf_printf(&head, "%*s", GROWTH - snprintf(NULL, 0, "%" PRIu64, dims[0]), "");
	while ((FRONT + head.n + 1) % ALIGN && buf_ok(&head))
		buf_text(&head, " ");
	buf_text(&head, "\n");

	buf_put(b, "\x93NUMPY\x01\x00", 8);
	buf_u16(b, (uint16_t)head.n);
	buf_put(b, head.p, head.n);
	b->failed |= head.failed;
	buf_free(&head);
}
