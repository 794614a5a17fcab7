/* secret: memory for what must not be left lying about.
 *
 * Allocated apart from everything else, between guard pages, kept out of swap
 * and core files where the system allows it, and wiped when freed.
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

/* Before the first secret is read: no core file of this process, nor may another
 * process of the same user look into it. 0, or -1 with E008, as a secret must not be
 * read then. */
int secret_guard(struct err *e);

/* Room for cap bytes, none of them used. Returns 0, or -1 with E008. */
int secret_alloc(struct secret *s, size_t cap, struct err *e);

/* Wipe and free; an empty or freed secret is left alone. */
void secret_free(struct secret *s);

/* Read fd to its end. More than cap bytes is a fault with the given code.
 * name is for messages. */
int secret_read(struct secret *s, int fd, enum err_code code, const char *name,
                struct err *e);

/* Allocate s, and read a whole file of keys into it: most bytes, or ERR_FORMAT. */
int secret_file(struct secret *s, const char *path, size_t most, struct err *e);

/* Read fd up to the first newline, which is taken and dropped (with a carriage
 * return before it), and not a byte further: what follows stays for the next
 * reader. Longer than cap, or a NUL inside, is ERR_USAGE. Where a signal
 * interrupts it, or a non-blocking fd has no more for now, it returns -1 with e
 * untouched, and goes on when called again. */
int secret_read_line(struct secret *s, int fd, const char *name, struct err *e);

/* In a time that depends on the lengths alone. */
bool secret_equal(const struct secret *a, const struct secret *b);

/* Overwrite n bytes, whatever the optimizer thinks of it. */
void secret_wipe(void *p, size_t n);

#endif
