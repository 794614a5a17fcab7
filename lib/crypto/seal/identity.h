/* identity: X25519 keys in age's text form, which age-keygen makes.
 *
 *     age1…               a public half: a recipient (bech32, name "age")
 *     AGE-SECRET-KEY-1…   a secret half: an identity (name "age-secret-key-")
 *     APR-ANSWER-1…       an answer secret, 32 bytes (name "apr-answer-"): ours
 *
 * A file has one per line. Empty lines and lines that begin with # are ignored. An answer
 * secret belongs to the identity or the recipient in the line above it; only the two who
 * exchange a question and its answer know it (crypto/seal/message.h).
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
#define IDENTITY_FILE (64u << 10) /* maximum bytes of a file */
#define RECIPIENT_TEXT BECH32_TEXT

/* The keys that can open a seal. All zero is none. */
struct recipients {
	uint8_t key[IDENTITY_MOST][AGREE_BYTES];
	size_t n;
};

/* Add one by its text (ERR_USAGE if it is invalid), or all in a file (ERR_FORMAT). */
int recipients_add(struct recipients *r, const char *text, struct err *e);
int recipients_parse(struct recipients *r, const char *text, size_t n, const char *where,
                     struct err *e);
int recipients_read(struct recipients *r, const char *path, struct err *e);

/* "age1…" of a public half. Returns dst. */
char *recipient_text(const uint8_t key[AGREE_BYTES], char dst[RECIPIENT_TEXT]);

/* "AGE-SECRET-KEY-1…" of a secret half. Returns dst. */
char *identity_text(const uint8_t key[AGREE_BYTES], char dst[RECIPIENT_TEXT]);

/* The recipient of a message, with an answer secret if the message is an answer. */
struct addressee {
	uint8_t key[AGREE_BYTES];
	bool answers;
	struct secret secret; /* AGREE_BYTES, if answers */
};

/* Read a file made by addressee_write, or one with a single recipient; ERR_FORMAT for any
 * other. Call addressee_free even on failure. 0 or -1. */
int addressee_parse(struct addressee *a, const uint8_t *text, size_t n, const char *where,
                    struct err *e);
int addressee_read(struct addressee *a, const char *path, struct err *e);
/* Write it with mode 0600, since it contains a secret. The file gets its name when it is
 * complete. An existing file is replaced only with force (ERR_USAGE). 0 or -1. */
int addressee_write(const struct addressee *a, const char *path, bool force,
                    struct err *e);
void addressee_free(struct addressee *a);

/* Secret halves, in memory as crypto/secret.h describes. All zero is none. */
struct identities {
	struct secret keys;            /* AGREE_BYTES of each */
	struct secret answers;         /* AGREE_BYTES of each: its answer secret */
	bool has_answer[IDENTITY_MOST];
};

/* Append the identities of a file. A file without any, or with other text, is ERR_FORMAT.
 * Messages never quote a line of it. */
int identities_parse(struct identities *i, const uint8_t *text, size_t n,
                     const char *where, struct err *e);
int identities_read(struct identities *i, const char *path, struct err *e);
/* Make a random identity with a random answer secret, and write its file as
 * addressee_write does. reply gets the public half and the same secret, for the message;
 * the caller frees it even on failure. 0 or -1. */
int identity_make(const char *path, bool force, struct addressee *reply, struct err *e);
size_t identities_count(const struct identities *i);
const uint8_t *identities_key(const struct identities *i, size_t number);
/* The answer secret of identity i, or NULL. */
const uint8_t *identities_answer(const struct identities *i, size_t number);
void identities_free(struct identities *i);

#endif
