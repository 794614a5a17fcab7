/* body: the digest of a tensor's or a side file's bytes.
 *
 *     SHA-256 of
 *         "apr content 1 body" and a NUL    19 bytes
 *         size of the body                  8 bytes, little-endian
 *         SHA-256 of each 1 MiB chunk       32 bytes each, in order
 *
 * The last chunk may be shorter; a body of no bytes has no chunks. The chunks' own hashes
 * carry no domain string, so that any program can check a part of a tensor. The size in
 * front fixes the number of chunks, so that no list of them reads as another body.
 *
 * Chunks, of one body or of several in a row, are hashed in batches by other threads while
 * the caller reads on. The digest depends neither on the number of threads nor on the
 * pieces in which the body is fed.
 */
#ifndef CRYPTO_BODY_H
#define CRYPTO_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/range.h"
#include "crypto/digest.h"

#define BODY_DOMAIN "apr content 1 body"
#define BODY_CHUNK ((size_t)1 << 20)
#define BODY_HELD (24 * BODY_CHUNK) /* most memory for bytes that wait to be hashed */

struct body_batch;

struct body_digest {
	unsigned jobs;
	struct tasks *tasks;       /* NULL: the caller hashes */
	uint64_t size, seen;       /* of the current body */
	struct digest *out;

	struct body_batch *batches; /* a ring of room: waiting of them from first on are with */
	size_t room, first, waiting; /* tasks, and the one after these is being filled */
	size_t chunks;             /* in a batch at most */
	size_t fill;               /* bytes of the chunk that is being filled */
	uint8_t **spare;           /* buffers of a batch's chunks that are not in use */
	size_t spares, buffers, buffers_most; /* of all buffers, allocated on first need */
	struct sha256 hash;        /* of the body whose chunks are next */
};

/* jobs: threads to use, the caller among them; 0 is 1. Allocates nothing. */
void body_digest_init(struct body_digest *d, unsigned jobs);

/* A new body of size bytes. The same d serves one body after the other. *out gets the
 * digest, by the time of body_digest_settle at the latest. A body before this one that did
 * not get all its bytes is given up, with all that was not settled. */
int body_digest_start(struct body_digest *d, uint64_t size, struct digest *out, struct err *e);

/* The next n bytes. E002 if they are more than announced. A fault may be that of an earlier
 * body. */
int body_digest_add(struct body_digest *d, const void *p, size_t n, struct err *e);

/* All bytes, from a file, which each thread reads for itself. name is that of the file; it
 * and the descriptor must stay until body_digest_settle or body_digest_free. */
int body_digest_range(struct body_digest *d, const struct range *r, const char *name,
                      struct err *e);

/* E002 if the bytes are fewer than announced. */
int body_digest_finish(struct body_digest *d, struct err *e);

/* All digests are there when this returns 0. */
int body_digest_settle(struct body_digest *d, struct err *e);
void body_digest_free(struct body_digest *d);

/* The digest of a body that lies in memory. */
int body_digest_of(const void *p, size_t n, struct digest *out, struct err *e);

#endif
