/* facts: what is known of a model before its data, for people and programs. */
#ifndef REPORT_FACTS_H
#define REPORT_FACTS_H

#include "core/buf.h"
#include "core/json.h"
#include "model/model.h"

/* Add to o, an ordered object, what does not depend on the container:
 * architecture, parameters, tensors, tensor_bytes, types, signatures,
 * provenance, licence, files. verified: its signature. 0, or -1 with E008. */
int facts_add(json_t *o, struct model *m, bool verified, struct err *e);

/* The typed list [[key,type,value],…]; a value that lies in a blob is
 * {"blob":NAME,"bytes":N}. New reference, or NULL with E008. */
json_t *facts_metadata(const struct model *m, struct err *e);

/* The same as text, appended to b: a fact a line, then a key a line in columns as wide as
 * their content, long values shortened, everything from the file escaped. */
void facts_put(struct buf *b, json_t *o);
void facts_put_metadata(struct buf *b, const struct model *m);

#endif
