/* gguf_hash: the digests that llama.cpp's gguf-hash prints.
 *
 * For each tensor: the SHA-256 of its bytes. For the whole model: the SHA-256 of all
 * tensors' bytes in the order of the index, and a UUID of version 5 (RFC 9562, section
 * 5.5): the first 16 bytes of the SHA-1 of a namespace and the same bytes, with version
 * and variant set. The namespace is the UUID ef001206-dadc-5f6d-a15f-3359e577d4e5.
 * Metadata is not hashed.
 */
#ifndef CRYPTO_GGUF_HASH_H
#define CRYPTO_GGUF_HASH_H

#include "crypto/digest.h"

#define GGUF_HASH_UUID 37 /* bytes of its text, terminated */

struct gguf_hash {
	struct sha256 tensor, model;
	struct sha1 uuid;
	unsigned jobs;
};

/* A new model. jobs: threads to use; more than three bring nothing. */
void gguf_hash_start(struct gguf_hash *h, unsigned jobs);

/* Begin a tensor; add its next n bytes; end it: 0, or -1 with E008. */
void gguf_hash_tensor(struct gguf_hash *h);
void gguf_hash_add(struct gguf_hash *h, const uint8_t *p, size_t n);
int gguf_hash_tensor_end(struct gguf_hash *h, struct digest *tensor, struct err *e);

/* End the model. 0, or -1 with E008. */
int gguf_hash_finish(struct gguf_hash *h, struct digest *model,
                     char uuid[GGUF_HASH_UUID], struct err *e);

/* End h without a result. It may be called after gguf_hash_finish. */
void gguf_hash_abandon(struct gguf_hash *h);

#endif
