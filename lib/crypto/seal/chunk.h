/* chunk: a sealed body consists of chunks that are opened one by one.
 *
 * Each body has a key of its own: HKDF-SHA256 of the data key, with the SKEY frame's
 * salt, the domain "apr2 seal 2 item" and the context (hkdf_context, crypto/kdf.h): text
 * kind ("tensor", "blob", "prov", "sign"), number (of its kind, from 0; of blobs, among
 * the side files), text name, text dtype or type (both empty for prov and sign), number
 * of dimensions, dimensions, size of the plain body; text and numbers as in
 * crypto/content.h.
 *
 * The body is split into chunks of MODEL_SEAL_CHUNK bytes (the last may be shorter; an
 * empty body is one empty chunk). Each chunk is AES-256-GCM without additional data,
 * followed by its tag. The nonce is the chunk's number, from 0, in 11 bytes, most
 * significant first, and 1 byte that is 1 in the last chunk, else 0. So a body that was
 * truncated, reordered or taken from elsewhere does not open.
 */
#ifndef CRYPTO_SEAL_CHUNK_H
#define CRYPTO_SEAL_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/aead.h"
#include "crypto/seal/skey.h"
#include "model/flow.h"

/* The key of an item of the plan without its seal. 0, or -1. */
int chunk_key(const uint8_t data[SKEY_DATA], const uint8_t salt[SKEY_SALT],
              const struct model *m, enum item_kind kind, size_t index,
              uint8_t key[AEAD_KEY], struct err *e);

/* Seals or opens one body after the other. Initially all zero. */
struct chunks {
	struct aead aead;
	const char *name;     /* for messages; the caller's */
	uint64_t left;        /* plain bytes of the body that are not in a chunk yet */
	uint64_t number;      /* of the chunk */
	size_t chunk;         /* its plain bytes */
	size_t have;          /* of these bytes, and of the tag when opening */
	bool ended;
	uint8_t *room;        /* the output; owned */
};

/* Begin a body of this many plain bytes. 0 or -1. */
int chunks_begin(struct chunks *c, const uint8_t key[AEAD_KEY], uint64_t bytes,
                 const char *name, struct err *e);

/* Take some of the n bytes at p, and advance both, until there is output: *out_n bytes at
 * *out, valid until the next call. *out_n is 0 if all input was taken without output. Call
 * it until then, also without input. The output of chunks_open is authenticated: a chunk
 * with a wrong tag is E005. More input than the body has is E002. */
int chunks_seal(struct chunks *c, const uint8_t **p, size_t *n, const uint8_t **out,
                size_t *out_n, struct err *e);
int chunks_open(struct chunks *c, const uint8_t **p, size_t *n, const uint8_t **out,
                size_t *out_n, struct err *e);

/* E002 if the body is incomplete. */
int chunks_end(const struct chunks *c, struct err *e);
void chunks_free(struct chunks *c);

#endif
