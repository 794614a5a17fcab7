/* general_card: what a model folder says about its model, as one JSON object: members are named
 * as the keys general.* without "general.".
 *
 *     name author version organization finetune basename description quantized_by size_label
 *     license license.name license.link url doi uuid repo_url
 *     source.url source.doi source.uuid source.repo_url     text
 *     base_model dataset    arrays of objects of text: name author version organization
 *                           description url doi uuid repo_url
 *     tags languages        arrays of text
 */
#ifndef ADAPT_GENERAL_CARD_H
#define ADAPT_GENERAL_CARD_H

#include "core/err.h"
#include "core/json.h"

/* Entries of each list; more are ERR_MEMORY. */
#define GENERAL_ENTRIES 1000

struct general_card {
	json_t *facts;
	int64_t parameters;         /* general_name_read */
	void (*note)(const char *); /* or NULL */
	struct err *e;
};

/* Add what is not known yet: from the front matter of a model card, and from a name
 * ("org/Model-7B-chat") of the model. A member of the wrong type is noted and left out. 0 or
 * -1. */
int general_card_front(struct general_card *c, const json_t *front);
int general_card_name(struct general_card *c, const char *id);

/* An entry of base_model or dataset as an object, from its id or address. A new reference or
 * NULL (E008). */
json_t *general_card_entry(struct general_card *c, const char *id);

/* Fields of an entry in the order of the keys, ended by NULL. */
extern const char *const general_card_fields[];

#endif
