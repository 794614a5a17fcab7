#include "report/tokens_text.h"

#include "core/text.h"
#include "report/lines.h"

static void
put_piece(struct buf *to, const struct tokenizer *t, uint32_t id)
{
	struct buf b = { 0 };
	char text[512];

	tokenizer_piece(t, id, false, TOKENIZER_SPECIAL, &b);
	buf_printf(to, "%u\t%s\n", id, text_quote(text, sizeof text, (char *)b.p, b.n));
	buf_free(&b);
}

static void
put_json(struct buf *to, const struct tokenizer *t, uint32_t id)
{
	struct buf b = { 0 }, hex = { 0 };
	json_t *o;
	size_t i;

	tokenizer_piece(t, id, false, TOKENIZER_SPECIAL, &b);
	o = json_pack("{s:o,s:b}", "id", json_from_u64(id), "control",
	              tokenizer_is_control(t, id));
	if (text_utf8(b.p, b.n, true)) {
		json_object_set_new(o, "text", json_stringn((char *)b.p, b.n));
	} else {
		for (i = 0; i < b.n; i++)
			buf_printf(&hex, "%02x", b.p[i]);
		json_object_set_new(o, "bytes", json_stringn((char *)hex.p, hex.n));
	}
	lines_json(to, o);
	buf_free(&hex);
	buf_free(&b);
}

void
tokens_put(struct buf *to, const struct tokenizer *t, const struct tokens *list,
           enum tokens_form form)
{
	size_t i;

	if (form == TOKENS_COUNT) {
		buf_printf(to, "%zu\n", list->n);
		return;
	}
	for (i = 0; i < list->n; i++) {
		if (form == TOKENS_JSON)
			put_json(to, t, list->id[i]);
		else if (form == TOKENS_PIECES)
			put_piece(to, t, list->id[i]);
		else
			buf_printf(to, i > 0 ? " %u" : "%u", list->id[i]);
	}
	if (form == TOKENS_IDS)
		buf_text(to, "\n");
}
