#include "report/tokens_text.h"

#include <stdio.h>

#include "core/buf.h"
#include "core/json.h"
#include "core/text.h"

static void
print_piece(const struct tokenizer *t, uint32_t id)
{
	struct buf b = { 0 };
	char text[512];

	tokenizer_piece(t, id, false, TOKENIZER_SPECIAL, &b);
	printf("%u\t%s\n", id, text_quote(text, sizeof text, (char *)b.p, b.n));
	buf_free(&b);
}

static int
print_json(const struct tokenizer *t, uint32_t id, struct err *e)
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
	buf_clear(&b);
	if (!o || json_show(o, &b) < 0)
		err_memory(e);
	else
		printf("%.*s\n", (int)b.n, (char *)b.p);
	json_decref(o);
	buf_free(&hex);
	buf_free(&b);
	return e->code == ERR_NONE ? 0 : -1;
}

int
tokens_print(const struct tokenizer *t, const struct tokens *list, enum tokens_form form,
             struct err *e)
{
	size_t i;
	int r = 0;

	if (form == TOKENS_COUNT)
		printf("%zu\n", list->n);
	for (i = 0; r == 0 && form != TOKENS_COUNT && i < list->n; i++) {
		if (form == TOKENS_JSON)
			r = print_json(t, list->id[i], e);
		else if (form == TOKENS_PIECES)
			print_piece(t, list->id[i]);
		else
			printf(i > 0 ? " %u" : "%u", list->id[i]);
	}
	if (form == TOKENS_IDS)
		putchar('\n');
	return r;
}
