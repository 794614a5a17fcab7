/* content: what a signature covers, as four component digests and a root.
 *
 * Content is metadata, side files, records of filters (prov), licence and tensors, in an
 * order of its own. Containers, their alignment, and the JSON of frames are not part of it.
 *
 * Every hash is SHA-256. Numbers are 8 bytes, little-endian; text is its length
 * as such a number, then its bytes without a terminator; a domain is the string
 * shown and a NUL. Entries follow one another without separators, in the byte
 * order of their names.
 *
 *     metadata   domain "apr content 1 metadata", number of keys; then for each
 *                key: text key, text type ("u32", "array:string", "json", …),
 *                size of the value, SHA-256 of the value (GGUF wire bytes,
 *                wherever the value lies; of json its text)
 *     blobs      domain "apr content 1 blobs", number of entries; then for each
 *                side file: the 4 letters "blob", text name, text type, body
 *                digest (crypto/body.h; it covers the size too); and for the
 *                Nth prov frame, from 0: the 4 letters "prov", text "prov.N",
 *                text "prov", body digest of its head's text
 *                (equal names: side file first)
 *     licence    domain "apr content 1 licence"; then, if there is one: size,
 *                SHA-256 of its bytes
 *     tensors    domain "apr content 1 tensors", number of tensors; then for
 *                each: text name, text dtype ("Q4_K"), number of dimensions,
 *                the dimensions (outermost first), body digest
 *     root       domain "apr content 1 root", then the 32 bytes of metadata,
 *                blobs, licence, tensors
 *
 * Metadata values that lie in blobs are metadata and not blobs.
 */
#ifndef CRYPTO_CONTENT_H
#define CRYPTO_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "crypto/digest.h"

struct components {
	struct digest metadata, blobs, licence, tensors;
};

/* One entry of a component. Text and dims belong to the caller (to a plan), and must
 * outlive the content. */
struct content_item {
	const char *name;
	const char *type;
	const char *kind;      /* "blob" or "prov"; NULL elsewhere */
	char *owned;           /* the name of a prov frame, which is not in the plan */
	uint64_t bytes;        /* of a metadata value */
	const uint64_t *dims;  /* of a tensor */
	unsigned ndim;
	struct digest digest;  /* SHA-256 of a value; body digest of the others */
};

struct content_list {
	struct content_item *item;
	size_t n, cap;
};

/* The functions below fill it in any order; then it is finished. All zero is an empty
 * content. */
struct content {
	struct content_list metadata, blobs, tensors; /* in name order once finished */
	size_t provs;
	bool has_licence;
	uint64_t licence_bytes;
	struct digest licence; /* SHA-256 of the bytes */

	struct components components; /* known once finished */
	struct digest root;
};

/* Append; 0, or -1 with E008. The Nth call of content_add_prov is frame N. */
int content_add_value(struct content *c, const char *key, const char *type,
                      uint64_t bytes, const struct digest *sha256, struct err *e);
int content_add_blob(struct content *c, const char *name, const char *type,
                     const struct digest *body, struct err *e);
int content_add_prov(struct content *c, const char *head, size_t n, struct err *e);
int content_add_tensor(struct content *c, const char *name, const char *dtype,
                       unsigned ndim, const uint64_t *dims,
                       const struct digest *body, struct err *e);
void content_set_licence(struct content *c, uint64_t bytes, const struct digest *sha256);

/* Sort, and compute components and root. A name that occurs twice in a list is
 * E002. */
int content_finish(struct content *c, struct err *e);
void content_free(struct content *c);

/* The root over any four components: 0, or -1 with E008. */
int content_root(const struct components *c, struct digest *root, struct err *e);

/* The component blobs or tensors, of our names, types and shapes with other body digests:
 * 32 bytes for each item of the sorted list. If the result is the claimed component, the
 * list of digests is the one that was signed. */
int content_blobs_with(const struct content *c, const uint8_t *digests,
                       struct digest *out, struct err *e);
int content_tensors_with(const struct content *c, const uint8_t *digests,
                         struct digest *out, struct err *e);

#endif
