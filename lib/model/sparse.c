#include "model/sparse.h"

#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "core/text.h"

static const char *const names[] = { "dense", "csr", "bitmap", "block" };

bool
sparse_form_valid(struct sparse_form f)
{
	if (f.kind == SPARSE_BLOCK)
		return num_power_of_two(f.block) && f.block > 1 && f.block <= SPARSE_BLOCK_MAX;
	return f.kind < SPARSE_BLOCK && f.block == 0;
}

bool
sparse_form_fits(const struct dtype *t)
{
	return t->items == 1 && t->head == 0 && !t->quantized && t->bytes <= 8 &&
	       num_power_of_two(t->bytes);
}

char *
sparse_form_text(struct sparse_form f, char dst[SPARSE_FORM_TEXT])
{
	if (f.kind == SPARSE_BLOCK)
		snprintf(dst, SPARSE_FORM_TEXT, "block:%u", f.block);
	else
		snprintf(dst, SPARSE_FORM_TEXT, "%s", names[f.kind]);
	return dst;
}

int
sparse_form_parse(const char *text, struct sparse_form *f, struct err *e)
{
	size_t n = strcspn(text, ":");
	uint64_t block = 0;
	uint8_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == n && strncmp(text, names[i], n) == 0)
			break;
	if (text[n] && text_u64(text + n + 1, 2, SPARSE_BLOCK_MAX, &block) < 0)
		block = 1;
	*f = (struct sparse_form){ i, (uint16_t)block };
	if (i < sizeof names / sizeof *names && (!text[n] || i == SPARSE_BLOCK) &&
	    sparse_form_valid(*f))
		return 0;
	*f = (struct sparse_form){ SPARSE_NONE, 0 };
	if (i == SPARSE_BLOCK)
		return err_set(e, ERR_USAGE, NULL, "%.40s: the values of a block are a power of two "
		               "from 2 to %d, as in block:4", text, SPARSE_BLOCK_MAX);
	return err_set(e, ERR_USAGE, NULL, "not a sparse form: %.40s; there are dense, csr, bitmap "
	               "and block:N", text);
}
