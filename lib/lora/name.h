/* name: how users name an adapter: PATH, or PATH=SCALE. */
#ifndef LORA_NAME_H
#define LORA_NAME_H

#include <stddef.h>

#include "core/err.h"

struct lora_name {
	char *path;  /* owned */
	float scale; /* 1 if none is given */
};

/* Read n words. A word that ends in "=" and a number has a scale, unless a file has that name.
 * ERR_USAGE for a scale that is not a number. A new array of n names, or NULL with e filled. */
struct lora_name *lora_names(const char *const *words, size_t n, struct err *e);
void lora_names_free(struct lora_name *names, size_t n);

#endif
