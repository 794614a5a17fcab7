/* vault: what only keys can do to the bytes of a container: sign and check, seal and
 * open. A container whose signature covers its own bytes is given one by the tool,
 * since containers know no crypto (ARCHITECTURE.md); where it has none, what is sealed
 * is refused by name.
 *
 * All of them return 0, or -1 with e filled, but where it is said otherwise. m: n
 * bytes in one piece. to: an empty spool, which gets the result.
 */
#ifndef CORE_VAULT_H
#define CORE_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/spool.h"

#define VAULT_SIGNATURE 64 /* Ed25519 */
#define VAULT_KEY 32
#define VAULT_DIGEST 32    /* SHA-256 */

/* What is said of a wrong key, a changed byte, and anything else that is wrong with what
 * is sealed. */
#define VAULT_WRONG_KEY "DecryptionFailed: wrong key or passphrase, or it was changed"

struct vault {
	bool signs, seals; /* writing: it can, and it is asked to */
	bool trusts;       /* reading: whose signatures count is known; others do not, and
	                    * what has none is refused */
	uint8_t mode;      /* writing: how the bytes will be sealed: apr1(5) */
	uint64_t extra;    /* and how much longer they get */

	int (*digest)(struct vault *v, const uint8_t *m, size_t n,
	              uint8_t digest[VAULT_DIGEST], struct err *e);
	int (*sign)(struct vault *v, const uint8_t *m, size_t n,
	            uint8_t signature[VAULT_SIGNATURE], uint8_t key[VAULT_KEY],
	            struct err *e);

	/* Does the signature hold? E006 where it does not, or where key is not one of
	 * those that count. */
	int (*check)(struct vault *v, const uint8_t *m, size_t n,
	             const uint8_t signature[VAULT_SIGNATURE], const uint8_t key[VAULT_KEY],
	             const char *name, struct err *e);

	int (*seal)(struct vault *v, const uint8_t *m, size_t n, struct spool *to,
	            struct err *e);

	/* to holds nothing of use until this has returned 0. E005 for any other key, or
	 * for a changed byte. */
	int (*open)(struct vault *v, uint8_t mode, const uint8_t *m, size_t n,
	            struct spool *to, const char *name, struct err *e);
};

#endif
