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

/* The number of trees of a model, by the names of their tensors, and of their nodes. */
void classic_trees(const struct model *m, uint64_t *trees, uint64_t *nodes);

/* The number of features, and of outputs, that the shapes of tensors show; 0: they do not. */
void classic_sizes(const struct model *m, uint64_t *features, uint64_t *outputs);

#endif
