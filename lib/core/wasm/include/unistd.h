/* unistd: what wasi-libc leaves out. Files have no holes: SEEK_DATA and SEEK_HOLE fail. */
#ifndef WASM_UNISTD_H
#define WASM_UNISTD_H

#include_next <unistd.h>
#undef lseek

#define SEEK_DATA 3
#define SEEK_HOLE 4

#endif
