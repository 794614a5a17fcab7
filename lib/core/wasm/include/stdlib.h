/* stdlib: what wasi-libc leaves out. core/wasm/sort.c has the function. */
#ifndef WASM_STDLIB_H
#define WASM_STDLIB_H

#include_next <stdlib.h>

void qsort_r(void *p, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *ctx);
int mkostemp(char *name, int flags);

#endif
