/* facts: what is known of a model before its data, for people and programs. */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "core/json.h"
#include "model/model.h"

/* Adds to the object o the facts that do not depend on the container: type (the family of the
 * architecture, behind model_type if o has it), architecture, size_label, vocab_size (if the model
 * has one), parameters, tensors, tensor_bytes, types, signatures, provenance, licence, files.
 * verified: whether its signature was verified. Returns 0, or -1 with E008. */
int facts_add(json_t *o, struct model *m, bool verified, struct err *e);

/* Returns the typed list [[key,type,value],…]; a value that lies in a blob is
 * {"blob":NAME,"bytes":N}. A new reference, or NULL with E008. */
json_t *facts_metadata(const struct model *m, struct err *e);

/* Appends the object to b as text: a fact per line, then a key per line in columns as
 * wide as their content. Long values are shortened, and everything from the file is
 * escaped. */
void facts_put(struct buf *b, json_t *o);

/* What is shown of arrays; NULL: FACTS_ITEMS items. */
#define FACTS_ITEMS 6
struct facts_view {
	size_t items;  /* maximum number of items; 0: FACTS_ITEMS */
	bool no_vocab; /* only the number of tokens, not the first ones */
};
void facts_put_metadata(struct buf *b, const struct model *m, const struct facts_view *view);

/* The parts of facts_put_metadata: the widths of the columns of keys and types; the heading; the
 * beginning of a line, before the value. */
struct facts_columns {
	int key, type;
};
struct facts_columns facts_columns(const struct model *m);
void facts_put_heading(struct buf *b, const struct model *m);
void facts_put_key(struct buf *b, const struct meta *k, const struct facts_columns *c);

#endif
