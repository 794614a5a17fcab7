/* classic: the types of classical models, as words for people: rows of data. A model states its type
 * by the keys apr1.model_type and apr1.payload, as models of APR version 1 have them.
 */
#ifndef ARCH_CLASSIC_H
#define ARCH_CLASSIC_H

#include <stdbool.h>

#include "model/model.h"

/* Each member is a phrase without full stop. */
struct classic_words {
	const char *type;    /* apr1.model_type */
	const char *payload; /* apr1.payload up to a point; NULL: any */
	const char *kind;
	const char *purpose;
	const char *how;     /* it computes */
	const char *input, *output;
};

/* The words of a model, or NULL: it states no type that is known. */
const struct classic_words *classic_words(struct model *m);

/* What the key apr.predict states of a model whose tensors are forest.… or linear.… */
struct classic_form {
	bool known;
	uint64_t features, outputs, classes; /* classes: 0 if it predicts numbers */
	uint64_t width;                      /* values of a leaf */
	bool centers;                        /* outputs are clusters */
	bool shares;                         /* a leaf has the probability of each class */
	bool average;                        /* predictions are means over trees */
};

void classic_form(struct model *m, struct classic_form *f);

/* The number of trees of a model, by the names of their tensors, and of their nodes. */
void classic_trees(const struct model *m, uint64_t *trees, uint64_t *nodes);

/* The number of features, and of centers, that the key or the shapes of tensors show; 0: they do not. */
void classic_sizes(struct model *m, uint64_t *features, uint64_t *outputs);

#endif
