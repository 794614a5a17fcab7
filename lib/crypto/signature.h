/* signature: what a sign frame holds, made and checked.
 *
 * Its head is JSON of one exact form, SIGNATURE_HEAD_BYTES long whatever it
 * says, so that a container can reserve room before the content is known:
 *
 *     {"version":2,"key":"16 digits","root":"64","metadata":"64","blobs":"64",
 *      "licence":"64","tensors":"64","signature":"128","statement":{…}}
 *
 * without line breaks, and without blanks but those that fill it up before its last
 * brace; digits are lower-case hexadecimal. key is the key id as minisign shows it
 * (there in upper case); root and the next four are the digests of crypto/content.h as
 * they were signed. The root follows from the four; it is there so that a record of a
 * signature (prov) can quote it. statement is that of crypto/statement.h.
 *
 * Its body is 32 bytes for each side file and prov, then for each tensor: their
 * body digests in name order. They are there so that a failure can name what
 * differs; the tensors and blobs components vouch for them.
 *
 * signature is Ed25519ph (RFC 8032, without context) over: the domain "apr signature 2"
 * and a NUL, the 32 bytes of the public key, the 32 bytes of the content's root, the
 * length of the statement's text in 8 bytes, little-endian, and the text.
 *
 * Ed25519ph, not Ed25519: minisign signs with Ed25519 whatever bytes a file has
 * (minisign -Sl), or 64 bytes of their hash. Its signature is of no use here, even if
 * somebody is made to sign a file with our message in it, because each hash inside
 * Ed25519ph begins with a string that is not in Ed25519's (RFC 8032, section 8.6).
 *
 * Version 1 was Ed25519, without a statement; it is refused (E003).
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

/* Sign a finished content, and what is said of it. The result has been verified. 0 or
 * -1 (ERR_USAGE: the statement is none). */
int signature_make(struct signature *s, const struct content *c,
                   const struct statement *says, const struct key_secret *k,
                   struct err *e);

/* The frame's head into dst (terminated; the terminator is not part of it), and
 * its body, appended to b. */
void signature_head(const struct signature *s, char dst[SIGNATURE_HEAD_BYTES + 1]);
int signature_body(const struct content *c, struct buf *b, struct err *e);

/* Read a head. Another version is E003, any other form E002. */
int signature_parse(const void *head, size_t n, struct signature *s, struct err *e);

/* What a signature may leave open. */
enum signature_scope {
	SIGNATURE_ALL,    /* everything must be as it was signed */
	SIGNATURE_WEIGHTS /* metadata may differ, nothing else */
};

/* Does s, with the n bytes of its frame's body, hold for a finished content
 * and this key? 0 if so. Else -1 and E006, and the fault's object and fact name
 * the tensor, the side file or the part that differs, or the part of the frame
 * itself. A frame is accepted only if all of it is as it was signed. */
int signature_check(const struct signature *s, const uint8_t *body, size_t n,
                    const struct content *c, const struct key_public *k,
                    enum signature_scope scope, struct err *e);

#endif
