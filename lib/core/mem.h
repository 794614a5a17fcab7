/* mem: allocation of counted things, with the product checked; and how much of all
 * memory the process may have.
 */
#ifndef CORE_MEM_H
#define CORE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* n zeroed items of size bytes, or NULL (also where n × size overflows).
 * n may be 0: the result is then still a pointer that free() takes. */
void *mem_array(size_t n, size_t size);

/* Grow *p (an array with room for *cap items) to hold at least need items, by
 * doubling; new items are zeroed. Returns 0, or -1 with *p untouched. */
int mem_grow(void *p, size_t *cap, size_t need, size_t size);

/* Let the process have no more than so many bytes of memory that it can write and
 * shares with nobody: its heap, that of the libraries, the stacks of its threads.
 * An allocation beyond that fails like any other. A limit that holds already stays
 * if it is lower. 0, or -1 with errno. */
int mem_limit(uint64_t bytes);

/* In a child before its exec: what held before mem_limit. Another program could
 * otherwise not even be loaded, and takes its own limit. */
void mem_unlimit(void);

/* A terminated copy of n bytes, or NULL. */
char *mem_text(const char *s, size_t n);

#endif
