/* grow: what happens next on the way of a row through Nodes, which grow.c turns into splits of two, with the
 * predicates of grow_predicate.c.
 *
 * What happens next is a struct go: a node whose predicate is true, the choice among children, a leaf, or
 * what is left of a compound predicate. Each go is on the stack of the function that made it, so emitting them
 * depth first needs no memory but that of the tree. A field that is known to be missing, or not to be, on
 * the way from the root (struct known) is not asked for again.
 */
#ifndef PREDICT_PMML_GROW_H
#define PREDICT_PMML_GROW_H

#include "predict/pmml/pmml.h"

enum strategy { MISSING_NONE, MISSING_LAST, MISSING_NULL, MISSING_DEFAULT, MISSING_REFUSED };

enum go_kind {
	GO_NODE,   /* its predicate is true */
	GO_CHOICE, /* among the children of node from child on */
	GO_LEAF,   /* of node */
	GO_NULL,   /* no prediction */
	GO_OTHERWISE,
	GO_REFUSE, /* a missing value is not accepted */
	GO_REST    /* predicates from child on, of the compound predicate node */
};

struct go {
	enum go_kind kind;
	uint32_t node, child;
	unsigned how;                /* GO_REST: 'a', 'o', 'x' or 's'; '1': child alone; 'n': numbers of an array */
	const struct go *t, *f, *u;  /* GO_REST: where true, false and unknown lead */
};

struct known {
	const struct known *before;
	size_t slot;
	bool missing;
};

struct grow {
	struct pmml *p;
	struct tree tree;
	const struct pmml_leaf *leaf;
	size_t classes;
	enum strategy strategy;
	bool last;        /* noTrueChildStrategy */
	bool first;       /* the root is a Segmentation, whose first true segment is the tree */
	size_t emitted, leaves;
	bool covered;
};

/* Appends the nodes of a go, and those behind it. 0 or -1. */
int grow_emit(struct grow *g, const struct go *go, const struct known *known);
/* Appends a node. 0 or -1. */
int grow_add(struct grow *g, uint32_t node, uint32_t *at);

/* A predicate: t, f and u are where true, false and unknown lead. 0 or -1. */
int grow_predicate(struct grow *g, uint32_t predicate, const struct go *t, const struct go *f, const struct go *u,
                   const struct known *known);
/* A go of the kind GO_REST. 0 or -1. */
int grow_rest(struct grow *g, const struct go *go, const struct known *known);
/* The element `at` or the next one that is a predicate, or XML_NONE. */
uint32_t grow_next(const struct xml *x, uint32_t at);

#endif
