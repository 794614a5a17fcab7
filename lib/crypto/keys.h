/* keys: Ed25519 keys in minisign's files.
 *
 * Both files are two lines: "untrusted comment: " and any text, then base64 of
 *
 *     public                          secret
 *     2  "Ed"                         2   "Ed"
 *     8  key id                       2   "Sc", or two NULs: not encrypted
 *    32  public key                   2   "B2"
 *                                    32   salt
 *                                     8   scrypt's opslimit, little-endian
 *                                     8   scrypt's memlimit, little-endian
 *                                   104   key id (8), seed (32), public key (32),
 *                                         checksum (32)
 *
 * The checksum is BLAKE2b-256 of "Ed", key id, seed and public key. In an
 * encrypted key, the last 104 bytes are XORed with 104 bytes of scrypt
 * (libsodium's limits, RFC 7914) of passphrase and salt. In an unencrypted key,
 * salt and limits are zero. minisign 0.11 leaves its checksum zero too: both
 * forms are read, and the checksum is always written.
 *
 * Source: minisign's description of its key format, and its files.
 */
#ifndef CRYPTO_KEYS_H
#define CRYPTO_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define KEY_FILE_BYTES 4096 /* maximum length of a key file */
#define KEY_ID_BYTES 8
#define KEY_ID_TEXT (2 * KEY_ID_BYTES + 1)
#define KEY_PUBLIC_BYTES 32
#define KEY_SIGNATURE_BYTES 64

struct key_public {
	uint8_t id[KEY_ID_BYTES];
	uint8_t key[KEY_PUBLIC_BYTES];
};

/* All of it, the seed included, is kept in memory as crypto/secret.h describes. */
struct key_secret;

/* The cost of one guess of a passphrase. KEY_COST_FULL is minisign's: a gibibyte of memory
 * and some seconds. A file that asks for more is refused (E008), so that a file cannot
 * exhaust its reader. */
struct key_cost {
	uint64_t operations;
	uint64_t memory; /* bytes */
};
#define KEY_COST_FULL ((struct key_cost){ 1u << 25, 1u << 30 })
#define KEY_COST_LEAST ((struct key_cost){ 1u << 15, 1u << 24 })

/* Read the text of a file. E001: not a key file; E002: damaged; E004: wrong checksum.
 * key_secret_parse returns a key, which the caller frees, or NULL. */
int key_public_parse(const uint8_t *text, size_t n, struct key_public *k, struct err *e);
struct key_secret *key_secret_parse(const uint8_t *text, size_t n, struct err *e);

int key_public_read(const char *path, struct key_public *k, struct err *e);
struct key_secret *key_secret_read(const char *path, struct err *e);

/* True if the key needs a passphrase, until key_secret_unlock succeeds. Meanwhile the
 * functions below must not be called. */
bool key_secret_is_encrypted(const struct key_secret *k);

/* A wrong passphrase is E005; the caller may try another. An unencrypted key is left
 * unchanged. */
int key_secret_unlock(struct key_secret *k, const uint8_t *passphrase, size_t n,
                      struct err *e);

struct key_secret *key_secret_new(struct err *e);
void key_secret_free(struct key_secret *k);

/* The public half, valid while k is. */
const struct key_public *key_secret_public(const struct key_secret *k);

/* Write a file. It gets its name when it is complete and synced. An existing file is
 * replaced only with force (ERR_USAGE otherwise). The secret file has mode 0600 and is
 * encrypted unless passphrase is NULL. A path of "-" is refused. */
int key_public_write(const struct key_public *k, const char *path, bool force,
                     struct err *e);
int key_secret_write(const struct key_secret *k, const char *path,
                     const uint8_t *passphrase, size_t n, struct key_cost cost,
                     bool force, struct err *e);

/* The bytes of these files, not terminated. key_public_put returns their number, after a key was
 * read or made; key_secret_put stores it in *used, and returns 0 or -1. text should be in memory as
 * crypto/secret.h describes. */
size_t key_public_put(const struct key_public *k, char text[KEY_FILE_BYTES]);
int key_secret_put(const struct key_secret *k, const uint8_t *passphrase, size_t n,
                   struct key_cost cost, char text[KEY_FILE_BYTES], size_t *used,
                   struct err *e);

/* Write both files of a pair. Neither gets its name before both are complete. */
int key_pair_write(const struct key_secret *k, const char *path, const char *public_path,
                   const uint8_t *passphrase, size_t n, struct key_cost cost,
                   bool force, struct err *e);

/* The id as minisign shows it: 16 upper-case hexadecimal digits of the eight
 * bytes read as a little-endian number. Returns dst. */
char *key_id_text(char dst[KEY_ID_TEXT], const uint8_t id[KEY_ID_BYTES]);

/* Ed25519 (RFC 8032) over a message of n bytes. */
void key_sign(const struct key_secret *k, const void *message, size_t n,
              uint8_t signature[KEY_SIGNATURE_BYTES]);
bool key_verify(const struct key_public *k, const void *message, size_t n,
                const uint8_t signature[KEY_SIGNATURE_BYTES]);

/* Ed25519ph of the same RFC, without context. A signature of one is never valid for the
 * other. */
void key_sign_hashed(const struct key_secret *k, const void *message, size_t n,
                     uint8_t signature[KEY_SIGNATURE_BYTES]);
bool key_verify_hashed(const struct key_public *k, const void *message, size_t n,
                       const uint8_t signature[KEY_SIGNATURE_BYTES]);

/* The key in base64, as minisign writes it, terminated; returns dst. The fingerprint is the
 * SHA-256 of the 32 bytes of the key in lower-case hexadecimal; unlike a key id, nobody can
 * choose it. */
#define KEY_TEXT 57
#define KEY_FINGERPRINT 65
char *key_public_text(char dst[KEY_TEXT], const struct key_public *k);
char *key_fingerprint(char dst[KEY_FINGERPRINT], const struct key_public *k);

#endif
