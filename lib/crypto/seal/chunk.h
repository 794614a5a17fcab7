/* chunk: a body that is sealed, in chunks that are opened one by one.
 *
 * Each body has a key of its own: HKDF-SHA256 of the data key, with the SKEY frame's
 * salt, the domain "apr2 seal 2 item" and as context (hkdf_context, crypto/kdf.h) text
 * kind ("tensor", "blob", "prov", "sign"), number (of its kind, from 0; of blobs, among
 * the side files), text name, text dtype or type (both empty for prov and sign), number
 * of dimensions, dimensions, size of the plain body; text and numbers as in
 * crypto/content.h.
 *
 * The body is cut into chunks of MODEL_SEAL_CHUNK bytes (the last may be shorter; an
 * empty body is one empty chunk), each AES-256-GCM with a tag behind it and without
 * further data. The nonce is the chunk's number, from 0, in 11 bytes, most significant
 * first, and 1 byte that is 1 in the last chunk, else 0: what is cut, put together
 * otherwise, or from elsewhere does not open.
 */
#ifndef CRYPTO_SEAL_CHUNK_H
#define CRYPTO_SEAL_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/aead.h"
#include "crypto/seal/skey.h"
#include "model/flow.h"

/* The key of an item of the plan (as it is when nothing is sealed). 0, or -1. */
int chunk_key(const uint8_t data[SKEY_DATA], const uint8_t salt[SKEY_SALT],
              const struct model *m, enum item_kind kind, size_t index,
              uint8_t key[AEAD_KEY], struct err *e);

/* One body after the other. All zero is good to begin with. */
struct chunks {
	struct aead aead;
	const char *name;     /* for messages; the caller's */
	uint64_t left;        /* plain bytes of the body that are in no chunk so far */
	uint64_t number;      /* of the chunk */
	size_t chunk;         /* its plain bytes */
	size_t have;          /* of them, or of them and the tag when opening */
	bool ended;
	uint8_t *room;        /* what comes out; owned */
};

/* A body of so many plain bytes. 0 or -1. */
int chunks_begin(struct chunks *c, const uint8_t key[AEAD_KEY], uint64_t bytes,
                 const char *name, struct err *e);

/* Take some of the n bytes at p (both are moved on), until something has become of
 * them: *out_n bytes at *out, valid until the next call; 0 if all were taken. To be
 * called until nothing comes out, and so also with none. What chunks_open gives has been
 * proved; a chunk that does not hold is E005, more than the body is E002. */
int chunks_seal(struct chunks *c, const uint8_t **p, size_t *n, const uint8_t **out,
                size_t *out_n, struct err *e);
int chunks_open(struct chunks *c, const uint8_t **p, size_t *n, const uint8_t **out,
                size_t *out_n, struct err *e);

/* All has come: else -1 with E002. */
int chunks_end(const struct chunks *c, struct err *e);
void chunks_free(struct chunks *c);

#endif
