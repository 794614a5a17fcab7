/* fcntl: what wasi-libc leaves out. core/wasm/files.c has the functions. */
#ifndef WASM_FCNTL_H
#define WASM_FCNTL_H

#include_next <fcntl.h>

#define F_DUPFD_CLOEXEC 1030
#ifndef O_TMPFILE
#define O_TMPFILE 0
#endif

int posix_fallocate(int fd, off_t at, off_t n);

#endif
