/* digest: SHA-256, the hash of everything that is signed; and SHA-1, for identifiers that
 * other programs define by it. SHA-1 is never used for trust, since collisions are known.
 *
 * Only digest.c includes the library, so that any implementation of FIPS 180-4 can
 * replace it.
 *
 * Failure is sticky: after one, sha256_add does nothing and sha256_finish reports it, so
 * that a hash over many fields is checked once.
 */
#ifndef CRYPTO_DIGEST_H
#define CRYPTO_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define DIGEST_BYTES 32
#define DIGEST_TEXT (2 * DIGEST_BYTES + 1)

struct digest {
	uint8_t b[DIGEST_BYTES];
};

struct sha256 {
	void *state; /* owned between start and finish; NULL after a failure */
};

void sha256_start(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);

/* The three fields of content hashes: a domain string with its terminator; a number in 8
 * bytes, little-endian; and text as its length, such a number, and its bytes. */
void sha256_add_domain(struct sha256 *h, const char *domain);
void sha256_add_u64(struct sha256 *h, uint64_t v);
void sha256_add_text(struct sha256 *h, const char *s);

/* End h, even on failure. Returns 0, or -1 with E008. */
int sha256_finish(struct sha256 *h, struct digest *out, struct err *e);

/* End h without a result. It may be called after sha256_finish. */
void sha256_abandon(struct sha256 *h);

/* The digest of n bytes. Threads may call it at the same time. 0 or -1. */
int sha256_of(const void *p, size_t n, struct digest *out);

#define SHA1_BYTES 20

/* SHA-1, with the same rules. */
struct sha1 {
	void *state;
};
void sha1_start(struct sha1 *h);
void sha1_add(struct sha1 *h, const void *p, size_t n);
int sha1_finish(struct sha1 *h, uint8_t out[SHA1_BYTES], struct err *e);
void sha1_abandon(struct sha1 *h);

bool digest_equal(const struct digest *a, const struct digest *b);

/* 64 lower-case hexadecimal digits. Returns dst. */
char *digest_text(char dst[DIGEST_TEXT], const struct digest *d);

#endif
