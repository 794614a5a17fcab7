/* signature: the contents of a sign frame, made and checked.
 *
 * The head is JSON of one exact form, and always SIGNATURE_HEAD_BYTES long, so that a
 * container can reserve room before the content is known:
 *
 *     {"version":2,"key":"16 digits","root":"64","metadata":"64","blobs":"64",
 *      "licence":"64","tensors":"64","signature":"128","statement":{…}}
 *
 * There are no line breaks, and no blanks except those that fill it up before the last
 * brace. Digits are lower-case hexadecimal. key is the key id as minisign shows it (there
 * in upper case). root and the next four are the digests of crypto/content.h at the time
 * of signing. The root follows from the four; records of a signature (prov) quote it.
 * statement is that of crypto/statement.h.
 *
 * The body has 32 bytes for each side file and prov, then for each tensor: their body
 * digests in name order. With them, a failure can name the item that differs. The
 * components tensors and blobs authenticate them.
 *
 * signature is Ed25519ph (RFC 8032, without context) over: the domain "apr signature 2"
 * and a NUL, the 32 bytes of the public key, the 32 bytes of the content's root, the
 * length of the statement's text in 8 bytes, little-endian, and the text.
 *
 * The reason for Ed25519ph: minisign signs any file with Ed25519 (minisign -Sl), or 64
 * bytes of its hash. If somebody is tricked into signing a file that contains our message,
 * that signature is invalid here, because the hashes of Ed25519ph begin with a string that
 * Ed25519 does not have (RFC 8032, section 8.6).
 *
 * Version 1 was Ed25519 without a statement; it is refused (E003).
 */
#ifndef CRYPTO_SIGNATURE_H
#define CRYPTO_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "crypto/content.h"
#include "crypto/keys.h"
#include "crypto/statement.h"

#define SIGNATURE_HEAD_BYTES 2048 /* MODEL_SIGN_HEAD */

struct signature {
	uint8_t key_id[KEY_ID_BYTES];
	struct digest root;
	struct components claimed;
	struct statement says;
	uint8_t sig[KEY_SIGNATURE_BYTES];
};

/* Sign a finished content and a statement, and verify the result. 0 or -1 (ERR_USAGE: the
 * statement is invalid). */
int signature_make(struct signature *s, const struct content *c,
                   const struct statement *says, const struct key_secret *k,
                   struct err *e);

/* Write the frame's head into dst, with a terminator that is not part of it; append its body
 * to b. */
void signature_head(const struct signature *s, char dst[SIGNATURE_HEAD_BYTES + 1]);
int signature_body(const struct content *c, struct buf *b, struct err *e);

/* Read a head. Another version is E003, any other form E002. */
int signature_parse(const void *head, size_t n, struct signature *s, struct err *e);

/* The part of a model that must be as it was signed. */
enum signature_scope {
	SIGNATURE_ALL,    /* everything */
	SIGNATURE_WEIGHTS /* everything except the metadata */
};

/* Check s, with the n bytes of its frame's body, against a finished content and a key: 0 if
 * it is valid. Otherwise -1 with E006; the fault names the tensor, side file or part that
 * differs, or the part of the frame itself. Every byte of the frame must be as it was
 * signed. */
int signature_check(const struct signature *s, const uint8_t *body, size_t n,
                    const struct content *c, const struct key_public *k,
                    enum signature_scope scope, struct err *e);

#endif
