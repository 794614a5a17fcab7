/* trees_parts: what the two forms of trees share (trees.h). */
#ifndef CHECK_TREES_PARTS_H
#define CHECK_TREES_PARTS_H

#include "check/trees.h"

/* Numbers of columns: those of a tree, then those of forest.… up to TREES_COLUMNS. */
#define TREES_FORM 7

/* Keeps what is wrong; its tree and prefix are those that t has. */
void trees_fault(struct trees *t, struct trees_found found);

void trees_clear(struct trees *t, unsigned from, unsigned to);

/* A walk over a tree of n nodes in breadth-first order. 0 or -1; trees_walk_free in any case. */
struct trees_walk {
	struct trees *t;
	uint32_t *order, *depth;
	bool *seen;
	size_t n, count;
};
int trees_walk_begin(struct trees_walk *w, struct trees *t, size_t n, struct err *e);
void trees_walk_free(struct trees_walk *w);

/* Appends the child of a node, at this depth, or keeps why it cannot be one. */
void trees_reach(struct trees_walk *w, size_t node, int64_t child, uint32_t depth);

/* The column of forest.… that a tensor is; TREES_COLUMNS: none. */
unsigned trees_form_column(const struct tensor *tensor);
/* All of them have come. 0 or -1. */
int trees_form_end(struct trees *t, struct err *e);

#endif
