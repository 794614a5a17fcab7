/* adapters: what the operands of apr-lora and the options of apr-run name: ADAPTER or
 * ADAPTER=SCALE. */
#ifndef CLI_LORA_ADAPTERS_H
#define CLI_LORA_ADAPTERS_H

#include <stddef.h>

#include "core/err.h"

struct adapter_name {
	char *path;  /* owned */
	float scale; /* 1 if none is given */
};

/* Take n operands. A word that ends in "=" and a number has a scale, unless a file has that
 * name. ERR_USAGE for a scale that is not a number. A new array of n names, or NULL with e filled. */
struct adapter_name *adapters_take(const char *const *words, size_t n, struct err *e);
void adapters_free(struct adapter_name *names, size_t n);

#endif
