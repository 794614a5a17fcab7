/* mem: allocation of arrays with checked sizes, and the limit of the process's memory.
 */
#ifndef CORE_MEM_H
#define CORE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Returns n zeroed items of `size` bytes, or NULL, also if n × size overflows. If n is 0
 * the result is still a pointer for free(). */
void *mem_array(size_t n, size_t size);

/* Grows the array *p, which has room for *cap items, to at least `need` items by doubling.
 * New items are zeroed. Returns 0, or -1 and leaves *p unchanged. */
int mem_grow(void *p, size_t *cap, size_t need, size_t size);

/* Limits the private writable memory of the process (heap, stacks, and that of libraries)
 * to this many bytes. An allocation beyond the limit fails like any other. A lower limit
 * that is already set stays. Returns 0, or -1 with errno. */
int mem_limit(uint64_t bytes);

/* In a child, before exec: restores the limit from before mem_limit. Otherwise another
 * program might not even load; it sets its own limit. */
void mem_unlimit(void);

/* Returns a copy of n bytes with a terminating NUL, or NULL. */
char *mem_text(const char *s, size_t n);

#endif
