/* mman: mappings are copies in memory, except those of memory that a file is (core/wasm/files.c). */
#ifndef WASM_MMAN_H
#define WASM_MMAN_H

#include <stddef.h>
#include <sys/types.h>

enum { PROT_READ = 1, PROT_WRITE = 2 };
enum { MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_FIXED = 16, MAP_ANONYMOUS = 32 };
enum { MADV_DONTNEED = 4, MADV_WILLNEED = 3, MADV_HUGEPAGE = 14 };
#define MAP_FAILED ((void *)-1)

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t from);
int munmap(void *p, size_t n);

static inline int
madvise(void *p, size_t n, int advice)
{
	(void)p, (void)n, (void)advice;
	return 0;
}

#endif
