#include "formats/members_plan.h"

#include <string.h>

int
members_key(struct model *m, struct spool *text, const struct member *x, struct err *e)
{
	static const struct value_type json = { 0, VALUE_JSON };
	struct buf b = { 0 };
	int r;

	if (x->n > VALUE_INLINE_BYTES)
		return model_add_meta_blob(m, x->name, strlen(x->name), json, x->n, e);
	r = members_text(text, x, &b, e);
	if (r == 0)
		r = model_add_meta(m, x->name, strlen(x->name), json, b.p, b.n, e);
	buf_free(&b);
	return r;
}

static int
short_value(struct members_plan *d, json_t *row, const struct member *x)
{
	struct buf b = { 0 };
	int r = members_text(d->text, x, &b, d->e);

	if (r == 0 && json_array_append_new(row, json_stringn((char *)b.p, b.n)) < 0)
		r = err_memory(d->e);
	buf_free(&b);
	return r < 0 ? -1 : 1;
}

static int
long_value(struct members_plan *d, json_t *row, const struct member *x)
{
	struct buf b = { 0 };
	int r = 1;

	if (d->values > json_array_size(d->blobs))
		return 0;
	buf_printf(&b, MODEL_VALUE_NAME "%s", x->name);
	if (!buf_string(&b) ||
	    json_array_append_new(row, json_pack("{s:s}", "blob", (char *)b.p)) < 0 ||
	    json_array_insert_new(d->blobs, d->values++,
	                          json_pack("[s,s,o]", (char *)b.p, MODEL_VALUE,
	                                    json_from_u64(x->n))) < 0)
		r = err_memory(d->e);
	buf_free(&b);
	return r;
}

int
members_row(struct members_plan *d, json_t *row, struct member *x)
{
	x->used = true;
	return x->n <= VALUE_INLINE_BYTES ? short_value(d, row, x) : long_value(d, row, x);
}

int
members_new_row(struct members_plan *d, struct member *x)
{
	json_t *row = json_pack("[s,s]", x->name, "json");
	int r = json_array_append(d->rows, row) < 0 ? err_memory(d->e) : members_row(d, row, x);

	json_decref(row);
	return r;
}
