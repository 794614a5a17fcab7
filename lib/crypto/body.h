/* body: the digest of a tensor's or a side file's bytes.
 *
 *     SHA-256 of
 *         "apr content 1 body" and a NUL    19 bytes
 *         size of the body                  8 bytes, little-endian
 *         SHA-256 of each 1 MiB chunk       32 bytes each, in order
 *
 * The last chunk may be shorter; a body of no bytes has no chunks. The chunks'
 * own hashes carry no domain string, so that any program can check a part of a
 * tensor; the size in front fixes how many there are, so that no list of them
 * reads as another body.
 *
 * Several chunks are hashed at once. What comes out depends neither on how many
 * nor on the pieces in which the body is fed.
 */
#ifndef CRYPTO_BODY_H
#define CRYPTO_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/range.h"
#include "crypto/digest.h"

#define BODY_DOMAIN "apr content 1 body"
#define BODY_CHUNK ((size_t)1 << 20)
#define BODY_JOBS 16 /* chunks hashed at once, and MiB held back, at most */

struct body_digest {
	struct sha256 hash;
	uint64_t size, seen;
	uint8_t *held;      /* bytes waiting for enough chunks to share out */
	size_t held_bytes, held_cap;
	unsigned jobs;
	unsigned room;      /* chunks that are held at most */
	bool pairs;         /* two chunks at once are faster (crypto/pair.h) */
};

/* jobs: threads to use; 0 is 1. Memory: at most two chunks for each, and never
 * more than the largest body needs. */
void body_digest_init(struct body_digest *d, unsigned jobs);

/* A new body of size bytes. The same d serves one body after the other. */
int body_digest_start(struct body_digest *d, uint64_t size, struct err *e);

/* The next n bytes. More than announced is E002. */
int body_digest_add(struct body_digest *d, const void *p, size_t n, struct err *e);

/* All bytes, from where they lie; name: that of the file. Each thread reads its own. */
int body_digest_range(struct body_digest *d, const struct range *r, const char *name,
                      struct err *e);

/* Fewer bytes than announced is E002. */
int body_digest_finish(struct body_digest *d, struct digest *out, struct err *e);
void body_digest_free(struct body_digest *d);

/* A body that lies in memory. */
int body_digest_of(const void *p, size_t n, struct digest *out, struct err *e);

#endif
