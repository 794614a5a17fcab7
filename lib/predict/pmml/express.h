/* express: what derive.c, which has the slots, and express.c, which compiles expressions, share. */
#ifndef PREDICT_PMML_EXPRESS_H
#define PREDICT_PMML_EXPRESS_H

#include "predict/pmml/derive.h"
#include "predict/pmml/pmml.h"

struct compiler {
	struct pmml *p;
	size_t top;     /* values on the stack */
	uint32_t node;  /* for messages */
};

/* The slots of a document; NULL with an error. */
struct derived *derive_begin(struct pmml *p);
/* Appends a number to their list; its length then. */
size_t derive_number(struct pmml *p, double v);
/* Appends an operation. 0 or -1. */
int derive_put(struct compiler *c, struct derive_op o);
/* Appends the value of a field. 0 or -1. */
int derive_slot(struct compiler *c, uint32_t field);
/* Ends a slot; its number, or SIZE_MAX. */
size_t derive_end(struct compiler *c);
/* Appends the bounds of an Interval: left, right, closure. 0 or -1. */
int derive_interval(struct pmml *p, uint32_t node);

#endif
