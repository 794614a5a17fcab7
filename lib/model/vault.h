/* vault: the operations on the bytes of a container that need a key: sign and check, seal
 * and open. Containers contain no cryptography (ARCHITECTURE.md), so the tool gives a vault
 * to a container whose signature covers the container's own bytes. A container without
 * a vault refuses a sealed file and names it.
 *
 * Every function returns 0, or -1 with e filled, unless stated otherwise. m points to n
 * contiguous bytes. to is an empty spool that receives the result.
 */
#ifndef MODEL_VAULT_H
#define MODEL_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/spool.h"

#define VAULT_SIGNATURE 64 /* Ed25519 */
#define VAULT_KEY 32
#define VAULT_DIGEST 32    /* SHA-256 */

/* The same message for a wrong key, a changed byte, and any other error in sealed bytes. */
#define VAULT_WRONG_KEY "DecryptionFailed: wrong key or passphrase, or it was changed"

struct vault {
	bool signs, seals; /* writing: the user asked for it and gave the keys */
	bool trusts;       /* reading: only signatures by the trusted keys count; a file
	                    * without one is refused */
	uint8_t mode;      /* writing: the mode of encryption: apr1(5) */
	uint64_t extra;    /* writing: bytes that encryption adds */

	int (*digest)(struct vault *v, const uint8_t *m, size_t n,
	              uint8_t digest[VAULT_DIGEST], struct err *e);
	int (*sign)(struct vault *v, const uint8_t *m, size_t n,
	            uint8_t signature[VAULT_SIGNATURE], uint8_t key[VAULT_KEY],
	            struct err *e);

	/* E006 if the signature is wrong or key is not one of the trusted keys. */
	int (*check)(struct vault *v, const uint8_t *m, size_t n,
	             const uint8_t signature[VAULT_SIGNATURE], const uint8_t key[VAULT_KEY],
	             const char *name, struct err *e);

	int (*seal)(struct vault *v, const uint8_t *m, size_t n, struct spool *to,
	            struct err *e);

	/* The contents of to are valid only after this returns 0. E005 for a wrong key or
	 * a changed byte. */
	int (*open)(struct vault *v, uint8_t mode, const uint8_t *m, size_t n,
	            struct spool *to, const char *name, struct err *e);
};

#endif
