/* identity: X25519 keys in age's text form, which age-keygen makes.
 *
 *     age1…               a public half: a recipient (bech32, name "age")
 *     AGE-SECRET-KEY-1…   a secret half: an identity (name "age-secret-key-")
 *
 * A file holds one a line; empty lines, and those that begin with #, say nothing.
 *
 * Source: the description of age's file format (C2SP, "age").
 */
#ifndef CRYPTO_SEAL_IDENTITY_H
#define CRYPTO_SEAL_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "crypto/agree.h"
#include "crypto/seal/bech32.h"
#include "crypto/secret.h"

#define IDENTITY_MOST 128         /* recipients of one model; identities of one reader */
#define IDENTITY_FILE (64u << 10) /* bytes of a file, at most */
#define RECIPIENT_TEXT BECH32_TEXT

/* Those who shall be able to open. All zero is nobody. */
struct recipients {
	uint8_t key[IDENTITY_MOST][AGREE_BYTES];
	size_t n;
};

/* One, by its text: ERR_USAGE where it is none; and a file of them: ERR_FORMAT. */
int recipients_add(struct recipients *r, const char *text, struct err *e);
int recipients_parse(struct recipients *r, const char *text, size_t n, const char *where,
                     struct err *e);
int recipients_read(struct recipients *r, const char *path, struct err *e);

/* "age1…" of a public half. Returns dst. */
char *recipient_text(const uint8_t key[AGREE_BYTES], char dst[RECIPIENT_TEXT]);

/* Secret halves, in memory as crypto/secret.h describes. All zero is none. */
struct identities {
	struct secret keys; /* AGREE_BYTES of each */
};

/* Append those of a file, which must be there: ERR_FORMAT where it is no file of
 * identities. Messages never hold a line of it. */
int identities_parse(struct identities *i, const uint8_t *text, size_t n,
                     const char *where, struct err *e);
int identities_read(struct identities *i, const char *path, struct err *e);
/* A new identity by chance, its public half, and its file: mode 0600, never half there;
 * an existing one only with force (ERR_USAGE). */
int identity_make(const char *path, bool force, uint8_t public[AGREE_BYTES],
                  struct err *e);
size_t identities_count(const struct identities *i);
const uint8_t *identities_key(const struct identities *i, size_t number);
void identities_free(struct identities *i);

#endif
