/* general_name: what the name of a model says: "meta-llama/Llama-3.2-1B-Instruct" is Llama-3.2
 * of Meta Llama, 1B, for instructions.
 *
 * Source: the rules of llama.cpp's converter, part by part between hyphens.
 */
#ifndef ADAPT_GENERAL_NAME_H
#define ADAPT_GENERAL_NAME_H

#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

/* Longer names are not divided into parts. */
#define GENERAL_NAME 1024

/* Each is NULL if the name does not say it. */
struct general_name {
	char *full;         /* the name without its organization */
	char *organization; /* before the first slash */
	char *basename, *finetune, *version;
	char *size_label;   /* "7B", "8x7B", "30B-A3B", "small" */
};

/* Divide a name. parameters: of the model, because a number far from it is a length of contexts
 * and not a size ("128K"); negative: of an adapter for a larger model; 0: unknown. 0 or -1
 * (E008); general_name_free is due in any case. */
int general_name_read(struct general_name *n, const char *id, int64_t parameters,
                      struct err *e);
void general_name_free(struct general_name *n);

/* Append a name as a title: hyphens become spaces, and words in lower case begin with a
 * capital, unless they are numbers or versions. */
void general_title(const char *name, struct buf *to);

#endif
