/* secret: memory for keys and passphrases.
 *
 * It is allocated apart from everything else, between guard pages, kept out of swap and
 * core files where the system allows it, and wiped when freed.
 */
#ifndef CRYPTO_SECRET_H
#define CRYPTO_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct secret {
	uint8_t *p;   /* n bytes; owned; not terminated */
	size_t n, cap;
};

/* Call this before the first secret is read. It prevents core files of this process, and
 * other processes of the same user from reading its memory. 0, or -1 with E008; then no
 * secret may be read. */
int secret_guard(struct err *e);

/* Allocate room for cap bytes; n is 0. Returns 0, or -1 with E008. */
int secret_alloc(struct secret *s, size_t cap, struct err *e);

/* Wipe and free. s may be empty or freed. */
void secret_free(struct secret *s);

/* Read fd to its end. More than cap bytes is a fault with the given code. name is for
 * messages. */
int secret_read(struct secret *s, int fd, enum err_code code, const char *name,
                struct err *e);

/* Allocate s, and read a whole file of keys into it. More than most bytes is ERR_FORMAT. */
int secret_file(struct secret *s, const char *path, size_t most, struct err *e);

/* Read a line from fd, and not a byte after it. The newline, and a carriage return before
 * it, are dropped. A line longer than cap, or a NUL in it, is ERR_USAGE. If a signal
 * interrupts the read, or a non-blocking fd has no bytes yet, this returns -1 with e
 * untouched, and continues when called again. */
int secret_read_line(struct secret *s, int fd, const char *name, struct err *e);

/* The time depends only on the lengths. */
bool secret_equal(const struct secret *a, const struct secret *b);

/* Overwrite n bytes; the optimizer does not remove this. */
void secret_wipe(void *p, size_t n);

#endif
