/* random: from the host, never blocks. */
#ifndef WASM_RANDOM_H
#define WASM_RANDOM_H

#include <sys/types.h>

#define GRND_NONBLOCK 1

ssize_t getrandom(void *p, size_t n, unsigned flags);
int getentropy(void *p, size_t n);

#endif
