/* show_card: prints the model card (report/card.h). */
#ifndef CLI_META_SHOW_CARD_H
#define CLI_META_SHOW_CARD_H

#include <stdbool.h>

#include "model/flow.h"

enum card_form { CARD_TEXT, CARD_MARKDOWN, CARD_JSON };

/* Reads the items of the model up to its tensors. whole: as in listing.h. 0, or -1 with e
 * filled. */
int show_card(struct source *s, enum card_form form, bool whole, struct err *e);

#endif
