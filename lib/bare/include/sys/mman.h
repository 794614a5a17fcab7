/* mman: memory is what it is; advice about it is ignored. */
#ifndef BARE_MMAN_H
#define BARE_MMAN_H

#define MADV_HUGEPAGE 14
#define madvise(p, n, advice) ((void)(p), (void)(n), 0)

#endif
