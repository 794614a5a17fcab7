#include "report/full.h"

#include <string.h>

#include "core/json.h"
#include "model/value_text.h"
#include "report/facts.h"

/* The wire bytes of a key, which must be one value: a blob is proved only by the tools that pass
 * it on. */
static const uint8_t *
wire_of(const struct weights *w, const struct meta *k, size_t *n, struct err *e)
{
	struct value_type type;
	struct value_check check;
	const uint8_t *wire = weights_meta(w, k, &type, n);

	if (!wire) {
		err_set(e, ERR_CORRUPT, k->key, "its value is missing");
		return NULL;
	}
	if (k->wire)
		return wire;
	value_check_begin(&check, k->type);
	value_check_add(&check, wire, *n);
	if (value_check_end(&check))
		return wire;
	err_set(e, ERR_CORRUPT, k->key, "its value is not of its type");
	return NULL;
}

static int
put_value(struct buf *b, const struct weights *w, const struct meta *k, full_flush *flush,
          struct err *e)
{
	const uint8_t *wire;
	size_t n;

	wire = wire_of(w, k, &n, e);
	return wire ? value_show(k->type, wire, n, b, flush, e) : -1;
}

int
full_put(struct buf *b, const struct weights *w, full_flush *flush, struct err *e)
{
	struct facts_columns c = facts_columns(w->plan);
	size_t i;
	int r = 0;

	facts_put_heading(b, w->plan);
	for (i = 0; r == 0 && i < w->plan->meta_count; i++) {
		facts_put_key(b, &w->plan->meta[i], &c);
		r = put_value(b, w, &w->plan->meta[i], flush, e);
		buf_text(b, "\n");
	}
	return r;
}

int
full_json(struct buf *b, const struct weights *w, full_flush *flush, struct err *e)
{
	char type[VALUE_TYPE_TEXT];
	size_t i;
	int r = 0;

	buf_text(b, "[");
	for (i = 0; r == 0 && i < w->plan->meta_count; i++) {
		const struct meta *k = &w->plan->meta[i];

		buf_text(b, i ? ",[" : "[");
		json_show_text(b, k->key, strlen(k->key));
		buf_printf(b, ",\"%s\",", value_type_text(k->type, type));
		r = put_value(b, w, k, flush, e);
		buf_text(b, "]");
	}
	buf_text(b, "]");
	return r;
}
