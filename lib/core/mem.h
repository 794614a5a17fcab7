/* mem: allocation of counted things, with the product checked. */
#ifndef CORE_MEM_H
#define CORE_MEM_H

#include <stddef.h>

/* n zeroed items of size bytes, or NULL (also where n × size overflows).
 * n may be 0: the result is then still a pointer that free() takes. */
void *mem_array(size_t n, size_t size);

/* Grow *p (an array with room for *cap items) to hold at least need items, by
 * doubling; new items are zeroed. Returns 0, or -1 with *p untouched. */
int mem_grow(void *p, size_t *cap, size_t need, size_t size);

/* A terminated copy of n bytes, or NULL. */
char *mem_text(const char *s, size_t n);

#endif
