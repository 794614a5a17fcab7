/* general: what a model is and where it comes from, as the keys general.* of GGUF and as the
 * model card (README.md), config.json and generation_config.json of a model folder.
 *
 * Source: the keys that llama.cpp's converter writes, with their types and order.
 */
#ifndef ADAPT_GENERAL_H
#define ADAPT_GENERAL_H

#include "adapt/subject.h"

/* Numbers of parameters of the tensors as they are written, for general.size_label. */
struct general_sizes {
	uint64_t all, shared, expert; /* of all tensors, outside experts, of one expert */
	uint64_t experts;             /* 0: none */
};

/* Append general.type, sampling defaults, name, authorship, size label, licence, base models,
 * data sets, tags and languages. folder: the name of the model's folder or file, or NULL. 0 or
 * -1. */
int general_put(const struct subject *s, const char *folder,
                const struct general_sizes *sizes, struct model *out, struct err *e);

/* Make generation_config.json and README.md from the keys, if the model has any for them. 0 or
 * -1. */
int general_files(const struct subject *s, struct subject_files *out, struct err *e);

#endif
