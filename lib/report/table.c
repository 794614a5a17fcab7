#include "report/table.h"

#include <string.h>

#include "core/text.h"

#define TYPE 8
#define TYPE_MOST 24
#define SHAPE 16
#define SHAPE_MOST 48

int
table_widen(int width, int most, const char *cell)
{
	size_t n = text_columns(cell);

	return n <= (size_t)width ? width : n < (size_t)most ? (int)n : most;
}

/* Returns the name as displayed. */
static const char *
quote(struct buf *to, const char *name)
{
	size_t n = strlen(name), room = 4 * n + 8;
	uint8_t *p;

	buf_clear(to);
	p = buf_room(to, room);
	if (!p)
		return "";
	to->n = strlen(text_quote((char *)p, room, name, n));
	return buf_string(to) ? (char *)to->p : "";
}

const char *
table_name(struct buf *to, int width, const char *name)
{
	size_t columns = text_columns(quote(to, name));

	for (; columns < (size_t)width; columns++)
		buf_put(to, " ", 1);
	return buf_string(to) ? (char *)to->p : "";
}

struct table
table_of(const struct model *m)
{
	struct table t = { TABLE_NAME, TYPE, SHAPE };
	char shape[TENSOR_SHAPE_TEXT];
	struct buf b = { 0 };
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *x = m->tensors[i];

		t.name = table_widen(t.name, TABLE_NAME_MOST, quote(&b, tensor_name(x)));
		t.type = table_widen(t.type, TYPE_MOST, tensor_type(x)->name);
		t.shape = table_widen(t.shape, SHAPE_MOST, tensor_shape_text(x, shape));
	}
	buf_free(&b);
	return t;
}
