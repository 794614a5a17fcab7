/* flow_parts: the steps of a flow that flow.c and flow_sink.c share. */
#ifndef MODEL_FLOW_PARTS_H
#define MODEL_FLOW_PARTS_H

#include "model/flow.h"

#define FLOW_ROOT 64 /* hexadecimal digits of a root and of a key id */
#define FLOW_KEY 16

/* The state of one flow. */
struct flow_run {
	struct source *source;
	struct sink *sink;
	const struct flow *f;
	struct err *e;
	size_t tensors, blobs, provs, signs; /* passed on so far: the items' numbers */
	size_t keys;                         /* of the source whose values have come */
	char root[FLOW_ROOT + 1], key[FLOW_KEY + 1]; /* of the first signature that ends here */
	bool remembered;
	uint64_t moved;
};

/* Make the plan for the sink: the source's, with a record in place of a signature that ends, and
 * the change of the flow's hook. 0 or -1; the caller frees it either way. */
int flow_plan(struct flow_run *r, struct model *out);

/* What becomes of an item: 0 passes it on as *out, 1 drops it, -1 fails. */
int flow_ask(struct flow_run *r, const struct item *in, struct item *out);

/* The number that an item has in the sink's plan. */
void flow_renumber(struct flow_run *r, struct item *item);

/* The key whose value travels in this item, or NULL. Values come in the order of their
 * keys, so the search continues where the last one ended. */
const struct meta *flow_key_of(struct flow_run *r, const struct item *in);

/* Count bytes that have passed. 0, or -1 if the flow must stop. */
int flow_count(struct flow_run *r, uint64_t n);

/* Put the record of the first signature that ended. */
int flow_put_prov(struct flow_run *r);

#endif
