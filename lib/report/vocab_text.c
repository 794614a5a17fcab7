#include "report/vocab_text.h"

#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "report/lines.h"

#define SCORE "%.9g" /* reading it back gives the same single precision */

/* Appends a text of any length, escaped. A byte becomes at most four. */
static void
put_text(struct buf *to, const char *s, size_t n)
{
	size_t size = n < SIZE_MAX / 8 ? 4 * n + 4 : 0;
	char *room = (char *)buf_room(to, size);

	if (!room)
		return;
	text_quote(room, size, s, n);
	to->n += strlen(room);
}

/* A text, or the hexadecimal digits of bytes that are not text. */
static void
put_json_text(struct buf *to, const struct token_row *row)
{
	size_t i;

	if (text_utf8(row->text, row->n, true)) {
		buf_text(to, ",\"text\":");
		json_show_text(to, row->text, row->n);
		return;
	}
	buf_text(to, ",\"bytes\":\"");
	for (i = 0; i < row->n; i++)
		buf_printf(to, "%02x", (uint8_t)row->text[i]);
	buf_text(to, "\"");
}

static void
put_json(struct buf *to, const struct token_row *row, uint32_t id, const char *model)
{
	buf_printf(to, "{\"id\":%u,\"type\":\"%s\"", id, row->type);
	if (row->scored && isfinite(row->score))
		buf_printf(to, ",\"score\":" SCORE, (double)row->score);
	else if (row->scored)
		buf_text(to, ",\"score\":null");
	put_json_text(to, row);
	lines_put_model(to, model);
	buf_text(to, "}\n");
}

void
vocab_put(struct buf *to, const struct tokenizer *t, uint32_t id, bool json, const char *model)
{
	struct token_row row;

	tokenizer_row(t, id, &row);
	if (json) {
		put_json(to, &row, id, model);
		return;
	}
	buf_printf(to, "%u\t%s\t", id, row.type);
	if (row.scored)
		buf_printf(to, SCORE "\t", (double)row.score);
	else
		buf_text(to, "-\t");
	put_text(to, row.text, row.n);
	buf_text(to, "\n");
}
