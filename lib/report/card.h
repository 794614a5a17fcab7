/* card: a model card (check/card.h) as text, Markdown and JSON. */
#ifndef REPORT_CARD_H
#define REPORT_CARD_H

#include "check/card.h"
#include "core/buf.h"

/* Append the card, with everything from the file escaped: a field per line, in columns;
 * Markdown with a heading for each group of fields; one line of JSON with a last member
 * "model", unless model is NULL. */
void card_text(struct buf *to, const json_t *card);
void card_markdown(struct buf *to, const json_t *card);
void card_json(struct buf *to, const json_t *card, const char *model);

#endif
